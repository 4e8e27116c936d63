// Numbers that grow evenly, through the ops that make and rearrange them, at any length.
#include "apc/IR/Progression.h"
#include "apc/IR/Apc.h"

#include "mlir/Parser/Parser.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

constexpr const char *constants = R"(
  %zero = apc.constant dense<0> : tensor<i64>
  %one = apc.constant dense<1> : tensor<i64>
  %two = apc.constant dense<2> : tensor<i64>
  %half = apc.constant dense<0.5> : tensor<f32>
  %realOne = apc.constant dense<1.0> : tensor<f32>
  %realEnd = apc.constant dense<131072.0> : tensor<f32>
  %end = apc.constant dense<131072> : tensor<i64>
  %ones = apc.constant dense<1> : tensor<1xi64>
  %huge = apc.constant dense<4611686018427387904> : tensor<1xi64>
  %tens = apc.constant dense<10> : tensor<1xi64>
  %column = apc.constant dense<[131072, 1]> : tensor<2xi64>
  %parts = apc.constant dense<[2, 65536]> : tensor<2xi64>
  %wide = apc.constant dense<[4, 131072, 3]> : tensor<3xi64>
  %none = apc.none
  %range = "apc.range"(%zero, %end, %one) : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<131072xi64>
  %columns = "apc.unsqueeze"(%range, %ones) : (tensor<131072xi64>, tensor<1xi64>) -> tensor<131072x1xi64>
)";

/// "first step count dim" of `%y`, of type `type`, or "none".
std::string progressionOf(const std::string &body, const std::string &type) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<ApcDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>("func.func @main(%x: tensor<131072xi64>) -> " + type + " {" +
                                                            constants + body + "\n  return %y : " + type + "\n}\n",
                                                        &context);
  REQUIRE(module);
  auto main = module->lookupSymbol<mlir::func::FuncOp>("main");
  std::optional<Progression> numbers = apc::progressionOf(main.front().getTerminator()->getOperand(0));
  if (!numbers)
    return "none";
  return std::to_string(numbers->first) + " " + std::to_string(numbers->step) + " " + std::to_string(numbers->count) +
         " " + std::to_string(numbers->dim);
}

std::string op(const std::string &name, const std::string &operands, const std::string &from, const std::string &to,
               const std::string &attributes = "") {
  return progressionOf("  %y = \"apc." + name + "\"(" + operands + ") {" + attributes + "} : (" + from + ") -> " + to,
                       to);
}

const std::string row = "tensor<131072xi64>", number = "tensor<i64>";

} // namespace

TEST_CASE("Constants are progressions along one of their dims") {
  auto of = [](const std::string &numbers, const std::string &type) {
    return progressionOf("  %y = apc.constant dense<" + numbers + "> : " + type, type);
  };
  CHECK(of("[2, 5, 8]", "tensor<3xi64>") == "2 3 3 0");
  CHECK(of("[[2], [5], [8]]", "tensor<3x1xi32>") == "2 3 3 1");
  CHECK(of("[[[4, 4], [3, 3]], [[4, 4], [3, 3]]]", "tensor<2x2x2xui8>") == "4 -1 2 1");
  CHECK(of("[0.0, 1.0, 2.0]", "tensor<3xf16>") == "0 1 3 0");
  CHECK(of("7", "tensor<2x2xi64>") == "7 0 1 0");
  CHECK(of("[[0, 1], [2, 3]]", "tensor<2x2xi64>") == "none"); // not alike along the other dim
  CHECK(of("[0, 1, 3]", "tensor<3xi64>") == "none");
  CHECK(of("[0.0, 0.5]", "tensor<2xf32>") == "none");
  CHECK(of("[0, 9007199254740993]", "tensor<2xi64>") == "none"); // beyond the whole numbers of f64
}

TEST_CASE("Ranges of any length are progressions") {
  const std::string three = number + ", " + number + ", " + number;
  CHECK(op("range", "%zero, %end, %one", three, row) == "0 1 131072 0");
  CHECK(op("range", "%end, %zero, %two", three, "tensor<0xi64>") == "none");
  CHECK(op("range", "%one, %end, %two", three, "tensor<65536xi64>") == "1 2 65536 0");
  const std::string reals = "tensor<f32>, tensor<f32>, tensor<f32>", longReals = "tensor<131072xf32>";
  CHECK(op("range", "%half, %realEnd, %realOne", reals, longReals) == "none"); // not whole
}

TEST_CASE("Tensors filled with one number are progressions of one") {
  CHECK(op("constant_of_shape", "%parts", "tensor<2xi64>", "tensor<2x65536xf32>") == "0 0 1 0");
  CHECK(op("constant_of_shape", "%parts", "tensor<2xi64>", "tensor<2x65536xi64>", "value = dense<3> : tensor<1xi64>") ==
        "3 0 1 0");
  CHECK(op("constant_of_shape", "%parts", "tensor<2xi64>", "tensor<2x65536xf32>",
           "value = dense<0.5> : tensor<1xf32>") == "none");
}

TEST_CASE("Views, casts, slices and sums with a number keep a progression") {
  CHECK(op("reshape", "%range, %column", row + ", tensor<2xi64>", "tensor<131072x1xi64>") == "0 1 131072 1");
  CHECK(op("reshape", "%range, %parts", row + ", tensor<2xi64>", "tensor<2x65536xi64>") == "none");
  CHECK(op("expand", "%columns, %wide", "tensor<131072x1xi64>, tensor<3xi64>", "tensor<4x131072x3xi64>") ==
        "0 1 131072 1");
  CHECK(op("transpose", "%columns", "tensor<131072x1xi64>", "tensor<1x131072xi64>") == "0 1 131072 0");
  CHECK(op("slice", "%range, %ones, %tens, %none, %none", row + ", tensor<1xi64>, tensor<1xi64>, none, none",
           "tensor<9xi64>") == "1 1 9 0");
  CHECK(progressionOf("  %even = \"apc.mul\"(%range, %two) : (" + row + ", " + number + ") -> " + row +
                          "\n  %y = \"apc.slice\"(%even, %ones, %tens, %none, %huge) : (" + row +
                          ", tensor<1xi64>, tensor<1xi64>, none, tensor<1xi64>) -> tensor<1xi64>",
                      "tensor<1xi64>") == "2 0 1 0");
  CHECK(op("add", "%range, %two", row + ", " + number, row) == "2 1 131072 0");
  CHECK(op("sub", "%two, %range", number + ", " + row, row) == "2 -1 131072 0");
  CHECK(op("sub", "%range, %two", row + ", " + number, row) == "-2 1 131072 0");
  CHECK(op("mul", "%range, %two", row + ", " + number, row) == "0 2 131072 0");
  CHECK(op("mul", "%range, %zero", row + ", " + number, row) == "0 0 1 0");
  CHECK(op("add", "%range, %x", row + ", " + row, row) == "none");
}

TEST_CASE("A cast to a type that does not hold all numbers keeps no progression") {
  auto castTo = [](const std::string &type, int onnxType) {
    return op("cast", "%range", row, "tensor<131072x" + type + ">", "to = " + std::to_string(onnxType) + " : i64");
  };
  CHECK(castTo("f32", 1) == "0 1 131072 0");
  CHECK(castTo("i32", 6) == "0 1 131072 0");
  CHECK(castTo("f16", 10) == "none");
  CHECK(castTo("i16", 5) == "none");
}

TEST_CASE("The first number outside bounds is found without a walk") {
  const Progression up{0, 1, 131072, 0}, down{2, -3, 4, 0}, same{5, 0, 1, 0};
  CHECK(up.outside(-512, 512) == 512);
  CHECK(up.outside(0, 131072) == std::nullopt);
  CHECK(up.outside(1, 131072) == 0);
  CHECK(down.outside(-5, 3) == -7); // 2, -1, -4, -7
  CHECK(down.outside(-7, 3) == std::nullopt);
  CHECK(same.outside(0, 5) == 5);
  CHECK(same.outside(5, 6) == std::nullopt);
  CHECK(Progression{0, 300, 3, 0}.outside(0, 512) == 600);
}
