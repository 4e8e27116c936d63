// Reductions and losses, one in each function.

func.func @mean(%x: tensor<3x5xf32>) -> tensor<3x1xf32> {
  %axis = apc.constant dense<1> : tensor<1xi64>
  %0 = "apc.reduce_mean"(%x, %axis) : (tensor<3x5xf32>, tensor<1xi64>) -> tensor<3x1xf32>
  return %0 : tensor<3x1xf32>
}
func.func @max(%x: tensor<3x5xf32>) -> tensor<1x5xf32> {
  %axis = apc.constant dense<0> : tensor<1xi64>
  %0 = "apc.reduce_max"(%x, %axis) : (tensor<3x5xf32>, tensor<1xi64>) -> tensor<1x5xf32>
  return %0 : tensor<1x5xf32>
}
// 6 labels over [2, 2] are 0-1, 2 | 3-4, 5, with padding between them.
func.func @cross_entropy(%x: tensor<2x3x6xf32>, %labels: tensor<2x6xi64> {test.below = 3 : i64}, %w: tensor<3xf32>) -> tensor<f32> {
  %0:2 = "apc.softmax_cross_entropy_loss"(%x, %labels, %w) {ignore_index = 1 : i64} : (tensor<2x3x6xf32>, tensor<2x6xi64>, tensor<3xf32>) -> (tensor<f32>, none)
  return %0#0 : tensor<f32>
}
