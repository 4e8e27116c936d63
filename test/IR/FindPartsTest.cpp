// Which factors are cut inside parts, and where wishes for it end.
#include "apc/IR/Program/FindParts.h"
#include "../ValueOf.h"
#include "apc/IR/Apc.h"
#include "apc/IR/AttributeNames.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// The attribute of each op that has one, by the op's location.
std::map<std::string, std::string> partsIn(const std::string &body) {
  mlir::MLIRContext context;
  context.loadDialect<ApcDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      "func.func @main(%x: tensor<2x4x8xf32>) {\n" + body + "\nreturn\n}", &context);
  REQUIRE(module);
  unsigned numMarked = findParts(*module);
  std::map<std::string, std::string> parts;
  module->walk([&](mlir::Operation *op) {
    auto attribute = op->getAttrOfType<mlir::DictionaryAttr>(partsAttribute);
    auto location = llvm::dyn_cast<mlir::NameLoc>(op->getLoc());
    if (attribute && location)
      llvm::raw_string_ostream(parts[location.getName().str()]) << attribute;
  });
  CHECK(parts.size() == numMarked);
  // Found again, they are the same.
  CHECK(findParts(*module) == numMarked);
  return parts;
}

const std::string product = R"(
  %none = apc.none
  %w = apc.parameter "w" "initializer" : tensor<8x16xf32> loc("w")
  %f = "apc.matmul"(%x, %w) : (tensor<2x4x8xf32>, tensor<8x16xf32>) -> tensor<2x4x16xf32> loc("product")
)";
const std::string split = R"(
  %sizes = apc.constant dense<[8, 4, 4]> : tensor<3xi64>
  %q, %k, %v = "apc.split"(%f, %sizes) {axis = 2 : i64}
      : (tensor<2x4x16xf32>, tensor<3xi64>) -> (tensor<2x4x8xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>) loc("split")
)";

} // namespace

TEST_CASE("A split asks its product and the weights for cuts inside parts") {
  auto parts = partsIn(product + split);
  CHECK(parts.size() == 2);
  CHECK(parts["product"] == "{n = array<i64: 8, 4, 4>}");
  CHECK(parts["w"] == "{d1 = array<i64: 8, 4, 4>}");
}

TEST_CASE("A user that wants the dim as one run ends the wish") {
  CHECK(partsIn(product + split + R"(%r = "apc.tanh"(%f) : (tensor<2x4x16xf32>) -> tensor<2x4x16xf32>)").empty());
}

TEST_CASE("A user that needs the dim whole does not end the wish") {
  CHECK(partsIn(product + split + R"(%r = "apc.softmax"(%f) {axis = 2 : i64}
      : (tensor<2x4x16xf32>) -> tensor<2x4x16xf32>)")
            .size() == 2);
}

TEST_CASE("Parts without a common divisor are no wish") {
  CHECK(partsIn(product + R"(
  %sizes = apc.constant dense<[9, 7]> : tensor<2xi64>
  %q, %k = "apc.split"(%f, %sizes) {axis = 2 : i64}
      : (tensor<2x4x16xf32>, tensor<2xi64>) -> (tensor<2x4x9xf32>, tensor<2x4x7xf32>))")
            .empty());
}

TEST_CASE("Slices that tile a product's columns are marked, others are not") {
  auto slice = [](const char *name, int64_t begin, int64_t end) {
    return llvm::formatv(R"(
  %b{0} = apc.constant dense<{1}> : tensor<1xi64>
  %e{0} = apc.constant dense<{2}> : tensor<1xi64>
  %s{0} = "apc.slice"(%f, %b{0}, %e{0}, %axis, %none) : (tensor<2x4x16xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, none)
      -> tensor<2x4x{3}xf32> loc("{0}"))",
                         name, begin, end, end - begin)
        .str();
  };
  std::string axis = "%axis = apc.constant dense<2> : tensor<1xi64>\n";
  auto parts = partsIn(product + axis + slice("a", 0, 8) + slice("b", 8, 12) + slice("c", 12, 16));
  CHECK(parts.size() == 5);
  CHECK(parts["product"] == "{n = array<i64: 8, 4, 4>}");
  CHECK(parts["b"] == "{data = array<i64: 2, 8, 4, 4>}");
  // One of two that overlap takes more than one part.
  CHECK(partsIn(product + axis + slice("a", 0, 8) + slice("b", 4, 16)).empty());
  CHECK(partsIn(product + axis + slice("a", 0, 8)).empty());
}

TEST_CASE("A user that looks rows up by their number ends the wish") {
  CHECK(partsIn(R"(
  %table = apc.parameter "table" "initializer" : tensor<16x8xf32> loc("table")
  %sizes = apc.constant dense<[8, 8]> : tensor<2xi64>
  %ids = apc.parameter "ids" "initializer" : tensor<4xi64> loc("ids")
  %rows = "apc.gather"(%table, %ids) {axis = 0 : i64} : (tensor<16x8xf32>, tensor<4xi64>) -> tensor<4x8xf32>
  %a, %b = "apc.split"(%table, %sizes) {axis = 0 : i64}
      : (tensor<16x8xf32>, tensor<2xi64>) -> (tensor<8x8xf32>, tensor<8x8xf32>))")
            .empty());
}
