// RUN: apc-opt %s --apc-print-rules | FileCheck %s
// Normalisations: the normalised dims are whole.

func.func @cut_softmax(%x: tensor<4x6x8xf16>, %s: tensor<4x1x8xf32>) {
  // CHECK: apc.softmax_by: b0 b1 b2, b0 1 b2 -> b0 b1 b2 {b0=4, b1=6, b2=8} flops=2{{$}}
  %0 = "apc.softmax_by"(%x, %s) : (tensor<4x6x8xf16>, tensor<4x1x8xf32>) -> tensor<4x6x8xf16>
  // CHECK: apc.softmax_grad_sum: d0 d1 d2, d0 d1 d2 -> d0 1 d2 {d0=4, d1=6 sum, d2=8} linear={0} flops=2{{$}}
  %1 = "apc.softmax_grad_sum"(%x, %x) {axis = 1 : i64} : (tensor<4x6x8xf16>, tensor<4x6x8xf16>) -> tensor<4x1x8xf32>
  // CHECK: apc.softmax_grad_by: b0 b1 b2, b0 b1 b2, b0 1 b2 -> b0 b1 b2 {b0=4, b1=6, b2=8} linear={0 2} flops=3{{$}}
  %2 = "apc.softmax_grad_by"(%x, %x, %s) : (tensor<4x6x8xf16>, tensor<4x6x8xf16>, tensor<4x1x8xf32>) -> tensor<4x6x8xf16>
  return
}

func.func @cut_layers(%x: tensor<4x6x8xf16>, %h: tensor<8xf16>, %s: tensor<4x6x2xf32>, %r: tensor<4x1xf32>) {
  %none = apc.none
  // CHECK: apc.layer_statistics: d0 d1 d2, _, d2 -> d0 d1 w0 {d0=4, d1=6, d2=8 sum, w0=2 !} flops=2{{$}}
  %0 = "apc.layer_statistics"(%x, %none, %h) : (tensor<4x6x8xf16>, none, tensor<8xf16>) -> tensor<4x6x2xf32>
  // CHECK: apc.layer_statistics: d0 d1 d2, _, _ -> d0 w0 {d0=4, d1=6 sum, d2=8 sum, w0=1 !} flops=4{{$}}
  %1 = "apc.layer_statistics"(%x, %none, %none) {axis = 1 : i64, centred = 0 : i64} : (tensor<4x6x8xf16>, none, none) -> tensor<4x1xf32>
  // CHECK: apc.layer_normalize: d0 d1 d2, d0 d1 n, d2, d2, d0 d1 d2, _ -> d0 d1 d2, d0 d1 d2 {d0=4, d1=6, d2=8, n=2 !} flops=4{{$}}
  %2:2 = "apc.layer_normalize"(%x, %s, %h, %h, %x, %none) : (tensor<4x6x8xf16>, tensor<4x6x2xf32>, tensor<8xf16>, tensor<8xf16>, tensor<4x6x8xf16>, none) -> (tensor<4x6x8xf16>, tensor<4x6x8xf16>)
  // CHECK: apc.layer_gradient_statistics: d0 d1 d2, d0 d1 d2, d0 d1 w0, d2 -> d0 d1 w0 {d0=4, d1=6, d2=8 sum, w0=2 !} linear={0} flops=4{{$}}
  %3 = "apc.layer_gradient_statistics"(%x, %x, %s, %h) : (tensor<4x6x8xf16>, tensor<4x6x8xf16>, tensor<4x6x2xf32>, tensor<8xf16>) -> tensor<4x6x2xf32>
  // CHECK: apc.layer_normalize_grad: d0 d1 d2, d0 d1 d2, d0 n, d2, d0 n -> d0 d1 d2 {d0=4, d1=6, d2=8, n=1 !} linear={0 4} flops=16{{$}}
  %4 = "apc.layer_normalize_grad"(%x, %x, %r, %h, %r) {axis = 1 : i64, centred = 0 : i64} : (tensor<4x6x8xf16>, tensor<4x6x8xf16>, tensor<4x1xf32>, tensor<8xf16>, tensor<4x1xf32>) -> tensor<4x6x8xf16>
  // CHECK: apc.layer_normalize_scale_grad: d0 d1 d2, d0 d1 d2, d0 d1 n -> d2 {d0=4 sum, d1=6 sum, d2=8, n=2 !} linear={0} flops=4{{$}}
  %5 = "apc.layer_normalize_scale_grad"(%x, %x, %s) : (tensor<4x6x8xf16>, tensor<4x6x8xf16>, tensor<4x6x2xf32>) -> tensor<8xf16>
  return
}

func.func @softmax(%x: tensor<4x6x8xf32>) {
  // CHECK: apc.softmax: d0 d1 d2 -> d0 d1 d2 {d0=4, d1=6, d2=8 !} flops=5{{$}}
  %0 = "apc.softmax"(%x) : (tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  // CHECK: apc.log_softmax: d0 d1 d2 -> d0 d1 d2 {d0=4, d1=6 !, d2=8} flops=5{{$}}
  %1 = "apc.log_softmax"(%x) {axis = 1 : i64} : (tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  // CHECK: apc.hardmax: d0 d1 d2 -> d0 d1 d2 {d0=4, d1=6 !, d2=8 !} flops=1{{$}}
  %2 = "apc.hardmax"(%x) {opset_version = 11 : i64} : (tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  return
}

func.func @layers(%x: tensor<4x6x8xf16>, %h: tensor<8xf16>, %sh: tensor<1x8xf16>, %skip: tensor<1x6x8xf16>) {
  %none = apc.none
  // CHECK: apc.layer_normalization: d0 d1 d2, d2, d2 -> d0 d1 d2, d0 d1 1, _ {d0=4, d1=6, d2=8 !} flops=8{{$}}
  %0:3 = "apc.layer_normalization"(%x, %h, %h) : (tensor<4x6x8xf16>, tensor<8xf16>, tensor<8xf16>) -> (tensor<4x6x8xf16>, tensor<4x6x1xf32>, none)
  // CHECK: apc.layer_normalization: d0 d1 d2, 1 d2, _ -> d0 d1 d2, _, _ {d0=4, d1=6 !, d2=8 !} flops=8{{$}}
  %1:3 = "apc.layer_normalization"(%x, %sh, %none) {axis = 1 : i64} : (tensor<4x6x8xf16>, tensor<1x8xf16>, none) -> (tensor<4x6x8xf16>, none, none)
  // CHECK: apc.rms_normalization: d0 d1 d2, d2 -> d0 d1 d2 {d0=4, d1=6, d2=8 !} flops=5{{$}}
  %2 = "apc.rms_normalization"(%x, %h) : (tensor<4x6x8xf16>, tensor<8xf16>) -> tensor<4x6x8xf16>
  // CHECK: apc.simplified_layer_normalization: d0 d1 d2, d2 -> d0 d1 d2, _ {d0=4, d1=6, d2=8 !} flops=5{{$}}
  %3:2 = "apc.simplified_layer_normalization"(%x, %h) : (tensor<4x6x8xf16>, tensor<8xf16>) -> (tensor<4x6x8xf16>, none)
  // CHECK: apc.skip_layer_normalization: d0 d1 d2, 1 d1 d2, d2, d2, _ -> d0 d1 d2, _, _, _ {d0=4, d1=6, d2=8 !} flops=10{{$}}
  %4:4 = "apc.skip_layer_normalization"(%x, %skip, %h, %h, %none) : (tensor<4x6x8xf16>, tensor<1x6x8xf16>, tensor<8xf16>, tensor<8xf16>, none) -> (tensor<4x6x8xf16>, none, none, none)
  // CHECK: apc.skip_simplified_layer_normalization: d0 d1 d2, d0 d1 d2, d2, _ -> d0 d1 d2, _, _, d0 d1 d2 {d0=4, d1=6, d2=8 !} flops=7{{$}}
  %5:4 = "apc.skip_simplified_layer_normalization"(%x, %x, %h, %none) : (tensor<4x6x8xf16>, tensor<4x6x8xf16>, tensor<8xf16>, none) -> (tensor<4x6x8xf16>, none, none, tensor<4x6x8xf16>)
  return
}

func.func @embedding(%ids: tensor<4x6xi32>, %w: tensor<100x8xf16>, %p: tensor<16x8xf16>, %t: tensor<2x8xf16>, %h: tensor<8xf16>) {
  %none = apc.none
  // CHECK: apc.embed_layer_normalization: d0 w0, d0 w0, w2 w1, w3 w1, w4 w1, w1, w1, d0 w0, _ -> d0 w0 w1, d0, _ {d0=4, w0=6 !, w1=8 !, w2=100 !, w3=16 !, w4=2 !} flops=0.003125{{$}}
  %0:3 = "apc.embed_layer_normalization"(%ids, %ids, %w, %p, %t, %h, %h, %ids, %none) : (tensor<4x6xi32>, tensor<4x6xi32>, tensor<100x8xf16>, tensor<16x8xf16>, tensor<2x8xf16>, tensor<8xf16>, tensor<8xf16>, tensor<4x6xi32>, none) -> (tensor<4x6x8xf16>, tensor<4xi32>, none)
  // CHECK: apc.embed_layer_normalization: d0 d1, _, w1 w0, w2 w0, _, w0, w0, _, d0 d1 -> d0 d1 w0, _, d0 d1 w0 {d0=4, d1=6, w0=8 !, w1=100 !, w2=16 !} flops=0.00625{{$}}
  %1:3 = "apc.embed_layer_normalization"(%ids, %none, %w, %p, %none, %h, %h, %none, %ids) : (tensor<4x6xi32>, none, tensor<100x8xf16>, tensor<16x8xf16>, none, tensor<8xf16>, tensor<8xf16>, none, tensor<4x6xi32>) -> (tensor<4x6x8xf16>, none, tensor<4x6x8xf16>)
  return
}

func.func @channels(%x: tensor<2x6x4x5xf32>, %c: tensor<6xf32>, %g: tensor<3xf32>, %p: tensor<6x4x5xf32>, %n: tensor<7xf32>, %one: tensor<1xf32>) {
  // CHECK: apc.batch_normalization: d0 d1 d2 d3, d1, d1, d1, d1 -> d0 d1 d2 d3, _, _, _, _ {d0=2, d1=6, d2=4, d3=5} flops=2{{$}}
  %0:5 = "apc.batch_normalization"(%x, %c, %c, %c, %c) : (tensor<2x6x4x5xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<2x6x4x5xf32>, none, none, none, none)
  // CHECK: apc.batch_normalization: d0 d1 d2 d3, d1, d1, d1, d1 -> d0 d1 d2 d3, d1, d1, _, _ {d0=2 !, d1=6, d2=4 !, d3=5 !} flops=2{{$}}
  %1:5 = "apc.batch_normalization"(%x, %c, %c, %c, %c) {training_mode = 1 : i64} : (tensor<2x6x4x5xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<2x6x4x5xf32>, tensor<6xf32>, tensor<6xf32>, none, none)
  // CHECK: apc.batch_normalization: d0 d1 d2 d3, d1 d2 d3, d1 d2 d3, d1 d2 d3, d1 d2 d3 -> d0 d1 d2 d3, _, _, _, _ {d0=2, d1=6, d2=4, d3=5} flops=2{{$}}
  %2:5 = "apc.batch_normalization"(%x, %p, %p, %p, %p) {spatial = 0 : i64} : (tensor<2x6x4x5xf32>, tensor<6x4x5xf32>, tensor<6x4x5xf32>, tensor<6x4x5xf32>, tensor<6x4x5xf32>) -> (tensor<2x6x4x5xf32>, none, none, none, none)
  // CHECK: apc.batch_normalization: d0, 1, 1, 1, 1 -> d0, _, _, _, _ {d0=7} flops=2{{$}}
  %3:5 = "apc.batch_normalization"(%n, %one, %one, %one, %one) : (tensor<7xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> (tensor<7xf32>, none, none, none, none)
  // CHECK: apc.instance_normalization: d0 d1 d2 d3, d1, d1 -> d0 d1 d2 d3 {d0=2, d1=6, d2=4 !, d3=5 !} flops=8{{$}}
  %4 = "apc.instance_normalization"(%x, %c, %c) : (tensor<2x6x4x5xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x6x4x5xf32>
  // CHECK: apc.group_normalization: d0 (d1 w0) w1 w2, (d1 w0), d1 -> d0 (d1 w0) w1 w2 {d0=2, d1=3, w0=2 !, w1=4 !, w2=5 !} flops=8{{$}}
  %5 = "apc.group_normalization"(%x, %c, %g) {num_groups = 3 : i64} : (tensor<2x6x4x5xf32>, tensor<6xf32>, tensor<3xf32>) -> tensor<2x6x4x5xf32>
  // CHECK: apc.lp_normalization: d0 d1 d2 d3 -> d0 d1 d2 d3 {d0=2, d1=6 !, d2=4, d3=5} flops=3{{$}}
  %6 = "apc.lp_normalization"(%x) {axis = 1 : i64} : (tensor<2x6x4x5xf32>) -> tensor<2x6x4x5xf32>
  // CHECK: apc.mean_variance_normalization: d0 d1 d2 d3 -> d0 d1 d2 d3 {d0=2 !, d1=6, d2=4 !, d3=5 !} flops=6{{$}}
  %7 = "apc.mean_variance_normalization"(%x) : (tensor<2x6x4x5xf32>) -> tensor<2x6x4x5xf32>
  // CHECK: apc.lrn: d0 d1 d2 d3 -> d0 d1 d2 d3 {d0=2, d1=6 !, d2=4, d3=5} flops=16{{$}}
  %8 = "apc.lrn"(%x) {size = 5 : i64} : (tensor<2x6x4x5xf32>) -> tensor<2x6x4x5xf32>
  return
}

func.func @normalization_gradients(%dy: tensor<4x5x8xf32>, %x: tensor<4x5x8xf32>, %scale: tensor<8xf32>, %channels: tensor<5xf32>) {
  // CHECK: apc.softmax_grad: d0 d1 d2, d0 d1 d2 -> d0 d1 d2 {d0=4, d1=5 !, d2=8} linear={0} flops=4{{$}}
  %0 = "apc.softmax_grad"(%dy, %x) {axis = 1 : i64} : (tensor<4x5x8xf32>, tensor<4x5x8xf32>) -> tensor<4x5x8xf32>
  // CHECK: apc.log_softmax_grad: d0 d1 d2, d0 d1 d2 -> d0 d1 d2 {d0=4, d1=5 !, d2=8 !} linear={0} flops=4{{$}}
  %1 = "apc.log_softmax_grad"(%dy, %x) {opset_version = 11 : i64} : (tensor<4x5x8xf32>, tensor<4x5x8xf32>) -> tensor<4x5x8xf32>
  // CHECK: apc.layer_normalization_grad: d0 d1 d2, d0 d1 d2, d2 -> d0 d1 d2 {d0=4, d1=5, d2=8 !} linear={0} flops=16{{$}}
  %2 = "apc.layer_normalization_grad"(%dy, %x, %scale) : (tensor<4x5x8xf32>, tensor<4x5x8xf32>, tensor<8xf32>) -> tensor<4x5x8xf32>
  // CHECK: apc.layer_normalization_scale_grad: d0 d1 d2, d0 d1 d2 -> d2 {d0=4 sum, d1=5 sum, d2=8 !} linear={0} flops=8{{$}}
  %3 = "apc.layer_normalization_scale_grad"(%dy, %x) : (tensor<4x5x8xf32>, tensor<4x5x8xf32>) -> tensor<8xf32>
  // CHECK: apc.batch_normalize: d0 d1 d2, d1, d1, d1, d1 -> d0 d1 d2 {d0=4, d1=5, d2=8} flops=2{{$}}
  %4 = "apc.batch_normalize"(%x, %channels, %channels, %channels, %channels) : (tensor<4x5x8xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>) -> tensor<4x5x8xf32>
  // CHECK: apc.batch_normalize_grad: d0 d1 d2, d0 d1 d2, d1, d1, d1, d1, d1 -> d0 d1 d2 {d0=4, d1=5, d2=8} linear={0 5 6} flops=6{{$}}
  %5 = "apc.batch_normalize_grad"(%dy, %x, %channels, %channels, %channels, %channels, %channels) : (tensor<4x5x8xf32>, tensor<4x5x8xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>) -> tensor<4x5x8xf32>
  // CHECK: apc.batch_scale_grad: d0 d1 d2, d0 d1 d2, d1, d1 -> d1 {d0=4 sum, d1=5, d2=8 sum} linear={0} flops=4{{$}}
  %6 = "apc.batch_scale_grad"(%dy, %x, %channels, %channels) : (tensor<4x5x8xf32>, tensor<4x5x8xf32>, tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
  return
}
