// Rows of published step times: throughput.csv and files with its columns.
#include "ThroughputRows.h"
#include "Remarks.h"

#include "apc/Schedule/Pipeline/Schedules.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

namespace {

/// Beginnings of the ids of rows that their collector trusts least.
constexpr llvm::StringLiteral doubtful[] = {"sc21fig",  "amdcvs",    "mindspeed3",  "mindspeedmfu",
                                            "maxtier-", "maxcustom", "alpa-weak24", "single"};

constexpr double mostBytes = 1e15; ///< of one device; greater numbers are slips

bool hasTwoCopies(const ParallelDegrees &layout) {
  llvm::ArrayRef<PipelineSchedule> all = allPipelineSchedules();
  const auto *own = llvm::find_if(all, [&](const PipelineSchedule &each) { return each.name == layout.schedule; });
  return own != all.end() && own->placement == Placement::Mirrored;
}

struct ScheduleName {
  llvm::StringLiteral words, schedule;
  int64_t chunks;
};

/// All forward passes before all backward passes is what GPipe does; PaddlePaddle calls it F-then-B.
constexpr ScheduleName scheduleNames[] = {{"gpipe|afab|all[- ]forward[-, ]+all[- ]backward|f-?then-?b", "gpipe", 1},
                                          {"zb-?(h1|1p)", "zb-h1", 1},
                                          {"zb-?(h2|2p)", "zb-h2", 1},
                                          {"zb-?v", "zb-v", 2},
                                          {"v-half", "v-half", 2},
                                          {"v-min", "v-min", 2},
                                          {"dualpipe", "dualpipe", 2},
                                          {"dualpipe-?v", "dualpipev", 2},
                                          {"chimera", "chimera", 2}};

/// The schedule that a column of that name says, and where there is none or its cell is blank, that of the remarks;
/// 1F1B unless they name another.
void setSchedule(Fields &fields, ParallelDegrees &layout) {
  const std::string cell = fields.text("schedule").str();
  const std::string words = cell.empty() ? (fields.text("table_or_url") + "; " + fields.text("notes")).str() : cell;
  static const std::vector<Words> names = wordsOf(scheduleNames, &ScheduleName::words);
  static const Words usual("1f1b"), interleaved("interleaved"), withoutBubble("zero[ -]?bubble|zb");
  auto isNamed = [&](const Words &name) { return isOwn(words, name); };
  size_t found = 0;
  for (const auto &[name, own] : llvm::zip_equal(scheduleNames, names))
    if (isNamed(own)) {
      ++found;
      layout.schedule = name.schedule.str();
      layout.chunks = name.chunks > 1 ? std::optional(name.chunks) : std::nullopt;
    }
  const bool isUsual = isNamed(usual);
  if (found > 1 || (found == 1 && isUsual))
    fields.leaveOut("several schedules are named");
  if (found == 0 && isNamed(withoutBubble))
    fields.leaveOut("a schedule without bubble is named, but not which");
  else if (found == 0 && !cell.empty() && !isUsual && !isNamed(interleaved))
    fields.leaveOut("schedule unknown: " + cell);
  if (!cell.empty() && isNamed(interleaved) && layout.numChunks() == 1)
    fields.leaveOut("chunks of an interleaved schedule are not stated");
  if (hasTwoCopies(layout))
    fields.leaveOut("the schedule " + layout.schedule + " runs two copies of the model, and here a model has one");
}

/// The stage of ZeRO that a step has beside a pipeline. DeepSpeed refuses the stages 2 and 3 there; PyTorch's pipelines
/// reduce gradients behind the last micro-batch, and its trainers keep parameters gathered until then
/// (pytorch/torchtitan, reshard_after_forward): that is stage 1. Megatron's own FSDP cuts with every micro-batch.
int64_t besidePipeline(int64_t zero, const Fields &fields, const ParallelDegrees &layout) {
  static const Words fsdpOfMegatron("megatron[- _]?fsdp");
  const bool cutsAlways =
      isOwn(fields.text("zero_stage"), fsdpOfMegatron) || isOwn(fields.text("notes"), fsdpOfMegatron);
  return layout.pipeline > 1 && zero > 1 && !cutsAlways ? 1 : zero;
}

/// The stage of ZeRO that the cell states or names, and remarks where it is blank. Nothing is the default of every
/// framework.
int64_t zeroOf(Fields &fields) {
  llvm::StringRef cell = fields.text("zero_stage"), notes = fields.text("notes");
  double number = 0;
  if (cell.empty())
    return stageIn(notes).value_or(isOfRecipe(fields) ? 1 : 0);
  if (cell.getAsDouble(number))
    if (std::optional<int64_t> stage = stageOfCell(cell))
      return *stage;
  return fields.whole("zero_stage", 0, /*least=*/0);
}

/// The ranks over which parameters are cut where groups of them hold the same: as many as remarks say, those of a
/// slice, or else those of a node, as PyTorch's HYBRID_SHARD has them (torch/distributed/fsdp/_init_utils.py).
std::optional<int64_t> shardOf(Fields &fields, const ParallelDegrees &layout) {
  const int64_t ranks = layout.data * layout.context;
  const std::string words = "zero " + fields.text("zero_stage").str() + " " + fields.text("notes").str();
  static const Pattern ofSlices("([0-9]+) slice"), stated("(fsdp|shard)[ =:]+([0-9]+)");
  int64_t own = ranks;
  if (int64_t slices = numberIn(words, ofSlices).value_or(1); slices > 1 && layout.zero == 3)
    own = ranks % slices == 0 ? ranks / slices : 0;
  else if (cutsWithinGroups(words))
    own = numberIn(words, stated, /*group=*/2).value_or(fields.whole("gpus_per_node", 0, /*least=*/0) / layout.tensor);
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
  static const Words sequences("sp|sequence[- ]parallel(ism)?");
  const bool isImplied = isOfRecipe(fields) || hasWords(fields.text("recompute"), sequences);
  layout.cutsSequences =
      fields.isYes("seq_parallel") || (fields.text("seq_parallel").empty() && layout.tensor > 1 && isImplied);
  if (zero > 0 && layout.data * layout.context > 1)
    layout.shard = shardOf(fields, layout);
  if (fields.text("notes").contains_insensitive("largest-dimension heuristic")) // dp and tp name the mesh alone
    fields.leaveOut("a heuristic cuts the weights");
  setRecompute(fields, row);
  row.globalBatch = fields.needed("global_batch");
  row.overlaps = layout.zero == 3; // parameters come ahead of their use in every program that cuts them
}

/// The letters of the cell that says which figures are for use: T of times, M of memory, F of outcomes, and others that
/// are for no use here; as words, too: "time", "memory". "" for any use.
std::string usesOf(Fields &fields) {
  constexpr llvm::StringLiteral letters = "TMFP", between = " ,;/+&";
  llvm::StringRef cell = fields.text("use");
  const std::string upper = cell.upper();
  if (llvm::StringRef(upper).find_first_not_of((letters + between).str()) == llvm::StringRef::npos)
    return upper;
  static const Words times("times?"), memory("mem(ory)?"), outcome("feasib(le|ility)|outcomes?|oom");
  const std::string named = std::string(hasWords(cell, times) ? "T" : "") + (hasWords(cell, memory) ? "M" : "") +
                            (hasWords(cell, outcome) ? "F" : "");
  if (named.empty())
    fields.leaveOut("use '" + cell.str() + "' is none of T (time), M (memory) and F (outcome)");
  return named;
}

/// Bytes in a unit of the memory of a row, by the first of its metric, its table and its remarks that states a unit.
double unitOfMemory(const Fields &fields) {
  for (llvm::StringRef column : {"measured_metric", "table_or_url", "notes"}) {
    if (saysBinaryUnits(fields.text(column)))
      return double(1 << 30);
    if (column != "notes" && saysDecimalUnits(fields.text(column)))
      break;
  }
  return 1e9;
}

void setMemory(Fields &fields, bool isUsed, Measurement &row) {
  const std::optional<double> memory = fields.figure("memory_gb", isUsed);
  if (!memory)
    return;
  row.memoryBytes = *memory * unitOfMemory(fields);
  if (*row.memoryBytes > mostBytes)
    fields.leaveOut("memory_gb is above that of any device");
}

/// Figures to compare with. "OOM" in the place of a number is an outcome; a run that ran out of memory has no peak.
void setFigures(Fields &fields, Measurement &row) {
  const std::string uses = usesOf(fields);
  auto isFor = [&](char use) { return uses.empty() || llvm::StringRef(uses).contains(use); };
  auto isOut = [&](llvm::StringRef column) { return saysOutOfMemory(fields.text(column)); };
  row.ranOut = isOut("measured_value") || isOut("iteration_time_s") || isOut("memory_gb");
  if (!isOut("iteration_time_s"))
    row.seconds = fields.figure("iteration_time_s", isFor('T'));
  if (row.ranOut && row.seconds)
    fields.leaveOut("a step time of a run that ran out of memory");
  const bool isAnalytic = fields.text("notes").contains_insensitive("analytic");
  if (!row.ranOut)
    setMemory(fields, isFor('M') && !isAnalytic, row);
  if (!row.seconds && !row.memoryBytes && !row.ranOut)
    fields.leaveOut(isAnalytic ? "memory is computed by its source"
                               : "no step time, memory or outcome to compare with");
}

} // namespace

std::string softwareOf(const Fields &fields) {
  return (fields.text("notes") + " " + fields.text("model_family") + " " + fields.text("source")).str();
}

bool isOfRecipe(const Fields &fields) {
  static const Words recipe("nemo 2([.]0)? recipe"), model("llama-?3([.]1)?-(8|70)b");
  return hasWords(fields.text("notes"), recipe) && hasWords(fields.text("model_family"), model);
}

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
  if (trainsAdapters(fields.text("notes")))
    fields.leaveOut("adapters alone are trained");
  setLayout(fields, row);
  if (row.model.experts > 0)
    setTensorOfExperts(fields, tensorOfExpertsIn(fields.text("notes")), row);
  setTables(row);
  setRoutes(row);
  setPrecision(fields, fields.text("precision"), row);
  setCluster(fields, fields.text("hardware"), fields.whole("gpus_per_node", 0, /*least=*/0), row);
  setRuntime(softwareOf(fields), row);
  setTf32(fields, fields.text("precision"), fields.text("notes"), row);
  if (!fields.isLeftOut())
    checkDegrees(fields, row);
  return row;
}

} // namespace apc
