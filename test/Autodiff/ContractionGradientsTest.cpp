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
  checkGradients({"apc.einsum", {"1x4xf64", "3x4xf64"}, "equation = \"ij,ij->ij\""}); // i broadcasts
  checkGradients({"apc.einsum", {"1x4xf64", "3x4xf64"}, "equation = \"ij,ij->j\""});
}

TEST_CASE("Products that are scaled or have their batch in the middle reverse") {
  checkGradients({"apc.fused_matmul", {"4x3xf64", "4x5xf64"}, "alpha = 0.5 : f32, transA = 1 : i64"});
  checkGradients({"apc.fused_matmul", {"3x2x4xf64", "2x5x4xf64"}, "transBatchA = 1 : i64, transB = 1 : i64"});
}

TEST_CASE("A fused activation has no gradient; without it the product has") {
  checkGradients({"apc.fused_gemm", {"3x4xf64", "4x5xf64", "5xf64"}, "alpha = 0.5 : f32"});
  CHECK(isRefused({"apc.fused_gemm", {"3x4xf64", "4x5xf64", "none"}, "activation = \"Relu\""}));
}

TEST_CASE("A product with a weight of 4 bits reverses for its rows, by the weight as it is stored") {
  for (const char *type : {"0", "1"})
    checkGradients({"apc.matmul_bnb4",
                    {"2x3xf64", "[33, 84, 237, 240, 15, 122, 7, 200, 96] : 9xui8", "[0.5, 2.0, 1.5] : 3xf64"},
                    "K = 3 : i64, N = 6 : i64, block_size = 8 : i64, quant_type = " + std::string(type) + " : i64"});
}
