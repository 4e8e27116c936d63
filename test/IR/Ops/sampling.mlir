// RUN: apc-opt %s --apc-print-rules | FileCheck %s
// Points picked from a feature map, and resizing: the map is whole in space.

func.func @regions(%x: tensor<2x16x32x32xf32>, %rois: tensor<10x5xf32>, %boxes: tensor<10x4xf32>, %image: tensor<10xi64>) {
  // CHECK: apc.max_roi_pool: w0 d0 w1 w2, d1 w3 -> d1 d0 w4 w5 {d0=16, d1=10, w0=2 !, w1=32 !, w2=32 !, w3=5 !, w4=7 !, w5=7 !} flops=9.76563e-05
  %0 = "apc.max_roi_pool"(%x, %rois) {pooled_shape = array<i64: 7, 7>} : (tensor<2x16x32x32xf32>, tensor<10x5xf32>) -> tensor<10x16x7x7xf32>
  // CHECK: apc.roi_align: w0 d0 w1 w2, d1 w3, d1 -> d1 d0 w4 w5 {d0=16, d1=10, w0=2 !, w1=32 !, w2=32 !, w3=4 !, w4=3 !, w5=4 !} flops=0.00012207
  %1 = "apc.roi_align"(%x, %boxes, %image) {output_height = 3 : i64, output_width = 4 : i64} : (tensor<2x16x32x32xf32>, tensor<10x4xf32>, tensor<10xi64>) -> tensor<10x16x3x4xf32>
  return
}

func.func @grids(%x: tensor<2x3x8x8xf32>, %grid: tensor<2x5x6x2xf32>, %theta: tensor<2x2x3xf32>, %columns: tensor<2x12x16xf32>) {
  // CHECK: apc.grid_sample: d0 d1 w0 w1, d0 d2 d3 w2 -> d0 d1 d2 d3 {d0=2, d1=3, w0=8 !, w1=8 !, d2=5, d3=6, w2=2 !} flops=0.0625
  %0 = "apc.grid_sample"(%x, %grid) : (tensor<2x3x8x8xf32>, tensor<2x5x6x2xf32>) -> tensor<2x3x5x6xf32>
  %size = apc.constant dense<[2, 3, 5, 6]> : tensor<4xi64>
  // CHECK: apc.affine_grid: d0 w0 w1, w5 -> d0 w2 w3 w4 {d0=2, w0=2 !, w1=3 !, w2=5 !, w3=6 !, w4=2 !, w5=4 !} flops=0.25
  %1 = "apc.affine_grid"(%theta, %size) : (tensor<2x2x3xf32>, tensor<4xi64>) -> tensor<2x5x6x2xf32>
  %image = apc.constant dense<[8, 8]> : tensor<2xi64>
  %block = apc.constant dense<[2, 2]> : tensor<2xi64>
  // CHECK: apc.col2im: d0 (d1 w0) w1, w4, w5 -> d0 d1 w2 w3 {d0=2, d1=3, w0=4 !, w1=16 !, w2=8 !, w3=8 !, w4=2 !, w5=2 !} linear={0} flops=0.00390625
  %2 = "apc.col2im"(%columns, %image, %block) {strides = array<i64: 2, 2>} : (tensor<2x12x16xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<2x3x8x8xf32>
  return
}

func.func @gradients(%dy: tensor<2x3x5x6xf32>, %x: tensor<2x3x8x8xf32>, %grid: tensor<2x5x6x2xf32>, %dr: tensor<10x3x7x7xf32>, %rois: tensor<10x5xf32>, %boxes: tensor<10x4xf32>, %images: tensor<10xi64>) {
  // CHECK: apc.grid_sample_input_grad: d0 d1 y0 y1, d0 y0 y1 w2 -> d0 d1 w0 w1 {d0=2, d1=3, w0=8 !, w1=8 !, y0=5 sum, y1=6 sum, w2=2 !} linear={0} flops=0.0625{{$}}
  %0 = "apc.grid_sample_input_grad"(%dy, %grid) {data_shape = array<i64: 8, 8>} : (tensor<2x3x5x6xf32>, tensor<2x5x6x2xf32>) -> tensor<2x3x8x8xf32>
  // CHECK: apc.grid_sample_grid_grad: d0 c d1 d2, d0 c w0 w1, d0 d1 d2 w2 -> d0 d1 d2 w2 {d0=2, c=3 sum, w0=8 !, w1=8 !, d1=5, d2=6, w2=2 !} linear={0} flops=0.125{{$}}
  %1 = "apc.grid_sample_grid_grad"(%dy, %x, %grid) : (tensor<2x3x5x6xf32>, tensor<2x3x8x8xf32>, tensor<2x5x6x2xf32>) -> tensor<2x5x6x2xf32>
  // CHECK: apc.im2col: d0 d1 w1 w2 -> d0 (d1 w0) w3 {d0=2, d1=3, w0=4 !, w1=8 !, w2=8 !, w3=16 !} linear={0}{{$}}
  %2 = "apc.im2col"(%x) {kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<2x3x8x8xf32>) -> tensor<2x12x16xf32>
  %none = apc.none
  // CHECK: apc.roi_align_grad: r d0 w3 w4, _, r w5, r -> w0 d0 w1 w2 {r=10 sum, d0=3, w0=2 !, w1=8 !, w2=8 !, w3=7 !, w4=7 !, w5=4 !} linear={0} flops=0.00195312{{$}}
  %3 = "apc.roi_align_grad"(%dr, %none, %boxes, %images) {data_shape = array<i64: 2, 8, 8>} : (tensor<10x3x7x7xf32>, none, tensor<10x4xf32>, tensor<10xi64>) -> tensor<2x3x8x8xf32>
  // CHECK: apc.max_roi_pool_grad: r d0 w3 w4, w0 d0 w1 w2, r w5 -> w0 d0 w1 w2 {r=10 sum, d0=3, w0=2 !, w1=8 !, w2=8 !, w3=7 !, w4=7 !, w5=5 !} linear={0} flops=0.0015625{{$}}
  %4 = "apc.max_roi_pool_grad"(%dr, %x, %rois) : (tensor<10x3x7x7xf32>, tensor<2x3x8x8xf32>, tensor<10x5xf32>) -> tensor<2x3x8x8xf32>
  return
}

func.func @resizes(%x: tensor<2x3x8x10xf32>) {
  %none = apc.none
  %scales = apc.constant dense<[1.0, 1.0, 2.0, 0.7]> : tensor<4xf32>
  %sizes = apc.constant dense<[12, 30]> : tensor<2xi64>
  // CHECK: apc.resize: d0 d1 w0 w2, _, w4, _ -> d0 d1 w1 w3 {d0=2, d1=3, w0=8 !, w1=16 !, w2=10 !, w3=7 !, w4=4 !} flops=0.003125
  %0 = "apc.resize"(%x, %none, %scales, %none) : (tensor<2x3x8x10xf32>, none, tensor<4xf32>, none) -> tensor<2x3x16x7xf32>
  // CHECK: apc.resize: d0 d1 w0 w2, _, _, w4 -> d0 d1 w1 w3 {d0=2, d1=3, w0=8 !, w1=12 !, w2=10 !, w3=30 !, w4=2 !} flops=0.05
  %1 = "apc.resize"(%x, %none, %none, %sizes) {axes = array<i64: 2, 3>, mode = "linear"} : (tensor<2x3x8x10xf32>, none, none, tensor<2xi64>) -> tensor<2x3x12x30xf32>
  // CHECK: apc.resize: d0 d1 w0 w2, _, _, w4 -> d0 d1 w1 w3 {d0=2, d1=3, w0=8 !, w1=12 !, w2=10 !, w3=15 !, w4=2 !} flops=0.2
  %2 = "apc.resize"(%x, %none, %none, %sizes) {axes = array<i64: -2, -1>, keep_aspect_ratio_policy = "not_larger", mode = "cubic"} : (tensor<2x3x8x10xf32>, none, none, tensor<2xi64>) -> tensor<2x3x12x15xf32>
  // CHECK: apc.resize: d0 d1 w0 w2, w4, _, _ -> d0 d1 w1 w3 {d0=2, d1=3, w0=8 !, w1=16 !, w2=10 !, w3=7 !, w4=4 !} flops=0.003125
  %3 = "apc.resize"(%x, %scales, %none, %none) {opset_version = 10 : i64} : (tensor<2x3x8x10xf32>, tensor<4xf32>, none, none) -> tensor<2x3x16x7xf32>
  // CHECK: apc.upsample: d0 d1 w0 w2, w4 -> d0 d1 w1 w3 {d0=2, d1=3, w0=8 !, w1=16 !, w2=10 !, w3=7 !, w4=4 !} flops=0.003125
  %4 = "apc.upsample"(%x, %scales) : (tensor<2x3x8x10xf32>, tensor<4xf32>) -> tensor<2x3x16x7xf32>
  // CHECK: apc.upsample: d0 d1 w0 w2, _ -> d0 d1 w1 w3 {d0=2, d1=3, w0=8 !, w1=16 !, w2=10 !, w3=30 !} flops=0.0125
  %5 = "apc.upsample"(%x, %none) {height_scale = 2.0 : f32, width_scale = 3.0 : f32} : (tensor<2x3x8x10xf32>, none) -> tensor<2x3x16x30xf32>
  return
}
