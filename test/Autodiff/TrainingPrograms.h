// Training steps of small modules, seen as text.
#pragma once

#include "apc/Autodiff/TrainingStep.h"
#include "apc/IR/Apc.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>
#include <memory>

namespace apc {

/// y = x . W + B with x [2, 4], W [4, 3] and B [3]; the ops are "product" and "add".
extern const char *const linearText;
/// y = gather(table, ids) . head for two ids, with parameters of these types, as "5x4".
std::string headText(const std::string &table, const std::string &head, const std::string &result);
/// y = x * W of this type, as "2xf32"; where the loss is the sum of y, x is the gradient of W.
std::string productText(const std::string &type);
/// A tensor of one dim.
Tensor vectorOf(std::vector<double> values, mlir::Type element);

/// The step of a module's text, with what tests ask of it.
class BuiltStep {
public:
  BuiltStep(const std::string &text, const TrainingOptions &options);

  mlir::func::FuncOp main() const;
  std::vector<std::string> argumentNames() const;
  /// "W.updated for W, tied to W", "W.grad".
  std::vector<std::string> results() const;
  /// Parameters that begin at zero, with their dims: "W.first 4x3".
  std::vector<std::string> states() const;
  std::vector<std::string> trained() const;
  const std::string &lossUnknownSince() const { return step.lossUnknownSince; }
  /// "running_mean holds a table, a mask or statistics, by its use".
  std::vector<std::string> untrained() const;
  /// Ops tied to `leader` other than states, with the leader's factors that theirs are: "einsum: k m n".
  std::vector<std::string> tiedTo(llvm::StringRef leader) const;
  /// The results of the first step on inputs of ones; parameters begin at zero.
  std::vector<Tensor> runOnce(double learningRate) const;
  /// The same with floats between -1 and 1, inputs and parameters, that differ from element to element.
  std::vector<Tensor> runOnWaves() const;
  /// One step on `inputs`: parameters and states of `held` take their new values; states begin at zero. Returns all
  /// results, the loss first.
  std::vector<Tensor> advance(llvm::ArrayRef<Tensor> inputs, std::map<std::string, Tensor> &held) const;

private:
  std::shared_ptr<mlir::MLIRContext> context;
  TrainingStep step;
};

/// The message of a step that cannot be built.
std::string refusalOf(const std::string &text, const TrainingOptions &options);

/// The name of an op's only result, from `apc.values`.
std::string nameOfResult(mlir::Operation *op);

} // namespace apc
