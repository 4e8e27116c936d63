// Attention and rotary embedding are recognised in their arithmetic: one op, the same results.
#include "../ValueOf.h"
#include "OpText.h"

#include "apc/Interpret/Run.h"
#include "apc/Transforms/RecognizeComposites.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <catch2/catch.hpp>

#include <cmath>

using namespace apc;

namespace {

/// Numbers from -1 to 1 that do not repeat; bools that are not all alike.
Tensor filled(mlir::Type type, double seed) {
  Tensor tensor = zeros(type);
  for (auto [i, x] : llvm::enumerate(tensor.floats))
    x = std::sin(seed + 1.7 * static_cast<double>(i));
  for (auto [i, x] : llvm::enumerate(tensor.ints))
    x = i % 3 != 1;
  roundToElement(tensor);
  return tensor;
}

struct Recognized {
  RecognizedComposites counts;
  std::vector<std::string> names; ///< of the ops left, but for constants and absent operands
};

std::vector<Tensor> resultsOf(mlir::ModuleOp module) {
  auto main = llvm::cast<mlir::func::FuncOp>(module.lookupSymbol("main"));
  std::vector<Tensor> inputs;
  for (mlir::Type type : main.getArgumentTypes())
    inputs.push_back(filled(type, static_cast<double>(inputs.size())));
  return valueOf(run(module, inputs, [](ParameterOp) -> llvm::Expected<Tensor> { return Tensor(); }));
}

/// The ops left of `main` with `arguments`, `body` and `%y` of type `result`. The results must be as before.
Recognized recognized(const std::string &arguments, const std::string &body, const std::string &result,
                      double tolerance = 1e-6) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<ApcDialect, mlir::func::FuncDialect>();
  std::string text =
      "func.func @main(" + arguments + ") -> " + result + " {\n" + body + "  return %y : " + result + "\n}\n";
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  REQUIRE(module);
  std::vector<Tensor> before = resultsOf(*module);
  Recognized found;
  found.counts = recognizeComposites(*module);
  REQUIRE(mlir::succeeded(mlir::verify(*module)));
  std::vector<Tensor> after = resultsOf(*module);
  for (size_t i = 0; i < before[0].floats.size(); ++i) {
    INFO("element " << i << ": " << before[0].floats[i] << " became " << after[0].floats[i]);
    CHECK(std::fabs(before[0].floats[i] - after[0].floats[i]) <= tolerance);
  }
  module->walk([&](OperatorInterface op) {
    if (!op->hasTrait<mlir::OpTrait::ConstantLike>() && op->getNumOperands() > 0)
      found.names.push_back(op->getName().stripDialect().str());
  });
  return found;
}

/// Two batch elements, four heads, three queries, five keys, heads of two, values of six.
constexpr const char *operands = "%q: tensor<2x4x3x2xf32>, %k: tensor<2x4x2x5xf32>, %v: tensor<2x4x5x6xf32>, "
                                 "%mask: tensor<2x1x3x5xf32>, %seen: tensor<3x5xi1>";
const std::string scores = "tensor<2x4x3x5xf32>", result = "tensor<2x4x3x6xf32>";

std::string product(const std::string &q = "%q", const std::string &k = "%k") {
  return op("p", "matmul", q + ", " + k, "tensor<2x4x3x2xf32>, tensor<2x4x2x5xf32>", scores);
}
std::string softmaxOf(const std::string &value) {
  return op("w", "softmax", value, scores, scores, "axis = -1 : i64") +
         op("y", "matmul", "%w, %v", scores + ", tensor<2x4x5x6xf32>", result);
}
std::string scaled(const std::string &name = "div") {
  return constant("c", 1.5) + op("s", name, "%p, %c", scores + ", tensor<f32>", scores);
}

const std::vector<std::string> attention = {"softmax_attention"};

} // namespace

TEST_CASE("Softmax of products, with scaling and masks in the forms that exporters write, is one op") {
  CHECK(recognized(operands, product() + softmaxOf("%p"), result).names == attention);
  CHECK(recognized(operands, product() + scaled() + softmaxOf("%s"), result).names == attention);
  std::string added = op("m", "add", "%s, %mask", scores + ", tensor<2x1x3x5xf32>", scores);
  CHECK(recognized(operands, product() + scaled("mul") + added + softmaxOf("%m"), result).names == attention);
  std::string fill = constant("low", -1e4);
  std::string kept = op("m", "where", "%seen, %s, %low", "tensor<3x5xi1>, " + scores + ", tensor<f32>", scores);
  CHECK(recognized(operands, product() + scaled() + fill + kept + softmaxOf("%m"), result).names == attention);
  std::string dropped = op("m", "where", "%seen, %low, %s", "tensor<3x5xi1>, tensor<f32>, " + scores, scores);
  CHECK(recognized(operands, product() + scaled() + fill + dropped + softmaxOf("%m"), result).names == attention);
}

TEST_CASE("Queries and keys that are scaled by the root each are taken in") {
  std::string body = constant("c", 0.75) +
                     op("qs", "mul", "%q, %c", "tensor<2x4x3x2xf32>, tensor<f32>", "tensor<2x4x3x2xf32>") +
                     op("ks", "mul", "%k, %c", "tensor<2x4x2x5xf32>, tensor<f32>", "tensor<2x4x2x5xf32>") +
                     product("%qs", "%ks") + softmaxOf("%p");
  CHECK(recognized(operands, body, result).names == attention);
}

TEST_CASE("Rows without a key that is seen stay zeros where NaN was replaced") {
  std::string body = product() + constant("low", -INFINITY) + constant("zero", 0) +
                     "  %none_seen = apc.constant dense<false> : tensor<3x5xi1>\n" +
                     op("m", "where", "%none_seen, %p, %low", "tensor<3x5xi1>, " + scores + ", tensor<f32>", scores) +
                     op("a", "softmax", "%m", scores, scores, "axis = -1 : i64") +
                     op("n", "isnan", "%a", scores, "tensor<2x4x3x5xi1>") +
                     op("w", "where", "%n, %zero, %a", "tensor<2x4x3x5xi1>, tensor<f32>, " + scores, scores) +
                     op("y", "matmul", "%w, %v", scores + ", tensor<2x4x5x6xf32>", result);
  size_t at = body.find("-inf");
  REQUIRE(at != std::string::npos);
  body.replace(at, 4, "0xFF800000");
  CHECK(recognized(operands, body, result).names == attention);
}

TEST_CASE("Softmax in f32 between products in f16") {
  std::string f16 = "tensor<2x4x3x5xf16>", f32 = "tensor<2x4x3x5xf32>";
  std::string body = op("p", "matmul", "%q, %k", "tensor<2x4x3x2xf16>, tensor<2x4x2x5xf16>", f16) +
                     op("wide", "cast", "%p", f16, f32, "to = 1 : i64") +
                     op("a", "softmax", "%wide", f32, f32, "axis = 3 : i64") +
                     op("w", "cast", "%a", f32, f16, "to = 10 : i64") +
                     op("y", "matmul", "%w, %v", f16 + ", tensor<2x4x5x6xf16>", "tensor<2x4x3x6xf16>");
  std::string halves = "%q: tensor<2x4x3x2xf16>, %k: tensor<2x4x2x5xf16>, %v: tensor<2x4x5x6xf16>";
  CHECK(recognized(halves, body, "tensor<2x4x3x6xf16>", 2e-3).names == attention);
}

TEST_CASE("Keys and values repeated for groups of query heads are not repeated any more") {
  auto repeat = [](const std::string &name, const std::string &from) {
    std::string dims = "5x6xf32>";
    return op(name + "1", "unsqueeze", from + ", %two", "tensor<2x2x" + dims + ", tensor<1xi64>",
              "tensor<2x2x1x" + dims) +
           op(name + "2", "expand", "%" + name + "1, %shape", "tensor<2x2x1x" + dims + ", tensor<5xi64>",
              "tensor<2x2x3x" + dims) +
           op(name + "3", "reshape", "%" + name + "2, %flat", "tensor<2x2x3x" + dims + ", tensor<4xi64>",
              "tensor<2x6x" + dims);
  };
  std::string weights = "tensor<2x6x3x5xf32>";
  std::string body =
      "  %two = apc.constant dense<2> : tensor<1xi64>\n"
      "  %shape = apc.constant dense<[2, 2, 3, 5, 6]> : tensor<5xi64>\n"
      "  %flat = apc.constant dense<[2, 6, 5, 6]> : tensor<4xi64>\n" +
      repeat("k", "%k") + repeat("v", "%v") +
      op("t", "transpose", "%k3", "tensor<2x6x5x6xf32>", "tensor<2x6x6x5xf32>", "perm = array<i64: 0, 1, 3, 2>") +
      op("p", "matmul", "%q, %t", "tensor<2x6x3x6xf32>, tensor<2x6x6x5xf32>", weights) +
      op("w", "softmax", "%p", weights, weights, "axis = -1 : i64") +
      op("y", "matmul", "%w, %v3", weights + ", tensor<2x6x5x6xf32>", "tensor<2x6x3x6xf32>");
  std::string grouped = "%q: tensor<2x6x3x6xf32>, %k: tensor<2x2x5x6xf32>, %v: tensor<2x2x5x6xf32>";
  CHECK(recognized(grouped, body, "tensor<2x6x3x6xf32>").names == attention);
}

TEST_CASE("Weights or scores that are used elsewhere, and softmax along another dim, are left alone") {
  std::string twice = product() + op("w", "softmax", "%p", scores, scores, "axis = -1 : i64") +
                      op("z", "matmul", "%w, %v", scores + ", tensor<2x4x5x6xf32>", result) +
                      op("o", "reduce_sum", "%w, %last", scores + ", tensor<1xi64>", "tensor<2x4x3x1xf32>") +
                      op("y", "add", "%z, %o", result + ", tensor<2x4x3x1xf32>", result);
  std::string last = "  %last = apc.constant dense<-1> : tensor<1xi64>\n";
  CHECK(recognized(operands, last + twice, result).counts.attention == 0);
  std::string along = product() + softmaxOf("%p");
  along.replace(along.find("axis = -1"), 9, "axis = 2");
  CHECK(recognized(operands, along, result).counts.attention == 0);
}

namespace {

/// [-x[first:], x[:second]] * sin + x * cos for x [2, 3, 6].
std::string rotation(int first, const std::string &order) {
  std::string dims = std::to_string(6 - first), rest = std::to_string(first), ints = "tensor<1xi64>";
  std::string sliceTypes = "tensor<2x3x6xf32>, " + ints + ", " + ints + ", " + ints + ", none";
  std::string second = "tensor<2x3x" + dims + "xf32>", front = "tensor<2x3x" + rest + "xf32>";
  return "  %none = apc.none\n  %zero = apc.constant dense<0> : tensor<1xi64>\n"
         "  %last = apc.constant dense<-1> : tensor<1xi64>\n"
         "  %end = apc.constant dense<9223372036854775807> : tensor<1xi64>\n"
         "  %half = apc.constant dense<" +
         rest + "> : tensor<1xi64>\n" + op("b", "slice", "%x, %half, %end, %last, %none", sliceTypes, second) +
         op("a", "slice", "%x, %zero, %half, %last, %none", sliceTypes, front) + op("n", "neg", "%b", second, second) +
         op("r", "concat", "%n, %a", second + ", " + front, "tensor<2x3x6xf32>", "axis = -1 : i64") +
         op("c", "mul", "%x, %cos", "tensor<2x3x6xf32>, tensor<3x6xf32>", "tensor<2x3x6xf32>") +
         op("s", "mul", "%sin, %r", "tensor<1x3x6xf32>, tensor<2x3x6xf32>", "tensor<2x3x6xf32>") +
         op("y", "add", order, "tensor<2x3x6xf32>, tensor<2x3x6xf32>", "tensor<2x3x6xf32>");
}

constexpr const char *rotated = "%x: tensor<2x3x6xf32>, %cos: tensor<3x6xf32>, %sin: tensor<1x3x6xf32>";

} // namespace

TEST_CASE("x * cos + [-second half, first half] * sin is one rotation") {
  CHECK(recognized(rotated, rotation(3, "%c, %s"), "tensor<2x3x6xf32>").names ==
        std::vector<std::string>{"rotate_half"});
  Recognized swapped = recognized(rotated, rotation(3, "%s, %c"), "tensor<2x3x6xf32>");
  CHECK(swapped.names == std::vector<std::string>{"rotate_half"});
  CHECK(swapped.counts.rotation == 1);
  CHECK(recognized(rotated, rotation(2, "%c, %s"), "tensor<2x3x6xf32>").counts.rotation == 0);
}
