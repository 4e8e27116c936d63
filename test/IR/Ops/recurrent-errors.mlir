// RUN: apc-opt %s --split-input-file --verify-diagnostics
// Errors for weights, sizes and activations that do not fit stand at the op.

func.func @hidden(%x: tensor<5x3x4xf32>, %w: tensor<1x6x4xf32>, %r: tensor<1x6x6xf32>) {
  %none = apc.none
  // expected-error @+1 {{attribute 'hidden_size' is 5, but operand 'R' has 6 columns}}
  %0:2 = "apc.rnn"(%x, %w, %r, %none, %none, %none) {hidden_size = 5 : i64} : (tensor<5x3x4xf32>, tensor<1x6x4xf32>, tensor<1x6x6xf32>, none, none, none) -> (tensor<5x1x3x6xf32>, none)
  return
}

// -----

func.func @directions(%x: tensor<5x3x4xf32>, %w: tensor<1x6x4xf32>, %r: tensor<1x6x6xf32>) {
  %none = apc.none
  // expected-error @+1 {{operand 'W' has shape [1, 6, 4] where [2, 6, 4] is needed}}
  %0:2 = "apc.rnn"(%x, %w, %r, %none, %none, %none) {direction = "bidirectional"} : (tensor<5x3x4xf32>, tensor<1x6x4xf32>, tensor<1x6x6xf32>, none, none, none) -> (tensor<5x1x3x6xf32>, none)
  return
}

// -----

func.func @few(%x: tensor<5x3x4xf32>, %w: tensor<1x8x4xf32>, %r: tensor<1x8x2xf32>) {
  %none = apc.none
  // expected-error @+1 {{attribute 'activations' has 2 functions, 3 are needed: 3 for each direction}}
  %0:3 = "apc.lstm"(%x, %w, %r, %none, %none, %none, %none, %none) {activations = ["Tanh", "Tanh"]} : (tensor<5x3x4xf32>, tensor<1x8x4xf32>, tensor<1x8x2xf32>, none, none, none, none, none) -> (tensor<5x1x3x2xf32>, none, none)
  return
}

// -----

func.func @unknown(%x: tensor<5x3x4xf32>, %w: tensor<1x6x4xf32>, %r: tensor<1x6x2xf32>) {
  %none = apc.none
  // expected-error @+1 {{attribute 'activations' has 'Gelu'; accepted are Affine, Elu}}
  %0:2 = "apc.gru"(%x, %w, %r, %none, %none, %none) {activations = ["Sigmoid", "Gelu"]} : (tensor<5x3x4xf32>, tensor<1x6x4xf32>, tensor<1x6x2xf32>, none, none, none) -> (tensor<5x1x3x2xf32>, none)
  return
}

// -----

func.func @lengths(%x: tensor<5x3x4xf32>, %w: tensor<1x6x4xf32>, %r: tensor<1x6x2xf32>, %n: tensor<5xi32>) {
  %none = apc.none
  // expected-error @+1 {{operand 'sequence_lens' has shape [5] where [3] is needed}}
  %0:2 = "apc.gru"(%x, %w, %r, %none, %n, %none) : (tensor<5x3x4xf32>, tensor<1x6x4xf32>, tensor<1x6x2xf32>, none, tensor<5xi32>, none) -> (tensor<5x1x3x2xf32>, none)
  return
}
