// Contractions, and what picks rows by number, one in each function, with dims that two, three, four and six devices cut evenly or not.

func.func @matmul(%a: tensor<3x5x7xf32>, %b: tensor<7x6xf32>) -> tensor<3x5x6xf32> {
  %0 = "apc.matmul"(%a, %b) : (tensor<3x5x7xf32>, tensor<7x6xf32>) -> tensor<3x5x6xf32>
  return %0 : tensor<3x5x6xf32>
}
func.func @integers(%a: tensor<5x7xi32> {test.below = 9 : i64}, %b: tensor<7x6xi32> {test.below = 9 : i64}) -> tensor<5x6xi32> {
  %0 = "apc.matmul"(%a, %b) : (tensor<5x7xi32>, tensor<7x6xi32>) -> tensor<5x6xi32>
  return %0 : tensor<5x6xi32>
}
func.func @gemm(%a: tensor<7x5xf32>, %b: tensor<6x7xf32>, %c: tensor<6xf32>) -> tensor<5x6xf32> {
  %0 = "apc.gemm"(%a, %b, %c) {transA = 1 : i64, transB = 1 : i64, alpha = 0.5 : f32, beta = 2.0 : f32} : (tensor<7x5xf32>, tensor<6x7xf32>, tensor<6xf32>) -> tensor<5x6xf32>
  return %0 : tensor<5x6xf32>
}
func.func @fused_gemm(%a: tensor<5x7xf32>, %b: tensor<7x6xf32>, %c: tensor<5x1xf32>) -> tensor<5x6xf32> {
  %0 = "apc.fused_gemm"(%a, %b, %c) {activation = "Relu"} : (tensor<5x7xf32>, tensor<7x6xf32>, tensor<5x1xf32>) -> tensor<5x6xf32>
  return %0 : tensor<5x6xf32>
}
func.func @fused_matmul(%a: tensor<5x3x4x7xf32>, %b: tensor<4x6x7xf32>) -> tensor<3x4x5x6xf32> {
  %0 = "apc.fused_matmul"(%a, %b) {transBatchA = 1 : i64, transB = 1 : i64, alpha = 3.0 : f32} : (tensor<5x3x4x7xf32>, tensor<4x6x7xf32>) -> tensor<3x4x5x6xf32>
  return %0 : tensor<3x4x5x6xf32>
}
func.func @einsum(%x: tensor<3x5x6xf32>, %y: tensor<5x6x4xf32>, %z: tensor<6xf32>) -> tensor<4x3xf32> {
  %0 = "apc.einsum"(%x, %y, %z) {equation = "bij,ijk,j->kb"} : (tensor<3x5x6xf32>, tensor<5x6x4xf32>, tensor<6xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}
func.func @matmul_integer(%a: tensor<5x7xui8> {test.below = 250 : i64}, %b: tensor<7x6xi8> {test.below = 100 : i64}, %az: tensor<5xui8> {test.below = 200 : i64}, %bz: tensor<6xi8> {test.below = 50 : i64}) -> tensor<5x6xi32> {
  %0 = "apc.matmul_integer"(%a, %b, %az, %bz) : (tensor<5x7xui8>, tensor<7x6xi8>, tensor<5xui8>, tensor<6xi8>) -> tensor<5x6xi32>
  return %0 : tensor<5x6xi32>
}
func.func @matmul_integer_to_float(%a: tensor<5x7xui8> {test.below = 250 : i64}, %b: tensor<7x6xui8> {test.below = 250 : i64}, %as: tensor<f32>, %bs: tensor<6xf32>, %az: tensor<ui8> {test.below = 200 : i64}, %bz: tensor<6xui8> {test.below = 50 : i64}, %c: tensor<6xf32>) -> tensor<5x6xf32> {
  %0 = "apc.matmul_integer_to_float"(%a, %b, %as, %bs, %az, %bz, %c) : (tensor<5x7xui8>, tensor<7x6xui8>, tensor<f32>, tensor<6xf32>, tensor<ui8>, tensor<6xui8>, tensor<6xf32>) -> tensor<5x6xf32>
  return %0 : tensor<5x6xf32>
}
func.func @dynamic_quantize(%a: tensor<5x7xf32>, %b: tensor<7x6xui8> {test.below = 250 : i64}, %bs: tensor<6xf32>, %bz: tensor<6xui8> {test.below = 50 : i64}, %c: tensor<6xf32>) -> tensor<5x6xf32> {
  %0 = "apc.dynamic_quantize_matmul"(%a, %b, %bs, %bz, %c) : (tensor<5x7xf32>, tensor<7x6xui8>, tensor<6xf32>, tensor<6xui8>, tensor<6xf32>) -> tensor<5x6xf32>
  return %0 : tensor<5x6xf32>
}
func.func @matmul_nbits(%a: tensor<3x8xf32>, %b: tensor<5x4x1xui8> {test.below = 256 : i64}, %s: tensor<5x4xf32>, %bias: tensor<5xf32>) -> tensor<3x5xf32> {
  %none = apc.none
  %0 = "apc.matmul_nbits"(%a, %b, %s, %none, %none, %bias) {K = 8 : i64, N = 5 : i64, bits = 4 : i64, block_size = 2 : i64} : (tensor<3x8xf32>, tensor<5x4x1xui8>, tensor<5x4xf32>, none, none, tensor<5xf32>) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}
func.func @matmul_nbits_scales_of_3_dims(%a: tensor<3x8xf32>, %b: tensor<5x4x1xui8> {test.below = 256 : i64}, %s: tensor<5x4x1xf32>, %z: tensor<5x4x1xf32>) -> tensor<3x5xf32> {
  %none = apc.none
  %0 = "apc.matmul_nbits"(%a, %b, %s, %z, %none, %none) {K = 8 : i64, N = 5 : i64, bits = 4 : i64, block_size = 2 : i64} : (tensor<3x8xf32>, tensor<5x4x1xui8>, tensor<5x4x1xf32>, tensor<5x4x1xf32>, none, none) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}
func.func @matmul_nbits_zeros(%a: tensor<3x8xf32>, %b: tensor<6x4x1xui8> {test.below = 256 : i64}, %s: tensor<24xf32>, %z: tensor<12xui8> {test.below = 256 : i64}) -> tensor<3x6xf32> {
  %none = apc.none
  %0 = "apc.matmul_nbits"(%a, %b, %s, %z, %none, %none) {K = 8 : i64, N = 6 : i64, bits = 4 : i64, block_size = 2 : i64} : (tensor<3x8xf32>, tensor<6x4x1xui8>, tensor<24xf32>, tensor<12xui8>, none, none) -> tensor<3x6xf32>
  return %0 : tensor<3x6xf32>
}
// A table of 7 rows on 2 x 3 devices: the third piece of the first half is padding, and row 4 is the second half's.
func.func @gather(%table: tensor<7x4xf32>, %rows: tensor<9xi64> {test.below = 7 : i64}) -> tensor<9x4xf32> {
  %0 = "apc.gather"(%table, %rows) {axis = 0 : i64} : (tensor<7x4xf32>, tensor<9xi64>) -> tensor<9x4xf32>
  return %0 : tensor<9x4xf32>
}
func.func @loss(%scores: tensor<7x9xf32>, %labels: tensor<7xi64> {test.below = 9 : i64}) -> tensor<f32> {
  %none = apc.none
  %0 = "apc.negative_log_likelihood_loss"(%scores, %labels, %none) : (tensor<7x9xf32>, tensor<7xi64>, none) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func @ragged_loss(%x: tensor<2x3x6xf32>, %y: tensor<2x6xi64> {test.below = 3 : i64}, %w: tensor<3xf32>) -> tensor<f32> {
  %0:2 = "apc.softmax_cross_entropy_loss"(%x, %y, %w) : (tensor<2x3x6xf32>, tensor<2x6xi64>, tensor<3xf32>) -> (tensor<f32>, none)
  return %0#0 : tensor<f32>
}
func.func @matmul_bnb4_turned(%a: tensor<3x4x5xf32>, %b: tensor<15xui8> {test.below = 256 : i64}, %s: tensor<8xf32>) -> tensor<3x4x6xf32> {
  %0 = "apc.matmul_bnb4"(%a, %b, %s) {K = 5 : i64, N = 6 : i64, block_size = 4 : i64, quant_type = 1 : i64, transB = 1 : i64} : (tensor<3x4x5xf32>, tensor<15xui8>, tensor<8xf32>) -> tensor<3x4x6xf32>
  return %0 : tensor<3x4x6xf32>
}
func.func @matmul_bnb4_as_stored(%a: tensor<3x4x6xf32>, %b: tensor<15xui8> {test.below = 256 : i64}, %s: tensor<8xf32>) -> tensor<3x4x5xf32> {
  %0 = "apc.matmul_bnb4"(%a, %b, %s) {K = 5 : i64, N = 6 : i64, block_size = 4 : i64, quant_type = 0 : i64, transB = 0 : i64} : (tensor<3x4x6xf32>, tensor<15xui8>, tensor<8xf32>) -> tensor<3x4x5xf32>
  return %0 : tensor<3x4x5xf32>
}
