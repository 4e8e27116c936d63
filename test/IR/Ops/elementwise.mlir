// RUN: apc-opt %s --apc-print-rules | FileCheck %s
// Elementwise operators: all dims parallel, broadcasting dims without a factor.

func.func @unary(%x: tensor<2x3xf32>) {
  %none = apc.none
  // CHECK: apc.abs: b0 b1 -> b0 b1 {b0=2, b1=3} flops=1{{$}}
  %0 = "apc.abs"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: apc.neg: b0 b1 -> b0 b1 {b0=2, b1=3} linear={0} flops=1{{$}}
  %1 = "apc.neg"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: apc.sign: b0 b1 -> b0 b1 {b0=2, b1=3} flops=1{{$}}
  %2 = "apc.sign"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: apc.ceil: b0 b1 -> b0 b1 {b0=2, b1=3} flops=1{{$}}
  %3 = "apc.ceil"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: apc.floor: b0 b1 -> b0 b1 {b0=2, b1=3} flops=1{{$}}
  %4 = "apc.floor"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: apc.round: b0 b1 -> b0 b1 {b0=2, b1=3} flops=1{{$}}
  %5 = "apc.round"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: apc.reciprocal: b0 b1 -> b0 b1 {b0=2, b1=3} flops=1{{$}}
  %6 = "apc.reciprocal"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: apc.sqrt: b0 b1 -> b0 b1 {b0=2, b1=3} flops=1{{$}}
  %7 = "apc.sqrt"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: apc.exp: b0 b1 -> b0 b1 {b0=2, b1=3} flops=4{{$}}
  %8 = "apc.exp"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: apc.log: b0 b1 -> b0 b1 {b0=2, b1=3} flops=4{{$}}
  %9 = "apc.log"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: apc.erf: b0 b1 -> b0 b1 {b0=2, b1=3} flops=4{{$}}
  %10 = "apc.erf"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: apc.sin: b0 b1 -> b0 b1 {b0=2, b1=3} flops=4{{$}}
  %11 = "apc.sin"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: apc.cos: b0 b1 -> b0 b1 {b0=2, b1=3} flops=4{{$}}
  %12 = "apc.cos"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: apc.tan: b0 b1 -> b0 b1 {b0=2, b1=3} flops=4{{$}}
  %13 = "apc.tan"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: apc.asin: b0 b1 -> b0 b1 {b0=2, b1=3} flops=4{{$}}
  %14 = "apc.asin"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: apc.acos: b0 b1 -> b0 b1 {b0=2, b1=3} flops=4{{$}}
  %15 = "apc.acos"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: apc.atan: b0 b1 -> b0 b1 {b0=2, b1=3} flops=4{{$}}
  %16 = "apc.atan"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: apc.sinh: b0 b1 -> b0 b1 {b0=2, b1=3} flops=4{{$}}
  %17 = "apc.sinh"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: apc.cosh: b0 b1 -> b0 b1 {b0=2, b1=3} flops=4{{$}}
  %18 = "apc.cosh"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: apc.tanh: b0 b1 -> b0 b1 {b0=2, b1=3} flops=4{{$}}
  %19 = "apc.tanh"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: apc.asinh: b0 b1 -> b0 b1 {b0=2, b1=3} flops=4{{$}}
  %20 = "apc.asinh"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: apc.acosh: b0 b1 -> b0 b1 {b0=2, b1=3} flops=4{{$}}
  %21 = "apc.acosh"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: apc.atanh: b0 b1 -> b0 b1 {b0=2, b1=3} flops=4{{$}}
  %22 = "apc.atanh"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: apc.sigmoid: b0 b1 -> b0 b1 {b0=2, b1=3} flops=4{{$}}
  %23 = "apc.sigmoid"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: apc.softplus: b0 b1 -> b0 b1 {b0=2, b1=3} flops=8{{$}}
  %24 = "apc.softplus"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: apc.softsign: b0 b1 -> b0 b1 {b0=2, b1=3} flops=2{{$}}
  %25 = "apc.softsign"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: apc.mish: b0 b1 -> b0 b1 {b0=2, b1=3} flops=8{{$}}
  %26 = "apc.mish"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: apc.hard_swish: b0 b1 -> b0 b1 {b0=2, b1=3} flops=4{{$}}
  %27 = "apc.hard_swish"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: apc.relu: b0 b1 -> b0 b1 {b0=2, b1=3} flops=1{{$}}
  %28 = "apc.relu"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: apc.elu: b0 b1 -> b0 b1 {b0=2, b1=3} flops=4{{$}}
  %29 = "apc.elu"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: apc.celu: b0 b1 -> b0 b1 {b0=2, b1=3} flops=4{{$}}
  %30 = "apc.celu"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: apc.selu: b0 b1 -> b0 b1 {b0=2, b1=3} flops=4{{$}}
  %31 = "apc.selu"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: apc.leaky_relu: b0 b1 -> b0 b1 {b0=2, b1=3} flops=1{{$}}
  %32 = "apc.leaky_relu"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: apc.thresholded_relu: b0 b1 -> b0 b1 {b0=2, b1=3} flops=1{{$}}
  %33 = "apc.thresholded_relu"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: apc.binarizer: b0 b1 -> b0 b1 {b0=2, b1=3} flops=1{{$}}
  %binarizer = "apc.binarizer"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: apc.probit: b0 b1 -> b0 b1 {b0=2, b1=3} flops=16{{$}}
  %probit = "apc.probit"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: apc.hard_sigmoid: b0 b1 -> b0 b1 {b0=2, b1=3} flops=4{{$}}
  %34 = "apc.hard_sigmoid"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: apc.shrink: b0 b1 -> b0 b1 {b0=2, b1=3} flops=1{{$}}
  %35 = "apc.shrink"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: apc.gelu: b0 b1 -> b0 b1 {b0=2, b1=3} flops=8{{$}}
  %36 = "apc.gelu"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: apc.swish: b0 b1 -> b0 b1 {b0=2, b1=3} flops=4{{$}}
  %37 = "apc.swish"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: apc.quick_gelu: b0 b1 -> b0 b1 {b0=2, b1=3} flops=8{{$}}
  %38 = "apc.quick_gelu"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: apc.fast_gelu: b0 k, _ -> b0 k {b0=2, k=3} flops=8{{$}}
  %39 = "apc.fast_gelu"(%x, %none) : (tensor<2x3xf32>, none) -> tensor<2x3xf32>
  return
}

func.func @tests(%x: tensor<2x3xf32>, %b: tensor<2x3xi1>, %i: tensor<2x3xi32>) {
  // CHECK: apc.isnan: b0 b1 -> b0 b1 {b0=2, b1=3} flops=1{{$}}
  %0 = "apc.isnan"(%x) : (tensor<2x3xf32>) -> tensor<2x3xi1>
  // CHECK: apc.isinf: b0 b1 -> b0 b1 {b0=2, b1=3} flops=1{{$}}
  %1 = "apc.isinf"(%x) {detect_negative = 0 : i64} : (tensor<2x3xf32>) -> tensor<2x3xi1>
  // CHECK: apc.not: b0 b1 -> b0 b1 {b0=2, b1=3} flops=1{{$}}
  %2 = "apc.not"(%b) : (tensor<2x3xi1>) -> tensor<2x3xi1>
  // CHECK: apc.bitwise_not: b0 b1 -> b0 b1 {b0=2, b1=3} flops=1{{$}}
  %3 = "apc.bitwise_not"(%i) : (tensor<2x3xi32>) -> tensor<2x3xi32>
  return
}

func.func @binary(%x: tensor<4x2x3xf32>, %y: tensor<2x1xf32>, %b: tensor<2x3xi1>, %i: tensor<2x3xui8>) {
  // CHECK: apc.add: b0 b1 b2, b1 1 -> b0 b1 b2 {b0=4, b1=2, b2=3} linear={0 1} flops=1{{$}}
  %0 = "apc.add"(%x, %y) : (tensor<4x2x3xf32>, tensor<2x1xf32>) -> tensor<4x2x3xf32>
  // CHECK: apc.sub: b0 b1 b2, b1 1 -> b0 b1 b2 {b0=4, b1=2, b2=3} linear={0 1} flops=1{{$}}
  %1 = "apc.sub"(%x, %y) : (tensor<4x2x3xf32>, tensor<2x1xf32>) -> tensor<4x2x3xf32>
  // CHECK: apc.mul: b0 b1 b2, b1 1 -> b0 b1 b2 {b0=4, b1=2, b2=3} linear={0|1} flops=1{{$}}
  %2 = "apc.mul"(%x, %y) : (tensor<4x2x3xf32>, tensor<2x1xf32>) -> tensor<4x2x3xf32>
  // CHECK: apc.div: b0 b1 b2, b1 1 -> b0 b1 b2 {b0=4, b1=2, b2=3} linear={0} flops=1{{$}}
  %3 = "apc.div"(%x, %y) : (tensor<4x2x3xf32>, tensor<2x1xf32>) -> tensor<4x2x3xf32>
  // CHECK: apc.pow: b0 b1 b2, b1 1 -> b0 b1 b2 {b0=4, b1=2, b2=3} flops=4{{$}}
  %4 = "apc.pow"(%x, %y) : (tensor<4x2x3xf32>, tensor<2x1xf32>) -> tensor<4x2x3xf32>
  // CHECK: apc.mod: b0 b1 b2, b1 1 -> b0 b1 b2 {b0=4, b1=2, b2=3} flops=1{{$}}
  %5 = "apc.mod"(%x, %y) : (tensor<4x2x3xf32>, tensor<2x1xf32>) -> tensor<4x2x3xf32>
  // CHECK: apc.prelu: b0 b1 b2, b1 1 -> b0 b1 b2 {b0=4, b1=2, b2=3} flops=1{{$}}
  %6 = "apc.prelu"(%x, %y) : (tensor<4x2x3xf32>, tensor<2x1xf32>) -> tensor<4x2x3xf32>
  // CHECK: apc.relu_grad: b0 b1 b2, b1 1 -> b0 b1 b2 {b0=4, b1=2, b2=3} linear={0} flops=1{{$}}
  %7 = "apc.relu_grad"(%x, %y) : (tensor<4x2x3xf32>, tensor<2x1xf32>) -> tensor<4x2x3xf32>
  // CHECK: apc.equal: b0 b1 b2, b1 1 -> b0 b1 b2 {b0=4, b1=2, b2=3} flops=1{{$}}
  %8 = "apc.equal"(%x, %y) : (tensor<4x2x3xf32>, tensor<2x1xf32>) -> tensor<4x2x3xi1>
  // CHECK: apc.less: b0 b1 b2, b1 1 -> b0 b1 b2 {b0=4, b1=2, b2=3} flops=1{{$}}
  %9 = "apc.less"(%x, %y) : (tensor<4x2x3xf32>, tensor<2x1xf32>) -> tensor<4x2x3xi1>
  // CHECK: apc.less_or_equal: b0 b1 b2, b1 1 -> b0 b1 b2 {b0=4, b1=2, b2=3} flops=1{{$}}
  %10 = "apc.less_or_equal"(%x, %y) : (tensor<4x2x3xf32>, tensor<2x1xf32>) -> tensor<4x2x3xi1>
  // CHECK: apc.greater: b0 b1 b2, b1 1 -> b0 b1 b2 {b0=4, b1=2, b2=3} flops=1{{$}}
  %11 = "apc.greater"(%x, %y) : (tensor<4x2x3xf32>, tensor<2x1xf32>) -> tensor<4x2x3xi1>
  // CHECK: apc.greater_or_equal: b0 b1 b2, b1 1 -> b0 b1 b2 {b0=4, b1=2, b2=3} flops=1{{$}}
  %12 = "apc.greater_or_equal"(%x, %y) : (tensor<4x2x3xf32>, tensor<2x1xf32>) -> tensor<4x2x3xi1>
  // CHECK: apc.and: b0 b1, b0 b1 -> b0 b1 {b0=2, b1=3} flops=1{{$}}
  %13 = "apc.and"(%b, %b) : (tensor<2x3xi1>, tensor<2x3xi1>) -> tensor<2x3xi1>
  // CHECK: apc.or: b0 b1, b0 b1 -> b0 b1 {b0=2, b1=3} flops=1{{$}}
  %14 = "apc.or"(%b, %b) : (tensor<2x3xi1>, tensor<2x3xi1>) -> tensor<2x3xi1>
  // CHECK: apc.xor: b0 b1, b0 b1 -> b0 b1 {b0=2, b1=3} flops=1{{$}}
  %15 = "apc.xor"(%b, %b) : (tensor<2x3xi1>, tensor<2x3xi1>) -> tensor<2x3xi1>
  // CHECK: apc.bitwise_and: b0 b1, b0 b1 -> b0 b1 {b0=2, b1=3} flops=1{{$}}
  %16 = "apc.bitwise_and"(%i, %i) : (tensor<2x3xui8>, tensor<2x3xui8>) -> tensor<2x3xui8>
  // CHECK: apc.bitwise_or: b0 b1, b0 b1 -> b0 b1 {b0=2, b1=3} flops=1{{$}}
  %17 = "apc.bitwise_or"(%i, %i) : (tensor<2x3xui8>, tensor<2x3xui8>) -> tensor<2x3xui8>
  // CHECK: apc.bitwise_xor: b0 b1, b0 b1 -> b0 b1 {b0=2, b1=3} flops=1{{$}}
  %18 = "apc.bitwise_xor"(%i, %i) : (tensor<2x3xui8>, tensor<2x3xui8>) -> tensor<2x3xui8>
  // CHECK: apc.bit_shift: b0 b1, b0 b1 -> b0 b1 {b0=2, b1=3} flops=1{{$}}
  %19 = "apc.bit_shift"(%i, %i) {direction = "LEFT"} : (tensor<2x3xui8>, tensor<2x3xui8>) -> tensor<2x3xui8>
  return
}

func.func @old_broadcast(%x: tensor<2x3x4x5xf32>, %y: tensor<3x4xf32>, %u: tensor<1x4xf32>, %slope: tensor<3xf32>) {
  // CHECK: apc.add: a0 a1 a2 a3, a1 a2 -> a0 a1 a2 a3 {a0=2, a1=3, a2=4, a3=5} linear={0 1} flops=1{{$}}
  %0 = "apc.add"(%x, %y) {axis = 1 : i64, broadcast = 1 : i64} : (tensor<2x3x4x5xf32>, tensor<3x4xf32>) -> tensor<2x3x4x5xf32>
  // CHECK: apc.mul: a0 a1 a2 a3, 1 a2 -> a0 a1 a2 a3 {a0=2, a1=3, a2=4, a3=5} linear={0|1} flops=1{{$}}
  %1 = "apc.mul"(%x, %u) {axis = 1 : i64, broadcast = 1 : i64} : (tensor<2x3x4x5xf32>, tensor<1x4xf32>) -> tensor<2x3x4x5xf32>
  // CHECK: apc.prelu: a0 a1 a2 a3, a1 -> a0 a1 a2 a3 {a0=2, a1=3, a2=4, a3=5} flops=1{{$}}
  %2 = "apc.prelu"(%x, %slope) {opset_version = 6 : i64} : (tensor<2x3x4x5xf32>, tensor<3xf32>) -> tensor<2x3x4x5xf32>
  return
}

func.func @others(%x: tensor<4x2x3xf32>, %y: tensor<2x1xf32>, %s: tensor<f32>, %c: tensor<3xi1>, %k: tensor<3xf32>, %h: tensor<4x2x3xf16>,
                  %i: tensor<2xi64>) {
  %none = apc.none
  %off = apc.constant dense<false> : tensor<i1>
  %on = apc.constant dense<true> : tensor<i1>
  // CHECK: apc.sum: b0 b1 b2, b1 1,  -> b0 b1 b2 {b0=4, b1=2, b2=3} linear={0 1 2} flops=3{{$}}
  %0 = "apc.sum"(%x, %y, %s) : (tensor<4x2x3xf32>, tensor<2x1xf32>, tensor<f32>) -> tensor<4x2x3xf32>
  // CHECK: apc.max: b0 b1 b2 -> b0 b1 b2 {b0=4, b1=2, b2=3} flops=1{{$}}
  %1 = "apc.max"(%x) : (tensor<4x2x3xf32>) -> tensor<4x2x3xf32>
  // CHECK: apc.min: b1 1, b0 b1 b2 -> b0 b1 b2 {b1=2, b0=4, b2=3} flops=2{{$}}
  %2 = "apc.min"(%y, %x) : (tensor<2x1xf32>, tensor<4x2x3xf32>) -> tensor<4x2x3xf32>
  // CHECK: apc.mean: b1 1, b0 b1 b2 -> b0 b1 b2 {b1=2, b0=4, b2=3} linear={0 1} flops=2{{$}}
  %3 = "apc.mean"(%y, %x) : (tensor<2x1xf32>, tensor<4x2x3xf32>) -> tensor<4x2x3xf32>
  // CHECK: apc.where: b2, b0 b1 b2,  -> b0 b1 b2 {b2=3, b0=4, b1=2} linear={1 2} flops=1{{$}}
  %4 = "apc.where"(%c, %x, %s) : (tensor<3xi1>, tensor<4x2x3xf32>, tensor<f32>) -> tensor<4x2x3xf32>
  // CHECK: apc.clip: b0 b1 b2, _,  -> b0 b1 b2 {b0=4, b1=2, b2=3} flops=2{{$}}
  %5 = "apc.clip"(%x, %none, %s) : (tensor<4x2x3xf32>, none, tensor<f32>) -> tensor<4x2x3xf32>
  // CHECK: apc.dropout: b0 b1 b2, , , _ -> b0 b1 b2, _ {b0=4, b1=2, b2=3} linear={0}{{$}}
  %6:2 = "apc.dropout"(%x, %s, %off, %none) : (tensor<4x2x3xf32>, tensor<f32>, tensor<i1>, none) -> (tensor<4x2x3xf32>, none)
  // CHECK: apc.dropout: b0 b1 b2, , , _ -> b0 b1 b2, b0 b1 b2 {b0=4, b1=2, b2=3} linear={0} flops=2{{$}}
  %7:2 = "apc.dropout"(%x, %s, %on, %none) : (tensor<4x2x3xf32>, tensor<f32>, tensor<i1>, none) -> (tensor<4x2x3xf32>, tensor<4x2x3xi1>)
  // CHECK: apc.dropout: b0 b1 b2, _, _, _ -> b0 b1 b2, b0 b1 b2 {b0=4, b1=2, b2=3} linear={0}{{$}}
  %8:2 = "apc.dropout"(%x, %none, %none, %none) {opset_version = 7 : i64} : (tensor<4x2x3xf32>, none, none, none) -> (tensor<4x2x3xf32>, tensor<4x2x3xf32>)
  // CHECK: apc.cast: b0 b1 b2 -> b0 b1 b2 {b0=4, b1=2, b2=3} linear={0}{{$}}
  %9 = "apc.cast"(%x) {to = 10 : i64} : (tensor<4x2x3xf32>) -> tensor<4x2x3xf16>
  // CHECK: apc.cast: b0 b1 b2 -> b0 b1 b2 {b0=4, b1=2, b2=3}{{$}}
  %10 = "apc.cast"(%x) {to = 2 : i64} : (tensor<4x2x3xf32>) -> tensor<4x2x3xui8>
  // CHECK: apc.cast_like: b0 b1 b2, w3 -> b0 b1 b2 {b0=4, b1=2, b2=3, w3=2 !}{{$}}
  %11 = "apc.cast_like"(%x, %i) : (tensor<4x2x3xf32>, tensor<2xi64>) -> tensor<4x2x3xi64>
  // CHECK: apc.bias_gelu: b0 b1 k, k -> b0 b1 k {b0=4, b1=2, k=3} flops=9{{$}}
  %12 = "apc.bias_gelu"(%x, %k) : (tensor<4x2x3xf32>, tensor<3xf32>) -> tensor<4x2x3xf32>
  // CHECK: apc.fast_gelu: b0 b1 k, k -> b0 b1 k {b0=4, b1=2, k=3} flops=8{{$}}
  %13 = "apc.fast_gelu"(%x, %k) : (tensor<4x2x3xf32>, tensor<3xf32>) -> tensor<4x2x3xf32>
  return
}

func.func @quantized(%x: tensor<2x3xui8>, %y: tensor<3xui8>, %scale: tensor<f32>, %zero: tensor<ui8>) {
  %none = apc.none
  // CHECK: apc.qlinear_add: b0 b1, , , b1, , , ,  -> b0 b1 {b0=2, b1=3} flops=6{{$}}
  %0 = "apc.qlinear_add"(%x, %scale, %zero, %y, %scale, %zero, %scale, %zero) : (tensor<2x3xui8>, tensor<f32>, tensor<ui8>, tensor<3xui8>, tensor<f32>, tensor<ui8>, tensor<f32>, tensor<ui8>) -> tensor<2x3xui8>
  // CHECK: apc.qlinear_mul: b0 b1, , , b1, , , , _ -> b0 b1 {b0=2, b1=3} flops=6{{$}}
  %1 = "apc.qlinear_mul"(%x, %scale, %zero, %y, %scale, %zero, %scale, %none) : (tensor<2x3xui8>, tensor<f32>, tensor<ui8>, tensor<3xui8>, tensor<f32>, tensor<ui8>, tensor<f32>, none) -> tensor<2x3xui8>
  // CHECK: apc.qlinear_sigmoid: b0 b1, , , ,  -> b0 b1 {b0=2, b1=3} flops=4{{$}}
  %2 = "apc.qlinear_sigmoid"(%x, %scale, %zero, %scale, %zero) : (tensor<2x3xui8>, tensor<f32>, tensor<ui8>, tensor<f32>, tensor<ui8>) -> tensor<2x3xui8>
  // CHECK: apc.qlinear_leaky_relu: b0 b1, , , ,  -> b0 b1 {b0=2, b1=3} flops=4{{$}}
  %3 = "apc.qlinear_leaky_relu"(%x, %scale, %zero, %scale, %zero) : (tensor<2x3xui8>, tensor<f32>, tensor<ui8>, tensor<f32>, tensor<ui8>) -> tensor<2x3xui8>
  return
}

func.func @gradients(%dy: tensor<4x3xf32>, %x: tensor<4x3xf32>, %bound: tensor<f32>) {
  %none = apc.none
  // CHECK: apc.sigmoid_grad: b0 b1, b0 b1 -> b0 b1 {b0=4, b1=3} linear={0} flops=3{{$}}
  %0 = "apc.sigmoid_grad"(%dy, %x) : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: apc.tanh_grad: b0 b1, b0 b1 -> b0 b1 {b0=4, b1=3} linear={0} flops=3{{$}}
  %1 = "apc.tanh_grad"(%dy, %x) : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: apc.erf_grad: b0 b1, b0 b1 -> b0 b1 {b0=4, b1=3} linear={0} flops=6{{$}}
  %2 = "apc.erf_grad"(%dy, %x) : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: apc.gelu_grad: b0 b1, b0 b1 -> b0 b1 {b0=4, b1=3} linear={0} flops=16{{$}}
  %3 = "apc.gelu_grad"(%dy, %x) {approximate = "tanh"} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: apc.swish_grad: b0 b1, b0 b1 -> b0 b1 {b0=4, b1=3} linear={0} flops=8{{$}}
  %4 = "apc.swish_grad"(%dy, %x) : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: apc.mish_grad: b0 b1, b0 b1 -> b0 b1 {b0=4, b1=3} linear={0} flops=16{{$}}
  %5 = "apc.mish_grad"(%dy, %x) : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: apc.elu_grad: b0 b1, b0 b1 -> b0 b1 {b0=4, b1=3} linear={0} flops=6{{$}}
  %6 = "apc.elu_grad"(%dy, %x) : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: apc.leaky_relu_grad: b0 b1, b0 b1 -> b0 b1 {b0=4, b1=3} linear={0} flops=1{{$}}
  %7 = "apc.leaky_relu_grad"(%dy, %x) : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: apc.hard_sigmoid_grad: b0 b1, b0 b1 -> b0 b1 {b0=4, b1=3} linear={0} flops=4{{$}}
  %8 = "apc.hard_sigmoid_grad"(%dy, %x) : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: apc.hard_swish_grad: b0 b1, b0 b1 -> b0 b1 {b0=4, b1=3} linear={0} flops=4{{$}}
  %9 = "apc.hard_swish_grad"(%dy, %x) : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: apc.clip_grad: b0 b1, b0 b1, , _ -> b0 b1 {b0=4, b1=3} linear={0} flops=2{{$}}
  %10 = "apc.clip_grad"(%dy, %x, %bound, %none) : (tensor<4x3xf32>, tensor<4x3xf32>, tensor<f32>, none) -> tensor<4x3xf32>
  return
}
