// Normalisations, one in each function.

func.func @softmax(%x: tensor<3x4x5xf32>) -> tensor<3x4x5xf32> {
  %0 = "apc.softmax"(%x) {axis = 1 : i64} : (tensor<3x4x5xf32>) -> tensor<3x4x5xf32>
  return %0 : tensor<3x4x5xf32>
}
func.func @flattened(%x: tensor<3x4x5xf32>) -> tensor<3x4x5xf32> {
  %0 = "apc.log_softmax"(%x) {axis = 1 : i64, opset_version = 11 : i64} : (tensor<3x4x5xf32>) -> tensor<3x4x5xf32>
  return %0 : tensor<3x4x5xf32>
}
func.func @layer(%x: tensor<3x4x5xf32>, %s: tensor<4x5xf32>, %b: tensor<5xf32>) -> (tensor<3x4x5xf32>, tensor<3x1x1xf32>, tensor<3x1x1xf32>) {
  %0:3 = "apc.layer_normalization"(%x, %s, %b) {axis = 1 : i64} : (tensor<3x4x5xf32>, tensor<4x5xf32>, tensor<5xf32>) -> (tensor<3x4x5xf32>, tensor<3x1x1xf32>, tensor<3x1x1xf32>)
  return %0#0, %0#1, %0#2 : tensor<3x4x5xf32>, tensor<3x1x1xf32>, tensor<3x1x1xf32>
}
func.func @skip(%x: tensor<3x4x5xf32>, %skip: tensor<4x5xf32>, %g: tensor<5xf32>, %b: tensor<5xf32>) -> (tensor<3x4x5xf32>, tensor<3x4x5xf32>) {
  %none = apc.none
  %0:4 = "apc.skip_layer_normalization"(%x, %skip, %g, %none, %b) : (tensor<3x4x5xf32>, tensor<4x5xf32>, tensor<5xf32>, none, tensor<5xf32>) -> (tensor<3x4x5xf32>, none, none, tensor<3x4x5xf32>)
  return %0#0, %0#3 : tensor<3x4x5xf32>, tensor<3x4x5xf32>
}
func.func @embed(%ids: tensor<3x4xi32> {test.below = 6 : i64}, %segments: tensor<3x4xi32>, %words: tensor<6x5xf32>, %positions: tensor<8x5xf32>, %table: tensor<2x5xf32>, %g: tensor<5xf32>, %b: tensor<5xf32>, %at: tensor<3x4xi32> {test.below = 8 : i64}) -> tensor<3x4x5xf32> {
  %none = apc.none
  %0:3 = "apc.embed_layer_normalization"(%ids, %segments, %words, %positions, %table, %g, %b, %none, %at) : (tensor<3x4xi32>, tensor<3x4xi32>, tensor<6x5xf32>, tensor<8x5xf32>, tensor<2x5xf32>, tensor<5xf32>, tensor<5xf32>, none, tensor<3x4xi32>) -> (tensor<3x4x5xf32>, none, none)
  return %0#0 : tensor<3x4x5xf32>
}
func.func @embed_masked(%ids: tensor<3x4xi32> {test.below = 6 : i64}, %words: tensor<6x5xf32>, %positions: tensor<8x5xf32>, %g: tensor<5xf32>, %b: tensor<5xf32>, %mask: tensor<3x4xi32>) -> (tensor<3x4x5xf32>, tensor<3xi32>, tensor<3x4x5xf32>) {
  %none = apc.none
  %0:3 = "apc.embed_layer_normalization"(%ids, %none, %words, %positions, %none, %g, %b, %mask, %none) : (tensor<3x4xi32>, none, tensor<6x5xf32>, tensor<8x5xf32>, none, tensor<5xf32>, tensor<5xf32>, tensor<3x4xi32>, none) -> (tensor<3x4x5xf32>, tensor<3xi32>, tensor<3x4x5xf32>)
  return %0#0, %0#1, %0#2 : tensor<3x4x5xf32>, tensor<3xi32>, tensor<3x4x5xf32>
}
func.func @batch(%x: tensor<4x5x3xf32>, %s: tensor<5xf32>, %b: tensor<5xf32>, %m: tensor<5xf32>, %v: tensor<5xf32>) -> (tensor<4x5x3xf32>, tensor<5xf32>, tensor<5xf32>) {
  %0:5 = "apc.batch_normalization"(%x, %s, %b, %m, %v) {training_mode = 1 : i64} : (tensor<4x5x3xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>) -> (tensor<4x5x3xf32>, tensor<5xf32>, tensor<5xf32>, none, none)
  return %0#0, %0#1, %0#2 : tensor<4x5x3xf32>, tensor<5xf32>, tensor<5xf32>
}
func.func @batch_inference(%x: tensor<4x5x3xf32>, %s: tensor<5xf32>, %b: tensor<5xf32>, %m: tensor<5xf32>) -> tensor<4x5x3xf32> {
  %v = apc.constant dense<0.5> : tensor<5xf32>
  %0:5 = "apc.batch_normalization"(%x, %s, %b, %m, %v) : (tensor<4x5x3xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>) -> (tensor<4x5x3xf32>, none, none, none, none)
  return %0#0 : tensor<4x5x3xf32>
}
func.func @instance(%x: tensor<4x5x3xf32>, %s: tensor<5xf32>, %b: tensor<5xf32>) -> tensor<4x5x3xf32> {
  %0 = "apc.instance_normalization"(%x, %s, %b) : (tensor<4x5x3xf32>, tensor<5xf32>, tensor<5xf32>) -> tensor<4x5x3xf32>
  return %0 : tensor<4x5x3xf32>
}
func.func @group(%x: tensor<3x12x2xf32>, %s: tensor<12xf32>, %b: tensor<12xf32>) -> tensor<3x12x2xf32> {
  %0 = "apc.group_normalization"(%x, %s, %b) {num_groups = 6 : i64} : (tensor<3x12x2xf32>, tensor<12xf32>, tensor<12xf32>) -> tensor<3x12x2xf32>
  return %0 : tensor<3x12x2xf32>
}
func.func @group_of_one(%x: tensor<3x5x2xf32>, %s: tensor<5xf32>, %b: tensor<5xf32>) -> tensor<3x5x2xf32> {
  %0 = "apc.group_normalization"(%x, %s, %b) {num_groups = 5 : i64} : (tensor<3x5x2xf32>, tensor<5xf32>, tensor<5xf32>) -> tensor<3x5x2xf32>
  return %0 : tensor<3x5x2xf32>
}
func.func @group_of_two(%x: tensor<3x8x2xf32>, %s: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<3x8x2xf32> {
  %0 = "apc.group_normalization"(%x, %s, %b) {num_groups = 4 : i64} : (tensor<3x8x2xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<3x8x2xf32>
  return %0 : tensor<3x8x2xf32>
}
func.func @lrn(%x: tensor<3x5x4xf32>) -> tensor<3x5x4xf32> {
  %0 = "apc.lrn"(%x) {size = 3 : i64} : (tensor<3x5x4xf32>) -> tensor<3x5x4xf32>
  return %0 : tensor<3x5x4xf32>
}
func.func @norm(%x: tensor<3x5x4xf32>) -> tensor<3x5x4xf32> {
  %0 = "apc.lp_normalization"(%x) {axis = 1 : i64} : (tensor<3x5x4xf32>) -> tensor<3x5x4xf32>
  return %0 : tensor<3x5x4xf32>
}
// Rows of 4 x 5 elements that devices share, 5 over [2, 2] being 2, 1 | 2, -.
func.func @layer_statistics(%x: tensor<3x4x5xf32>) -> tensor<3x2xf32> {
  %none = apc.none
  %0 = "apc.layer_statistics"(%x, %none, %none) {axis = 1 : i64} : (tensor<3x4x5xf32>, none, none) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}
func.func @skip_statistics(%x: tensor<3x4x5xf32>, %skip: tensor<4x5xf32>, %b: tensor<5xf32>) -> tensor<3x4x1xf32> {
  %0 = "apc.layer_statistics"(%x, %skip, %b) {centred = 0 : i64} : (tensor<3x4x5xf32>, tensor<4x5xf32>, tensor<5xf32>) -> tensor<3x4x1xf32>
  return %0 : tensor<3x4x1xf32>
}
func.func @layer_by(%x: tensor<3x4x5xf32>, %s: tensor<3x2xf32>, %g: tensor<4x5xf32>, %b: tensor<5xf32>) -> tensor<3x4x5xf32> {
  %none = apc.none
  %0:2 = "apc.layer_normalize"(%x, %s, %g, %b, %none, %none) {axis = 1 : i64, epsilon = 2.0 : f32} : (tensor<3x4x5xf32>, tensor<3x2xf32>, tensor<4x5xf32>, tensor<5xf32>, none, none) -> (tensor<3x4x5xf32>, none)
  return %0#0 : tensor<3x4x5xf32>
}
func.func @skip_by(%x: tensor<3x4x5xf32>, %s: tensor<3x4x1xf32>, %g: tensor<5xf32>, %skip: tensor<4x5xf32>, %b: tensor<5xf32>) -> (tensor<3x4x5xf32>, tensor<3x4x5xf32>) {
  %none = apc.none
  %0:2 = "apc.layer_normalize"(%x, %s, %g, %none, %skip, %b) {centred = 0 : i64, epsilon = 2.0 : f32} : (tensor<3x4x5xf32>, tensor<3x4x1xf32>, tensor<5xf32>, none, tensor<4x5xf32>, tensor<5xf32>) -> (tensor<3x4x5xf32>, tensor<3x4x5xf32>)
  return %0#0, %0#1 : tensor<3x4x5xf32>, tensor<3x4x5xf32>
}
func.func @runtime_groups(%x: tensor<3x2x5x4xf32>, %g: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<3x2x5x4xf32> {
  %0 = "apc.group_norm"(%x, %g, %b) {groups = 2 : i64, activation = 1 : i64, epsilon = 2.0 : f32} : (tensor<3x2x5x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<3x2x5x4xf32>
  return %0 : tensor<3x2x5x4xf32>
}
func.func @runtime_groups_first(%x: tensor<3x6x5xf32>, %g: tensor<6xf32>, %b: tensor<6xf32>) -> tensor<3x6x5xf32> {
  %0 = "apc.group_norm"(%x, %g, %b) {groups = 3 : i64, activation = 0 : i64, channels_last = 0 : i64, epsilon = 2.0 : f32} : (tensor<3x6x5xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<3x6x5xf32>
  return %0 : tensor<3x6x5xf32>
}
func.func @skip_groups(%x: tensor<3x2x5x4xf32>, %g: tensor<4xf32>, %b: tensor<4xf32>, %skip: tensor<3x4xf32>, %bias: tensor<4xf32>) -> (tensor<3x2x5x4xf32>, tensor<3x2x5x4xf32>) {
  %0:2 = "apc.skip_group_norm"(%x, %g, %b, %skip, %bias) {groups = 2 : i64, activation = 0 : i64, epsilon = 2.0 : f32} : (tensor<3x2x5x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<3x4xf32>, tensor<4xf32>) -> (tensor<3x2x5x4xf32>, tensor<3x2x5x4xf32>)
  return %0#0, %0#1 : tensor<3x2x5x4xf32>, tensor<3x2x5x4xf32>
}
func.func @bias_add(%x: tensor<3x5x4xf32>, %b: tensor<4xf32>, %skip: tensor<3x5x4xf32>) -> tensor<3x5x4xf32> {
  %0 = "apc.bias_add"(%x, %b, %skip) : (tensor<3x5x4xf32>, tensor<4xf32>, tensor<3x5x4xf32>) -> tensor<3x5x4xf32>
  return %0 : tensor<3x5x4xf32>
}
func.func @bias_split_gelu(%x: tensor<3x5x4xf32>, %b: tensor<4xf32>) -> tensor<3x5x2xf32> {
  %0 = "apc.bias_split_gelu"(%x, %b) : (tensor<3x5x4xf32>, tensor<4xf32>) -> tensor<3x5x2xf32>
  return %0 : tensor<3x5x2xf32>
}
