// Gradients of attention and of rotations.
#include "AttentionCases.h"

#include <catch2/catch.hpp>

using namespace apc;

TEST_CASE("Attention reverses for queries, keys and values, with fewer key heads and keys stored either way") {
  checkGradients({"apc.softmax_attention", {"2x3x4xf64", "2x5x4xf64", "2x5x3xf64", "none"}, "scale = 0.5 : f32"});
  checkGradients({"apc.softmax_attention", {"2x4x3x2xf64", "2x2x5x2xf64", "2x2x5x3xf64", "none"}});
  checkGradients({"apc.softmax_attention",
                  {"4x3x2xf64", "2x2x5xf64", "2x5x3xf64", "none"},
                  "keys_transposed = 1 : i64, scale = 0.25 : f32"});
}

TEST_CASE("Masked scores have no gradient, added masks do not change it") {
  std::string seen = "[[true, false, false], [true, true, false]] : 2x3xi1";
  checkGradients({"apc.softmax_attention", {"2x2x4xf64", "2x3x4xf64", "2x3x3xf64", seen}, "fill = -1.0 : f32"});
  checkGradients(
      {"apc.softmax_attention", {"2x2x4xf64", "2x3x4xf64", "2x3x3xf64", seen}, "fill = -1.0e30 : f32, seen = 0 : i64"});
  checkGradients(
      {"apc.softmax_attention", {"2x2x4xf64", "2x3x4xf64", "2x3x3xf64", "[[0.0, -1.0, -1.0e30]] : 1x3xf64"}});
}

TEST_CASE("Masks that are added are trained, summed over the scores that an element is added to") {
  checkGradients({"apc.softmax_attention", {"2x2x4xf64", "2x3x4xf64", "2x3x3xf64", "2x3xf64"}, "scale = 0.5 : f32"});
  checkGradients({"apc.softmax_attention", {"2x4x3x2xf64", "2x2x5x2xf64", "2x2x5x3xf64", "1x4x3x5xf64"}});
  checkGradients({"apc.softmax_attention",
                  {"2x4x3x2xf64", "2x2x2x5xf64", "2x2x5x3xf64", "4x1x5xf64"},
                  "keys_transposed = 1 : i64"});
}

/// Attention by way of the logarithmic sum of its scores; with a mask of bools, scores that it hides become -1.
static std::string splitAttention(const std::string &q, const std::string &k, const std::string &v,
                                  const std::string &mask, const std::string &sums, const std::string &result,
                                  bool isTransposed) {
  auto tensor = [](const std::string &type) { return "tensor<" + type + ">"; };
  bool isFilled = mask.find("i1") != std::string::npos;
  std::string argument = isFilled ? "" : ", %m: " + tensor(mask);
  std::string constant = "  %m = apc.constant dense<[[true, false, false], [true, true, false]]> : tensor<2x3xi1>\n";
  std::string attributes = std::string(" {scale = 0.5 : f32") + (isFilled ? ", fill = -1.0 : f32" : "") +
                           (isTransposed ? ", keys_transposed = 1 : i64}" : "}");
  std::string types = tensor(q) + ", " + tensor(k) + ", ";
  return "func.func @main(%q: " + tensor(q) + ", %k: " + tensor(k) + ", %v: " + tensor(v) + argument + ") -> " +
         tensor(result) + " {\n" + (isFilled ? constant : "") + "  %s = \"apc.softmax_attention_log_sum\"(%q, %k, %m)" +
         attributes + " : (" + types + tensor(mask) + ") -> " + tensor(sums) +
         "\n  %y = \"apc.softmax_attention_by\"(%q, %k, %v, %m, %s)" + attributes + " : (" + types + tensor(v) + ", " +
         tensor(mask) + ", " + tensor(sums) + ") -> " + tensor(result) + "\n  return %y : " + tensor(result) + "\n}";
}

TEST_CASE("Attention by way of the logarithmic sums of its scores reverses as one") {
  checkGradients(splitAttention("2x4x3x2xf64", "2x2x2x5xf64", "2x2x5x3xf64", "4x1x5xf64", "2x4x3xf64", "2x4x3x3xf64",
                                /*isTransposed=*/true)
                     .c_str());
  checkGradients(splitAttention("2x2x4xf64", "2x3x4xf64", "2x3x3xf64", "2x3xi1", "2x2xf64", "2x2x3xf64",
                                /*isTransposed=*/false)
                     .c_str());
}

TEST_CASE("A query that sees no key gives no gradient where its weights count as zero") {
  OpCase test{"apc.softmax_attention",
              {"1x1x2xf64", "1x2x2xf64", "1x2x1xf64", "[[0xFFF0000000000000, 0xFFF0000000000000]] : 1x2xf64"},
              "nan_is_zero = 1 : i64"};
  for (const std::vector<double> &gradient : gradientsOf(test, {{1}}))
    for (double value : gradient)
      CHECK(value == 0);
}

TEST_CASE("Rotations reverse by the opposite angle, of odd sizes too") {
  checkGradients({"apc.rotate_half", {"2x3x4xf64", "cut 3x4xf64", "cut 3x4xf64"}});
  checkGradients({"apc.rotate_half", {"3x5xf64", "cut 5xf64", "cut 3x5xf64"}});
  for (const char *interleaved : {"", "interleaved = 1 : i64"}) {
    std::string more = *interleaved ? ", " + std::string(interleaved) : "";
    checkGradients(
        {"apc.rotary_embedding", {"1x2x3x4xf64", "cut 5x2xf64", "cut 5x2xf64", "[[0, 4, 2]] : 1x3xi64"}, interleaved});
    checkGradients({"apc.rotary_embedding",
                    {"1x3x12xf64", "cut 1x3x2xf64", "cut 1x3x2xf64", "none"},
                    "num_heads = 3 : i64" + more});
    checkGradients(
        {"apc.ms_rotary_embedding", {"1x2x3x4xf64", "[1] : 1xi64", "cut 5x2xf64", "cut 5x2xf64"}, interleaved});
  }
}

namespace {

std::vector<std::string> filledUp(std::vector<std::string> operands, size_t count) {
  operands.resize(count, "none");
  return operands;
}

/// Four heads of two elements and two key heads on three positions.
OpCase groupQuery(const std::vector<std::string> &first, std::vector<std::string> behind,
                  const std::string &attributes) {
  std::vector<std::string> operands = first;
  operands.resize(5, "none");
  operands.insert(operands.end(), {"[2, 2] : 2xi32", "[3] : 1xi32"});
  operands.insert(operands.end(), behind.begin(), behind.end());
  operands.resize(16, "none");
  return {"apc.group_query_attention", std::move(operands), "num_heads = 4 : i64, kv_num_heads = 2 : i64" + attributes};
}

} // namespace

TEST_CASE("Multi-head attention reverses, with bias, added masks and causal masks") {
  checkGradients(multiHead({"2x3x4xf64", "2x5x4xf64", "2x5x6xf64"}, ""));
  checkGradients(multiHead({"2x3x4xf64", "2x5x4xf64", "2x5x6xf64", "14xf64"}, ", scale = 0.5 : f32"));
  checkGradients(multiHead({"2x3x4xf64", "2x3x4xf64", "2x3x4xf64", "12xf64", "none", "1x2x3x3xf64"},
                           ", unidirectional = 1 : i64"));
  checkGradients(multiHead({"2x3x4xf64", "2x2x5x2xf64", "2x2x5x3xf64", "14xf64"}, ""));
}

TEST_CASE("Multi-head attention reverses of queries, keys and values that are packed, with bias too") {
  for (const char *bias : {"none", "12xf64"}) {
    checkGradients(multiHead({"2x3x2x3x2xf64", "none", "none", bias}, ""));
    checkGradients(multiHead({"2x3x12xf64", "none", "none", bias}, ", unidirectional = 1 : i64"));
    checkGradients(multiHead({"2x3x4xf64", "2x5x2x2x2xf64", "none", bias}, ""));
  }
}

TEST_CASE("Multi-head attention reverses under masks of padding: lengths, first positions, tables") {
  for (const char *mask : {"[2, 5] : 2xi32", "[3, 5, 1, 0] : 4xi32", "[2, 5, 0, 3, 6, 0, 2, 7] : 8xi32",
                           "[[1, 1, 0, 1, 0], [0, 1, 1, 1, 1]] : 2x5xi32", "[[1, 0, 1, 1, 1]] : 1x5xi32",
                           "[[[1, 1, 0, 1, 0], [0, 1, 1, 1, 1], [1, 0, 0, 0, 1]]] : 1x3x5xi32"})
    checkGradients(multiHead({"2x3x4xf64", "2x5x4xf64", "2x5x6xf64", "none", mask, "1x2x3x5xf64"},
                             ", mask_filter_value = -1.5 : f32"));
  CHECK(refusalOf(multiHead({"2x3x4xf64", "2x5x4xf64", "2x5x6xf64", "none", "1x1x6x6xi32 below 2"}, "")) ==
        "operand 'key_padding_mask' is not of all queries and keys, and lengths or such tables are accepted");
}

TEST_CASE("Attention with a projection reverses, of parts alike or not, with bias and masks") {
  auto projected = [](std::vector<std::string> operands, const std::string &attributes) {
    return OpCase{"apc.projected_attention", filledUp(std::move(operands), 7), "num_heads = 2 : i64" + attributes};
  };
  checkGradients(projected({"2x3x5xf64", "5x12xf64"}, ""));
  checkGradients(projected({"2x3x5xf64", "5x12xf64", "12xf64"}, ", unidirectional = 1 : i64, scale = 0.25 : f32"));
  checkGradients(projected({"2x3x5xf64", "5x14xf64", "14xf64", "[2, 3] : 2xi32", "none", "1x2x3x3xf64"},
                           ", qkv_hidden_sizes = array<i64: 4, 4, 6>"));
  for (const char *causal : {"", ", unidirectional = 1 : i64"}) {
    OpCase cached = projected({"2x3x5xf64", "5x12xf64", "12xf64", "none", "2x2x2x4x2xf64"}, causal);
    checkGradients(cached);
    cached.numResults = 2;
    checkGradients(cached);
  }
  CHECK(refusalOf(projected({"2x3x5xf64", "5x12xf64", "12xf64", "none", "2x2x2x4x2xf64", "none", "[4] : 1xi32"},
                            ", past_present_share_buffer = 1 : i64")) ==
        "attribute 'past_present_share_buffer' is 1, and 0 is accepted");
  CHECK(refusalOf(projected({"2x3x5xf64", "5x12xf64"}, ", do_rotary = 1 : i64")) ==
        "attribute 'do_rotary' is 1, and 0 is accepted");
}

TEST_CASE("Group query attention reverses, rotated, in a window, packed, with added masks") {
  std::vector<std::string> apart = {"2x3x8xf64", "2x3x4xf64", "2x3x4xf64"};
  checkGradients(groupQuery(apart, {}, ""));
  checkGradients(groupQuery(apart, {}, ", scale = 0.5 : f32, local_window_size = 2 : i64"));
  checkGradients(groupQuery({"2x3x16xf64"}, {}, ""));
  checkGradients(groupQuery(apart, {"none", "none", "none", "2x1x3x3xf64"}, ""));
  for (const char *order : {", do_rotary = 1 : i64", ", do_rotary = 1 : i64, rotary_interleaved = 1 : i64"}) {
    checkGradients(groupQuery(apart, {"cut 5x1xf64", "cut 5x1xf64"}, order));
    checkGradients(
        groupQuery({"2x3x16xf64"}, {"cut 5x1xf64", "cut 5x1xf64", "[[0, 4, 2], [1, 0, 3]] : 2x3xi64"}, order));
  }
  checkGradients(groupQuery(apart, {}, ", softcap = 0.75 : f32, local_window_size = 2 : i64"));
  checkGradients(groupQuery({"2x3x16xf64"}, {"none", "none", "none", "2x1x3x3xf64"}, ", softcap = 2.0 : f32"));
}

TEST_CASE("Group query attention reverses behind norms of its queries and keys") {
  const std::vector<std::string> cosines = {"cut 5x1xf64", "cut 5x1xf64"};
  auto normed = [&](const std::vector<std::string> &first, const std::string &attributes) {
    std::vector<std::string> behind = cosines;
    behind.resize(7, "none");
    behind.insert(behind.end(), {"2xf64", "2xf64"});
    return groupQuery(first, behind, attributes);
  };
  for (const char *rotary : {"", ", do_rotary = 1 : i64, qk_norm_epsilon = 0.25 : f32"}) {
    checkGradients(normed({"2x3x8xf64", "2x3x4xf64", "2x3x4xf64"}, rotary));
    checkGradients(normed({"2x3x16xf64"}, rotary));
  }
}

TEST_CASE("ONNX's own attention reverses, of heads apart or in one dim, with fewer key heads, under masks") {
  const std::vector<std::string> apart = {"1x4x3x2xf64", "1x2x5x2xf64", "1x2x5x3xf64"};
  auto under = [&](std::vector<std::string> masks, const std::string &attributes) {
    std::vector<std::string> operands = apart;
    operands.insert(operands.end(), masks.begin(), masks.end());
    operands.resize(7, "none");
    return OpCase{"apc.attention", std::move(operands), attributes};
  };
  std::string seen = "[[true, false, false, true, true], [true, true, false, true, false], "
                     "[false, true, false, true, true]] : 3x5xi1";
  checkGradients(under({}, ""));
  checkGradients(under({}, "is_causal = 1 : i64, scale = 0.5 : f32"));
  checkGradients(under({"4x3x5xf64"}, ""));
  checkGradients(under({"1x1x3x5xf64"}, "is_causal = 1 : i64"));
  checkGradients(under({seen}, "scale = 0.25 : f32"));
  checkGradients(under({"[[true], [false], [true]] : 3x1xi1"}, "")); // the second query sees no key
  std::string hidden = "0xFFF0000000000000";
  checkGradients(under({"[[" + hidden + ", 0.0, 0.5, 0.0, 0.0]] : 1x5xf64"}, "is_causal = 1 : i64")); // nor the first
  checkGradients({"apc.attention",
                  {"2x3x8xf64", "2x5x4xf64", "2x5x6xf64", "none", "none", "none", "none"},
                  "q_num_heads = 4 : i64, kv_num_heads = 2 : i64, is_causal = 1 : i64"});
  checkGradients({"apc.flex_attention", {"1x4x3x2xf64", "1x2x5x2xf64", "1x2x5x3xf64"}});
  checkGradients(under({}, "softcap = 0.75 : f32"));
  checkGradients(under({"4x3x5xf64"}, "softcap = 0.75 : f32, is_causal = 1 : i64"));
  checkGradients(under({seen}, "softcap = 2.0 : f32, scale = 0.25 : f32"));
}

TEST_CASE("A gated unit reverses for what is gated and for the gate") {
  checkGradients({"apc.swiglu", {"3x4xf64", "3x4xf64"}});
  checkGradients({"apc.swiglu", {"3x4xf64", "3x4xf64"}, "alpha = 1.5 : f32"});
}
