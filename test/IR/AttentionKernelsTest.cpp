// Attention in all its forms: masks, caches, packed heads, and pieces of packed heads.
#include "CheckKernels.h"

// One head of size 1: keys 0, 0 share evenly, so the mean of the values 2 and 6 is 4.
TEST_CASE("Queries take the mean of the values that they see") {
  checkEvaluation(R"(func.func @f() {
    %none = apc.none
    %q = apc.constant dense<[[[[1.0], [1.0]]]]> : tensor<1x1x2x1xf32>
    %k = apc.constant dense<0.0> : tensor<1x1x2x1xf32>
    %v = apc.constant dense<[[[[2.0], [6.0]]]]> : tensor<1x1x2x1xf32>
    %nan = apc.constant dense<[[[[0.0], [0x7fc00000]]]]> : tensor<1x1x2x1xf32>
    %mask = apc.constant dense<[[true, false], [false, false]]> : tensor<2x2xi1>
    %add = apc.constant dense<[[-1.0, 3.0], [0.0, 0.0]]> : tensor<2x2xf32>
    %short = apc.constant dense<[[true, true, true], [true, false, true]]> : tensor<2x3xi1>
    %one = apc.constant dense<1> : tensor<1xi64>
    %0:4 = "apc.attention"(%q, %k, %v, %none, %none, %none, %none) {expected = [dense<4.0> : tensor<1x1x2x1xf32>, unit, unit, dense<0.0> : tensor<1x1x2x2xf32>]} : (tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>, none, none, none, none) -> (tensor<1x1x2x1xf32>, none, none, tensor<1x1x2x2xf32>)
    %1:4 = "apc.attention"(%q, %k, %v, %none, %none, %none, %none) {is_causal = 1 : i64, expected = [dense<[[[[2.0], [4.0]]]]> : tensor<1x1x2x1xf32>, unit, unit, unit]} : (tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>, none, none, none, none) -> (tensor<1x1x2x1xf32>, none, none, none)
    // Values that are not seen may be NaN; a query that sees nothing gives 0.
    %2:4 = "apc.attention"(%q, %k, %nan, %mask, %none, %none, %none) {expected = [dense<[[[[0.0], [0.0]]]]> : tensor<1x1x2x1xf32>, unit, unit, unit]} : (tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>, tensor<2x2xi1>, none, none, none) -> (tensor<1x1x2x1xf32>, none, none, none)
    // The past [0], [3] before both; the mask ends before the last key.
    %past = apc.constant dense<[[[[0.0], [0.0]]]]> : tensor<1x1x2x1xf32>
    %pv = apc.constant dense<[[[[0.0], [1.0]]]]> : tensor<1x1x2x1xf32>
    %3:4 = "apc.attention"(%q, %k, %v, %short, %past, %pv, %none) {expected = [dense<[[[[1.0], [1.0]]]]> : tensor<1x1x2x1xf32>, dense<0.0> : tensor<1x1x4x1xf32>, dense<[[[[0.0], [1.0], [2.0], [6.0]]]]> : tensor<1x1x4x1xf32>, unit]} : (tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>, tensor<2x3xi1>, tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>, none) -> (tensor<1x1x2x1xf32>, tensor<1x1x4x1xf32>, tensor<1x1x4x1xf32>, none)
    // One key of each batch element counts.
    %4:4 = "apc.attention"(%q, %k, %v, %none, %none, %none, %one) {expected = [dense<2.0> : tensor<1x1x2x1xf32>, unit, unit, unit]} : (tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>, none, none, none, tensor<1xi64>) -> (tensor<1x1x2x1xf32>, none, none, none)
    %5:4 = "apc.attention"(%q, %k, %v, %add, %none, %none, %none) {qk_matmul_output_mode = 2 : i64, expected = [dense<[[[[5.92805529], [4.0]]]]> : tensor<1x1x2x1xf32>, unit, unit, dense<[[[[-1.0, 3.0], [0.0, 0.0]]]]> : tensor<1x1x2x2xf32>]} : (tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>, tensor<2x2xf32>, none, none, none) -> (tensor<1x1x2x1xf32>, none, none, tensor<1x1x2x2xf32>)
    return
  })");
}

// Two query heads share one key head; keys are alike, so each result is the mean of the values seen.
TEST_CASE("Caches are filled where the past ends") {
  checkEvaluation(R"(func.func @f() {
    %none = apc.none
    %q = apc.constant dense<[[[1.0, 1.0]]]> : tensor<1x1x2xf32>
    %k = apc.constant dense<0.0> : tensor<1x1x1xf32>
    %v = apc.constant dense<5.0> : tensor<1x1x1xf32>
    %packed = apc.constant dense<[[[1.0, 1.0, 0.0, 5.0]]]> : tensor<1x1x4xf32>
    %pk = apc.constant dense<0.0> : tensor<1x1x3x1xf32>
    %pv = apc.constant dense<[[[[1.0], [9.0], [9.0]]]]> : tensor<1x1x3x1xf32>
    %last = apc.constant dense<1> : tensor<1xi32>
    %total = apc.constant dense<2> : tensor<i32>
    %second = apc.constant dense<1> : tensor<i64>
    %0:4 = "apc.group_query_attention"(%q, %k, %v, %pk, %pv, %last, %total, %none, %none, %none, %none, %none, %none, %none, %none, %none) {num_heads = 2 : i64, kv_num_heads = 1 : i64, expected = [dense<3.0> : tensor<1x1x2xf32>, dense<0.0> : tensor<1x1x3x1xf32>, dense<[[[[1.0], [5.0], [0.0]]]]> : tensor<1x1x3x1xf32>, unit]} : (tensor<1x1x2xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x3x1xf32>, tensor<1x1x3x1xf32>, tensor<1xi32>, tensor<i32>, none, none, none, none, none, none, none, none, none) -> (tensor<1x1x2xf32>, tensor<1x1x3x1xf32>, tensor<1x1x3x1xf32>, none)
    %1:4 = "apc.group_query_attention"(%packed, %none, %none, %pk, %pv, %last, %total, %none, %none, %none, %none, %none, %none, %none, %none, %none) {num_heads = 2 : i64, kv_num_heads = 1 : i64, smooth_softmax = 1 : i64, expected = [dense<2.0> : tensor<1x1x2xf32>, unit, unit, unit]} : (tensor<1x1x4xf32>, none, none, tensor<1x1x3x1xf32>, tensor<1x1x3x1xf32>, tensor<1xi32>, tensor<i32>, none, none, none, none, none, none, none, none, none) -> (tensor<1x1x2xf32>, none, none, none)
    // The second of two devices has the second query head and the same key head.
    %2:4 = "apc.group_query_attention"(%packed, %none, %none, %pk, %pv, %last, %total, %none, %none, %none, %none, %none, %none, %none, %none, %none, %second) {num_heads = 1 : i64, kv_num_heads = 1 : i64, total_heads = 2 : i64, total_kv_heads = 1 : i64, expected = [dense<3.0> : tensor<1x1x1xf32>, unit, unit, unit]} : (tensor<1x1x4xf32>, none, none, tensor<1x1x3x1xf32>, tensor<1x1x3x1xf32>, tensor<1xi32>, tensor<i32>, none, none, none, none, none, none, none, none, none, tensor<i64>) -> (tensor<1x1x1xf32>, none, none, none)
    // A window of one key has the query's own alone.
    %3:4 = "apc.group_query_attention"(%q, %k, %v, %pk, %pv, %last, %total, %none, %none, %none, %none, %none, %none, %none, %none, %none) {num_heads = 2 : i64, kv_num_heads = 1 : i64, local_window_size = 1 : i64, expected = [dense<5.0> : tensor<1x1x2xf32>, unit, unit, unit]} : (tensor<1x1x2xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x3x1xf32>, tensor<1x1x3x1xf32>, tensor<1xi32>, tensor<i32>, none, none, none, none, none, none, none, none, none) -> (tensor<1x1x2xf32>, none, none, none)
    return
  })");
}

TEST_CASE("Heads come apart, packed, with a bias, or are projected") {
  checkEvaluation(R"(func.func @f() {
    %none = apc.none
    %x = apc.constant dense<[[[1.0, 2.0], [1.0, 4.0]]]> : tensor<1x2x2xf32>
    %zero = apc.constant dense<0.0> : tensor<1x2x2xf32>
    %packed = apc.constant dense<[[[1.0, 1.0, 0.0, 0.0, 1.0, 2.0], [1.0, 1.0, 0.0, 0.0, 1.0, 4.0]]]> : tensor<1x2x6xf32>
    %bias = apc.constant dense<[0.0, 0.0, 0.0, 0.0, 10.0, 20.0]> : tensor<6xf32>
    %mask = apc.constant dense<[[1, 0]]> : tensor<1x2xi32>
    %w = apc.constant dense<[[0.0, 0.0, 0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0, 1.0]]> : tensor<2x6xf32>
    %second = apc.constant dense<1> : tensor<i64>
    %0:4 = "apc.multi_head_attention"(%x, %zero, %x, %bias, %none, %none, %none, %none, %none, %none) {num_heads = 2 : i64, expected = [dense<[[[11.0, 23.0], [11.0, 23.0]]]> : tensor<1x2x2xf32>, unit, unit, unit]} : (tensor<1x2x2xf32>, tensor<1x2x2xf32>, tensor<1x2x2xf32>, tensor<6xf32>, none, none, none, none, none, none) -> (tensor<1x2x2xf32>, none, none, none)
    %1:4 = "apc.multi_head_attention"(%packed, %none, %none, %bias, %mask, %none, %none, %none, %none, %none) {num_heads = 2 : i64, expected = [dense<[[[11.0, 22.0], [11.0, 22.0]]]> : tensor<1x2x2xf32>, unit, unit, unit]} : (tensor<1x2x6xf32>, none, none, tensor<6xf32>, tensor<1x2xi32>, none, none, none, none, none) -> (tensor<1x2x2xf32>, none, none, none)
    %2:4 = "apc.multi_head_attention"(%packed, %none, %none, %bias, %none, %none, %none, %none, %none, %none, %second) {num_heads = 1 : i64, total_heads = 2 : i64, unidirectional = 1 : i64, expected = [dense<[[[22.0], [23.0]]]> : tensor<1x2x1xf32>, unit, unit, unit]} : (tensor<1x2x6xf32>, none, none, tensor<6xf32>, none, none, none, none, none, none, tensor<i64>) -> (tensor<1x2x1xf32>, none, none, none)
    %3:2 = "apc.projected_attention"(%x, %w, %bias, %none, %none, %none, %none) {num_heads = 2 : i64, expected = [dense<[[[11.0, 23.0], [11.0, 23.0]]]> : tensor<1x2x2xf32>, unit]} : (tensor<1x2x2xf32>, tensor<2x6xf32>, tensor<6xf32>, none, none, none, none) -> (tensor<1x2x2xf32>, none)
    %4:2 = "apc.projected_attention"(%x, %w, %bias, %none, %none, %none, %none, %second) {num_heads = 1 : i64, total_heads = 2 : i64, expected = [dense<[[[23.0], [23.0]]]> : tensor<1x2x1xf32>, dense<[[[[[0.0], [0.0]]]], [[[[22.0], [24.0]]]]]> : tensor<2x1x1x2x1xf32>]} : (tensor<1x2x2xf32>, tensor<2x6xf32>, tensor<6xf32>, none, none, none, none, tensor<i64>) -> (tensor<1x2x1xf32>, tensor<2x1x1x2x1xf32>)
    return
  })");
}

// A quarter turn takes (a, b) to (-b, a).
TEST_CASE("Pairs are rotated") {
  checkEvaluation(R"(func.func @f() {
    %none = apc.none
    %x = apc.constant dense<[[[1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0]]]> : tensor<1x2x4xf32>
    %cos = apc.constant dense<[[1.0, 1.0], [0.0, 0.0]]> : tensor<2x2xf32>
    %sin = apc.constant dense<[[0.0, 0.0], [1.0, 1.0]]> : tensor<2x2xf32>
    %ids = apc.constant dense<[[1, 0]]> : tensor<1x2xi64>
    %start = apc.constant dense<[0]> : tensor<1xi64>
    %0 = "apc.rotary_embedding"(%x, %cos, %sin, %ids) {num_heads = 1 : i64, expected = [dense<[[[-3.0, -4.0, 1.0, 2.0], [1.0, 2.0, 3.0, 4.0]]]> : tensor<1x2x4xf32>]} : (tensor<1x2x4xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<1x2xi64>) -> tensor<1x2x4xf32>
    %1 = "apc.ms_rotary_embedding"(%x, %start, %cos, %sin) {interleaved = 1 : i64, expected = [dense<[[[1.0, 2.0, 3.0, 4.0], [-2.0, 1.0, -4.0, 3.0]]]> : tensor<1x2x4xf32>]} : (tensor<1x2x4xf32>, tensor<1xi64>, tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<1x2x4xf32>
    return
  })");
}

TEST_CASE("Experts are chosen by the router, wherever they are") {
  // Experts multiply by 1, 10 and 100, then by 1, and add 1, 2, 3; the router prefers the last, then the second.
  checkEvaluation(R"(func.func @f() {
    %none = apc.none
    %x = apc.constant dense<[[1.0]]> : tensor<1x1xf32>
    %router = apc.constant dense<[[0.0, 5.0, 5.0]]> : tensor<1x3xf32>
    %up = apc.constant dense<[[[1.0]], [[10.0]], [[100.0]]]> : tensor<3x1x1xf32>
    %down = apc.constant dense<1.0> : tensor<3x1x1xf32>
    %bias = apc.constant dense<[[1.0], [2.0], [3.0]]> : tensor<3x1xf32>
    %lastUp = apc.constant dense<100.0> : tensor<1x1x1xf32>
    %lastDown = apc.constant dense<1.0> : tensor<1x1x1xf32>
    %lastBias = apc.constant dense<3.0> : tensor<1x1xf32>
    %two = apc.constant dense<2> : tensor<i64>
    %zero = apc.constant dense<0> : tensor<i64>
    %0 = "apc.moe"(%x, %router, %up, %none, %down, %bias, %none, %none) {k = 2 : i64, normalize_routing_weights = 1 : i64, expected = [dense<57.5> : tensor<1x1xf32>]} : (tensor<1x1xf32>, tensor<1x3xf32>, tensor<3x1x1xf32>, none, tensor<3x1x1xf32>, tensor<3x1xf32>, none, none) -> tensor<1x1xf32>
    %1 = "apc.moe"(%x, %router, %lastUp, %none, %lastDown, %lastBias, %none, %none, %two, %zero) {k = 2 : i64, normalize_routing_weights = 1 : i64, expected = [dense<51.5> : tensor<1x1xf32>]} : (tensor<1x1xf32>, tensor<1x3xf32>, tensor<1x1x1xf32>, none, tensor<1x1x1xf32>, tensor<1x1xf32>, none, none, tensor<i64>, tensor<i64>) -> tensor<1x1xf32>
    %2 = "apc.moe"(%x, %router, %lastUp, %none, %lastDown, %lastBias, %none, %none, %two, %two) {k = 2 : i64, normalize_routing_weights = 1 : i64, expected = [dense<50.0> : tensor<1x1xf32>]} : (tensor<1x1xf32>, tensor<1x3xf32>, tensor<1x1x1xf32>, none, tensor<1x1x1xf32>, tensor<1x1xf32>, none, none, tensor<i64>, tensor<i64>) -> tensor<1x1xf32>
    return
  })");
}

// The second of two experts is chosen. Its first layer makes 1, 2, 3 of the token (1, 2), its third layer 1, 1, 2; the
// products 1, 2, 6 become 1 + 2 * 10 + 6 * 100 and 2.
TEST_CASE("Weights of experts have outputs or inputs first, as their shapes say") {
  checkEvaluation(R"(func.func @f() {
    %none = apc.none
    %x = apc.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
    %router = apc.constant dense<[[0.0, 5.0]]> : tensor<1x2xf32>
    %up = apc.constant dense<[[[9.0, 9.0], [9.0, 9.0], [9.0, 9.0]], [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]]> : tensor<2x3x2xf32>
    %down = apc.constant dense<[[[9.0, 9.0, 9.0], [9.0, 9.0, 9.0]], [[1.0, 10.0, 100.0], [0.0, 1.0, 0.0]]]> : tensor<2x2x3xf32>
    %gate = apc.constant dense<[[[9.0, 9.0], [9.0, 9.0], [9.0, 9.0]], [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]]> : tensor<2x3x2xf32>
    %upT = apc.constant dense<[[[9.0, 9.0, 9.0], [9.0, 9.0, 9.0]], [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]]> : tensor<2x2x3xf32>
    %downT = apc.constant dense<[[[9.0, 9.0], [9.0, 9.0], [9.0, 9.0]], [[1.0, 0.0], [10.0, 1.0], [100.0, 0.0]]]> : tensor<2x3x2xf32>
    %gateT = apc.constant dense<[[[9.0, 9.0, 9.0], [9.0, 9.0, 9.0]], [[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]]> : tensor<2x2x3xf32>
    %0 = "apc.moe"(%x, %router, %up, %none, %down, %none, %gate, %none) {normalize_routing_weights = 1 : i64, expected = [dense<[[621.0, 2.0]]> : tensor<1x2xf32>]} : (tensor<1x2xf32>, tensor<1x2xf32>, tensor<2x3x2xf32>, none, tensor<2x2x3xf32>, none, tensor<2x3x2xf32>, none) -> tensor<1x2xf32>
    %1 = "apc.moe"(%x, %router, %upT, %none, %downT, %none, %gateT, %none) {normalize_routing_weights = 1 : i64, expected = [dense<[[621.0, 2.0]]> : tensor<1x2xf32>]} : (tensor<1x2xf32>, tensor<1x2xf32>, tensor<2x2x3xf32>, none, tensor<2x3x2xf32>, none, tensor<2x2x3xf32>, none) -> tensor<1x2xf32>
    %wide = apc.constant dense<[[[1.0, 2.0], [3.0, 4.0]]]> : tensor<1x2x2xf32>
    %one = apc.constant dense<1.0> : tensor<1x1xf32>
    %same = apc.constant dense<[[[1.0, 0.0], [0.0, 1.0]]]> : tensor<1x2x2xf32>
    // Square weights are read with their outputs first, unless the op on a piece says otherwise.
    %2 = "apc.moe"(%x, %one, %wide, %none, %same, %none, %none, %none) {expected = [dense<[[5.0, 11.0]]> : tensor<1x2xf32>]} : (tensor<1x2xf32>, tensor<1x1xf32>, tensor<1x2x2xf32>, none, tensor<1x2x2xf32>, none, none, none) -> tensor<1x2xf32>
    %3 = "apc.moe"(%x, %one, %wide, %none, %same, %none, %none, %none) {inputs_first, expected = [dense<[[7.0, 10.0]]> : tensor<1x2xf32>]} : (tensor<1x2xf32>, tensor<1x1xf32>, tensor<1x2x2xf32>, none, tensor<1x2x2xf32>, none, none, none) -> tensor<1x2xf32>
    return
  })");
}

TEST_CASE("A state is carried along the positions") {
  checkEvaluation(R"(func.func @f() {
    %none = apc.none
    %q = apc.constant dense<1.0> : tensor<1x2x1xf32>
    %k = apc.constant dense<1.0> : tensor<1x2x1xf32>
    %v = apc.constant dense<[[[2.0], [6.0]]]> : tensor<1x2x1xf32>
    %past = apc.constant dense<4.0> : tensor<1x1x1x1xf32>
    %beta = apc.constant dense<0.5> : tensor<1x2x1xf32>
    %x = apc.constant dense<[[[1.0, 2.0]]]> : tensor<1x1x2xf32>
    %w = apc.constant dense<[[[10.0, 1.0]]]> : tensor<1x1x2xf32>
    %before = apc.constant dense<3.0> : tensor<1x1x1xf32>
    %0:2 = "apc.linear_attention"(%q, %k, %v, %past, %none, %none) {kv_num_heads = 1 : i64, q_num_heads = 1 : i64, update_rule = "linear", expected = [dense<[[[6.0], [12.0]]]> : tensor<1x2x1xf32>, dense<12.0> : tensor<1x1x1x1xf32>]} : (tensor<1x2x1xf32>, tensor<1x2x1xf32>, tensor<1x2x1xf32>, tensor<1x1x1x1xf32>, none, none) -> (tensor<1x2x1xf32>, tensor<1x1x1x1xf32>)
    // The state 4 goes half of the way to 2, then half of the way to 6.
    %1:2 = "apc.linear_attention"(%q, %k, %v, %past, %none, %beta) {kv_num_heads = 1 : i64, q_num_heads = 1 : i64, update_rule = "delta", expected = [dense<[[[3.0], [4.5]]]> : tensor<1x2x1xf32>, unit]} : (tensor<1x2x1xf32>, tensor<1x2x1xf32>, tensor<1x2x1xf32>, tensor<1x1x1x1xf32>, none, tensor<1x2x1xf32>) -> (tensor<1x2x1xf32>, none)
    %2:2 = "apc.causal_conv_with_state"(%x, %w, %none, %before) {expected = [dense<[[[31.0, 12.0]]]> : tensor<1x1x2xf32>, dense<2.0> : tensor<1x1x1xf32>]} : (tensor<1x1x2xf32>, tensor<1x1x2xf32>, none, tensor<1x1x1xf32>) -> (tensor<1x1x2xf32>, tensor<1x1x1xf32>)
    return
  })");
}
