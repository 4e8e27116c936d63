// RUN: apc-opt %s --split-input-file --verify-diagnostics
// Errors for windows, channels and scales that do not fit stand at the op and name what is accepted.

func.func @channels(%x: tensor<2x3x8x8xf32>, %w: tensor<4x2x3x3xf32>) {
  %none = apc.none
  // expected-error @below {{operand 'W' has 2 input channels where 3 are needed (3 in 1 groups)}}
  %0 = "apc.conv"(%x, %w, %none) : (tensor<2x3x8x8xf32>, tensor<4x2x3x3xf32>, none) -> tensor<2x4x6x6xf32>
  return
}

// -----

func.func @groups(%x: tensor<2x3x8x8xf32>, %w: tensor<4x1x3x3xf32>) {
  %none = apc.none
  // expected-error @below {{'group' is 2, which does not divide the 3 input channels}}
  %0 = "apc.conv"(%x, %w, %none) {group = 2 : i64} : (tensor<2x3x8x8xf32>, tensor<4x1x3x3xf32>, none) -> tensor<2x4x6x6xf32>
  return
}

// -----

func.func @bias(%x: tensor<2x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %b: tensor<3xf32>) {
  // expected-error @below {{operand 'B' has shape [3] where [4] is needed}}
  %0 = "apc.conv"(%x, %w, %b) : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<3xf32>) -> tensor<2x4x6x6xf32>
  return
}

// -----

func.func @window(%x: tensor<2x3x4x4xf32>, %w: tensor<4x3x3x3xf32>) {
  %none = apc.none
  // expected-error @below {{a window that spans 5 does not fit into 4 points padded to 4}}
  %0 = "apc.conv"(%x, %w, %none) {dilations = array<i64: 2, 2>} : (tensor<2x3x4x4xf32>, tensor<4x3x3x3xf32>, none) -> tensor<2x4x2x2xf32>
  return
}

// -----

func.func @strides(%x: tensor<2x3x4x4xf32>, %w: tensor<4x3x3x3xf32>) {
  %none = apc.none
  // expected-error @below {{'strides' has 0, which is outside [1, 2147483648)}}
  %0 = "apc.conv"(%x, %w, %none) {strides = array<i64: 1, 0>} : (tensor<2x3x4x4xf32>, tensor<4x3x3x3xf32>, none) -> tensor<2x4x2x2xf32>
  return
}

// -----

func.func @pads(%x: tensor<2x3x4x4xf32>, %w: tensor<4x3x3x3xf32>) {
  %none = apc.none
  // expected-error @below {{'pads' has 2 values, but 4 are needed for the spatial dims}}
  %0 = "apc.conv"(%x, %w, %none) {pads = array<i64: 1, 1>} : (tensor<2x3x4x4xf32>, tensor<4x3x3x3xf32>, none) -> tensor<2x4x4x4xf32>
  return
}

// -----

func.func @auto_pad(%x: tensor<2x3x4x4xf32>) {
  // expected-error @below {{'auto_pad' is 'SAME'; NOTSET, VALID, SAME_UPPER or SAME_LOWER is needed}}
  %0:2 = "apc.max_pool"(%x) {auto_pad = "SAME", kernel_shape = array<i64: 2, 2>} : (tensor<2x3x4x4xf32>) -> (tensor<2x3x4x4xf32>, none)
  return
}

// -----

func.func @result(%x: tensor<2x3x4x4xf32>) {
  // expected-error @below {{result 0 has type 'tensor<2x3x4x4xf32>', but 'tensor<2x3x3x3xf32>' follows}}
  %0:2 = "apc.max_pool"(%x) {kernel_shape = array<i64: 2, 2>} : (tensor<2x3x4x4xf32>) -> (tensor<2x3x4x4xf32>, none)
  return
}

// -----

func.func @unpool(%x: tensor<2x3x4x4xf32>, %i: tensor<2x3x4x4xi64>) {
  %none = apc.none
  // expected-error @below {{'kernel_shape' has 1 values, but 2 are needed for the spatial dims}}
  %0 = "apc.max_unpool"(%x, %i, %none) {kernel_shape = array<i64: 2>} : (tensor<2x3x4x4xf32>, tensor<2x3x4x4xi64>, none) -> tensor<2x3x8x8xf32>
  return
}

// -----

func.func @resize(%x: tensor<2x3x4x4xf32>) {
  %none = apc.none
  // expected-error @below {{needs either 'scales' or 'sizes'}}
  %0 = "apc.resize"(%x, %none, %none, %none) : (tensor<2x3x4x4xf32>, none, none, none) -> tensor<2x3x8x8xf32>
  return
}

// -----

func.func @resize_unknown(%x: tensor<2x3x4x4xf32>, %sizes: tensor<4xi64>) {
  %none = apc.none
  // expected-error @below {{operand 'sizes' decides a shape, so it must follow from constants and input shapes}}
  %0 = "apc.resize"(%x, %none, %none, %sizes) : (tensor<2x3x4x4xf32>, none, none, tensor<4xi64>) -> tensor<2x3x8x8xf32>
  return
}

// -----

func.func @resize_negative(%x: tensor<2x3x4x4xf32>) {
  %none = apc.none
  %scales = apc.constant dense<[1.0, 1.0, -2.0, 1.0e30]> : tensor<4xf32>
  // expected-error @below {{scale -2.000000e+00 of dim 2 (size 4) gives no size}}
  %0 = "apc.resize"(%x, %none, %scales, %none) : (tensor<2x3x4x4xf32>, none, tensor<4xf32>, none) -> tensor<2x3x8x8xf32>
  return
}

// -----

func.func @upsample(%x: tensor<2x3x4x4xf32>) {
  %none = apc.none
  // expected-error @below {{needs scales: an operand, or 'height_scale' and 'width_scale' for the last two dims}}
  %0 = "apc.upsample"(%x, %none) : (tensor<2x3x4x4xf32>, none) -> tensor<2x3x8x8xf32>
  return
}

// -----

func.func @scales(%x: tensor<8x128xf32>, %s: tensor<8xf32>) {
  %none = apc.none
  // expected-error @below {{operand 'y_scale' has shape [8], which is neither one scale nor one for each of the 128 indices of dim 1}}
  %0 = "apc.quantize_linear"(%x, %s, %none) : (tensor<8x128xf32>, tensor<8xf32>, none) -> tensor<8x128xui8>
  return
}

// -----

func.func @blocks(%x: tensor<8x128xi8>, %s: tensor<8x3xf32>) {
  %none = apc.none
  // expected-error @below {{operand 'x_scale' has shape [8, 3], which is not one scale for each block of 32 along dim 1 of [8, 128]}}
  %0 = "apc.dequantize_linear"(%x, %s, %none) {block_size = 32 : i64} : (tensor<8x128xi8>, tensor<8x3xf32>, none) -> tensor<8x128xf32>
  return
}

// -----

func.func @transform(%x: tensor<3x10x2xf32>, %length: tensor<i64>) {
  %none = apc.none
  // expected-error @below {{operand 'dft_length' decides a shape, so it must follow from constants and input shapes}}
  %0 = "apc.dft"(%x, %length, %none) : (tensor<3x10x2xf32>, tensor<i64>, none) -> tensor<3x10x2xf32>
  return
}

// -----

func.func @corners(%x: tensor<1x2x8x8xf32>, %r: tensor<3x5xf32>, %b: tensor<3xi64>) {
  // expected-error @below {{operand 'rois' has shape [3, 5] where [-1, 4] is needed}}
  %0 = "apc.roi_align"(%x, %r, %b) : (tensor<1x2x8x8xf32>, tensor<3x5xf32>, tensor<3xi64>) -> tensor<3x2x1x1xf32>
  return
}

// -----

func.func @nothing_to_pool(%x: tensor<1x2x0x8xf32>, %r: tensor<3x4xf32>, %b: tensor<3xi64>) {
  // expected-error @below {{operand 'X' of shape [1, 2, 0, 8] has no elements to pool}}
  %0 = "apc.roi_align"(%x, %r, %b) : (tensor<1x2x0x8xf32>, tensor<3x4xf32>, tensor<3xi64>) -> tensor<3x2x1x1xf32>
  return
}

// -----

func.func @channel_scales(%x: tensor<1x2x8xui8>, %s: tensor<f32>, %z: tensor<ui8>, %w: tensor<4x2x3xi8>, %ws: tensor<3xf32>, %wz: tensor<i8>) {
  %none = apc.none
  // expected-error @below {{operand 'w_scale' has shape [3]; one element or one for each output channel is needed}}
  %0 = "apc.qlinear_conv"(%x, %s, %z, %w, %ws, %wz, %s, %z, %none) : (tensor<1x2x8xui8>, tensor<f32>, tensor<ui8>, tensor<4x2x3xi8>, tensor<3xf32>, tensor<i8>, tensor<f32>, tensor<ui8>, none) -> tensor<1x4x6xui8>
  return
}

// -----

func.func @way(%x: tensor<1x2x8x8xf32>) {
  %none = apc.none
  %sizes = apc.constant dense<[1, 2, 4, 4]> : tensor<4xi64>
  // expected-error @below {{attribute 'mode' failed to satisfy constraint: one of nearest, linear, cubic}}
  %0 = "apc.resize"(%x, %none, %none, %sizes) {mode = "quadratic"} : (tensor<1x2x8x8xf32>, none, none, tensor<4xi64>) -> tensor<1x2x4x4xf32>
  return
}

// -----

func.func @grid_gradient_space(%dy: tensor<2x3x5x6xf32>, %grid: tensor<2x5x6x2xf32>) {
  // expected-error @below {{'data_shape' has 1 values where 2 dims of space are}}
  %0 = "apc.grid_sample_input_grad"(%dy, %grid) {data_shape = array<i64: 8>} : (tensor<2x3x5x6xf32>, tensor<2x5x6x2xf32>) -> tensor<2x3x8xf32>
  return
}

// -----

func.func @grid_gradient_points(%dy: tensor<2x3x5x6xf32>, %x: tensor<2x3x8x8xf32>, %grid: tensor<2x5x7x2xf32>) {
  // expected-error @below {{operand 'grid' has shape [2, 5, 7, 2] where [2, 5, 6, 2] is needed}}
  %0 = "apc.grid_sample_grid_grad"(%dy, %x, %grid) : (tensor<2x3x5x6xf32>, tensor<2x3x8x8xf32>, tensor<2x5x7x2xf32>) -> tensor<2x5x7x2xf32>
  return
}

// -----

func.func @regions_without_map(%dy: tensor<3x2x1x1xf32>, %r: tensor<3x4xf32>, %b: tensor<3xi64>) {
  %none = apc.none
  // expected-error @below {{needs operand 'X' to find maxima}}
  %0 = "apc.roi_align_grad"(%dy, %none, %r, %b) {data_shape = array<i64: 1, 8, 8>, mode = "max"} : (tensor<3x2x1x1xf32>, none, tensor<3x4xf32>, tensor<3xi64>) -> tensor<1x2x8x8xf32>
  return
}

// -----

func.func @columns_of_no_space(%x: tensor<2x3xf32>) {
  // expected-error @below {{operand 'image' has 2 dims; batch, channels and at least one dim of space are needed}}
  %0 = "apc.im2col"(%x) {kernel_shape = array<i64: 2>} : (tensor<2x3xf32>) -> tensor<2x6x1xf32>
  return
}
