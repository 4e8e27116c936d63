// RUN: apc-opt %s --split-input-file --verify-diagnostics
// Errors stand at the op: elementwise operators, contractions, reductions, normalisations, losses.

func.func @broadcast(%a: tensor<4x6xf32>, %b: tensor<4x5xf32>) {
  // expected-error @below {{operand 1 dim 1: extent 5 does not broadcast with 6}}
  %0 = "apc.add"(%a, %b) : (tensor<4x6xf32>, tensor<4x5xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @result(%a: tensor<4x6xf32>, %b: tensor<6xf32>) {
  // expected-error @below {{result 0 has type 'tensor<4x5xf32>', but 'tensor<4x6xf32>' follows}}
  %0 = "apc.add"(%a, %b) : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x5xf32>
  return
}

// -----

func.func @elements(%a: tensor<4xf32>, %b: tensor<4xi64>) {
  // expected-error @below {{operand 'B' holds 'i64', but 'A' holds 'f32'; the types must be equal}}
  %0 = "apc.add"(%a, %b) : (tensor<4xf32>, tensor<4xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @overflow(%a: tensor<1099511627776x1xf32>, %b: tensor<1x1099511627776xf32>) {
  // expected-error @below {{whose size overflows 64 bits}}
  %0 = "apc.mul"(%a, %b) : (tensor<1099511627776x1xf32>, tensor<1x1099511627776xf32>) -> tensor<1xf32>
  return
}

// -----

func.func @cast(%a: tensor<4xf32>) {
  // expected-error @below {{attribute 'to' is 8, which is not a numeric element type; accepted are ONNX's 1-7, 9-13 and 16-26}}
  %0 = "apc.cast"(%a) {to = 8 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @condition(%c: tensor<4xf32>, %a: tensor<4xf32>) {
  // expected-error @below {{operand 'condition' holds 'f32'; accepted are bool}}
  %0 = "apc.where"(%c, %a, %a) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @matmul(%a: tensor<4x6xf32>, %b: tensor<5x7xf32>) {
  // expected-error @below {{operand 1 dim 0: factor 'k' is 5 here but 6 in operand 0 dim 1}}
  %0 = "apc.matmul"(%a, %b) : (tensor<4x6xf32>, tensor<5x7xf32>) -> tensor<4x7xf32>
  return
}

// -----

func.func @gemm(%a: tensor<2x4x6xf32>, %b: tensor<6x7xf32>, %n: none) {
  // expected-error @below {{operand 0 has 3 dims; the rule expects 2}}
  %0 = "apc.gemm"(%a, %b, %n) : (tensor<2x4x6xf32>, tensor<6x7xf32>, none) -> tensor<4x7xf32>
  return
}

// -----

func.func @einsum_operands(%a: tensor<4x6xf32>) {
  // expected-error @below {{equation 'ij,jk->ik' has 2 operands, but 1 are given}}
  %0 = "apc.einsum"(%a) {equation = "ij,jk->ik"} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @einsum_labels(%a: tensor<4x6xf32>) {
  // expected-error @below {{operand 0 has 2 dims, but the equation gives it 'ijk'}}
  %0 = "apc.einsum"(%a) {equation = "ijk->ik"} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @einsum_result(%a: tensor<4x6xf32>) {
  // expected-error @below {{label 'k' of the result is in no operand of the equation}}
  %0 = "apc.einsum"(%a) {equation = "ij->ik"} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @einsum_size(%a: tensor<4x6xf32>, %b: tensor<5x7xf32>) {
  // expected-error @below {{label 'j' of the equation is 6 and 5}}
  %0 = "apc.einsum"(%a, %b) {equation = "ij,jk->ik"} : (tensor<4x6xf32>, tensor<5x7xf32>) -> tensor<4x7xf32>
  return
}

// -----

func.func @einsum_text(%a: tensor<4x6xf32>) {
  // expected-error @below {{equation has '?'; letters, '...', ',' and '->' are accepted}}
  %0 = "apc.einsum"(%a) {equation = "ij?->i"} : (tensor<4x6xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @blocks(%a: tensor<16x128xf16>, %b: tensor<64x4x8xui8>, %s: tensor<256xf16>, %n: none) {
  // expected-error @below {{B is [64, 4, 8], but [64, 4, 16] follows from N, K, block_size and bits}}
  %0 = "apc.matmul_nbits"(%a, %b, %s, %n, %n, %n) {K = 128 : i64, N = 64 : i64, bits = 4 : i64, block_size = 32 : i64} : (tensor<16x128xf16>, tensor<64x4x8xui8>, tensor<256xf16>, none, none, none) -> tensor<16x64xf16>
  return
}

// -----

func.func @axes(%a: tensor<4x6xf32>) {
  %axes = apc.constant dense<[0, -2]> : tensor<2xi64>
  // expected-error @below {{axes [0, -2] names dim 0 twice}}
  %0 = "apc.reduce_sum"(%a, %axes) : (tensor<4x6xf32>, tensor<2xi64>) -> tensor<1x6xf32>
  return
}

// -----

func.func @axes_unknown(%a: tensor<4x6xf32>, %axes: tensor<1xi64>) {
  // expected-error @below {{operand 'axes' decides a shape, so it must follow from constants and input shapes}}
  %0 = "apc.reduce_max"(%a, %axes) : (tensor<4x6xf32>, tensor<1xi64>) -> tensor<1x6xf32>
  return
}

// -----

func.func @axis(%a: tensor<4x6xf32>) {
  // expected-error @below {{axis 9223372036854775807 is outside [-2, 1]}}
  %0 = "apc.arg_max"(%a) {axis = 9223372036854775807 : i64} : (tensor<4x6xf32>) -> tensor<1x6xi64>
  return
}

// -----

func.func @top_k(%a: tensor<4x6xf32>) {
  %k = apc.constant dense<7> : tensor<1xi64>
  // expected-error @below {{K is [7]; one number from 0 to 6 is accepted}}
  %0:2 = "apc.top_k"(%a, %k) : (tensor<4x6xf32>, tensor<1xi64>) -> (tensor<4x7xf32>, tensor<4x7xi64>)
  return
}

// -----

func.func @softmax(%a: tensor<f32>) {
  // expected-error @below {{axis -1 is outside [0, -1]}}
  %0 = "apc.softmax"(%a) : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @scale(%a: tensor<4x6xf32>, %s: tensor<2x4x6xf32>) {
  // expected-error @below {{shape [2, 4, 6] does not broadcast to [4, 6]}}
  %0 = "apc.rms_normalization"(%a, %s) : (tensor<4x6xf32>, tensor<2x4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @rows_of_statistics(%a: tensor<4x6xf32>, %s: tensor<5x2xf32>, %g: tensor<6xf32>) {
  %none = apc.none
  // expected-error @below {{operand 1 dim 0: factor 'd0' is 5 here but 4 in operand 0 dim 0}}
  %0:2 = "apc.layer_normalize"(%a, %s, %g, %none, %none, %none) : (tensor<4x6xf32>, tensor<5x2xf32>, tensor<6xf32>, none, none, none) -> (tensor<4x6xf32>, none)
  return
}

// -----

func.func @statistics_of_more(%a: tensor<4x6xf32>, %skip: tensor<2x4x6xf32>) {
  %none = apc.none
  // expected-error @below {{shape [2, 4, 6] does not broadcast to [4, 6]}}
  %0 = "apc.layer_statistics"(%a, %skip, %none) : (tensor<4x6xf32>, tensor<2x4x6xf32>, none) -> tensor<4x2xf32>
  return
}

// -----

func.func @stash(%a: tensor<4x6xf32>, %s: tensor<6xf32>) {
  // expected-error @below {{attribute 'stash_type' failed to satisfy constraint: one of 1, 10, 11, 16}}
  %0:2 = "apc.simplified_layer_normalization"(%a, %s) {stash_type = 99 : i64} : (tensor<4x6xf32>, tensor<6xf32>) -> (tensor<4x6xf32>, none)
  return
}

// -----

func.func @groups(%a: tensor<2x6x4xf32>, %s: tensor<6xf32>) {
  // expected-error @below {{num_groups 4 must divide dim 1 of X [2, 6, 4]}}
  %0 = "apc.group_normalization"(%a, %s, %s) {num_groups = 4 : i64} : (tensor<2x6x4xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x6x4xf32>
  return
}

// -----

func.func @reduction(%scores: tensor<4x50xf32>, %labels: tensor<4xi64>, %n: none) {
  // expected-error @below {{attribute 'reduction' is 'median'; none, mean and sum are accepted}}
  %0:2 = "apc.softmax_cross_entropy_loss"(%scores, %labels, %n) {reduction = "median"} : (tensor<4x50xf32>, tensor<4xi64>, none) -> (tensor<f32>, none)
  return
}

// -----

func.func @classes(%scores: tensor<4x50xf32>, %sums: tensor<4x1xf32>, %labels: tensor<4xi64>, %n: none) {
  // expected-error @below {{attribute 'axis' is 2; 0 to 1 are accepted}}
  %0 = "apc.cross_entropy"(%scores, %sums, %labels, %n) {axis = 2 : i64} : (tensor<4x50xf32>, tensor<4x1xf32>, tensor<4xi64>, none) -> tensor<f32>
  return
}

// -----

func.func @kinds(%a: tensor<4x6xi64>, %b: tensor<6x7xf32>) {
  // expected-error @below {{operand 'B' holds 'f32', but 'A' holds 'i64'; the types must be equal}}
  %0 = "apc.matmul"(%a, %b) : (tensor<4x6xi64>, tensor<6x7xf32>) -> tensor<4x7xi64>
  return
}

// -----

func.func @narrow(%a: tensor<4x6xi8>, %b: tensor<6x7xi8>) {
  // expected-error @below {{operand 'A' holds 'i8'; accepted are i32, i64, ui32, ui64, f16, bf16, f32, f64}}
  %0 = "apc.matmul"(%a, %b) : (tensor<4x6xi8>, tensor<6x7xi8>) -> tensor<4x7xi8>
  return
}

// -----

func.func @bias_kind(%a: tensor<4x6xf32>, %b: tensor<6x7xf32>, %c: tensor<7xf64>) {
  // expected-error @below {{operand 'C' holds 'f64', but 'A' holds 'f32'; the types must be equal}}
  %0 = "apc.gemm"(%a, %b, %c) : (tensor<4x6xf32>, tensor<6x7xf32>, tensor<7xf64>) -> tensor<4x7xf32>
  return
}

// -----

func.func @further_operand(%a: tensor<4xf32>, %b: tensor<4xf16>) {
  // expected-error @below {{operand '#2' holds 'f16', but 'Inputs' holds 'f32'; the types must be equal}}
  %0 = "apc.einsum"(%a, %a, %b) {equation = "i,i,i->"} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf16>) -> tensor<f32>
  return
}

// -----

func.func @normalised_integers(%a: tensor<4x6xi8>, %s: tensor<6xf32>, %n: none) {
  // expected-error @below {{operand 'X' holds 'i8'; accepted are f16, bf16, f32, f64}}
  %0:3 = "apc.layer_normalization"(%a, %s, %n) : (tensor<4x6xi8>, tensor<6xf32>, none) -> (tensor<4x6xf32>, none, none)
  return
}

// -----

func.func @scales(%a: tensor<16x128xf16>, %b: tensor<4x4x16xui8>, %s: tensor<3xf16>, %n: none) {
  // expected-error @below {{operand 'scales' has shape [3] where [4, 4] or [4, 4, 1] or [16] is needed}}
  %0 = "apc.matmul_nbits"(%a, %b, %s, %n, %n, %n) {K = 128 : i64, N = 4 : i64, bits = 4 : i64, block_size = 32 : i64} : (tensor<16x128xf16>, tensor<4x4x16xui8>, tensor<3xf16>, none, none, none) -> tensor<16x4xf16>
  return
}

// -----

func.func @zero_points(%a: tensor<16x128xf16>, %b: tensor<4x4x16xui8>, %s: tensor<16xf16>, %z: tensor<5xui8>, %n: none) {
  // expected-error @below {{operand 'zero_points' has shape [5] where [4, 4] or [4, 4, 1] or [16] is needed}}
  %0 = "apc.matmul_nbits"(%a, %b, %s, %z, %n, %n) {K = 128 : i64, N = 4 : i64, bits = 4 : i64, block_size = 32 : i64} : (tensor<16x128xf16>, tensor<4x4x16xui8>, tensor<16xf16>, tensor<5xui8>, none, none) -> tensor<16x4xf16>
  return
}

// -----

func.func @groups_of_columns(%a: tensor<16x128xf16>, %b: tensor<4x4x16xui8>, %s: tensor<16xf16>, %g: tensor<64xi32>, %n: none) {
  // expected-error @below {{operand 'g_idx' has shape [64] where [128] or [128] is needed}}
  %0 = "apc.matmul_nbits"(%a, %b, %s, %n, %g, %n) {K = 128 : i64, N = 4 : i64, bits = 4 : i64, block_size = 32 : i64} : (tensor<16x128xf16>, tensor<4x4x16xui8>, tensor<16xf16>, none, tensor<64xi32>, none) -> tensor<16x4xf16>
  return
}

// -----

func.func @unpacked_scales(%b: tensor<4x64xui8>, %s: tensor<4x3xf16>, %n: none) {
  // expected-error @below {{operand 'scales' has shape [4, 3] where rows like those of the weights, of 4 elements, are needed}}
  %0 = "apc.unpack_weights"(%b, %s, %n, %n) {bits = 4 : i64, block_size = 32 : i64, columns = 128 : i64} : (tensor<4x64xui8>, tensor<4x3xf16>, none, none) -> tensor<4x128xf16>
  return
}

// -----

func.func @unpacked_columns(%b: tensor<4x64xui8>, %s: tensor<4x4xf16>, %n: none) {
  // expected-error @below {{has weights [4, 64], columns 129, bits 4 and block_size 32; rows of as many bytes as columns need, 1 to 8 bits and a size of 0 or more are needed}}
  %0 = "apc.unpack_weights"(%b, %s, %n, %n) {bits = 4 : i64, block_size = 32 : i64, columns = 129 : i64} : (tensor<4x64xui8>, tensor<4x4xf16>, none, none) -> tensor<4x129xf16>
  return
}

// -----

func.func @row_bias(%a: tensor<16x128xf16>, %b: tensor<4x4x16xui8>, %s: tensor<16xf16>, %c: tensor<1xf16>, %n: none) {
  // expected-error @below {{operand 'bias' has shape [1] where [4] is needed}}
  %0 = "apc.matmul_nbits"(%a, %b, %s, %n, %n, %c) {K = 128 : i64, N = 4 : i64, bits = 4 : i64, block_size = 32 : i64} : (tensor<16x128xf16>, tensor<4x4x16xui8>, tensor<16xf16>, none, none, tensor<1xf16>) -> tensor<16x4xf16>
  return
}

// -----

func.func @one_number(%x: tensor<f32>, %s: tensor<1xf32>) {
  // expected-error @below {{operand 'input' has 0 dims; batch and channels at least are needed}}
  %0 = "apc.instance_normalization"(%x, %s, %s) : (tensor<f32>, tensor<1xf32>, tensor<1xf32>) -> tensor<f32>
  return
}

// -----

func.func @bounds(%x: tensor<3xf32>) {
  %none = apc.none
  // expected-error @below {{operand 'max' has shape [3]; a scalar is needed}}
  %0 = "apc.clip"(%x, %none, %x) : (tensor<3xf32>, none, tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @norm(%x: tensor<3xf32>) {
  // expected-error @below {{attribute 'p' failed to satisfy constraint: one of 1, 2}}
  %0 = "apc.lp_normalization"(%x) {p = 3 : i64} : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @positions(%ids: tensor<2x4xi32>, %words: tensor<9x8xf32>, %table: tensor<5x8xf32>, %g: tensor<8xf32>, %p: tensor<2x4x0xi32>) {
  %none = apc.none
  // expected-error @below {{position_ids must be [2, 4] or [1, 4], not [2, 4, 0]}}
  %0:3 = "apc.embed_layer_normalization"(%ids, %none, %words, %table, %none, %g, %g, %none, %p) : (tensor<2x4xi32>, none, tensor<9x8xf32>, tensor<5x8xf32>, none, tensor<8xf32>, tensor<8xf32>, none, tensor<2x4x0xi32>) -> (tensor<2x4x8xf32>, none, none)
  return
}
