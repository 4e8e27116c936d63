// Groups ops by their names, and layers by the first number in the names.
#include "OpsTable.h"

#include "FactorWords.h"

#include "apc/Plan/LayerNames.h"
#include "apc/Support/TextTable.h"
#include "apc/Support/Units.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>
#include <set>
#include <tuple>

namespace apc {

namespace {

/// One of several layers of a name.
struct Layer {
  double seconds = 0;
  std::set<std::string> ops; ///< the rest of their names
};

/// "/model/h.12/ln_1/Add" -> "/model/h.", "12", "/ln_1/Add"; empty parts without a number inside the name.
std::tuple<llvm::StringRef, llvm::StringRef, llvm::StringRef> splitAtNumber(llvm::StringRef name) {
  llvm::StringRef front = name.take_until(llvm::isDigit), rest = name.drop_front(front.size());
  llvm::StringRef number = rest.take_while(llvm::isDigit);
  return {front, number, rest.drop_front(number.size())};
}

/// Layers by the name in front of their number, and by that number.
std::map<std::string, std::map<std::string, Layer>> layersOf(const Plan &plan) {
  std::map<std::string, std::map<std::string, Layer>> layers;
  for (const StagePlan &stage : plan.stages)
    for (const PlanChoice &choice : stage.choices) {
      auto [front, number, rest] = splitAtNumber(choice.op);
      if (rest.empty())
        continue;
      Layer &layer = layers[front.str()][number.str()];
      layer.seconds += choice.seconds + choice.communicationSeconds;
      layer.ops.insert(rest.str());
    }
  return layers;
}

/// Those of `layers` that have ops of the same names as most others, as one.
RepeatedLayer mostAlike(llvm::StringRef front, const std::map<std::string, Layer> &layers) {
  std::map<std::set<std::string>, RepeatedLayer> kinds;
  for (const auto &[number, layer] : layers) {
    RepeatedLayer &kind = kinds[layer.ops];
    kind.pattern = (front + "*").str();
    ++kind.count;
    kind.seconds += layer.seconds;
  }
  RepeatedLayer best;
  for (const auto &[ops, kind] : kinds)
    if (kind.count > best.count)
      best = kind;
  return best;
}

/// "letters: b0 batch; m rows" in lines of at most 110 columns; nothing where nothing is cut.
void printLegend(llvm::StringRef legend, llvm::raw_ostream &os) {
  constexpr size_t columns = 110;
  std::string line = "letters: ";
  bool isFirst = true;
  while (!legend.empty()) {
    auto [entry, rest] = legend.split("; ");
    if (!isFirst && line.size() + entry.size() > columns) {
      os << llvm::StringRef(line).rtrim() << "\n";
      line = "         ";
    }
    line += entry.str() + (rest.empty() ? "\n" : "; ");
    legend = rest;
    isFirst = false;
  }
  if (!isFirst)
    os << line;
}

} // namespace

std::vector<LayerGroup> longestFirst(std::vector<LayerGroup> groups) {
  llvm::stable_sort(groups, [](const LayerGroup &a, const LayerGroup &b) { return a.total() > b.total(); });
  return groups;
}

double busySeconds(const Plan &plan) {
  double seconds = 0;
  for (const StagePlan &stage : plan.stages)
    seconds += stage.computeSeconds + stage.communicationSeconds;
  return seconds;
}

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

std::optional<RepeatedLayer> repeatedLayer(const Plan &plan) {
  std::optional<RepeatedLayer> best;
  double most = 0.5 * plan.stepSeconds;
  for (const auto &[front, layers] : layersOf(plan)) {
    RepeatedLayer layer = mostAlike(front, layers);
    if (layer.count < 2 || layer.seconds <= most)
      continue;
    most = layer.seconds;
    best = layer;
    best->seconds /= layer.count;
  }
  return best;
}

void printOps(const Plan &plan, bool all, llvm::raw_ostream &os) {
  constexpr size_t rows = 15;
  TextTable table;
  table.addColumn("ops");
  table.addColumn("count", TextTable::Align::Right);
  table.addColumn("operator");
  table.addColumn("strategy");
  std::string ofWhat = plan.pipeline ? ", mean device" : ", all";
  table.addColumn("compute" + ofWhat, TextTable::Align::Right);
  table.addColumn("communication" + ofWhat, TextTable::Align::Right);
  std::vector<LayerGroup> groups = longestFirst(layerGroups(plan));
  for (LayerGroup &group : groups)
    for (double *seconds : {&group.seconds, &group.communicationSeconds})
      *seconds /= static_cast<double>(plan.pipeline ? plan.pipeline->workers : 1);
  size_t shown = all ? groups.size() : std::min(groups.size(), rows);
  for (const LayerGroup &group : llvm::ArrayRef(groups).take_front(shown))
    table.addRow({group.pattern, std::to_string(group.count), group.operatorName, group.strategy,
                  formatSeconds(group.seconds), formatSeconds(group.communicationSeconds)});
  LayerGroup rest;
  for (const LayerGroup &group : llvm::ArrayRef(groups).drop_front(shown)) {
    rest.count += group.count;
    rest.seconds += group.seconds;
    rest.communicationSeconds += group.communicationSeconds;
  }
  const size_t more = groups.size() - shown;
  if (more > 0)
    table.addRow({llvm::formatv("{0} more {1} of ops", more, more == 1 ? "kind" : "kinds").str(),
                  std::to_string(rest.count), "", more == 1 ? "(--all lists it)" : "(--all lists them)",
                  formatSeconds(rest.seconds), formatSeconds(rest.communicationSeconds)});
  table.print(os);
  printLegend(legendOf(plan), os);
}

} // namespace apc
