// Constant indices of every Gather.
#include "ConstantIndices.h"

#include "apc/IR/MainFunction.h"
#include "apc/IR/Ops/Indexing/Indexing.h"
#include "apc/IR/PlaceName.h"
#include "apc/IR/Progression.h"
#include "apc/Support/Error.h"

namespace apc::onnx {

/// The first element that lies outside a dim of \p size, which negative ones count from the end of.
static std::optional<int64_t> outsideOf(mlir::DenseElementsAttr indices, int64_t size) {
  if (!llvm::isa<mlir::IntegerType>(indices.getElementType()))
    return std::nullopt;
  for (const llvm::APInt &index : indices.getValues<llvm::APInt>())
    if (const int64_t own = index.getSExtValue(); own < -size || own >= size)
      return own;
  return std::nullopt;
}

/// The same, of indices of whatever number where they grow evenly, and of the others where they are at hand.
static std::optional<int64_t> outsideOf(ImportState &state, mlir::Value indices, int64_t size) {
  if (std::optional<Progression> numbers = progressionOf(indices))
    return numbers->outside(-size, size);
  mlir::DenseElementsAttr data = state.findData(indices);
  return data ? outsideOf(data, size) : std::nullopt;
}

llvm::Error checkConstantIndices(ImportState &state) {
  auto main = mainOf(*state.module);
  if (!main)
    return llvm::Error::success();
  for (GatherOp gather : main.getOps<GatherOp>()) {
    llvm::ArrayRef<int64_t> data = dimsOf(gather.getData());
    const auto rank = static_cast<int64_t>(data.size()), axis = static_cast<int64_t>(gather.getAxis());
    const int64_t size = data[static_cast<size_t>(axis < 0 ? axis + rank : axis)];
    if (std::optional<int64_t> index = outsideOf(state, gather.getIndices(), size))
      return inputError("{0}: op '{1}' (Gather) picks element {2} of a dim of {3}, which has {4} to {5}; where a --dim "
                        "says how many positions there are, {3} or fewer are accepted",
                        state.source, placeName(gather), *index, size, -size, size - 1);
  }
  return llvm::Error::success();
}

} // namespace apc::onnx
