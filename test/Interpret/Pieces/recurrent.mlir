// Recurrent operators and their backward passes, one op in each function: pieces of the batch and of the directions.

func.func @rnn(%x: tensor<4x6x3xf32>, %w: tensor<2x2x3xf32>, %r: tensor<2x2x2xf32>, %b: tensor<2x4xf32>, %n: tensor<6xi32> {test.below = 5 : i64}, %h: tensor<2x6x2xf32>) -> (tensor<4x2x6x2xf32>, tensor<2x6x2xf32>) {
  %0:2 = "apc.rnn"(%x, %w, %r, %b, %n, %h) {activations = ["Tanh", "Affine"], activation_alpha = array<f32: 0.5>, direction = "bidirectional"} : (tensor<4x6x3xf32>, tensor<2x2x3xf32>, tensor<2x2x2xf32>, tensor<2x4xf32>, tensor<6xi32>, tensor<2x6x2xf32>) -> (tensor<4x2x6x2xf32>, tensor<2x6x2xf32>)
  return %0#0, %0#1 : tensor<4x2x6x2xf32>, tensor<2x6x2xf32>
}
func.func @gru(%x: tensor<5x4x3xf32>, %w: tensor<2x6x3xf32>, %r: tensor<2x6x2xf32>, %b: tensor<2x12xf32>) -> (tensor<5x4x2x2xf32>, tensor<5x2x2xf32>) {
  %none = apc.none
  %0:2 = "apc.gru"(%x, %w, %r, %b, %none, %none) {direction = "bidirectional", layout = 1 : i64, linear_before_reset = 1 : i64} : (tensor<5x4x3xf32>, tensor<2x6x3xf32>, tensor<2x6x2xf32>, tensor<2x12xf32>, none, none) -> (tensor<5x4x2x2xf32>, tensor<5x2x2xf32>)
  return %0#0, %0#1 : tensor<5x4x2x2xf32>, tensor<5x2x2xf32>
}
func.func @lstm(%x: tensor<4x6x3xf32>, %w: tensor<1x8x3xf32>, %r: tensor<1x8x2xf32>, %c: tensor<1x6x2xf32>, %p: tensor<1x6xf32>) -> (tensor<4x1x6x2xf32>, tensor<1x6x2xf32>, tensor<1x6x2xf32>) {
  %none = apc.none
  %0:3 = "apc.lstm"(%x, %w, %r, %none, %none, %c, %c, %p) {direction = "reverse"} : (tensor<4x6x3xf32>, tensor<1x8x3xf32>, tensor<1x8x2xf32>, none, none, tensor<1x6x2xf32>, tensor<1x6x2xf32>, tensor<1x6xf32>) -> (tensor<4x1x6x2xf32>, tensor<1x6x2xf32>, tensor<1x6x2xf32>)
  return %0#0, %0#1, %0#2 : tensor<4x1x6x2xf32>, tensor<1x6x2xf32>, tensor<1x6x2xf32>
}
func.func @rnn_backward(%x: tensor<4x6x3xf32>, %w: tensor<2x2x3xf32>, %r: tensor<2x2x2xf32>, %n: tensor<6xi32> {test.below = 5 : i64}, %dy: tensor<4x2x6x2xf32>, %dh: tensor<2x6x2xf32>) -> (tensor<4x2x6x2xf32>, tensor<4x2x6x2xf32>, tensor<2x6x2xf32>) {
  %none = apc.none
  %0:3 = "apc.rnn_grad"(%x, %w, %r, %none, %n, %none, %dy, %dh) {direction = "bidirectional"} : (tensor<4x6x3xf32>, tensor<2x2x3xf32>, tensor<2x2x2xf32>, none, tensor<6xi32>, none, tensor<4x2x6x2xf32>, tensor<2x6x2xf32>) -> (tensor<4x2x6x2xf32>, tensor<4x2x6x2xf32>, tensor<2x6x2xf32>)
  return %0#0, %0#1, %0#2 : tensor<4x2x6x2xf32>, tensor<4x2x6x2xf32>, tensor<2x6x2xf32>
}
func.func @gru_backward(%x: tensor<4x6x3xf32>, %w: tensor<2x6x3xf32>, %r: tensor<2x6x2xf32>, %dy: tensor<4x2x6x2xf32>) -> (tensor<4x2x6x6xf32>, tensor<4x2x6x2xf32>, tensor<2x6x2xf32>, tensor<4x2x6x2xf32>) {
  %none = apc.none
  %0:5 = "apc.gru_grad"(%x, %w, %r, %none, %none, %none, %dy, %none) {direction = "bidirectional"} : (tensor<4x6x3xf32>, tensor<2x6x3xf32>, tensor<2x6x2xf32>, none, none, none, tensor<4x2x6x2xf32>, none) -> (tensor<4x2x6x6xf32>, tensor<4x2x6x2xf32>, tensor<2x6x2xf32>, tensor<4x2x6x2xf32>, none)
  return %0#0, %0#1, %0#2, %0#3 : tensor<4x2x6x6xf32>, tensor<4x2x6x2xf32>, tensor<2x6x2xf32>, tensor<4x2x6x2xf32>
}
func.func @gru_backward_reset_behind(%x: tensor<6x4x3xf32>, %w: tensor<2x6x3xf32>, %r: tensor<2x6x2xf32>, %b: tensor<2x12xf32>, %dh: tensor<6x2x2xf32>) -> (tensor<6x4x2x6xf32>, tensor<6x4x2x2xf32>, tensor<6x2x2xf32>, tensor<6x4x2x6xf32>) {
  %none = apc.none
  %0:5 = "apc.gru_grad"(%x, %w, %r, %b, %none, %none, %none, %dh) {direction = "bidirectional", layout = 1 : i64, linear_before_reset = 1 : i64} : (tensor<6x4x3xf32>, tensor<2x6x3xf32>, tensor<2x6x2xf32>, tensor<2x12xf32>, none, none, none, tensor<6x2x2xf32>) -> (tensor<6x4x2x6xf32>, tensor<6x4x2x2xf32>, tensor<6x2x2xf32>, none, tensor<6x4x2x6xf32>)
  return %0#0, %0#1, %0#2, %0#4 : tensor<6x4x2x6xf32>, tensor<6x4x2x2xf32>, tensor<6x2x2xf32>, tensor<6x4x2x6xf32>
}
func.func @lstm_backward(%x: tensor<3x5x2xf32>, %w: tensor<2x8x2xf32>, %r: tensor<2x8x2xf32>, %c: tensor<2x5x2xf32>, %p: tensor<2x6xf32>, %dy: tensor<3x2x5x2xf32>) -> (tensor<3x2x5x8xf32>, tensor<3x2x5x2xf32>, tensor<2x5x2xf32>, tensor<2x5x2xf32>, tensor<3x2x5x6xf32>) {
  %none = apc.none
  %0:5 = "apc.lstm_grad"(%x, %w, %r, %none, %none, %c, %c, %p, %dy, %none, %c) {direction = "bidirectional"} : (tensor<3x5x2xf32>, tensor<2x8x2xf32>, tensor<2x8x2xf32>, none, none, tensor<2x5x2xf32>, tensor<2x5x2xf32>, tensor<2x6xf32>, tensor<3x2x5x2xf32>, none, tensor<2x5x2xf32>) -> (tensor<3x2x5x8xf32>, tensor<3x2x5x2xf32>, tensor<2x5x2xf32>, tensor<2x5x2xf32>, tensor<3x2x5x6xf32>)
  return %0#0, %0#1, %0#2, %0#3, %0#4 : tensor<3x2x5x8xf32>, tensor<3x2x5x2xf32>, tensor<2x5x2xf32>, tensor<2x5x2xf32>, tensor<3x2x5x6xf32>
}
