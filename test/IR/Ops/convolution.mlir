// RUN: apc-opt %s --apc-print-rules | FileCheck %s
// Convolutions and pools: windows that overlap make space whole, windows that do not are cut with it.

func.func @convolutions(%image: tensor<256x3x224x224xf32>, %stem: tensor<64x3x7x7xf32>, %bias: tensor<64xf32>) {
  %none = apc.none
  // CHECK: apc.conv: n c h0 h1, o c r0 r1, o -> n o y0 y1 {n=256, c=3 sum, o=64, h0=224 !, r0=7 !, y0=112 !, h1=224 !, r1=7 !, y1=112 !} flops=3.98597e-05
  %0 = "apc.conv"(%image, %stem, %bias) {kernel_shape = array<i64: 7, 7>, pads = array<i64: 3, 3, 3, 3>, strides = array<i64: 2, 2>} : (tensor<256x3x224x224xf32>, tensor<64x3x7x7xf32>, tensor<64xf32>) -> tensor<256x64x112x112xf32>
  %point = apc.parameter "point" "external" : tensor<256x64x1x1xf32>
  // CHECK: apc.conv: n c y0 y1, o c 1 1, _ -> n o y0 y1 {n=256, c=64 sum, o=256, y0=112, y1=112} flops=2
  %1 = "apc.conv"(%0, %point, %none) : (tensor<256x64x112x112xf32>, tensor<256x64x1x1xf32>, none) -> tensor<256x256x112x112xf32>
  %half = apc.parameter "half" "external" : tensor<128x64x1x1xf32>
  // CHECK: apc.conv: n c (y0 s0) (y1 s1), o c r0 r1, _ -> n o y0 y1 {n=256, c=64 sum, o=128, y0=56, s0=2 !, r0=1 !, y1=56, s1=2 !, r1=1 !} flops=0.5
  %2 = "apc.conv"(%0, %half, %none) {strides = array<i64: 2, 2>} : (tensor<256x64x112x112xf32>, tensor<128x64x1x1xf32>, none) -> tensor<256x128x56x56xf32>
  %patches = apc.parameter "patches" "external" : tensor<768x3x16x16xf32>
  // CHECK: apc.conv: n c (y0 r0) (y1 r1), o c r0 r1, _ -> n o y0 y1 {n=256, c=3 sum, o=768, y0=14, r0=16 sum, y1=14, r1=16 sum} flops=2
  %3 = "apc.conv"(%image, %patches, %none) {strides = array<i64: 16, 16>} : (tensor<256x3x224x224xf32>, tensor<768x3x16x16xf32>, none) -> tensor<256x768x14x14xf32>
  %depthwise = apc.parameter "depthwise" "external" : tensor<64x1x3x3xf32>
  // CHECK: apc.conv: n (g c) h0 h1, (g o) c r0 r1, (g o) -> n (g o) y0 y1 {n=256, g=64, c=1 sum, o=1, h0=112 !, r0=3 !, y0=112 !, h1=112 !, r1=3 !, y1=112 !} flops=0.000159439
  %4 = "apc.conv"(%0, %depthwise, %bias) {auto_pad = "SAME_UPPER", group = 64 : i64} : (tensor<256x64x112x112xf32>, tensor<64x1x3x3xf32>, tensor<64xf32>) -> tensor<256x64x112x112xf32>
  %groups = apc.parameter "groups" "external" : tensor<128x16x3x3xf32>
  // CHECK: apc.conv: n (g c) h0 h1, (g o) c r0 r1, _ -> n (g o) y0 y1 {n=256, g=4, c=16 sum, o=32, h0=112 !, r0=3 !, y0=108 !, h1=112 !, r1=3 !, y1=108 !} flops=0.000159439
  %5 = "apc.conv"(%0, %groups, %none) {auto_pad = "VALID", dilations = array<i64: 2, 2>, group = 4 : i64} : (tensor<256x64x112x112xf32>, tensor<128x16x3x3xf32>, none) -> tensor<256x128x108x108xf32>
  // CHECK: apc.fused_conv: n c (y0 s0) (y1 s1), o c r0 r1, _, n o y0 y1 -> n o y0 y1 {n=256, c=64 !, o=128, y0=56, s0=2 !, r0=1 !, y1=56, s1=2 !, r1=1 !} flops=0.5
  %6 = "apc.fused_conv"(%0, %half, %none, %2) {activation = "Relu", strides = array<i64: 2, 2>} : (tensor<256x64x112x112xf32>, tensor<128x64x1x1xf32>, none, tensor<256x128x56x56xf32>) -> tensor<256x128x56x56xf32>
  return
}

func.func @dims(%line: tensor<2x4x10xf32>, %volume: tensor<2x4x8x8x8xf32>) {
  %none = apc.none
  %w1 = apc.parameter "w1" "external" : tensor<6x4x3xf32>
  // CHECK: apc.conv: n c h0, o c r0, _ -> n o y0 {n=2, c=4 sum, o=6, h0=10 !, r0=3 !, y0=10 !} flops=0.2
  %0 = "apc.conv"(%line, %w1, %none) {pads = array<i64: 2, 0>} : (tensor<2x4x10xf32>, tensor<6x4x3xf32>, none) -> tensor<2x6x10xf32>
  %w3 = apc.parameter "w3" "external" : tensor<6x4x2x2x2xf32>
  // CHECK: apc.conv: n c (y0 r0) (y1 r1) (y2 r2), o c r0 r1 r2, _ -> n o y0 y1 y2 {n=2, c=4 sum, o=6, y0=4, r0=2 sum, y1=4, r1=2 sum, y2=4, r2=2 sum} flops=2
  %1 = "apc.conv"(%volume, %w3, %none) {strides = array<i64: 2, 2, 2>} : (tensor<2x4x8x8x8xf32>, tensor<6x4x2x2x2xf32>, none) -> tensor<2x6x4x4x4xf32>
  return
}

func.func @transposed(%x: tensor<8x64x16x16xf32>, %bias: tensor<32xf32>) {
  %none = apc.none
  %w = apc.parameter "w" "external" : tensor<64x32x2x2xf32>
  // CHECK: apc.conv_transpose: n c h0 h1, c o r0 r1, o -> n o (h0 r0) (h1 r1) {n=8, c=64 sum, o=32, h0=16, r0=2, h1=16, r1=2} flops=2
  %0 = "apc.conv_transpose"(%x, %w, %bias) {strides = array<i64: 2, 2>} : (tensor<8x64x16x16xf32>, tensor<64x32x2x2xf32>, tensor<32xf32>) -> tensor<8x32x32x32xf32>
  %v = apc.parameter "v" "external" : tensor<64x16x4x4xf32>
  // CHECK: apc.conv_transpose: n (g c) h0 h1, (g c) o r0 r1, _ -> n (g o) y0 y1 {n=8, g=2, c=32 sum, o=16, h0=16 !, r0=4 !, y0=32 !, h1=16 !, r1=4 !, y1=32 !} flops=0.00195312
  %1 = "apc.conv_transpose"(%x, %v, %none) {group = 2 : i64, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>} : (tensor<8x64x16x16xf32>, tensor<64x16x4x4xf32>, none) -> tensor<8x32x32x32xf32>
  // CHECK: apc.conv_transpose: n (g c) h0 h1, (g c) o r0 r1, _ -> n (g o) y0 y1 {n=8, g=2, c=32 sum, o=16, h0=16 !, r0=4 !, y0=33 !, h1=16 !, r1=4 !, y1=34 !} flops=0.00178253
  %2 = "apc.conv_transpose"(%x, %v, %none) {group = 2 : i64, output_shape = array<i64: 33, 34>, strides = array<i64: 2, 2>} : (tensor<8x64x16x16xf32>, tensor<64x16x4x4xf32>, none) -> tensor<8x32x33x34xf32>
  return
}

func.func @integers(%x: tensor<4x8x6x6xui8>, %w: tensor<16x8x3x3xi8>, %s: tensor<f32>, %z: tensor<ui8>, %ws: tensor<16xf32>, %wz: tensor<16xi8>, %b: tensor<16xi32>) {
  %none = apc.none
  // CHECK: apc.conv_integer: n c h0 h1, o c r0 r1, , o -> n o y0 y1 {n=4, c=8 !, o=16, h0=6 !, r0=3 !, y0=4 !, h1=6 !, r1=3 !, y1=4 !} flops=0.0555556
  %0 = "apc.conv_integer"(%x, %w, %z, %wz) : (tensor<4x8x6x6xui8>, tensor<16x8x3x3xi8>, tensor<ui8>, tensor<16xi8>) -> tensor<4x16x4x4xi32>
  // CHECK: apc.conv_integer: n c h0 h1, o c r0 r1, , _ -> n o y0 y1 {n=4, c=8 sum, o=16, h0=6 !, r0=3 !, y0=4 !, h1=6 !, r1=3 !, y1=4 !} flops=0.0555556
  %2 = "apc.conv_integer"(%x, %w, %z, %none) : (tensor<4x8x6x6xui8>, tensor<16x8x3x3xi8>, tensor<ui8>, none) -> tensor<4x16x4x4xi32>
  // CHECK: apc.qlinear_conv: n c h0 h1, , , o c r0 r1, o, o, , , o -> n o y0 y1 {n=4, c=8 !, o=16, h0=6 !, r0=3 !, y0=4 !, h1=6 !, r1=3 !, y1=4 !} flops=0.0555556
  %1 = "apc.qlinear_conv"(%x, %s, %z, %w, %ws, %wz, %s, %z, %b) : (tensor<4x8x6x6xui8>, tensor<f32>, tensor<ui8>, tensor<16x8x3x3xi8>, tensor<16xf32>, tensor<16xi8>, tensor<f32>, tensor<ui8>, tensor<16xi32>) -> tensor<4x16x4x4xui8>
  return
}

func.func @deformable(%x: tensor<2x4x5x5xf32>, %w: tensor<6x4x3x3xf32>, %o: tensor<2x18x3x3xf32>, %b: tensor<6xf32>, %m: tensor<2x9x3x3xf32>, %o2: tensor<2x36x3x3xf32>) {
  %none = apc.none
  // CHECK: apc.deform_conv: n c h0 h1, o c r0 r1, n k2 y0 y1, o, n k4 y0 y1 -> n o y0 y1 {n=2, c=4 sum, o=6, h0=5 !, r0=3 !, y0=3 !, h1=5 !, r1=3 !, y1=3 !, k2=18 !, k4=9 !} flops=0.000493827
  %0 = "apc.deform_conv"(%x, %w, %o, %b, %m) : (tensor<2x4x5x5xf32>, tensor<6x4x3x3xf32>, tensor<2x18x3x3xf32>, tensor<6xf32>, tensor<2x9x3x3xf32>) -> tensor<2x6x3x3xf32>
  // CHECK: apc.deform_conv: n c h0 h1, o c r0 r1, n k2 y0 y1, o, _ -> n o y0 y1 {n=2, c=4 !, o=6, h0=5 !, r0=3 !, y0=3 !, h1=5 !, r1=3 !, y1=3 !, k2=36 !} flops=0.00222222
  %1 = "apc.deform_conv"(%x, %w, %o2, %b, %none) {offset_group = 2 : i64} : (tensor<2x4x5x5xf32>, tensor<6x4x3x3xf32>, tensor<2x36x3x3xf32>, tensor<6xf32>, none) -> tensor<2x6x3x3xf32>
  return
}

func.func @pools(%x: tensor<8x64x112x112xf32>) {
  // CHECK: apc.max_pool: n c h0 h1 -> n c y0 y1, _ {n=8, c=64, h0=112 !, y0=56 !, h1=112 !, y1=56 !} flops=0.000717474
  %0:2 = "apc.max_pool"(%x) {kernel_shape = array<i64: 3, 3>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>} : (tensor<8x64x112x112xf32>) -> (tensor<8x64x56x56xf32>, none)
  // CHECK: apc.max_pool: n c (y0 r0) (y1 r1) -> n c y0 y1, _ {n=8, c=64, y0=56, r0=2 max, y1=56, r1=2 max} flops=1
  %1:2 = "apc.max_pool"(%x) {kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<8x64x112x112xf32>) -> (tensor<8x64x56x56xf32>, none)
  // CHECK: apc.max_pool: w0 w1 w2 w3 -> y0 y1 y2 y3, y0 y1 y2 y3 {w0=8 !, w1=64 !, w2=112 !, w3=112 !, y0=8 !, y1=64 !, y2=56 !, y3=56 !} flops=6.22808e-07
  %2:2 = "apc.max_pool"(%x) {kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<8x64x112x112xf32>) -> (tensor<8x64x56x56xf32>, tensor<8x64x56x56xi64>)
  // CHECK: apc.average_pool: n c h0 h1 -> n c y0 y1 {n=8, c=64, h0=112 !, y0=56 !, h1=112 !, y1=56 !} linear={0} flops=0.000717474
  %3 = "apc.average_pool"(%x) {ceil_mode = 1 : i64, kernel_shape = array<i64: 3, 3>, strides = array<i64: 2, 2>} : (tensor<8x64x112x112xf32>) -> tensor<8x64x56x56xf32>
  // CHECK: apc.average_pool: n c (y0 r0) (y1 r1) -> n c y0 y1 {n=8, c=64, y0=28, r0=4 sum, y1=28, r1=4 sum} linear={0} flops=1
  %4 = "apc.average_pool"(%x) {kernel_shape = array<i64: 4, 4>, strides = array<i64: 4, 4>} : (tensor<8x64x112x112xf32>) -> tensor<8x64x28x28xf32>
  // CHECK: apc.lp_pool: n c (y0 r0) (y1 r1) -> n c y0 y1 {n=8, c=64, y0=56, r0=2 !, y1=56, r1=2 !} flops=1
  %5 = "apc.lp_pool"(%x) {kernel_shape = array<i64: 2, 2>, p = 3 : i64, strides = array<i64: 2, 2>} : (tensor<8x64x112x112xf32>) -> tensor<8x64x56x56xf32>
  // CHECK: apc.global_average_pool: n c h0 h1 -> n c 1 1 {n=8, c=64, h0=112 sum, h1=112 sum} linear={0} flops=1
  %6 = "apc.global_average_pool"(%x) : (tensor<8x64x112x112xf32>) -> tensor<8x64x1x1xf32>
  // CHECK: apc.global_max_pool: n c h0 h1 -> n c 1 1 {n=8, c=64, h0=112 max, h1=112 max} flops=1
  %7 = "apc.global_max_pool"(%x) : (tensor<8x64x112x112xf32>) -> tensor<8x64x1x1xf32>
  // CHECK: apc.global_lp_pool: n c h0 h1 -> n c 1 1 {n=8, c=64, h0=112 !, h1=112 !} flops=1
  %8 = "apc.global_lp_pool"(%x) {p = 1 : i64} : (tensor<8x64x112x112xf32>) -> tensor<8x64x1x1xf32>
  %none = apc.none
  // CHECK: apc.max_unpool: w0 w1 w2 w3, w4 w5 w6 w7, _ -> w8 w9 w10 w11 {w0=8 !, w1=64 !, w2=56 !, w3=56 !, w4=8 !, w5=64 !, w6=56 !, w7=56 !, w8=8 !, w9=64 !, w10=112 !, w11=112 !}
  %9 = "apc.max_unpool"(%2#0, %2#1, %none) {kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<8x64x56x56xf32>, tensor<8x64x56x56xi64>, none) -> tensor<8x64x112x112xf32>
  return
}

func.func @convolution_gradients(%x: tensor<8x4x6x9xf32>, %w: tensor<10x2x3x3xf32>, %dy: tensor<8x10x2x9xf32>, %pooled: tensor<8x4x3x9xf32>) {
  // CHECK: apc.conv_input_grad: n (g o) y0 y1, (g o) c r0 r1 -> n (g c) (y0 r0) h1 {n=8, g=2, c=2, o=5 sum, y0=2, r0=3, h1=9 !, r1=3 !, y1=9 !} linear={0} flops=0.222222{{$}}
  %0 = "apc.conv_input_grad"(%dy, %w) {data_shape = array<i64: 6, 9>, group = 2 : i64, pads = array<i64: 0, 1, 0, 1>, strides = array<i64: 3, 1>} : (tensor<8x10x2x9xf32>, tensor<10x2x3x3xf32>) -> tensor<8x4x6x9xf32>
  // CHECK: apc.conv_weight_grad: n (g c) (y0 r0) h1, n (g o) y0 y1 -> (g o) c r0 r1 {n=8 sum, g=2, c=2, o=5, y0=2 sum, r0=3, h1=9 !, r1=3 !, y1=9 !} linear={1} flops=0.222222{{$}}
  %1 = "apc.conv_weight_grad"(%x, %dy) {kernel_shape = array<i64: 3, 3>, group = 2 : i64, pads = array<i64: 0, 1, 0, 1>, strides = array<i64: 3, 1>} : (tensor<8x4x6x9xf32>, tensor<8x10x2x9xf32>) -> tensor<10x2x3x3xf32>
  // CHECK: apc.max_pool_grad: n c y0 y1, n c (y0 r0) h1 -> n c (y0 r0) h1 {n=8, c=4, y0=3, r0=2 !, h1=9 !, y1=9 !} linear={0} flops=0.333333{{$}}
  %2 = "apc.max_pool_grad"(%pooled, %x) {kernel_shape = array<i64: 2, 3>, pads = array<i64: 0, 1, 0, 1>, strides = array<i64: 2, 1>} : (tensor<8x4x3x9xf32>, tensor<8x4x6x9xf32>) -> tensor<8x4x6x9xf32>
  // CHECK: apc.average_pool_grad: n c y0 y1 -> n c (y0 r0) h1 {n=8, c=4, y0=3, r0=2 !, h1=9 !, y1=9 !} linear={0} flops=0.333333{{$}}
  %3 = "apc.average_pool_grad"(%pooled) {data_shape = array<i64: 6, 9>, kernel_shape = array<i64: 2, 3>, pads = array<i64: 0, 1, 0, 1>, strides = array<i64: 2, 1>} : (tensor<8x4x3x9xf32>) -> tensor<8x4x6x9xf32>
  return
}
