// RUN: apc-opt %s --apc-print-rules | FileCheck %s
// Operators around attention: states of fixed size, experts, gates.

func.func @linear(%q: tensor<2x16x512xf32>, %k: tensor<2x16x128xf32>, %state: tensor<2x2x64x64xf32>, %gate: tensor<2x16x2xf32>) {
  %none = apc.none
  // CHECK: apc.linear_attention: b t (kv g d), b t (kv d), b t (kv e), b kv d e, b t (kv d), b t kv -> b t (kv g e), b kv d e {b=2, t=16 !, kv=2, g=4, d=64 !, e=64 !} flops=3
  %0:2 = "apc.linear_attention"(%q, %k, %k, %state, %k, %gate) {kv_num_heads = 2 : i64, q_num_heads = 8 : i64} : (tensor<2x16x512xf32>, tensor<2x16x128xf32>, tensor<2x16x128xf32>, tensor<2x2x64x64xf32>, tensor<2x16x128xf32>, tensor<2x16x2xf32>) -> (tensor<2x16x512xf32>, tensor<2x2x64x64xf32>)
  // CHECK: apc.linear_attention: b t (kv d), b t (kv d), b t (kv e), _, _, _ -> b t (kv e), b kv d e {b=2, t=16 !, kv=2, d=64 !, e=64 !} flops=4
  %1:2 = "apc.linear_attention"(%k, %k, %k, %none, %none, %none) {kv_num_heads = 2 : i64, q_num_heads = 2 : i64, update_rule = "linear"} : (tensor<2x16x128xf32>, tensor<2x16x128xf32>, tensor<2x16x128xf32>, none, none, none) -> (tensor<2x16x128xf32>, tensor<2x2x64x64xf32>)
  return
}

func.func @linear_gradient(%q: tensor<2x16x2x4x64xf32>, %v: tensor<2x16x2x4x32xf32>, %state: tensor<2x2x4x64x32xf32>, %gate: tensor<2x16x2x4x1xf32>) {
  %none = apc.none
  // CHECK: apc.linear_attention_grad: b t kv g d, b t kv g d, b t kv g e, b kv g d e, b t kv g 1, b t kv g 1, b t kv g e, b kv g d e -> b t kv g d, b t kv g d, b t kv g e, b kv g d e, b t kv g 1, b t kv g 1 {b=2, t=16 !, kv=2, g=4, d=64 !, e=32 !} flops=20
  %0:6 = "apc.linear_attention_grad"(%q, %q, %v, %state, %gate, %gate, %v, %state) {delta = 1 : i64} : (tensor<2x16x2x4x64xf32>, tensor<2x16x2x4x64xf32>, tensor<2x16x2x4x32xf32>, tensor<2x2x4x64x32xf32>, tensor<2x16x2x4x1xf32>, tensor<2x16x2x4x1xf32>, tensor<2x16x2x4x32xf32>, tensor<2x2x4x64x32xf32>) -> (tensor<2x16x2x4x64xf32>, tensor<2x16x2x4x64xf32>, tensor<2x16x2x4x32xf32>, tensor<2x2x4x64x32xf32>, tensor<2x16x2x4x1xf32>, tensor<2x16x2x4x1xf32>)
  // CHECK: apc.linear_attention_grad: b t kv g d, b t kv g d, b t kv g e, _, b t kv g d, _, b t kv g e, _ -> b t kv g d, b t kv g d, b t kv g e, b kv g d e, b t kv g d, _ {b=2, t=16 !, kv=2, g=4, d=64 !, e=32 !} flops=12
  %1:6 = "apc.linear_attention_grad"(%q, %q, %v, %none, %q, %none, %v, %none) : (tensor<2x16x2x4x64xf32>, tensor<2x16x2x4x64xf32>, tensor<2x16x2x4x32xf32>, none, tensor<2x16x2x4x64xf32>, none, tensor<2x16x2x4x32xf32>, none) -> (tensor<2x16x2x4x64xf32>, tensor<2x16x2x4x64xf32>, tensor<2x16x2x4x32xf32>, tensor<2x2x4x64x32xf32>, tensor<2x16x2x4x64xf32>, none)
  return
}

func.func @causal(%x: tensor<2x96x16xf32>, %w: tensor<96x1x4xf32>, %b: tensor<96xf32>, %past: tensor<2x96x3xf32>, %one: tensor<96x1x1xf32>) {
  %none = apc.none
  // CHECK: apc.causal_conv_with_state: b c s, c 1 k, c, b c p -> b c s, b c p {b=2, c=96, s=16 !, k=4 !, p=3 !} flops=0.666667
  %0:2 = "apc.causal_conv_with_state"(%x, %w, %b, %past) {activation = "silu"} : (tensor<2x96x16xf32>, tensor<96x1x4xf32>, tensor<96xf32>, tensor<2x96x3xf32>) -> (tensor<2x96x16xf32>, tensor<2x96x3xf32>)
  // CHECK: apc.causal_conv_with_state: b c s, c 1 k, _, _ -> b c s, b c 1 {b=2, c=96, s=16 !, k=1 !} flops=2
  %1:2 = "apc.causal_conv_with_state"(%x, %one, %none, %none) : (tensor<2x96x16xf32>, tensor<96x1x1xf32>, none, none) -> (tensor<2x96x16xf32>, tensor<2x96x0xf32>)
  return
}

func.func @experts(%x: tensor<4x16x64xf32>, %router: tensor<64x8xf32>, %up: tensor<8x256x64xf32>, %down: tensor<8x64x256xf32>, %bias: tensor<8x64xf32>, %pairs: tensor<8x512x64xf32>, %packed: tensor<8x256x32xui8>, %packedDown: tensor<8x64x128xui8>, %scale: tensor<8x256xf32>, %scaleDown: tensor<8x64xf32>) {
  %none = apc.none
  // CHECK: apc.moe: t0 t1 d, (t0 t1) r, e f d, _, e n f, e n, e f d, _ -> t0 t1 n {t0=4, t1=16, d=64 !, n=64, r=8 !, e=8 sum, f=256 sum} flops=0.00292969
  %0 = "apc.moe"(%x, %router, %up, %none, %down, %bias, %up, %none) {activation_type = "silu", k = 2 : i64} : (tensor<4x16x64xf32>, tensor<64x8xf32>, tensor<8x256x64xf32>, none, tensor<8x64x256xf32>, tensor<8x64xf32>, tensor<8x256x64xf32>, none) -> tensor<4x16x64xf32>
  // CHECK: apc.moe: t0 t1 d, (t0 t1) r, e (f pair) d, _, e n f, _, _, _ -> t0 t1 n {t0=4, t1=16, d=64 !, n=64, r=8 !, e=8 sum, f=256 sum, pair=2 !} flops=0.00146484
  %1 = "apc.moe"(%x, %router, %pairs, %none, %down, %none, %none, %none) {activation_type = "swiglu", k = 2 : i64, swiglu_fusion = 1 : i64} : (tensor<4x16x64xf32>, tensor<64x8xf32>, tensor<8x512x64xf32>, none, tensor<8x64x256xf32>, none, none, none) -> tensor<4x16x64xf32>
  // CHECK: apc.qmoe: t0 t1 d, (t0 t1) r, e w2_1 w2_2, e w3_1, _, e w5_1 w5_2, e w6_1, _, _, _, _, _, _, _, _, _, _, _, _, _, _ -> t0 t1 n {t0=4, t1=16, d=64 !, n=64 !, r=8 !, e=8 sum, w2_1=256 !, w2_2=32 !, w3_1=256 !, w5_1=64 !, w5_2=128 !, w6_1=64 !} flops=4.54747e-13
  %2 = "apc.qmoe"(%x, %router, %packed, %scale, %none, %packedDown, %scaleDown, %none, %none, %none, %none, %none, %none, %none, %none, %none, %none, %none, %none, %none, %none) {k = 2 : i64} : (tensor<4x16x64xf32>, tensor<64x8xf32>, tensor<8x256x32xui8>, tensor<8x256xf32>, none, tensor<8x64x128xui8>, tensor<8x64xf32>, none, none, none, none, none, none, none, none, none, none, none, none, none, none) -> tensor<4x16x64xf32>
  // CHECK: apc.qmoe: t0 t1 d, (t0 t1) r, e w2_1 w2_2, e w3_1, _, e w5_1 w5_2, e w6_1, _, _, _, _, _, _, _, _, _, _, _, _, _, _ -> t0 t1 n {t0=4, t1=16, d=64 !, n=64 !, r=8 !, e=8 sum, w2_1=64 !, w2_2=128 !, w3_1=256 !, w5_1=256 !, w5_2=32 !, w6_1=64 !} flops=4.54747e-13
  %4 = "apc.qmoe"(%x, %router, %packedDown, %scale, %none, %packed, %scaleDown, %none, %none, %none, %none, %none, %none, %none, %none, %none, %none, %none, %none, %none, %none) {k = 2 : i64} : (tensor<4x16x64xf32>, tensor<64x8xf32>, tensor<8x64x128xui8>, tensor<8x256xf32>, none, tensor<8x256x32xui8>, tensor<8x64xf32>, none, none, none, none, none, none, none, none, none, none, none, none, none, none) -> tensor<4x16x64xf32>
  // CHECK: apc.swiglu: b0 b1 b2, b0 b1 b2 -> b0 b1 b2 {b0=4, b1=16, b2=64} linear={1} flops=6
  %3 = "apc.swiglu"(%x, %x) : (tensor<4x16x64xf32>, tensor<4x16x64xf32>) -> tensor<4x16x64xf32>
  return
}

// Weights [experts, inputs, outputs]; as many inner elements as hidden ones are [experts, outputs, inputs].
func.func @inputs_first(%x: tensor<64x64xf32>, %router: tensor<64x8xf32>, %up: tensor<8x64x256xf32>, %upBias: tensor<8x256xf32>, %down: tensor<8x256x64xf32>, %pairs: tensor<8x64x512xf32>, %square: tensor<8x64x64xf32>) {
  %none = apc.none
  // CHECK: apc.moe: t0 d, t0 r, e d f, e f, e f n, _, e d f, _ -> t0 n {t0=64, d=64 !, n=64, r=8 !, e=8 sum, f=256 sum} flops=0.00292969
  %0 = "apc.moe"(%x, %router, %up, %upBias, %down, %none, %up, %none) {activation_type = "silu", k = 2 : i64} : (tensor<64x64xf32>, tensor<64x8xf32>, tensor<8x64x256xf32>, tensor<8x256xf32>, tensor<8x256x64xf32>, none, tensor<8x64x256xf32>, none) -> tensor<64x64xf32>
  // CHECK: apc.moe: t0 d, t0 r, e d (f pair), _, e f n, _, _, _ -> t0 n {t0=64, d=64 !, n=64, r=8 !, e=8 sum, f=256 sum, pair=2 !} flops=0.00146484
  %1 = "apc.moe"(%x, %router, %pairs, %none, %down, %none, %none, %none) {activation_type = "swiglu", k = 2 : i64, swiglu_fusion = 1 : i64} : (tensor<64x64xf32>, tensor<64x8xf32>, tensor<8x64x512xf32>, none, tensor<8x256x64xf32>, none, none, none) -> tensor<64x64xf32>
  // CHECK: apc.moe: t0 d, t0 r, e f d, _, e n f, _, _, _ -> t0 n
  %2 = "apc.moe"(%x, %router, %square, %none, %square, %none, %none, %none) {k = 2 : i64} : (tensor<64x64xf32>, tensor<64x8xf32>, tensor<8x64x64xf32>, none, tensor<8x64x64xf32>, none, none, none) -> tensor<64x64xf32>
  return
}
