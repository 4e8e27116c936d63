// Operators that pick or place elements, on small constants.
#include "apc/IR/Ops/Indexing.h"

namespace apc {

using Constants = llvm::ArrayRef<mlir::DenseElementsAttr>;
using Index = llvm::ArrayRef<int64_t>;

Evaluated GatherOp::evaluate(Constants operands) {
  auto axis = normalizeAxis(*this, static_cast<int64_t>(getAxis()), dimsOf(getData()).size());
  if (!operands[0] || !operands[1] || mlir::failed(axis))
    return std::nullopt;
  mlir::RankedTensorType type = evaluatedType(*this);
  ConstantTensor indices = ConstantTensor::read(operands[1]);
  if (!type || indices.isFloat())
    return std::nullopt;
  llvm::ArrayRef<int64_t> dims = dimsOf(getData());
  llvm::SmallVector<int64_t, 4> from;
  return evaluatedAs(pickElements(operands[0], type, [&](Index index) -> int64_t {
    int64_t picked = indices.ints[positionOf(index.slice(*axis, indices.dims.size()), indices.dims)];
    if (picked < -dims[*axis] || picked >= dims[*axis])
      return -1;
    from.assign(index.begin(), index.begin() + *axis);
    from.push_back(picked < 0 ? picked + dims[*axis] : picked);
    from.append(index.begin() + *axis + indices.dims.size(), index.end());
    return positionOf(from, dims);
  }));
}

} // namespace apc
