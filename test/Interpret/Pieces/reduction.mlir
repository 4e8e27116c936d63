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
// 5 classes over [2, 2] are 0-1, 2 | 3-4, -: a device may hold nothing but padding.
func.func @log_sum(%x: tensor<3x5x2xf32>) -> tensor<3x1x2xf32> {
  %axis = apc.constant dense<1> : tensor<1xi64>
  %0 = "apc.log_sum_exp"(%x, %axis) : (tensor<3x5x2xf32>, tensor<1xi64>) -> tensor<3x1x2xf32>
  return %0 : tensor<3x1x2xf32>
}
func.func @log_sum_of_two(%x: tensor<3x4x5xf32>) -> tensor<4xf32> {
  %axes = apc.constant dense<[0, 2]> : tensor<2xi64>
  %0 = "apc.reduce_log_sum_exp"(%x, %axes) {keepdims = 0 : i64} : (tensor<3x4x5xf32>, tensor<2xi64>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @picked(%x: tensor<2x5x6xf32>, %s: tensor<2x1x6xf32>, %labels: tensor<2x6xi64> {test.below = 5 : i64}, %w: tensor<5xf32>) -> tensor<f32> {
  %0 = "apc.cross_entropy"(%x, %s, %labels, %w) {ignore_index = 1 : i64} : (tensor<2x5x6xf32>, tensor<2x1x6xf32>, tensor<2x6xi64>, tensor<5xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func @picked_sum(%x: tensor<6x5xf32>, %s: tensor<6x1xf32>, %labels: tensor<6xi64> {test.below = 5 : i64}) -> tensor<f32> {
  %none = apc.none
  %0 = "apc.cross_entropy"(%x, %s, %labels, %none) {reduction = "sum"} : (tensor<6x5xf32>, tensor<6x1xf32>, tensor<6xi64>, none) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func @picked_rows(%x: tensor<2x5x3xf32>, %s: tensor<2x1x3xf32>, %labels: tensor<2x3xi64> {test.below = 5 : i64}, %w: tensor<5xf32>) -> tensor<2x3xf32> {
  %0 = "apc.cross_entropy"(%x, %s, %labels, %w) {reduction = "none"} : (tensor<2x5x3xf32>, tensor<2x1x3xf32>, tensor<2x3xi64>, tensor<5xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
func.func @softmax_by(%x: tensor<3x5x2xf32>, %s: tensor<3x1x2xf32>) -> tensor<3x5x2xf32> {
  %0 = "apc.softmax_by"(%x, %s) : (tensor<3x5x2xf32>, tensor<3x1x2xf32>) -> tensor<3x5x2xf32>
  return %0 : tensor<3x5x2xf32>
}
