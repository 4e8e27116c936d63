// The main job: model and request in, plan out.
#pragma once

#include "apc/Planning/Planning.h"

#include "mlir/IR/BuiltinOps.h"

namespace apc {

/// Imports the model of `request`, builds its graph and plans it (`planGraph`). Training steps have layouts of experts
/// among their references, which take at most a twentieth of the time, and the best of which is the plan where the
/// search finds none as fast. Errors: those of the importer, `readTarget` and `planGraph`.
llvm::Expected<Plan> planModel(const PlanRequest &request, const PlanningControl &control);

/// The same without layouts of experts.
llvm::Expected<Plan> searchModel(const PlanRequest &request, const PlanningControl &control);

/// The same for a module that is at hand, in which composites are recognised first. `request.modelPath` only names it.
llvm::Expected<Plan> planModule(mlir::ModuleOp module, const PlanRequest &request, const PlanningControl &control);

/// Imports the model of `request` and costs a layout on it (`apc/Planning/Planning.h`), on the same footing as the
/// answer of a search; pins are left out.
llvm::Expected<Plan> evaluateModel(const PlanRequest &request, const ParallelDegrees &layout,
                                   const PlanningControl &control);

} // namespace apc
