// Pools and grouped convolutions, one in each function: windows and groups that two, three, four and six devices cut evenly or not.

func.func @max_pool(%x: tensor<2x5x20xf32>) -> tensor<2x5x1xf32> {
  %0:2 = "apc.max_pool"(%x) {kernel_shape = array<i64: 20>, strides = array<i64: 20>} : (tensor<2x5x20xf32>) -> (tensor<2x5x1xf32>, none)
  return %0#0 : tensor<2x5x1xf32>
}
func.func @average_pool(%x: tensor<2x5x20xf32>) -> tensor<2x5x1xf32> {
  %0 = "apc.average_pool"(%x) {kernel_shape = array<i64: 20>, strides = array<i64: 20>} : (tensor<2x5x20xf32>) -> tensor<2x5x1xf32>
  return %0 : tensor<2x5x1xf32>
}
func.func @depthwise(%x: tensor<2x4x6xf32>, %w: tensor<4x1x3xf32>, %b: tensor<4xf32>) -> tensor<2x4x4xf32> {
  %0 = "apc.conv"(%x, %w, %b) {group = 4 : i64} : (tensor<2x4x6xf32>, tensor<4x1x3xf32>, tensor<4xf32>) -> tensor<2x4x4xf32>
  return %0 : tensor<2x4x4xf32>
}
