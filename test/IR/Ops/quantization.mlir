// RUN: apc-opt %s --apc-print-rules | FileCheck %s
// Quantisation: scales follow their dim or their blocks; arithmetic on quantised tensors.

func.func @linear(%x: tensor<8x128xf32>, %scale: tensor<f32>, %zero: tensor<i8>, %column: tensor<128xf32>, %columnZero: tensor<128xi8>, %blocks: tensor<8x4xf32>, %uneven: tensor<8x3xf32>) {
  %none = apc.none
  // CHECK: apc.quantize_linear: d0 d1, ,  -> d0 d1 {d0=8, d1=128} flops=2
  %0 = "apc.quantize_linear"(%x, %scale, %zero) : (tensor<8x128xf32>, tensor<f32>, tensor<i8>) -> tensor<8x128xi8>
  // CHECK: apc.quantize_linear: d0 d1, d1, d1 -> d0 d1 {d0=8, d1=128} flops=2
  %1 = "apc.quantize_linear"(%x, %column, %columnZero) {axis = -1 : i64} : (tensor<8x128xf32>, tensor<128xf32>, tensor<128xi8>) -> tensor<8x128xi8>
  // CHECK: apc.quantize_linear: d0 (k r), d0 k, _ -> d0 (k r) {d0=8, k=4, r=32} flops=2
  %2 = "apc.quantize_linear"(%x, %blocks, %none) {block_size = 32 : i64, output_dtype = 17 : i64} : (tensor<8x128xf32>, tensor<8x4xf32>, none) -> tensor<8x128xf8E4M3FN>
  // CHECK: apc.quantize_linear: d0 d1, d0 k, _ -> d0 d1 {d0=8, d1=128 !, k=3 !} flops=0.666667
  %3 = "apc.quantize_linear"(%x, %uneven, %none) {block_size = 48 : i64} : (tensor<8x128xf32>, tensor<8x3xf32>, none) -> tensor<8x128xui8>
  // CHECK: apc.dequantize_linear: d0 d1, d1, d1 -> d0 d1 {d0=8, d1=128} flops=2
  %4 = "apc.dequantize_linear"(%1, %column, %columnZero) : (tensor<8x128xi8>, tensor<128xf32>, tensor<128xi8>) -> tensor<8x128xf32>
  // CHECK: apc.dynamic_quantize_linear: w0 w1 -> w2 w3, ,  {w0=8 !, w1=128 !, w2=8 !, w3=128 !} flops=0.00488281
  %5:3 = "apc.dynamic_quantize_linear"(%x) : (tensor<8x128xf32>) -> (tensor<8x128xui8>, tensor<f32>, tensor<ui8>)
  return
}

func.func @arithmetic(%a: tensor<8x128xui8>, %b: tensor<128xui8>, %s: tensor<f32>, %z: tensor<ui8>, %c: tensor<8x128xi1>, %image: tensor<2x7x7x512xui8>) {
  %none = apc.none
  // CHECK: apc.qlinear_add: b0 b1, , , b1, , _, ,  -> b0 b1 {b0=8, b1=128} flops=6
  %0 = "apc.qlinear_add"(%a, %s, %z, %b, %s, %none, %s, %z) : (tensor<8x128xui8>, tensor<f32>, tensor<ui8>, tensor<128xui8>, tensor<f32>, none, tensor<f32>, tensor<ui8>) -> tensor<8x128xui8>
  // CHECK: apc.qlinear_mul: b0 b1, , , b1, , , ,  -> b0 b1 {b0=8, b1=128} flops=6
  %1 = "apc.qlinear_mul"(%a, %s, %z, %b, %s, %z, %s, %z) : (tensor<8x128xui8>, tensor<f32>, tensor<ui8>, tensor<128xui8>, tensor<f32>, tensor<ui8>, tensor<f32>, tensor<ui8>) -> tensor<8x128xui8>
  // CHECK: apc.qlinear_sigmoid: b0 b1, , , ,  -> b0 b1 {b0=8, b1=128} flops=4
  %2 = "apc.qlinear_sigmoid"(%a, %s, %z, %s, %z) : (tensor<8x128xui8>, tensor<f32>, tensor<ui8>, tensor<f32>, tensor<ui8>) -> tensor<8x128xui8>
  // CHECK: apc.qlinear_leaky_relu: b0 b1, , , ,  -> b0 b1 {b0=8, b1=128} flops=4
  %3 = "apc.qlinear_leaky_relu"(%a, %s, %z, %s, %z) {alpha = 0.1 : f32} : (tensor<8x128xui8>, tensor<f32>, tensor<ui8>, tensor<f32>, tensor<ui8>) -> tensor<8x128xui8>
  // CHECK: apc.qlinear_where: b0 b1, b0 b1, , , b1, , , ,  -> b0 b1 {b0=8, b1=128} flops=4
  %4 = "apc.qlinear_where"(%c, %a, %s, %z, %b, %s, %z, %s, %z) : (tensor<8x128xi1>, tensor<8x128xui8>, tensor<f32>, tensor<ui8>, tensor<128xui8>, tensor<f32>, tensor<ui8>, tensor<f32>, tensor<ui8>) -> tensor<8x128xui8>
  // CHECK: apc.qlinear_global_average_pool: d0 w0 w1 d1, , , ,  -> d0 1 1 d1 {d0=2, w0=7 !, w1=7 !, d1=512} flops=1
  %5 = "apc.qlinear_global_average_pool"(%image, %s, %z, %s, %z) {channels_last = 1 : i64} : (tensor<2x7x7x512xui8>, tensor<f32>, tensor<ui8>, tensor<f32>, tensor<ui8>) -> tensor<2x1x1x512xui8>
  return
}
