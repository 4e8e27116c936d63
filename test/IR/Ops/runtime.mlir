// RUN: apc-opt %s --apc-print-rules | FileCheck %s
// Operators of ONNX Runtime's optimizer and quantizer, random numbers, bounded selections, operators that nobody knows.

func.func @groups(%x: tensor<2x8x8x320xf16>, %channels: tensor<320xf32>, %row: tensor<2x320xf16>, %bias: tensor<320xf16>) {
  // CHECK: apc.group_norm: d0 w1 w2 (d1 w0), (d1 w0), (d1 w0) -> d0 w1 w2 (d1 w0) {d0=2, d1=32, w0=10 !, w1=8 !, w2=8 !} flops=8{{$}}
  %0 = "apc.group_norm"(%x, %channels, %channels) {activation = 1 : i64, groups = 32 : i64} : (tensor<2x8x8x320xf16>, tensor<320xf32>, tensor<320xf32>) -> tensor<2x8x8x320xf16>
  // CHECK: apc.skip_group_norm: d0 w1 w2 (d1 w0), (d1 w0), (d1 w0), d0 (d1 w0), (d1 w0) -> d0 w1 w2 (d1 w0), d0 w1 w2 (d1 w0) {d0=2, d1=32, w0=10 !, w1=8 !, w2=8 !} flops=8{{$}}
  %1:2 = "apc.skip_group_norm"(%x, %channels, %channels, %row, %bias) {activation = 0 : i64, groups = 32 : i64} : (tensor<2x8x8x320xf16>, tensor<320xf32>, tensor<320xf32>, tensor<2x320xf16>, tensor<320xf16>) -> (tensor<2x8x8x320xf16>, tensor<2x8x8x320xf16>)
  return
}

func.func @rows(%x: tensor<2x64x320xf16>, %bias: tensor<320xf16>) {
  // CHECK: apc.bias_add: b0 b1 k, k, b0 b1 k -> b0 b1 k {b0=2, b1=64, k=320} linear={0 1 2} flops=2{{$}}
  %0 = "apc.bias_add"(%x, %bias, %x) : (tensor<2x64x320xf16>, tensor<320xf16>, tensor<2x64x320xf16>) -> tensor<2x64x320xf16>
  // CHECK: apc.bias_split_gelu: d0 d1 w0, w2 -> d0 d1 w1 {d0=2, d1=64, w0=320 !, w1=160 !, w2=320 !} flops=0.000107422{{$}}
  %1 = "apc.bias_split_gelu"(%x, %bias) : (tensor<2x64x320xf16>, tensor<320xf16>) -> tensor<2x64x160xf16>
  return
}

func.func @quantized(%image: tensor<2x3x8x8xui8>, %rows: tensor<4x6x5xui8>, %a: tensor<8x16xui8>, %b: tensor<16x4xi8>, %c: tensor<4xi32>,
                     %s: tensor<f32>, %z: tensor<ui8>, %perColumn: tensor<4xf32>, %zeros: tensor<4xi8>) {
  %none = apc.none
  // CHECK: apc.qlinear_average_pool: d0 d1 w0 w2, , , ,  -> d0 d1 w1 w3 {d0=2, d1=3, w0=8 !, w1=4 !, w2=8 !, w3=4 !} flops=0.0625{{$}}
  %0 = "apc.qlinear_average_pool"(%image, %s, %z, %s, %z) {kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<2x3x8x8xui8>, tensor<f32>, tensor<ui8>, tensor<f32>, tensor<ui8>) -> tensor<2x3x4x4xui8>
  // CHECK: apc.qlinear_softmax: d0 d1 d2, , , ,  -> d0 d1 d2 {d0=4, d1=6 !, d2=5} flops=8{{$}}
  %1 = "apc.qlinear_softmax"(%rows, %s, %z, %s, %z) {axis = 1 : i64, opset = 13 : i64} : (tensor<4x6x5xui8>, tensor<f32>, tensor<ui8>, tensor<f32>, tensor<ui8>) -> tensor<4x6x5xui8>
  // CHECK: apc.qlinear_concat: , , d0 w1, , , d0 w2, ,  -> d0 w0 {d0=8, w0=32 !, w1=16 !, w2=16 !} flops=0.015625{{$}}
  %2 = "apc.qlinear_concat"(%s, %z, %a, %s, %z, %a, %s, %z) {axis = 1 : i64} : (tensor<f32>, tensor<ui8>, tensor<8x16xui8>, tensor<f32>, tensor<ui8>, tensor<8x16xui8>, tensor<f32>, tensor<ui8>) -> tensor<8x32xui8>
  // CHECK: apc.qgemm: m k, , , k n, n, n, n, ,  -> m n {m=8, k=16 !, n=4} flops=2{{$}}
  %3 = "apc.qgemm"(%a, %s, %z, %b, %perColumn, %zeros, %c, %s, %z) : (tensor<8x16xui8>, tensor<f32>, tensor<ui8>, tensor<16x4xi8>, tensor<4xf32>, tensor<4xi8>, tensor<4xi32>, tensor<f32>, tensor<ui8>) -> tensor<8x4xui8>
  // CHECK: apc.qgemm: m k, , , k n, n, n, _, _, _ -> m n {m=8, k=16 !, n=4} flops=2{{$}}
  %4 = "apc.qgemm"(%a, %s, %z, %b, %perColumn, %zeros, %none, %none, %none) : (tensor<8x16xui8>, tensor<f32>, tensor<ui8>, tensor<16x4xi8>, tensor<4xf32>, tensor<4xi8>, none, none, none) -> tensor<8x4xf32>
  return
}

func.func @bnb4(%a: tensor<2x16x32xf16>, %b: tensor<128xui8>, %scales: tensor<4xf16>) {
  // CHECK: apc.matmul_bnb4: d0 d1 w0, w2, w3 -> d0 d1 w1 {d0=2, d1=16, w0=32 !, w1=8 !, w2=128 !, w3=4 !} flops=0.00390625{{$}}
  %0 = "apc.matmul_bnb4"(%a, %b, %scales) {K = 32 : i64, N = 8 : i64, block_size = 64 : i64, quant_type = 1 : i64} : (tensor<2x16x32xf16>, tensor<128xui8>, tensor<4xf16>) -> tensor<2x16x8xf16>
  return
}

func.func @random(%x: tensor<4x6xf32>) {
  %none = apc.none
  // CHECK: apc.random_normal: _ -> d0 d1 {d0=4, d1=6} flops=8{{$}}
  %0 = "apc.random_normal"(%none) {shape = array<i64: 4, 6>} : (none) -> tensor<4x6xf32>
  // CHECK: apc.random_uniform_like: b0 b1, _ -> b0 b1 {b0=4, b1=6} flops=8{{$}}
  %1 = "apc.random_uniform_like"(%x, %none) {dtype = 10 : i64} : (tensor<4x6xf32>, none) -> tensor<4x6xf16>
  // CHECK: apc.multinomial: d0 w0, _ -> d0 d1 {d0=4, d1=3, w0=6 !} flops=4{{$}}
  %2 = "apc.multinomial"(%x, %none) {sample_size = 3 : i64} : (tensor<4x6xf32>, none) -> tensor<4x3xi32>
  return
}

func.func @bounded(%boxes: tensor<1x20x4xf32>, %scores: tensor<1x2x20xf32>, %condition: tensor<20xi1>, %limit: tensor<i64>) {
  %none = apc.none
  // CHECK: apc.non_max_suppression: w0 w1 w2, w3 w4 w5, , _, _ -> w6 w7 {w0=1 !, w1=20 !, w2=4 !, w3=1 !, w4=2 !, w5=20 !, w6=7 !, w7=3 !}{{$}}
  %0 = "apc.non_max_suppression"(%boxes, %scores, %limit, %none, %none) {bound = 7 : i64} : (tensor<1x20x4xf32>, tensor<1x2x20xf32>, tensor<i64>, none, none) -> tensor<7x3xi64>
  // CHECK: apc.compress: d0 w0 d1, w2 -> d0 w1 d1 {d0=1, w0=20 !, d1=4, w1=5 !, w2=20 !} linear={0}{{$}}
  %1 = "apc.compress"(%boxes, %condition) {axis = 1 : i64, bound = 5 : i64} : (tensor<1x20x4xf32>, tensor<20xi1>) -> tensor<1x5x4xf32>
  // CHECK: apc.range: , ,  -> w0 {w0=9 !}{{$}}
  %2 = "apc.range"(%limit, %limit, %limit) {bound = 9 : i64} : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<9xi64>
  return
}

func.func @opaque(%x: tensor<2x16x32xf32>, %w: tensor<32x64xf32>) {
  // CHECK: apc.opaque: w0 w1 w2, w3 w4 -> w5 w6 w7 {w0=2 !, w1=16 !, w2=32 !, w3=32 !, w4=64 !, w5=2 !, w6=16 !, w7=64 !}{{$}}
  %0 = "apc.opaque"(%x, %w) {operator_name = "com.acme.Mix"} : (tensor<2x16x32xf32>, tensor<32x64xf32>) -> tensor<2x16x64xf32>
  // CHECK: apc.opaque: b s k, k n -> b s n {b=2, s=16, k=32 sum, n=64} flops=2{{$}}
  %1 = "apc.opaque"(%x, %w) {operator_name = "com.acme.Mix", factor_rule = "b s k, k n -> b s n", flops_per_point = 2.0 : f64} : (tensor<2x16x32xf32>, tensor<32x64xf32>) -> tensor<2x16x64xf32>
  return
}
