// The score as tables, as a document and row by row.
#include "apc/Measure/Score.h"

#include "apc/Support/Json/JsonWriter.h"
#include "apc/Support/TextTable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace apc {

namespace {

std::string percent(std::optional<double> share) {
  return share ? llvm::formatv("{0:F1} %", 100 * *share).str() : std::string("-");
}

std::string number(std::optional<double> value) {
  return value ? llvm::formatv("{0:F3}", *value).str() : std::string("-");
}

struct Regrets {
  std::optional<double> mean, worst;
  size_t ranOut = 0;
};

Regrets regretsOf(const Score &score) {
  Regrets regrets;
  for (const LayoutChoice &choice : score.choices) {
    regrets.mean = regrets.mean.value_or(0) + choice.regret / static_cast<double>(score.choices.size());
    regrets.worst = std::max(regrets.worst.value_or(1), choice.regret);
    regrets.ranOut += choice.ranOut ? 1 : 0;
  }
  return regrets;
}

std::vector<double> limitErrors(const Score &score) {
  std::vector<double> errors;
  for (const BatchLimit &limit : score.limits)
    errors.push_back(limit.error);
  return errors;
}

std::vector<std::string> cellsOf(const std::string &name, size_t rows, size_t used, llvm::ArrayRef<Compared> times,
                                 llvm::ArrayRef<Compared> memory) {
  return {name,
          std::to_string(rows),
          std::to_string(used),
          std::to_string(times.size()),
          percent(meanAbsoluteError(times)),
          percent(bias(times)),
          percent(errorQuantile(times, 0.9)),
          number(rankCorrelation(times)),
          std::to_string(memory.size()),
          percent(meanAbsoluteError(memory))};
}

void printSources(const Score &score, llvm::raw_ostream &os) {
  constexpr size_t widest = 60;
  TextTable table;
  table.addColumn("source");
  for (const char *title : {"rows", "used", "times", "MAPE", "bias", "p90", "Spearman", "memory", "error"})
    table.addColumn(title, TextTable::Align::Right);
  for (const SourceScore &source : score.sources)
    table.addRow(cellsOf(llvm::StringRef(source.source).take_front(widest).str(), source.rows, source.rowsUsed,
                         source.times, source.memory));
  table.addRow(cellsOf("all", score.rows(), score.rowsUsed(), score.times(), score.memory()));
  table.print(os);
}

void printLeftOut(const Score &score, llvm::raw_ostream &os) {
  std::map<std::string, LeftOutRows> reasons;
  for (const SourceScore &source : score.sources)
    for (const auto &[reason, own] : source.leftOut) {
      LeftOutRows &all = reasons.emplace(reason, LeftOutRows{0, own.example, false}).first->second;
      all.rows += own.rows;
      all.areDifferent = all.areDifferent || own.areDifferent || own.example != all.example;
    }
  if (reasons.empty())
    return;
  std::vector<LeftOutRows> order;
  for (const auto &[reason, all] : reasons)
    order.push_back(all);
  llvm::stable_sort(order, [](const auto &a, const auto &b) { return a.rows > b.rows; });
  TextTable table;
  table.addColumn("left out", TextTable::Align::Right);
  table.addColumn("reason");
  for (const LeftOutRows &alike : order)
    table.addRow({std::to_string(alike.rows), alike.str()});
  os << "\n";
  table.print(os);
}

/// Each source by what calibration on the others says of it.
void printLeftOutSources(llvm::ArrayRef<LeftOutSource> sources, llvm::raw_ostream &os) {
  if (sources.empty())
    return;
  constexpr size_t widest = 60;
  TextTable table;
  table.addColumn("judged by the other sources");
  for (const char *title : {"times", "MAPE", "their factor", "MAPE with it", "in their interval"})
    table.addColumn(title, TextTable::Align::Right);
  for (const LeftOutSource &own : sources)
    table.addRow({llvm::StringRef(own.source).take_front(widest).str(), std::to_string(own.rows), percent(own.error),
                  number(own.factor), percent(own.factoredError),
                  percent(static_cast<double>(own.covered) / static_cast<double>(own.rows))});
  os << "\n";
  table.print(os);
  os << llvm::formatv("coverage of intervals of {0:F0} %: {1} of the rows, {2} in the mean of the sources\n",
                      100 * nominalCoverage, percent(coverageOf(sources)), percent(meanCoverageOf(sources)));
}

void writeLeftOutSource(JsonObjectWriter &object, const LeftOutSource &own) {
  object("source", own.source);
  object("rows", own.rows);
  object("mape", own.error);
  object("factor", own.factor);
  object("factored_mape", own.factoredError);
  object("covered", own.covered);
}

void writeFigures(JsonObjectWriter &object, llvm::ArrayRef<Compared> times, llvm::ArrayRef<Compared> memory) {
  object("time_rows", times.size());
  object("mape", meanAbsoluteError(times));
  object("bias", bias(times));
  object("p90", errorQuantile(times, 0.9));
  object("spearman", rankCorrelation(times));
  object("memory_rows", memory.size());
  object("memory_mape", meanAbsoluteError(memory));
}

void writeSource(JsonObjectWriter &object, const SourceScore &source) {
  object("source", source.source);
  object("rows", source.rows);
  object("rows_used", source.rowsUsed);
  writeFigures(object, source.times, source.memory);
  std::map<std::string, size_t> leftOut;
  for (const auto &[reason, alike] : source.leftOut)
    leftOut[alike.str()] = alike.rows;
  object("left_out", leftOut);
}

std::string quoted(llvm::StringRef text) {
  std::string cell = "\"";
  for (char c : text)
    cell += c == '"' ? "\"\"" : std::string(1, c);
  return cell + "\"";
}

} // namespace

void printScore(const Score &score, llvm::raw_ostream &os) {
  printSources(score, os);
  printLeftOut(score, os);
  Regrets regrets = regretsOf(score);
  std::vector<double> limits = limitErrors(score);
  std::vector<Compared> boundaries = score.boundaries(), memory = score.memory();
  os << llvm::formatv("\nchoice among layouts: {0} groups, regret {1} in the mean, {2} at worst; a layout that ran out "
                      "of memory would be chosen in {3}\n",
                      score.choices.size(), number(regrets.mean), number(regrets.worst), regrets.ranOut);
  os << llvm::formatv("out of memory: precision {0}, recall {1}\n", percent(score.outOfMemory.precision()),
                      percent(score.outOfMemory.recall()));
  os << llvm::formatv("limit of memory, {0} pairs of a batch that ran and one that did not: error {1} in the median, "
                      "{2} at p90\n",
                      limits.size(), percent(quantile(limits, 0.5)), percent(quantile(limits, 0.9)));
  os << llvm::formatv("memory at the fullest moment, {0} rows: error {1} in the median; at the boundary of two steps, "
                      "{2} rows: {3} in the median, {4} at p90\n",
                      memory.size(), percent(errorQuantile(memory, 0.5)), boundaries.size(),
                      percent(errorQuantile(boundaries, 0.5)), percent(errorQuantile(boundaries, 0.9)));
  printLeftOutSources(leaveOutSources(score.residuals), os);
  for (const KindInterval &own : intervalsByKind(score.residuals))
    os << llvm::formatv("interval of {0:F0} % from all sources, layouts of kind '{1}': {2:F3} to {3:F3} times what is "
                        "predicted\n",
                        100 * nominalCoverage, own.kind, own.interval.low, own.interval.high);
}

std::string printScoreJson(const Score &score) {
  Regrets regrets = regretsOf(score);
  std::vector<double> limits = limitErrors(score);
  std::vector<Compared> boundaries = score.boundaries();
  JsonWriter json;
  json.object([&](JsonObjectWriter &object) {
    object("rows", score.rows());
    object("rows_used", score.rowsUsed());
    writeFigures(object, score.times(), score.memory());
    object("groups", score.choices.size());
    object("regret_mean", regrets.mean);
    object("regret_worst", regrets.worst);
    object("groups_choosing_out_of_memory", regrets.ranOut);
    object("oom_precision", score.outOfMemory.precision());
    object("oom_recall", score.outOfMemory.recall());
    object("memory_median", errorQuantile(score.memory(), 0.5));
    object("boundary_memory_rows", boundaries.size());
    object("boundary_memory_median", errorQuantile(boundaries, 0.5));
    object("boundary_memory_p90", errorQuantile(boundaries, 0.9));
    object("batch_limits", limits.size());
    object("batch_limit_median", quantile(limits, 0.5));
    object("batch_limit_p90", quantile(limits, 0.9));
    std::vector<LeftOutSource> leftOut = leaveOutSources(score.residuals);
    object("interval_coverage", coverageOf(leftOut));
    object("interval_coverage_of_sources", meanCoverageOf(leftOut));
    object.list("intervals", [&] {
      for (const KindInterval &interval : intervalsByKind(score.residuals))
        json.object([&](JsonObjectWriter &own) {
          own("kind", interval.kind);
          own("low", interval.interval.low);
          own("high", interval.interval.high);
        });
    });
    object.list("left_out_sources", [&] {
      for (const LeftOutSource &source : leftOut)
        json.object([&](JsonObjectWriter &own) { writeLeftOutSource(own, source); });
    });
    object.list("sources", [&] {
      for (const SourceScore &source : score.sources)
        json.object([&](JsonObjectWriter &own) { writeSource(own, source); });
    });
  });
  return json.take();
}

void printRows(llvm::ArrayRef<Measurement> rows, llvm::ArrayRef<Prediction> predictions, llvm::raw_ostream &os) {
  os << "file,line,id,source,group,devices,global_batch,layout,measured_seconds,predicted_seconds,compute_seconds,"
        "communication_seconds,exposed_seconds,host_seconds,bubble_seconds,measured_bytes,predicted_bytes,last_stage_"
        "bytes,"
        "limit_bytes,measured_boundary_bytes,boundary_bytes,ran_out,left_out\n";
  auto cell = [](std::optional<double> value) { return value ? printJson(*value) : std::string(); };
  for (const auto &[row, own] : llvm::zip(rows, predictions)) {
    os << quoted(row.file) << "," << row.line << "," << quoted(row.id) << "," << quoted(row.source) << ","
       << quoted(row.group) << "," << row.devices << "," << row.globalBatch << "," << quoted(row.layout.str()) << ","
       << cell(row.seconds);
    for (double seconds : {own.seconds, own.computeSeconds, own.communicationSeconds, own.exposedSeconds,
                           own.hostSeconds, own.bubbleSeconds})
      os << "," << cell(own.isCosted() ? std::optional(seconds) : std::nullopt);
    os << "," << cell(row.memoryBytes) << "," << own.memoryBytes << "," << own.lastStageBytes << ","
       << own.memoryLimitBytes << "," << cell(row.boundaryBytes) << "," << own.boundaryBytes << ","
       << (row.ranOut ? "yes" : "no") << "," << quoted(own.failure) << "\n";
  }
}

} // namespace apc
