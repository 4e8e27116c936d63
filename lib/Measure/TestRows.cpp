// Rows of figures that tests of a training program record: megatron_ci.csv and files with its columns.
#include "Families.h"
#include "Fields.h"
#include "Remarks.h"

#include "apc/Schedule/Pipeline/Schedules.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

namespace {

/// Arguments in the remarks that change the model beyond what a shape says.
constexpr llvm::StringLiteral otherModels[] = {
    "multi-latent-attention", "enable-hyper-connections", "num-residual-streams",
    "linear-attention-type",  "export-default-te-spec",   "cuda-graph",
    "moe-latent-size",        "attention-output-gate",    "fine-grained-activation-offloading",
    "export-te-mcore-model",  "pipeline-num-layers",      "encoder-pipeline-model-parallel-size"};

void setKind(Fields &fields, TransformerShape &shape) {
  std::string family = fields.lower("model_family");
  if (family == "bert")
    shape.kind = TransformerKind::Encoder;
  else if (family == "t5")
    shape.kind = TransformerKind::EncoderDecoder;
  else if (family != "gpt" && family != "moe")
    fields.leaveOut("model family unknown: " + family);
  if (family == "moe" && shape.experts == 0)
    fields.leaveOut("no experts");
  if (shape.kind == TransformerKind::EncoderDecoder) {
    shape.decoderLayers = fields.needed("decoder_layers");
    shape.decoderSequence = fields.needed("decoder_seq");
  } else if (!fields.text("layer_pattern").empty()) {
    fields.leaveOut("layers follow a pattern");
  }
  if (fields.whole("mtp_layers", 0, /*least=*/0) > 0)
    fields.leaveOut("predicts several tokens");
  for (llvm::StringRef other : otherModels)
    if (fields.text("notes").contains(other))
      fields.leaveOut("argument beyond the columns: " + other.str());
}

void setPositions(Fields &fields, TransformerShape &shape) {
  std::string text = fields.lower("position_embedding");
  shape.positions = TransformerPositions::None;
  if (text == "rope")
    shape.positions = TransformerPositions::Rotary;
  else if (text == "learned_absolute")
    shape.positions = TransformerPositions::Learned;
  else if (text != "none" && !text.empty())
    fields.leaveOut("position_embedding unknown: " + text);
}

void setDetails(Fields &fields, TransformerShape &shape) {
  std::string activation = fields.lower("activation");
  if (activation == "swiglu")
    shape.activation = TransformerActivation::GatedSwish;
  else if (activation == "squared_relu")
    shape.activation = TransformerActivation::SquaredRelu;
  else if (activation != "gelu")
    fields.leaveOut("activation unknown: " + activation);
  setPositions(fields, shape);
  std::string normalization = fields.lower("normalization");
  shape.hasRmsNorm = normalization == "rmsnorm";
  if (!shape.hasRmsNorm && normalization != "layernorm" && !normalization.empty())
    fields.leaveOut("normalization unknown: " + normalization);
  shape.hasBias = fields.isYes("bias");
  shape.isTied = fields.isYes("tied_embeddings");
}

void setModelOfTest(Fields &fields, TransformerShape &shape) {
  shape.layers = fields.needed("layers");
  shape.hidden = fields.needed("hidden");
  shape.heads = fields.needed("heads");
  shape.keyHeads = fields.needed("kv_heads");
  shape.headSize = fields.needed("head_dim");
  shape.inner = fields.needed("ffn");
  shape.vocabulary = fields.needed("vocab");
  shape.sequence = fields.needed("seq");
  if (shape.heads % shape.keyHeads != 0)
    fields.leaveOut("heads do not divide");
  shape.experts = fields.whole("experts", 0, /*least=*/0);
  if (shape.experts > 0) {
    shape.chosenExperts = std::min(shape.experts, fields.needed("topk"));
    shape.inner = fields.needed("moe_ffn");
    shape.sharedInner = fields.whole("shared_expert_ffn", 0, /*least=*/0);
  }
  setKind(fields, shape);
  setDetails(fields, shape);
}

void setRecomputeOfTest(Fields &fields, Measurement &row) {
  ParallelDegrees &layout = row.layout;
  std::string text = fields.lower("recompute_granularity");
  layout.recompute = RecomputeChoice::None;
  const std::string method = fields.lower("recompute_method");
  const int64_t layers = fields.whole("recompute_layers", 1, /*least=*/0);
  if (text == "full" && method == "block")
    layout.recompute = settingOfBlock(fields, layers, row);
  else if (text == "full" && layers != 1)
    fields.leaveOut("recompute unknown: full " + method + " " + std::to_string(layers));
  else if (text == "full")
    layout.recompute = RecomputeChoice::Full;
  else if (text == "selective" && fields.text("recompute_modules").empty())
    layout.recompute = RecomputeChoice::Attention;
  else if (!text.empty() && text != "none")
    fields.leaveOut("recompute unknown: " + text + " " + fields.text("recompute_modules").str());
}

void setLayoutOfTest(Fields &fields, Measurement &row) {
  ParallelDegrees &layout = row.layout;
  layout.tensor = fields.needed("tp");
  layout.pipeline = fields.needed("pp");
  layout.context = fields.needed("cp");
  layout.experts = std::max<int64_t>(1, fields.whole("ep", 1, /*least=*/0));
  layout.microBatch = fields.needed("micro_batch");
  row.devices = fields.needed("num_devices");
  layout.data = std::max<int64_t>(1, row.devices / (layout.tensor * layout.pipeline * layout.context));
  if (int64_t chunks = fields.whole("vp", 1, /*least=*/0); chunks > 1 && layout.pipeline > 1)
    layout.chunks = chunks;
  layout.cutsSequences = fields.isYes("sequence_parallel");
  std::string sharding = fields.lower("sharding");
  if (sharding == "zero1")
    layout.zero = 1;
  else if (sharding == "megatron_fsdp:optim_grads_params")
    layout.zero = 3;
  else if (sharding != "none")
    fields.leaveOut("sharding unknown: " + sharding);
  setRecomputeOfTest(fields, row);
  row.globalBatch = fields.needed("global_batch");
  row.overlaps = fields.text("overlap").contains("grad_reduce");
}

/// A number of micro-batches in a group of the interleaved schedule that is not the one that plans have.
void checkGroupSize(Fields &fields, const Measurement &row) {
  constexpr llvm::StringLiteral argument = "microbatch-group-size-per-virtual-pipeline-stage";
  static const Pattern number((argument + "=([0-9]+)").str());
  const std::optional<int64_t> stated = numberIn(fields.text("notes"), number);
  const ParallelDegrees &layout = row.layout;
  if (!stated || layout.numChunks() == 1 || !layout.microBatch || layout.data * *layout.microBatch == 0)
    return;
  const PipelineCounts counts =
      countsOf(layout.pipeline, row.globalBatch / (layout.data * *layout.microBatch), layout.numChunks());
  if (interleavedSizeOf(counts, /*isShort=*/false) != *stated)
    fields.leaveOut("argument beyond the columns: " + argument.str());
}

/// Attention in parts: "unfused", "unfused;fused=0" (NVTE_FUSED_ATTN=0), and "auto;fused=0;flash=0", which leaves no
/// other kernels.
bool isUnfused(const Fields &fields) {
  llvm::SmallVector<llvm::StringRef> words;
  std::string backend = fields.lower("attention_backend");
  llvm::StringRef(backend).split(words, ';');
  auto has = [&](llvm::StringRef word) { return llvm::is_contained(words, word); };
  return has("unfused") || has("local") || has("local_unfused") || (has("fused=0") && has("flash=0")) ||
         fields.text("transformer_impl") == "local";
}

} // namespace

Measurement readTestRow(const CsvTable &table, const CsvRow &cells) {
  Measurement row;
  Fields fields(table, cells, row);
  row.id = fields.text("id").str();
  row.source = "tests of Megatron-LM";
  if (fields.text("mode") != "pretrain")
    fields.leaveOut("mode " + fields.text("mode").str());
  if (fields.text("notes").contains("LABEL DOUBTFUL"))
    fields.leaveOut("hardware is doubtful");
  if (fields.lower("optimizer") != "adam")
    fields.leaveOut("optimizer unknown: " + fields.text("optimizer").str());
  row.seconds = fields.figure("iteration_time_s", fields.text("time_use") == "good");
  row.memoryBytes = fields.figure("mem_max_before_save_bytes");
  row.memoryOf = MeasuredDevice::LastStage;
  row.boundaryBytes = fields.figure("mem_allocated_bytes");
  if (!row.seconds && !row.memoryBytes && !row.boundaryBytes)
    fields.leaveOut("no step time or memory to compare with");
  setModelOfTest(fields, row.model);
  setLayoutOfTest(fields, row);
  checkGroupSize(fields, row);
  if (row.model.experts > 0)
    setTensorOfExperts(fields, fields.whole("etp", row.layout.tensor), row);
  setTables(row);
  setRoutes(row);
  setPrecision(fields, fields.text("precision"), row);
  row.runtime = isUnfused(fields) ? "megatron-2023-unfused" : "megatron-2023";
  setCluster(fields, fields.text("hardware"), fields.whole("gpus_per_node", 0, /*least=*/0), row);
  if (fields.isLeftOut())
    return row;
  setMemoryBeside(fields, row);
  checkDegrees(fields, row);
  return row;
}

} // namespace apc
