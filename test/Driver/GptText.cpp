// Text of transformers, op by op.
#include "GptText.h"

#include <vector>

namespace apc {

namespace {

const char *const turning = "perm = array<i64: 1, 0>";

struct Value {
  std::string name;
  std::vector<int64_t> dims;
};

class Writer {
public:
  explicit Writer(const GptSizes &sizes) : sizes(sizes) {}

  std::string write() {
    Value input{"x", {sizes.batch, sizes.length, sizes.hidden}}, x = input;
    if (sizes.hasEmbedding) {
      input.dims.pop_back();
      x = embedding(input);
    }
    if (sizes.hasDropout)
      body += "%ratio = apc.constant dense<0.1> : tensor<f32>\n%on = apc.constant dense<true> : tensor<i1>\n"
              "%drawn = apc.none\n";
    for (int64_t index = 0; index < sizes.layers; ++index)
      x = layer(x, "l" + std::to_string(index) + "_");
    if (sizes.hasEmbedding)
      x = norm("last", x);
    if (sizes.isTied)
      x = op("matmul", "head", {x, op("transpose", "turned", {table()}, {sizes.hidden, sizes.vocabulary}, turning)},
             {x.dims[0], x.dims[1], sizes.vocabulary});
    else if (sizes.vocabulary > 0)
      x = product("head", x, sizes.vocabulary);
    return "func.func @main(%x: " + inputType(input) + " {apc.name = \"x\"}) -> (" + typeOf(x.dims) +
           " {apc.name = \"y\"}) {\n" + body + "return %" + x.name + " : " + typeOf(x.dims) + "\n}";
  }

private:
  std::string typeOf(const std::vector<int64_t> &dims) const {
    std::string text = "tensor<";
    for (int64_t dim : dims)
      text += std::to_string(dim) + "x";
    return text + sizes.element + ">";
  }

  Value parameter(const std::string &name, std::vector<int64_t> dims) {
    body += "%" + name + " = apc.parameter \"" + name + "\" \"initializer\" : " + typeOf(dims) + "\n";
    return {name, std::move(dims)};
  }

  Value op(const std::string &kind, const std::string &name, const std::vector<Value> &operands,
           std::vector<int64_t> dims, const std::string &attributes = "") {
    std::string read, types;
    for (const Value &operand : operands) {
      read += (read.empty() ? "%" : ", %") + operand.name;
      types += (types.empty() ? "" : ", ") + typeOf(operand.dims);
    }
    body += "%" + name + " = \"apc." + kind + "\"(" + read + ") {" + attributes + "} : (" + types + ") -> " +
            typeOf(dims) + " loc(\"" + name + "\")\n";
    return {name, std::move(dims)};
  }

  std::string inputType(const Value &input) const {
    return sizes.hasEmbedding ? "tensor<" + std::to_string(sizes.batch) + "x" + std::to_string(sizes.length) + "xi64>"
                              : typeOf(input.dims);
  }

  Value table() const { return {"table", {sizes.vocabulary, sizes.hidden}}; }

  Value embedding(const Value &tokens) {
    std::vector<int64_t> dims = {sizes.batch, sizes.length, sizes.hidden};
    parameter("table", table().dims);
    body += "%embedded = \"apc.gather\"(%table, %x) {axis = 0 : i64} : (" + typeOf(table().dims) + ", " +
            inputType(tokens) + ") -> " + typeOf(dims) + " loc(\"embedded\")\n";
    Value x{"embedded", dims};
    return sizes.hasPositions ? op("add", "placed", {x, parameter("positions", {sizes.length, sizes.hidden})}, dims)
                              : x;
  }

  /// A product and its bias.
  Value projection(const std::string &name, const Value &x, int64_t columns) {
    Value y = product(name, x, columns);
    return sizes.hasBiases ? op("add", name + "_sum", {y, parameter(name + "_bias", {columns})}, y.dims) : y;
  }

  Value product(const std::string &name, const Value &x, int64_t columns) {
    Value weight = parameter(name + "_weight", {x.dims.back(), columns});
    return op("matmul", name, {x, weight}, {x.dims[0], x.dims[1], columns});
  }

  Value norm(const std::string &name, const Value &x) {
    Value scale = parameter(name + "_scale", {sizes.hidden}), bias = parameter(name + "_bias", {sizes.hidden});
    body += "%" + name + ":3 = \"apc.layer_normalization\"(%" + x.name + ", %" + scale.name + ", %" + bias.name +
            ") : (" + typeOf(x.dims) + ", " + typeOf(scale.dims) + ", " + typeOf(bias.dims) + ") -> (" +
            typeOf(x.dims) + ", none, none) loc(\"" + name + "\")\n";
    return {name + "#0", x.dims};
  }

  Value dropout(const std::string &name, const Value &x) {
    if (!sizes.hasDropout)
      return x;
    body += "%" + name + ":2 = \"apc.dropout\"(%" + x.name + ", %ratio, %on, %drawn) {opset_version = 13 : i64} : (" +
            typeOf(x.dims) + ", tensor<f32>, tensor<i1>, none) -> (" + typeOf(x.dims) + ", none) loc(\"" + name +
            "\")\n";
    return {name + "#0", x.dims};
  }

  Value reshape(const std::string &name, const Value &x, std::vector<int64_t> dims) {
    std::string list;
    for (int64_t dim : dims)
      list += (list.empty() ? "" : ", ") + std::to_string(dim);
    std::string shape = name + "_shape", shapeType = "tensor<" + std::to_string(dims.size()) + "xi64>";
    body += "%" + shape + " = apc.constant dense<[" + list + "]> : " + shapeType + "\n";
    body += "%" + name + " = \"apc.reshape\"(%" + x.name + ", %" + shape + ") : (" + typeOf(x.dims) + ", " + shapeType +
            ") -> " + typeOf(dims) + " loc(\"" + name + "\")\n";
    return {name, std::move(dims)};
  }

  /// [b, s, h] as [b, a, s, h / a], or with the last two dims exchanged.
  Value heads(const std::string &name, const Value &x, bool isTurned) {
    int64_t size = sizes.hidden / sizes.heads;
    Value apart = reshape(name + "_apart", x, {sizes.batch, sizes.length, sizes.heads, size});
    if (isTurned)
      return op("transpose", name + "_heads", {apart}, {sizes.batch, sizes.heads, size, sizes.length},
                "perm = array<i64: 0, 2, 3, 1>");
    return op("transpose", name + "_heads", {apart}, {sizes.batch, sizes.heads, sizes.length, size},
              "perm = array<i64: 0, 2, 1, 3>");
  }

  /// Queries in `heads`, keys and values in `keyHeads`.
  Value groupedAttention(const Value &x, const std::string &at) {
    int64_t size = sizes.hidden / sizes.heads;
    auto apart = [&](const char *name, int64_t heads) {
      Value y = reshape(at + name + "_apart", projection(at + name, x, heads * size),
                        {sizes.batch, sizes.length, heads, size});
      return op("transpose", at + name + "_heads", {y}, {sizes.batch, heads, sizes.length, size},
                "perm = array<i64: 0, 2, 1, 3>");
    };
    Value query = apart("query", sizes.heads), key = apart("key", sizes.keyHeads);
    Value values = apart("value", sizes.keyHeads);
    std::string name = at + "mixed";
    body += "%" + at + "none = apc.none\n%" + name + " = \"apc.softmax_attention\"(%" + query.name + ", %" + key.name +
            ", %" + values.name + ", %" + at + "none) : (" + typeOf(query.dims) + ", " + typeOf(key.dims) + ", " +
            typeOf(values.dims) + ", none) -> " + typeOf(query.dims) + " loc(\"" + name + "\")\n";
    return closeAttention({name, query.dims}, x, at);
  }

  Value closeAttention(const Value &mixed, const Value &x, const std::string &at) {
    int64_t size = sizes.hidden / sizes.heads;
    Value turned = op("transpose", at + "mixed_turned", {mixed}, {sizes.batch, sizes.length, sizes.heads, size},
                      "perm = array<i64: 0, 2, 1, 3>");
    return projection(at + "out", reshape(at + "mixed_flat", turned, x.dims), sizes.hidden);
  }

  Value attention(const Value &x, const std::string &at) {
    if (sizes.keyHeads > 0)
      return groupedAttention(x, at);
    int64_t size = sizes.hidden / sizes.heads;
    std::vector<int64_t> square = {sizes.batch, sizes.heads, sizes.length, sizes.length};
    Value query = heads(at + "query", projection(at + "query", x, sizes.hidden), false);
    Value key = heads(at + "key", projection(at + "key", x, sizes.hidden), true);
    Value values = heads(at + "value", projection(at + "value", x, sizes.hidden), false);
    Value scores = op("matmul", at + "scores", {query, key}, square);
    Value weights = op("softmax", at + "weights", {scores}, square, "axis = -1 : i64");
    Value mixed = op("matmul", at + "mixed", {dropout(at + "weights_drawn", weights), values},
                     {sizes.batch, sizes.heads, sizes.length, size});
    return closeAttention(mixed, x, at);
  }

  Value layer(const Value &x, const std::string &at) {
    Value mixed = dropout(at + "out_drawn", attention(norm(at + "norm1", x), at));
    Value joined = op("add", at + "joined", {x, mixed}, x.dims);
    Value up = projection(at + "up", norm(at + "norm2", joined), 4 * sizes.hidden);
    Value active = op("gelu", at + "active", {up}, up.dims);
    Value down = dropout(at + "down_drawn", projection(at + "down", active, sizes.hidden));
    return op("add", at + "end", {joined, down}, x.dims);
  }

  const GptSizes &sizes;
  std::string body;
};

} // namespace

std::string gptText(const GptSizes &sizes) { return Writer(sizes).write(); }

} // namespace apc
