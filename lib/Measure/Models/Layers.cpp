// Layers of transformers, op by op, as PyTorch's exporter writes them.
#include "Layers.h"

#include <cmath>

namespace apc {

namespace {

const std::string batch = "batch";

} // namespace

LayerWriter::LayerWriter(const TransformerShape &shape) : shape(shape), onnx("transformer") {
  onnx.weight("embedding", {shape.vocabulary, shape.hidden});
  onnx.scalar("two", 2);
  onnx.scalar("small", 1e-5);
  onnx.scalar("lowest", -1e9);
  onnx.scalar("score_scale", 1 / std::sqrt(static_cast<double>(shape.headSize)));
  onnx.integer("zero", 0);
  onnx.integer("one", 1);
  onnx.integers("third_dim", {2});
  onnx.integers("last_dim", {-1});
}

std::string LayerWriter::tokens(llvm::StringRef name, int64_t sequence) {
  return onnx.input(name, {batch, sequence}, /*isInteger=*/true);
}

std::string LayerWriter::add(const std::string &at, const std::string &a, const std::string &b) {
  return onnx.node("Add", at, {a, b});
}

std::string LayerWriter::multiply(const std::string &at, const std::string &a, const std::string &b) {
  return onnx.node("Mul", at, {a, b});
}

std::string LayerWriter::countUp(const std::string &name, int64_t size) {
  return onnx.node("Range", name, {"zero", onnx.integer(name + "/end", size), "one"});
}

std::string LayerWriter::numbers(const std::string &at, int64_t size) {
  return onnx.node("Cast", at + "/real", {countUp(at + "/whole", size)}, {{"to", floatType}});
}

std::string LayerWriter::embed(const std::string &at, const std::string &tokens, int64_t sequence) {
  std::string x = onnx.node("Gather", at + "words", {"embedding", tokens});
  if (shape.positions != TransformerPositions::Learned)
    return x;
  std::string table = onnx.weight(at + "positions.weight", {sequence, shape.hidden});
  return add(at + "placed", x, onnx.node("Gather", at + "positions", {table, countUp(at + "places", sequence)}));
}

std::string LayerWriter::causalMask(const std::string &at, int64_t sequence) {
  std::string keys = countUp(at + "keys", sequence), column = onnx.integers(at + "column", {1});
  return onnx.node("Less", at + "later", {onnx.node("Unsqueeze", at + "queries", {keys, column}), keys});
}

std::string LayerWriter::linear(const std::string &at, const std::string &x, int64_t rows, int64_t columns) {
  std::string y = onnx.node("MatMul", at + "/product", {x, onnx.weight(at + ".weight", {rows, columns})});
  return shape.hasBias ? add(at + "/sum", y, onnx.weight(at + ".bias", {columns})) : y;
}

std::string LayerWriter::rmsNorm(const std::string &at, const std::string &x) {
  std::string mean = onnx.node("ReduceMean", at + "/mean", {onnx.node("Pow", at + "/square", {x, "two"}), "last_dim"},
                               {{"keepdims", int64_t(1)}});
  std::string root = onnx.node("Sqrt", at + "/root", {add(at + "/some", mean, "small")});
  return multiply(at, onnx.node("Div", at + "/unit", {x, root}), onnx.weight(at + ".weight", {shape.hidden}));
}

std::string LayerWriter::norm(const std::string &at, const std::string &x) {
  if (shape.hasRmsNorm)
    return rmsNorm(at, x);
  std::string scale = onnx.weight(at + ".weight", {shape.hidden}), bias = onnx.weight(at + ".bias", {shape.hidden});
  return onnx.node("LayerNormalization", at, {x, scale, bias}, {{"axis", int64_t(-1)}, {"epsilon", 1e-5}});
}

std::string LayerWriter::activate(const std::string &at, const std::string &x) {
  if (shape.activation == TransformerActivation::SquaredRelu) {
    std::string positive = onnx.node("Relu", at + "/relu", {x});
    return multiply(at + "/squared", positive, positive);
  }
  if (shape.activation == TransformerActivation::Gelu)
    return onnx.node("Gelu", at + "/gelu", {x});
  return multiply(at + "/swish", x, onnx.node("Sigmoid", at + "/sigmoid", {x}));
}

std::string LayerWriter::dense(const std::string &at, const std::string &x, int64_t inner) {
  std::string y = activate(at, linear(at + "/up", x, shape.hidden, inner));
  if (shape.isGated())
    y = multiply(at + "/gated", y, linear(at + "/gate", x, shape.hidden, inner));
  return linear(at + "/down", y, inner, shape.hidden);
}

std::string LayerWriter::reshape(const std::string &name, const std::string &x, const std::vector<int64_t> &sizes) {
  return onnx.node("Reshape", name, {x, onnx.integers(name + "/sizes", sizes)});
}

/// [b, s, heads * d] -> [b, heads, s, d].
std::string LayerWriter::apart(const std::string &at, const std::string &x, int64_t sequence, int64_t heads) {
  return onnx.node("Transpose", at + "/heads", {reshape(at + "/apart", x, {sameDim, sequence, heads, shape.headSize})},
                   {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
}

/// Each head of keys or values for all the queries that it serves.
std::string LayerWriter::repeated(const std::string &at, const std::string &x, int64_t sequence) {
  int64_t times = shape.heads / shape.keyHeads;
  if (times == 1)
    return x;
  std::string more = onnx.node("Unsqueeze", at + "/more", {x, "third_dim"});
  std::string wide =
      onnx.node("Expand", at + "/wide",
                {more, onnx.integers(at + "/each", {1, shape.keyHeads, times, sequence, shape.headSize})});
  return reshape(at + "/repeated", wide, {sameDim, shape.heads, sequence, shape.headSize});
}

LayerWriter::Rotation LayerWriter::rotation(int64_t sequence) {
  if (!known.cosines.empty())
    return known;
  std::string column =
      onnx.node("Unsqueeze", "/rotary/column", {numbers("/rotary/places", sequence), onnx.integers("rotary.dim", {1})});
  double step = -2.0 / static_cast<double>(shape.headSize);
  std::string exponents =
      multiply("/rotary/exponents", numbers("/rotary/index", shape.headSize / 2), onnx.scalar("rotary.step", step));
  std::string frequencies = onnx.node("Pow", "/rotary/frequencies", {onnx.scalar("rotary.base", 1e4), exponents});
  std::string half = multiply("/rotary/half", column, frequencies);
  std::string angles = onnx.node("Concat", "/rotary/angles", {half, half}, {{"axis", int64_t(-1)}});
  return known = {onnx.node("Cos", "/rotary/cos", {angles}), onnx.node("Sin", "/rotary/sin", {angles})};
}

std::string LayerWriter::rotate(const std::string &at, const std::string &x, const Rotation &by) {
  std::string first = at + "/first", second = at + "/second";
  onnx.nodeOf("Split", {first, second}, {x}, {{"axis", int64_t(-1)}, {"num_outputs", int64_t(2)}});
  std::string turned =
      onnx.node("Concat", at + "/turned", {onnx.node("Neg", at + "/minus", {second}), first}, {{"axis", int64_t(-1)}});
  return add(at + "/rotated", multiply(at + "/along", x, by.cosines), multiply(at + "/across", turned, by.sines));
}

std::string LayerWriter::attend(const std::string &at, const std::string &q, const std::string &k, const std::string &v,
                                const std::string &mask, int64_t sequence) {
  std::string keys = onnx.node("Transpose", at + "/keys", {k}, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
  std::string scores = multiply(at + "/scaled", onnx.node("MatMul", at + "/scores", {q, keys}), "score_scale");
  if (!mask.empty())
    scores = onnx.node("Where", at + "/masked", {mask, "lowest", scores});
  std::string weights = onnx.node("Softmax", at + "/weights", {scores}, {{"axis", int64_t(-1)}});
  std::string mixed = onnx.node("Transpose", at + "/joined", {onnx.node("MatMul", at + "/mixed", {weights, v})},
                                {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
  const int64_t columns = shape.heads * shape.headSize;
  return linear(at + "/out", reshape(at + "/flat", mixed, {sameDim, sequence, columns}), columns, shape.hidden);
}

std::string LayerWriter::attention(const std::string &at, const std::string &x, const std::string &mask,
                                   int64_t sequence, const std::string &memory, int64_t memorySequence) {
  const int64_t own = shape.heads * shape.headSize, keyed = shape.keyHeads * shape.headSize;
  std::string q, k, v;
  bool isFused = memory.empty() && own == keyed;
  if (isFused) {
    q = at + "/q", k = at + "/k", v = at + "/v";
    onnx.nodeOf("Split", {q, k, v}, {linear(at + "/qkv", x, shape.hidden, own + 2 * keyed)},
                {{"axis", int64_t(-1)}, {"num_outputs", int64_t(3)}});
  } else {
    const std::string &source = memory.empty() ? x : memory;
    q = linear(at + "/query", x, shape.hidden, own);
    k = linear(at + "/key", source, shape.hidden, keyed);
    v = linear(at + "/value", source, shape.hidden, keyed);
  }
  const int64_t length = memory.empty() ? sequence : memorySequence;
  q = apart(at + "/q", q, sequence, shape.heads);
  k = apart(at + "/k", k, length, shape.keyHeads);
  v = apart(at + "/v", v, length, shape.keyHeads);
  if (shape.positions == TransformerPositions::Rotary && memory.empty()) {
    Rotation by = rotation(sequence);
    q = rotate(at + "/q", q, by), k = rotate(at + "/k", k, by);
  }
  return attend(at, q, repeated(at + "/k", k, length), repeated(at + "/v", v, length), mask, sequence);
}

std::string LayerWriter::layer(const std::string &at, std::string x, const std::string &mask, int64_t sequence,
                               const std::string &memory, int64_t memorySequence) {
  x = add(at + "/attended", x, attention(at + "/attn", norm(at + "/norm_1", x), mask, sequence, "", 0));
  if (!memory.empty())
    x = add(at + "/crossed", x,
            attention(at + "/cross", norm(at + "/norm_3", x), "", sequence, memory, memorySequence));
  std::string rows = norm(at + "/norm_2", x);
  std::string behind = shape.experts > 0 ? experts(at + "/moe", rows) : dense(at + "/mlp", rows, shape.inner);
  if (shape.experts > 0 && shape.sharedInner > 0)
    behind = add(at + "/with_shared", behind, dense(at + "/shared", rows, shape.sharedInner));
  return add(at + "/out", x, behind);
}

std::string LayerWriter::head(const std::string &at, const std::string &x) {
  std::string table =
      shape.isTied ? onnx.node("Transpose", at + "/turned", {"embedding"}, {{"perm", std::vector<int64_t>{1, 0}}})
                   : onnx.weight(at + ".weight", {shape.hidden, shape.vocabulary});
  return onnx.node("MatMul", "logits", {x, table});
}

std::string LayerWriter::transform(const std::string &at, const std::string &x) {
  return norm(at + "/norm", activate(at, linear(at + "/dense", x, shape.hidden, shape.hidden)));
}

} // namespace apc
