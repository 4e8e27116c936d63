// The searches on the problems of real, tiny models: `dp` and `ilp` agree, `recursive` is near, bounds hold.
#include "../ValueOf.h"
#include "Samples.h"

#include "apc/Cluster/Cluster.h"
#include "apc/Import/Import.h"
#include "apc/Planning/BuildProblem.h"
#include "apc/Search/Algorithms.h"
#include "apc/Support/Error.h"
#include "apc/Transforms/BuildGraph.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

constexpr double rounding = 1e-6; ///< of the solver

/// The problems of a tiny model on every mesh of up to two axes of these devices.
std::vector<Problem> problemsOf(const std::string &name, int64_t devices) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  ImportedModel model = valueOf(importOnnx(std::string(APC_MODELS) + "/tiny/" + name + "/model.onnx", {}, context));
  OpGraph graph = valueOf(graphOfModel(*model.module, name));
  Cluster cluster = valueOf(withDevices(valueOf(loadCluster("cpu-local")), devices));
  std::vector<Problem> problems;
  for (const Mesh &mesh : logicalMeshes(Mesh::fromLevels(cluster.pool.levelSizes()), 2))
    problems.push_back(buildProblem(graph, CostModel(cluster.pool, mesh)).problem);
  return problems;
}

/// A limit that the fastest answer exceeds, where some answer fits.
std::optional<int64_t> bindingLimit(const Problem &problem, const SearchResult &fastest) {
  int64_t least = 0, transient = 0;
  for (size_t node = 0; node < problem.nodes.size(); ++node) {
    std::optional<StrategyCost> smallest;
    for (const StrategyCost &cost : problem.tableOf(NodeId(node)).costs)
      if (!smallest || cost.persistentBytes < smallest->persistentBytes)
        smallest = cost;
    least += smallest->persistentBytes;
    transient = std::max(transient, smallest->transientBytes);
  }
  int64_t limit = least + transient + (fastest.bytes - least - transient) / 2;
  return limit < fastest.bytes ? std::optional(limit) : std::nullopt;
}

struct Tally {
  size_t numExact = 0, numNear = 0;
  double sumOfDistances = 0;
};

void compare(const Problem &problem, Tally &tally) {
  SearchResult exact = valueOf(searchDp(problem, {}));
  REQUIRE(exact.status == SearchStatus::Optimal);
  SearchResult certificate = valueOf(searchIlp(problem, {.timeLimitSeconds = 2}));
  CHECK(certificate.lowerBoundSeconds <= exact.seconds * (1 + rounding));
  CHECK(certificate.seconds >= exact.seconds * (1 - rounding));
  if (certificate.status == SearchStatus::Optimal) {
    CHECK(certificate.seconds == Approx(exact.seconds).epsilon(rounding));
    ++tally.numExact;
  }
  llvm::Expected<SearchResult> near = searchRecursive(problem, {});
  if (!near) { // found nothing within the limit, and says so
    CHECK(takeMessage(near.takeError()).first == Fault::NoPlan);
    return;
  }
  CHECK(near->seconds >= near->lowerBoundSeconds);
  CHECK(near->seconds >= exact.seconds * (1 - rounding));
  CHECK(near->lowerBoundSeconds <= exact.seconds * (1 + rounding));
  tally.sumOfDistances += near->seconds / exact.seconds - 1;
  ++tally.numNear;
}

} // namespace

TEST_CASE("On tiny models dp and ilp find the same optimum, with and without a memory limit, and recursive is near") {
  Tally tally;
  size_t numLimited = 0, numProblems = 0;
  for (const char *name : tinyModels)
    for (int64_t devices : {2, 4})
      for (Problem &problem : problemsOf(name, devices)) {
        INFO(name << " on " << devices << " devices");
        compare(problem, tally);
        ++numProblems;
        problem.memoryLimitBytes = bindingLimit(problem, valueOf(searchDp(problem, {})));
        if (!problem.memoryLimitBytes)
          continue;
        compare(problem, tally);
        ++numProblems;
        ++numLimited;
      }
  INFO(numProblems << " problems, " << numLimited << " with a limit, " << tally.numExact << " solved by ilp, "
                   << tally.numNear << " by recursive");
  CHECK(numLimited > 10);
  CHECK(2 * tally.numExact > numProblems); // how many it finishes is the machine's
  CHECK(tally.numNear > 0.9 * static_cast<double>(numProblems));
  CHECK(tally.sumOfDistances <= 0.03 * static_cast<double>(tally.numNear));
}

TEST_CASE("Where programs need more memory than searches count, auto finds nothing slower than dp does") {
  PlanRequest request = requestOf({"tiny/mixer/model.onnx", 6, "cpu-local"});
  for (int64_t limit : {5731, 6447, 8000}) {
    INFO("limit " << limit);
    request.memoryLimitBytes = limit;
    request.search = "auto";
    const double seconds = valueOf(planModel(request, controlOf())).stepSeconds;
    request.search = "dp";
    CHECK(seconds <= valueOf(planModel(request, controlOf())).stepSeconds * (1 + rounding));
  }
}
