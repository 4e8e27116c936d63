// RUN: apc-opt %s --apc-print-rules | FileCheck %s
// Contractions: reductions over k, transposed operands, equations, blocks of quantised weights.

func.func @matmul(%a: tensor<8x128x512xf32>, %w: tensor<512x1024xf32>, %v: tensor<512xf32>, %b: tensor<8x512x64xf32>) {
  // CHECK: apc.matmul: b0 m k, k n -> b0 m n {b0=8, m=128, k=512 sum, n=1024} flops=2{{$}}
  %0 = "apc.matmul"(%a, %w) : (tensor<8x128x512xf32>, tensor<512x1024xf32>) -> tensor<8x128x1024xf32>
  // CHECK: apc.matmul: b0 m k, b0 k n -> b0 m n {b0=8, m=128, k=512 sum, n=64} flops=2{{$}}
  %1 = "apc.matmul"(%a, %b) : (tensor<8x128x512xf32>, tensor<8x512x64xf32>) -> tensor<8x128x64xf32>
  // CHECK: apc.matmul: b0 m k, k -> b0 m {b0=8, m=128, k=512 sum} flops=2{{$}}
  %2 = "apc.matmul"(%a, %v) : (tensor<8x128x512xf32>, tensor<512xf32>) -> tensor<8x128xf32>
  // CHECK: apc.matmul: k, b0 k n -> b0 n {k=512 sum, b0=8, n=64} flops=2{{$}}
  %3 = "apc.matmul"(%v, %b) : (tensor<512xf32>, tensor<8x512x64xf32>) -> tensor<8x64xf32>
  // CHECK: apc.matmul: k, k ->  {k=512 sum} flops=2{{$}}
  %4 = "apc.matmul"(%v, %v) : (tensor<512xf32>, tensor<512xf32>) -> tensor<f32>
  return
}

func.func @gemm(%a: tensor<128x512xf32>, %at: tensor<512x128xf32>, %b: tensor<512x64xf32>, %bt: tensor<64x512xf32>, %n: tensor<64xf32>,
                %m1: tensor<128x1xf32>, %s: tensor<f32>) {
  %none = apc.none
  // CHECK: apc.gemm: m k, n k, n -> m n {m=128, k=512 sum, n=64} flops=2{{$}}
  %0 = "apc.gemm"(%a, %bt, %n) {transB = 1 : i64} : (tensor<128x512xf32>, tensor<64x512xf32>, tensor<64xf32>) -> tensor<128x64xf32>
  // CHECK: apc.gemm: k m, k n, _ -> m n {k=512 sum, m=128, n=64} flops=2{{$}}
  %1 = "apc.gemm"(%at, %b, %none) {transA = 1 : i64} : (tensor<512x128xf32>, tensor<512x64xf32>, none) -> tensor<128x64xf32>
  // CHECK: apc.gemm: m k, k n, m 1 -> m n {m=128, k=512 sum, n=64} flops=2{{$}}
  %2 = "apc.gemm"(%a, %b, %m1) : (tensor<128x512xf32>, tensor<512x64xf32>, tensor<128x1xf32>) -> tensor<128x64xf32>
  // CHECK: apc.gemm: m k, k n,  -> m n {m=128, k=512 sum, n=64} flops=2{{$}}
  %3 = "apc.gemm"(%a, %b, %s) : (tensor<128x512xf32>, tensor<512x64xf32>, tensor<f32>) -> tensor<128x64xf32>
  // CHECK: apc.fused_gemm: m k, k n, n -> m n {m=128, k=512 !, n=64} flops=2{{$}}
  %4 = "apc.fused_gemm"(%a, %b, %n) {activation = "Relu"} : (tensor<128x512xf32>, tensor<512x64xf32>, tensor<64xf32>) -> tensor<128x64xf32>
  return
}

func.func @fused(%a: tensor<2x8x128x512xf32>, %at: tensor<128x2x8x512xf32>, %b: tensor<8x64x512xf32>, %u: tensor<1x512x64xf32>,
                 %v: tensor<512xf32>) {
  // CHECK: apc.fused_matmul: g0 g1 m k, g1 n k -> g0 g1 m n {g0=2, g1=8, m=128, k=512 sum, n=64} flops=2{{$}}
  %0 = "apc.fused_matmul"(%a, %b) {transB = 1 : i64} : (tensor<2x8x128x512xf32>, tensor<8x64x512xf32>) -> tensor<2x8x128x64xf32>
  // CHECK: apc.fused_matmul: m g0 g1 k, 1 k n -> g0 g1 m n {m=128, g0=2, g1=8, k=512 sum, n=64} flops=2{{$}}
  %1 = "apc.fused_matmul"(%at, %u) {transBatchA = 1 : i64} : (tensor<128x2x8x512xf32>, tensor<1x512x64xf32>) -> tensor<2x8x128x64xf32>
  // CHECK: apc.fused_matmul: b0 b1 m k, k -> b0 b1 m {b0=2, b1=8, m=128, k=512 sum} flops=2{{$}}
  %2 = "apc.fused_matmul"(%a, %v) : (tensor<2x8x128x512xf32>, tensor<512xf32>) -> tensor<2x8x128xf32>
  return
}

func.func @einsum(%x: tensor<4x6x8xf32>, %g: tensor<4x6x3x5xf32>, %w: tensor<3x8x7xf32>, %d: tensor<6x6xf32>, %v: tensor<6xf32>) {
  // CHECK: apc.einsum: b s e c, b s m -> b e c m {b=4, s=6 sum, e=3, c=5, m=8} flops=2{{$}}
  %0 = "apc.einsum"(%g, %x) {equation = "bsec, bsm -> becm"} : (tensor<4x6x3x5xf32>, tensor<4x6x8xf32>) -> tensor<4x3x5x8xf32>
  // CHECK: apc.einsum: b e c m, e m f -> b e c f {b=4, e=3, c=5, m=8 sum, f=7} flops=2{{$}}
  %1 = "apc.einsum"(%0, %w) {equation = "becm,emf->becf"} : (tensor<4x3x5x8xf32>, tensor<3x8x7xf32>) -> tensor<4x3x5x7xf32>
  // CHECK: apc.einsum: e0 e1 m, e m f -> e0 e1 e f {e0=4, e1=6, m=8 sum, e=3, f=7} flops=2{{$}}
  %2 = "apc.einsum"(%x, %w) {equation = "...m,emf->...ef"} : (tensor<4x6x8xf32>, tensor<3x8x7xf32>) -> tensor<4x6x3x7xf32>
  // CHECK: apc.einsum: i i -> i {i=6 !} linear={0}{{$}}
  %3 = "apc.einsum"(%d) {equation = "ii->i"} : (tensor<6x6xf32>) -> tensor<6xf32>
  // CHECK: apc.einsum: i j -> j i {i=6, j=6} linear={0}{{$}}
  %4 = "apc.einsum"(%d) {equation = "ij->ji"} : (tensor<6x6xf32>) -> tensor<6x6xf32>
  // CHECK: apc.einsum: z i, i -> z {z=6, i=6 sum} flops=2{{$}}
  %5 = "apc.einsum"(%d, %v) {equation = "zi,i"} : (tensor<6x6xf32>, tensor<6xf32>) -> tensor<6xf32>
  // CHECK: apc.einsum: i, i j, j ->  {i=6 sum, j=6 sum} flops=3{{$}}
  %6 = "apc.einsum"(%v, %d, %v) {equation = "i,ij,j->"} : (tensor<6xf32>, tensor<6x6xf32>, tensor<6xf32>) -> tensor<f32>
  // CHECK: apc.einsum:  ->  {} linear={0}{{$}}
  %7 = "apc.einsum"(%6) {equation = "->"} : (tensor<f32>) -> tensor<f32>
  return
}

func.func @integers(%a: tensor<4x6x8xui8>, %b: tensor<8x7xi8>, %az: tensor<ui8>, %bz: tensor<7xi8>, %s: tensor<f32>, %sn: tensor<7xf32>,
                    %f: tensor<4x6x8xf32>) {
  %none = apc.none
  // CHECK: apc.matmul_integer: b0 m k, k n, , n -> b0 m n {b0=4, m=6, k=8 sum, n=7} flops=2{{$}}
  %0 = "apc.matmul_integer"(%a, %b, %az, %bz) : (tensor<4x6x8xui8>, tensor<8x7xi8>, tensor<ui8>, tensor<7xi8>) -> tensor<4x6x7xi32>
  // CHECK: apc.matmul_integer_to_float: b0 m k, k n, , n, , n, n -> b0 m n {b0=4, m=6, k=8 sum, n=7} flops=2{{$}}
  %1 = "apc.matmul_integer_to_float"(%a, %b, %s, %sn, %az, %bz, %sn) : (tensor<4x6x8xui8>, tensor<8x7xi8>, tensor<f32>, tensor<7xf32>, tensor<ui8>, tensor<7xi8>, tensor<7xf32>) -> tensor<4x6x7xf32>
  // CHECK: apc.dynamic_quantize_matmul: b0 m k, k n, , _, _ -> b0 m n {b0=4 !, m=6 !, k=8 !, n=7} flops=2{{$}}
  %2 = "apc.dynamic_quantize_matmul"(%f, %b, %s, %none, %none) : (tensor<4x6x8xf32>, tensor<8x7xi8>, tensor<f32>, none, none) -> tensor<4x6x7xf32>
  // CHECK: apc.dynamic_quantize_matmul: b0 m k, k n, n, n, n -> b0 m n {b0=4 !, m=6 !, k=8 !, n=7} flops=2{{$}}
  %4 = "apc.dynamic_quantize_matmul"(%f, %b, %sn, %bz, %sn) : (tensor<4x6x8xf32>, tensor<8x7xi8>, tensor<7xf32>, tensor<7xi8>, tensor<7xf32>) -> tensor<4x6x7xf32>
  // CHECK: apc.qlinear_matmul: b0 m k, , , k n, n, n, ,  -> b0 m n {b0=4, m=6, k=8 !, n=7} flops=2{{$}}
  %3 = "apc.qlinear_matmul"(%a, %s, %az, %b, %sn, %bz, %s, %az) : (tensor<4x6x8xui8>, tensor<f32>, tensor<ui8>, tensor<8x7xi8>, tensor<7xf32>, tensor<7xi8>, tensor<f32>, tensor<ui8>) -> tensor<4x6x7xui8>
  return
}

// Blocks that fill bytes are cut one by one, unless their zero points share bytes or columns name their blocks.
func.func @packed(%b: tensor<64x64xui8>, %s: tensor<64x4xf16>, %z: tensor<64x2xui8>, %one: tensor<8x64x1xf16>, %e: tensor<8x64x64xui8>, %g: tensor<128xi32>) {
  %none = apc.none
  // CHECK: apc.unpack_weights: d0 (d1 w0), d0 d1, _, _ -> d0 (d1 w1) {d0=64, d1=4, w0=16 !, w1=32 !} flops=0.125{{$}}
  %0 = "apc.unpack_weights"(%b, %s, %none, %none) {bits = 4 : i64, block_size = 32 : i64, columns = 128 : i64} : (tensor<64x64xui8>, tensor<64x4xf16>, none, none) -> tensor<64x128xf16>
  // CHECK: apc.unpack_weights: d0 w1, d0 w0, d0 w2, _ -> d0 w3 {d0=64, w0=4 !, w1=64 !, w2=2 !, w3=128 !} flops=0.00390625{{$}}
  %1 = "apc.unpack_weights"(%b, %s, %z, %none) {bits = 4 : i64, block_size = 32 : i64, columns = 128 : i64} : (tensor<64x64xui8>, tensor<64x4xf16>, tensor<64x2xui8>, none) -> tensor<64x128xf16>
  // CHECK: apc.unpack_weights: d0 w1, d0 w0, _, w3 -> d0 w2 {d0=64, w0=4 !, w1=64 !, w2=128 !, w3=128 !} flops=6.10352e-05{{$}}
  %2 = "apc.unpack_weights"(%b, %s, %none, %g) {bits = 4 : i64, block_size = 32 : i64, columns = 128 : i64} : (tensor<64x64xui8>, tensor<64x4xf16>, none, tensor<128xi32>) -> tensor<64x128xf16>
  // CHECK: apc.unpack_weights: d0 d1 w1, d0 d1 w0, _, _ -> d0 d1 w2 {d0=8, d1=64, w0=1 !, w1=64 !, w2=128 !} flops=0.03125{{$}}
  %3 = "apc.unpack_weights"(%e, %one, %none, %none) {bits = 4 : i64, block_size = 0 : i64, columns = 128 : i64} : (tensor<8x64x64xui8>, tensor<8x64x1xf16>, none, none) -> tensor<8x64x128xf16>
  return
}

func.func @blocks(%a: tensor<1x16x128xf16>, %b: tensor<64x4x16xui8>, %s: tensor<256xf16>, %z: tensor<128xui8>, %s2: tensor<64x4xf16>,
                  %short: tensor<1x16x100xf16>, %bias: tensor<64xf16>) {
  %none = apc.none
  // CHECK: apc.matmul_nbits: d1 d2 (k w0), d0 k w1, (d0 k), _, _, _ -> d1 d2 d0 {d0=64, k=4 sum, w0=32 !, d1=1, d2=16, w1=16 !} flops=0.125{{$}}
  %0 = "apc.matmul_nbits"(%a, %b, %s, %none, %none, %none) {K = 128 : i64, N = 64 : i64, bits = 4 : i64, block_size = 32 : i64} : (tensor<1x16x128xf16>, tensor<64x4x16xui8>, tensor<256xf16>, none, none, none) -> tensor<1x16x64xf16>
  // CHECK: apc.matmul_nbits: d1 d2 w2, d0 w0 w3, d0 w0, (d0 w4), _, d0 -> d1 d2 d0 {d0=64, w0=4 !, w1=32 !, d1=1, d2=16, w2=128 !, w3=16 !, w4=2 !} flops=0.000488281{{$}}
  %1 = "apc.matmul_nbits"(%a, %b, %s2, %z, %none, %bias) {K = 128 : i64, N = 64 : i64, bits = 4 : i64, block_size = 32 : i64} : (tensor<1x16x128xf16>, tensor<64x4x16xui8>, tensor<64x4xf16>, tensor<128xui8>, none, tensor<64xf16>) -> tensor<1x16x64xf16>
  // CHECK: apc.matmul_nbits: d1 d2 w2, d0 w0 w3, (d0 w0), _, _, _ -> d1 d2 d0 {d0=64, w0=4 !, w1=32 !, d1=1, d2=16, w2=100 !, w3=16 !} flops=0.000976562{{$}}
  %2 = "apc.matmul_nbits"(%short, %b, %s, %none, %none, %none) {K = 100 : i64, N = 64 : i64, bits = 4 : i64, block_size = 32 : i64} : (tensor<1x16x100xf16>, tensor<64x4x16xui8>, tensor<256xf16>, none, none, none) -> tensor<1x16x64xf16>
  return
}
