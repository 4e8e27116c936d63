// A plan's record: made, and compared with another.
#include "apc/Plan/Record.h"

#include "apc/Plan/AxisSpans.h"
#include "apc/Plan/LayerNames.h"
#include "apc/Plan/Settings.h"
#include "apc/Support/Error.h"
#include "apc/Support/Units.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <cstdlib>

namespace apc {

namespace {

/// To the six digits that the text form keeps, so that a record equals what is read back.
double rounded(double seconds) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.6g", seconds);
  return std::strtod(text.c_str(), nullptr);
}

void recordStrategies(const Plan &plan, PlanRecord &record) {
  std::map<std::pair<std::string, std::string>, unsigned> members;
  for (const StagePlan &stage : plan.stages)
    for (const PlanChoice &choice : stage.choices)
      ++members[{layerPattern(choice.op), choice.operatorName}];
  for (const StagePlan &stage : plan.stages)
    for (const PlanChoice &choice : stage.choices) {
      std::string pattern = layerPattern(choice.op);
      const std::string &name = members[{pattern, choice.operatorName}] == 1 ? choice.op : pattern;
      ++record.strategies[name + " (" + choice.operatorName + ")"][choice.strategy.str()];
    }
}

std::string strategiesText(const std::map<std::string, unsigned> &strategies) {
  std::vector<std::string> parts;
  for (const auto &[strategy, count] : strategies)
    parts.push_back(llvm::formatv("{0} x {1}", count, strategy).str());
  return llvm::join(parts, ", ");
}

using Strategies = std::map<std::string, unsigned>;

/// Each strategy of one side with one of the other that does the same, as often.
bool areSame(const Strategies &record, const AxisSpans &before, const Strategies &now, const AxisSpans &after) {
  return record.size() == now.size() && llvm::all_of(record, [&](const auto &old) {
           return llvm::any_of(now, [&](const auto &other) {
             return old.second == other.second && before.isSame(old.first, after, other.first);
           });
         });
}

void compareStrategies(const PlanRecord &record, const PlanRecord &now, RecordComparison &result) {
  AxisSpans before(record.mesh), after(now.mesh);
  for (const auto &[ops, strategies] : record.strategies) {
    auto other = now.strategies.find(ops);
    if (other == now.strategies.end())
      result.failures.push_back(llvm::formatv("{0}: {1} -> absent", ops, strategiesText(strategies)).str());
    else if (!areSame(strategies, before, other->second, after))
      result.failures.push_back(
          llvm::formatv("{0}: {1} -> {2}", ops, strategiesText(strategies), strategiesText(other->second)).str());
  }
  for (const auto &[ops, strategies] : now.strategies)
    if (!record.strategies.count(ops))
      result.failures.push_back(llvm::formatv("{0}: absent -> {1}", ops, strategiesText(strategies)).str());
  // Axes alone that are called or merged otherwise fail nothing, but explain the words of strategies.
  if (!before.hasSameDevices(after) || (record.mesh != now.mesh && !result.failures.empty()))
    result.failures.insert(result.failures.begin(), llvm::formatv("mesh: {0} -> {1}", record.mesh, now.mesh).str());
}

void compareFigure(llvm::StringRef name, double before, double after, std::string (*print)(double), double tolerance,
                   RecordComparison &result) {
  double change = before == 0 ? (after > 0 ? 1 : 0) : after / before - 1;
  if (std::abs(change) <= tolerance)
    return;
  std::string text;
  llvm::raw_string_ostream(text) << name << ": " << print(before) << " -> " << print(after)
                                 << llvm::format(" (%+.2f %%, the tolerance is %.4g %%)", 100 * change,
                                                 100 * tolerance);
  (change > 0 ? result.failures : result.improvements).push_back(text);
}

std::string stagesOf(const PlanRecord &record) { return record.stages.empty() ? "one" : record.stages; }

template <typename Map>
double figureOf(const Map &figures, llvm::StringRef name) {
  auto found = figures.find(name.str());
  return found == figures.end() ? 0 : static_cast<double>(found->second);
}

} // namespace

PlanRecord recordOf(const Plan &plan) {
  PlanRecord record;
  for (const Setting &setting : allSettings())
    if (std::vector<std::string> texts = saidTexts(setting, plan.request); !texts.empty())
      record.settings[setting.name.str()] = std::move(texts);
  record.mesh = plan.meshText();
  record.stages = plan.pipeline ? plan.pipelineText() : "";
  recordStrategies(plan, record);
  record.seconds = {{"step", rounded(plan.stepSeconds)},
                    {"compute", rounded(plan.computeSeconds)},
                    {"communication", rounded(plan.communicationSeconds)}};
  if (plan.hostSeconds > 0)
    record.seconds["host"] = rounded(plan.hostSeconds);
  record.bytes = plan.communicationBytes;
  for (MemoryCategory category : allMemoryCategories())
    if (int64_t bytes = plan.memory[category])
      record.bytes["memory " + memoryCategoryName(category).str()] = bytes;
  record.bytes["memory total"] = plan.memory.total();
  if (plan.memory.hostBytes)
    record.bytes["memory host"] = plan.memory.hostBytes;
  return record;
}

llvm::Expected<PlanRequest> requestOf(const PlanRecord &record, llvm::StringRef source) {
  PlanRequest request;
  for (const auto &[name, texts] : record.settings) {
    const Setting *setting = findSetting(name);
    if (!setting)
      return inputError("{0}: there is no setting '{1}'", source, name);
    setting->reset(request);
    for (const std::string &text : texts)
      if (llvm::Error error = setting->read(request, text, (source + ": " + name).str()))
        return error;
  }
  return request;
}

RecordComparison compareRecords(const PlanRecord &record, const PlanRecord &now, double tolerance) {
  RecordComparison result;
  compareStrategies(record, now, result);
  if (record.stages != now.stages)
    result.failures.insert(result.failures.begin(),
                           llvm::formatv("stages: {0} -> {1}", stagesOf(record), stagesOf(now)));
  compareFigure("step", figureOf(record.seconds, "step"), figureOf(now.seconds, "step"), formatSeconds, tolerance,
                result);
  compareFigure("memory", figureOf(record.bytes, "memory total"), figureOf(now.bytes, "memory total"), formatBytes,
                tolerance, result);
  return result;
}

} // namespace apc
