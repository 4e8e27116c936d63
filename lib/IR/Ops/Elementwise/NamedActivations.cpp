// Activations by name, as ops.
#include "NamedActivations.h"

#include "apc/IR/Ops/Elementwise/Elementwise.h"

namespace apc {

namespace {

using mlir::Value;

template <typename Op>
Value made(GradientBuilder &g, Value x) {
  return g.make<Op>({x});
}
Value same(GradientBuilder &, Value x) { return x; }
Value gelu(GradientBuilder &g, Value x) { return g.make<GeluOp>({x}); }
Value geluByTanh(GradientBuilder &g, Value x) { return g.make<GeluOp>({x}, g.attribute("approximate", "tanh")); }

template <typename Op>
Value byInput(GradientBuilder &g, Value arriving, Value x, Value) {
  return g.make<Op>({arriving, x});
}
template <typename Op>
Value byResult(GradientBuilder &g, Value arriving, Value, Value y) {
  return g.make<Op>({arriving, y});
}
Value arrived(GradientBuilder &, Value arriving, Value, Value) { return arriving; }
Value softplusSlope(GradientBuilder &g, Value arriving, Value x, Value) {
  return g.mul(arriving, g.make<SigmoidOp>({x}));
}
Value geluByTanhSlope(GradientBuilder &g, Value arriving, Value x, Value) {
  return g.make<GeluGradOp>({arriving, x}, g.attribute("approximate", "tanh"));
}

constexpr NamedActivation rows[] = {
    {"", same, arrived},
    {"none", same, arrived},
    {"identity", same, arrived},
    {"relu", made<ReluOp>, byResult<ReluGradOp>},
    {"tanh", made<TanhOp>, byResult<TanhGradOp>},
    {"sigmoid", made<SigmoidOp>, byResult<SigmoidGradOp>},
    {"silu", made<SwishOp>, byInput<SwishGradOp>},
    {"swish", made<SwishOp>, byInput<SwishGradOp>},
    {"gelu", gelu, byInput<GeluGradOp>},
    {"fastgelu", geluByTanh, geluByTanhSlope},
    {"softplus", made<SoftplusOp>, softplusSlope},
};

} // namespace

const NamedActivation *namedActivation(llvm::StringRef name) {
  for (const NamedActivation &row : rows)
    if (name.equals_insensitive(row.name))
      return &row;
  return nullptr;
}

} // namespace apc
