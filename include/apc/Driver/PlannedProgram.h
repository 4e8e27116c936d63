// A plan carried out: the model imported again, and its program.
#pragma once

#include "apc/IR/Program/Program.h"
#include "apc/Import/Import.h"
#include "apc/Plan/Plan.h"

#include "mlir/IR/MLIRContext.h"

#include <map>
#include <memory>
#include <optional>

namespace apc {

struct PlannedProgram {
  std::unique_ptr<mlir::MLIRContext> context;
  std::string modelPath;                      ///< of the file that was read
  mlir::OwningOpRef<mlir::ModuleOp> imported; ///< on one device, as the file has it: what the program is held against
  mlir::OwningOpRef<mlir::ModuleOp> original; ///< the same with composites recognised: what is planned
  mlir::OwningOpRef<mlir::ModuleOp> summed;   ///< of a pipeline: `original` with the parts of shared sums
  FoldedWeights folded;                       ///< of the import
  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> stages; ///< of a pipeline: the parts of `summed`, whole
  Program program;                                       ///< as apc/Partition/Partition.h makes it
};

/// How a model is made smaller.
struct Shrinkage {
  std::map<std::string, int64_t> dims;  ///< symbolic dims bound to other sizes than those of the plan
  std::optional<int64_t> layers;        ///< keep the first ones that repeat (apc/Transforms/KeepLayers.h)
  std::optional<int64_t> hiddenDivisor; ///< divide hidden sizes (apc/Transforms/ScaleHidden.h)

  bool isNone() const { return dims.empty() && !layers && !hiddenDivisor; }
};

/// Imports the plan's model as it was imported for planning and partitions it. `modelPath` says where the model is when
/// not where the plan says. Errors (input): the model is absent or has changed since (its SHA-256 differs); the plan
/// does not fit it.
llvm::Expected<PlannedProgram> buildProgram(const Plan &plan, std::optional<std::string> modelPath = std::nullopt);

/// The second half of it: `planned` with the program of the plan. Errors (input): the plan does not fit the model.
llvm::Expected<PlannedProgram> withProgram(PlannedProgram planned, const Plan &plan);

/// The import alone, without the program. A training step is built from the smaller model, so that it has the gradients
/// and updates of what is left. Errors (input) beside those above: a dim that the model does not have; layers that do
/// not repeat.
llvm::Expected<PlannedProgram> importPlanned(const Plan &plan, std::optional<std::string> modelPath = std::nullopt,
                                             const Shrinkage &shrinkage = {});

} // namespace apc
