// RUN: apc-opt %s --apc-print-rules | FileCheck %s
// Batch and directions may be cut; positions, inputs and hidden units are whole.

func.func @cells(%x: tensor<5x3x4xf32>, %w: tensor<2x6x4xf32>, %r: tensor<2x6x6xf32>, %b: tensor<2x12xf32>, %n: tensor<3xi32>, %h: tensor<2x3x6xf32>) {
  %none = apc.none
  // CHECK: apc.rnn: s b i, d g i, d g h, d e, b, d b h -> s d b h, d b h {s=5 !, b=3, d=2, i=4 !, g=6 !, h=6 !, e=12 !} flops=
  %0:2 = "apc.rnn"(%x, %w, %r, %b, %n, %h) {direction = "bidirectional", hidden_size = 6 : i64} : (tensor<5x3x4xf32>, tensor<2x6x4xf32>, tensor<2x6x6xf32>, tensor<2x12xf32>, tensor<3xi32>, tensor<2x3x6xf32>) -> (tensor<5x2x3x6xf32>, tensor<2x3x6xf32>)
  return
}

func.func @batch_first(%x: tensor<3x5x4xf32>, %w: tensor<1x6x4xf32>, %r: tensor<1x6x2xf32>) {
  %none = apc.none
  // 2 * 5 positions * 3 * 6 rows * (4 + 2) = 1080 FLOPs, 5 * 3 * 4 * 6 * 2 = 720 points.
  // CHECK: apc.gru: b s i, d g i, d g h, _, _, _ -> b s d h, b d h {s=5 !, b=3, d=1, i=4 !, g=6 !, h=2 !} flops=1.5 steps=5
  %0:2 = "apc.gru"(%x, %w, %r, %none, %none, %none) {layout = 1 : i64, direction = "reverse"} : (tensor<3x5x4xf32>, tensor<1x6x4xf32>, tensor<1x6x2xf32>, none, none, none) -> (tensor<3x5x1x2xf32>, tensor<3x1x2xf32>)
  return
}

func.func @memory(%x: tensor<5x3x4xf32>, %w: tensor<1x8x4xf32>, %r: tensor<1x8x2xf32>, %s: tensor<1x3x2xf32>, %p: tensor<1x6xf32>, %dy: tensor<5x1x3x2xf32>) {
  %none = apc.none
  // CHECK: apc.lstm: s b i, d g i, d g h, _, _, d b h, d b h, d p -> s d b h, _, d b h {s=5 !, b=3, d=1, i=4 !, g=8 !, h=2 !, p=6 !}
  %0:3 = "apc.lstm"(%x, %w, %r, %none, %none, %s, %s, %p) : (tensor<5x3x4xf32>, tensor<1x8x4xf32>, tensor<1x8x2xf32>, none, none, tensor<1x3x2xf32>, tensor<1x3x2xf32>, tensor<1x6xf32>) -> (tensor<5x1x3x2xf32>, none, tensor<1x3x2xf32>)
  // CHECK: apc.lstm_grad: s b i, d g i, d g h, _, _, d b h, d b h, d p, s d b h, _, _ -> s d b g, s d b h, d b h, d b h, s d b p {s=5 !, b=3, d=1, i=4 !, g=8 !, h=2 !, p=6 !}
  %1:5 = "apc.lstm_grad"(%x, %w, %r, %none, %none, %s, %s, %p, %dy, %none, %none) : (tensor<5x3x4xf32>, tensor<1x8x4xf32>, tensor<1x8x2xf32>, none, none, tensor<1x3x2xf32>, tensor<1x3x2xf32>, tensor<1x6xf32>, tensor<5x1x3x2xf32>, none, none) -> (tensor<5x1x3x8xf32>, tensor<5x1x3x2xf32>, tensor<1x3x2xf32>, tensor<1x3x2xf32>, tensor<5x1x3x6xf32>)
  return
}
