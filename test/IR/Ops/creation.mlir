// RUN: apc-opt %s --apc-print-rules | FileCheck %s
// The operators that make elements: constant fills may be cut, all others are whole.

func.func @sources(%x: tensor<4x5xf32>) {
  %shape = apc.constant dense<[4, 5]> : tensor<2xi64>
  // CHECK: apc.constant_of_shape: w0 -> d0 d1 {d0=4, d1=5, w0=2 !}
  %0 = "apc.constant_of_shape"(%shape) {value = dense<1> : tensor<1xi64>} : (tensor<2xi64>) -> tensor<4x5xi64>
  %start = apc.constant dense<10> : tensor<i64>
  %limit = apc.constant dense<-1> : tensor<i64>
  %delta = apc.constant dense<-4> : tensor<i64>
  // CHECK: apc.range: , , -> w0 {w0=3 !}
  %1 = "apc.range"(%start, %limit, %delta) : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<3xi64>
  // CHECK: apc.literal: -> w0 {w0=3 !}
  %2 = "apc.literal"() {value_ints = array<i64: 1, 2, 3>} : () -> tensor<3xi64>
  // CHECK: apc.literal: -> {}
  %3 = "apc.literal"() {value_float = 1.5 : f32} : () -> tensor<f32>
  // CHECK: apc.eye_like: w0 w1 -> w2 w3 {w0=4 !, w1=5 !, w2=4 !, w3=5 !}
  %4 = "apc.eye_like"(%x) {dtype = 10 : i64, k = 1 : i64} : (tensor<4x5xf32>) -> tensor<4x5xf16>
  // CHECK: apc.hann_window: -> w0 {w0=10 !}
  %5 = "apc.hann_window"(%start) : (tensor<i64>) -> tensor<10xf32>
  // CHECK: apc.hamming_window: -> w0 {w0=10 !}
  %6 = "apc.hamming_window"(%start) {output_datatype = 11 : i64} : (tensor<i64>) -> tensor<10xf64>
  // CHECK: apc.blackman_window: -> w0 {w0=10 !}
  %7 = "apc.blackman_window"(%start) {periodic = 0 : i64} : (tensor<i64>) -> tensor<10xf32>
  %hertz = apc.constant dense<8000.0> : tensor<f32>
  // CHECK: apc.mel_weight_matrix: , , , , -> w0 w1 {w0=6 !, w1=10 !}
  %8 = "apc.mel_weight_matrix"(%start, %start, %start, %hertz, %hertz) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<f32>, tensor<f32>) -> tensor<6x10xf32>
  return
}
