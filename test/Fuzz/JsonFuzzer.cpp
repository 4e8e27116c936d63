// Any bytes into the readers of JSON: a value or an error, never a crash, a hang or an accepted value that later code
// would trip over. The first byte chooses the reader, so that one corpus serves all.
#include "apc/Cluster/Cluster.h"
#include "apc/Plan/PlanJson.h"
#include "apc/Search/ProblemJson.h"
#include "apc/Support/Json/JsonWriter.h"

#include <cstdlib>

using namespace apc;

/// A document that was read prints, and reads back to the same text.
static void readDocument(llvm::StringRef text) {
  llvm::Expected<JsonDocument> document = JsonDocument::parse(text, "fuzz.json");
  if (!document) {
    llvm::consumeError(document.takeError());
    return;
  }
  std::string printed = printJson(document->getRoot());
  JsonDocument again = llvm::cantFail(JsonDocument::parse(printed, "printed.json"));
  if (printJson(again.getRoot()) != printed)
    std::abort();
  again.root().find("key");
  llvm::consumeError(again.takeError());
}

/// A problem that was read prints, and reads back to the same text.
static void readProblem(llvm::StringRef text) {
  llvm::Expected<Problem> problem = parseProblem(text, "fuzz.json");
  if (!problem) {
    llvm::consumeError(problem.takeError());
    return;
  }
  std::string printed = printProblem(*problem);
  if (printProblem(llvm::cantFail(parseProblem(printed, "printed.json"))) != printed)
    std::abort();
}

/// A cluster that was read must be usable: cut to half of its devices.
static void readCluster(llvm::StringRef text) {
  llvm::Expected<Cluster> cluster = parseCluster(text, "fuzz.json");
  if (!cluster) {
    llvm::consumeError(cluster.takeError());
    return;
  }
  llvm::Expected<Cluster> half = withDevices(*cluster, (cluster->pool.numDevices() + 1) / 2);
  if (!half)
    llvm::consumeError(half.takeError());
}

/// A plan that was read prints, and reads back to the same text.
static void readPlan(llvm::StringRef text) {
  llvm::Expected<Plan> plan = parsePlan(text, "fuzz.json");
  if (!plan) {
    llvm::consumeError(plan.takeError());
    return;
  }
  std::string printed = printPlan(*plan);
  if (printPlan(llvm::cantFail(parsePlan(printed, "printed.json"))) != printed)
    std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  llvm::StringRef text(reinterpret_cast<const char *>(data) + 1, size - 1);
  switch (data[0] % 4) {
  case 0:
    readProblem(text);
    break;
  case 1:
    readCluster(text);
    break;
  case 2:
    readPlan(text);
    break;
  case 3:
    readDocument(text);
    break;
  }
  return 0;
}
