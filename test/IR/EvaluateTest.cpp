// Small constants are computed as ONNX says: integers, floats, broadcasting, and ops that stay unevaluated.
#include "apc/IR/Kernels/Evaluate.h"
#include "apc/IR/Apc.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include "llvm/Support/raw_ostream.h"

#include <catch2/catch.hpp>

namespace {

/// The results of the last op of `body`, printed and joined by " | "; "-" when it does not evaluate.
std::string evaluateLast(const std::string &body) {
  mlir::MLIRContext context;
  context.loadDialect<apc::ApcDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>("func.func @f() {\n" + body + "\n return\n}", &context);
  REQUIRE(module);
  apc::OperatorInterface last;
  module->walk([&](apc::OperatorInterface op) { last = op; });
  llvm::SmallVector<mlir::DenseElementsAttr> operands;
  for (mlir::Value operand : last->getOperands())
    operands.push_back(apc::constantOf(operand));
  auto results = apc::foldConstants(last, operands);
  std::string text;
  llvm::raw_string_ostream os(text);
  if (!results)
    os << "-";
  else
    llvm::interleave(*results, os, " | ");
  return text;
}

/// `apc.<op>(a, b) : (typeA, typeB) -> result`, all constants.
std::string binary(const std::string &op, const std::string &a, const std::string &b, const std::string &result,
                   const std::string &attributes = "") {
  auto type = [](const std::string &constant) { return constant.substr(constant.find(" : ") + 3); };
  return evaluateLast("%a = apc.constant " + a + "\n%b = apc.constant " + b + "\n%c = \"apc." + op + "\"(%a, %b) {" +
                      attributes + "} : (" + type(a) + ", " + type(b) + ") -> " + result);
}

std::string unary(const std::string &op, const std::string &a, const std::string &result,
                  const std::string &attributes = "") {
  std::string type = a.substr(a.find(" : ") + 3);
  return evaluateLast("%a = apc.constant " + a + "\n%c = \"apc." + op + "\"(%a) {" + attributes + "} : (" + type +
                      ") -> " + result);
}

} // namespace

TEST_CASE("Arithmetic broadcasts and wraps around") {
  CHECK(binary("add", "dense<[[1], [2]]> : tensor<2x1xi64>", "dense<[10, 20, 30]> : tensor<3xi64>",
               "tensor<2x3xi64>") == "dense<[[11, 21, 31], [12, 22, 32]]> : tensor<2x3xi64>");
  CHECK(binary("mul", "dense<[100, -100]> : tensor<2xi8>", "dense<2> : tensor<i8>", "tensor<2xi8>") ==
        "dense<[-56, 56]> : tensor<2xi8>");
  CHECK(binary("sub", "dense<3> : tensor<1xui8>", "dense<5> : tensor<1xui8>", "tensor<1xui8>") ==
        "dense<254> : tensor<1xui8>");
  CHECK(binary("div", "dense<[7, -7]> : tensor<2xi64>", "dense<2> : tensor<i64>", "tensor<2xi64>") ==
        "dense<[3, -3]> : tensor<2xi64>");
  CHECK(binary("div", "dense<7> : tensor<i64>", "dense<0> : tensor<i64>", "tensor<i64>") == "-");
  CHECK(binary("div", "dense<1.0> : tensor<f32>", "dense<8.0> : tensor<f32>", "tensor<f32>") ==
        "dense<1.250000e-01> : tensor<f32>");
  CHECK(binary("div", "dense<-9223372036854775808> : tensor<i64>", "dense<-1> : tensor<i64>", "tensor<i64>") ==
        "dense<-9223372036854775808> : tensor<i64>");
}

TEST_CASE("The remainder has the divisor's sign, or the dividend's with fmod") {
  CHECK(binary("mod", "dense<[-7, 7]> : tensor<2xi64>", "dense<3> : tensor<i64>", "tensor<2xi64>") ==
        "dense<[2, 1]> : tensor<2xi64>");
  CHECK(binary("mod", "dense<[-7, 7]> : tensor<2xi64>", "dense<3> : tensor<i64>", "tensor<2xi64>", "fmod = 1 : i64") ==
        "dense<[-1, 1]> : tensor<2xi64>");
}

TEST_CASE("Powers of integers and floats") {
  CHECK(binary("pow", "dense<[3, -2]> : tensor<2xi64>", "dense<3> : tensor<i64>", "tensor<2xi64>") ==
        "dense<[27, -8]> : tensor<2xi64>");
  CHECK(binary("pow", "dense<2.0> : tensor<f32>", "dense<-1> : tensor<i64>", "tensor<f32>") ==
        "dense<5.000000e-01> : tensor<f32>");
  CHECK(binary("pow", "dense<2> : tensor<i64>", "dense<-1> : tensor<i64>", "tensor<i64>") == "-");
}

TEST_CASE("Comparison, logic and choice") {
  CHECK(binary("equal", "dense<[1, -1]> : tensor<2xi64>", "dense<-1> : tensor<i64>", "tensor<2xi1>") ==
        "dense<[false, true]> : tensor<2xi1>");
  CHECK(binary("less", "dense<[1.0, 3.0]> : tensor<2xf32>", "dense<2.0> : tensor<f32>", "tensor<2xi1>") ==
        "dense<[true, false]> : tensor<2xi1>");
  CHECK(binary("xor", "dense<[true, false]> : tensor<2xi1>", "dense<true> : tensor<i1>", "tensor<2xi1>") ==
        "dense<[false, true]> : tensor<2xi1>");
  CHECK(
      evaluateLast("%c = apc.constant dense<[true, false]> : tensor<2xi1>\n%x = apc.constant dense<7> : tensor<1xi64>\n"
                   "%y = apc.constant dense<[1, 2]> : tensor<2xi64>\n"
                   "%r = \"apc.where\"(%c, %x, %y) : (tensor<2xi1>, tensor<1xi64>, tensor<2xi64>) -> tensor<2xi64>") ==
      "dense<[7, 2]> : tensor<2xi64>");
}

TEST_CASE("Casts truncate; numbers that do not fit become the bound") {
  CHECK(unary("cast", "dense<[1.9, -1.9]> : tensor<2xf32>", "tensor<2xi64>", "to = 7 : i64") ==
        "dense<[1, -1]> : tensor<2xi64>");
  CHECK(unary("cast", "dense<[0.5, 0.0]> : tensor<2xf32>", "tensor<2xi1>", "to = 9 : i64") ==
        "dense<[true, false]> : tensor<2xi1>");
  CHECK(unary("cast", "dense<3> : tensor<i64>", "tensor<f16>", "to = 10 : i64") == "dense<3.000000e+00> : tensor<f16>");
  CHECK(unary("cast", "dense<1.0e+30> : tensor<f32>", "tensor<i64>", "to = 7 : i64") ==
        "dense<9223372036854775807> : tensor<i64>");
  CHECK(unary("cast", "dense<300> : tensor<i64>", "tensor<ui8>", "to = 2 : i64") == "dense<44> : tensor<ui8>");
}

TEST_CASE("Functions of one operand") {
  CHECK(unary("sqrt", "dense<6.400000e+01> : tensor<bf16>", "tensor<bf16>") == "dense<8.000000e+00> : tensor<bf16>");
  CHECK(unary("round", "dense<[0.5, 1.5, -2.5]> : tensor<3xf32>", "tensor<3xf32>") ==
        "dense<[0.000000e+00, 2.000000e+00, -2.000000e+00]> : tensor<3xf32>");
  CHECK(unary("neg", "dense<[1, -2]> : tensor<2xi64>", "tensor<2xi64>") == "dense<[-1, 2]> : tensor<2xi64>");
  CHECK(unary("not", "dense<[true, false]> : tensor<2xi1>", "tensor<2xi1>") == "dense<[false, true]> : tensor<2xi1>");
  CHECK(unary("sign", "dense<[-5, 0, 5]> : tensor<3xi32>", "tensor<3xi32>") == "dense<[-1, 0, 1]> : tensor<3xi32>");
}

TEST_CASE("Clip uses the bounds that are present") {
  std::string x = "%x = apc.constant dense<[-5, 0, 5]> : tensor<3xi64>\n%n = apc.none\n"
                  "%b = apc.constant dense<2> : tensor<i64>\n";
  CHECK(evaluateLast(x + "%r = \"apc.clip\"(%x, %n, %b) : (tensor<3xi64>, none, tensor<i64>) -> tensor<3xi64>") ==
        "dense<[-5, 0, 2]> : tensor<3xi64>");
  CHECK(evaluateLast(x + "%r = \"apc.clip\"(%x, %b, %n) : (tensor<3xi64>, tensor<i64>, none) -> tensor<3xi64>") ==
        "dense<[2, 2, 5]> : tensor<3xi64>");
}

TEST_CASE("Several operands are folded from the left") {
  CHECK(evaluateLast("%a = apc.constant dense<[1, 9]> : tensor<2xi64>\n%b = apc.constant dense<5> : tensor<i64>\n"
                     "%r = \"apc.max\"(%a, %b, %b) : (tensor<2xi64>, tensor<i64>, tensor<i64>) -> tensor<2xi64>") ==
        "dense<[5, 9]> : tensor<2xi64>");
  CHECK(unary("min", "dense<[1, 9]> : tensor<2xi64>", "tensor<2xi64>") == "dense<[1, 9]> : tensor<2xi64>");
}

TEST_CASE("Reductions, positions and running sums") {
  std::string x = "dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>";
  CHECK(binary("reduce_sum", x, "dense<1> : tensor<1xi64>", "tensor<2x1xi64>") ==
        "dense<[[6], [15]]> : tensor<2x1xi64>");
  CHECK(binary("reduce_prod", x, "dense<[0, 1]> : tensor<2xi64>", "tensor<i64>", "keepdims = 0 : i64") ==
        "dense<720> : tensor<i64>");
  CHECK(binary("reduce_max", x, "dense<-2> : tensor<1xi64>", "tensor<3xi64>", "keepdims = 0 : i64") ==
        "dense<[4, 5, 6]> : tensor<3xi64>");
  CHECK(binary("reduce_mean", "dense<[1.0, 2.0]> : tensor<2xf32>", "dense<0> : tensor<1xi64>", "tensor<1xf32>") ==
        "dense<1.500000e+00> : tensor<1xf32>");
  CHECK(binary("reduce_sum", "dense<> : tensor<0xi64>", "dense<0> : tensor<1xi64>", "tensor<1xi64>") ==
        "dense<0> : tensor<1xi64>");
  CHECK(binary("reduce_max", "dense<> : tensor<0xi64>", "dense<0> : tensor<1xi64>", "tensor<1xi64>") ==
        "dense<-9223372036854775808> : tensor<1xi64>");
  CHECK(unary("arg_max", "dense<[3, 9, 9]> : tensor<3xi64>", "tensor<1xi64>") == "dense<1> : tensor<1xi64>");
  CHECK(unary("arg_max", "dense<[3, 9, 9]> : tensor<3xi64>", "tensor<1xi64>", "select_last_index = 1 : i64") ==
        "dense<2> : tensor<1xi64>");
  CHECK(unary("arg_min", "dense<[3, 9, 1]> : tensor<3xi64>", "tensor<i64>", "keepdims = 0 : i64") ==
        "dense<2> : tensor<i64>");
  CHECK(binary("cum_sum", "dense<[1, 2, 3]> : tensor<3xi64>", "dense<0> : tensor<i64>", "tensor<3xi64>") ==
        "dense<[1, 3, 6]> : tensor<3xi64>");
  CHECK(binary("cum_sum", "dense<[1, 2, 3]> : tensor<3xi64>", "dense<0> : tensor<i64>", "tensor<3xi64>",
               "exclusive = 1 : i64, reverse = 1 : i64") == "dense<[5, 3, 0]> : tensor<3xi64>");
}

TEST_CASE("TopK keeps the order of equal elements") {
  CHECK(evaluateLast("%x = apc.constant dense<[[3, 9, 9], [1, 0, 2]]> : tensor<2x3xi64>\n"
                     "%k = apc.constant dense<2> : tensor<1xi64>\n%r:2 = \"apc.top_k\"(%x, %k) : (tensor<2x3xi64>, "
                     "tensor<1xi64>) -> (tensor<2x2xi64>, tensor<2x2xi64>)") ==
        "dense<[[9, 9], [2, 1]]> : tensor<2x2xi64> | dense<[[1, 2], [2, 0]]> : tensor<2x2xi64>");
}

TEST_CASE("Numbers wrap, truncate or are refused when stored") {
  CHECK(*apc::wrappingAdd(INT64_MAX, 1) == INT64_MIN);
  CHECK(!apc::truncatingDivide(1, 0));
  CHECK(*apc::flooredModulo(-1, 3) == 2);
  CHECK(*apc::integerPower(2, 62) == int64_t(1) << 62);
  CHECK(apc::broadcastIndex({3, 1}, {2, 3, 4}, 5) == 1);
  CHECK(apc::broadcastIndex({1, 1}, {4}, 3) == 0);
}
