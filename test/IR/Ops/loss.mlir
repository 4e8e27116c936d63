// RUN: apc-opt %s --apc-print-rules | FileCheck %s
// Losses: batch and further dims are summed, classes are whole where one op takes a softmax, labels are whole where losses are added up.

func.func @losses(%scores: tensor<4x50x7xf32>, %labels: tensor<4x7xi64>, %weights: tensor<50xf32>, %dy: tensor<f32>, %flat: tensor<28x50xf32>,
                  %targets: tensor<28xi64>) {
  %none = apc.none
  // CHECK: apc.softmax_cross_entropy_loss: d0 d1, w2, _ -> , _ {d0=28 sum, d1=50 !, w2=28 !} flops=0.178571{{$}}
  %0:2 = "apc.softmax_cross_entropy_loss"(%flat, %targets, %none) {ignore_index = -100 : i64} : (tensor<28x50xf32>, tensor<28xi64>, none) -> (tensor<f32>, none)
  // CHECK: apc.softmax_cross_entropy_loss: d0 d1 d2, d0 d2, w3 -> d0 d2, d0 d1 d2 {d0=4, d1=50 !, d2=7, w3=50 !} flops=0.1{{$}}
  %1:2 = "apc.softmax_cross_entropy_loss"(%scores, %labels, %weights) {reduction = "none"} : (tensor<4x50x7xf32>, tensor<4x7xi64>, tensor<50xf32>) -> (tensor<4x7xf32>, tensor<4x50x7xf32>)
  // CHECK: apc.negative_log_likelihood_loss: d0 d1 d2, w3 w4, w5 ->  {d0=4 sum, d1=50 sum, d2=7 sum, w3=4 !, w4=7 !, w5=50 !} linear={0} flops=0.000714286{{$}}
  %2 = "apc.negative_log_likelihood_loss"(%scores, %labels, %weights) {reduction = "sum"} : (tensor<4x50x7xf32>, tensor<4x7xi64>, tensor<50xf32>) -> tensor<f32>
  // CHECK: apc.negative_log_likelihood_loss: d0 d1 d2, d0 d2, _ -> d0 d2 {d0=4, d1=50 sum, d2=7} linear={0} flops=1{{$}}
  %3 = "apc.negative_log_likelihood_loss"(%scores, %labels, %none) {reduction = "none"} : (tensor<4x50x7xf32>, tensor<4x7xi64>, none) -> tensor<4x7xf32>
  // CHECK: apc.softmax_cross_entropy_loss_grad: , d0 d1, w2, _, _ -> d0 d1 {d0=28, d1=50, w2=28 !} flops=0.178571{{$}}
  %4 = "apc.softmax_cross_entropy_loss_grad"(%dy, %flat, %targets, %none, %none) : (tensor<f32>, tensor<28x50xf32>, tensor<28xi64>, none, none) -> tensor<28x50xf32>
  return
}

func.func @optimizers(%r: tensor<f32>, %t: tensor<i64>, %x: tensor<6x4xf32>, %g: tensor<6x4xf32>, %h: tensor<6x4xf32>, %y: tensor<8xf32>) {
  // CHECK: apc.adagrad: , , d0 d1, d0 d1, d0 d1 -> d0 d1, d0 d1 {d0=6, d1=4} flops=10{{$}}
  %0:2 = "apc.adagrad"(%r, %t, %x, %g, %h) : (tensor<f32>, tensor<i64>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<6x4xf32>) -> (tensor<6x4xf32>, tensor<6x4xf32>)
  // CHECK: apc.adam: , , d0 d1, d0 d1, d0 d1, d0 d1 -> d0 d1, d0 d1, d0 d1 {d0=6, d1=4} flops=10{{$}}
  %1:3 = "apc.adam"(%r, %t, %x, %g, %h, %h) : (tensor<f32>, tensor<i64>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<6x4xf32>) -> (tensor<6x4xf32>, tensor<6x4xf32>, tensor<6x4xf32>)
  // CHECK: apc.momentum: , , d0 d1, d2, d0 d1, d2, d0 d1, d2 -> d0 d1, d2, d0 d1, d2 {d0=6, d1=4, d2=8} flops=1.66667{{$}}
  %2:4 = "apc.momentum"(%r, %t, %x, %y, %g, %y, %h, %y) {alpha = 0.9 : f32, beta = 0.1 : f32, mode = "nesterov", norm_coefficient = 0.0 : f32}
      : (tensor<f32>, tensor<i64>, tensor<6x4xf32>, tensor<8xf32>, tensor<6x4xf32>, tensor<8xf32>, tensor<6x4xf32>, tensor<8xf32>)
      -> (tensor<6x4xf32>, tensor<8xf32>, tensor<6x4xf32>, tensor<8xf32>)
  return
}

// A step of one parameter, whose states are cut as it is.
func.func @amsgrad(%x: tensor<6x4xbf16>, %h: tensor<6x4xf32>, %r: tensor<f32>, %t: tensor<i64>) {
  // CHECK: apc.amsgrad_update: b0 b1, b0 b1, b0 b1, b0 b1, b0 b1, b0 b1, , ,  -> b0 b1, b0 b1, b0 b1, b0 b1, b0 b1 {b0=6, b1=4} flops=17{{$}}
  %0:5 = "apc.amsgrad_update"(%x, %x, %h, %h, %h, %h, %r, %t, %r) {beta1 = 0.9 : f64, beta2 = 0.5 : f64, epsilon = 1.0e-8 : f64}
      : (tensor<6x4xbf16>, tensor<6x4xbf16>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<f32>, tensor<i64>, tensor<f32>)
      -> (tensor<6x4xbf16>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<6x4xf32>)
  return
}

// The softmax by way of its logarithmic sum: classes may be cut.
func.func @cross_entropy(%scores: tensor<4x50x7xf16>, %sums: tensor<4x1x7xf32>, %labels: tensor<4x7xi64>, %weights: tensor<50xf16>) {
  %none = apc.none
  %axes = apc.constant dense<1> : tensor<1xi64>
  // CHECK: apc.log_sum_exp: d0 d1 d2, w3 -> d0 1 d2 {d0=4, d1=50 log_sum_exp, d2=7, w3=1 !} flops=5{{$}}
  %0 = "apc.log_sum_exp"(%scores, %axes) : (tensor<4x50x7xf16>, tensor<1xi64>) -> tensor<4x1x7xf32>
  // CHECK: apc.cross_entropy: d0 d1 d2, d0 1 d2, w3 w4, w5 ->  {d0=4 sum, d1=50 sum, d2=7 sum, w3=4 !, w4=7 !, w5=50 !}{{$}}
  %1 = "apc.cross_entropy"(%scores, %sums, %labels, %weights) : (tensor<4x50x7xf16>, tensor<4x1x7xf32>, tensor<4x7xi64>, tensor<50xf16>) -> tensor<f16>
  // CHECK: apc.cross_entropy: d0 d1 d2, d0 1 d2, d0 d2, _ -> d0 d2 {d0=4, d1=50 sum, d2=7}{{$}}
  %2 = "apc.cross_entropy"(%scores, %sums, %labels, %none) {reduction = "none"} : (tensor<4x50x7xf16>, tensor<4x1x7xf32>, tensor<4x7xi64>, none) -> tensor<4x7xf16>
  return
}

// Classes behind the dims of the labels, which may be cut, too.
func.func @last_classes(%scores: tensor<4x7x50xf16>, %sums: tensor<4x7x1xf32>, %labels: tensor<4x7xi64>) {
  %none = apc.none
  // CHECK: apc.cross_entropy: d0 d1 d2, d0 d1 1, d0 d1, _ -> d0 d1 {d0=4, d1=7, d2=50 sum}{{$}}
  %0 = "apc.cross_entropy"(%scores, %sums, %labels, %none) {axis = 2 : i64, reduction = "none"} : (tensor<4x7x50xf16>, tensor<4x7x1xf32>, tensor<4x7xi64>, none) -> tensor<4x7xf16>
  return
}

func.func @loss_gradients(%scores: tensor<4x50x7xf32>, %sums: tensor<4x1x7xf32>, %labels: tensor<4x7xi64>, %weights: tensor<50xf32>, %dy: tensor<f32>,
                          %rows: tensor<4x7xf32>) {
  %none = apc.none
  // CHECK: apc.cross_entropy_grad: , d0 d1 d2, d0 1 d2, w3 w4, w5 -> d0 d1 d2 {d0=4, d1=50, d2=7, w3=4 !, w4=7 !, w5=50 !} linear={0} flops=0.00285714{{$}}
  %0 = "apc.cross_entropy_grad"(%dy, %scores, %sums, %labels, %weights) {ignore_index = -100 : i64}
      : (tensor<f32>, tensor<4x50x7xf32>, tensor<4x1x7xf32>, tensor<4x7xi64>, tensor<50xf32>) -> tensor<4x50x7xf32>
  // CHECK: apc.cross_entropy_grad: d0 d2, d0 d1 d2, d0 1 d2, d0 d2, _ -> d0 d1 d2 {d0=4, d2=7, d1=50} linear={0} flops=4{{$}}
  %1 = "apc.cross_entropy_grad"(%rows, %scores, %sums, %labels, %none) {reduction = "none"}
      : (tensor<4x7xf32>, tensor<4x50x7xf32>, tensor<4x1x7xf32>, tensor<4x7xi64>, none) -> tensor<4x50x7xf32>
  // CHECK: apc.negative_log_likelihood_grad: , d0 d1 d2, w3 w4, _ -> d0 d1 d2 {d0=4, d1=50, d2=7, w3=4 !, w4=7 !} linear={0} flops=0.0357143{{$}}
  %2 = "apc.negative_log_likelihood_grad"(%dy, %scores, %labels, %none) {reduction = "sum"} : (tensor<f32>, tensor<4x50x7xf32>, tensor<4x7xi64>, none) -> tensor<4x50x7xf32>
  return
}
