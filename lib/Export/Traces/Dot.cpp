// A picture of the plan for GraphViz: a box for all ops that are alike in repeated layers.
#include "../BoundOps.h"
#include "../Targets.h"

#include "apc/Plan/LayerNames.h"
#include "apc/Support/Units.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>
#include <set>

namespace apc {

namespace {

/// A text between double quotes.
std::string quoted(llvm::StringRef text) {
  std::string escaped;
  for (char letter : text) {
    if (letter == '"' || letter == '\\')
      escaped += '\\';
    escaped += letter;
  }
  return "\"" + escaped + "\"";
}

/// Ops of one pattern, operator and strategy.
struct Box {
  std::string pattern, operatorName, strategy;
  unsigned count = 0;
  double seconds = 0;
  std::set<size_t> stages;
};

class Picture {
public:
  Picture(const ExportSource &source, const BoundPlan &bound) : source(source) {
    for (auto [index, value] : llvm::enumerate(source.graph.values))
      valueIds[value.name] = ValueId(index);
    for (const BoundOp &own : bound.ops)
      add(own);
    for (const BoundOp &own : bound.ops)
      connect(own);
    for (const StagePlan &stage : source.plan.stages)
      for (const PlanMove &move : stage.moves)
        labelMove(move);
  }

  std::string print() const {
    std::string text = "digraph plan {\n  rankdir=TB;\n  node [shape=box];\n";
    for (auto [index, box] : llvm::enumerate(boxes))
      text += llvm::formatv("  n{0} [label={1}];\n", index, labelOf(box));
    for (const auto &[ends, labels] : edges) {
      std::string label = llvm::join(labels, "\\n");
      text += llvm::formatv("  n{0} -> n{1}{2};\n", ends.first, ends.second,
                            label.empty() ? "" : " [label=\"" + label + "\", color=red]");
    }
    return text + "}\n";
  }

private:
  void add(const BoundOp &own) {
    std::string pattern = layerPattern(own.choice->op), strategy = own.choice->strategy.str();
    auto [known, isNew] = places.try_emplace({pattern, own.choice->operatorName, strategy}, boxes.size());
    if (isNew)
      boxes.push_back({own.choice->op, own.choice->operatorName, strategy, 0, 0, {}});
    Box &box = boxes[known->second];
    if (++box.count > 1)
      box.pattern = pattern;
    box.seconds += own.choice->seconds;
    box.stages.insert(own.stage);
    boxOf[own.choice->op] = known->second;
  }

  void connect(const BoundOp &own) {
    for (std::optional<ValueId> value : source.graph.op(own.op).operands)
      if (value)
        if (auto from = boxOf.find(source.graph.op(source.graph.value(*value).producer).name); from != boxOf.end())
          edges[{from->second, boxOf.lookup(own.choice->op)}];
  }

  void labelMove(const PlanMove &move) {
    for (const std::string &name : move.values)
      if (auto producer = producerOf(name))
        for (const std::string &user : move.users)
          if (auto to = boxOf.find(user); to != boxOf.end())
            if (auto edge = edges.find({*producer, to->second}); edge != edges.end())
              for (const std::string &collective : move.collectives)
                edge->second.insert(collective);
  }

  std::optional<size_t> producerOf(llvm::StringRef value) const {
    auto known = valueIds.find(value);
    if (known == valueIds.end())
      return std::nullopt;
    auto box = boxOf.find(source.graph.op(source.graph.value(known->second).producer).name);
    return box == boxOf.end() ? std::nullopt : std::optional(box->second);
  }

  std::string labelOf(const Box &box) const {
    std::string text = box.pattern + (box.count > 1 ? " x " + std::to_string(box.count) : "");
    std::string label = quoted(text);
    label.pop_back();
    label += "\\n" + box.operatorName + " " + box.strategy + "\\n" + formatSeconds(box.seconds);
    if (source.plan.stages.size() > 1)
      label += llvm::formatv("\\nstages {0} to {1}", *box.stages.begin(), *box.stages.rbegin());
    return label + "\"";
  }

  const ExportSource &source;
  std::vector<Box> boxes;
  std::map<std::tuple<std::string, std::string, std::string>, size_t> places;
  llvm::StringMap<size_t> boxOf; ///< by op
  std::map<std::pair<size_t, size_t>, std::set<std::string>> edges;
  llvm::StringMap<ValueId> valueIds;
};

} // namespace

llvm::Expected<Exported> writeDot(const ExportSource &source, const ParallelDegrees &) {
  llvm::Expected<BoundPlan> bound = boundPlan(source);
  if (!bound)
    return bound.takeError();
  Exported exported{{{"plan.dot", Picture(source, *bound).print()}}, {}};
  if (source.plan.pipeline)
    exported.unsaid.push_back("schedule " + source.plan.pipeline->schedule + ": the picture has stages, no order");
  if (source.plan.training && source.plan.training->recompute != "none")
    exported.unsaid.push_back("recompute " + source.plan.training->recompute + ": the picture has the forward pass");
  if (source.plan.training && source.plan.training->copies > 1)
    exported.unsaid.push_back("copies of a micro-batch: the picture has one");
  return exported;
}

} // namespace apc
