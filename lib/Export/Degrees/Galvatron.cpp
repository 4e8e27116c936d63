// Galvatron's JSON: degrees for each layer.
#include "../ModelLayers.h"
#include "../Refusals.h"
#include "../Targets.h"
#include "NearestLayout.h"
#include "StepSettings.h"

#include "apc/Support/Json/JsonWriter.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/FormatVariadic.h"

namespace apc {

/// Is every degree a power of two?
static bool hasPowersOfTwo(const ParallelDegrees &layout) {
  return llvm::all_of(std::array{layout.data, layout.tensor, layout.pipeline},
                      [](int64_t degree) { return llvm::has_single_bit(static_cast<uint64_t>(degree)); });
}

llvm::Expected<TargetLayout> nearestGalvatron(const ExportSource &source) {
  const ParallelDegrees &layout = source.layout;
  std::optional<ModelLayers> layers = modelLayers(source);
  Refusals refusals("Galvatron");
  refusals.addIf(!source.plan.training, "the plan is for inference, and Galvatron trains");
  refusals.addIf(!layers, "the model has no repeated layers, and Galvatron has degrees for each layer");
  refusals.addIf(!hasPowersOfTwo(layout),
                 llvm::formatv("its degrees are {0}: Galvatron has powers of two alone", layout.product()));
  refusals.addIf(layout.context > 1, "sequences are cut in all ops: Galvatron cuts them over ranks of tp alone");
  refusals.addIf(layout.experts > 1, "experts are spread, for which the file has no word");
  refusals.addIf(layout.numChunks() > 1, "workers hold several stages each: Galvatron's hold one");
  refuseUnequalWorkers(source.plan, refusals);
  refusals.addIf(source.plan.training && !layout.microBatch, "a micro-batch is cut unevenly over the ranks of dp");
  if (llvm::Error error = refusals.take())
    return std::move(error);
  TargetLayout nearest{layout, {}};
  cutBetweenLayers(nearest, *layers, "Galvatron");
  runWhole(nearest, "Galvatron");
  cutCopiedExperts(nearest, "Galvatron");
  cutOverAll(nearest, "Galvatron");
  tellSettings(source, {}, "Galvatron", nearest);
  std::string schedule = layout.scheduleName();
  if (layout.pipeline > 1 && schedule != "1f1b" && schedule != "gpipe") {
    nearest.unsaid.push_back("schedule " + schedule + ": Galvatron runs 1f1b");
    nearest.layout.schedule = "1f1b";
  }
  if (layout.zero == 1) {
    nearest.unsaid.push_back("ZeRO 1 cuts states alone: Galvatron has ZeRO 2, and ZeRO 3 for each layer");
    nearest.layout.zero = 2;
  }
  std::optional<RecomputeSetting> &recompute = nearest.layout.recompute;
  bool isKnown = !recompute || recompute->chosen() == RecomputeChoice::None ||
                 (recompute->policy == RecomputeChoice::Full && recompute->rest == RecomputeChoice::None);
  if (!isKnown) {
    bool isFull = recompute->policy == RecomputeChoice::Full;
    nearest.unsaid.push_back("recompute " + recompute->str() + ": Galvatron recomputes whole layers or nothing");
    recompute = isFull ? RecomputeSetting(RecomputeChoice::Full, recompute->layers) : RecomputeSetting();
  }
  return nearest;
}

/// "2,2,2,2".
static std::string forEachLayer(int64_t count, llvm::function_ref<int64_t(int64_t)> valueOf) {
  std::string text;
  for (int64_t layer = 0; layer < count; ++layer)
    text += (layer > 0 ? "," : "") + std::to_string(valueOf(layer));
  return text;
}

llvm::Expected<Exported> writeGalvatron(const ExportSource &source, const ParallelDegrees &layout) {
  std::optional<ModelLayers> layers = modelLayers(source);
  auto same = [&](int64_t value) { return forEachLayer(layers->count, [&](int64_t) { return value; }); };
  bool recomputes = layout.recompute && layout.recompute->chosen() == RecomputeChoice::Full;
  int64_t numRecomputed = recomputes ? layout.recompute->layers.value_or(layers->count) : 0;
  JsonWriter json;
  json.object([&](JsonObjectWriter &object) {
    object("pp_deg", layout.pipeline);
    object("tp_sizes_enc", same(layout.tensor));
    object("tp_consecutive_flags", same(1));
    object("dp_types_enc", same(layout.zero == 3 ? 1 : 0));
    object("use_sp", same(0));
    object("checkpoint", forEachLayer(layers->count, [&](int64_t layer) { return layer < numRecomputed ? 1 : 0; }));
    object("global_bsz", source.plan.training->globalBatch);
    object("chunks", source.plan.training->microBatches);
    object("pp_division", forEachLayer(static_cast<int64_t>(layers->ofStage.size()),
                                       [&](int64_t stage) { return layers->ofStage[static_cast<size_t>(stage)]; }));
    object("pipeline_type", layout.pipeline > 1 && layout.scheduleName() == "gpipe" ? "gpipe" : "pipedream_flush");
    object("default_dp_type", layout.zero == 0 ? "ddp" : "zero2");
    object("vtp", layout.tensor);
    object("vsp", 0);
    object("embed_sdp", layout.zero == 3 ? 1 : 0);
    object("world_size", layout.numDevices());
  });
  return Exported{{{"galvatron.json", json.take() + "\n"}}, {}};
}

} // namespace apc
