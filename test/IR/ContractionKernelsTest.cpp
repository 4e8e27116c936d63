// Products of matrices, of more operands, of quantised and packed weights are computed as ONNX says.
#include "apc/IR/Apc.h"
#include "apc/IR/Kernels/Contract.h"

#include "CheckKernels.h"

TEST_CASE("Matrices are multiplied") {
  checkEvaluation(R"(func.func @f() {
    %none = apc.none
    %a = apc.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
    %b = apc.constant dense<[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]> : tensor<3x2xf32>
    %v = apc.constant dense<[1.0, 10.0, 100.0]> : tensor<3xf32>
    %c = apc.constant dense<[10.0, 20.0]> : tensor<2xf32>
    %i = apc.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
    %0 = "apc.matmul"(%a, %b) {expected = [dense<[[4.0, 5.0], [10.0, 11.0]]> : tensor<2x2xf32>]} : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
    %1 = "apc.matmul"(%a, %v) {expected = [dense<[321.0, 654.0]> : tensor<2xf32>]} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2xf32>
    %2 = "apc.matmul"(%v, %v) {expected = [dense<10101.0> : tensor<f32>]} : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
    %3 = "apc.matmul"(%i, %i) {expected = [dense<[[7, 10], [15, 22]]> : tensor<2x2xi32>]} : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
    %4 = "apc.gemm"(%a, %a, %c) {transB = 1 : i64, alpha = 0.5 : f32, beta = 2.0 : f32, expected = [dense<[[27.0, 56.0], [36.0, 78.5]]> : tensor<2x2xf32>]} : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x2xf32>
    %5 = "apc.gemm"(%a, %a, %none) {transA = 1 : i64, expected = [dense<[[17.0, 22.0, 27.0], [22.0, 29.0, 36.0], [27.0, 36.0, 45.0]]> : tensor<3x3xf32>]} : (tensor<2x3xf32>, tensor<2x3xf32>, none) -> tensor<3x3xf32>
    %6 = "apc.fused_gemm"(%b, %b, %none) {transA = 1 : i64, alpha = -1.0 : f32, activation = "LeakyRelu", activation_alpha = 0.5 : f32, expected = [dense<[[-1.0, -0.5], [-0.5, -1.0]]> : tensor<2x2xf32>]} : (tensor<3x2xf32>, tensor<3x2xf32>, none) -> tensor<2x2xf32>
    %7 = "apc.fused_matmul"(%a, %a) {transB = 1 : i64, alpha = 2.0 : f32, expected = [dense<[[28.0, 64.0], [64.0, 154.0]]> : tensor<2x2xf32>]} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32>
    return
  })");
}

TEST_CASE("Equations sum products of any number of operands") {
  checkEvaluation(R"(func.func @f() {
    %a = apc.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>
    %v = apc.constant dense<[1, 10]> : tensor<2xi64>
    %t = apc.constant dense<[[[1, 2, 3]], [[4, 5, 6]]]> : tensor<2x1x3xi64>
    %0 = "apc.einsum"(%v, %a, %v) {equation = "i,ij,j->", expected = [dense<451> : tensor<i64>]} : (tensor<2xi64>, tensor<2x2xi64>, tensor<2xi64>) -> tensor<i64>
    %1 = "apc.einsum"(%a) {equation = "ii->i", expected = [dense<[1, 4]> : tensor<2xi64>]} : (tensor<2x2xi64>) -> tensor<2xi64>
    %2 = "apc.einsum"(%a) {equation = "ij->ji", expected = [dense<[[1, 3], [2, 4]]> : tensor<2x2xi64>]} : (tensor<2x2xi64>) -> tensor<2x2xi64>
    %3 = "apc.einsum"(%a) {equation = "ii", expected = [dense<5> : tensor<i64>]} : (tensor<2x2xi64>) -> tensor<i64>
    %4 = "apc.einsum"(%t, %a) {equation = "b...d,bc->c...d", expected = [dense<[[[13, 17, 21]], [[18, 24, 30]]]> : tensor<2x1x3xi64>]} : (tensor<2x1x3xi64>, tensor<2x2xi64>) -> tensor<2x1x3xi64>
    %5 = "apc.einsum"(%v, %v) {equation = "i,j->ij", expected = [dense<[[1, 10], [10, 100]]> : tensor<2x2xi64>]} : (tensor<2xi64>, tensor<2xi64>) -> tensor<2x2xi64>
    return
  })");
}

TEST_CASE("Quantised matrices are multiplied around their zero points") {
  checkEvaluation(R"(func.func @f() {
    %none = apc.none
    %a = apc.constant dense<[[11, 7], [10, 6]]> : tensor<2x2xui8>
    %b = apc.constant dense<[[1, 4], [2, 5]]> : tensor<2x2xui8>
    %az = apc.constant dense<[12, 10]> : tensor<2xui8>
    %bz = apc.constant dense<[1, 4]> : tensor<2xui8>
    %s = apc.constant dense<0.5> : tensor<f32>
    %sn = apc.constant dense<[2.0, 4.0]> : tensor<2xf32>
    %zero = apc.constant dense<128> : tensor<ui8>
    %begin = apc.constant dense<2> : tensor<i64>
    %f = apc.constant dense<[[0.0, 255.0]]> : tensor<1x2xf32>
    %0 = "apc.matmul_integer"(%a, %b, %az, %bz) {expected = [dense<[[-5, -5], [-4, -4]]> : tensor<2x2xi32>]} : (tensor<2x2xui8>, tensor<2x2xui8>, tensor<2xui8>, tensor<2xui8>) -> tensor<2x2xi32>
    // The second of two pieces of 3 elements: its other element is padding.
    %1 = "apc.matmul_integer"(%a, %b, %az, %bz, %begin) {k_size = 3 : i64, expected = [dense<0> : tensor<2x2xi32>]} : (tensor<2x2xui8>, tensor<2x2xui8>, tensor<2xui8>, tensor<2xui8>, tensor<i64>) -> tensor<2x2xi32>
    %2 = "apc.matmul_integer_to_float"(%a, %b, %s, %sn, %az, %bz, %sn) {expected = [dense<[[-3.0, -6.0], [-2.0, -4.0]]> : tensor<2x2xf32>]} : (tensor<2x2xui8>, tensor<2x2xui8>, tensor<f32>, tensor<2xf32>, tensor<2xui8>, tensor<2xui8>, tensor<2xf32>) -> tensor<2x2xf32>
    %3 = "apc.qlinear_matmul"(%a, %s, %az, %b, %sn, %bz, %s, %zero) {expected = [dense<[[118, 108], [120, 112]]> : tensor<2x2xui8>]} : (tensor<2x2xui8>, tensor<f32>, tensor<2xui8>, tensor<2x2xui8>, tensor<2xf32>, tensor<2xui8>, tensor<f32>, tensor<ui8>) -> tensor<2x2xui8>
    %4 = "apc.dynamic_quantize_matmul"(%f, %b, %sn, %none, %none) {expected = [dense<[[1020.0, 5100.0]]> : tensor<1x2xf32>]} : (tensor<1x2xf32>, tensor<2x2xui8>, tensor<2xf32>, none, none) -> tensor<1x2xf32>
    return
  })");
}

TEST_CASE("Weights of a few bits are unpacked block by block") {
  // B holds 9, 10, 7, 8 and 8, 8, 12, 0: with zero 8, 1, 2 | -1, 0 and 0, 0 | 4, -8.
  checkEvaluation(R"(func.func @f() {
    %none = apc.none
    %a = apc.constant dense<[[1.0, 10.0, 100.0, 1000.0]]> : tensor<1x4xf32>
    %b = apc.constant dense<[[[169], [135]], [[136], [12]]]> : tensor<2x2x1xui8>
    %s = apc.constant dense<[1.0, 2.0, 1.0, 0.5]> : tensor<4xf32>
    %z = apc.constant dense<[120, 8]> : tensor<2xui8>
    %bias = apc.constant dense<[0.0, 1.0]> : tensor<2xf32>
    %0 = "apc.matmul_nbits"(%a, %b, %s, %none, %none, %bias) {K = 4 : i64, N = 2 : i64, bits = 4 : i64, block_size = 2 : i64, expected = [dense<[[-179.0, -3799.0]]> : tensor<1x2xf32>]} : (tensor<1x4xf32>, tensor<2x2x1xui8>, tensor<4xf32>, none, none, tensor<2xf32>) -> tensor<1x2xf32>
    // Zero points 8, 7 for the first row and 8, 0 for the second.
    %1 = "apc.matmul_nbits"(%a, %b, %s, %z, %none, %none) {K = 4 : i64, N = 2 : i64, bits = 4 : i64, block_size = 2 : i64, expected = [dense<[[2021.0, 600.0]]> : tensor<1x2xf32>]} : (tensor<1x4xf32>, tensor<2x2x1xui8>, tensor<4xf32>, tensor<2xui8>, none, none) -> tensor<1x2xf32>
    return
  })");
}

TEST_CASE("A large product is exact") {
  // Row i of A is i everywhere, B is all ones: every element of row i of the product is 256 i.
  apc::FactorRuleBuilder builder;
  apc::FactorId m = builder.addFactor("m", 256), k = builder.addReduction("k", 256, apc::Combiner::Sum),
                n = builder.addFactor("n", 256);
  builder.addOperand({{m}, {k}}, 32);
  builder.addOperand({{k}, {n}}, 32);
  builder.addResult({{m}, {n}}, 32);
  mlir::MLIRContext context;
  apc::Tensor a{{256, 256}, mlir::Float32Type::get(&context), {}, {}}, b = a;
  for (int i = 0; i < 256 * 256; ++i)
    a.floats.push_back(i / 256);
  b.floats.assign(256 * 256, 1);
  apc::Tensor product = apc::contract(builder.take(), {{0, a}, {1, b}}, a.element);
  CHECK(product.dims == a.dims);
  CHECK(product.floats[255] == 0);
  CHECK(product.floats[256 * 255 + 17] == 256 * 255);
}
