// Remarks on a step whose micro-batches do not add up to the whole batch.
#include "../ValueOf.h"

#include "apc/Driver/ImportStep.h"
#include "apc/Driver/TrainModel.h"
#include "apc/IR/Apc.h"
#include "apc/Import/WriteOnnx.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// Remarks on a step on 8 samples x W, in micro-batches of `microBatch` and so many copies of each; the loss is
/// `operatorName` of the mean of x W.
std::vector<std::string> notesOf(llvm::StringRef operatorName, int64_t microBatch, int64_t copies) {
  OnnxWriter writer("mean");
  std::string y = writer.node("MatMul", "y", {writer.input("x", {8, 6}), writer.weight("w", {6, 4})});
  std::string mean = writer.node("ReduceMean", "mean", {y}, {{"keepdims", int64_t(0)}});
  writer.output(writer.node(operatorName, "loss", {mean}));
  llvm::SmallString<64> path;
  int file = -1;
  REQUIRE(!llvm::sys::fs::createTemporaryFile("noted", "onnx", file, path));
  llvm::raw_fd_ostream(file, /*shouldClose=*/true) << writer.take();
  PlanRequest request;
  request.modelPath = path.str().str();
  request.mode = StepMode::Train;
  request.globalBatch = 8;
  request.microBatch = microBatch;
  request.copies.count = copies;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<ApcDialect, mlir::func::FuncDialect>();
  ImportedModel imported = valueOf(importForRequest(request, context));
  llvm::sys::fs::remove(path);
  return valueOf(buildNotedStep(imported.module, request));
}

} // namespace

TEST_CASE("A loss that is no sum or mean over samples has a remark where micro-batches or copies are several") {
  auto noteOf = [](const std::string &parts) {
    return std::vector{"the loss is no sum or mean over samples (op 'loss'): " + parts +
                       " take the mean of theirs, so that the step is not that of the whole batch"};
  };
  CHECK(notesOf("Exp", 4, 1) == noteOf("micro-batches"));
  CHECK(notesOf("Exp", 8, 2) == noteOf("copies"));
  CHECK(notesOf("Exp", 8, 1).empty());
  CHECK(notesOf("Neg", 4, 1).empty());
}
