// Removed layers, and the parameters, inputs and results that are removed with them.
#include "apc/Transforms/KeepLayers.h"
#include "Parsed.h"
#include "apc/Support/Error.h"

#include "mlir/IR/Verifier.h"

using namespace apc;

namespace {

/// `count` layers: h = relu(x . w_i) * 0.5, x = tanh(x + h); each returns h, too, and reads an input of its own.
std::string layers(int count, const std::string &tail = "") {
  std::string arguments = "%x0: tensor<4x4xf32> {apc.name = \"x\"}", results, returned, types, body;
  for (int i = 0; i < count; ++i) {
    std::string n = std::to_string(i), next = std::to_string(i + 1);
    arguments += ", %past" + n + ": tensor<4x4xf32> {apc.name = \"past" + n + "\"}";
    results += ", tensor<4x4xf32> {apc.name = \"present" + n + "\"}";
    returned += ", %h" + n;
    types += ", tensor<4x4xf32>";
    auto op = [&](const std::string &result, const std::string &name, const std::string &operands, int numOperands) {
      body += "%" + result + n + " = \"apc." + name + "\"(" + operands + ") : (tensor<4x4xf32>" +
              (numOperands == 2 ? ", tensor<4x4xf32>" : "") + ") -> tensor<4x4xf32> loc(\"" + result + n + "\")\n";
    };
    body += "%w" + n + " = apc.parameter \"w" + n + "\" \"initializer\" : tensor<4x4xf32>\n";
    body += "%c" + n + " = apc.constant dense<0.5> : tensor<4x4xf32>\n";
    op("m", "matmul", "%x" + n + ", %w" + n, 2);
    op("r", "relu", "%m" + n, 1);
    op("s", "mul", "%r" + n + ", %c" + n, 2);
    op("h", "add", "%s" + n + ", %past" + n, 2);
    op("a", "add", "%x" + n + ", %h" + n, 2);
    body += "%x" + next + " = \"apc.tanh\"(%a" + n + ") : (tensor<4x4xf32>) -> tensor<4x4xf32> loc(\"out" + n + "\")\n";
  }
  std::string last = "%x" + std::to_string(count);
  return "func.func @main(" + arguments + ") -> (tensor<4x4xf32> {apc.name = \"y\"}" + results + ") {\n" + body + tail +
         "return " + last + returned + " : tensor<4x4xf32>" + types + "\n}";
}

struct LayeredModel : Parsed {
  using Parsed::Parsed;

  size_t count(llvm::StringRef name) {
    size_t found = 0;
    module->walk([&](mlir::Operation *op) { found += op->getName().stripDialect() == name; });
    return found;
  }
};

} // namespace

TEST_CASE("6 layers become 2, with their parameters, inputs and results") {
  LayeredModel parsed(layers(6));
  llvm::Expected<unsigned> gone = keepLayers(*parsed.module, 2);
  REQUIRE(static_cast<bool>(gone));
  CHECK(*gone == 4);
  REQUIRE(mlir::succeeded(mlir::verify(*parsed.module)));
  CHECK(parsed.count("matmul") == 2);
  CHECK(parsed.count("parameter") == 2);
  auto main = parsed.module->lookupSymbol<mlir::func::FuncOp>("main");
  CHECK(main.getNumArguments() == 3);
  REQUIRE(main.getNumResults() == 3);
  CHECK(main.getResultAttrOfType<mlir::StringAttr>(2, "apc.name").getValue() == "present1");
  // The result of the last layer now comes from the last layer kept.
  mlir::Operation *last = main.front().getTerminator()->getOperand(0).getDefiningOp();
  CHECK(llvm::cast<mlir::NameLoc>(last->getLoc()).getName().getValue() == "out1");
}

TEST_CASE("Nothing is left out where there are no more layers than wanted") {
  LayeredModel parsed(layers(3));
  llvm::Expected<unsigned> gone = keepLayers(*parsed.module, 8);
  REQUIRE(static_cast<bool>(gone));
  CHECK(*gone == 0);
  CHECK(parsed.count("matmul") == 3);
}

TEST_CASE("A model without layers is refused, and one whose middle layers are read from beyond") {
  LayeredModel flat("func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n return %x : tensor<4xf32>\n}");
  CHECK(takeMessage(keepLayers(*flat.module, 1).takeError()).second == "the model has no layers that repeat");
  LayeredModel read(layers(5, "%z = \"apc.relu\"(%x3) : (tensor<4x4xf32>) -> tensor<4x4xf32> loc(\"peek\")\n"));
  CHECK_THAT(takeMessage(keepLayers(*read.module, 1).takeError()).second,
             Catch::Contains("op 'peek' reads a value of layer 3 of 5"));
}
