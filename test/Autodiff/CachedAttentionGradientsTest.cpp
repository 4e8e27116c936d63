// Gradients of attention beside sinks, under lengths of keys and behind caches.
#include "AttentionCases.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// ONNX's own: four heads of two elements over two key heads.
OpCase standard(std::vector<std::string> operands, const std::string &attributes, unsigned numResults = 1) {
  return attention("apc.attention", std::move(operands), 7, attributes, numResults);
}

/// Four heads of two elements over two key heads; operands behind the query as they stand.
OpCase groupQuery(std::vector<std::string> operands, const std::string &attributes, unsigned numResults = 1) {
  return attention("apc.group_query_attention", std::move(operands), 16,
                   "num_heads = 4 : i64, kv_num_heads = 2 : i64" + attributes, numResults);
}

const std::vector<std::string> apart = {"2x3x8xf64", "2x3x4xf64", "2x3x4xf64"};
/// Three positions behind a past of two, in a cache of two, of four (with lengths 5 and 4) and of eight positions.
const std::vector<std::string> behindTwo = {"2x3x8xf64", "2x3x4xf64", "2x3x4xf64", "2x2x2x2xf64", "2x2x2x2xf64"};
const std::vector<std::string> behindFour = {"2x3x8xf64",   "2x3x4xf64",      "2x3x4xf64",  "2x2x4x2xf64",
                                             "2x2x4x2xf64", "[4, 3] : 2xi32", "[5] : 1xi32"};
const std::vector<std::string> inEight = {"2x3x8xf64",   "2x3x4xf64",      "2x3x4xf64",  "2x2x8x2xf64",
                                          "2x2x8x2xf64", "[4, 3] : 2xi32", "[5] : 1xi32"};

std::vector<std::string> with(std::vector<std::string> operands, size_t first, const std::vector<std::string> &more) {
  operands.resize(first, "none");
  operands.insert(operands.end(), more.begin(), more.end());
  return operands;
}

} // namespace

TEST_CASE("Sinks are trained, and take their share of the weights from the keys") {
  checkGradients(groupQuery(with(apart, 11, {"4xf64"}), ""));
  checkGradients(groupQuery(with(apart, 11, {"4xf64"}), ", softcap = 0.75 : f32, local_window_size = 2 : i64"));
  checkGradients(groupQuery(with(apart, 10, {"2x1x3x3xf64", "4xf64"}), ""));
  checkGradients(groupQuery(apart, ", smooth_softmax = 1 : i64, scale = 0.5 : f32"));
  checkGradients(groupQuery({"2x3x16xf64"}, ", smooth_softmax = 1 : i64, softcap = 2.0 : f32"));
}

TEST_CASE("A sink far below the scores changes nothing") {
  std::vector<std::vector<double>> arriving = {std::vector<double>(48, 1)};
  arriving[0][5] = -3;
  auto plain = gradientsOf(groupQuery(apart, ""), arriving);
  auto beside = gradientsOf(groupQuery(with(apart, 11, {"[-60.0, -60.0, -60.0, -60.0] : 4xf64"}), ""), arriving);
  for (size_t operand = 0; operand < 3; ++operand)
    for (size_t i = 0; i < plain[operand].size(); ++i)
      CHECK(beside[operand][i] == Approx(plain[operand][i]).margin(1e-12));
}

TEST_CASE("Attention that is not causal reverses, up to the lengths of its sequences") {
  checkGradients(groupQuery(apart, ", causal = 0 : i64"));
  checkGradients(groupQuery(with(apart, 5, {"[1, 2] : 2xi32", "[3] : 1xi32"}), ", causal = 0 : i64"));
  checkGradients(groupQuery(with(apart, 5, {"[[1], [0]] : 2x1xi32", "[3] : 1xi32"}),
                            ", causal = 0 : i64, smooth_softmax = 1 : i64"));
  checkGradients(groupQuery(behindFour, ", causal = 0 : i64"));
}

TEST_CASE("Keys behind the lengths of ONNX's own attention have no gradient") {
  std::vector<std::string> operands = {"2x4x3x2xf64", "2x2x5x2xf64", "2x2x5x3xf64"};
  for (const char *causal : {"", "is_causal = 1 : i64", "softcap = 0.75 : f32"}) {
    checkGradients(standard(with(operands, 6, {"[5, 3] : 2xi64"}), causal));
    checkGradients(standard(with(operands, 6, {"[4, 2] : 2xi64"}), causal)); // of a query that sees no key, too
  }
  checkGradients(standard(with(operands, 3, {"2x1x3x5xf64", "none", "none", "[3, 5] : 2xi64"}), "is_causal = 1 : i64"));
}

TEST_CASE("Keys that a short mask does not reach are not seen") {
  std::vector<std::string> operands = {"1x4x3x2xf64", "1x2x5x2xf64", "1x2x5x3xf64"};
  checkGradients(standard(with(operands, 3, {"3x4xf64"}), ""));
  checkGradients(
      standard(with(operands, 3, {"[[true, false, true], [true, true, true], [true, false, false]] : 3x3xi1"}),
               "is_causal = 1 : i64"));
  checkGradients(multiHead({"2x3x4xf64", "2x5x4xf64", "2x5x6xf64", "none", "none", "1x2x3x4xf64"}, ""));
}

TEST_CASE("Keys and values of a cache are trained, of ONNX's own attention") {
  std::vector<std::string> operands = {"2x4x3x2xf64", "2x2x3x2xf64", "2x2x3x3xf64"};
  std::vector<std::string> cache = {"none", "2x2x2x2xf64", "2x2x2x3xf64"};
  for (const char *attributes : {"", "is_causal = 1 : i64"}) {
    checkGradients(standard(with(operands, 3, cache), attributes));
    checkGradients(standard(with(operands, 3, cache), attributes, 3)); // what is cached counts, too
  }
  cache[0] = "2x1x3x5xf64";
  checkGradients(standard(with(operands, 3, cache), "is_causal = 1 : i64, softcap = 0.75 : f32", 3));
  checkGradients(standard({"2x3x8xf64", "2x3x4xf64", "2x3x6xf64", "none", "2x2x2x2xf64", "2x2x2x3xf64"},
                          "q_num_heads = 4 : i64, kv_num_heads = 2 : i64, is_causal = 1 : i64", 3));
}

TEST_CASE("Keys and values of a cache are trained, of multi-head attention") {
  std::vector<std::string> operands = {"2x3x4xf64", "2x3x4xf64", "2x3x6xf64", "14xf64"};
  std::vector<std::string> cache = {"2x2x2x2xf64", "2x2x2x3xf64"};
  checkGradients(multiHead(with(operands, 6, cache), "", 3));
  checkGradients(multiHead(with(operands, 6, cache), ", unidirectional = 1 : i64"));
  checkGradients(multiHead(with(operands, 4, {"[3, 5] : 2xi32", "1x2x3x5xf64", cache[0], cache[1]}),
                           ", mask_filter_value = -1.5 : f32", 3));
}

TEST_CASE("Keys and values of a cache are trained, of group query attention") {
  for (const std::vector<std::string> &operands : {behindTwo, behindFour, inEight}) {
    checkGradients(groupQuery(operands, ""));
    checkGradients(groupQuery(operands, ", local_window_size = 2 : i64", 3));
    checkGradients(groupQuery(with(operands, 7, {"cut 6x1xf64", "cut 6x1xf64"}), ", do_rotary = 1 : i64", 3));
    checkGradients(groupQuery(with(operands, 10, {"2x4x3x5xf64", "4xf64"}), "", 3));
  }
  std::vector<std::string> packed = behindFour;
  packed[0] = "2x3x16xf64";
  packed[1] = packed[2] = "none";
  checkGradients(groupQuery(with(packed, 7, {"cut 6x1xf64", "cut 6x1xf64"}), ", do_rotary = 1 : i64", 3));
  std::vector<std::string> first = inEight; // as many positions as are attended: nothing is read of the cache
  first[5] = "[2, 2] : 2xi32";
  first[6] = "[3] : 1xi32";
  checkGradients(groupQuery(first, "", 3));
}

TEST_CASE("A mask of another type than the scores is added to them, and trained where it is of floats") {
  const std::vector<std::string> operands = {"2x4x3x2xf64", "2x2x5x2xf64", "2x2x5x3xf64"};
  checkGradients(standard(with(operands, 3, {"3x5xi32 below 2"}), ""));
  const std::vector<std::vector<double>> arriving = {std::vector<double>(2 * 4 * 3 * 3, 1)};
  auto narrow = gradientsOf(standard(with(operands, 3, {"3x5xf32"}), ""), arriving);
  auto same = gradientsOf(standard(with(operands, 3, {"3x5xf64"}), ""), arriving);
  for (size_t operand = 0; operand < operands.size() + 1; ++operand) {
    REQUIRE(narrow[operand].size() == same[operand].size());
    for (size_t i = 0; i < same[operand].size(); ++i)
      CHECK(narrow[operand][i] == Approx(same[operand][i]).epsilon(1e-4).margin(1e-6));
  }
}

TEST_CASE("Refusals of attention name what is in the way and what is accepted") {
  CHECK(refusalOf(groupQuery(apart, ", sliding_window_cache = 1 : i64")) ==
        "attribute 'sliding_window_cache' is 1, and 0 is accepted");
  CHECK(refusalOf(groupQuery(with(apart, 6, {"[5] : 1xi32"}), "")) ==
        "operand 'total_sequence_length' is 5, and without a past 3 is accepted");
  CHECK(refusalOf(groupQuery(with(inEight, 6, {"[2] : 1xi32"}), "")) ==
        "operand 'total_sequence_length' is 2, and at least the 3 positions of 'query' are accepted");
  CHECK(refusalOf(groupQuery({"2x3x8xf64", "2x4x4xf64", "2x4x4xf64"}, "")) ==
        "operand 'key' has 4 positions, and 3, as 'query' has, are accepted");
  CHECK(refusalOf(groupQuery(apart, ", do_rotary = 1 : i64")) ==
        "attribute 'do_rotary' is given without tables, and one beside 'cos_cache' and 'sin_cache' is accepted");
  const std::vector<std::string> buffered = {"2x3x4xf64", "2x3x4xf64",   "2x3x4xf64",   "none",       "none",
                                             "none",      "2x2x4x2xf64", "2x2x4x2xf64", "[1] : 1xi32"};
  CHECK(refusalOf(multiHead(buffered, "")) ==
        "operand 'past_sequence_length' is given, and a cache that ends with the past is accepted");
  OpCase decoder = attention("apc.decoder_masked_multi_head_attention", {"2x1x4xf64", "2x1x4xf64", "2x1x4xf64"}, 11,
                             "num_heads = 2 : i64", 1);
  CHECK(refusalOf(decoder) == "it makes one new position, which is inference, and MultiHeadAttention is accepted");
}
