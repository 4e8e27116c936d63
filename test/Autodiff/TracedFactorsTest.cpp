// Factors of gradients are named after those of the op that they are gradients of.
#include "GradientPrograms.h"

#include "apc/IR/AttributeNames.h"
#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/IR/Ops/Indexing/Indexing.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// The names of the factors of the op `made` in the reversal of `test`, "" for its own.
std::vector<std::string> factorsOf(const OpCase &test, llvm::StringRef made) {
  GradientProgram program(test);
  ReversedProgram reversed = reverse(program);
  REQUIRE(reversed.module);
  std::vector<std::string> names;
  unsigned numFound = 0;
  reversed.module->walk([&](mlir::Operation *op) {
    if (op->getName().getStringRef() != made || !op->hasAttr(factorsAttribute))
      return;
    ++numFound;
    for (auto name : op->getAttrOfType<mlir::ArrayAttr>(factorsAttribute).getAsRange<mlir::StringAttr>())
      names.push_back(name.str());
  });
  CHECK(numFound == 1);
  return names;
}

using FactorNames = std::vector<std::string>;

} // namespace

TEST_CASE("The gradient of a table is cut like the table: by rows, too") {
  CHECK(factorsOf({"apc.gather", {"7x3xf64", "2x4xi64 below 7"}}, "apc.gather_grad") ==
        FactorNames{"d0", "d1", "v", "d2"});
}

TEST_CASE("An op behind the gradient of a table knows its rows, too") {
  GradientProgram program(OpCase{"apc.gather", {"7x3xf64", "2x4xi64 below 7"}});
  mlir::Operation *gather = nullptr;
  program.module->walk([&](GatherOp op) { gather = op; });
  REQUIRE(gather);
  mlir::OpBuilder builder(program.main().front().getTerminator());
  GradientBuilder gradient(builder, gather, {gather->getResult(0)}, {true, false});
  REQUIRE(llvm::cast<OperatorInterface>(gather).differentiate(gradient));
  constexpr int64_t onnxFloat = 1;
  mlir::Operation *cast = gradient.create<CastOp>(gradient.given(0), gradient.attribute("to", onnxFloat));
  CHECK(cast->getAttr(factorsAttribute) == builder.getStrArrayAttr({"v", "d2"}));
}

// The last factor is of the constant that names shape or axes.
TEST_CASE("Dims that come back into being are those of the operand") {
  CHECK(factorsOf({"apc.reduce_sum", {"2x3x4xf64", "[1] : 1xi64"}}, "apc.expand") == FactorNames{"d0", "d1", "d2", ""});
  CHECK(factorsOf({"apc.expand", {"3x1xf64", "[3, 4] : 2xi64"}}, "apc.reduce_sum") == FactorNames{"d0", "d1", ""});
}

TEST_CASE("A cast of a gradient reads nothing but the gradient") {
  CHECK(factorsOf({"apc.cast", {"2x3xf64"}, "to = 1 : i64"}, "apc.cast") == FactorNames{"b0", "b1"});
  CHECK(factorsOf({"apc.max", {"2x3xf64", "[1.0] : 1xf64"}}, "apc.div") == FactorNames{"b0", "b1"});
}
