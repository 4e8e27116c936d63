// Selections whose number of results is bound: what is beyond is cut off, what is missing is zero.
#include "CheckKernels.h"

TEST_CASE("bounded selections cut off results and fill up with zeros") {
  checkEvaluation(R"mlir(
    %x = apc.constant dense<[[0, 3], [5, 7]]> : tensor<2x2xi64>
    %c = apc.constant dense<[false, true, true]> : tensor<3xi1>
    %rows = apc.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
    %less = "apc.non_zero"(%x) {bound = 2 : i64, expected = [dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>]} : (tensor<2x2xi64>) -> tensor<2x2xi64>
    %more = "apc.non_zero"(%x) {bound = 4 : i64, expected = [dense<[[0, 1, 1, 0], [1, 0, 1, 0]]> : tensor<2x4xi64>]} : (tensor<2x2xi64>) -> tensor<2x4xi64>
    %wide = "apc.compress"(%rows, %c) {axis = 1 : i64, bound = 3 : i64, expected = [dense<[[2.0, 3.0, 0.0], [5.0, 6.0, 0.0]]> : tensor<2x3xf32>]} : (tensor<2x3xf32>, tensor<3xi1>) -> tensor<2x3xf32>
    %narrow = "apc.compress"(%rows, %c) {axis = -1 : i64, bound = 1 : i64, expected = [dense<[[2.0], [5.0]]> : tensor<2x1xf32>]} : (tensor<2x3xf32>, tensor<3xi1>) -> tensor<2x1xf32>
  )mlir");
}

TEST_CASE("bounded distinct elements keep their inverse whole") {
  checkEvaluation(R"mlir(
    %x = apc.constant dense<[2, 1, 2, 5]> : tensor<4xi64>
    %y:4 = "apc.unique"(%x) {bound = 4 : i64, expected = [dense<[1, 2, 5, 0]> : tensor<4xi64>, dense<[1, 0, 3, 0]> : tensor<4xi64>, dense<[1, 0, 1, 2]> : tensor<4xi64>, dense<[1, 2, 1, 0]> : tensor<4xi64>]} : (tensor<4xi64>) -> (tensor<4xi64>, tensor<4xi64>, tensor<4xi64>, tensor<4xi64>)
  )mlir");
}

TEST_CASE("a bounded range goes on by its step") {
  checkEvaluation(R"mlir(
    %start = apc.constant dense<10> : tensor<i64>
    %limit = apc.constant dense<12> : tensor<i64>
    %step = apc.constant dense<-4> : tensor<i64>
    %y = "apc.range"(%start, %limit, %step) {bound = 3 : i64, expected = [dense<[10, 6, 2]> : tensor<3xi64>]} : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<3xi64>
  )mlir");
}

TEST_CASE("bounded boxes are the best ones") {
  checkEvaluation(R"mlir(
    %none = apc.none
    %boxes = apc.constant dense<[[[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 0.9], [5.0, 5.0, 6.0, 6.0]]]> : tensor<1x3x4xf32>
    %scores = apc.constant dense<[[[0.5, 0.9, 0.7]]]> : tensor<1x1x3xf32>
    %most = apc.constant dense<3> : tensor<i64>
    %overlap = apc.constant dense<0.5> : tensor<f32>
    %y = "apc.non_max_suppression"(%boxes, %scores, %most, %overlap, %none) {bound = 3 : i64, expected = [dense<[[0, 0, 1], [0, 0, 2], [0, 0, 0]]> : tensor<3x3xi64>]} : (tensor<1x3x4xf32>, tensor<1x1x3xf32>, tensor<i64>, tensor<f32>, none) -> tensor<3x3xi64>
  )mlir");
}
