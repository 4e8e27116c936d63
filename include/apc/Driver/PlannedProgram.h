// A plan carried out: the model imported again, and its program.
#pragma once

#include "apc/IR/Program/Program.h"
#include "apc/Import/Import.h"
#include "apc/Plan/Plan.h"

#include "mlir/IR/MLIRContext.h"

#include <memory>
#include <optional>

namespace apc {

struct PlannedProgram {
  std::unique_ptr<mlir::MLIRContext> context;
  std::string modelPath;                      ///< of the file that was read
  mlir::OwningOpRef<mlir::ModuleOp> imported; ///< on one device, as the file has it: what the program is held against
  mlir::OwningOpRef<mlir::ModuleOp> original; ///< the same with composites recognised: what is planned
  FoldedWeights folded;                       ///< of the import
  Program program;                            ///< as apc/Partition/Partition.h makes it
};

/// Imports the plan's model as it was imported for planning and partitions it. `modelPath` says where the model is when
/// not where the plan says. Errors (input): the model is absent or has changed since (its SHA-256 differs); the plan
/// does not fit it.
llvm::Expected<PlannedProgram> buildProgram(const Plan &plan, std::optional<std::string> modelPath = std::nullopt);

/// The import alone, without the program.
llvm::Expected<PlannedProgram> importPlanned(const Plan &plan, std::optional<std::string> modelPath = std::nullopt);

} // namespace apc
