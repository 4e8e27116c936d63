// RUN: apc-opt %s --apc-print-rules | FileCheck %s
// Reductions: a reduced dim is combined, or whole where the sum is transformed afterwards.

func.func @reduce(%x: tensor<4x6x8xf32>) {
  %none = apc.none
  %axes = apc.constant dense<[-1, 0]> : tensor<2xi64>
  %empty = apc.constant dense<> : tensor<0xi64>
  // CHECK: apc.reduce_sum: d0 d1 d2, w3 -> 1 d1 1 {d0=4 sum, d1=6, d2=8 sum, w3=2 !} linear={0} flops=0.5{{$}}
  %0 = "apc.reduce_sum"(%x, %axes) : (tensor<4x6x8xf32>, tensor<2xi64>) -> tensor<1x6x1xf32>
  // CHECK: apc.reduce_mean: d0 d1 d2, w3 -> d1 {d0=4 sum, d1=6, d2=8 sum, w3=2 !} linear={0} flops=0.5{{$}}
  %1 = "apc.reduce_mean"(%x, %axes) {keepdims = 0 : i64} : (tensor<4x6x8xf32>, tensor<2xi64>) -> tensor<6xf32>
  // CHECK: apc.reduce_prod: d0 d1 d2, _ -> 1 1 1 {d0=4 product, d1=6 product, d2=8 product} flops=1{{$}}
  %2 = "apc.reduce_prod"(%x, %none) : (tensor<4x6x8xf32>, none) -> tensor<1x1x1xf32>
  // CHECK: apc.reduce_max: d0 d1 d2, _ ->  {d0=4 max, d1=6 max, d2=8 max} flops=1{{$}}
  %3 = "apc.reduce_max"(%x, %none) {keepdims = 0 : i64} : (tensor<4x6x8xf32>, none) -> tensor<f32>
  // CHECK: apc.reduce_min: d0 d1 d2, w3 -> 1 d1 1 {d0=4 min, d1=6, d2=8 min, w3=2 !} flops=0.5{{$}}
  %4 = "apc.reduce_min"(%x, %axes) : (tensor<4x6x8xf32>, tensor<2xi64>) -> tensor<1x6x1xf32>
  // CHECK: apc.reduce_l1: d0 d1 d2, w3 -> 1 d1 1 {d0=4 sum, d1=6, d2=8 sum, w3=2 !} flops=1{{$}}
  %5 = "apc.reduce_l1"(%x, %axes) : (tensor<4x6x8xf32>, tensor<2xi64>) -> tensor<1x6x1xf32>
  // CHECK: apc.reduce_sum_square: d0 d1 d2, w3 -> 1 d1 1 {d0=4 sum, d1=6, d2=8 sum, w3=2 !} flops=1{{$}}
  %6 = "apc.reduce_sum_square"(%x, %axes) : (tensor<4x6x8xf32>, tensor<2xi64>) -> tensor<1x6x1xf32>
  // CHECK: apc.reduce_l2: d0 d1 d2, w3 -> 1 d1 1 {d0=4 !, d1=6, d2=8 !, w3=2 !} flops=1{{$}}
  %7 = "apc.reduce_l2"(%x, %axes) : (tensor<4x6x8xf32>, tensor<2xi64>) -> tensor<1x6x1xf32>
  // CHECK: apc.reduce_log_sum: d0 d1 d2, w3 -> 1 d1 1 {d0=4 !, d1=6, d2=8 !, w3=2 !} flops=0.5{{$}}
  %8 = "apc.reduce_log_sum"(%x, %axes) : (tensor<4x6x8xf32>, tensor<2xi64>) -> tensor<1x6x1xf32>
  // CHECK: apc.reduce_log_sum_exp: d0 d1 d2, w3 -> 1 d1 1 {d0=4 log_sum_exp, d1=6, d2=8 log_sum_exp, w3=2 !} flops=2.5{{$}}
  %9 = "apc.reduce_log_sum_exp"(%x, %axes) : (tensor<4x6x8xf32>, tensor<2xi64>) -> tensor<1x6x1xf32>
  // CHECK: apc.reduce_sum: d0 d1 d2, w3 -> d0 d1 d2 {d0=4, d1=6, d2=8, w3=0 !} linear={0} flops=1{{$}}
  %10 = "apc.reduce_sum"(%x, %empty) {noop_with_empty_axes = 1 : i64} : (tensor<4x6x8xf32>, tensor<0xi64>) -> tensor<4x6x8xf32>
  return
}

func.func @along(%x: tensor<4x6x8xf32>, %axis: tensor<i64>) {
  %k = apc.constant dense<2> : tensor<1xi64>
  %last = apc.constant dense<-1> : tensor<i64>
  // CHECK: apc.arg_max: d0 d1 d2 -> d0 1 d2 {d0=4, d1=6 !, d2=8} flops=1{{$}}
  %0 = "apc.arg_max"(%x) {axis = 1 : i64} : (tensor<4x6x8xf32>) -> tensor<4x1x8xi64>
  // CHECK: apc.arg_min: d0 d1 d2 -> d0 d1 {d0=4, d1=6, d2=8 !} flops=1{{$}}
  %1 = "apc.arg_min"(%x) {axis = -1 : i64, keepdims = 0 : i64} : (tensor<4x6x8xf32>) -> tensor<4x6xi64>
  // CHECK: apc.top_k: d0 d1 w0, w2 -> d0 d1 w1, d0 d1 w1 {d0=4, d1=6, w0=8 !, w1=2 !, w2=1 !} flops=0.5{{$}}
  %2:2 = "apc.top_k"(%x, %k) : (tensor<4x6x8xf32>, tensor<1xi64>) -> (tensor<4x6x2xf32>, tensor<4x6x2xi64>)
  // CHECK: apc.cum_sum: d0 d1 d2,  -> d0 d1 d2 {d0=4, d1=6, d2=8 !} linear={0} flops=1{{$}}
  %3 = "apc.cum_sum"(%x, %last) : (tensor<4x6x8xf32>, tensor<i64>) -> tensor<4x6x8xf32>
  // CHECK: apc.cum_prod: d0 d1 d2,  -> d0 d1 d2 {d0=4 !, d1=6 !, d2=8 !} flops=1{{$}}
  %4 = "apc.cum_prod"(%x, %axis) : (tensor<4x6x8xf32>, tensor<i64>) -> tensor<4x6x8xf32>
  return
}
