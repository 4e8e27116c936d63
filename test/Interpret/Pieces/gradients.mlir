// Ops that only gradients are made of, one in each function.

func.func @table(%dy: tensor<2x3x4xf32>, %ids: tensor<2x3xi64> {test.below = 7 : i64}) -> tensor<7x4xf32> {
  %0 = "apc.gather_grad"(%dy, %ids) {shape = array<i64: 7, 4>} : (tensor<2x3x4xf32>, tensor<2x3xi64>) -> tensor<7x4xf32>
  return %0 : tensor<7x4xf32>
}
func.func @inner_axis(%dy: tensor<4x5xf32>, %ids: tensor<5xi64> {test.below = 6 : i64}) -> tensor<4x6xf32> {
  %0 = "apc.gather_grad"(%dy, %ids) {axis = -1 : i64, shape = array<i64: 4, 6>} : (tensor<4x5xf32>, tensor<5xi64>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}
func.func @tuples(%dy: tensor<3x5x2xf32>, %at: tensor<3x5x1xi64> {test.below = 4 : i64}) -> tensor<3x4x2xf32> {
  %0 = "apc.gather_nd_grad"(%dy, %at) {batch_dims = 1 : i64, shape = array<i64: 3, 4, 2>} : (tensor<3x5x2xf32>, tensor<3x5x1xi64>) -> tensor<3x4x2xf32>
  return %0 : tensor<3x4x2xf32>
}
func.func @activation(%dy: tensor<3x5xf32>, %x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %0 = "apc.gelu_grad"(%dy, %x) : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}
func.func @cross_entropy(%dy: tensor<f32>, %x: tensor<3x4x5xf32>, %s: tensor<3x1x5xf32>, %labels: tensor<3x5xi64> {test.below = 4 : i64}, %w: tensor<4xf32>) -> tensor<3x4x5xf32> {
  %0 = "apc.cross_entropy_grad"(%dy, %x, %s, %labels, %w) {ignore_index = 2 : i64} : (tensor<f32>, tensor<3x4x5xf32>, tensor<3x1x5xf32>, tensor<3x5xi64>, tensor<4xf32>) -> tensor<3x4x5xf32>
  return %0 : tensor<3x4x5xf32>
}
func.func @cross_entropy_rows(%dy: tensor<3x5xf32>, %x: tensor<3x4x5xf32>, %s: tensor<3x1x5xf32>, %labels: tensor<3x5xi64> {test.below = 4 : i64}) -> tensor<3x4x5xf32> {
  %none = apc.none
  %0 = "apc.cross_entropy_grad"(%dy, %x, %s, %labels, %none) {reduction = "none"} : (tensor<3x5xf32>, tensor<3x4x5xf32>, tensor<3x1x5xf32>, tensor<3x5xi64>, none) -> tensor<3x4x5xf32>
  return %0 : tensor<3x4x5xf32>
}
func.func @likelihood(%dy: tensor<f32>, %x: tensor<3x5xf32>, %labels: tensor<3xi64> {test.below = 5 : i64}, %w: tensor<5xf32>) -> tensor<3x5xf32> {
  %0 = "apc.negative_log_likelihood_grad"(%dy, %x, %labels, %w) : (tensor<f32>, tensor<3x5xf32>, tensor<3xi64>, tensor<5xf32>) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}
func.func @likelihood_rows(%dy: tensor<3xf32>, %x: tensor<3x5xf32>, %labels: tensor<3xi64> {test.below = 5 : i64}) -> tensor<3x5xf32> {
  %none = apc.none
  %0 = "apc.negative_log_likelihood_grad"(%dy, %x, %labels, %none) {reduction = "none"} : (tensor<3xf32>, tensor<3x5xf32>, tensor<3xi64>, none) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}
func.func @softmax(%dy: tensor<3x4x5xf32>, %y: tensor<3x4x5xf32>) -> tensor<3x4x5xf32> {
  %0 = "apc.softmax_grad"(%dy, %y) {axis = 1 : i64} : (tensor<3x4x5xf32>, tensor<3x4x5xf32>) -> tensor<3x4x5xf32>
  return %0 : tensor<3x4x5xf32>
}
func.func @log_softmax(%dy: tensor<3x4x5xf32>, %y: tensor<3x4x5xf32>) -> tensor<3x4x5xf32> {
  %0 = "apc.log_softmax_grad"(%dy, %y) {opset_version = 11 : i64} : (tensor<3x4x5xf32>, tensor<3x4x5xf32>) -> tensor<3x4x5xf32>
  return %0 : tensor<3x4x5xf32>
}
func.func @layer(%dy: tensor<3x4x5xf32>, %x: tensor<3x4x5xf32>, %s: tensor<5xf32>) -> tensor<3x4x5xf32> {
  %0 = "apc.layer_normalization_grad"(%dy, %x, %s) : (tensor<3x4x5xf32>, tensor<3x4x5xf32>, tensor<5xf32>) -> tensor<3x4x5xf32>
  return %0 : tensor<3x4x5xf32>
}
func.func @layer_scale(%dy: tensor<3x4x5xf32>, %x: tensor<3x4x5xf32>) -> tensor<5xf32> {
  %0 = "apc.layer_normalization_scale_grad"(%dy, %x) {centred = 0 : i64} : (tensor<3x4x5xf32>, tensor<3x4x5xf32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}
func.func @batch(%x: tensor<3x4x5xf32>, %s: tensor<4xf32>, %b: tensor<4xf32>, %m: tensor<4xf32>, %v: tensor<4xf32>) -> tensor<3x4x5xf32> {
  %0 = "apc.batch_normalize"(%x, %s, %b, %m, %v) {epsilon = 2.0 : f32} : (tensor<3x4x5xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<3x4x5xf32>
  return %0 : tensor<3x4x5xf32>
}
func.func @batch_grad(%dy: tensor<3x4x5xf32>, %x: tensor<3x4x5xf32>, %s: tensor<4xf32>, %m: tensor<4xf32>, %v: tensor<4xf32>, %ds: tensor<4xf32>, %db: tensor<4xf32>) -> tensor<3x4x5xf32> {
  %0 = "apc.batch_normalize_grad"(%dy, %x, %s, %m, %v, %ds, %db) {epsilon = 2.0 : f32} : (tensor<3x4x5xf32>, tensor<3x4x5xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<3x4x5xf32>
  return %0 : tensor<3x4x5xf32>
}
func.func @batch_scale(%dy: tensor<3x4x5xf32>, %x: tensor<3x4x5xf32>, %m: tensor<4xf32>, %v: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "apc.batch_scale_grad"(%dy, %x, %m, %v) {epsilon = 2.0 : f32} : (tensor<3x4x5xf32>, tensor<3x4x5xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @conv_input(%dy: tensor<3x6x4xf32>, %w: tensor<6x2x3xf32>) -> tensor<3x6x5xf32> {
  %0 = "apc.conv_input_grad"(%dy, %w) {data_shape = array<i64: 5>, group = 3 : i64, pads = array<i64: 1, 0>} : (tensor<3x6x4xf32>, tensor<6x2x3xf32>) -> tensor<3x6x5xf32>
  return %0 : tensor<3x6x5xf32>
}
func.func @conv_weight(%x: tensor<3x6x5xf32>, %dy: tensor<3x6x4xf32>) -> tensor<6x2x3xf32> {
  %0 = "apc.conv_weight_grad"(%x, %dy) {kernel_shape = array<i64: 3>, group = 3 : i64, pads = array<i64: 1, 0>} : (tensor<3x6x5xf32>, tensor<3x6x4xf32>) -> tensor<6x2x3xf32>
  return %0 : tensor<6x2x3xf32>
}
func.func @tiled_conv_input(%dy: tensor<3x4x2xf32>, %w: tensor<4x5x4xf32>) -> tensor<3x5x8xf32> {
  %0 = "apc.conv_input_grad"(%dy, %w) {data_shape = array<i64: 8>, strides = array<i64: 4>} : (tensor<3x4x2xf32>, tensor<4x5x4xf32>) -> tensor<3x5x8xf32>
  return %0 : tensor<3x5x8xf32>
}
func.func @tiled_conv_weight(%x: tensor<3x5x8xf32>, %dy: tensor<3x4x2xf32>) -> tensor<4x5x4xf32> {
  %0 = "apc.conv_weight_grad"(%x, %dy) {kernel_shape = array<i64: 4>, strides = array<i64: 4>} : (tensor<3x5x8xf32>, tensor<3x4x2xf32>) -> tensor<4x5x4xf32>
  return %0 : tensor<4x5x4xf32>
}
func.func @max_pool(%dy: tensor<3x5x4x3xf32>, %x: tensor<3x5x4x6xf32>) -> tensor<3x5x4x6xf32> {
  %0 = "apc.max_pool_grad"(%dy, %x) {kernel_shape = array<i64: 3, 2>, pads = array<i64: 1, 0, 1, 0>, strides = array<i64: 1, 2>} : (tensor<3x5x4x3xf32>, tensor<3x5x4x6xf32>) -> tensor<3x5x4x6xf32>
  return %0 : tensor<3x5x4x6xf32>
}
func.func @average_pool(%dy: tensor<3x5x4x3xf32>) -> tensor<3x5x4x6xf32> {
  %0 = "apc.average_pool_grad"(%dy) {data_shape = array<i64: 4, 6>, kernel_shape = array<i64: 3, 2>, pads = array<i64: 1, 0, 1, 0>, strides = array<i64: 1, 2>} : (tensor<3x5x4x3xf32>) -> tensor<3x5x4x6xf32>
  return %0 : tensor<3x5x4x6xf32>
}
func.func @attention_query(%q: tensor<3x6x5x2xf32>, %k: tensor<3x3x4x2xf32>, %v: tensor<3x3x4x3xf32>, %mask: tensor<5x4xi1>, %dy: tensor<3x6x5x3xf32>) -> tensor<3x6x5x2xf32> {
  %0 = "apc.softmax_attention_query_grad"(%q, %k, %v, %mask, %dy) {fill = -2.0 : f32} : (tensor<3x6x5x2xf32>, tensor<3x3x4x2xf32>, tensor<3x3x4x3xf32>, tensor<5x4xi1>, tensor<3x6x5x3xf32>) -> tensor<3x6x5x2xf32>
  return %0 : tensor<3x6x5x2xf32>
}
func.func @attention_key(%q: tensor<3x6x5x2xf32>, %k: tensor<3x3x2x4xf32>, %v: tensor<3x3x4x3xf32>, %mask: tensor<5x4xf32>, %dy: tensor<3x6x5x3xf32>) -> tensor<3x3x2x4xf32> {
  %0 = "apc.softmax_attention_key_grad"(%q, %k, %v, %mask, %dy) {keys_transposed = 1 : i64} : (tensor<3x6x5x2xf32>, tensor<3x3x2x4xf32>, tensor<3x3x4x3xf32>, tensor<5x4xf32>, tensor<3x6x5x3xf32>) -> tensor<3x3x2x4xf32>
  return %0 : tensor<3x3x2x4xf32>
}
func.func @attention_value(%q: tensor<3x6x5x2xf32>, %k: tensor<3x3x4x2xf32>, %v: tensor<3x3x4x3xf32>, %dy: tensor<3x6x5x3xf32>) -> tensor<3x3x4x3xf32> {
  %none = apc.none
  %0 = "apc.softmax_attention_value_grad"(%q, %k, %v, %none, %dy) : (tensor<3x6x5x2xf32>, tensor<3x3x4x2xf32>, tensor<3x3x4x3xf32>, none, tensor<3x6x5x3xf32>) -> tensor<3x3x4x3xf32>
  return %0 : tensor<3x3x4x3xf32>
}
func.func @of_log_prob(%dy: tensor<f32>, %p: tensor<3x5x2xf32>, %labels: tensor<3x2xi64> {test.below = 5 : i64}, %w: tensor<5xf32>, %b: tensor<3x5x2xf32>) -> tensor<3x5x2xf32> {
  %0 = "apc.softmax_cross_entropy_loss_grad"(%dy, %p, %labels, %w, %b) {ignore_index = 2 : i64} : (tensor<f32>, tensor<3x5x2xf32>, tensor<3x2xi64>, tensor<5xf32>, tensor<3x5x2xf32>) -> tensor<3x5x2xf32>
  return %0 : tensor<3x5x2xf32>
}
func.func @of_log_prob_rows(%dy: tensor<6xf32>, %p: tensor<6x5xf32>, %labels: tensor<6xi64> {test.below = 5 : i64}) -> tensor<6x5xf32> {
  %none = apc.none
  %0 = "apc.softmax_cross_entropy_loss_grad"(%dy, %p, %labels, %none, %none) {reduction = "none"} : (tensor<6xf32>, tensor<6x5xf32>, tensor<6xi64>, none, none) -> tensor<6x5xf32>
  return %0 : tensor<6x5xf32>
}
func.func @of_log_prob_sum(%dy: tensor<f32>, %p: tensor<6x5xf32>, %labels: tensor<6xi64> {test.below = 5 : i64}) -> tensor<6x5xf32> {
  %none = apc.none
  %0 = "apc.softmax_cross_entropy_loss_grad"(%dy, %p, %labels, %none, %none) {reduction = "sum"} : (tensor<f32>, tensor<6x5xf32>, tensor<6xi64>, none, none) -> tensor<6x5xf32>
  return %0 : tensor<6x5xf32>
}
func.func @softmax_sum(%dy: tensor<3x5x2xf32>, %y: tensor<3x5x2xf32>) -> tensor<3x1x2xf32> {
  %0 = "apc.softmax_grad_sum"(%dy, %y) {axis = 1 : i64} : (tensor<3x5x2xf32>, tensor<3x5x2xf32>) -> tensor<3x1x2xf32>
  return %0 : tensor<3x1x2xf32>
}
func.func @softmax_by_sum(%dy: tensor<3x5x2xf32>, %y: tensor<3x5x2xf32>, %s: tensor<3x1x2xf32>) -> tensor<3x5x2xf32> {
  %0 = "apc.softmax_grad_by"(%dy, %y, %s) {log = 1 : i64} : (tensor<3x5x2xf32>, tensor<3x5x2xf32>, tensor<3x1x2xf32>) -> tensor<3x5x2xf32>
  return %0 : tensor<3x5x2xf32>
}
func.func @attention_mask(%q: tensor<3x6x5x2xf32>, %k: tensor<3x3x4x2xf32>, %v: tensor<3x3x4x3xf32>, %mask: tensor<6x1x4xf32>, %dy: tensor<3x6x5x3xf32>) -> tensor<6x1x4xf32> {
  %0 = "apc.softmax_attention_mask_grad"(%q, %k, %v, %mask, %dy) : (tensor<3x6x5x2xf32>, tensor<3x3x4x2xf32>, tensor<3x3x4x3xf32>, tensor<6x1x4xf32>, tensor<3x6x5x3xf32>) -> tensor<6x1x4xf32>
  return %0 : tensor<6x1x4xf32>
}
func.func @layer_means(%dy: tensor<3x4x5xf32>, %x: tensor<3x4x5xf32>, %s: tensor<3x4x2xf32>, %g: tensor<5xf32>) -> tensor<3x4x2xf32> {
  %0 = "apc.layer_gradient_statistics"(%dy, %x, %s, %g) {epsilon = 2.0 : f32} : (tensor<3x4x5xf32>, tensor<3x4x5xf32>, tensor<3x4x2xf32>, tensor<5xf32>) -> tensor<3x4x2xf32>
  return %0 : tensor<3x4x2xf32>
}
func.func @layer_of_means(%dy: tensor<3x4x5xf32>, %x: tensor<3x4x5xf32>, %s: tensor<3x1xf32>, %g: tensor<4x5xf32>, %m: tensor<3x1xf32>) -> tensor<3x4x5xf32> {
  %0 = "apc.layer_normalize_grad"(%dy, %x, %s, %g, %m) {axis = 1 : i64, centred = 0 : i64, epsilon = 2.0 : f32} : (tensor<3x4x5xf32>, tensor<3x4x5xf32>, tensor<3x1xf32>, tensor<4x5xf32>, tensor<3x1xf32>) -> tensor<3x4x5xf32>
  return %0 : tensor<3x4x5xf32>
}
func.func @layer_scale_by(%dy: tensor<3x4x5xf32>, %x: tensor<3x4x5xf32>, %s: tensor<3x4x2xf32>) -> tensor<5xf32> {
  %0 = "apc.layer_normalize_scale_grad"(%dy, %x, %s) {epsilon = 2.0 : f32} : (tensor<3x4x5xf32>, tensor<3x4x5xf32>, tensor<3x4x2xf32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}
func.func @split_query(%q: tensor<3x6x5x2xf32>, %k: tensor<3x3x5x2xf32>, %v: tensor<3x3x5x3xf32>, %mask: tensor<5x5xi1>, %dy: tensor<3x6x5x3xf32>, %y: tensor<3x6x5x3xf32>, %s: tensor<3x6x5xf32>) -> tensor<3x6x5x2xf32> {
  %0 = "apc.softmax_attention_by_query_grad"(%q, %k, %v, %mask, %dy, %y, %s) {fill = -2.0 : f32} : (tensor<3x6x5x2xf32>, tensor<3x3x5x2xf32>, tensor<3x3x5x3xf32>, tensor<5x5xi1>, tensor<3x6x5x3xf32>, tensor<3x6x5x3xf32>, tensor<3x6x5xf32>) -> tensor<3x6x5x2xf32>
  return %0 : tensor<3x6x5x2xf32>
}
func.func @split_key(%q: tensor<3x6x5x2xf32>, %k: tensor<3x3x5x2xf32>, %v: tensor<3x3x5x3xf32>, %mask: tensor<5x5xf32>, %dy: tensor<3x6x5x3xf32>, %y: tensor<3x6x5x3xf32>, %s: tensor<3x6x5xf32>) -> tensor<3x3x5x2xf32> {
  %0 = "apc.softmax_attention_by_key_grad"(%q, %k, %v, %mask, %dy, %y, %s) {scale = 0.5 : f32} : (tensor<3x6x5x2xf32>, tensor<3x3x5x2xf32>, tensor<3x3x5x3xf32>, tensor<5x5xf32>, tensor<3x6x5x3xf32>, tensor<3x6x5x3xf32>, tensor<3x6x5xf32>) -> tensor<3x3x5x2xf32>
  return %0 : tensor<3x3x5x2xf32>
}
func.func @split_value(%q: tensor<3x6x5x2xf32>, %k: tensor<3x3x5x2xf32>, %v: tensor<3x3x5x3xf32>, %dy: tensor<3x6x5x3xf32>, %s: tensor<3x6x5xf32>) -> tensor<3x3x5x3xf32> {
  %none = apc.none
  %0 = "apc.softmax_attention_by_value_grad"(%q, %k, %v, %none, %dy, %none, %s) : (tensor<3x6x5x2xf32>, tensor<3x3x5x2xf32>, tensor<3x3x5x3xf32>, none, tensor<3x6x5x3xf32>, none, tensor<3x6x5xf32>) -> tensor<3x3x5x3xf32>
  return %0 : tensor<3x3x5x3xf32>
}
func.func @split_mask(%q: tensor<3x6x5x2xf32>, %k: tensor<3x3x5x2xf32>, %v: tensor<3x3x5x3xf32>, %mask: tensor<6x5x1xf32>, %dy: tensor<3x6x5x3xf32>, %y: tensor<3x6x5x3xf32>, %s: tensor<3x6x5xf32>) -> tensor<6x5x1xf32> {
  %0 = "apc.softmax_attention_by_mask_grad"(%q, %k, %v, %mask, %dy, %y, %s) : (tensor<3x6x5x2xf32>, tensor<3x3x5x2xf32>, tensor<3x3x5x3xf32>, tensor<6x5x1xf32>, tensor<3x6x5x3xf32>, tensor<3x6x5x3xf32>, tensor<3x6x5xf32>) -> tensor<6x5x1xf32>
  return %0 : tensor<6x5x1xf32>
}
func.func @columns(%dy: tensor<3x4x5x6xf32>) -> tensor<3x24x15xf32> {
  %0 = "apc.im2col"(%dy) {kernel_shape = array<i64: 2, 3>, pads = array<i64: 1, 1, 0, 1>, strides = array<i64: 1, 2>, dilations = array<i64: 1, 1>} : (tensor<3x4x5x6xf32>) -> tensor<3x24x15xf32>
  return %0 : tensor<3x24x15xf32>
}
func.func @grid_sample_input(%dy: tensor<3x4x5x2xf32>, %grid: tensor<3x5x2x2xf32>) -> tensor<3x4x3x4xf32> {
  %0 = "apc.grid_sample_input_grad"(%dy, %grid) {data_shape = array<i64: 3, 4>, padding_mode = "reflection"} : (tensor<3x4x5x2xf32>, tensor<3x5x2x2xf32>) -> tensor<3x4x3x4xf32>
  return %0 : tensor<3x4x3x4xf32>
}
func.func @grid_sample_grid(%dy: tensor<3x4x5x2xf32>, %x: tensor<3x4x3x4xf32>, %grid: tensor<3x5x2x2xf32>) -> tensor<3x5x2x2xf32> {
  %0 = "apc.grid_sample_grid_grad"(%dy, %x, %grid) {mode = "cubic"} : (tensor<3x4x5x2xf32>, tensor<3x4x3x4xf32>, tensor<3x5x2x2xf32>) -> tensor<3x5x2x2xf32>
  return %0 : tensor<3x5x2x2xf32>
}
func.func @regions_mean(%dy: tensor<5x4x2x2xf32>, %boxes: tensor<5x4xf32>, %images: tensor<5xi64> {test.below = 3 : i64}) -> tensor<3x4x3x4xf32> {
  %none = apc.none
  %0 = "apc.roi_align_grad"(%dy, %none, %boxes, %images) {data_shape = array<i64: 3, 3, 4>, sampling_ratio = 2 : i64, spatial_scale = 3.0 : f32} : (tensor<5x4x2x2xf32>, none, tensor<5x4xf32>, tensor<5xi64>) -> tensor<3x4x3x4xf32>
  return %0 : tensor<3x4x3x4xf32>
}
func.func @regions_share(%dy: tensor<5x4x2x2xf32>, %x: tensor<3x4x3x4xf32>, %boxes: tensor<5x4xf32>, %images: tensor<5xi64> {test.below = 3 : i64}) -> tensor<3x4x3x4xf32> {
  %0 = "apc.roi_align_grad"(%dy, %x, %boxes, %images) {data_shape = array<i64: 3, 3, 4>, mode = "max", sampling_ratio = 2 : i64, spatial_scale = 3.0 : f32} : (tensor<5x4x2x2xf32>, tensor<3x4x3x4xf32>, tensor<5x4xf32>, tensor<5xi64>) -> tensor<3x4x3x4xf32>
  return %0 : tensor<3x4x3x4xf32>
}
func.func @regions_maximum(%dy: tensor<5x4x2x2xf32>, %x: tensor<3x4x3x4xf32>, %boxes: tensor<5x5xf32> {test.positive}) -> tensor<3x4x3x4xf32> {
  %0 = "apc.max_roi_pool_grad"(%dy, %x, %boxes) {spatial_scale = 3.0 : f32} : (tensor<5x4x2x2xf32>, tensor<3x4x3x4xf32>, tensor<5x5xf32>) -> tensor<3x4x3x4xf32>
  return %0 : tensor<3x4x3x4xf32>
}
func.func @capped_query(%q: tensor<3x6x5x2xf32>, %k: tensor<3x3x2x4xf32>, %v: tensor<3x3x4x3xf32>, %mask: tensor<5x4xi1>, %dy: tensor<3x6x5x3xf32>) -> tensor<3x6x5x2xf32> {
  %0 = "apc.softmax_attention_query_grad"(%q, %k, %v, %mask, %dy) {fill = -2.0 : f32, keys_transposed = 1 : i64, softcap = 0.75 : f32} : (tensor<3x6x5x2xf32>, tensor<3x3x2x4xf32>, tensor<3x3x4x3xf32>, tensor<5x4xi1>, tensor<3x6x5x3xf32>) -> tensor<3x6x5x2xf32>
  return %0 : tensor<3x6x5x2xf32>
}
func.func @capped_key(%q: tensor<3x6x5x2xf32>, %k: tensor<3x3x4x2xf32>, %v: tensor<3x3x4x3xf32>, %mask: tensor<5x4xf32>, %dy: tensor<3x6x5x3xf32>) -> tensor<3x3x4x2xf32> {
  %0 = "apc.softmax_attention_key_grad"(%q, %k, %v, %mask, %dy) {softcap = 0.75 : f32} : (tensor<3x6x5x2xf32>, tensor<3x3x4x2xf32>, tensor<3x3x4x3xf32>, tensor<5x4xf32>, tensor<3x6x5x3xf32>) -> tensor<3x3x4x2xf32>
  return %0 : tensor<3x3x4x2xf32>
}
func.func @capped_value(%q: tensor<3x6x5x2xf32>, %k: tensor<3x3x4x2xf32>, %v: tensor<3x3x4x3xf32>, %dy: tensor<3x6x5x3xf32>) -> tensor<3x3x4x3xf32> {
  %none = apc.none
  %0 = "apc.softmax_attention_value_grad"(%q, %k, %v, %none, %dy) {softcap = 0.75 : f32} : (tensor<3x6x5x2xf32>, tensor<3x3x4x2xf32>, tensor<3x3x4x3xf32>, none, tensor<3x6x5x3xf32>) -> tensor<3x3x4x3xf32>
  return %0 : tensor<3x3x4x3xf32>
}
func.func @capped_mask(%q: tensor<3x6x5x2xf32>, %k: tensor<3x3x4x2xf32>, %v: tensor<3x3x4x3xf32>, %mask: tensor<6x1x4xf32>, %dy: tensor<3x6x5x3xf32>) -> tensor<6x1x4xf32> {
  %0 = "apc.softmax_attention_mask_grad"(%q, %k, %v, %mask, %dy) {softcap = 0.75 : f32} : (tensor<3x6x5x2xf32>, tensor<3x3x4x2xf32>, tensor<3x3x4x3xf32>, tensor<6x1x4xf32>, tensor<3x6x5x3xf32>) -> tensor<6x1x4xf32>
  return %0 : tensor<6x1x4xf32>
}
func.func @cofactors(%x: tensor<5x4x3x3xf32>) -> tensor<5x4x3x3xf32> {
  %0 = "apc.cofactors"(%x) : (tensor<5x4x3x3xf32>) -> tensor<5x4x3x3xf32>
  return %0 : tensor<5x4x3x3xf32>
}
func.func @linear_attention(%q: tensor<2x3x5x2x4xf32>, %k: tensor<2x3x5x2x4xf32>, %v: tensor<2x3x5x2x3xf32>, %s: tensor<2x5x2x4x3xf32>, %d: tensor<2x3x5x2x4xf32>, %b: tensor<2x3x5x2x1xf32>, %dy: tensor<2x3x5x2x3xf32>, %ds: tensor<2x5x2x4x3xf32>) -> (tensor<2x3x5x2x4xf32>, tensor<2x3x5x2x4xf32>, tensor<2x3x5x2x3xf32>, tensor<2x5x2x4x3xf32>, tensor<2x3x5x2x4xf32>, tensor<2x3x5x2x1xf32>) {
  %0:6 = "apc.linear_attention_grad"(%q, %k, %v, %s, %d, %b, %dy, %ds) {delta = 1 : i64, scale = 0.5 : f32} : (tensor<2x3x5x2x4xf32>, tensor<2x3x5x2x4xf32>, tensor<2x3x5x2x3xf32>, tensor<2x5x2x4x3xf32>, tensor<2x3x5x2x4xf32>, tensor<2x3x5x2x1xf32>, tensor<2x3x5x2x3xf32>, tensor<2x5x2x4x3xf32>) -> (tensor<2x3x5x2x4xf32>, tensor<2x3x5x2x4xf32>, tensor<2x3x5x2x3xf32>, tensor<2x5x2x4x3xf32>, tensor<2x3x5x2x4xf32>, tensor<2x3x5x2x1xf32>)
  return %0#0, %0#1, %0#2, %0#3, %0#4, %0#5 : tensor<2x3x5x2x4xf32>, tensor<2x3x5x2x4xf32>, tensor<2x3x5x2x3xf32>, tensor<2x5x2x4x3xf32>, tensor<2x3x5x2x4xf32>, tensor<2x3x5x2x1xf32>
}
func.func @blocks_of_weights(%b: tensor<4x8xui8> {test.below = 256 : i64}, %s: tensor<4x2xf32>) -> tensor<4x16xf32> {
  %none = apc.none
  %0 = "apc.unpack_weights"(%b, %s, %none, %none) {bits = 4 : i64, block_size = 8 : i64, columns = 16 : i64} : (tensor<4x8xui8>, tensor<4x2xf32>, none, none) -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}
func.func @packed_zeros(%b: tensor<2x3x4xui8> {test.below = 256 : i64}, %s: tensor<2x3x2xf32>, %z: tensor<2x3x1xui8> {test.below = 256 : i64}) -> tensor<2x3x8xf32> {
  %none = apc.none
  %0 = "apc.unpack_weights"(%b, %s, %z, %none) {bits = 4 : i64, block_size = 4 : i64, columns = 8 : i64} : (tensor<2x3x4xui8>, tensor<2x3x2xf32>, tensor<2x3x1xui8>, none) -> tensor<2x3x8xf32>
  return %0 : tensor<2x3x8xf32>
}
