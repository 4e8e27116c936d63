// Convolutions, pools and resampling, one in each function.

func.func @patches(%x: tensor<2x3x6x4xf32>, %w: tensor<5x3x3x4xf32>, %b: tensor<5xf32>) -> tensor<2x5x2x1xf32> {
  %0 = "apc.conv"(%x, %w, %b) {kernel_shape = array<i64: 3, 4>, strides = array<i64: 3, 4>} : (tensor<2x3x6x4xf32>, tensor<5x3x3x4xf32>, tensor<5xf32>) -> tensor<2x5x2x1xf32>
  return %0 : tensor<2x5x2x1xf32>
}
func.func @depthwise(%x: tensor<2x5x4xf32>, %w: tensor<5x1x3xf32>, %b: tensor<5xf32>) -> tensor<2x5x4xf32> {
  %0 = "apc.conv"(%x, %w, %b) {group = 5 : i64, auto_pad = "SAME_LOWER"} : (tensor<2x5x4xf32>, tensor<5x1x3xf32>, tensor<5xf32>) -> tensor<2x5x4xf32>
  return %0 : tensor<2x5x4xf32>
}
func.func @groups(%x: tensor<2x6x4xf32>, %w: tensor<4x3x3xf32>) -> tensor<2x4x2xf32> {
  %none = apc.none
  %0 = "apc.conv"(%x, %w, %none) {group = 2 : i64} : (tensor<2x6x4xf32>, tensor<4x3x3xf32>, none) -> tensor<2x4x2xf32>
  return %0 : tensor<2x4x2xf32>
}
func.func @transposed(%x: tensor<2x4x3xf32>, %w: tensor<4x3x2xf32>, %b: tensor<6xf32>) -> tensor<2x6x6xf32> {
  %0 = "apc.conv_transpose"(%x, %w, %b) {group = 2 : i64, strides = array<i64: 2>, output_shape = array<i64: 6>} : (tensor<2x4x3xf32>, tensor<4x3x2xf32>, tensor<6xf32>) -> tensor<2x6x6xf32>
  return %0 : tensor<2x6x6xf32>
}
func.func @patches_back(%x: tensor<2x3x4x3xf32>, %w: tensor<3x2x2x5xf32>, %b: tensor<2xf32>) -> tensor<2x2x8x15xf32> {
  %0 = "apc.conv_transpose"(%x, %w, %b) {strides = array<i64: 2, 5>} : (tensor<2x3x4x3xf32>, tensor<3x2x2x5xf32>, tensor<2xf32>) -> tensor<2x2x8x15xf32>
  return %0 : tensor<2x2x8x15xf32>
}
func.func @one_patch_back(%x: tensor<2x3x1xf32>, %w: tensor<3x2x5xf32>) -> tensor<2x2x5xf32> {
  %none = apc.none
  %0 = "apc.conv_transpose"(%x, %w, %none) {kernel_shape = array<i64: 5>, strides = array<i64: 5>, auto_pad = "SAME_UPPER"} : (tensor<2x3x1xf32>, tensor<3x2x5xf32>, none) -> tensor<2x2x5xf32>
  return %0 : tensor<2x2x5xf32>
}
func.func @integers(%x: tensor<2x5x4xui8> {test.below = 200 : i64}, %w: tensor<3x5x2xi8> {test.below = 100 : i64}) -> tensor<2x3x3xi32> {
  %zero = apc.constant dense<7> : tensor<ui8>
  %zeros = apc.constant dense<[3, -4, 5]> : tensor<3xi8>
  %0 = "apc.conv_integer"(%x, %w, %zero, %zeros) : (tensor<2x5x4xui8>, tensor<3x5x2xi8>, tensor<ui8>, tensor<3xi8>) -> tensor<2x3x3xi32>
  return %0 : tensor<2x3x3xi32>
}
func.func @integers_without(%x: tensor<2x5x4xui8> {test.below = 200 : i64}, %w: tensor<3x5x2xi8> {test.below = 100 : i64}) -> tensor<2x3x3xi32> {
  %zero = apc.constant dense<7> : tensor<ui8>
  %none = apc.none
  %0 = "apc.conv_integer"(%x, %w, %zero, %none) : (tensor<2x5x4xui8>, tensor<3x5x2xi8>, tensor<ui8>, none) -> tensor<2x3x3xi32>
  return %0 : tensor<2x3x3xi32>
}
func.func @mean(%x: tensor<2x3x5x6xf32>) -> tensor<2x3x1x3xf32> {
  %0 = "apc.average_pool"(%x) {kernel_shape = array<i64: 5, 2>, strides = array<i64: 5, 2>} : (tensor<2x3x5x6xf32>) -> tensor<2x3x1x3xf32>
  return %0 : tensor<2x3x1x3xf32>
}
func.func @mean_on_pads(%x: tensor<2x3x5x6xf32>) -> tensor<2x3x1x6xf32> {
  %0 = "apc.average_pool"(%x) {kernel_shape = array<i64: 5, 3>, strides = array<i64: 5, 1>, pads = array<i64: 0, 1, 0, 1>} : (tensor<2x3x5x6xf32>) -> tensor<2x3x1x6xf32>
  return %0 : tensor<2x3x1x6xf32>
}
func.func @maximum(%x: tensor<2x3x5xf32>) -> tensor<2x3x1xf32> {
  %0:2 = "apc.max_pool"(%x) {kernel_shape = array<i64: 5>, strides = array<i64: 5>} : (tensor<2x3x5xf32>) -> (tensor<2x3x1xf32>, none)
  return %0#0 : tensor<2x3x1xf32>
}
func.func @norm(%x: tensor<2x3x4xf32>) -> tensor<2x3x2xf32> {
  %0 = "apc.lp_pool"(%x) {kernel_shape = array<i64: 2>, strides = array<i64: 2>, p = 3 : i64} : (tensor<2x3x4xf32>) -> tensor<2x3x2xf32>
  return %0 : tensor<2x3x2xf32>
}
func.func @global_mean(%x: tensor<2x3x5x3xf32>) -> tensor<2x3x1x1xf32> {
  %0 = "apc.global_average_pool"(%x) : (tensor<2x3x5x3xf32>) -> tensor<2x3x1x1xf32>
  return %0 : tensor<2x3x1x1xf32>
}
func.func @resize(%x: tensor<2x3x4xf32>) -> tensor<2x3x7xf32> {
  %none = apc.none
  %sizes = apc.constant dense<[2, 3, 7]> : tensor<3xi64>
  %0 = "apc.resize"(%x, %none, %none, %sizes) {mode = "cubic"} : (tensor<2x3x4xf32>, none, none, tensor<3xi64>) -> tensor<2x3x7xf32>
  return %0 : tensor<2x3x7xf32>
}
func.func @resize_last(%x: tensor<2x3x4xf32>) -> tensor<2x3x7xf32> {
  %none = apc.none
  %sizes = apc.constant dense<[7, 3]> : tensor<2xi64>
  %0 = "apc.resize"(%x, %none, %none, %sizes) {axes = array<i64: -1, 1>, mode = "linear"} : (tensor<2x3x4xf32>, none, none, tensor<2xi64>) -> tensor<2x3x7xf32>
  return %0 : tensor<2x3x7xf32>
}
func.func @grid(%theta: tensor<3x2x3xf32>) -> tensor<3x2x4x2xf32> {
  %size = apc.constant dense<[3, 1, 2, 4]> : tensor<4xi64>
  %0 = "apc.affine_grid"(%theta, %size) : (tensor<3x2x3xf32>, tensor<4xi64>) -> tensor<3x2x4x2xf32>
  return %0 : tensor<3x2x4x2xf32>
}
func.func @sample(%x: tensor<2x3x4x4xf32>, %grid: tensor<2x3x5x2xf32>) -> tensor<2x3x3x5xf32> {
  %0 = "apc.grid_sample"(%x, %grid) {mode = "cubic", padding_mode = "reflection"} : (tensor<2x3x4x4xf32>, tensor<2x3x5x2xf32>) -> tensor<2x3x3x5xf32>
  return %0 : tensor<2x3x3x5xf32>
}
func.func @deformed(%x: tensor<2x3x3x3xf32>, %w: tensor<4x3x2x2xf32>, %offset: tensor<2x8x2x2xf32>, %b: tensor<4xf32>, %mask: tensor<2x4x2x2xf32>) -> tensor<2x4x2x2xf32> {
  %0 = "apc.deform_conv"(%x, %w, %offset, %b, %mask) : (tensor<2x3x3x3xf32>, tensor<4x3x2x2xf32>, tensor<2x8x2x2xf32>, tensor<4xf32>, tensor<2x4x2x2xf32>) -> tensor<2x4x2x2xf32>
  return %0 : tensor<2x4x2x2xf32>
}
func.func @regions(%x: tensor<2x3x6x6xf32>, %rois: tensor<5x4xf32>, %samples: tensor<5xi64>) -> tensor<5x3x2x2xf32> {
  %0 = "apc.roi_align"(%x, %rois, %samples) {output_height = 2 : i64, output_width = 2 : i64, spatial_scale = 4.0 : f32, coordinate_transformation_mode = "output_half_pixel"} : (tensor<2x3x6x6xf32>, tensor<5x4xf32>, tensor<5xi64>) -> tensor<5x3x2x2xf32>
  return %0 : tensor<5x3x2x2xf32>
}
func.func @columns(%x: tensor<2x6x3xf32>) -> tensor<2x3x4xf32> {
  %image = apc.constant dense<4> : tensor<1xi64>
  %block = apc.constant dense<2> : tensor<1xi64>
  %0 = "apc.col2im"(%x, %image, %block) : (tensor<2x6x3xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}
func.func @spectra(%x: tensor<3x8x1xf32>, %w: tensor<4xf32>) -> tensor<3x3x3x2xf32> {
  %step = apc.constant dense<2> : tensor<i64>
  %none = apc.none
  %0 = "apc.stft"(%x, %step, %w, %none) : (tensor<3x8x1xf32>, tensor<i64>, tensor<4xf32>, none) -> tensor<3x3x3x2xf32>
  return %0 : tensor<3x3x3x2xf32>
}
func.func @frames_of_two_dims(%x: tensor<3x8xf32>, %w: tensor<4xf32>) -> tensor<3x3x3x2xf32> {
  %step = apc.constant dense<2> : tensor<i64>
  %none = apc.none
  %0 = "apc.stft"(%x, %step, %w, %none) : (tensor<3x8xf32>, tensor<i64>, tensor<4xf32>, none) -> tensor<3x3x3x2xf32>
  return %0 : tensor<3x3x3x2xf32>
}
