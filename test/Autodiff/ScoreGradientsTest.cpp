// Gradients through the scores and the weights that attention returns beside its result.
#include "GradientCheck.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// An attention whose results are all read.
OpCase withScores(const char *op, std::vector<std::string> operands, size_t count, const std::string &attributes) {
  operands.resize(count, "none");
  return {op, std::move(operands), attributes, 4};
}

OpCase standard(const std::string &mask, const std::string &attributes) {
  return withScores("apc.attention", {"1x4x3x2xf64", "1x2x5x2xf64", "1x2x5x3xf64", mask}, 7, attributes);
}

} // namespace

TEST_CASE("The loss may depend on scores of ONNX's attention at each of their stages") {
  for (const char *mode : {"0", "1", "2", "3"}) {
    const std::string returned = "qk_matmul_output_mode = " + std::string(mode) + " : i64";
    checkGradients(standard("none", returned));
    checkGradients(standard("4x3x5xf64", returned + ", scale = 0.5 : f32"));
    checkGradients(standard("1x1x3x5xf64", returned + ", softcap = 0.75 : f32"));
  }
  checkGradients(withScores("apc.attention", {"2x3x8xf64", "2x5x4xf64", "2x5x6xf64"}, 7,
                            "q_num_heads = 4 : i64, kv_num_heads = 2 : i64, qk_matmul_output_mode = 3 : i64"));
}

TEST_CASE("Keys that a query does not see have weights of nothing, and no gradient") {
  const std::string weights = "qk_matmul_output_mode = 3 : i64";
  const std::string seen = "[[true, false, false, true, true], [true, true, false, true, false], "
                           "[false, false, false, false, false]] : 3x5xi1";
  checkGradients(standard("none", weights + ", is_causal = 1 : i64"));
  checkGradients(standard(seen, weights + ", softcap = 2.0 : f32"));
  const std::string hidden = "0xFFF0000000000000";
  checkGradients(standard("[[" + hidden + ", 0.0, 0.5, 0.0, 0.0]] : 1x5xf64", weights + ", is_causal = 1 : i64"));
}

TEST_CASE("The loss may depend on scores of attention of many heads and of groups of queries") {
  checkGradients(withScores("apc.multi_head_attention", {"2x3x4xf64", "2x5x4xf64", "2x5x6xf64", "14xf64"}, 10,
                            "num_heads = 2 : i64"));
  checkGradients(withScores("apc.multi_head_attention",
                            {"2x3x4xf64", "2x5x4xf64", "2x5x6xf64", "none", "[2, 5] : 2xi32", "1x2x3x5xf64"}, 10,
                            "num_heads = 2 : i64, mask_filter_value = -1.5 : f32"));
  const std::vector<std::string> groups = {"2x3x8xf64", "2x3x4xf64",      "2x3x4xf64",  "none",
                                           "none",      "[2, 2] : 2xi32", "[3] : 1xi32"};
  checkGradients(withScores("apc.group_query_attention", groups, 16,
                            "num_heads = 4 : i64, kv_num_heads = 2 : i64, qk_output = 2 : i64, softcap = 0.75 : f32"));
  checkGradients(withScores("apc.group_query_attention", groups, 16,
                            "num_heads = 4 : i64, kv_num_heads = 2 : i64, qk_output = 1 : i64, causal = 0 : i64"));
  for (const char *weights :
       {"qk_output = 2 : i64", "qk_output = 2 : i64, smooth_softmax = 1 : i64, causal = 0 : i64"}) {
    std::vector<std::string> besideSinks = groups;
    besideSinks.resize(16, "none");
    if (!llvm::StringRef(weights).contains("smooth"))
      besideSinks[11] = "4xf64";
    checkGradients(withScores("apc.group_query_attention", besideSinks, 16,
                              "num_heads = 4 : i64, kv_num_heads = 2 : i64, " + std::string(weights)));
  }
}
