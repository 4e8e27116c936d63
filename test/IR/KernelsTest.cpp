// Operators where ONNX's own cases do not reach: NaN, bounds, old opsets, pieces of a whole.
#include "CheckKernels.h"

#include "apc/IR/Kernels/Tensor.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <random>

using namespace apc;

/// The number as LLVM's soft floats round it.
static double softlyRounded(double value, const llvm::fltSemantics &semantics) {
  llvm::APFloat soft(value);
  bool losesInfo = false;
  soft.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  soft.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return soft.convertToDouble();
}

TEST_CASE("Floats of 16 bits round to nearest even, from the smallest ones to infinity") {
  mlir::MLIRContext context;
  mlir::Builder builder(&context);
  for (mlir::FloatType type : {mlir::FloatType(builder.getF16Type()), mlir::FloatType(builder.getBF16Type())}) {
    const llvm::fltSemantics &semantics = type.getFloatSemantics();
    unsigned wrong = 0;
    auto check = [&](double value) {
      Tensor tensor = zeros(mlir::RankedTensorType::get({1}, type));
      tensor.floats = {value};
      roundToElement(tensor);
      for (double rounded : {tensor.floats[0], roundToElement(value, type)}) {
        double expected = softlyRounded(value, semantics);
        bool isSame = std::isnan(expected) ? std::isnan(rounded)
                                           : rounded == expected && std::signbit(rounded) == std::signbit(expected);
        wrong += !isSame;
      }
    };
    for (unsigned bits = 0; bits < 1U << 16; ++bits) { // each number, the middle of it and the next, and beside that
      auto at = [&](unsigned own) { return llvm::APFloat(semantics, llvm::APInt(16, own)).convertToDouble(); };
      double value = at(bits), middle = bits < 0xFFFF ? (value + at(bits + 1)) / 2 : value;
      for (double each : {value, middle, std::nextafter(middle, 0.0), std::nextafter(middle, 2 * middle)})
        check(each);
    }
    std::mt19937_64 random(1);
    for (int count = 0; count < 20000; ++count)
      check(llvm::bit_cast<double>(random()));
    CHECK(wrong == 0);
  }
}

TEST_CASE("NaN is the greatest and the least, and comes first") {
  checkEvaluation(R"mlir(
    %x = apc.constant dense<[[1.0, 0x7FC00000, 3.0], [4.0, 2.0, 6.0]]> : tensor<2x3xf32>
    %axis = apc.constant dense<1> : tensor<1xi64>
    %two = apc.constant dense<2> : tensor<1xi64>
    %0 = "apc.reduce_max"(%x, %axis) {expected = [dense<[[0x7FC00000], [6.0]]> : tensor<2x1xf32>]} : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<2x1xf32>
    %1 = "apc.reduce_min"(%x, %axis) {expected = [dense<[[0x7FC00000], [2.0]]> : tensor<2x1xf32>]} : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<2x1xf32>
    %2 = "apc.arg_max"(%x) {axis = 1 : i64, expected = [dense<[[1], [2]]> : tensor<2x1xi64>]} : (tensor<2x3xf32>) -> tensor<2x1xi64>
    %3 = "apc.arg_min"(%x) {axis = 1 : i64, expected = [dense<[[1], [1]]> : tensor<2x1xi64>]} : (tensor<2x3xf32>) -> tensor<2x1xi64>
    %4:2 = "apc.top_k"(%x, %two) {expected = [dense<[[0x7FC00000, 3.0], [6.0, 4.0]]> : tensor<2x2xf32>, dense<[[1, 2], [2, 0]]> : tensor<2x2xi64>]} : (tensor<2x3xf32>, tensor<1xi64>) -> (tensor<2x2xf32>, tensor<2x2xi64>)
  )mlir");
}

TEST_CASE("A mean divides by the count of the whole") {
  checkEvaluation(R"mlir(
    %x = apc.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %i = apc.constant dense<[-7, 4]> : tensor<2xi32>
    %none = apc.none
    %0 = "apc.reduce_mean"(%x, %none) {count = 4 : i64, expected = [dense<7.5e-01> : tensor<1xf32>]} : (tensor<2xf32>, none) -> tensor<1xf32>
    %1 = "apc.reduce_mean"(%i, %none) {expected = [dense<-1> : tensor<1xi32>]} : (tensor<2xi32>, none) -> tensor<1xi32>
    %2 = "apc.reduce_l2"(%i, %none) {expected = [dense<8> : tensor<1xi32>]} : (tensor<2xi32>, none) -> tensor<1xi32>
    %3 = "apc.reduce_l1"(%i, %none) {expected = [dense<11> : tensor<1xi32>]} : (tensor<2xi32>, none) -> tensor<1xi32>
  )mlir");
}

TEST_CASE("Exponentials of large numbers add up") {
  checkEvaluation(R"mlir(
    %x = apc.constant dense<[1000.0, 1000.0]> : tensor<2xf32>
    %y = apc.constant dense<[-1000.0, 1000.0]> : tensor<2xf32>
    %none = apc.none
    %0 = "apc.reduce_log_sum_exp"(%x, %none) {expected = [dense<1000.69318> : tensor<1xf32>]} : (tensor<2xf32>, none) -> tensor<1xf32>
    %1 = "apc.softplus"(%y) {expected = [dense<[0.0, 1000.0]> : tensor<2xf32>]} : (tensor<2xf32>) -> tensor<2xf32>
  )mlir");
}

// By PyTorch: torch.logsumexp(x, 1) and cross_entropy(x, labels, reduction='sum') of x = [[1, 2, 3, 4], [4, 3, 2, 0]].
TEST_CASE("The cross entropy of pieces of the classes is less the score at each label, where it is held") {
  checkEvaluation(R"mlir(
    %x = apc.constant dense<[[1.0, 2.0, 3.0, 4.0], [4.0, 3.0, 2.0, 0.0]]> : tensor<2x4xf16>
    %right = apc.constant dense<[[3.0, 4.0], [2.0, 0.0]]> : tensor<2x2xf16>
    %bottom = apc.constant dense<0xFC00> : tensor<2x2xf16>
    %sums = apc.constant dense<[[4.44018970], [4.41971665]]> : tensor<2x1xf32>
    %labels = apc.constant dense<[2, 0]> : tensor<2xi64>
    %dy = apc.constant dense<2.0> : tensor<f16>
    %zero = apc.constant dense<0> : tensor<i64>
    %two = apc.constant dense<2> : tensor<i64>
    %axis = apc.constant dense<1> : tensor<1xi64>
    %none = apc.none
    %0 = "apc.log_sum_exp"(%x, %axis) {expected = [dense<[[4.44018970], [4.41971665]]> : tensor<2x1xf32>]} : (tensor<2x4xf16>, tensor<1xi64>) -> tensor<2x1xf32>
    %1 = "apc.log_sum_exp"(%bottom, %axis) {expected = [dense<0xFF800000> : tensor<2x1xf32>]} : (tensor<2x2xf16>, tensor<1xi64>) -> tensor<2x1xf32>
    %2 = "apc.cross_entropy"(%x, %sums, %labels, %none) {reduction = "sum", expected = [dense<1.860> : tensor<f16>]} : (tensor<2x4xf16>, tensor<2x1xf32>, tensor<2xi64>, none) -> tensor<f16>
    %3 = "apc.cross_entropy"(%right, %sums, %labels, %none, %zero, %two) {reduction = "sum", expected = [dense<1.440> : tensor<f16>]} : (tensor<2x2xf16>, tensor<2x1xf32>, tensor<2xi64>, none, tensor<i64>, tensor<i64>) -> tensor<f16>
    %4 = "apc.cross_entropy_grad"(%dy, %right, %sums, %labels, %none, %zero, %two) {reduction = "sum", expected = [dense<[[-1.526, 1.288], [0.1779, 0.02408]]> : tensor<2x2xf16>]} : (tensor<f16>, tensor<2x2xf16>, tensor<2x1xf32>, tensor<2xi64>, none, tensor<i64>, tensor<i64>) -> tensor<2x2xf16>
  )mlir");
}

TEST_CASE("Before opset 7, dims of the second operand stand where the axis says") {
  checkEvaluation(R"mlir(
    %x = apc.constant dense<[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]> : tensor<2x2x2xi64>
    %b = apc.constant dense<[10, 20]> : tensor<2xi64>
    %s = apc.constant dense<[2.0, 3.0]> : tensor<2xf32>
    %f = apc.constant dense<-1.0> : tensor<1x2x1xf32>
    %0 = "apc.add"(%x, %b) {axis = 1 : i64, broadcast = 1 : i64, expected = [dense<[[[11, 12], [23, 24]], [[15, 16], [27, 28]]]> : tensor<2x2x2xi64>]} : (tensor<2x2x2xi64>, tensor<2xi64>) -> tensor<2x2x2xi64>
    %1 = "apc.prelu"(%f, %s) {opset_version = 6 : i64, expected = [dense<[[[-2.0], [-3.0]]]> : tensor<1x2x1xf32>]} : (tensor<1x2x1xf32>, tensor<2xf32>) -> tensor<1x2x1xf32>
  )mlir");
}

TEST_CASE("Narrow floats saturate, or become infinity or NaN") {
  checkEvaluation(R"mlir(
    %x = apc.constant dense<[464.0, 465.0, -1.0e9, 0x7F800000]> : tensor<4xf32>
    %0 = "apc.cast"(%x) {to = 17 : i64, expected = [dense<[4.48e+02, 4.48e+02, -4.48e+02, 4.48e+02]> : tensor<4xf8E4M3FN>]} : (tensor<4xf32>) -> tensor<4xf8E4M3FN>
    %1 = "apc.cast"(%x) {to = 17 : i64, saturate = 0 : i64, expected = [dense<[4.48e+02, 0x7F, 0xFF, 0x7F]> : tensor<4xf8E4M3FN>]} : (tensor<4xf32>) -> tensor<4xf8E4M3FN>
    %2 = "apc.cast"(%x) {to = 19 : i64, saturate = 0 : i64, expected = [dense<[4.48e+02, 4.48e+02, 0xFC, 0x7C]> : tensor<4xf8E5M2>]} : (tensor<4xf32>) -> tensor<4xf8E5M2>
    %3 = "apc.bit_cast"(%x) {to = 6 : i64, expected = [dense<[1139277824, 1139310592, -831624408, 2139095040]> : tensor<4xi32>]} : (tensor<4xf32>) -> tensor<4xi32>
  )mlir");
}

TEST_CASE("Each block of an uneven dim has its own scale") {
  checkEvaluation(R"mlir(
    %x = apc.constant dense<[1.0, 1.5, 2.5, -300.0, 300.0]> : tensor<5xf32>
    %scale = apc.constant dense<[1.0, 1.0, 2.0]> : tensor<3xf32>
    %zero = apc.constant dense<[0, 1, -1]> : tensor<3xi8>
    %q = apc.constant dense<[1, 2, 4, -128, 127]> : tensor<5xi8>
    %0 = "apc.quantize_linear"(%x, %scale, %zero) {axis = 0 : i64, block_size = 2 : i64, expected = [dense<[1, 2, 3, -128, 127]> : tensor<5xi8>]} : (tensor<5xf32>, tensor<3xf32>, tensor<3xi8>) -> tensor<5xi8>
    %1 = "apc.dequantize_linear"(%q, %scale, %zero) {axis = 0 : i64, block_size = 2 : i64, expected = [dense<[1.0, 2.0, 3.0, -1.29e+02, 2.56e+02]> : tensor<5xf32>]} : (tensor<5xi8>, tensor<3xf32>, tensor<3xi8>) -> tensor<5xf32>
  )mlir");
}

// Three rows in two pieces of two: the second has a row of padding. Label 2 is ignored; the mean is over two rows.
TEST_CASE("Losses of pieces add up to the loss of the whole") {
  checkEvaluation(R"mlir(
    %all = apc.constant dense<[[-1.0, -2.0, -3.0], [-4.0, -5.0, -6.0], [-7.0, -8.0, -9.0]]> : tensor<3x3xf32>
    %first = apc.constant dense<[[-1.0, -2.0, -3.0], [-4.0, -5.0, -6.0]]> : tensor<2x3xf32>
    %second = apc.constant dense<[[-7.0, -8.0, -9.0], [100.0, 100.0, 100.0]]> : tensor<2x3xf32>
    %lastClass = apc.constant dense<[[-3.0], [-6.0], [-9.0]]> : tensor<3x1xf32>
    %labels = apc.constant dense<[0, 2, 1]> : tensor<3xi64>
    %zero = apc.constant dense<0> : tensor<i64>
    %two = apc.constant dense<2> : tensor<i64>
    %none = apc.none
    %0 = "apc.negative_log_likelihood_loss"(%all, %labels, %none) {ignore_index = 2 : i64, expected = [dense<4.5> : tensor<f32>]} : (tensor<3x3xf32>, tensor<3xi64>, none) -> tensor<f32>
    %1 = "apc.negative_log_likelihood_loss"(%first, %labels, %none, %zero, %zero) {ignore_index = 2 : i64, expected = [dense<5.0e-01> : tensor<f32>]} : (tensor<2x3xf32>, tensor<3xi64>, none, tensor<i64>, tensor<i64>) -> tensor<f32>
    %2 = "apc.negative_log_likelihood_loss"(%second, %labels, %none, %two, %zero) {ignore_index = 2 : i64, expected = [dense<4.0> : tensor<f32>]} : (tensor<2x3xf32>, tensor<3xi64>, none, tensor<i64>, tensor<i64>) -> tensor<f32>
    %3 = "apc.negative_log_likelihood_loss"(%lastClass, %labels, %none, %zero, %two) {reduction = "none", expected = [dense<[0.0, 6.0, 0.0]> : tensor<3xf32>]} : (tensor<3x1xf32>, tensor<3xi64>, none, tensor<i64>, tensor<i64>) -> tensor<3xf32>
    %even = apc.constant dense<0.0> : tensor<2x2xf32>
    %logs = apc.constant dense<-0.693147182> : tensor<2x2xf32>
    %dy = apc.constant dense<1.0> : tensor<f32>
    %ones = apc.constant dense<1> : tensor<3xi64>
    %4:2 = "apc.softmax_cross_entropy_loss"(%even, %ones, %none, %two, %zero) {reduction = "sum", expected = [dense<0.693147182> : tensor<f32>, dense<-0.693147182> : tensor<2x2xf32>]} : (tensor<2x2xf32>, tensor<3xi64>, none, tensor<i64>, tensor<i64>) -> (tensor<f32>, tensor<2x2xf32>)
    %5 = "apc.softmax_cross_entropy_loss_grad"(%dy, %logs, %ones, %none, %none, %two, %zero) {expected = [dense<[[0.166666672, -0.166666672], [0.0, 0.0]]> : tensor<2x2xf32>]} : (tensor<f32>, tensor<2x2xf32>, tensor<3xi64>, none, none, tensor<i64>, tensor<i64>) -> tensor<2x2xf32>
  )mlir");
}

TEST_CASE("Around the centre, the greater half is at the end") {
  checkEvaluation(R"mlir(
    %x = apc.constant dense<[1, 2, 3, 4, 5]> : tensor<5xi64>
    %two = apc.constant dense<2> : tensor<1xi64>
    %eight = apc.constant dense<8> : tensor<1xi64>
    %0 = "apc.center_crop_pad"(%x, %two) {expected = [dense<[2, 3]> : tensor<2xi64>]} : (tensor<5xi64>, tensor<1xi64>) -> tensor<2xi64>
    %1 = "apc.center_crop_pad"(%x, %eight) {expected = [dense<[0, 1, 2, 3, 4, 5, 0, 0]> : tensor<8xi64>]} : (tensor<5xi64>, tensor<1xi64>) -> tensor<8xi64>
  )mlir");
}

TEST_CASE("A signal of two dims is real") {
  checkEvaluation(R"mlir(
    %x = apc.constant dense<[[1.0, 2.0, 3.0, 4.0]]> : tensor<1x4xf32>
    %step = apc.constant dense<2> : tensor<i64>
    %one = apc.constant dense<1> : tensor<i64>
    %none = apc.none
    %0 = "apc.stft"(%x, %step, %none, %one) {expected = [dense<[[[[1.0, 0.0]], [[3.0, 0.0]]]]> : tensor<1x2x1x2xf32>]} : (tensor<1x4xf32>, tensor<i64>, none, tensor<i64>) -> tensor<1x2x1x2xf32>
  )mlir");
}
