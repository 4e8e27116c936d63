// Gradients of causal convolution with a state: those of a convolution of the past and what follows.
#include "../../Convolution/Convolution.h"
#include "../../Elementwise/Activation.h"
#include "States.h"
#include "apc/IR/Ops/Movement/Movement.h"
#include "apc/IR/Ops/Reduction/Reduction.h"

namespace apc {

namespace {

enum CausalOperand : unsigned { Input, Weight, Bias, Past };

class Causal {
public:
  Causal(GradientBuilder &g, const ConvolutionOfState &sizes, int64_t dilation)
      : g(g), sizes(sizes),
        attributes{g.attribute("dilations", llvm::ArrayRef(dilation)), g.attribute("group", sizes.channels)} {
    bool hasPast = !isAbsent(g.operand(Past)) && sizes.kept > 0;
    whole = hasPast ? g.make<ConcatOp>({g.operand(Past), g.operand(Input)}, g.attribute("axis", int64_t(2)))
                    : padded(g.operand(Input), sizes.kept);
  }

  /// The gradient of the sums in front of the activation; null for activations that are not known.
  mlir::Value ofSums(const Activation &activation) {
    mlir::Value sums = g.make<ConvOp>({whole, g.operand(Weight), g.operand(Bias)}, attributes);
    mlir::Value activated = activation.make(g, sums);
    return activated ? activation.gradient(g, g.incoming(), activated, [&] { return sums; }) : activated;
  }

  void give(mlir::Value ofSums) {
    mlir::Value ofWhole = g.incoming(1) ? padded(g.incoming(1), sizes.positions) : mlir::Value();
    if (ofSums) {
      if (g.wants(Weight))
        g.give(Weight, g.make<ConvWeightGradOp>({whole, ofSums}, with("kernel_shape", sizes.kernel)));
      if (g.wants(Bias))
        g.give(Bias, g.make<ReduceSumOp>({ofSums, g.integers({0, 2})}, g.attribute("keepdims", int64_t(0))));
      mlir::Value ofInputs =
          g.make<ConvInputGradOp>({ofSums, g.operand(Weight)}, with("data_shape", sizes.kept + sizes.positions));
      ofWhole = ofWhole ? g.add(ofWhole, ofInputs) : ofInputs;
    }
    if (g.wants(Input))
      g.give(Input, slice(ofWhole, sizes.kept, sizes.kept + sizes.positions));
    if (g.wants(Past))
      g.give(Past, slice(ofWhole, 0, sizes.kept));
  }

private:
  /// Zeros before the positions.
  mlir::Value padded(mlir::Value value, int64_t count) {
    return count == 0 ? value : g.make<PadOp>({value, g.integers({count, 0}), g.absent(), g.integers({2})});
  }
  mlir::Value slice(mlir::Value value, int64_t begin, int64_t end) {
    if (begin == 0 && end == dimsOf(value)[2])
      return value;
    return g.make<SliceOp>({value, g.integers({begin}), g.integers({end}), g.integers({2}), g.absent()});
  }
  llvm::SmallVector<mlir::NamedAttribute, 3> with(llvm::StringRef name, int64_t size) {
    llvm::SmallVector<mlir::NamedAttribute, 3> all(attributes);
    all.push_back(g.attribute(name, llvm::ArrayRef(size)));
    return all;
  }

  GradientBuilder &g;
  const ConvolutionOfState &sizes;
  llvm::SmallVector<mlir::NamedAttribute, 3> attributes;
  mlir::Value whole; ///< the past, or zeros, and the input
};

} // namespace

bool CausalConvWithStateOp::differentiate(GradientBuilder &g) {
  auto sizes = readCausal(*this);
  if (mlir::failed(sizes))
    return false;
  Causal convolution(g, *sizes, static_cast<int64_t>(getDilation()));
  mlir::Value ofSums = g.incoming() ? convolution.ofSums({getActivation()}) : mlir::Value();
  if (g.incoming() && !ofSums)
    return g.refuse("attribute 'activation' is '" + getActivation() + "', and " + knownActivations() + " are accepted");
  convolution.give(ofSums);
  return true;
}

} // namespace apc
