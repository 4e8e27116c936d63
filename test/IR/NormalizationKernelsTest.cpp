// Normalisations and softmax are computed as ONNX says, on whole tensors.
#include "CheckKernels.h"

TEST_CASE("Softmax takes one dim, or before opset 13 all dims from the axis on") {
  checkEvaluation(R"(func.func @f() {
    %a = apc.constant dense<[[[0.0, 0.0], [0.0, 0.0]]]> : tensor<1x2x2xf32>
    %b = apc.constant dense<[[1.0, 3.0, 3.0], [9.0, 0.0, 2.0]]> : tensor<2x3xf32>
    %big = apc.constant dense<[[1000.0, 1000.0]]> : tensor<1x2xf32>
    %0 = "apc.softmax"(%a) {expected = [dense<0.5> : tensor<1x2x2xf32>]} : (tensor<1x2x2xf32>) -> tensor<1x2x2xf32>
    %1 = "apc.softmax"(%a) {opset_version = 11 : i64, expected = [dense<0.25> : tensor<1x2x2xf32>]} : (tensor<1x2x2xf32>) -> tensor<1x2x2xf32>
    %2 = "apc.hardmax"(%b) {expected = [dense<[[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]> : tensor<2x3xf32>]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %3 = "apc.hardmax"(%b) {axis = 0 : i64, expected = [dense<[[0.0, 1.0, 1.0], [1.0, 0.0, 0.0]]> : tensor<2x3xf32>]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %4 = "apc.log_softmax"(%big) {expected = [dense<-0.693147182> : tensor<1x2xf32>]} : (tensor<1x2xf32>) -> tensor<1x2xf32>
    return
  })");
}

TEST_CASE("Layers are centred and scaled over their last dims") {
  // Rows 1, 3 (mean 2, deviation 1) and 0, 8 (mean 4, deviation 4).
  checkEvaluation(R"(func.func @f() {
    %none = apc.none
    %x = apc.constant dense<[[1.0, 3.0], [0.0, 8.0]]> : tensor<2x2xf32>
    %scale = apc.constant dense<[2.0, 4.0]> : tensor<2xf32>
    %bias = apc.constant dense<[10.0, 20.0]> : tensor<2xf32>
    %y = apc.constant dense<[[3.0, 4.0]]> : tensor<1x2xf32>
    %p = apc.constant dense<[1.0, 1.0]> : tensor<2xf32>
    %0:3 = "apc.layer_normalization"(%x, %scale, %bias) {epsilon = 0.0 : f32, expected = [dense<[[8.0, 24.0], [8.0, 24.0]]> : tensor<2x2xf32>, dense<[[2.0], [4.0]]> : tensor<2x1xf32>, dense<[[1.0], [0.25]]> : tensor<2x1xf32>]} : (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2x2xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
    // The mean square of 3, 4 is 12.5; with 3.5 added its root is 4.
    %1 = "apc.rms_normalization"(%y, %scale) {epsilon = 3.5 : f32, expected = [dense<[[1.5, 4.0]]> : tensor<1x2xf32>]} : (tensor<1x2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
    %2:2 = "apc.simplified_layer_normalization"(%y, %scale) {epsilon = 3.5 : f32, expected = [dense<[[1.5, 4.0]]> : tensor<1x2xf32>, dense<0.25> : tensor<1x1xf32>]} : (tensor<1x2xf32>, tensor<2xf32>) -> (tensor<1x2xf32>, tensor<1x1xf32>)
    %3:4 = "apc.skip_layer_normalization"(%x, %x, %p, %none, %bias) {epsilon = 0.0 : f32, expected = [dense<[[-1.0, 1.0], [-1.0, 1.0]]> : tensor<2x2xf32>, dense<[[19.0], [23.0]]> : tensor<2x1xf32>, dense<[[0.142857149], [0.0769230798]]> : tensor<2x1xf32>, dense<[[12.0, 26.0], [10.0, 36.0]]> : tensor<2x2xf32>]} : (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2xf32>, none, tensor<2xf32>) -> (tensor<2x2xf32>, tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x2xf32>)
    return
  })");
}

TEST_CASE("Batches, instances and groups are normalised by channel") {
  checkEvaluation(R"(func.func @f() {
    %x = apc.constant dense<[[[1.0, 3.0], [0.0, 8.0]]]> : tensor<1x2x2xf32>
    %scale = apc.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %bias = apc.constant dense<[0.0, 10.0]> : tensor<2xf32>
    %mean = apc.constant dense<[1.0, 0.0]> : tensor<2xf32>
    %var = apc.constant dense<[4.0, 1.0]> : tensor<2xf32>
    %one = apc.constant dense<[2.0]> : tensor<1xf32>
    %g = apc.constant dense<[[[1.0], [3.0], [0.0], [8.0]]]> : tensor<1x4x1xf32>
    %gs = apc.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
    %gb = apc.constant dense<[0.0, 10.0, 20.0, 30.0]> : tensor<4xf32>
    %n, %na, %nb, %nc, %nd = "apc.batch_normalization"(%x, %scale, %bias, %mean, %var) {epsilon = 0.0 : f32, expected = [dense<[[[0.0, 1.0], [10.0, 26.0]]]> : tensor<1x2x2xf32>, unit, unit, unit, unit]} : (tensor<1x2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<1x2x2xf32>, none, none, none, none)
    %t, %ta, %tb, %tc, %td = "apc.batch_normalization"(%x, %scale, %bias, %mean, %var) {epsilon = 0.0 : f32, training_mode = 1 : i64, momentum = 0.5 : f32, expected = [dense<[[[-1.0, 1.0], [8.0, 12.0]]]> : tensor<1x2x2xf32>, dense<[1.5, 2.0]> : tensor<2xf32>, dense<[2.5, 8.5]> : tensor<2xf32>, dense<[2.0, 4.0]> : tensor<2xf32>, dense<[1.0, 16.0]> : tensor<2xf32>]} : (tensor<1x2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<1x2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>)
    %i = "apc.instance_normalization"(%x, %scale, %bias) {epsilon = 0.0 : f32, expected = [dense<[[[-1.0, 1.0], [8.0, 12.0]]]> : tensor<1x2x2xf32>]} : (tensor<1x2x2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x2xf32>
    %g1 = "apc.group_normalization"(%g, %gs, %gb) {epsilon = 0.0 : f32, num_groups = 2 : i64, expected = [dense<[[[-1.0], [12.0], [17.0], [34.0]]]> : tensor<1x4x1xf32>]} : (tensor<1x4x1xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<1x4x1xf32>
    %g2 = "apc.group_normalization"(%g, %scale, %bias) {epsilon = 0.0 : f32, num_groups = 2 : i64, expected = [dense<[[[-1.0], [1.0], [8.0], [12.0]]]> : tensor<1x4x1xf32>]} : (tensor<1x4x1xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x4x1xf32>
    return
  })");
}

TEST_CASE("Norms, neighbouring channels and embeddings") {
  checkEvaluation(R"(func.func @f() {
    %none = apc.none
    %x = apc.constant dense<[[3.0, 4.0], [0.0, 0.0]]> : tensor<2x2xf32>
    %c = apc.constant dense<[[[1.0], [2.0], [3.0]]]> : tensor<1x3x1xf32>
    %ids = apc.constant dense<[[1, 0]]> : tensor<1x2xi32>
    %mask = apc.constant dense<[[1, 0]]> : tensor<1x2xi32>
    %words = apc.constant dense<[[1.0, 7.0], [0.0, 1.0]]> : tensor<2x2xf32>
    %places = apc.constant dense<[[1.0, 2.0], [1.0, 1.0], [9.0, 9.0]]> : tensor<3x2xf32>
    %gamma = apc.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %beta = apc.constant dense<[0.0, 10.0]> : tensor<2xf32>
    %0 = "apc.lp_normalization"(%x) {expected = [dense<[[0.6, 0.8], [0.0, 0.0]]> : tensor<2x2xf32>]} : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %1 = "apc.lp_normalization"(%x) {axis = 0 : i64, p = 1 : i64, expected = [dense<[[1.0, 1.0], [0.0, 0.0]]> : tensor<2x2xf32>]} : (tensor<2x2xf32>) -> tensor<2x2xf32>
    // Channel 1 is divided by 1 + (2 / 2) (4 + 9): the two neighbours are the channel itself and the next.
    %2 = "apc.lrn"(%c) {size = 2 : i64, alpha = 2.0 : f32, beta = 1.0 : f32, expected = [dense<[[[0.166666672], [0.142857149], [0.3]]]> : tensor<1x3x1xf32>]} : (tensor<1x3x1xf32>) -> tensor<1x3x1xf32>
    %3 = "apc.mean_variance_normalization"(%x) {axes = array<i64: 1>, expected = [dense<[[-1.0, 1.0], [0.0, 0.0]]> : tensor<2x2xf32>]} : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %4:3 = "apc.embed_layer_normalization"(%ids, %none, %words, %places, %none, %gamma, %beta, %mask, %none) {epsilon = 0.0 : f32, expected = [dense<[[[-1.0, 12.0], [-1.0, 12.0]]]> : tensor<1x2x2xf32>, dense<1> : tensor<1xi32>, dense<[[[1.0, 3.0], [2.0, 8.0]]]> : tensor<1x2x2xf32>]} : (tensor<1x2xi32>, none, tensor<2x2xf32>, tensor<3x2xf32>, none, tensor<2xf32>, tensor<2xf32>, tensor<1x2xi32>, none) -> (tensor<1x2x2xf32>, tensor<1xi32>, tensor<1x2x2xf32>)
    return
  })");
}
