// The numbers of a model's parameters: those of its files, or drawn ones.
#include "apc/Driver/ExecuteProgram.h"
#include "apc/IR/AttributeNames.h"
#include "apc/IR/Ops/Spmd/Spmd.h"
#include "apc/Interpret/DrawTensor.h"

namespace apc {

/// Data of the file in the precision of a parameter; a master takes them as the file has them. False for other shapes
/// and for what is no float in both.
static bool roundTo(Tensor &data, mlir::RankedTensorType type) {
  bool areFloats = data.isFloat() && llvm::isa<mlir::FloatType>(type.getElementType());
  if (llvm::ArrayRef<int64_t>(data.dims) != type.getShape() || (!areFloats && data.element != type.getElementType()))
    return false;
  data.element = type.getElementType();
  roundToElement(data);
  return true;
}

ParameterSource parametersOf(const ModelData &data, const FoldedWeights *folded, DrawnParameters *drawn) {
  return [&data, folded, drawn](ParameterOp parameter) -> llvm::Expected<Tensor> {
    auto type = llvm::cast<mlir::RankedTensorType>(parameter.getOutput().getType());
    if (auto shape = parameter->getAttrOfType<mlir::DenseI64ArrayAttr>(shapeAttribute))
      type = mlir::RankedTensorType::get(shape.asArrayRef(), type.getElementType());
    if (parameter.getSource() == zerosSource)
      return zeros(type);
    llvm::StringRef name = parameter.getName();
    if (parameter.getSource() == masterSource)
      name.consume_back(masterSuffix);
    auto computed = folded ? folded->find(name.str()) : FoldedWeights::const_iterator();
    bool isComputed = folded && computed != folded->end();
    llvm::Expected<Tensor> own = isComputed ? llvm::Expected<Tensor>(Tensor::read(computed->second))
                                            : data.tensor(name, *parameter->getContext());
    if (own && roundTo(*own, type))
      return own;
    if (!own && !own.errorIsA<AbsentData>())
      return own;
    llvm::consumeError(own.takeError());
    if (drawn)
      drawn->add(name);
    return drawTensor(name, type);
  };
}

} // namespace apc
