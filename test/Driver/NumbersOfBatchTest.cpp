// Numbers of a loss that follow the batch, which a file leaves open.
#include "../ValueOf.h"

#include "apc/Driver/ImportStep.h"
#include "apc/IR/Apc.h"
#include "apc/IR/MainFunction.h"
#include "apc/IR/Program/FindBatch.h"
#include "apc/Import/WriteOnnx.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// The sum of x W over `dims`, divided by the size of dim `divisor` of x and multiplied by 0.5.
std::string meanOver(llvm::ArrayRef<WrittenDim> dims, int64_t divisor) {
  OnnxWriter writer("mean");
  std::string x = writer.input("x", dims);
  std::string y = writer.node("MatMul", "y", {x, writer.weight("w", {8, 4})});
  std::string sum = writer.node("ReduceSum", "sum", {y}, {{"keepdims", int64_t(0)}});
  std::string shape = writer.node("Shape", "shape", {x});
  std::string size = writer.node("Gather", "size", {shape, writer.integers("dim", {divisor})});
  std::string one = writer.node("Squeeze", "one", {size, writer.integers("axis", {0})});
  std::string count = writer.node("Cast", "count", {one}, {{"to", int64_t(1)}});
  std::string mean = writer.node("Div", "mean", {sum, count});
  writer.output(writer.node("Mul", "loss", {mean, writer.scalar("half", 0.5)}));
  return writer.take();
}

/// Constants that follow the batch: "count 1".
std::vector<std::string> numbersOf(const std::string &model) {
  llvm::SmallString<64> path;
  int file = -1;
  REQUIRE(!llvm::sys::fs::createTemporaryFile("mean", "onnx", file, path));
  llvm::raw_fd_ostream(file, /*shouldClose=*/true) << model;
  PlanRequest request;
  request.modelPath = path.str().str();
  request.mode = StepMode::Train;
  request.globalBatch = 8;
  request.microBatch = 4;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<ApcDialect, mlir::func::FuncDialect>();
  ImportedModel imported = valueOf(importForRequest(request, context));
  llvm::sys::fs::remove(path);
  std::vector<std::string> found;
  for (ConstantOp constant : mainOf(*imported.module).getOps<ConstantOp>())
    if (auto power = constant->getAttrOfType<mlir::IntegerAttr>(batchPowerAttribute))
      found.push_back(llvm::cast<mlir::NameLoc>(constant.getLoc()).getName().str() + " " +
                      std::to_string(power.getInt()));
  return found;
}

} // namespace

TEST_CASE("A number that a loss takes from an open batch is marked, and no other") {
  using Names = std::vector<std::string>;
  CHECK(numbersOf(meanOver({"batch", 16, 8}, 0)) == Names{"count 1"});
  CHECK(numbersOf(meanOver({"batch", 16, 8}, 1)).empty());
  CHECK(numbersOf(meanOver({8, 16, 8}, 0)).empty()); // of the file's own batch
}
