// The summary of a plan for a terminal.
#include "apc/Report/Summary.h"

#include "apc/Plan/LayerNames.h"
#include "apc/Support/TextTable.h"
#include "apc/Support/Units.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>
#include <tuple>

namespace apc {

namespace {

std::string percent(double part, double whole) {
  return whole > 0 ? llvm::formatv("{0:f1} %", 100 * part / whole).str() : "-";
}

std::string counted(int64_t number, llvm::StringRef noun) {
  return llvm::formatv("{0} {1}{2}", number, noun, number == 1 ? "" : noun.ends_with("s") ? "es" : "s").str();
}

/// "64 devices in 8 nodes", "13 devices (8 used)", "1 device".
std::string devicesText(const Plan &plan) {
  std::string text = counted(plan.request.devices, "device");
  if (plan.devicesUsed != plan.request.devices)
    return text + llvm::formatv(" ({0} used)", plan.devicesUsed).str();
  const std::vector<PlanAxis> &axes = plan.stages.front().mesh.axes;
  int64_t groups = 1;
  for (const PlanAxis &axis : axes)
    groups *= axis.levelIndex == 0 ? axis.size : 1;
  bool isInGroups = groups > 1 && groups < plan.request.devices;
  return isInGroups ? text + " in " + counted(groups, axes.front().level) : text;
}

void printHeader(const Plan &plan, llvm::raw_ostream &os) {
  os << "model    " << plan.request.modelPath << "\n";
  os << "cluster  " << plan.cluster;
  if (!plan.request.clusterOverrides.empty())
    os << " with " << llvm::join(plan.request.clusterOverrides, ", ");
  os << ", " << devicesText(plan);
  os << "\nmesh     " << plan.meshText();
  os << "\nmode     " << stepModeName(plan.request.mode) << ", search " << plan.search << "\n\n";
  os << "step     " << formatSeconds(plan.stepSeconds) << "  (compute " << formatSeconds(plan.computeSeconds) << ", "
     << percent(plan.computeSeconds, plan.stepSeconds) << "; communication " << formatSeconds(plan.communicationSeconds)
     << ", " << percent(plan.communicationSeconds, plan.stepSeconds) << ")\n";
  if (plan.lowerBoundSeconds <= 0) {
    bool isCosted = plan.request.parallel == ParallelMode::Data || plan.request.parallel == ParallelMode::Hybrid ||
                    llvm::StringRef(plan.search).starts_with("layout ");
    os << "bound    none: "
       << (isCosted ? "strategies were costed, not searched" : "the search ended before it had proven one") << "\n\n";
    return;
  }
  os << "bound    " << formatSeconds(plan.lowerBoundSeconds) << "  (" << planStatusName(plan.status) << ", gap "
     << llvm::format("%.2f", 100 * plan.gap) << " %)\n\n";
}

void printGroups(const Plan &plan, llvm::raw_ostream &os) {
  TextTable table;
  table.addColumn("ops");
  table.addColumn("count", TextTable::Align::Right);
  table.addColumn("operator");
  table.addColumn("strategy");
  table.addColumn("compute", TextTable::Align::Right);
  table.addColumn("communication", TextTable::Align::Right);
  size_t hidden = 0;
  double hiddenSeconds = 0;
  for (const LayerGroup &group : layerGroups(plan)) {
    // Groups that take less than a thousandth of the step share the last row.
    double seconds = group.seconds + group.communicationSeconds;
    if (seconds < plan.stepSeconds * 1e-3) {
      hidden += group.count;
      hiddenSeconds += seconds;
      continue;
    }
    table.addRow({group.pattern, std::to_string(group.count), group.operatorName, group.strategy,
                  formatSeconds(group.seconds), formatSeconds(group.communicationSeconds)});
  }
  if (hidden)
    table.addRow({"all others", std::to_string(hidden), "", "", formatSeconds(hiddenSeconds), ""});
  table.print(os);
  os << "\n";
}

void printMemory(const Plan &plan, llvm::raw_ostream &os) {
  TextTable table;
  table.addColumn("memory of one device");
  table.addColumn("bytes", TextTable::Align::Right);
  for (MemoryCategory category : allMemoryCategories())
    if (int64_t bytes = plan.memory[category])
      table.addRow({memoryCategoryName(category).str(), formatBytes(static_cast<double>(bytes))});
  table.addRow({"total", formatBytes(static_cast<double>(plan.memory.total()))});
  table.addRow({"limit", formatBytes(static_cast<double>(plan.memoryLimitBytes))});
  table.print(os);
  os << "\n";
}

void printCommunication(const Plan &plan, llvm::raw_ostream &os) {
  if (plan.communicationBytes.empty())
    return;
  TextTable table;
  table.addColumn("collective");
  table.addColumn("bytes of one device", TextTable::Align::Right);
  for (const auto &[name, bytes] : plan.communicationBytes)
    table.addRow({name, formatBytes(static_cast<double>(bytes))});
  table.print(os);
  os << "\n";
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
  for (const Reference &reference : plan.references) {
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

std::vector<LayerGroup> layerGroups(const Plan &plan) {
  std::vector<LayerGroup> groups;
  std::map<std::tuple<std::string, std::string, std::string>, size_t> positions;
  for (const StagePlan &stage : plan.stages)
    for (const PlanChoice &choice : stage.choices) {
      std::string pattern = layerPattern(choice.op), strategy = choice.strategy.str();
      auto [entry, isNew] = positions.try_emplace({pattern, choice.operatorName, strategy}, groups.size());
      if (isNew)
        groups.push_back({pattern, choice.operatorName, strategy, 0, 0, 0});
      LayerGroup &group = groups[entry->second];
      // One op keeps its own name.
      group.pattern = ++group.count == 1 ? choice.op : pattern;
      group.seconds += choice.seconds;
      group.communicationSeconds += choice.communicationSeconds;
    }
  return groups;
}

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

void printSummary(const Plan &plan, llvm::raw_ostream &os) {
  printHeader(plan, os);
  printGroups(plan, os);
  printMemory(plan, os);
  printCommunication(plan, os);
  printReferences(plan, os);
  if (!plan.sensitivity.empty())
    os << "\n";
  printSensitivity(plan, os);
  for (const std::string &note : plan.notes)
    os << "note: " << note << "\n";
}

} // namespace apc
