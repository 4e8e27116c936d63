// A program executed on all its ranks and held against its model on one device.
#pragma once

#include "apc/Import/ModelData.h"
#include "apc/Interpret/Grid.h"

namespace apc {

/// How far an output of the program is from that of the model.
struct OutputError {
  std::string name;
  double largest = 0;  ///< magnitude of the model's output
  double absolute = 0; ///< largest difference of two elements; infinite where one of them alone is no number
  double relative = 0; ///< `absolute` / `largest`; 0 where both are 0
  double accepted = 0; ///< of `relative`, by element type: f32 1e-4, f16 2e-2, bf16 1e-1, f64 1e-9, integers 0
  bool agrees() const { return relative <= accepted; }
};

/// Compares output by output; both lists are in the order of the names.
std::vector<OutputError> outputErrors(llvm::ArrayRef<std::string> names, llvm::ArrayRef<Tensor> found,
                                      llvm::ArrayRef<Tensor> expected);

/// Numbers for a tensor, drawn by lot from its name alone: floats even in (-1, 1) over the square root of the last dim,
/// integers in [0, bound), bools. The same on every machine.
Tensor drawTensor(llvm::StringRef name, mlir::RankedTensorType type, int64_t bound = 2);

/// Parameters of a model: its own data where the file has it in the shape wanted, drawn ones where it has not. `data`
/// outlives it.
ParameterSource parametersOf(const ModelData &data);

/// Runs `original` and `program` on inputs that are drawn. Integers are drawn as large as `original` accepts them
/// (token numbers stay below the vocabulary). Errors: an op that cannot be evaluated (input); the program cannot be run
/// to its end (a check failed).
llvm::Expected<std::vector<OutputError>> executeProgram(mlir::ModuleOp original, mlir::ModuleOp program,
                                                        const ParameterSource &parameters);

} // namespace apc
