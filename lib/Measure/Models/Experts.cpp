// Mixtures of experts: each has seats for an equal part of the choices that tokens make.
#include "Layers.h"

#include "llvm/Support/MathExtras.h"

namespace apc {

LayerWriter::Choices LayerWriter::choose(const std::string &at, const std::string &x) {
  std::string router = onnx.weight(at + ".router", {shape.hidden, shape.experts});
  std::string scores =
      onnx.node("Softmax", at + "/gates", {onnx.node("MatMul", at + "/router", {x, router})}, {{"axis", int64_t(-1)}});
  std::string best = at + "/best", index = at + "/index";
  onnx.nodeOf("TopK", {best, index}, {scores, onnx.integers(at + "/many", {shape.chosenExperts})});
  std::string total = onnx.node("ReduceSum", at + "/total", {best, "last_dim"}, {{"keepdims", int64_t(1)}});
  return {index, onnx.node("Div", at + "/shares", {best, total})};
}

/// The experts on rows [`dims`, hidden]; one of the letters in `dims` is e, of the experts, and none is d or f.
std::string LayerWriter::expertOf(const std::string &at, const std::string &seated, const std::string &dims) {
  auto product = [&](const std::string &name, const std::string &x, char from, char to, int64_t rows, int64_t columns) {
    std::string weight = onnx.weight(at + "." + name, {shape.experts, rows, columns});
    return onnx.node("Einsum", at + "/" + name, {x, weight},
                     {{"equation", dims + from + ",e" + from + to + "->" + dims + to}});
  };
  std::string y = activate(at, product("up", seated, 'd', 'f', shape.hidden, shape.inner));
  if (shape.isGated())
    y = multiply(at + "/gated", y, product("gate", seated, 'd', 'f', shape.hidden, shape.inner));
  return product("down", y, 'f', 'd', shape.inner, shape.hidden);
}

/// [b, s, experts, seats]: the weight of each token's choice at the seat that it got.
std::string LayerWriter::combineWeights(const std::string &at, const Choices &choices) {
  const int64_t seats = std::max<int64_t>(1, shape.sequence * shape.chosenExperts / shape.experts);
  auto oneHot = [&](const std::string &name, const std::string &of, int64_t size, bool isReal) {
    std::string all = isReal ? numbers(name + "/all", size) : countUp(name + "/all", size);
    std::string equal =
        onnx.node("Equal", name + "/equal", {onnx.node("Unsqueeze", name + "/more", {of, "last_dim"}), all});
    return onnx.node("Cast", name, {equal}, {{"to", floatType}});
  };
  std::string chosen = oneHot(at + "/chosen", choices.experts, shape.experts, /*isReal=*/false);
  // The first choices of all tokens come before the second ones.
  std::vector<int64_t> swap = {0, 2, 1, 3};
  std::string queue = reshape(at + "/queue", onnx.node("Transpose", at + "/by_choice", {chosen}, {{"perm", swap}}),
                              {sameDim, shape.chosenExperts * shape.sequence, shape.experts});
  std::string before =
      onnx.node("CumSum", at + "/before", {queue, onnx.integers(at + "/queue_dim", {1})}, {{"exclusive", int64_t(1)}});
  std::string places =
      onnx.node("Transpose", at + "/by_token",
                {reshape(at + "/before_apart", before, {sameDim, shape.chosenExperts, shape.sequence, shape.experts})},
                {{"perm", swap}});
  std::string own = onnx.node("ReduceSum", at + "/seat", {multiply(at + "/own", places, chosen), "last_dim"},
                              {{"keepdims", int64_t(0)}});
  std::string seat = oneHot(at + "/seats", own, seats, /*isReal=*/true);
  return onnx.node("Einsum", at + "/combine", {choices.shares, chosen, seat},
                   {{"equation", std::string("bsk,bske,bskc->bsec")}});
}

std::string LayerWriter::expertsByOneHot(const std::string &at, const std::string &x) {
  auto einsum = [&](const std::string &name, const char *equation, const std::string &a, const std::string &b) {
    return onnx.node("Einsum", name, {a, b}, {{"equation", std::string(equation)}});
  };
  std::string combine = combineWeights(at, choose(at, x));
  std::string dispatch =
      onnx.node("Cast", at + "/dispatch", {onnx.node("Greater", at + "/sent", {combine, onnx.scalar(at + "/none", 0)})},
                {{"to", floatType}});
  std::string seated = einsum(at + "/seated", "bsec,bsd->ebcd", dispatch, x);
  return einsum(at + "/out", "bsec,ebcd->bsd", combine, expertOf(at, seated, "ebc"));
}

/// The order in which `size` integers of the last dim ascend, as their indices.
std::string LayerWriter::orderOf(const std::string &name, const std::string &x, int64_t size) {
  onnx.nodeOf("TopK", {name + "/values", name}, {x, onnx.integers(name + "/size", {size})}, {{"largest", int64_t(0)}});
  return name;
}

/// Rows of [b, parts, rows, hidden] that [b, parts, n] names in each part.
std::string LayerWriter::takeRows(const std::string &name, const std::string &rows, const std::string &index) {
  std::string tuples = onnx.node("Unsqueeze", name + "/index", {index, "last_dim"});
  return onnx.node("GatherND", name, {rows, tuples}, {{"batch_dims", int64_t(2)}});
}

/// The token on each seat, [b, parts, experts * seats], by the order of choices; seats left over have the first.
std::string LayerWriter::tokensOfSeats(const std::string &at, const std::string &order, int64_t empty) {
  std::string tokens = onnx.node("Div", at + "/sitting", {order, onnx.integers(at + "/chosen", {shape.chosenExperts})});
  if (empty == 0)
    return tokens;
  return onnx.node("Pad", at + "/filled", {tokens, onnx.integers(at + "/empty", {0, 0, 0, 0, 0, empty})});
}

/// Sorted by expert, the choices of each part of a sequence fill the seats in turn. An expert that more tokens chose
/// than it has seats leaves some to its neighbour; in the balance that costs stand for there is none.
std::string LayerWriter::expertsByIndex(const std::string &at, const std::string &x) {
  const int64_t parts = shape.routedParts, positions = shape.sequence / parts;
  const int64_t made = positions * shape.chosenExperts;
  const auto seats = static_cast<int64_t>(llvm::divideCeil(made, shape.experts));
  std::string tokens = reshape(at + "/tokens", x, {sameDim, parts, positions, shape.hidden});
  Choices choices = choose(at, tokens);
  std::string order = orderOf(at + "/order", reshape(at + "/queue", choices.experts, {sameDim, parts, made}), made);
  std::string taken = takeRows(at + "/taken", tokens, tokensOfSeats(at, order, seats * shape.experts - made));
  std::string seated = reshape(at + "/seated", taken, {sameDim, parts, shape.experts, seats, shape.hidden});
  std::string results =
      reshape(at + "/results", expertOf(at, seated, "bgec"), {sameDim, parts, shape.experts * seats, shape.hidden});
  std::string given = takeRows(at + "/given", results, orderOf(at + "/seat", order, made));
  std::string back = reshape(at + "/back", given, {sameDim, parts, positions, shape.chosenExperts, shape.hidden});
  std::string shares = onnx.node("Unsqueeze", at + "/weights", {choices.shares, "last_dim"});
  std::string sum =
      onnx.node("ReduceSum", at + "/sum", {multiply(at + "/weighted", back, shares), onnx.integers(at + "/over", {3})},
                {{"keepdims", int64_t(0)}});
  return reshape(at + "/out", sum, {sameDim, shape.sequence, shape.hidden});
}

std::string LayerWriter::experts(const std::string &at, const std::string &x) {
  return shape.dispatch == ExpertDispatch::OneHot ? expertsByOneHot(at, x) : expertsByIndex(at, x);
}

} // namespace apc
