// Models that are written node by node are models that the importer reads.
#include "apc/Import/WriteOnnx.h"
#include "apc/Import/Import.h"

#include "ValueOf.h"

#include "mlir/IR/MLIRContext.h"

using namespace apc;

TEST_CASE("a written model is imported with its dims, constants and attributes") {
  OnnxWriter writer("net");
  std::string x = writer.input("x", {"batch", 8});
  std::string rows = writer.node("MatMul", "rows", {x, writer.weight("w", {8, 6})});
  writer.nodeOf("Split", {"left", "right"}, {rows}, {{"axis", int64_t(-1)}, {"num_outputs", int64_t(2)}});
  std::string sum = writer.node("Add", "sum", {"left", writer.weight("bias", {3})});
  std::string scaled = writer.node("Mul", "scaled", {sum, writer.scalar("half", 0.5)});
  std::string turned = writer.node("Transpose", "turned", {scaled}, {{"perm", std::vector<int64_t>{1, 0}}});
  writer.output(writer.node("Einsum", "y", {turned, "right"}, {{"equation", std::string("cb,bd->cd")}}));
  mlir::MLIRContext context;
  ImportOptions options;
  options.batch = 4;
  ImportedModel model = valueOf(importOnnxBytes(writer.take(), "net", options, context));
  std::string text;
  llvm::raw_string_ostream os(text);
  model.module->print(os);
  CHECK(text.find("tensor<4x8xf32>") != std::string::npos);
  CHECK(text.find("apc.parameter \"w\"") != std::string::npos);
  CHECK(text.find("array<i64: 1, 0>") != std::string::npos);
  CHECK(text.find("tensor<3x3xf32> {apc.name = \"y\"}") != std::string::npos);
}

TEST_CASE("integers keep their type") {
  OnnxWriter writer("net");
  std::string tokens = writer.input("tokens", {2, 3}, /*isInteger=*/true);
  std::string rows = writer.node("Gather", "rows", {writer.weight("table", {10, 4}), tokens});
  writer.output(writer.node("Reshape", "y", {rows, writer.integers("sizes", {6, 4})}));
  mlir::MLIRContext context;
  ImportedModel model = valueOf(importOnnxBytes(writer.take(), "net", {}, context));
  CHECK(model.report.operators.at("Reshape") == 1);
}
