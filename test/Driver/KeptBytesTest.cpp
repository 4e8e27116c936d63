// Bytes that policies of recomputation keep of the tiny models.
#include "../ValueOf.h"
#include "GptSteps.h"

#include "apc/Driver/ImportStep.h"
#include "apc/Driver/TrainModel.h"
#include "apc/IR/Apc.h"
#include "apc/Transforms/BuildGraph.h"
#include "apc/Transforms/RecognizeComposites.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// A model, its output, and bytes that suffice with each policy: those of a choice that goes forward op by op and makes
/// again what values that are kept before lead to. BERT's last norm, which may be cut along its rows when composites
/// are recognised, keeps two numbers for each of 42 rows besides.
struct Sufficient {
  const char *model, *output;
  bool isFused; ///< composites are ops of their own
  int64_t bytes[4];
};

constexpr RecomputeChoice policies[] = {RecomputeChoice::Norms, RecomputeChoice::Attention, RecomputeChoice::Mlp,
                                        RecomputeChoice::Full};
constexpr Sufficient sufficient[] = {
    {"gpt", "logits", false, {41040, 159456, 180336, 41040}},
    {"gpt", "logits", true, {60480, 101856, 107616, 60480}},
    {"llama", "logits", false, {131208, 211008, 150528, 18312}},
    {"llama", "logits", true, {92064, 139776, 80640, 18144}},
    {"bert", "logits", false, {73584, 200256, 103152, 15456}},
    {"bert", "logits", true, {91392 + 336, 137592 + 336, 85848 + 336, 20160 + 336}},
    {"t5", "logits", false, {174480, 344748, 263388, 23616}},
    {"t5", "logits", true, {157992, 300084, 232116, 24216}},
    {"vit", "logits", false, {60048, 98688, 68112, 12672}},
    {"vit", "logits", true, {66432, 87936, 61056, 12672}},
    {"resnet", "logits", false, {118760, 198968, 198968, 118760}},
    {"resnet", "logits", true, {118760, 198968, 198968, 118760}},
    {"unet", "logits", false, {230040, 1081080, 1081080, 230040}},
    {"unet", "logits", true, {230040, 880200, 880200, 230040}},
    {"dlrm", "click", false, {3336, 4296, 4296, 3336}},
    {"dlrm", "click", true, {3336, 4296, 4296, 3336}},
    {"moe", "logits", false, {102624, 87552, 140256, 102624}},
    {"moe", "logits", true, {97920, 100992, 135552, 97920}},
    {"mixer", "scores", false, {34104, 88872, 91224, 11256}},
    {"mixer", "scores", true, {38304, 59472, 61824, 11088}},
};

int64_t keptOf(const Sufficient &row, RecomputeChoice policy) {
  PlanRequest request;
  request.modelPath = std::string(APC_MODELS) + "/tiny/training/" + row.model + "/model.onnx";
  request.loss = std::string("sum:") + row.output;
  request.recompute = policy;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<ApcDialect, mlir::func::FuncDialect>();
  ImportedModel imported = valueOf(importForRequest(request, context));
  if (row.isFused)
    recognizeComposites(*imported.module);
  TrainingStep step = valueOf(requestedStep(*imported.module, request));
  OpGraph graph = valueOf(graphOfModel(*step.module, row.model));
  return keptBytes(graph, [&](size_t value) { return graph.values[value].shape.bytes(); });
}

} // namespace

TEST_CASE("Policies keep no more bytes of a model than a choice op by op does, and fewer of half of them") {
  unsigned fewer = 0;
  for (const Sufficient &row : sufficient) {
    bool isFewer = false;
    for (size_t index = 0; index < std::size(policies); ++index) {
      INFO(row.model << ", " << recomputeChoiceName(policies[index]).str() << (row.isFused ? ", fused" : ""));
      int64_t kept = keptOf(row, policies[index]);
      CHECK(kept <= row.bytes[index]);
      isFewer |= kept < row.bytes[index];
    }
    fewer += isFewer ? 1 : 0;
  }
  CHECK(fewer >= std::size(sufficient) / 2);
}
