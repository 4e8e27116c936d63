// Rows of published step times: throughput.csv and files with its columns.
#include "Families.h"
#include "Fields.h"
#include "Remarks.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Regex.h"

namespace apc {

namespace {

/// Beginnings of the ids of rows that their collector trusts least.
constexpr llvm::StringLiteral doubtful[] = {"sc21fig",  "amdcvs",    "mindspeed3",  "mindspeedmfu",
                                            "maxtier-", "maxcustom", "alpa-weak24", "single"};

constexpr int64_t mostClasses = int64_t(1) << 30, mostExperts = int64_t(1) << 15;
constexpr double mostBytes = 1e15; ///< of one device; greater numbers are slips

void setExperts(Fields &fields, TransformerShape &shape) {
  llvm::StringRef text = fields.text("experts/topk");
  if (text.empty()) {
    if (hasExperts(fields.text("model_family")))
      fields.leaveOut("no experts/topk of a model with experts");
    return;
  }
  auto [experts, chosen] = text.split('/');
  if (experts.trim().getAsInteger(10, shape.experts) || chosen.trim().getAsInteger(10, shape.chosenExperts) ||
      shape.experts < 1 || shape.experts > mostExperts || shape.chosenExperts < 1 ||
      shape.chosenExperts > shape.experts)
    fields.leaveOut("experts are not of the form 8/2");
}

/// How far stated parameters lie outside those of a model, which may be stated with its tables or without: as a share.
double distanceOf(double stated, const TransformerShape &shape) {
  const ParameterCount count = countParameters(shape);
  return std::max({0.0, stated / count.all - 1, 1 - stated / (count.all - count.ofTables)});
}

/// The size of a head has no column. Where another usual one has the stated parameters, and that of the shape clearly
/// has not, it is taken: MaxText's default decoder of 15.7 billion, hidden 4096, has 64 heads of 128.
void fitHeadSize(double stated, TransformerShape &shape) {
  constexpr double clearly = 0.05, near = 0.02; // figures as "15.7" or "13" are rounded
  constexpr int64_t usual[] = {64, 80, 96, 128, 256};
  if (distanceOf(stated, shape) <= clearly)
    return;
  auto distanceWith = [&](int64_t headSize) {
    TransformerShape other = shape;
    other.headSize = headSize;
    return distanceOf(stated, other);
  };
  const int64_t best =
      *llvm::min_element(usual, [&](int64_t a, int64_t b) { return distanceWith(a) < distanceWith(b); });
  if (distanceWith(best) <= near)
    shape.headSize = best;
}

void setModel(Fields &fields, TransformerShape &shape) {
  std::optional<TransformerShape> family = shapeOfFamily(fields.text("model_family"));
  if (!family)
    return fields.leaveOut("model family unknown: " + fields.text("model_family").str());
  shape = *family;
  shape.layers = fields.needed("layers");
  shape.hidden = fields.needed("hidden");
  shape.heads = fields.needed("heads");
  shape.keyHeads = fields.whole("kv_heads", shape.heads);
  shape.inner = fields.needed("ffn");
  shape.sequence = fields.needed("seq");
  shape.vocabulary = fields.whole("vocab", classesIn(fields.text("notes")).value_or(0));
  if (shape.vocabulary < 1 || shape.vocabulary > mostClasses)
    fields.leaveOut("no vocab");
  if ((shape.headSize == 0 && shape.hidden % shape.heads != 0) || shape.heads % shape.keyHeads != 0)
    return fields.leaveOut("heads do not divide");
  if (shape.headSize == 0)
    shape.headSize = shape.hidden / shape.heads;
  if (shape.kind == TransformerKind::EncoderDecoder)
    fields.leaveOut("lengths of encoder and decoder are not stated");
  setExperts(fields, shape);
  double billions = 0; // text says no less than a blank cell
  if (!fields.text("params_b").getAsDouble(billions) && billions > 0 && !fields.isLeftOut())
    fitHeadSize(billions * 1e9, shape);
}

/// Text that names the framework and its kernels.
std::string softwareOf(const Fields &fields) {
  return (fields.text("notes") + " " + fields.text("model_family") + " " + fields.text("source")).str();
}

/// Megatron-LM's attentions; or torchtitan's (torchtitan/distributed/activation_checkpoint.py): of layers every second
/// one as a whole, of ops every second product of each layer and what is cheap. The latter is taken as every second
/// layer, and what is cheap of the others: Llama 3 8B makes 36 % of its products again, not 50 %.
RecomputeSetting selective(Fields &fields, const Measurement &row) {
  const std::string software = softwareOf(fields);
  if (!hasWords(software, "torchtitan"))
    return RecomputeChoice::Attention;
  if (row.layout.pipeline > 1)
    fields.leaveOut("every second product is recomputed in each of several stages");
  const bool isOfLayers = hasWords(software, "selective layer|(every|each) (other|second) layer");
  return {RecomputeChoice::Full, std::max<int64_t>(1, row.model.layers / 2),
          isOfLayers ? RecomputeChoice::None : RecomputeChoice::Norms};
}

/// Rows of NeMo 2's recipes for Llama 3 need not say what these set: nothing is recomputed, tp cuts sequences, and the
/// optimizer is distributed (NVIDIA/NeMo nemo/collections/llm/recipes/llama3_8b.py, llama3_70b.py and optim/adam.py).
bool isOfRecipe(const Fields &fields) {
  return hasWords(fields.text("notes"), "nemo 2(\\.0)? recipe") &&
         hasWords(fields.text("model_family"), "llama-?3(\\.1)?-(8|70)b");
}

/// Policies as this project calls them.
void setRecompute(Fields &fields, Measurement &row) {
  ParallelDegrees &layout = row.layout;
  std::string text = fields.lower("recompute");
  if (text == "full")
    layout.recompute = RecomputeChoice::Full;
  else if (text == "selective")
    layout.recompute = selective(fields, row);
  else if (llvm::is_contained({"none", "no", "false", "off", "0"}, llvm::StringRef(text)) ||
           (text.empty() && isOfRecipe(fields)))
    layout.recompute = RecomputeChoice::None;
  else
    fields.leaveOut(text.empty() ? "recompute is not stated" : "recompute unknown: " + text);
  if (llvm::Regex("remat_policy=[a-z_]*offload").match(fields.text("notes")))
    fields.leaveOut("activations are moved to the host");
}

/// Schedules other than 1F1B have no column; remarks name them.
void setSchedule(Fields &fields, ParallelDegrees &layout) {
  struct Name {
    llvm::StringRef pattern, schedule;
    int64_t chunks;
  };
  constexpr Name names[] = {{"gpipe", "gpipe", 1},       {"zb-?(h1|1p)", "zb-h1", 1},     {"zb-?(h2|2p)", "zb-h2", 1},
                            {"zb-?v", "zb-v", 2},        {"v-half", "v-half", 2},         {"v-min", "v-min", 2},
                            {"dualpipe", "dualpipe", 2}, {"dualpipe-?v", "dualpipev", 2}, {"chimera", "chimera", 2}};
  std::string remarks = (fields.text("table_or_url") + " " + fields.text("notes")).str();
  auto isNamed = [&](llvm::StringRef name) { return hasWords(remarks, name); };
  size_t found = 0;
  for (const Name &name : names)
    if (isNamed(name.pattern)) {
      ++found;
      layout.schedule = name.schedule.str();
      layout.chunks = name.chunks > 1 ? std::optional(name.chunks) : std::nullopt;
    }
  if (found > 1 || (found == 1 && isNamed("1f1b")))
    fields.leaveOut("several schedules are named");
  if (found == 0 && isNamed("zero[ -]?bubble|zb"))
    fields.leaveOut("a schedule without bubble is named, but not which");
}

/// The stage of ZeRO that a step has beside a pipeline. DeepSpeed refuses the stages 2 and 3 there; PyTorch's pipelines
/// reduce gradients behind the last micro-batch, and its trainers keep parameters gathered until then
/// (pytorch/torchtitan, reshard_after_forward): that is stage 1. Megatron's own FSDP cuts with every micro-batch.
int64_t besidePipeline(int64_t zero, const Fields &fields, const ParallelDegrees &layout) {
  const bool cutsAlways = llvm::Regex("megatron[- _]?fsdp", llvm::Regex::IgnoreCase).match(fields.text("notes"));
  return layout.pipeline > 1 && zero > 1 && !cutsAlways ? 1 : zero;
}

/// The stage of ZeRO that the cell states or names, and remarks where it is blank. Nothing is the default of every
/// framework.
int64_t zeroOf(Fields &fields) {
  llvm::StringRef cell = fields.text("zero_stage"), notes = fields.text("notes");
  double number = 0;
  if (const bool isNumber = !cell.getAsDouble(number); cell.empty() || !isNumber) {
    const std::string words = cell.empty() ? notes.str() : "zero " + cell.str(); // "stage 3", "ZeRO-1", "FSDP"
    std::optional<int64_t> stage = stageIn(words);
    if (stage || cell.empty() || hasWords(cell, "no|none|off"))
      return stage.value_or(cell.empty() && isOfRecipe(fields) ? 1 : 0);
  }
  return fields.whole("zero_stage", 0, /*least=*/0);
}

/// The ranks over which parameters are cut where groups of them hold the same: as many as remarks say, those of a
/// slice, or else those of a node, as PyTorch's HYBRID_SHARD has them (torch/distributed/fsdp/_init_utils.py).
std::optional<int64_t> shardOf(Fields &fields, const ParallelDegrees &layout) {
  const int64_t ranks = layout.data * layout.context;
  const std::string words = "zero " + fields.text("zero_stage").str() + " " + fields.text("notes").str();
  int64_t own = ranks;
  if (int64_t slices = numberIn(words, "([0-9]+) slice").value_or(1); slices > 1 && layout.zero == 3)
    own = ranks % slices == 0 ? ranks / slices : 0;
  else if (cutsWithinGroups(words))
    own = numberIn(words, "(fsdp|shard)[ =:]+([0-9]+)", /*group=*/2)
              .value_or(fields.whole("gpus_per_node", 0, /*least=*/0) / layout.tensor);
  if (own == ranks)
    return std::nullopt;
  if (own < 1 || ranks % own != 0)
    fields.leaveOut("parameters are cut over a part of dp that is not stated");
  else if (layout.experts > 1)
    fields.leaveOut("parameters are cut over a part of dp beside ep");
  else
    return own;
  return std::nullopt;
}

/// dp, or what the other degrees leave of the devices where its cell is blank.
int64_t dataOf(Fields &fields, const Measurement &row) {
  const int64_t others = row.layout.tensor * row.layout.pipeline * row.layout.context;
  if (!fields.text("dp").empty() || row.devices % others != 0)
    return fields.needed("dp");
  return row.devices / others;
}

void setLayout(Fields &fields, Measurement &row) {
  ParallelDegrees &layout = row.layout;
  row.devices = fields.needed("num_devices");
  layout.tensor = fields.needed("tp");
  layout.pipeline = fields.needed("pp");
  layout.context = std::max<int64_t>(1, fields.whole("cp", 1, /*least=*/0));
  layout.data = dataOf(fields, row);
  layout.experts = std::max<int64_t>(1, fields.whole("ep", 1, /*least=*/0));
  layout.microBatch = fields.needed("micro_batch");
  if (int64_t chunks = fields.whole("vp", 1, /*least=*/0); chunks > 1 && layout.pipeline > 1)
    layout.chunks = chunks;
  if (layout.pipeline > 1)
    setSchedule(fields, layout);
  const int64_t zero = zeroOf(fields);
  if (zero > 3)
    fields.leaveOut("ZeRO stage unknown");
  layout.zero = static_cast<int>(besidePipeline(zero, fields, layout));
  layout.cutsSequences =
      fields.isYes("seq_parallel") || (fields.text("seq_parallel").empty() && layout.tensor > 1 && isOfRecipe(fields));
  if (zero > 0 && layout.data * layout.context > 1)
    layout.shard = shardOf(fields, layout);
  if (fields.text("notes").contains_insensitive("largest-dimension heuristic")) // dp and tp name the mesh alone
    fields.leaveOut("a heuristic cuts the weights");
  setRecompute(fields, row);
  row.globalBatch = fields.needed("global_batch");
  row.overlaps = layout.zero == 3; // parameters come ahead of their use in every program that cuts them
}

void setFigures(Fields &fields, Measurement &row) {
  std::string metric = fields.lower("measured_metric");
  llvm::StringRef use = fields.text("use"), notes = fields.text("notes");
  const std::string remarks = metric + "; " + fields.lower("table_or_url") + "; " + fields.lower("notes");
  row.ranOut = saysOutOfMemory(fields.text("measured_value"));
  auto isFor = [&](char what) { return use.empty() || use.contains(what); };
  row.seconds = fields.figure("iteration_time_s", isFor('T'));
  if (row.ranOut && row.seconds)
    fields.leaveOut("a step time of a run that ran out of memory");
  bool isAnalytic = notes.contains_insensitive("analytic");
  if (std::optional<double> memory = fields.figure("memory_gb", isFor('M') && !isAnalytic))
    row.memoryBytes = *memory * (saysBinaryUnits(remarks) ? double(1 << 30) : 1e9);
  if (row.memoryBytes && *row.memoryBytes > mostBytes)
    fields.leaveOut("memory_gb is above that of any device");
  if (!row.seconds && !row.memoryBytes && !row.ranOut)
    fields.leaveOut(isAnalytic ? "memory is computed by its source"
                               : "no step time, memory or outcome to compare with");
}

} // namespace

Measurement readThroughputRow(const CsvTable &table, const CsvRow &cells) {
  Measurement row;
  Fields fields(table, cells, row);
  row.id = fields.text("id").str();
  row.source = fields.text("source").str();
  row.group = fields.text("strategy_group").str();
  llvm::StringRef trust = fields.text("trust");
  if (trust != "A" && trust != "B")
    fields.leaveOut("trust " + (trust.empty() ? "is not stated" : trust.str()));
  if (llvm::any_of(doubtful, [&](llvm::StringRef begin) { return llvm::StringRef(row.id).starts_with(begin); }))
    fields.leaveOut("among the least trustworthy sources");
  setFigures(fields, row);
  setModel(fields, row.model);
  setLayout(fields, row);
  if (row.model.experts > 0)
    setTensorOfExperts(fields, tensorOfExpertsIn(fields.text("notes")), row);
  setTables(row);
  setRoutes(row);
  setPrecision(fields, fields.text("precision"), row);
  setCluster(fields, fields.text("hardware"), fields.whole("gpus_per_node", 0, /*least=*/0), row);
  setRuntime(softwareOf(fields), row);
  if (!fields.isLeftOut())
    checkDegrees(fields, row);
  return row;
}

} // namespace apc
