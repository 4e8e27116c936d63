// Mixtures of experts by dense dispatch (Lepikhin et al., "GShard", 2020, algorithm 1): each expert has seats for so
// many tokens of a sequence, and one-hot tensors say which token sits where.
#include "Layers.h"

namespace apc {

/// [b, s, experts, seats]: the weight of each token's choice at the seat that it got.
std::string LayerWriter::combineWeights(const std::string &at, const std::string &x) {
  const int64_t seats = std::max<int64_t>(1, shape.sequence * shape.chosenExperts / shape.experts);
  std::string router = onnx.weight(at + ".router", {shape.hidden, shape.experts});
  std::string scores =
      onnx.node("Softmax", at + "/gates", {onnx.node("MatMul", at + "/router", {x, router})}, {{"axis", int64_t(-1)}});
  std::string best = at + "/best", index = at + "/index";
  onnx.nodeOf("TopK", {best, index}, {scores, onnx.integers(at + "/many", {shape.chosenExperts})});
  std::string total = onnx.node("ReduceSum", at + "/total", {best, "last_dim"}, {{"keepdims", int64_t(1)}});
  std::string shares = onnx.node("Div", at + "/shares", {best, total});
  auto oneHot = [&](const std::string &name, const std::string &of, int64_t size, bool isReal) {
    std::string all = isReal ? numbers(name + "/all", size) : countUp(name + "/all", size);
    std::string equal =
        onnx.node("Equal", name + "/equal", {onnx.node("Unsqueeze", name + "/more", {of, "last_dim"}), all});
    return onnx.node("Cast", name, {equal}, {{"to", floatType}});
  };
  std::string chosen = oneHot(at + "/chosen", index, shape.experts, /*isReal=*/false);
  // The first choices of all tokens come before the second ones.
  std::vector<int64_t> swap = {0, 2, 1, 3};
  std::string queue =
      onnx.node("Reshape", at + "/queue",
                {onnx.node("Transpose", at + "/by_choice", {chosen}, {{"perm", swap}}),
                 onnx.integers(at + "/queue_sizes", {0, shape.chosenExperts * shape.sequence, shape.experts})});
  std::string before = onnx.node("CumSum", at + "/before", {queue, onnx.integers(at + "/queue_dim", {1})});
  std::string places =
      onnx.node("Transpose", at + "/by_token",
                {onnx.node("Reshape", at + "/before_apart",
                           {before, onnx.integers(at + "/apart_sizes",
                                                  {0, shape.chosenExperts, shape.sequence, shape.experts})})},
                {{"perm", swap}});
  std::string own = onnx.node("ReduceSum", at + "/seat", {multiply(at + "/own", places, chosen), "last_dim"},
                              {{"keepdims", int64_t(0)}});
  std::string seat = oneHot(at + "/seats", own, seats, /*isReal=*/true);
  return onnx.node("Einsum", at + "/combine", {shares, chosen, seat},
                   {{"equation", std::string("bsk,bske,bskc->bsec")}});
}

std::string LayerWriter::experts(const std::string &at, const std::string &x) {
  auto einsum = [&](const std::string &name, const char *equation, const std::string &a, const std::string &b) {
    return onnx.node("Einsum", name, {a, b}, {{"equation", std::string(equation)}});
  };
  std::string combine = combineWeights(at, x);
  std::string dispatch =
      onnx.node("Cast", at + "/dispatch", {onnx.node("Greater", at + "/sent", {combine, onnx.scalar(at + "/none", 0)})},
                {{"to", floatType}});
  std::string seated = einsum(at + "/seated", "bsec,bsd->ebcd", dispatch, x);
  auto weight = [&](const char *name, int64_t rows, int64_t columns) {
    return onnx.weight(at + name, {shape.experts, rows, columns});
  };
  std::string up = einsum(at + "/up", "ebcd,edf->ebcf", seated, weight(".up", shape.hidden, shape.inner));
  std::string y = activate(at, up);
  if (shape.isGated())
    y = multiply(at + "/gated", y,
                 einsum(at + "/gate", "ebcd,edf->ebcf", seated, weight(".gate", shape.hidden, shape.inner)));
  std::string down = einsum(at + "/down", "ebcf,efd->ebcd", y, weight(".down", shape.inner, shape.hidden));
  return einsum(at + "/out", "bsec,ebcd->bsd", combine, down);
}

} // namespace apc
