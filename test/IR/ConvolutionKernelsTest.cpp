// Convolutions, pools and resampling on small numbers; pieces of them beside the whole.
#include "CheckKernels.h"

#include <catch2/catch.hpp>

TEST_CASE("Convolutions in groups, with holes, on pads") {
  checkEvaluation(R"mlir(
    %x = apc.constant dense<[[[1.0, 2.0, 3.0, 4.0], [10.0, 20.0, 30.0, 40.0]]]> : tensor<1x2x4xf32>
    %w = apc.constant dense<[[[1.0, -1.0]], [[2.0, 1.0]]]> : tensor<2x1x2xf32>
    %b = apc.constant dense<[0.5, 100.0]> : tensor<2xf32>
    %none = apc.none
    %0 = "apc.conv"(%x, %w, %b) {group = 2 : i64, dilations = array<i64: 2>, expected = [dense<[[[-1.5, -1.5], [150.0, 180.0]]]> : tensor<1x2x2xf32>]} : (tensor<1x2x4xf32>, tensor<2x1x2xf32>, tensor<2xf32>) -> tensor<1x2x2xf32>
    %1 = "apc.conv"(%x, %w, %none) {group = 2 : i64, auto_pad = "SAME_UPPER", strides = array<i64: 3>, expected = [dense<[[[-1.0, 4.0], [40.0, 80.0]]]> : tensor<1x2x2xf32>]} : (tensor<1x2x4xf32>, tensor<2x1x2xf32>, none) -> tensor<1x2x2xf32>
    %2 = "apc.fused_conv"(%x, %w, %none, %none) {group = 2 : i64, dilations = array<i64: 2>, activation = "Clip", activation_params = array<f32: -1.0, 60.0>, expected = [dense<[[[-1.0, -1.0], [50.0, 60.0]]]> : tensor<1x2x2xf32>]} : (tensor<1x2x4xf32>, tensor<2x1x2xf32>, none, none) -> tensor<1x2x2xf32>
    %i = apc.constant dense<[[[1, 2, 3]]]> : tensor<1x1x3xui8>
    %k = apc.constant dense<[[[1, 2]]]> : tensor<1x1x2xi8>
    %z = apc.constant dense<2> : tensor<ui8>
    %3 = "apc.conv_integer"(%i, %k, %z, %none) {pads = array<i64: 1, 0>, expected = [dense<[[[-2, -1, 2]]]> : tensor<1x1x3xi32>]} : (tensor<1x1x3xui8>, tensor<1x1x2xi8>, tensor<ui8>, none) -> tensor<1x1x3xi32>
  )mlir");
}

// Stride 2 and kernel 3 write 1 + 2 * 3 = 7 points for 3; windows overlap by one.
TEST_CASE("Transposed convolutions overlap, crop and extend") {
  checkEvaluation(R"mlir(
    %x = apc.constant dense<[[[1.0, 10.0, 100.0]]]> : tensor<1x1x3xf32>
    %w = apc.constant dense<[[[1.0, 2.0, 3.0]]]> : tensor<1x1x3xf32>
    %none = apc.none
    %0 = "apc.conv_transpose"(%x, %w, %none) {strides = array<i64: 2>, expected = [dense<[[[1.0, 2.0, 13.0, 20.0, 130.0, 200.0, 300.0]]]> : tensor<1x1x7xf32>]} : (tensor<1x1x3xf32>, tensor<1x1x3xf32>, none) -> tensor<1x1x7xf32>
    %1 = "apc.conv_transpose"(%x, %w, %none) {strides = array<i64: 2>, auto_pad = "SAME_UPPER", expected = [dense<[[[1.0, 2.0, 13.0, 20.0, 130.0, 200.0]]]> : tensor<1x1x6xf32>]} : (tensor<1x1x3xf32>, tensor<1x1x3xf32>, none) -> tensor<1x1x6xf32>
    %2 = "apc.conv_transpose"(%x, %w, %none) {strides = array<i64: 2>, auto_pad = "SAME_LOWER", expected = [dense<[[[2.0, 13.0, 20.0, 130.0, 200.0, 300.0]]]> : tensor<1x1x6xf32>]} : (tensor<1x1x3xf32>, tensor<1x1x3xf32>, none) -> tensor<1x1x6xf32>
    %3 = "apc.conv_transpose"(%x, %w, %none) {strides = array<i64: 2>, output_shape = array<i64: 8>, expected = [dense<[[[1.0, 2.0, 13.0, 20.0, 130.0, 200.0, 300.0, 0.0]]]> : tensor<1x1x8xf32>]} : (tensor<1x1x3xf32>, tensor<1x1x3xf32>, none) -> tensor<1x1x8xf32>
  )mlir");
}

// The last window of `ceil_mode` hangs over the pads by one point, which no mean counts.
TEST_CASE("Means over windows count pads or not") {
  checkEvaluation(R"mlir(
    %x = apc.constant dense<[[[1.0, 2.0, 3.0, 4.0, 6.0]]]> : tensor<1x1x5xf32>
    %0 = "apc.average_pool"(%x) {kernel_shape = array<i64: 3>, strides = array<i64: 3>, pads = array<i64: 1, 1>, expected = [dense<[[[1.5, 4.33333349]]]> : tensor<1x1x2xf32>]} : (tensor<1x1x5xf32>) -> tensor<1x1x2xf32>
    %1 = "apc.average_pool"(%x) {kernel_shape = array<i64: 3>, strides = array<i64: 3>, pads = array<i64: 1, 1>, count_include_pad = 1 : i64, expected = [dense<[[[1.0, 4.33333349]]]> : tensor<1x1x2xf32>]} : (tensor<1x1x5xf32>) -> tensor<1x1x2xf32>
    %2 = "apc.average_pool"(%x) {kernel_shape = array<i64: 4>, strides = array<i64: 2>, pads = array<i64: 0, 0>, ceil_mode = 1 : i64, count_include_pad = 1 : i64, expected = [dense<[[[2.5, 4.33333349]]]> : tensor<1x1x2xf32>]} : (tensor<1x1x5xf32>) -> tensor<1x1x2xf32>
    %part = apc.constant dense<[[[1.0, 3.0]]]> : tensor<1x1x2xf32>
    %3 = "apc.average_pool"(%part) {kernel_shape = array<i64: 2>, strides = array<i64: 4>, whole_kernel = array<i64: 4>, expected = [dense<[[[1.0]]]> : tensor<1x1x1xf32>]} : (tensor<1x1x2xf32>) -> tensor<1x1x1xf32>
    %4 = "apc.global_average_pool"(%part) {count = 8 : i64, expected = [dense<[[[5.0e-01]]]> : tensor<1x1x1xf32>]} : (tensor<1x1x2xf32>) -> tensor<1x1x1xf32>
  )mlir");
}

TEST_CASE("Maxima and their positions") {
  checkEvaluation(R"mlir(
    %x = apc.constant dense<[[[[1, 5, 5], [4, 2, 7]]]]> : tensor<1x1x2x3xui8>
    %0:2 = "apc.max_pool"(%x) {kernel_shape = array<i64: 2, 2>, expected = [dense<[[[[5, 7]]]]> : tensor<1x1x1x2xui8>, dense<[[[[1, 5]]]]> : tensor<1x1x1x2xi64>]} : (tensor<1x1x2x3xui8>) -> (tensor<1x1x1x2xui8>, tensor<1x1x1x2xi64>)
    %1:2 = "apc.max_pool"(%x) {kernel_shape = array<i64: 2, 2>, storage_order = 1 : i64, expected = [dense<[[[[5, 7]]]]> : tensor<1x1x1x2xui8>, dense<[[[[2, 5]]]]> : tensor<1x1x1x2xi64>]} : (tensor<1x1x2x3xui8>) -> (tensor<1x1x1x2xui8>, tensor<1x1x1x2xi64>)
    %v = apc.constant dense<[[[5.0, 7.0]]]> : tensor<1x1x2xf32>
    %i = apc.constant dense<[[[1, 2]]]> : tensor<1x1x2xi64>
    %shape = apc.constant dense<[1, 1, 6]> : tensor<3xi64>
    %2 = "apc.max_unpool"(%v, %i, %shape) {kernel_shape = array<i64: 2>, strides = array<i64: 2>, expected = [dense<[[[0.0, 5.0, 7.0, 0.0, 0.0, 0.0]]]> : tensor<1x1x6xf32>]} : (tensor<1x1x2xf32>, tensor<1x1x2xi64>, tensor<3xi64>) -> tensor<1x1x6xf32>
  )mlir");
}

TEST_CASE("Before opset 11, shrinking took the next point and growing the point before") {
  checkEvaluation(R"mlir(
    %x = apc.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
    %less = apc.constant dense<0.6> : tensor<1xf32>
    %more = apc.constant dense<1.5> : tensor<1xf32>
    %none = apc.none
    %0 = "apc.resize"(%x, %less, %none, %none) {opset_version = 10 : i64, expected = [dense<[1.0, 3.0]> : tensor<2xf32>]} : (tensor<4xf32>, tensor<1xf32>, none, none) -> tensor<2xf32>
    %1 = "apc.upsample"(%x, %more) {expected = [dense<[1.0, 1.0, 2.0, 3.0, 3.0, 4.0]> : tensor<6xf32>]} : (tensor<4xf32>, tensor<1xf32>) -> tensor<6xf32>
  )mlir");
}

TEST_CASE("Fourier transforms; determinants with exchanged rows") {
  checkEvaluation(R"mlir(
    %x = apc.constant dense<[[[1.0], [2.0], [0.0], [-1.0]]]> : tensor<1x4x1xf32>
    %none = apc.none
    %axis = apc.constant dense<1> : tensor<i64>
    %half = apc.constant dense<[[[2.0, 0.0], [1.0, -3.0], [0.0, 0.0]]]> : tensor<1x3x2xf32>
    %0 = "apc.dft"(%x, %none, %axis) {onesided = 1 : i64, expected = [dense<[[[2.0, 0.0], [1.0, -3.0], [0.0, 0.0]]]> : tensor<1x3x2xf32>]} : (tensor<1x4x1xf32>, none, tensor<i64>) -> tensor<1x3x2xf32>
    %1 = "apc.dft"(%half, %none, %axis) {onesided = 1 : i64, inverse = 1 : i64, expected = [dense<[[[1.0], [2.0], [0.0], [-1.0]]]> : tensor<1x4x1xf32>]} : (tensor<1x3x2xf32>, none, tensor<i64>) -> tensor<1x4x1xf32>
    %m = apc.constant dense<[[0.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
    %2 = "apc.det"(%m) {expected = [dense<-6.0> : tensor<f32>]} : (tensor<2x2xf32>) -> tensor<f32>
  )mlir");
}
