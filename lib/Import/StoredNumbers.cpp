// Parameters by the names that files have for them.
#include "apc/Import/StoredNumbers.h"

#include "apc/IR/AttributeNames.h"
#include "apc/IR/Ops/Spmd/Spmd.h"

namespace apc {

llvm::StringRef storedNameOf(ParameterOp parameter) {
  llvm::StringRef name = parameter.getName();
  if (parameter.getSource() == masterSource)
    name.consume_back(masterSuffix);
  return name;
}

mlir::RankedTensorType wholeTypeOf(ParameterOp parameter) {
  auto type = llvm::cast<mlir::RankedTensorType>(parameter.getOutput().getType());
  auto shape = parameter->getAttrOfType<mlir::DenseI64ArrayAttr>(shapeAttribute);
  return shape ? mlir::RankedTensorType::get(shape.asArrayRef(), type.getElementType()) : type;
}

llvm::Expected<Tensor> storedNumbers(ParameterOp parameter, const ModelData &data, const FoldedWeights *folded) {
  if (parameter.getSource() == zerosSource)
    return zeros(wholeTypeOf(parameter));
  llvm::StringRef name = storedNameOf(parameter);
  if (folded)
    if (auto computed = folded->find(name.str()); computed != folded->end())
      return Tensor::read(computed->second);
  return data.tensor(name, *parameter->getContext());
}

} // namespace apc
