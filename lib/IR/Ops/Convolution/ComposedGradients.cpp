// Gradients of convolutions with more in them: sums and activations.
#include "../Elementwise/Activation.h"
#include "Convolution.h"
#include "apc/IR/Ops/Elementwise/Elementwise.h"

namespace apc {

// y = activation(conv(X, W) + B + Z). Where the activation needs its operand, that is computed once more.
bool FusedConvOp::differentiate(GradientBuilder &g) {
  auto sizes = readConvolution(*this, {.summand = 3});
  if (mlir::failed(sizes))
    return false;
  llvm::ArrayRef<float> parameters = getActivationParams().value_or(llvm::ArrayRef<float>());
  auto parameter = [&](size_t index) {
    return index < parameters.size() ? std::optional<double>(parameters[index]) : std::nullopt;
  };
  Activation activation{getActivation().value_or(""), parameter(0), parameter(1), parameter(2)};
  auto sum = [&] {
    llvm::SmallVector<mlir::NamedAttribute, 6> attributes;
    for (llvm::StringRef name : {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"})
      if (mlir::Attribute value = (*this)->getAttr(name))
        attributes.push_back(g.attribute(name, value));
    mlir::Value product = g.make<ConvOp>({getX(), getW(), getB()}, attributes);
    return isAbsent(getZ()) ? product : g.add(product, getZ());
  };
  mlir::Value arriving = activation.gradient(g, g.incoming(), g.result(), sum);
  if (!arriving)
    return false;
  giveConvolution(g, *sizes, arriving);
  if (g.wants(3))
    g.give(3, arriving);
  return true;
}

} // namespace apc
