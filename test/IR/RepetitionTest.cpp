// Layers among the ops of a model, and what is none of theirs.
#include "apc/IR/Program/Repetition.h"
#include "apc/IR/Apc.h"

#include "mlir/Parser/Parser.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

const std::string type = "tensor<4x4xf32>";

std::string op(const std::string &name, const std::string &kind, const std::string &operands, unsigned count) {
  std::string types = type;
  for (unsigned other = 1; other < count; ++other)
    types += ", " + type;
  return "  %" + name + " = \"apc." + kind + "\"(" + operands + ") : (" + types + ") -> " + type + "\n";
}

/// Four layers of a product, a sum with a table and a rectifier; the first makes the table, or each its own.
std::string layers(bool isTableShared) {
  std::string text = "func.func @main(%x: " + type + ", %places: " + type + ") -> " + type +
                     " {\n  %w = apc.parameter \"w\" \"initializer\" : " + type + "\n";
  std::string last = "%x";
  for (unsigned layer = 0; layer < 4; ++layer) {
    std::string at = std::to_string(layer), table = isTableShared ? "0" : at;
    text += op("p" + at, "matmul", last + ", %w", 2);
    if (layer == 0 || !isTableShared)
      text += op("c" + at, "cos", "%places", 1) + op("t" + at, "neg", "%c" + at, 1);
    text += op("s" + at, "add", "%p" + at + ", %t" + table, 2) + op("r" + at, "relu", "%s" + at, 1) +
            op("e" + at, "exp", "%r" + at, 1);
    last = "%e" + at;
  }
  return text + "  return " + last + " : " + type + "\n}\n";
}

/// Ops of a layer, and the number of layers.
std::pair<size_t, size_t> longestRun(const std::string &text) {
  mlir::MLIRContext context;
  context.loadDialect<ApcDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  REQUIRE(module);
  auto runs = findRepeatedRuns(module->lookupSymbol<mlir::func::FuncOp>("main"));
  REQUIRE(runs.size() == 1);
  return {runs.front().period, runs.front().count};
}

} // namespace

TEST_CASE("A table that the first layer makes for all is none of its ops") {
  CHECK(longestRun(layers(true)) == std::pair<size_t, size_t>(4, 4));
}

TEST_CASE("A table that each layer makes for itself is one of its ops") {
  CHECK(longestRun(layers(false)) == std::pair<size_t, size_t>(6, 4));
}
