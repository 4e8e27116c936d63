// Small constants are moved, picked and made as ONNX says.
#include "CheckKernels.h"

TEST_CASE("Shape and Size follow from types alone") {
  checkEvaluation(R"(func.func @f(%x: tensor<2x3x4xf32>) {
    %0 = "apc.shape"(%x) {start = -2 : i64, expected = [dense<[3, 4]> : tensor<2xi64>]} : (tensor<2x3x4xf32>) -> tensor<2xi64>
    %1 = "apc.size"(%x) {expected = [dense<24> : tensor<i64>]} : (tensor<2x3x4xf32>) -> tensor<i64>
    %2 = "apc.identity"(%x) {expected} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    return
  })");
}

TEST_CASE("Lists of sizes are cut and joined") {
  checkEvaluation(R"(func.func @f() {
    %none = apc.none
    %list = apc.constant dense<[8, 128, 512]> : tensor<3xi64>
    %last = apc.constant dense<-1> : tensor<1xi64>
    %zero = apc.constant dense<0> : tensor<1xi64>
    %big = apc.constant dense<9223372036854775807> : tensor<1xi64>
    %small = apc.constant dense<-9223372036854775808> : tensor<1xi64>
    %outside = apc.constant dense<3> : tensor<i64>
    %0 = "apc.gather"(%list, %last) {expected = [dense<512> : tensor<1xi64>]} : (tensor<3xi64>, tensor<1xi64>) -> tensor<1xi64>
    %1 = "apc.gather"(%list, %outside) {expected} : (tensor<3xi64>, tensor<i64>) -> tensor<i64>
    %2 = "apc.concat"(%list, %last) {axis = 0 : i64, expected = [dense<[8, 128, 512, -1]> : tensor<4xi64>]} : (tensor<3xi64>, tensor<1xi64>) -> tensor<4xi64>
    %3 = "apc.slice"(%list, %last, %big, %zero, %none) {expected = [dense<512> : tensor<1xi64>]} : (tensor<3xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, none) -> tensor<1xi64>
    %4 = "apc.slice"(%list, %last, %small, %zero, %last) {expected = [dense<[512, 128, 8]> : tensor<3xi64>]} : (tensor<3xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xi64>
    %5:2 = "apc.split"(%list, %none) {expected = [dense<[8, 128]> : tensor<2xi64>, dense<512> : tensor<1xi64>]} : (tensor<3xi64>, none) -> (tensor<2xi64>, tensor<1xi64>)
    %6 = "apc.unsqueeze"(%outside, %zero) {expected = [dense<3> : tensor<1xi64>]} : (tensor<i64>, tensor<1xi64>) -> tensor<1xi64>
    %7 = "apc.squeeze"(%last, %none) {expected = [dense<-1> : tensor<i64>]} : (tensor<1xi64>, none) -> tensor<i64>
    return
  })");
}

TEST_CASE("Tables are transposed, expanded and padded") {
  checkEvaluation(R"(func.func @f() {
    %none = apc.none
    %table = apc.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
    %shape = apc.constant dense<[3, -1]> : tensor<2xi64>
    %ones = apc.constant dense<[2, 1]> : tensor<2xi64>
    %row = apc.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
    %pads = apc.constant dense<[2, 2]> : tensor<2xi64>
    %crop = apc.constant dense<[-1, 1]> : tensor<2xi64>
    %0 = "apc.transpose"(%table) {expected = [dense<[[1, 4], [2, 5], [3, 6]]> : tensor<3x2xi32>]} : (tensor<2x3xi32>) -> tensor<3x2xi32>
    %1 = "apc.reshape"(%table, %shape) {expected = [dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi32>]} : (tensor<2x3xi32>, tensor<2xi64>) -> tensor<3x2xi32>
    %2 = "apc.expand"(%row, %ones) {expected = [dense<[[1, 2, 3, 4], [1, 2, 3, 4]]> : tensor<2x4xi32>]} : (tensor<4xi32>, tensor<2xi64>) -> tensor<2x4xi32>
    %3 = "apc.tile"(%table, %ones) {expected = [dense<[[1, 2, 3], [4, 5, 6], [1, 2, 3], [4, 5, 6]]> : tensor<4x3xi32>]} : (tensor<2x3xi32>, tensor<2xi64>) -> tensor<4x3xi32>
    %4 = "apc.pad"(%row, %pads, %none, %none) {mode = "reflect", expected = [dense<[3, 2, 1, 2, 3, 4, 3, 2]> : tensor<8xi32>]} : (tensor<4xi32>, tensor<2xi64>, none, none) -> tensor<8xi32>
    %5 = "apc.pad"(%row, %pads, %none, %none) {mode = "wrap", expected = [dense<[3, 4, 1, 2, 3, 4, 1, 2]> : tensor<8xi32>]} : (tensor<4xi32>, tensor<2xi64>, none, none) -> tensor<8xi32>
    %6 = "apc.pad"(%row, %pads, %none, %none) {mode = "edge", expected = [dense<[1, 1, 1, 2, 3, 4, 4, 4]> : tensor<8xi32>]} : (tensor<4xi32>, tensor<2xi64>, none, none) -> tensor<8xi32>
    %7 = "apc.pad"(%row, %crop, %none, %none) {expected = [dense<[2, 3, 4, 0]> : tensor<4xi32>]} : (tensor<4xi32>, tensor<2xi64>, none, none) -> tensor<4xi32>
    return
  })");
}

TEST_CASE("Elements are placed and chosen") {
  checkEvaluation(R"(func.func @f() {
    %none = apc.none
    %list = apc.constant dense<[2, 1, 2, 5]> : tensor<4xi64>
    %at = apc.constant dense<[0, 0]> : tensor<2xi64>
    %rows = apc.constant dense<[[1], [-1]]> : tensor<2x1xi64>
    %new = apc.constant dense<[7, 9]> : tensor<2xi64>
    %depth = apc.constant dense<3> : tensor<i64>
    %onoff = apc.constant dense<[0.0, 1.0]> : tensor<2xf32>
    %full = apc.constant dense<1> : tensor<2x3xi64>
    %0 = "apc.scatter_elements"(%list, %at, %new) {reduction = "add", expected = [dense<[18, 1, 2, 5]> : tensor<4xi64>]} : (tensor<4xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<4xi64>
    %1 = "apc.scatter_nd"(%list, %rows, %new) {expected = [dense<[2, 7, 2, 9]> : tensor<4xi64>]} : (tensor<4xi64>, tensor<2x1xi64>, tensor<2xi64>) -> tensor<4xi64>
    %2 = "apc.one_hot"(%at, %depth, %onoff) {expected = [dense<[[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]> : tensor<2x3xf32>]} : (tensor<2xi64>, tensor<i64>, tensor<2xf32>) -> tensor<2x3xf32>
    %3 = "apc.trilu"(%full, %none) {upper = 0 : i64, expected = [dense<[[1, 0, 0], [1, 1, 0]]> : tensor<2x3xi64>]} : (tensor<2x3xi64>, none) -> tensor<2x3xi64>
    %4 = "apc.non_zero"(%onoff) {expected = [dense<1> : tensor<1x1xi64>]} : (tensor<2xf32>) -> tensor<1x1xi64>
    %5:4 = "apc.unique"(%list) {sorted = 0 : i64, expected = [dense<[2, 1, 5]> : tensor<3xi64>, dense<[0, 1, 3]> : tensor<3xi64>, dense<[0, 1, 0, 2]> : tensor<4xi64>, dense<[2, 1, 1]> : tensor<3xi64>]} : (tensor<4xi64>) -> (tensor<3xi64>, tensor<3xi64>, tensor<4xi64>, tensor<3xi64>)
    return
  })");
}

TEST_CASE("Elements are made") {
  checkEvaluation(R"(func.func @f() {
    %shape = apc.constant dense<[2, 2]> : tensor<2xi64>
    %zero = apc.constant dense<0.0> : tensor<f32>
    %one = apc.constant dense<1.0> : tensor<f32>
    %third = apc.constant dense<0.4> : tensor<f32>
    %0 = "apc.constant_of_shape"(%shape) {value = dense<3> : tensor<1xi64>, expected = [dense<3> : tensor<2x2xi64>]} : (tensor<2xi64>) -> tensor<2x2xi64>
    %1 = "apc.range"(%zero, %one, %third) {expected = [dense<[0.0, 0.4, 0.8]> : tensor<3xf32>]} : (tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<3xf32>
    %2 = "apc.literal"() {value_floats = array<f32: 1.0, 2.5>, expected = [dense<[1.0, 2.5]> : tensor<2xf32>]} : () -> tensor<2xf32>
    %3 = "apc.eye_like"(%0) {k = -1 : i64, expected = [dense<[[0, 0], [1, 0]]> : tensor<2x2xi64>]} : (tensor<2x2xi64>) -> tensor<2x2xi64>
    return
  })");
}
