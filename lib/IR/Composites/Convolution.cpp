// Convolutions of data whose channels stand last.
#include "../Ops/Convolution/Convolution.h"
#include "Parts.h"

#include "apc/IR/Ops/Movement/Movement.h"
#include "apc/IR/RuleBuilder.h"

#include <numeric>

namespace apc {

namespace {

/// With the last dim behind the first, or (`back`) the second dim at the end.
mlir::Value moveChannels(Parts &p, mlir::Value value, bool back) {
  if (!value)
    return value;
  llvm::SmallVector<int64_t> perm(dimsOf(value).size());
  std::iota(perm.begin(), perm.end(), 0);
  if (back)
    std::rotate(perm.begin() + 1, perm.begin() + 2, perm.end());
  else
    std::rotate(perm.begin() + 1, perm.end() - 1, perm.end());
  return p.make<TransposeOp>(value, p.attribute("perm", llvm::ArrayRef<int64_t>(perm)));
}

/// X [n, ..., c] and W [outputs, ..., c / group] -> Y [n, ..., outputs].
PartValues convolutionOfLast(Parts &p) {
  for (size_t i : {0, 1})
    if (dimsOf(p.operand(i)).size() < 3)
      p.fail("input " + llvm::Twine(i) + " has shape " + printDims(dimsOf(p.operand(i))) +
             "; at least 3 dims are needed");
  if (p.hasFailed())
    return {};
  mlir::NamedAttrList attributes;
  for (llvm::StringRef name : {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"})
    p.pass(name, attributes);
  mlir::Value bias = p.numOperands() > 2 ? p.operand(2) : p.absent();
  mlir::Value result = p.make<ConvOp>(
      {moveChannels(p, p.operand(0), false), moveChannels(p, p.operand(1), false), bias}, attributes.getAttrs());
  return {moveChannels(p, result, true)};
}

constexpr CompositeEntry entries[] = {{"com.microsoft.NhwcConv", 2, 3, 1, convolutionOfLast}};

} // namespace

llvm::ArrayRef<CompositeEntry> convolutionComposites() { return entries; }

} // namespace apc
