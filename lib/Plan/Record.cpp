// A plan's record: made, and compared with another.
#include "apc/Plan/Record.h"

#include "apc/Plan/AxisSpans.h"
#include "apc/Plan/LayerNames.h"
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
  for (const PlanChoice &choice : plan.choices)
    ++members[{layerPattern(choice.op), choice.operatorName}];
  for (const PlanChoice &choice : plan.choices) {
    std::string pattern = layerPattern(choice.op);
    const std::string &name = members[{pattern, choice.operatorName}] == 1 ? choice.op : pattern;
    ++record.strategies[name + " (" + choice.operatorName + ")"][choice.strategy];
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
  if (record.mesh != now.mesh)
    result.failures.push_back(llvm::formatv("mesh: {0} -> {1}", record.mesh, now.mesh).str());
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

template <typename Map>
double figureOf(const Map &figures, llvm::StringRef name) {
  auto found = figures.find(name.str());
  return found == figures.end() ? 0 : static_cast<double>(found->second);
}

} // namespace

PlanRecord recordOf(const Plan &plan) {
  PlanRecord record;
  record.settings = plan.settings;
  record.clusterOverrides = plan.clusterOverrides;
  record.devices = plan.devices;
  record.dims = plan.dims;
  record.conditions = plan.conditions;
  record.parameters = plan.parameters;
  record.mode = plan.mode;
  record.mesh = meshText(plan);
  recordStrategies(plan, record);
  record.seconds = {{"step", rounded(plan.stepSeconds)},
                    {"compute", rounded(plan.computeSeconds)},
                    {"communication", rounded(plan.communicationSeconds)}};
  const MemoryTable &memory = plan.memory;
  record.bytes = plan.communicationBytes;
  for (auto [name, bytes] :
       {std::pair("parameters", memory.parameters), std::pair("gradients", memory.gradients),
        std::pair("optimizer", memory.optimizer), std::pair("activations", memory.activations),
        std::pair("workspace", memory.workspace), std::pair("communication", memory.communication)})
    if (bytes)
      record.bytes[std::string("memory ") + name] = bytes;
  record.bytes["memory total"] = memory.total();
  return record;
}

RecordComparison compareRecords(const PlanRecord &record, const PlanRecord &now, double tolerance) {
  RecordComparison result;
  compareStrategies(record, now, result);
  compareFigure("step", figureOf(record.seconds, "step"), figureOf(now.seconds, "step"), formatSeconds, tolerance,
                result);
  compareFigure("memory", figureOf(record.bytes, "memory total"), figureOf(now.bytes, "memory total"), formatBytes,
                tolerance, result);
  return result;
}

} // namespace apc
