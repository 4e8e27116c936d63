// The main job: model and cluster in, plan out.
#pragma once

#include "apc/Cluster/Cluster.h"
#include "apc/Plan/ParallelDegrees.h"
#include "apc/Import/Import.h"
#include "apc/Plan/Pins.h"
#include "apc/Plan/Plan.h"
#include "apc/Search/Algorithms.h"

#include <functional>

namespace apc {

struct PlanOptions {
  std::string modelPath;
  ImportOptions import;
  std::string cluster = "dgx-a100-80gb";     ///< preset or file
  std::vector<std::string> clusterOverrides; ///< KEY=VALUE, those of `loadCluster`
  int64_t devices = 1;                       ///< those that do not fill a node may be left out
  std::string mode = "infer";
  std::string search = defaultSearch.str();
  /// What is left to the search. "auto": all that pins leave; "data": nothing, the batch is cut over all devices;
  /// "semi": what follows from pins by the search "propagation"; "hybrid": nothing, every op is pinned.
  std::string parallel = "auto";
  /// Strategies that the user fixes: constraints of every search.
  std::vector<Pin> pins;
  /// Also take those that the model holds (ONNX's sharding specs).
  bool pinsFromModel = true;
  /// Default: 95 % of the device's memory; the rest is left to the runtime.
  std::optional<int64_t> memoryLimitBytes;
  std::vector<Layout> layouts; ///< listed among the baselines
  bool sensitivity = false;    ///< also plan with figures of the cluster 20 % down and up: eight more searches
  /// At most this many axes in a logical mesh.
  unsigned maxAxes = 3;
  /// The search of each mesh stops within a thousandth of its bound: the cost model is no finer.
  SearchOptions searchOptions = {.gapTolerance = 1e-3};
  /// Told what is being done; may be empty.
  std::function<void(llvm::StringRef)> progress;
};

/// Imports, builds the problem on every logical mesh, searches, prices the program, compares with the baselines and
/// says why. Where the devices do not fill the groups they come in and nothing is pinned, the same on fewer that do;
/// the fastest is the plan. It is never slower than a feasible baseline. Errors: input errors of the importer and the
/// cluster file; NoPlan when nothing fits the memory.
llvm::Expected<Plan> planModel(const PlanOptions &options);

/// The same for a module that is at hand, in which composites are recognised first. `options.modelPath` only names it.
llvm::Expected<Plan> planModule(mlir::ModuleOp module, const PlanOptions &options);

} // namespace apc
