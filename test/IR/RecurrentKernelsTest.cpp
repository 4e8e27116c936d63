// Recurrent cells by hand: sums that stay in the straight part of their activations.
#include "CheckKernels.h"

// H = x + H' with Affine (1, 0): running sums of 1, 2, 4, by direction and length; nothing stands behind a length.
TEST_CASE("States run forward, backward, and to the end of each sequence") {
  checkEvaluation(R"(func.func @f() {
    %none = apc.none
    %x = apc.constant dense<[[[1.0], [1.0]], [[2.0], [2.0]], [[4.0], [4.0]]]> : tensor<3x2x1xf32>
    %w = apc.constant dense<1.0> : tensor<1x1x1xf32>
    %n = apc.constant dense<[3, 2]> : tensor<2xi32>
    %h = apc.constant dense<[[[10.0], [20.0]]]> : tensor<1x2x1xf32>
    %0:2 = "apc.rnn"(%x, %w, %w, %none, %n, %none) {activations = ["Affine"], expected = [dense<[[[[1.0], [1.0]]], [[[3.0], [3.0]]], [[[7.0], [0.0]]]]> : tensor<3x1x2x1xf32>, dense<[[[7.0], [3.0]]]> : tensor<1x2x1xf32>]} : (tensor<3x2x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>, none, tensor<2xi32>, none) -> (tensor<3x1x2x1xf32>, tensor<1x2x1xf32>)
    %1:2 = "apc.rnn"(%x, %w, %w, %none, %n, %h) {activations = ["Affine"], direction = "reverse", expected = [dense<[[[[17.0], [23.0]]], [[[16.0], [22.0]]], [[[14.0], [0.0]]]]> : tensor<3x1x2x1xf32>, dense<[[[17.0], [23.0]]]> : tensor<1x2x1xf32>]} : (tensor<3x2x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>, none, tensor<2xi32>, tensor<1x2x1xf32>) -> (tensor<3x1x2x1xf32>, tensor<1x2x1xf32>)
    // Sums of 3 and 7 are cut off at 2.5 where they enter the activation, which doubles them: 2, 2 (2 + 2) and so on.
    %2:2 = "apc.rnn"(%x, %w, %w, %none, %none, %none) {activations = ["Affine"], activation_alpha = array<f32: 2.0>, clip = 2.5 : f32, expected = [dense<[[[[2.0], [2.0]]], [[[5.0], [5.0]]], [[[5.0], [5.0]]]]> : tensor<3x1x2x1xf32>, unit]} : (tensor<3x2x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>, none, none, none) -> (tensor<3x1x2x1xf32>, none)
    return
  })");
}

// The second of two directions on a device of its own: backward, and its own activation, which doubles.
TEST_CASE("A piece of the directions begins with the one that its offset says") {
  checkEvaluation(R"(func.func @f() {
    %none = apc.none
    %x = apc.constant dense<[[[1.0]], [[2.0]]]> : tensor<2x1x1xf32>
    %w = apc.constant dense<1.0> : tensor<1x1x1xf32>
    %first = apc.constant dense<0> : tensor<i64>
    %second = apc.constant dense<1> : tensor<i64>
    %0:2 = "apc.rnn"(%x, %w, %w, %none, %none, %none, %first) {activations = ["Affine", "Affine"], activation_alpha = array<f32: 1.0, 2.0>, direction = "bidirectional", expected = [dense<[[[[1.0]]], [[[3.0]]]]> : tensor<2x1x1x1xf32>, unit]} : (tensor<2x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>, none, none, none, tensor<i64>) -> (tensor<2x1x1x1xf32>, none)
    %1:2 = "apc.rnn"(%x, %w, %w, %none, %none, %none, %second) {activations = ["Affine", "Affine"], activation_alpha = array<f32: 1.0, 2.0>, direction = "bidirectional", expected = [dense<[[[[10.0]]], [[[4.0]]]]> : tensor<2x1x1x1xf32>, unit]} : (tensor<2x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>, none, none, none, tensor<i64>) -> (tensor<2x1x1x1xf32>, none)
    return
  })");
}

// z = x / 2, r = x / 4, and a candidate of x + r H' or, with Rb of 1 behind R, x + r (H' + 1).
TEST_CASE("Gated units take the reset before R or behind it") {
  checkEvaluation(R"(func.func @f() {
    %none = apc.none
    %x = apc.constant dense<1.0> : tensor<1x1x1xf32>
    %w = apc.constant dense<[[[0.5], [0.25], [1.0]]]> : tensor<1x3x1xf32>
    %r = apc.constant dense<[[[0.0], [0.0], [1.0]]]> : tensor<1x3x1xf32>
    %b = apc.constant dense<[[0.0, 0.0, 0.0, 0.0, 0.0, 1.0]]> : tensor<1x6xf32>
    %h = apc.constant dense<8.0> : tensor<1x1x1xf32>
    %0:2 = "apc.gru"(%x, %w, %r, %b, %none, %h) {activations = ["Affine", "Affine"], expected = [dense<6.0> : tensor<1x1x1x1xf32>, dense<6.0> : tensor<1x1x1xf32>]} : (tensor<1x1x1xf32>, tensor<1x3x1xf32>, tensor<1x3x1xf32>, tensor<1x6xf32>, none, tensor<1x1x1xf32>) -> (tensor<1x1x1x1xf32>, tensor<1x1x1xf32>)
    %1:2 = "apc.gru"(%x, %w, %r, %b, %none, %h) {activations = ["Affine", "Affine"], linear_before_reset = 1 : i64, expected = [dense<5.625> : tensor<1x1x1x1xf32>, dense<5.625> : tensor<1x1x1xf32>]} : (tensor<1x1x1xf32>, tensor<1x3x1xf32>, tensor<1x3x1xf32>, tensor<1x6xf32>, none, tensor<1x1x1xf32>) -> (tensor<1x1x1x1xf32>, tensor<1x1x1xf32>)
    return
  })");
}

// i = 0.5 + P 4 / 8 = 1, f = 0.25 + 4 / 4 = 1.25 (1 - i = 0 where coupled), c = 2: C = 1.25 * 4 + 2 = 7, or 2;
// o = 0.125 + C / 2 = 3.625, or 1.125.
TEST_CASE("Peepholes of i and f read the cell before, that of o the cell after") {
  checkEvaluation(R"(func.func @f() {
    %none = apc.none
    %x = apc.constant dense<1.0> : tensor<1x1x1xf32>
    %w = apc.constant dense<[[[0.5], [0.125], [0.25], [2.0]]]> : tensor<1x4x1xf32>
    %r = apc.constant dense<0.0> : tensor<1x4x1xf32>
    %c = apc.constant dense<4.0> : tensor<1x1x1xf32>
    %p = apc.constant dense<[[0.125, 0.5, 0.25]]> : tensor<1x3xf32>
    %0:3 = "apc.lstm"(%x, %w, %r, %none, %none, %none, %c, %p) {activations = ["Affine", "Affine", "Affine"], expected = [dense<25.375> : tensor<1x1x1x1xf32>, unit, dense<7.0> : tensor<1x1x1xf32>]} : (tensor<1x1x1xf32>, tensor<1x4x1xf32>, tensor<1x4x1xf32>, none, none, none, tensor<1x1x1xf32>, tensor<1x3xf32>) -> (tensor<1x1x1x1xf32>, none, tensor<1x1x1xf32>)
    %1:3 = "apc.lstm"(%x, %w, %r, %none, %none, %none, %c, %p) {activations = ["Affine", "Affine", "Affine"], input_forget = 1 : i64, expected = [dense<2.25> : tensor<1x1x1x1xf32>, unit, dense<2.0> : tensor<1x1x1xf32>]} : (tensor<1x1x1xf32>, tensor<1x4x1xf32>, tensor<1x4x1xf32>, none, none, none, tensor<1x1x1xf32>, tensor<1x3xf32>) -> (tensor<1x1x1x1xf32>, none, tensor<1x1x1xf32>)
    return
  })");
}
