// Gradients of contractions.
#include "GradientCheck.h"

#include <catch2/catch.hpp>

using namespace apc;

TEST_CASE("Matrix products of all numbers of dims reverse, batch dims broadcasting") {
  checkGradients({"apc.matmul", {"3x4xf64", "4x5xf64"}});
  checkGradients({"apc.matmul", {"4xf64", "4xf64"}});
  checkGradients({"apc.matmul", {"4xf64", "2x4x3xf64"}});
  checkGradients({"apc.matmul", {"2x3x4xf64", "4xf64"}});
  checkGradients({"apc.matmul", {"2x3x4xf64", "4x5xf64"}});
  checkGradients({"apc.matmul", {"2x1x3x4xf64", "5x4x2xf64"}});
}

TEST_CASE("Gemm reverses with its factors, transposed matrices and a C that broadcasts") {
  checkGradients({"apc.gemm", {"3x4xf64", "4x5xf64", "none"}});
  checkGradients({"apc.gemm",
                  {"4x3xf64", "5x4xf64", "5xf64"},
                  "alpha = 0.5 : f32, beta = -2.0 : f32, transA = 1 : i64, transB = 1 : i64"});
  checkGradients({"apc.gemm", {"3x4xf64", "5x4xf64", "3x1xf64"}, "transB = 1 : i64"});
  checkGradients({"apc.gemm", {"3x4xf64", "4x5xf64", "f64"}, "beta = 0.25 : f32"});
}

TEST_CASE("The gradient of a bias is the column sums of what arrives") {
  auto gradients = gradientsOf({"apc.gemm", {"2x1xf64", "1x3xf64", "3xf64"}}, {{1, 2, 3, 10, 20, 30}});
  CHECK(gradients[2] == std::vector<double>{11, 22, 33});
}

TEST_CASE("Einsum reverses for each of its operands") {
  checkGradients({"apc.einsum", {"3x4xf64", "4x5xf64"}, "equation = \"ij,jk->ik\""});
  checkGradients({"apc.einsum", {"2x3xf64", "3x4xf64", "4x2xf64"}, "equation = \"ab,bc,ca->b\""});
  checkGradients({"apc.einsum", {"2x3x4xf64", "5x4xf64"}, "equation = \"...ij,kj->...ki\""});
  checkGradients({"apc.einsum", {"2x3xf64", "4xf64"}, "equation = \"ij,k->ik\""}); // j in one operand alone
  checkGradients({"apc.einsum", {"3x4xf64"}, "equation = \"ij->\""});
  checkGradients({"apc.einsum", {"3x4xf64"}, "equation = \"ij->ji\""});
  checkGradients({"apc.einsum", {"3x3xf64"}, "equation = \"ii->i\""}); // the diagonal
  checkGradients({"apc.einsum", {"3x3x2xf64", "3xf64"}, "equation = \"iij,i->j\""});
  checkGradients({"apc.einsum", {"3x3xf64"}, "equation = \"ii->\""}); // the trace
  checkGradients({"apc.einsum", {"1x1xf64"}, "equation = \"ii->\""});
  checkGradients({"apc.einsum", {"3x3xf64", "4xf64"}, "equation = \"ii,j->j\""});
  checkGradients({"apc.einsum", {"2x3x3xf64"}, "equation = \"bii->b\""});
  checkGradients({"apc.einsum", {"3x3x3xf64"}, "equation = \"iii->\""});
  checkGradients({"apc.einsum", {"3x3x3xf64"}, "equation = \"iii->i\""});
  checkGradients({"apc.einsum", {"3x2x3x3x2xf64", "2xf64"}, "equation = \"ijiik,k->j\""});
  checkGradients({"apc.einsum", {"2x2x3x3xf64"}, "equation = \"iijj->\""});
  checkGradients({"apc.einsum", {"1x4xf64", "3x4xf64"}, "equation = \"ij,ij->ij\""}); // i broadcasts
  checkGradients({"apc.einsum", {"1x4xf64", "3x4xf64"}, "equation = \"ij,ij->j\""});
}

TEST_CASE("Products that are scaled or have their batch in the middle reverse") {
  checkGradients({"apc.fused_matmul", {"4x3xf64", "4x5xf64"}, "alpha = 0.5 : f32, transA = 1 : i64"});
  checkGradients({"apc.fused_matmul", {"3x2x4xf64", "2x5x4xf64"}, "transBatchA = 1 : i64, transB = 1 : i64"});
}

TEST_CASE("Products with an activation behind them reverse, whatever it is") {
  checkGradients({"apc.fused_gemm", {"3x4xf64", "4x5xf64", "5xf64"}, "alpha = 0.5 : f32"});
  for (const char *activation :
       {"Relu", "LeakyRelu", "ThresholdedRelu", "Tanh", "ScaledTanh", "Sigmoid", "HardSigmoid", "Gelu", "FastGelu",
        "Silu", "Elu", "Selu", "Softplus", "Softsign", "Affine", "Clip", "Identity"})
    checkGradients(
        {"apc.fused_gemm",
         {"4x3xf64", "4x5xf64", "3x1xf64"},
         "transA = 1 : i64, alpha = 0.5 : f32, beta = -2.0 : f32, activation = \"" + std::string(activation) + "\""});
  checkGradients({"apc.fused_gemm",
                  {"3x4xf64", "5x4xf64", "none"},
                  "transB = 1 : i64, activation = \"LeakyRelu\", activation_alpha = -0.5 : f32"});
  checkGradients({"apc.fused_gemm",
                  {"3x4xf64", "4x5xf64", "none"},
                  "activation = \"Clip\", activation_alpha = -1.25 : f32, activation_beta = 1.75 : f32"});
  CHECK(refusalOf({"apc.fused_gemm", {"3x4xf64", "4x5xf64", "none"}, "activation = \"Cube\""}) ==
        "attribute 'activation' is 'Cube', and Identity, Relu, LeakyRelu, ThresholdedRelu, Tanh, ScaledTanh, Sigmoid, "
        "HardSigmoid, Silu, Gelu, FastGelu, Elu, Selu, Softplus, Softsign, Affine and Clip are accepted");
}

TEST_CASE(
    "Products with weights in blocks of a few bits reverse for their rows and the bias, by the weights as reals") {
  std::string sizes = "K = 4 : i64, N = 2 : i64, bits = 4 : i64, block_size = 2 : i64";
  std::vector<std::string> operands = {
      "2x3x4xf64", "[[[33], [84]], [[237], [240]]] : 2x2x1xui8", "[0.5, 2.0, 1.5, -0.25] : 4xf64", "none", "none",
      "2xf64"};
  checkGradients({"apc.matmul_nbits", operands, sizes});
  for (const char *zeros : {"[131, 7] : 2xui8", "[[3.5, 8.0], [0.0, 15.0]] : 2x2xf64"}) {
    operands[3] = zeros;
    checkGradients({"apc.matmul_nbits", operands, sizes});
  }
  operands[4] = "[1, 0, 1, 1] : 4xi32"; // columns in turn
  operands[5] = "none";
  checkGradients({"apc.matmul_nbits", operands, sizes});
  checkGradients({"apc.matmul_nbits",
                  {"2x3xf64", "[[[33, 84], [1, 2]], [[237, 240], [3, 4]]] : 2x2x2xui8",
                   "[[0.5, 2.0], [1.5, -0.25]] : 2x2xf64", "[[100, 3], [250, 0]] : 2x2xui8", "none", "none"},
                  "K = 3 : i64, N = 2 : i64, bits = 8 : i64, block_size = 2 : i64"});
  operands[2] = "4xf64";
  CHECK(refusalOf({"apc.matmul_nbits", operands, sizes}) ==
        "operands 'scales' and 'zero_points' are trained, and frozen ones are accepted");
}

TEST_CASE("A product with a weight of 4 bits reverses for its rows, by the weight as it is stored") {
  for (const char *type : {"0", "1"})
    checkGradients({"apc.matmul_bnb4",
                    {"2x3xf64", "[33, 84, 237, 240, 15, 122, 7, 200, 96] : 9xui8", "[0.5, 2.0, 1.5] : 3xf64"},
                    "K = 3 : i64, N = 6 : i64, block_size = 8 : i64, quant_type = " + std::string(type) + " : i64"});
}
