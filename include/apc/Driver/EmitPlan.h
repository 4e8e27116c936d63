// A plan carried out and written down, for `apc emit`.
#pragma once

#include "apc/Emit/Emit.h"

#include <optional>

namespace apc {

struct EmitPlanOptions {
  std::string planPath;
  std::optional<std::string> modelPath; ///< where the model is when not where the plan says
  std::string format = "mlir";
  std::string folder;
  std::string ranks; ///< "": none; "all"; "0,8,16"
  bool weights = false;
};

/// Loads the plan, imports its model again, partitions and emits. Errors: those of `loadPlan`, `buildProgram`,
/// `locateWeights` and `emit`; ranks that are no numbers.
llvm::Expected<Emission> emitPlan(const EmitPlanOptions &options);

} // namespace apc
