// RUN: apc-opt %s --apc-print-rules | FileCheck %s
// Attention: batch, key heads and the query heads of a group are parallel; FLOPs count both products.

func.func @standard(%q: tensor<2x32x128x64xf16>, %k: tensor<2x8x128x64xf16>, %v: tensor<2x8x128x80xf16>, %mask: tensor<128x256xf16>, %pk: tensor<2x8x128x64xf16>, %pv: tensor<2x8x128x80xf16>) {
  %none = apc.none
  // CHECK: apc.attention: b (kv g) s d, b kv t d, b kv t e, s u, b kv p d, b kv p e, _ -> b (kv g) s e, b kv u d, b kv u e, _ {b=2, kv=8, g=4, s=128, t=128 !, u=256 !, p=128 !, d=64 !, e=80 !} flops=3.43323e-06 attention={d=64 t=256 masked}
  %0:4 = "apc.attention"(%q, %k, %v, %mask, %pk, %pv, %none) : (tensor<2x32x128x64xf16>, tensor<2x8x128x64xf16>, tensor<2x8x128x80xf16>, tensor<128x256xf16>, tensor<2x8x128x64xf16>, tensor<2x8x128x80xf16>, none) -> (tensor<2x32x128x80xf16>, tensor<2x8x256x64xf16>, tensor<2x8x256x80xf16>, none)
  // CHECK: apc.attention: b (kv g) s d, b kv t d, b kv t e, _, _, _, _ -> b (kv g) s e, _, _, b (kv g) s t {b=2, kv=8, g=4, s=128 !, t=128 !, d=64 !, e=64 !} flops=0.0625
  %1:4 = "apc.attention"(%q, %k, %k, %none, %none, %none, %none) {is_causal = 1 : i64} : (tensor<2x32x128x64xf16>, tensor<2x8x128x64xf16>, tensor<2x8x128x64xf16>, none, none, none, none) -> (tensor<2x32x128x64xf16>, none, none, tensor<2x32x128x128xf16>)
  // CHECK: apc.flex_attention: b (kv g) s d, b kv t d, b kv t e -> b (kv g) s e {b=2, kv=8, g=4, s=128, t=128 !, d=64 !, e=80 !} flops=0.05625
  %2 = "apc.flex_attention"(%q, %k, %v) : (tensor<2x32x128x64xf16>, tensor<2x8x128x64xf16>, tensor<2x8x128x80xf16>) -> tensor<2x32x128x80xf16>
  return
}

func.func @flat(%q: tensor<2x128x512xf32>, %k: tensor<2x77x512xf32>, %one: tensor<2x77x64xf32>, %lengths: tensor<2xi64>, %mask: tensor<2x1x1x77xi1>) {
  %none = apc.none
  // CHECK: apc.attention: b s (kv d), b t (kv d), b t (kv e), b 1 1 t, _, _, b -> b s (kv e), _, _, _ {b=2, kv=8, s=128, t=77 !, d=64 !, e=64 !} flops=0.0625 attention={d=64 t=77}
  %0:4 = "apc.attention"(%q, %k, %k, %mask, %none, %none, %lengths) {kv_num_heads = 8 : i64, q_num_heads = 8 : i64} : (tensor<2x128x512xf32>, tensor<2x77x512xf32>, tensor<2x77x512xf32>, tensor<2x1x1x77xi1>, none, none, tensor<2xi64>) -> (tensor<2x128x512xf32>, none, none, none)
  // CHECK: apc.attention: b s (g d), b t d, b t e, _, _, _, _ -> b s (g e), _, _, _ {b=2, g=8, s=128, t=77 !, d=64 !, e=64 !} flops=0.0625
  %1:4 = "apc.attention"(%q, %one, %one, %none, %none, %none, %none) {kv_num_heads = 1 : i64, q_num_heads = 8 : i64} : (tensor<2x128x512xf32>, tensor<2x77x64xf32>, tensor<2x77x64xf32>, none, none, none, none) -> (tensor<2x128x512xf32>, none, none, none)
  return
}

func.func @grouped(%packed: tensor<4x512x6144xf16>, %q: tensor<4x512x4096xf16>, %k: tensor<4x512x1024xf16>, %past: tensor<4x8x128x128xf16>, %empty: tensor<4x8x0x128xf16>, %lengths: tensor<4xi32>, %unknown: tensor<i32>, %cos: tensor<8192x64xf16>) {
  %none = apc.none
  %total = apc.constant dense<640> : tensor<i32>
  // CHECK: apc.group_query_attention: b s (kv qkv){4096 1024 1024}, _, _, b kv p d, b kv p e, b, , w10 w11, w12 w13, _, _, _, _, _, _, _ -> b s (kv g e), b kv u d, b kv u e, _ {b=4, kv=8, g=4, s=512 !, t=512 !, u=640 !, p=128 !, d=128 !, e=128 !, qkv=768 !, w10=8192 !, w11=64 !, w12=8192 !, w13=64 !} flops=2.25875e-21
  %0:4 = "apc.group_query_attention"(%packed, %none, %none, %past, %past, %lengths, %total, %cos, %cos, %none, %none, %none, %none, %none, %none, %none) {do_rotary = 1 : i64, kv_num_heads = 8 : i64, num_heads = 32 : i64} : (tensor<4x512x6144xf16>, none, none, tensor<4x8x128x128xf16>, tensor<4x8x128x128xf16>, tensor<4xi32>, tensor<i32>, tensor<8192x64xf16>, tensor<8192x64xf16>, none, none, none, none, none, none, none) -> (tensor<4x512x4096xf16>, tensor<4x8x640x128xf16>, tensor<4x8x640x128xf16>, none)
  // CHECK: apc.group_query_attention: b s (kv g d), b s (kv d), b s (kv e), b kv 1 d, b kv 1 e, b, , w7 w8, w9 w10, _, _, _, _, _, _, _ -> b s (kv g e), b kv t d, b kv t e, _ {b=4, kv=8, g=4, s=512 !, t=512 !, d=128 !, e=128 !, w7=8192 !, w8=64 !, w9=8192 !, w10=64 !} flops=1.13687e-13
  %1:4 = "apc.group_query_attention"(%q, %k, %k, %empty, %empty, %lengths, %unknown, %cos, %cos, %none, %none, %none, %none, %none, %none, %none) {do_rotary = 1 : i64, kv_num_heads = 8 : i64, num_heads = 32 : i64} : (tensor<4x512x4096xf16>, tensor<4x512x1024xf16>, tensor<4x512x1024xf16>, tensor<4x8x0x128xf16>, tensor<4x8x0x128xf16>, tensor<4xi32>, tensor<i32>, tensor<8192x64xf16>, tensor<8192x64xf16>, none, none, none, none, none, none, none) -> (tensor<4x512x4096xf16>, tensor<4x8x512x128xf16>, tensor<4x8x512x128xf16>, none)
  return
}

func.func @fused(%q: tensor<2x16x256xf32>, %k: tensor<2x24x256xf32>, %qkv: tensor<2x16x8x3x32xf32>, %kv: tensor<2x24x8x2x32xf32>, %cross: tensor<2x8x24x32xf32>, %bias: tensor<768xf32>, %padding: tensor<2x24xi32>, %more: tensor<1x8x16x24xf32>) {
  %none = apc.none
  // CHECK: apc.multi_head_attention: b s (kv d), b t (kv d), b t (kv e), (kv bias){256 256 256}, b m1, 1 kv s t, _, _, _, _ -> b s (kv e), b kv t d, b kv t e, _ {b=2, kv=8, s=16, t=24 !, d=32 !, e=32 !, bias=96 !, m1=24 !} flops=5.42535e-05 attention={d=32 t=24 masked}
  %0:4 = "apc.multi_head_attention"(%q, %k, %k, %bias, %padding, %more, %none, %none, %none, %none) {num_heads = 8 : i64} : (tensor<2x16x256xf32>, tensor<2x24x256xf32>, tensor<2x24x256xf32>, tensor<768xf32>, tensor<2x24xi32>, tensor<1x8x16x24xf32>, none, none, none, none) -> (tensor<2x16x256xf32>, tensor<2x8x24x32xf32>, tensor<2x8x24x32xf32>, none)
  // CHECK: apc.multi_head_attention: b s kv qkv d, _, _, _, _, _, _, _, _, _ -> b s (kv e), _, _, _ {b=2, kv=8, s=16 !, t=16 !, d=32 !, e=32 !, qkv=3 !} flops=0.0416667
  %1:4 = "apc.multi_head_attention"(%qkv, %none, %none, %none, %none, %none, %none, %none, %none, %none) {num_heads = 8 : i64} : (tensor<2x16x8x3x32xf32>, none, none, none, none, none, none, none, none, none) -> (tensor<2x16x256xf32>, none, none, none)
  // CHECK: apc.multi_head_attention: b s (kv d), b t kv two d, _, _, _, _, _, _, _, _ -> b s (kv e), _, _, _ {b=2, kv=8, s=16, t=24 !, d=32 !, e=32 !, two=2 !} flops=0.0625
  %2:4 = "apc.multi_head_attention"(%q, %kv, %none, %none, %none, %none, %none, %none, %none, %none) {num_heads = 8 : i64} : (tensor<2x16x256xf32>, tensor<2x24x8x2x32xf32>, none, none, none, none, none, none, none, none) -> (tensor<2x16x256xf32>, none, none, none)
  // CHECK: apc.multi_head_attention: b s (kv d), b kv t d, b kv t e, _, _, _, _, _, _, _ -> b s (kv e), _, _, _ {b=2, kv=8, s=16, t=24 !, d=32 !, e=32 !} flops=0.125
  %3:4 = "apc.multi_head_attention"(%q, %cross, %cross, %none, %none, %none, %none, %none, %none, %none) {num_heads = 8 : i64} : (tensor<2x16x256xf32>, tensor<2x8x24x32xf32>, tensor<2x8x24x32xf32>, none, none, none, none, none, none, none) -> (tensor<2x16x256xf32>, none, none, none)
  return
}

func.func @decoding(%q: tensor<2x1x256xf32>, %past: tensor<2x8x64x32xf32>, %length: tensor<1xi32>, %input: tensor<2x16x48xf32>, %w: tensor<48x144xf32>, %b: tensor<144xf32>, %mask: tensor<2x20xi32>, %both: tensor<2x2x4x4x12xf32>) {
  %none = apc.none
  // CHECK: apc.decoder_masked_multi_head_attention: b s (kv d), b t (kv d), b t (kv e), _, _, b kv u d, b kv u e, w7, _, _, _ -> b s (kv e), b kv u d, b kv u e, _ {b=2, kv=8, s=1, t=1 !, u=64 !, d=32 !, e=32 !, w7=1 !} flops=0.125
  %0:4 = "apc.decoder_masked_multi_head_attention"(%q, %q, %q, %none, %none, %past, %past, %length, %none, %none, %none) {num_heads = 8 : i64, past_present_share_buffer = 1 : i64} : (tensor<2x1x256xf32>, tensor<2x1x256xf32>, tensor<2x1x256xf32>, none, none, tensor<2x8x64x32xf32>, tensor<2x8x64x32xf32>, tensor<1xi32>, none, none, none) -> (tensor<2x1x256xf32>, tensor<2x8x64x32xf32>, tensor<2x8x64x32xf32>, none)
  // CHECK: apc.projected_attention: b s i, i (kv qkv){48 48 48}, (kv qkv){48 48 48}, b m1, two b kv p d, _, _ -> b s (kv e), two b kv u d {b=2, kv=4, s=16 !, t=16 !, u=20 !, p=4 !, d=12 !, e=12 !, i=48 !, qkv=36 !, two=2 !, m1=20 !} flops=3.46619e-07
  %1:2 = "apc.projected_attention"(%input, %w, %b, %mask, %both, %none, %none) {num_heads = 4 : i64, unidirectional = 1 : i64} : (tensor<2x16x48xf32>, tensor<48x144xf32>, tensor<144xf32>, tensor<2x20xi32>, tensor<2x2x4x4x12xf32>, none, none) -> (tensor<2x16x48xf32>, tensor<2x2x4x20x12xf32>)
  return
}

func.func @rotary(%x: tensor<2x8x16x64xf16>, %flat: tensor<2x16x512xf16>, %table: tensor<4096x32xf16>, %angles: tensor<2x16x32xf16>, %ids: tensor<2x16xi64>, %first: tensor<1xi64>) {
  %none = apc.none
  // CHECK: apc.rotary_embedding: b h s d, w5 w6, w7 w8, b s -> b h s d {b=2, h=8, s=16, d=64 !, r=32 !, w5=4096 !, w6=32 !, w7=4096 !, w8=32 !} flops=7.27596e-12
  %0 = "apc.rotary_embedding"(%x, %table, %table, %ids) : (tensor<2x8x16x64xf16>, tensor<4096x32xf16>, tensor<4096x32xf16>, tensor<2x16xi64>) -> tensor<2x8x16x64xf16>
  // CHECK: apc.rotary_embedding: b s (h d), b s r, b s r, _ -> b s (h d) {b=2, h=8, s=16, d=64 !, r=32 !} flops=0.125
  %1 = "apc.rotary_embedding"(%flat, %angles, %angles, %none) {num_heads = 8 : i64} : (tensor<2x16x512xf16>, tensor<2x16x32xf16>, tensor<2x16x32xf16>, none) -> tensor<2x16x512xf16>
  // CHECK: apc.ms_rotary_embedding: b s (h d), w5, w6 w7, w8 w9 -> b s (h d) {b=2, h=8, s=16 !, d=64 !, r=32 !, w5=1 !, w6=4096 !, w7=32 !, w8=4096 !, w9=32 !} flops=7.27596e-12
  %2 = "apc.ms_rotary_embedding"(%flat, %first, %table, %table) : (tensor<2x16x512xf16>, tensor<1xi64>, tensor<4096x32xf16>, tensor<4096x32xf16>) -> tensor<2x16x512xf16>
  return
}

func.func @recognised(%q: tensor<2x8x16x32xf16>, %k: tensor<2x2x24x32xf16>, %kt: tensor<2x8x32x24xf16>, %v: tensor<2x2x24x48xf16>, %v8: tensor<2x8x24x48xf16>, %mask: tensor<2x1x16x24xf16>, %seen: tensor<16x24xi1>, %table: tensor<16x32xf16>) {
  %none = apc.none
  // CHECK: apc.softmax_attention: b0 (kv g) s d, b0 kv t d, b0 kv t e, b0 1 s t -> b0 (kv g) s e {b0=2, kv=2, g=4, s=16, t=24 !, d=32 !, e=48 !} flops=0.104167 attention={d=32 t=24 masked}
  %0 = "apc.softmax_attention"(%q, %k, %v, %mask) : (tensor<2x8x16x32xf16>, tensor<2x2x24x32xf16>, tensor<2x2x24x48xf16>, tensor<2x1x16x24xf16>) -> tensor<2x8x16x48xf16>
  // CHECK: apc.softmax_attention: b0 kv s d, b0 kv d t, b0 kv t e, s t -> b0 kv s e {b0=2, kv=8, s=16, t=24 !, d=32 !, e=48 !} flops=0.104167
  %1 = "apc.softmax_attention"(%q, %kt, %v8, %seen) {fill = -6.55e+04 : f32, keys_transposed = 1 : i64} : (tensor<2x8x16x32xf16>, tensor<2x8x32x24xf16>, tensor<2x8x24x48xf16>, tensor<16x24xi1>) -> tensor<2x8x16x48xf16>
  // CHECK: apc.softmax_attention: {{.*}}b0 kv t e, _ -> b0 kv s e {{.*}}attention={d=32 t=24}
  %2 = "apc.softmax_attention"(%q, %kt, %v8, %none) {keys_transposed = 1 : i64} : (tensor<2x8x16x32xf16>, tensor<2x8x32x24xf16>, tensor<2x8x24x48xf16>, none) -> tensor<2x8x16x48xf16>
  // CHECK: apc.rotate_half: b0 b1 b2 d, b2 d, b2 d -> b0 b1 b2 d {b0=2, b1=8, b2=16, d=32 !} linear={0} flops=4
  %3 = "apc.rotate_half"(%q, %table, %table) : (tensor<2x8x16x32xf16>, tensor<16x32xf16>, tensor<16x32xf16>) -> tensor<2x8x16x32xf16>
  return
}

func.func @split_keys(%q: tensor<2x8x16x32xf16>, %k: tensor<2x2x24x32xf16>, %v: tensor<2x2x24x48xf16>, %mask: tensor<2x1x16x24xf16>, %dy: tensor<2x8x16x48xf16>) {
  %none = apc.none
  // CHECK: apc.softmax_attention_log_sum: b0 (kv g) s d, b0 kv t d, b0 1 s t -> b0 (kv g) s {b0=2, kv=2, g=4, s=16, t=24 log_sum_exp, d=32 !} flops=2 attention={d=32 t=24 masked}
  %s = "apc.softmax_attention_log_sum"(%q, %k, %mask) : (tensor<2x8x16x32xf16>, tensor<2x2x24x32xf16>, tensor<2x1x16x24xf16>) -> tensor<2x8x16xf32>
  // CHECK: apc.softmax_attention_by: b0 (kv g) s d, b0 kv t d, b0 kv t e, b0 1 s t, b0 (kv g) s -> b0 (kv g) s e {b0=2, kv=2, g=4, s=16, t=24 sum, d=32 !, e=48 !} flops=0.104167 attention={d=32 t=24 masked}
  %y = "apc.softmax_attention_by"(%q, %k, %v, %mask, %s) : (tensor<2x8x16x32xf16>, tensor<2x2x24x32xf16>, tensor<2x2x24x48xf16>, tensor<2x1x16x24xf16>, tensor<2x8x16xf32>) -> tensor<2x8x16x48xf16>
  // CHECK: apc.softmax_attention_by_query_grad: {{.*}} b0 (kv g) s e, b0 (kv g) s e, b0 (kv g) s -> b0 (kv g) s d {b0=2, kv=2, g=4, s=16, t=24 sum, d=32 !, e=48 !} linear={4}
  %0 = "apc.softmax_attention_by_query_grad"(%q, %k, %v, %mask, %dy, %y, %s) : (tensor<2x8x16x32xf16>, tensor<2x2x24x32xf16>, tensor<2x2x24x48xf16>, tensor<2x1x16x24xf16>, tensor<2x8x16x48xf16>, tensor<2x8x16x48xf16>, tensor<2x8x16xf32>) -> tensor<2x8x16x32xf16>
  // CHECK: apc.softmax_attention_by_value_grad: {{.*}} b0 (kv g) s e, _, b0 (kv g) s -> b0 kv t e {b0=2, kv=2, g=4 sum, s=16 sum, t=24, d=32 !, e=48 !} linear={4}
  %1 = "apc.softmax_attention_by_value_grad"(%q, %k, %v, %mask, %dy, %none, %s) : (tensor<2x8x16x32xf16>, tensor<2x2x24x32xf16>, tensor<2x2x24x48xf16>, tensor<2x1x16x24xf16>, tensor<2x8x16x48xf16>, none, tensor<2x8x16xf32>) -> tensor<2x2x24x48xf16>
  // CHECK: apc.softmax_attention_by_key_grad: {{.*}} -> b0 kv t d {b0=2, kv=2, g=4 sum, s=16 sum, t=24, d=32 !, e=48 !} linear={4}
  %2 = "apc.softmax_attention_by_key_grad"(%q, %k, %v, %mask, %dy, %y, %s) : (tensor<2x8x16x32xf16>, tensor<2x2x24x32xf16>, tensor<2x2x24x48xf16>, tensor<2x1x16x24xf16>, tensor<2x8x16x48xf16>, tensor<2x8x16x48xf16>, tensor<2x8x16xf32>) -> tensor<2x2x24x32xf16>
  // CHECK: apc.softmax_attention_by_mask_grad: {{.*}} -> b0 1 s t {b0=2, kv=2 sum, g=4 sum, s=16, t=24, d=32 !, e=48 !} linear={4}
  %3 = "apc.softmax_attention_by_mask_grad"(%q, %k, %v, %mask, %dy, %y, %s) : (tensor<2x8x16x32xf16>, tensor<2x2x24x32xf16>, tensor<2x2x24x48xf16>, tensor<2x1x16x24xf16>, tensor<2x8x16x48xf16>, tensor<2x8x16x48xf16>, tensor<2x8x16xf32>) -> tensor<2x1x16x24xf16>
  return
}

func.func @causal(%q: tensor<2x8x4x32xf16>, %k: tensor<2x8x4x32xf16>) {
  %keys = apc.constant dense<[0, 1, 2, 3]> : tensor<4xi64>
  %queries = apc.constant dense<[[0], [1], [2], [3]]> : tensor<4x1xi64>
  %later = "apc.less"(%queries, %keys) : (tensor<4x1xi64>, tensor<4xi64>) -> tensor<4x4xi1>
  %earlier = "apc.less"(%keys, %queries) : (tensor<4xi64>, tensor<4x1xi64>) -> tensor<4x4xi1>
  // CHECK: apc.softmax_attention: {{.*}}attention={d=32 t=4 causal}
  %0 = "apc.softmax_attention"(%q, %k, %k, %later) {fill = -6.55e+04 : f32, seen = 0 : i64} : (tensor<2x8x4x32xf16>, tensor<2x8x4x32xf16>, tensor<2x8x4x32xf16>, tensor<4x4xi1>) -> tensor<2x8x4x32xf16>
  // A query that sees only later keys, or only earlier ones and not its own, has no causal mask.
  // CHECK: apc.softmax_attention: {{.*}}attention={d=32 t=4 masked}
  %1 = "apc.softmax_attention"(%q, %k, %k, %later) {fill = -6.55e+04 : f32} : (tensor<2x8x4x32xf16>, tensor<2x8x4x32xf16>, tensor<2x8x4x32xf16>, tensor<4x4xi1>) -> tensor<2x8x4x32xf16>
  // CHECK: apc.softmax_attention: {{.*}}attention={d=32 t=4 masked}
  %2 = "apc.softmax_attention"(%q, %k, %k, %earlier) {fill = -6.55e+04 : f32} : (tensor<2x8x4x32xf16>, tensor<2x8x4x32xf16>, tensor<2x8x4x32xf16>, tensor<4x4xi1>) -> tensor<2x8x4x32xf16>
  // One position that stands for all is none either.
  %zero = apc.constant dense<0> : tensor<1xi64>
  %four = apc.constant dense<4> : tensor<1xi64>
  %zeros = "apc.expand"(%zero, %four) : (tensor<1xi64>, tensor<1xi64>) -> tensor<4xi64>
  %late = "apc.less"(%queries, %zeros) : (tensor<4x1xi64>, tensor<4xi64>) -> tensor<4x4xi1>
  // CHECK: apc.softmax_attention: {{.*}}attention={d=32 t=4 masked}
  %3 = "apc.softmax_attention"(%q, %k, %k, %late) {fill = -6.55e+04 : f32, seen = 0 : i64} : (tensor<2x8x4x32xf16>, tensor<2x8x4x32xf16>, tensor<2x8x4x32xf16>, tensor<4x4xi1>) -> tensor<2x8x4x32xf16>
  // Bools of a comparison that is folded are as good.
  %seen = apc.constant dense<[[true, false, false, false], [true, true, false, false], [true, true, true, false], [true, true, true, true]]> : tensor<4x4xi1>
  // CHECK: apc.softmax_attention: {{.*}}attention={d=32 t=4 causal}
  %4 = "apc.softmax_attention"(%q, %k, %k, %seen) {fill = -6.55e+04 : f32} : (tensor<2x8x4x32xf16>, tensor<2x8x4x32xf16>, tensor<2x8x4x32xf16>, tensor<4x4xi1>) -> tensor<2x8x4x32xf16>
  // CHECK: apc.softmax_attention: {{.*}}attention={d=32 t=4 masked}
  %5 = "apc.softmax_attention"(%q, %k, %k, %seen) {fill = -6.55e+04 : f32, seen = 0 : i64} : (tensor<2x8x4x32xf16>, tensor<2x8x4x32xf16>, tensor<2x8x4x32xf16>, tensor<4x4xi1>) -> tensor<2x8x4x32xf16>
  %own = apc.constant dense<[[true, false, false, false], [true, true, false, false], [false, true, true, false], [true, true, true, true]]> : tensor<4x4xi1>
  // CHECK: apc.softmax_attention: {{.*}}attention={d=32 t=4 masked}
  %6 = "apc.softmax_attention"(%q, %k, %k, %own) {fill = -6.55e+04 : f32} : (tensor<2x8x4x32xf16>, tensor<2x8x4x32xf16>, tensor<2x8x4x32xf16>, tensor<4x4xi1>) -> tensor<2x8x4x32xf16>
  return
}

// Ranges are as good as constants, whatever their length; f16 does not tell all positions apart.
func.func @causal_of_ranges(%q: tensor<1x1x131072x32xf16>) {
  %zero = apc.constant dense<0> : tensor<i64>
  %one = apc.constant dense<1> : tensor<i64>
  %end = apc.constant dense<131072> : tensor<i64>
  %column = apc.constant dense<1> : tensor<1xi64>
  %keys = "apc.range"(%zero, %end, %one) : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<131072xi64>
  %queries = "apc.unsqueeze"(%keys, %column) : (tensor<131072xi64>, tensor<1xi64>) -> tensor<131072x1xi64>
  %later = "apc.less"(%queries, %keys) : (tensor<131072x1xi64>, tensor<131072xi64>) -> tensor<131072x131072xi1>
  // CHECK: apc.softmax_attention: {{.*}}attention={d=32 t=131072 causal}
  %0 = "apc.softmax_attention"(%q, %q, %q, %later) {fill = -6.55e+04 : f32, seen = 0 : i64} : (tensor<1x1x131072x32xf16>, tensor<1x1x131072x32xf16>, tensor<1x1x131072x32xf16>, tensor<131072x131072xi1>) -> tensor<1x1x131072x32xf16>
  %next = "apc.add"(%queries, %one) : (tensor<131072x1xi64>, tensor<i64>) -> tensor<131072x1xi64>
  %earlier = "apc.less"(%keys, %next) : (tensor<131072xi64>, tensor<131072x1xi64>) -> tensor<131072x131072xi1>
  // CHECK: apc.softmax_attention: {{.*}}attention={d=32 t=131072 causal}
  %1 = "apc.softmax_attention"(%q, %q, %q, %earlier) {fill = -6.55e+04 : f32} : (tensor<1x1x131072x32xf16>, tensor<1x1x131072x32xf16>, tensor<1x1x131072x32xf16>, tensor<131072x131072xi1>) -> tensor<1x1x131072x32xf16>
  %far = "apc.less_or_equal"(%keys, %next) : (tensor<131072xi64>, tensor<131072x1xi64>) -> tensor<131072x131072xi1>
  // CHECK: apc.softmax_attention: {{.*}}attention={d=32 t=131072 masked}
  %2 = "apc.softmax_attention"(%q, %q, %q, %far) {fill = -6.55e+04 : f32} : (tensor<1x1x131072x32xf16>, tensor<1x1x131072x32xf16>, tensor<1x1x131072x32xf16>, tensor<131072x131072xi1>) -> tensor<1x1x131072x32xf16>
  %halves = "apc.cast"(%keys) {to = 10 : i64} : (tensor<131072xi64>) -> tensor<131072xf16>
  %rows = "apc.unsqueeze"(%halves, %column) : (tensor<131072xf16>, tensor<1xi64>) -> tensor<131072x1xf16>
  %rough = "apc.less"(%rows, %halves) : (tensor<131072x1xf16>, tensor<131072xf16>) -> tensor<131072x131072xi1>
  // CHECK: apc.softmax_attention: {{.*}}attention={d=32 t=131072 masked}
  %3 = "apc.softmax_attention"(%q, %q, %q, %rough) {fill = -6.55e+04 : f32, seen = 0 : i64} : (tensor<1x1x131072x32xf16>, tensor<1x1x131072x32xf16>, tensor<1x1x131072x32xf16>, tensor<131072x131072xi1>) -> tensor<1x1x131072x32xf16>
  return
}

func.func @attention_gradients(%q: tensor<2x32x16x8xf32>, %k: tensor<2x8x24x8xf32>, %v: tensor<2x8x24x4xf32>, %mask: tensor<16x24xf32>, %dy: tensor<2x32x16x4xf32>) {
  // CHECK: apc.softmax_attention_query_grad: b0 (kv g) s d, b0 kv t d, b0 kv t e, s t, b0 (kv g) s e -> b0 (kv g) s d {b0=2, kv=8, g=4, s=16, t=24 !, d=8 !, e=4 !} linear={4} flops=0.625 attention={d=8 t=24 masked}{{$}}
  %0 = "apc.softmax_attention_query_grad"(%q, %k, %v, %mask, %dy) : (tensor<2x32x16x8xf32>, tensor<2x8x24x8xf32>, tensor<2x8x24x4xf32>, tensor<16x24xf32>, tensor<2x32x16x4xf32>) -> tensor<2x32x16x8xf32>
  // CHECK: apc.softmax_attention_key_grad: b0 (kv g) s d, b0 kv t d, b0 kv t e, s t, b0 (kv g) s e -> b0 kv t d {b0=2, kv=8, g=4 sum, s=16 sum, t=24 !, d=8 !, e=4 !} linear={4} flops=0.625 attention={d=8 t=24 masked}{{$}}
  %1 = "apc.softmax_attention_key_grad"(%q, %k, %v, %mask, %dy) : (tensor<2x32x16x8xf32>, tensor<2x8x24x8xf32>, tensor<2x8x24x4xf32>, tensor<16x24xf32>, tensor<2x32x16x4xf32>) -> tensor<2x8x24x8xf32>
  // CHECK: apc.softmax_attention_value_grad: b0 (kv g) s d, b0 kv t d, b0 kv t e, s t, b0 (kv g) s e -> b0 kv t e {b0=2, kv=8, g=4 sum, s=16 sum, t=24 !, d=8 !, e=4 !} linear={4} flops=0.625 attention={d=8 t=24 masked}{{$}}
  %2 = "apc.softmax_attention_value_grad"(%q, %k, %v, %mask, %dy) : (tensor<2x32x16x8xf32>, tensor<2x8x24x8xf32>, tensor<2x8x24x4xf32>, tensor<16x24xf32>, tensor<2x32x16x4xf32>) -> tensor<2x8x24x4xf32>
  // CHECK: apc.softmax_attention_mask_grad: b0 (kv g) s d, b0 kv t d, b0 kv t e, s t, b0 (kv g) s e -> s t {b0=2 sum, kv=8 sum, g=4 sum, s=16, t=24 !, d=8 !, e=4 !} linear={4} flops=0.0625 attention={d=8 t=24 masked}{{$}}
  %3 = "apc.softmax_attention_mask_grad"(%q, %k, %v, %mask, %dy) : (tensor<2x32x16x8xf32>, tensor<2x8x24x8xf32>, tensor<2x8x24x4xf32>, tensor<16x24xf32>, tensor<2x32x16x4xf32>) -> tensor<16x24xf32>
  return
}
