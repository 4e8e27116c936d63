// A case of training: a model, a few batches, and the losses, gradients and parameters that they must give.
#pragma once

#include "apc/Autodiff/TrainingStep.h"
#include "apc/IR/Kernels/Tensor.h"

#include "mlir/IR/MLIRContext.h"

#include "llvm/Support/Error.h"

#include <map>
#include <vector>

namespace apc {

/// Tensors by the name of their parameter.
using NamedTensors = std::map<std::string, Tensor>;

/// The contents of a folder with a `train.json`.
struct TrainingCase {
  std::string modelPath;
  TrainingOptions options;
  double learningRate = 0;
  int64_t microBatches = 1;
  std::vector<std::vector<Tensor>> batches; ///< by step: the graph's inputs in their order, then the target
  std::vector<double> losses;               ///< by step, each before its update
  NamedTensors gradients;                   ///< of the first step, before clipping and without weight decay
  NamedTensors parameters;                  ///< after the last step
};

/// Reads a case without its expected tensors, for which the names of trained parameters are needed. Errors (input): a
/// file that is not there or of another form.
llvm::Expected<TrainingCase> readTrainingCase(llvm::StringRef folder, mlir::MLIRContext &context);

/// The tensors in `folder`, one for each of `names`. Errors (input): one too few or too many.
llvm::Expected<NamedTensors> readExpected(llvm::StringRef folder, llvm::ArrayRef<std::string> names,
                                          mlir::MLIRContext &context);

} // namespace apc
