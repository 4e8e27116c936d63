// The numbers of a model's parameters: those of its files, or drawn ones.
#include "apc/Driver/ExecuteProgram.h"
#include "apc/Import/StoredNumbers.h"
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
    mlir::RankedTensorType type = wholeTypeOf(parameter);
    llvm::Expected<Tensor> own = storedNumbers(parameter, data, folded);
    if (own && roundTo(*own, type))
      return own;
    if (!own && !own.errorIsA<AbsentData>())
      return own;
    llvm::consumeError(own.takeError());
    llvm::StringRef name = storedNameOf(parameter);
    if (drawn)
      drawn->add(name);
    return drawTensor(name, type);
  };
}

} // namespace apc
