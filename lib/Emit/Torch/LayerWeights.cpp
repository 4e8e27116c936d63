// Names of parameters cut at the end of what they share.
#include "LayerWeights.h"

#include "apc/IR/Operator.h"
#include "apc/IR/RuleBuilder.h"

namespace apc {

namespace {

std::string parameterName(mlir::Value value) {
  auto parameter = value.getDefiningOp<ParameterOp>();
  return parameter ? parameter.getName().str() : "";
}

bool overwritesValues(mlir::func::FuncOp function) {
  return llvm::any_of(function.front(), [](mlir::Operation &op) {
    auto interface = llvm::dyn_cast<OperatorInterface>(op);
    return interface && !interface.getOverwritten().empty();
  });
}

/// The text that all names begin with, up to the last dot: "h.0.".
std::string sharedScope(llvm::ArrayRef<std::string> names) {
  std::string scope = names.front();
  for (const std::string &name : names)
    scope.resize(
        static_cast<size_t>(std::mismatch(scope.begin(), scope.end(), name.begin(), name.end()).first - scope.begin()));
  scope.resize(scope.rfind('.') + 1);
  return scope;
}

} // namespace

std::string LayerWeights::scopeOf(mlir::func::CallOp call) const {
  const auto &[index, name] = *names.begin();
  std::string whole = parameterName(call.getOperand(index));
  return whole.substr(0, whole.size() - name.size());
}

std::optional<LayerWeights> layerWeights(mlir::func::FuncOp function, llvm::ArrayRef<mlir::func::CallOp> calls) {
  if (calls.empty() || overwritesValues(function))
    return std::nullopt;
  LayerWeights found;
  std::vector<unsigned> indices;
  for (unsigned index = 0; index < function.getNumArguments(); ++index)
    if (llvm::all_of(calls, [&](mlir::func::CallOp call) { return !parameterName(call.getOperand(index)).empty(); }))
      indices.push_back(index);
  if (indices.size() < 2)
    return std::nullopt;
  for (mlir::func::CallOp call : calls) {
    std::vector<std::string> names;
    for (unsigned index : indices)
      names.push_back(parameterName(call.getOperand(index)));
    std::string scope = sharedScope(names);
    if (scope.empty())
      return std::nullopt;
    for (auto [index, name] : llvm::zip_equal(indices, names))
      if (found.names.try_emplace(index, name.substr(scope.size())).first->second != name.substr(scope.size()))
        return std::nullopt;
  }
  return found;
}

} // namespace apc
