// Decisions of the planner for models of real size.
#include "../ValueOf.h"
#include "Samples.h"
#include "TinySteps.h"

#include "apc/Plan/PlanJson.h"
#include "apc/Report/Summary.h"
#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <catch2/catch.hpp>

#include <set>
#include <tuple>

using namespace apc;

namespace {

/// True when `strategy` ("b0:node n:(device.a device.b)") gives some axis of `axes` to a factor that is none of
/// `factors`.
bool cutsOther(llvm::StringRef strategy, llvm::ArrayRef<std::string> axes, llvm::ArrayRef<llvm::StringRef> factors) {
  llvm::StringRef factor;
  for (llvm::StringRef word : llvm::split(strategy, ' ')) {
    if (word.contains(':'))
      std::tie(factor, word) = word.split(':');
    if (!llvm::is_contained(factors, factor) && llvm::is_contained(axes, word.trim("()")))
      return true;
  }
  return false;
}

unsigned countOf(const Plan &plan, llvm::StringRef operatorName, llvm::function_ref<bool(const PlanChoice &)> holds) {
  unsigned count = 0;
  for (const PlanChoice &choice : stageOf(plan).choices)
    count += choice.operatorName == operatorName && holds(choice);
  return count;
}

} // namespace

TEST_CASE("the cuts of a strategy are read word by word") {
  CHECK(cutsOther("b0:node n:(device.a device.b)", {"device.b"}, {"b0"}));
  CHECK(cutsOther("n:device k:node", {"node"}, {"n"}));
  CHECK_FALSE(cutsOther("b0:node n:device.b", {"device.a"}, {"b0"}));
  CHECK_FALSE(cutsOther("b0:(node device.a) n:device.b", {"device.a"}, {"b0"}));
  CHECK_FALSE(cutsOther("replicated", {"device"}, {}));
}

TEST_CASE("GPT-3 175B on 64 devices: tensor parallel inside the node") {
  PlanRequest request = requestOf(Sample{"gpt3_175b_loss.onnx", 64});
  request.meshAxes = 2; // the node, and the nodes
  Plan plan = valueOf(planModel(request, controlOf()));
  checkSound(plan);
  // In each of the 96 layers four products (qkv, projection, up, down) and one attention. The attention and three of
  // the products at least are cut inside the node, over all of it or a part, on something else than the batch (b0) and
  // the rows or query positions (m, s); where the memory that is left holds whole weights, rows are cut instead.
  std::vector<std::string> inner = innerAxes(plan);
  auto isOfLayer = [](const PlanChoice &choice) { return llvm::StringRef(choice.op).starts_with("/model/h."); };
  auto isCut = [&](const PlanChoice &choice) {
    return isOfLayer(choice) && cutsOther(choice.strategy.str(), inner, {"b0", "m", "s"});
  };
  CHECK(countOf(plan, "matmul", isOfLayer) == 384);
  CHECK(countOf(plan, "matmul", isCut) >= 280);
  CHECK(countOf(plan, "softmax_attention", isOfLayer) == 96);
  CHECK(countOf(plan, "softmax_attention", isCut) == 96);
  CHECK(plan.gap <= 0.01);
}

TEST_CASE("GPT-3 175B trained on 64 devices: queries, keys and values go to their heads without an AllToAll") {
  Sample sample{"gpt3_175b_loss.onnx", 64};
  PlanRequest request = requestOf(sample);
  request.mode = StepMode::Train;
  auto made = planModel(request, controlOf(sample));
  REQUIRE(static_cast<bool>(made));
  std::set<std::string> parted;
  for (const PlanSharding &sharding : stageOf(*made).shardings)
    if (!sharding.sharding.parts.empty())
      parted.insert(sharding.value);
  for (llvm::StringRef value :
       {"/model/h.7/c_attn/Add_output_0", "/model/h.7/c_attn/Add_output_0.grad", "/model/h.7/c_attn/MatMul_output_0"})
    CHECK(parted.count(value.str()) == 1);
  for (const PlanMove &move : stageOf(*made).moves)
    for (const std::string &collective : move.collectives)
      if (llvm::StringRef(move.values.front()).starts_with("/model/h.7/")) {
        INFO(move.values.front());
        CHECK_THAT(collective, !Catch::StartsWith("AllToAll"));
      }
}

TEST_CASE("the plan is the same to the byte with one thread and with two") {
  Sample sample{"bert_large.onnx", 8, "dgx-a100-80gb", {{"batch", 8}, {"seq", 512}}};
  sample.threads = 1;
  std::string one = printPlan(planOf(sample), /*withTiming=*/false);
  sample.threads = 2;
  CHECK(one == printPlan(planOf(sample), /*withTiming=*/false));
}

TEST_CASE("ResNet-50 on 8 devices is cut along its batch") {
  Plan plan = planOf({"resnet50.onnx", 8});
  checkSound(plan);
  unsigned convolutions = countOf(plan, "conv", [](const PlanChoice &) { return true; });
  CHECK(convolutions == 53);
  CHECK(countOf(plan, "conv", [](const PlanChoice &choice) {
          return llvm::StringRef(choice.strategy.str()).starts_with("n:");
        }) == 53);
  // Three axes of 2 that always cut the batch together are shown as one.
  const std::vector<PlanAxis> &axes = stageOf(plan).mesh.axes;
  REQUIRE(axes.size() == 1);
  CHECK(axes[0].name == "device");
  CHECK(axes[0].size == 8);
}

TEST_CASE("device counts that are no powers of two are planned") {
  int64_t devices = GENERATE(6, 12);
  Plan plan = planOf({"gpt3_175b_loss.onnx", devices, "dgx-h200"});
  checkSound(plan);
  CHECK(plan.request.devices == devices);
}

TEST_CASE("Llama 3 70B on 16 devices") {
  Plan plan = planOf({"llama3_70b.onnx", 16, "dgx-h100"});
  checkSound(plan);
}

TEST_CASE("Mixtral 8x7B on 32 devices: explain says whether experts are split, and what the other way would cost") {
  Sample sample{"mixtral_8x7b.onnx", 32, "dgx-h100"};
  PlanRequest request = requestOf(sample);
  request.meshAxes = 2; // enough for a choice, in a part of the time
  Plan plan = valueOf(planModel(request, controlOf(sample)));
  checkSound(plan);
  unsigned expertOps = 0;
  for (const PlanChoice &choice : stageOf(plan).choices) {
    auto experts = llvm::find_if(choice.factors,
                                 [](const FactorChoice &factor) { return factor.factor == "e" && factor.size == 8; });
    if (choice.operatorName != "einsum" || experts == choice.factors.end())
      continue;
    ++expertOps;
    REQUIRE(experts->other);
    std::string text;
    llvm::raw_string_ostream os(text);
    REQUIRE(!explainOp(plan, choice.op, os));
    CHECK_THAT(text, Catch::Contains(experts->isCut ? "factor        e=8 is cut: whole it would cost "
                                                    : "factor        e=8 is whole: cut it would cost "));
  }
  CHECK(expertOps == 6 * 32); // where tokens go, sent there, gate, up, down, brought back
}

TEST_CASE("Llama 3 70B, exported for one sample, trains on micro-batches of four") {
  PlanRequest request = requestOf(Sample{"llama3_70b.onnx"});
  request.mode = StepMode::Train;
  request.loss = "cross-entropy";
  request.globalBatch = 8;
  request.microBatch = 4;
  request.recompute = RecomputeChoice::None;
  ImportedStep step = importedStep(request);
  CHECK(step.graph.microBatches() == 2);
  size_t numWithBatch = 0, numAttentions = 0;
  for (const GraphOp &op : step.graph.ops) {
    if (op.operatorName != "softmax_attention" || op.results.empty() || !op.results[0])
      continue;
    ++numAttentions;
    numWithBatch += step.graph.value(*op.results[0]).shape.dims[0] == 4;
  }
  CHECK(numAttentions == 80);
  CHECK(numWithBatch == numAttentions);
}
