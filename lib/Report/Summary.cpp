// The summary of a plan for a terminal.
#include "apc/Report/Summary.h"

#include "CollectiveWords.h"
#include "FactorWords.h"
#include "NextBest.h"
#include "OpsTable.h"
#include "PeakText.h"
#include "PipelineText.h"
#include "Rates.h"
#include "StorageText.h"

#include "apc/Plan/VisiblePlan.h"
#include "apc/Report/ErrorBar.h"
#include "apc/Support/TextTable.h"
#include "apc/Support/Units.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

namespace apc {

namespace {

/// "64 devices in 8 nodes", "13 devices (8 used)", "1 device".
std::string devicesText(const Plan &plan) {
  std::string text = counted(plan.request.devices, "device");
  if (plan.devicesUsed != plan.request.devices)
    return text + llvm::formatv(" ({0} used)", plan.devicesUsed).str();
  const std::vector<PlanAxis> &axes = plan.stages.front().mesh.axes;
  int64_t groups = 1;
  for (const PlanAxis &axis : axes)
    groups *= axis.levelIndex == 0 ? axis.size : 1;
  groups *= plan.pipeline && groups > 1 ? plan.pipeline->workers : 1;
  bool isInGroups = groups > 1 && groups < plan.request.devices;
  return isInGroups ? text + " in " + counted(groups, axes.front().level) : text;
}

/// "bf16 ", "bf16 and f32 "; empty where the plan does not say.
std::string formatsText(const Plan &plan) {
  return plan.peakFormats.empty() ? "" : llvm::join(plan.peakFormats, " and ") + " ";
}

void printRates(const Plan &plan, llvm::raw_ostream &os) {
  std::vector<std::string> texts;
  if (plan.samplesPerSecond) {
    texts.push_back(rateText(*plan.samplesPerSecond) + " samples/s");
    if (std::optional<double> tokens = tokensPerSecond(plan))
      texts.push_back(rateText(*tokens) + " tokens/s");
  }
  if (plan.shareOfPeak && *plan.shareOfPeak > 0)
    texts.push_back(
        llvm::formatv("{0} of the devices' peak {1}FLOP/s", percent(*plan.shareOfPeak, 1), formatsText(plan)).str());
  if (!texts.empty())
    os << "rate     " << llvm::join(texts, ", ") << "\n";
  if (std::optional<RepeatedLayer> layer = repeatedLayer(plan))
    os << "layer    " << formatSeconds(layer->seconds) << " each, " << layer->count << " of them: " << layer->pattern
       << "\n";
}

/// "gap 0.03 %"; a gap is never rounded to none.
std::string gapText(double gap) {
  constexpr double least = 0.0001;
  if (gap > 0 && gap < least)
    return "gap below 0.01 %";
  return llvm::formatv("gap {0:F2} %", 100 * gap).str();
}

void printBound(const Plan &plan, llvm::raw_ostream &os) {
  if (plan.lowerBoundSeconds <= 0) {
    bool isCosted = plan.request.parallel == ParallelMode::Data || plan.request.parallel == ParallelMode::Hybrid ||
                    llvm::StringRef(plan.search).starts_with("layout ");
    os << "bound    none: "
       << (isCosted ? "strategies were costed, not searched" : "the search ended before it had proven one") << "\n";
    return;
  }
  os << "bound    " << formatSeconds(plan.lowerBoundSeconds) << ": no plan in the searched space is faster than that ("
     << planStatusName(plan.status) << ", " << gapText(plan.gap) << ")\n";
}

/// Seconds of a device, of those ops of all stages for which \p counts; of a pipeline the mean of its workers.
double secondsOf(const Plan &plan, llvm::function_ref<bool(const PlanChoice &)> counts) {
  double seconds = 0;
  for (const StagePlan &stage : plan.stages)
    for (const PlanChoice &choice : stage.choices)
      seconds += counts(choice) ? choice.seconds : 0;
  return seconds / static_cast<double>(plan.pipeline ? plan.pipeline->workers : 1);
}

/// "212 ms, 24.8 %, in ops that wait for memory; 100 ms, 11.7 %, in ops that run again", of the step; empty where there
/// are none.
std::string partsOfCompute(const Plan &plan) {
  const double byMemory = secondsOf(plan, [](const PlanChoice &choice) { return choice.isMemoryBound; });
  const double again = secondsOf(plan, [](const PlanChoice &choice) { return choice.runsAgain(); });
  std::vector<std::string> texts;
  for (auto [seconds, what] : {std::pair(byMemory, "wait for memory"), std::pair(again, "run again (recomputation)")})
    if (seconds > 0)
      texts.push_back(
          llvm::formatv("{0}, {1}, in ops that {2}", formatSeconds(seconds), percent(seconds, plan.stepSeconds), what));
  return llvm::join(texts, "; ");
}

/// "41.2 ms of 55.0 ms of communication, 74.9 %, behind computation"; empty without overlap, and where nothing is sent.
std::string hiddenText(const Plan &plan) {
  bool mayHide = plan.request.overlap || (plan.training && plan.training->copies > 1);
  if (!mayHide || plan.communicationSeconds <= 0)
    return "";
  double hidden = std::max(0.0, plan.communicationSeconds - plan.exposedCommunicationSeconds);
  return llvm::formatv("{0} of {1} of communication, {2}, behind computation", formatSeconds(hidden),
                       formatSeconds(plan.communicationSeconds), percent(hidden, plan.communicationSeconds))
      .str();
}

/// "64 samples in 8 micro-batches of 8"; "4 samples" where there is one.
std::string batchText(const PlanTraining &training) {
  std::string text = counted(training.globalBatch, "sample");
  if (training.microBatches > 1)
    text += llvm::formatv(" in {0} micro-batches of {1}", training.microBatches, training.microBatch);
  if (training.copies > 1)
    text += llvm::formatv(", {0} copies of {1}", training.copies, training.microBatch / training.copies);
  return text;
}

void printHeader(const Plan &plan, llvm::raw_ostream &os) {
  os << "model    " << plan.request.modelPath << "\n";
  os << "cluster  " << plan.cluster;
  if (!plan.request.clusterOverrides.empty())
    os << " with " << llvm::join(plan.request.clusterOverrides, ", ");
  os << ", " << devicesText(plan);
  os << "\n";
  printPipeline(plan, os);
  printByStage("mesh", plan, [](const StagePlan &stage) { return stage.mesh.str(); }, os);
  printByStage("carries", plan, carriesText, os);
  os << "mode     " << stepModeName(plan.request.mode) << ", search " << plan.search << ", runtime "
     << plan.request.runtime << "\n";
  if (plan.training)
    os << "batch    " << batchText(*plan.training) << "\n";
  if (std::string storage = storageText(plan); !storage.empty())
    os << "storage  " << storage << "\n";
  os << "\n";
  os << "step     " << formatSeconds(plan.stepSeconds) << "  (compute " << formatSeconds(plan.computeSeconds) << ", "
     << percent(plan.computeSeconds, plan.stepSeconds) << "; communication "
     << formatSeconds(plan.exposedCommunicationSeconds) << ", "
     << percent(plan.exposedCommunicationSeconds, plan.stepSeconds);
  if (plan.hostSeconds > 0)
    os << "; waiting for the host " << formatSeconds(plan.hostSeconds) << ", "
       << percent(plan.hostSeconds, plan.stepSeconds);
  if (plan.pipeline)
    os << "; bubble " << formatSeconds(plan.bubbleSeconds) << ", " << percent(plan.bubbleSeconds, plan.stepSeconds);
  os << ")\n";
  if (std::string parts = partsOfCompute(plan); !parts.empty())
    os << "compute  " << parts << "\n";
  printErrorBar(plan, os);
  if (std::string hidden = hiddenText(plan); !hidden.empty())
    os << "hidden   " << hidden << "\n";
  if (plan.overlappedSeconds && *plan.overlappedSeconds < plan.stepSeconds)
    os << "overlap  " << formatSeconds(*plan.overlappedSeconds)
       << " if collectives ran beside ops: --overlap plans for that\n";
  printRates(plan, os);
  printBound(plan, os);
  os << "\n";
}

/// "95 % of 74.5 GiB"; empty where the device's memory is not known.
std::string limitText(const Plan &plan) {
  if (!plan.deviceMemoryBytes)
    return "";
  double all = static_cast<double>(*plan.deviceMemoryBytes);
  return llvm::formatv("{0:f0} % of {1}", 100 * static_cast<double>(plan.memoryLimitBytes) / all, formatBytes(all))
      .str();
}

void printMemory(const Plan &plan, llvm::raw_ostream &os) {
  TextTable table;
  table.addColumn("memory of one device");
  table.addColumn("bytes", TextTable::Align::Right);
  table.addColumn("remark");
  for (MemoryCategory category : allMemoryCategories()) {
    if (int64_t bytes = plan.memory[category])
      table.addRow({memoryCategoryName(category).str(), formatBytes(static_cast<double>(bytes))});
    if (category == MemoryCategory::Activations && plan.lossBytes)
      table.addRow({"  logits and loss", formatBytes(static_cast<double>(plan.lossBytes)),
                    percent(plan.lossBytes, plan.memory[category]) + " of the activations"});
  }
  table.addRow({"total", formatBytes(static_cast<double>(plan.memory.total())), peakText(plan)});
  if (plan.memory.hostBytes)
    table.addRow({"host", formatBytes(static_cast<double>(plan.memory.hostBytes)), "beside the device's"});
  table.addRow({"limit", formatBytes(static_cast<double>(plan.memoryLimitBytes)), limitText(plan)});
  table.print(os);
  os << "\n";
}

/// The collectives of all stages by kind and levels, with the means of the workers of a pipeline.
std::vector<PlanCollectives> collectivesOfWorkers(const Plan &plan) {
  std::vector<PlanCollectives> rows;
  for (const StagePlan &stage : plan.stages)
    for (const PlanCollectives &own : stage.collectives) {
      auto known = llvm::find_if(rows, [&](const PlanCollectives &row) {
        return row.collective == own.collective && row.levels == own.levels;
      });
      if (known == rows.end())
        known = rows.insert(known, {own.collective, own.levels});
      known->count += own.count;
      known->seconds += own.seconds;
      known->receivedBytes += own.receivedBytes;
    }
  int64_t workers = plan.pipeline ? plan.pipeline->workers : 1;
  for (PlanCollectives &row : rows) {
    row.count = static_cast<unsigned>((row.count + workers - 1) / workers);
    row.seconds /= static_cast<double>(workers);
    row.receivedBytes /= workers;
  }
  return rows;
}

void printCommunication(const Plan &plan, llvm::raw_ostream &os) {
  if (llvm::all_of(plan.stages, [](const StagePlan &stage) { return stage.collectives.empty(); }))
    return;
  TextTable table;
  table.addColumn("collective");
  table.addColumn("over the links of");
  table.addColumn("count", TextTable::Align::Right);
  table.addColumn("time, all", TextTable::Align::Right);
  table.addColumn(plan.pipeline ? "received by the mean device" : "received by one device", TextTable::Align::Right);
  for (const PlanCollectives &row : collectivesOfWorkers(plan))
    table.addRow({row.collective, row.levels, std::to_string(row.count), formatSeconds(row.seconds),
                  formatBytes(static_cast<double>(row.receivedBytes))});
  table.print(os);
  os << "\n";
}

/// May a layer's weights be the limit of a bucket? Weights that are gathered for their use, and gradients that are
/// reduced into parts, travel by the layer at most (apc/Cost/Fusion.h).
bool mayTravelByLayer(const StagePlan &stage, const PlanBucket &bucket) {
  const std::string &value = stage.moves[bucket.moves.front()].values.front();
  auto sharding = llvm::find_if(stage.shardings, [&](const PlanSharding &own) { return own.value == value; });
  const bool isOfLayer = sharding != stage.shardings.end() &&
                         (sharding->role == ValueRole::Parameter || sharding->role == ValueRole::Gradient);
  return isOfLayer && llvm::any_of(bucket.collectives, [](llvm::StringRef collective) {
           return collective.starts_with("AllGather") || collective.starts_with("ReduceScatter");
         });
}

/// "fused    AllReduce over node and device: 290 moves in 6 exchanges of at most 61 MiB", for each kind of bucket.
void printBuckets(const Plan &plan, llvm::raw_ostream &os) {
  std::map<std::string, std::pair<size_t, size_t>> counts; ///< moves, buckets
  const bool hasLayers = repeatedLayer(plan).has_value();
  for (const StagePlan &stage : plan.stages)
    for (const PlanBucket &bucket : stage.buckets) {
      std::string limit = formatBytes(static_cast<double>(bucket.limitBytes));
      if (!plan.request.fusionBytes)
        limit += ", by latency and bandwidth";
      if (!plan.request.fusionBytes && hasLayers && mayTravelByLayer(stage, bucket))
        limit += ", or by the layer where that is less";
      auto &[moves, buckets] = counts[collectivesText(bucket.collectives) + "\n" + limit];
      moves += bucket.moves.size();
      ++buckets;
    }
  for (const auto &[key, count] : counts) {
    auto [collectives, limit] = llvm::StringRef(key).split('\n');
    os << "fused    " << collectives << ": " << count.first << " moves in " << counted(count.second, "bucket")
       << " of at most " << limit << "\n";
  }
  os << (counts.empty() ? "" : "\n");
}

/// "18.7 s", "costs 20.1 ms" where there is a loss.
std::string savedText(double amount, std::string (*text)(double)) {
  return (amount < 0 ? "costs " : "") + text(std::abs(amount));
}

/// Why a plan has a kind of parallelism without which its step is faster; empty where it is not, and where nobody
/// searched for a faster one.
std::string remarkOn(const PlanContribution &row, const Plan &plan) {
  const double cost = plan.stepSeconds - row.stepSeconds;
  if (cost <= 0)
    return "";
  if (row.memoryBytes > plan.memoryLimitBytes)
    return "does not fit without it";
  return plan.lowerBoundSeconds > 0 && cost <= plan.gap * plan.stepSeconds ? "within the gap that is left" : "";
}

void printParallelism(const Plan &plan, llvm::raw_ostream &os) {
  if (plan.parallelism.empty())
    return;
  const bool hasRemarks =
      llvm::any_of(plan.parallelism, [&](const PlanContribution &row) { return !remarkOn(row, plan).empty(); });
  TextTable table;
  table.addColumn("parallelism");
  for (const char *name : {"step without it", "saves", "memory without it", "saves"})
    table.addColumn(name, TextTable::Align::Right);
  if (hasRemarks)
    table.addColumn("remark");
  for (const PlanContribution &row : plan.parallelism) {
    double bytes = static_cast<double>(row.memoryBytes), saved = bytes - static_cast<double>(plan.memory.total());
    std::vector<std::string> cells = {row.kind, formatSeconds(row.stepSeconds),
                                      savedText(row.stepSeconds - plan.stepSeconds, formatSeconds), formatBytes(bytes),
                                      savedText(saved, formatBytes)};
    if (hasRemarks)
      cells.push_back(remarkOn(row, plan));
    table.addRow(std::move(cells));
  }
  table.print(os);
  os << "\n";
}

/// Layouts behind other references, ordered by their degrees, dp=2 before dp=16: the order in which they were costed
/// depends on how many were costed side by side.
std::vector<Reference> orderedReferences(const Plan &plan) {
  std::vector<Reference> references = plan.references;
  auto isLayout = [](const Reference &own) { return llvm::StringRef(own.name).starts_with("layout "); };
  llvm::stable_sort(references, [&](const Reference &a, const Reference &b) {
    if (isLayout(a) && isLayout(b))
      return llvm::StringRef(a.name).compare_numeric(b.name) < 0;
    return !isLayout(a) && isLayout(b);
  });
  return references;
}

void printReferences(const Plan &plan, llvm::raw_ostream &os) {
  if (plan.references.empty())
    return;
  TextTable table;
  table.addColumn("reference");
  table.addColumn("step", TextTable::Align::Right);
  table.addColumn("slower", TextTable::Align::Right);
  table.addColumn("memory", TextTable::Align::Right);
  table.addColumn("reason");
  for (const Reference &reference : orderedReferences(plan)) {
    std::string slower = "-";
    if (reference.stepSeconds && plan.stepSeconds > 0)
      slower = llvm::formatv("{0:f2} x", *reference.stepSeconds / plan.stepSeconds).str();
    table.addRow({reference.name, reference.stepSeconds ? formatSeconds(*reference.stepSeconds) : "-", slower,
                  reference.memoryBytes ? formatBytes(static_cast<double>(*reference.memoryBytes)) : "-",
                  (reference.feasible ? "" : "does not run: ") + reference.reason});
  }
  table.print(os);
}

} // namespace

void printSensitivity(const Plan &plan, llvm::raw_ostream &os) {
  if (plan.sensitivity.empty())
    return;
  TextTable table;
  table.addColumn("planned again with");
  table.addColumn("step", TextTable::Align::Right);
  table.addColumn("change", TextTable::Align::Right);
  table.addColumn("ops that change", TextTable::Align::Right);
  table.addColumn("mesh");
  std::string mesh = plan.meshText();
  for (const PlanSensitivity &row : plan.sensitivity) {
    std::string name = llvm::formatv("{0} {1:P0}", row.figure, row.scale).str();
    if (!row.stepSeconds) {
      table.addRow({name, "-", "-", "-", row.reason});
      continue;
    }
    std::string change;
    llvm::raw_string_ostream(change) << llvm::format("%+.1f %%", 100 * (*row.stepSeconds / plan.stepSeconds - 1));
    table.addRow({name, formatSeconds(*row.stepSeconds), change,
                  llvm::formatv("{0} of {1}", row.changedOps, plan.numChoices()).str(),
                  row.mesh == mesh ? "the same" : row.mesh});
  }
  table.print(os);
}

void printSummary(const Plan &stated, llvm::raw_ostream &os, bool allOps) {
  const Plan plan = visiblePlan(stated);
  printHeader(plan, os);
  printStages(plan, allOps, os);
  printOps(plan, allOps, os);
  os << "\n";
  printMemory(plan, os);
  printPeak(plan, os);
  printCommunication(plan, os);
  printBuckets(plan, os);
  printParallelism(plan, os);
  printReferences(plan, os);
  printNextBest(plan, os);
  if (!plan.sensitivity.empty())
    os << "\n";
  printSensitivity(plan, os);
  if (llvm::StringRef name = plan.search; name.consume_front("reference: "))
    os << "note: no search found better than the reference '" << name << "', which is the plan\n";
  for (const std::string &note : plan.notes)
    os << "note: " << note << "\n";
}

} // namespace apc
