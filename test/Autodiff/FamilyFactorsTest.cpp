// Factors of gradients: those of the op that is reversed.
#include "GradientPrograms.h"

#include "apc/IR/AttributeNames.h"

#include "llvm/ADT/StringExtras.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// Each op of the reversed program that has factors of its own, with the names of the factors of `test.op` that they
/// are: "einsum: m k n", "-" for none.
std::vector<std::string> tracedFactors(const OpCase &test) {
  GradientProgram program(test);
  ReversedProgram reversed = reverse(program);
  REQUIRE(reversed.module);
  std::vector<std::string> found;
  reversed.module->walk([&](mlir::Operation *op) {
    auto names = op->getAttrOfType<mlir::ArrayAttr>(factorsAttribute);
    if (!names || names.empty())
      return;
    std::string text = op->getName().stripDialect().str() + ":";
    for (auto name : names.getAsRange<mlir::StringAttr>())
      text += " " + (name.empty() ? std::string("-") : name.str());
    found.push_back(text);
  });
  return found;
}

} // namespace

// Tables of axes, and whole dims of results that no operand has, are none of them.
TEST_CASE("Gradients have the factors of the op that is reversed") {
  using Lines = std::vector<std::string>;
  CHECK(tracedFactors({"apc.matmul", {"2x3x4xf64", "4x5xf64"}}) == Lines{"einsum: b0 m n k", "einsum: b0 m n k"});
  CHECK(tracedFactors({"apc.gemm", {"3x4xf64", "4x5xf64", "5xf64"}}) ==
        Lines{"reduce_sum: m n -", "einsum: m n k", "einsum: m n k"});
  CHECK(tracedFactors({"apc.softmax_cross_entropy_loss", {"6x4xf64", "[0, 3, 1, 2, 2, 0] : 6xi64", "none"}}) ==
        Lines{"log_sum_exp: d0 d1 -", "cross_entropy_grad: d0 d1 w2"});
  CHECK(tracedFactors({"apc.cross_entropy", {"6x4xf64", "cut 6x1xf64", "[0, 3, 1, 2, 2, 0] : 6xi64", "none"}}) ==
        Lines{"cross_entropy_grad: d0 d1 w2"});
  CHECK(tracedFactors({"apc.layer_normalization", {"2x3x4xf64", "4xf64", "4xf64"}}) ==
        Lines{"layer_normalization_scale_grad: d0 d1 d2", "reduce_sum: d0 d1 d2 -",
              "layer_normalization_grad: d0 d1 d2"});
  CHECK(tracedFactors({"apc.conv", {"2x6x5xf64", "9x2x3xf64", "9xf64"}, "group = 3 : i64"}) ==
        Lines{"conv_input_grad: n g c o h0 r0 y0", "conv_weight_grad: n g c o h0 r0 y0", "reduce_sum: n - y0 -"});
  CHECK(tracedFactors({"apc.max_pool", {"2x3x4xf64"}, "kernel_shape = array<i64: 2>, strides = array<i64: 2>"}) ==
        Lines{"max_pool_grad: n c y0 r0"});
  CHECK(tracedFactors({"apc.grid_sample", {"2x3x4x5xf64", "2x6x7x2xf64"}}) ==
        Lines{"grid_sample_grid_grad: d0 d1 w0 w1 d2 d3 w2", "grid_sample_input_grad: d0 d1 w0 w1 d2 d3 w2"});
  CHECK(tracedFactors({"apc.col2im", {"2x12x9xf64", "[4, 4] : 2xi64", "[2, 2] : 2xi64"}}) ==
        Lines{"im2col: d0 d1 w0 w2 w3 w1"});
  CHECK(tracedFactors({"apc.roi_align", {"2x3x4x5xf64", "6x4xf64", "6xi64 below 2"}, "output_height = 7 : i64"}) ==
        Lines{"roi_align_grad: d1 d0 w0 w1 w2 w4 w5 w3"});
  CHECK(tracedFactors({"apc.max_roi_pool", {"2x3x4x5xf64", "6x5xf64"}, "pooled_shape = array<i64: 7, 8>"}) ==
        Lines{"max_roi_pool_grad: d1 d0 w0 w1 w2 w4 w5 w3"});
  CHECK(tracedFactors({"apc.affine_grid", {"2x2x3xf64", "[2, 7, 4, 5] : 4xi64"}}).back() == "einsum: d0 w2 w3 w4 - w1");
  Lines deformed = tracedFactors({"apc.deform_conv", {"2x3x6x7xf64", "5x3x2x2xf64", "2x8x5x6xf64", "5xf64", "none"}});
  for (const char *line : {"einsum: n - o y0 y1 c -", "grid_sample: n c h0 h1 - y1 -",
                           "grid_sample_input_grad: n c h0 h1 - y1 -", "grid_sample_grid_grad: n c h0 h1 - y1 -"})
    CHECK(llvm::is_contained(deformed, line));
  CHECK(tracedFactors({"apc.softmax_attention", {"2x6x4x5xf64", "2x3x7x5xf64", "2x3x7x8xf64", "none"}}) ==
        Lines{"softmax_attention_query_grad: b0 kv g s t d e", "softmax_attention_key_grad: b0 kv g s t d e",
              "softmax_attention_value_grad: b0 kv g s t d e"});
  CHECK(tracedFactors({"apc.softmax_attention", {"2x6x4x5xf64", "2x3x7x5xf64", "2x3x7x8xf64", "6x1x7xf64"}}).back() ==
        "softmax_attention_mask_grad: b0 kv g s t d e");
  // Queries and heads of one key head come apart and go back as factors of their own.
  std::vector<std::string> flat =
      tracedFactors({"apc.attention",
                     {"2x3x8xf64", "2x5x4xf64", "2x5x6xf64", "none", "none", "none", "none"},
                     "q_num_heads = 4 : i64, kv_num_heads = 2 : i64, softcap = 2.0 : f32"});
  for (const char *line :
       {"reshape: b s kv g d -", "softmax_attention_query_grad: b kv g s t d e",
        "softmax_attention_key_grad: b kv g s t d e", "softmax_attention_value_grad: b kv g s t d e"})
    CHECK(llvm::is_contained(flat, line));
  // 4 channels are 4 groups of one.
  CHECK(tracedFactors({"apc.causal_conv_with_state", {"2x4x5xf64", "4x1x3xf64", "4xf64", "2x4x2xf64"}, "", 2}) ==
        Lines{"concat: b c p s -", "conv: b c - - - k -", "pad: b c p - - -", "conv_weight_grad: b c - - - k s",
              "reduce_sum: b c s -", "conv_input_grad: b c - - - k s", "add: b c -", "slice: b c - s - - -",
              "slice: b c - p - - -"});
  CHECK(tracedFactors({"apc.dft", {"4x5x3x2xf64", "none", "[1] : 1xi64"}}) ==
        Lines{"dft: d0 w1 - d1 w3 - - -", "mul: d0 w0 d1 w2"});
  CHECK(tracedFactors({"apc.det", {"4x2x3x3xf64"}}) ==
        Lines{"reshape: d0 d1 -", "cofactors: d0 d1 w0 w1", "mul: d0 d1 w0 w1"});
  // X, W, R and B: batch b and directions d are those of the cell in all of them.
  CHECK(tracedFactors({"apc.gru",
                       {"5x4x3xf64", "2x6x3xf64", "2x6x2xf64", "2x12xf64", "none", "none"},
                       "direction = \"bidirectional\", linear_before_reset = 1 : i64",
                       2}) == Lines{"gru_grad: s b d i g h e", "einsum: s d b g i", "einsum: s d b g i",
                                    "einsum: s d b g h", "reduce_sum: s d b g -", "reduce_sum: s d b g -",
                                    "concat: d g e"});
}

TEST_CASE("Gradients of fused layers have the factors of the whole where they are products of it") {
  auto einsums = [](const OpCase &test) {
    std::vector<std::string> found = tracedFactors(test);
    llvm::erase_if(found, [](const std::string &line) { return line.rfind("einsum", 0) != 0; });
    return found;
  };
  using Lines = std::vector<std::string>;
  // The first layer, what arrives through the second, the router, both layers' weights and the input.
  CHECK(einsums({"apc.moe",
                 {"2x3x4xf64", "6x5xf64", "5x14x4xf64", "5x14xf64", "5x4x7xf64", "none", "none", "none"},
                 "activation_type = \"swiglu\", swiglu_fusion = 1 : i64"}) ==
        Lines{"einsum: t0 t1 d e f pair", "einsum: t0 t1 n e f", "einsum: t0 t1 e f", "einsum: t0 t1 e f n",
              "einsum: t0 t1 e f - d", "einsum: t0 t1 e f pair d"});
  std::vector<std::string> linear =
      tracedFactors({"apc.linear_attention",
                     {"2x3x8xf64", "2x3x4xf64", "2x3x6xf64", "none", "2x3x2xf64 in -0.9 0", "2x3x1xf64"},
                     "q_num_heads = 4 : i64, kv_num_heads = 2 : i64"});
  CHECK(llvm::is_contained(linear, "linear_attention_grad: b t kv g d e"));
}
