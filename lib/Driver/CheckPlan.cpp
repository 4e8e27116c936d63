// Planning again, and holding the result to a record.
#include "apc/Driver/CheckPlan.h"

#include "apc/Support/Error.h"
#include "apc/Support/File.h"
#include "apc/Support/Units.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"

namespace apc {

namespace {

std::string summaryOf(const PlanOptions &options, const CheckedPlan &checked) {
  std::string text;
  llvm::raw_string_ostream os(text);
  const RecordComparison &comparison = checked.comparison;
  os << options.modelPath << ": the plan is "
     << (comparison.passes() ? "as the baseline says" : "not as the baseline says") << " (step "
     << formatSeconds(checked.now.seconds.at("step")) << ", memory "
     << formatBytes(static_cast<double>(checked.now.bytes.at("memory total"))) << ")\n";
  for (const std::string &failure : comparison.failures)
    os << "  " << failure << "\n";
  for (const std::string &improvement : comparison.improvements)
    os << "  better: " << improvement << "; --update keeps it\n";
  return text;
}

std::string documentOf(const CheckedPlan &checked, double tolerance) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::OStream json(stream, 1);
  auto list = [&](llvm::StringRef key, const std::vector<std::string> &lines) {
    json.attributeArray(key, [&] {
      for (const std::string &line : lines)
        json.value(line);
    });
  };
  json.object([&] {
    json.attribute("passed", checked.comparison.passes());
    json.attribute("tolerance", tolerance);
    list("failures", checked.comparison.failures);
    list("improvements", checked.comparison.improvements);
    json.attribute("step_seconds", checked.now.seconds.at("step"));
    json.attribute("memory_bytes", checked.now.bytes.at("memory total"));
  });
  return text + "\n";
}

} // namespace

llvm::Expected<PlanOptions> optionsOf(const PlanRecord &record) {
  PlanOptions options;
  if (!record.settings.cluster.empty())
    options.cluster = record.settings.cluster;
  options.clusterOverrides = record.clusterOverrides;
  if (!record.settings.search.empty())
    options.search = record.settings.search;
  options.memoryLimitBytes = record.settings.memoryLimitBytes;
  options.devices = record.devices;
  options.mode = record.mode;
  options.import.dims = record.dims;
  options.import.conditions = record.conditions;
  if (!record.parameters.empty())
    options.import.parameters = record.parameters;
  options.parallel = record.settings.parallel;
  options.pinsFromModel = !record.settings.ignoresModelShardings;
  SearchOptions &search = options.searchOptions;
  search.timeLimitSeconds = record.settings.timeLimitSeconds.value_or(search.timeLimitSeconds);
  search.gapTolerance = record.settings.gap.value_or(search.gapTolerance);
  if (search.timeLimitSeconds <= 0)
    return inputError("baseline: a time limit above 0 s is expected, not {0}", formatSeconds(search.timeLimitSeconds));
  if (search.gapTolerance < 0 || search.gapTolerance > 1)
    return inputError("baseline: a gap from 0 to 1 is expected, not {0:f2}", search.gapTolerance);
  for (const std::string &text : record.settings.pins) {
    llvm::Expected<Pin> pin = parsePin(text, "baseline");
    if (!pin)
      return pin.takeError();
    options.pins.push_back(std::move(*pin));
  }
  for (const std::string &text : record.settings.layouts) {
    llvm::Expected<Layout> layout = parseLayout(text, "layout of the baseline");
    if (!layout)
      return layout.takeError();
    options.layouts.push_back(*layout);
  }
  return options;
}

llvm::Expected<std::optional<PlanRecord>> loadRecord(llvm::StringRef path) {
  if (!llvm::sys::fs::exists(path))
    return std::optional<PlanRecord>();
  llvm::Expected<std::string> text = readFile(path);
  if (!text)
    return text.takeError();
  llvm::Expected<PlanRecord> record = parseRecord(*text, path);
  if (!record)
    return record.takeError();
  return std::optional<PlanRecord>(std::move(*record));
}

llvm::Expected<CheckedPlan> checkPlan(const PlanOptions &options, const PlanRecord &record, double tolerance) {
  if (record.settings.cluster.empty() || record.settings.search.empty())
    return inputError("the baseline does not say with which {0} it was planned (an older apc wrote it); --update "
                      "writes it anew, with the flags that are given",
                      record.settings.cluster.empty() ? "cluster" : "search");
  llvm::Expected<Plan> plan = planModel(options);
  if (!plan)
    return plan.takeError();
  CheckedPlan checked;
  checked.now = recordOf(*plan);
  checked.comparison = compareRecords(record, checked.now, tolerance);
  checked.summary = summaryOf(options, checked);
  checked.json = documentOf(checked, tolerance);
  return checked;
}

llvm::Expected<PlanRecord> updateRecord(const PlanOptions &options, llvm::StringRef path) {
  llvm::Expected<Plan> plan = planModel(options);
  if (!plan)
    return plan.takeError();
  PlanRecord record = recordOf(*plan);
  if (llvm::Error error = writeFileAtomically(path, printRecord(record)))
    return error;
  return record;
}

} // namespace apc
