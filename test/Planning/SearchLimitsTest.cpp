// How the searches of one mesh follow one another where programs need more memory than the search counts.
#include "../Sanitized.h"
#include "RandomGraphs.h"

#include "apc/Planning/Planning.h"
#include "apc/Support/Error.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// A call of the search.
struct Call {
  int64_t limitBytes;
  double gapTolerance;
};

/// The calls of `searchAndNote`, which is a plain function like every search.
thread_local std::vector<Call> calls;

llvm::Expected<SearchResult> searchAndNote(const Problem &problem, const SearchOptions &options) {
  calls.push_back({problem.memoryLimitBytes.value_or(0), options.gapTolerance});
  return searchDp(problem, options);
}

} // namespace

TEST_CASE(
    "a search under another limit than the user's leaves half of the gap tolerance to the bound of all programs") {
  std::mt19937_64 random(77);
  size_t numUnderUsersLimit = 0, numOthers = 0;
  for (size_t index = 0; index < (isSanitized ? 15 : 60); ++index) {
    OpGraph graph = randomGraph(random);
    PlanRequest request;
    request.mode = StepMode::Infer;
    request.devices = 4;
    request.gapTolerance = 0.125;
    request.timeLimitSeconds = 5; // one bound takes any time
    PlanningTarget target = llvm::cantFail(readTarget(request));
    Plan free = llvm::cantFail(planGraph(graph, request, target, {}, {}));
    target.memoryLimitBytes = free.memory.total() - 1;
    target.search.run = searchAndNote;
    calls.clear();
    llvm::consumeError(planGraph(graph, request, target, {}, {}).takeError());
    for (const Call &call : calls) {
      if (call.limitBytes == unlimitedBytes) // for a program to descend from, of which nothing is proven
        continue;
      bool isUsers = call.limitBytes == target.memoryLimitBytes;
      (isUsers ? numUnderUsersLimit : numOthers) += 1;
      CHECK((call.gapTolerance == 0.0625 || (isUsers && call.gapTolerance == 0.125)));
    }
  }
  CHECK(numUnderUsersLimit > (isSanitized ? 12 : 60));
  CHECK(numOthers > (isSanitized ? 0 : 5));
}
