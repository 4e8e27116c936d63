// Graph inputs whose numbers the user gives.
#include "InputValues.h"

#include "apc/IR/Kernels/Tensor.h"
#include "apc/IR/RuleBuilder.h"
#include "apc/Support/Error.h"

#include <cmath>

namespace apc::onnx {

namespace {

/// The dims of a tensor of `count` elements. A number that the file declares stands, a symbol that is bound as well.
std::optional<llvm::SmallVector<int64_t, 4>> dimsFor(const ValueInfoProto &input, int64_t count, DimBinder &binder) {
  const TypeProto::Tensor &type = input.type().tensor_type();
  if (!type.has_shape())
    return llvm::SmallVector<int64_t, 4>{count};
  llvm::SmallVector<int64_t, 4> dims;
  std::optional<size_t> open;
  for (const auto &[position, dim] : llvm::enumerate(type.shape().dim())) {
    std::optional<int64_t> size = binder.known(input.name(), position, dim);
    if (!size && open)
      return std::nullopt;
    if (!size)
      open = position;
    dims.push_back(size.value_or(1));
  }
  int64_t others = checkedProduct(dims).value_or(0);
  if (open && others > 0 && count % others == 0)
    dims[*open] = count / others;
  return checkedProduct(dims) == count ? std::optional(dims) : std::nullopt;
}

/// INT64_MAX, with which slices say "to the end", has no double: the next one is beyond it.
std::optional<int64_t> wholeNumber(double number) {
  if (number != std::floor(number))
    return std::nullopt;
  if (number >= 0x1p63)
    return std::numeric_limits<int64_t>::max();
  return number < -0x1p63 ? std::nullopt : std::optional(static_cast<int64_t>(number));
}

} // namespace

llvm::Expected<mlir::DenseElementsAttr> constantInput(const ValueInfoProto &input, mlir::Type element,
                                                      llvm::ArrayRef<double> numbers, DimBinder &binder,
                                                      llvm::StringRef source) {
  auto dims = dimsFor(input, static_cast<int64_t>(numbers.size()), binder);
  if (!dims)
    return inputError("{0}: --value {1}: {2} numbers are given, which do not fill the dims of the input; bind its "
                      "symbols with --dim, or give as many numbers as it has elements",
                      source, input.name(), numbers.size());
  Tensor tensor;
  tensor.element = element;
  tensor.dims = *dims;
  for (double number : numbers) {
    if (tensor.isFloat()) {
      tensor.floats.push_back(number);
      continue;
    }
    std::optional<int64_t> whole = wholeNumber(number);
    if (!whole || (element.isInteger(1) && *whole != 0 && *whole != 1))
      return inputError("{0}: --value {1}: {2} is no {3}", source, input.name(), number,
                        element.isInteger(1) ? "bool (0 or 1)" : "whole number");
    tensor.ints.push_back(*whole);
  }
  return tensor.toAttribute();
}

} // namespace apc::onnx
