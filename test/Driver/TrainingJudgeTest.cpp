// Training steps executed on all ranks and held against one device: roundings are explained, faults are not.
#include "../ValueOf.h"
#include "Samples.h"

#include "apc/Driver/ExecuteProgram.h"
#include "apc/Driver/PlannedProgram.h"
#include "apc/IR/Apc.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// A tiny model, planned for training on `devices` devices.
struct TrainedModel {
  TrainedModel(
      const std::string &name, int64_t devices, const std::string &loss,
      llvm::function_ref<void(PlanRequest &)> change = [](PlanRequest &) {})
      : data(valueOf(ModelData::open(std::string(APC_MODELS) + "/tiny/" + name + "/model.onnx"))) {
    PlanRequest request = requestOf({"tiny/" + name + "/model.onnx", devices, "cpu-local"});
    request.mode = StepMode::Train;
    request.loss = loss;
    change(request);
    built.emplace(valueOf(buildProgram(valueOf(planModel(request, controlOf())))));
  }

  /// The outputs that differ from those of `original`.
  std::vector<std::string> differing(mlir::ModuleOp original) const {
    std::vector<std::string> names;
    for (const OutputError &error :
         valueOf(executeProgram(original, built->program, parametersOf(data, &built->folded))))
      if (!error.agrees())
        names.push_back(error.name);
    return names;
  }

  ModelData data;
  std::optional<PlannedProgram> built;
};

} // namespace

// AdamW divides gradients by their size: those of biases of keys are zero but for rounding, and move by a whole step.
TEST_CASE("Steps of Adam agree with one device, where gradients are zero but for rounding too") {
  for (auto [name, devices] : {std::pair("gpt", 6), {"vit", 2}, {"moe", 2}}) {
    INFO(name);
    TrainedModel model(name, devices, "mse");
    CHECK(model.differing(*model.built->original) == std::vector<std::string>());
    CHECK(model.differing(*model.built->imported) == std::vector<std::string>());
  }
}

TEST_CASE("So do steps of several micro-batches, whose sums are of gradients that are zero but for rounding") {
  TrainedModel model("bert", 2, "cross-entropy:logits", [](PlanRequest &request) {
    request.globalBatch = 12;
    request.microBatch = 2;
    request.optimizer = OptimizerChoice::Momentum;
    request.recompute = RecomputeChoice::Attention;
  });
  CHECK(model.differing(*model.built->imported) == std::vector<std::string>());
}

TEST_CASE("Gradients in buckets of any size give the same weights, bit for bit") {
  std::vector<OutputError> alone;
  for (std::optional<int64_t> bytes :
       {std::optional<int64_t>(0), std::optional<int64_t>(4096), std::optional<int64_t>()}) {
    TrainedModel model("gpt", 2, "cross-entropy", [&](PlanRequest &request) {
      request.parallel = ParallelMode::Data;
      request.fusionBytes = bytes;
      request.clipNorm = 1;
    });
    auto errors = valueOf(
        executeProgram(*model.built->original, model.built->program, parametersOf(model.data, &model.built->folded)));
    if (alone.empty())
      alone = errors;
    REQUIRE(errors.size() == alone.size());
    double largest = 0;
    for (auto [own, other] : llvm::zip_equal(errors, alone)) {
      CHECK(own.agrees());
      CHECK(own.absolute == other.absolute); // the same distance from one device
      largest = std::max(largest, own.absolute);
    }
    CHECK(largest > 0);
  }
}

static void checkWrongGradient(int64_t microBatches) {
  INFO(microBatches << " micro-batches");
  TrainedModel model("gpt", 2, "cross-entropy", [&](PlanRequest &request) {
    request.globalBatch = 4 * microBatches;
    request.microBatch = 4;
  });
  mlir::OwningOpRef<mlir::ModuleOp> wrong = model.built->original->clone();
  unsigned changed = 0;
  wrong->walk([&](mlir::Operation *op) {
    auto scale = op->getAttrOfType<mlir::FloatAttr>("scale");
    if (!scale || !op->getName().getStringRef().ends_with("_key_grad") || changed++ > 0)
      return;
    op->setAttr("scale", mlir::FloatAttr::get(scale.getType(), scale.getValueAsDouble() * 1.01));
  });
  REQUIRE(changed > 0);
  std::vector<std::string> differing = model.differing(*wrong);
  CHECK(llvm::is_contained(differing, "h.1.c_attn.weight.first.updated"));
  CHECK_FALSE(llvm::is_contained(differing, "ln_f.weight.first.updated"));
}

TEST_CASE("A gradient that is wrong by a hundredth is found") {
  checkWrongGradient(1);
  checkWrongGradient(3);
}
