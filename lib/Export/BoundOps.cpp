// Strategies by name, read against the graph.
#include "BoundOps.h"

#include "ModelLayers.h"

#include "apc/Plan/LayerNames.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

namespace apc {

llvm::Expected<BoundPlan> boundPlan(const ExportSource &source) {
  llvm::StringSet<> leading = leadingOps(source.graph);
  llvm::StringMap<OpId> ops;
  for (auto [index, op] : llvm::enumerate(source.graph.ops))
    if (leading.contains(op.name))
      ops[op.name] = OpId(index);
  BoundPlan bound;
  for (auto [index, stage] : llvm::enumerate(source.plan.stages)) {
    llvm::Expected<Mesh> mesh = stage.mesh.bind(source.plan.numRanks());
    if (!mesh)
      return mesh.takeError();
    for (const PlanChoice &choice : stage.choices) {
      auto known = ops.find(choice.op);
      if (known == ops.end())
        continue;
      llvm::Expected<Strategy> strategy = choice.strategy.bind(source.graph.ruleOf(known->second), *mesh);
      if (!strategy)
        return strategy.takeError();
      bound.ops.push_back({known->second, index, &choice, std::move(*strategy)});
    }
    bound.meshes.push_back(std::move(*mesh));
  }
  return bound;
}

std::optional<ValueId> parameterOf(const OpGraph &graph, ValueId value) {
  while (graph.value(value).role != ValueRole::Parameter) {
    const GraphOp &producer = graph.op(graph.value(value).producer);
    if (producer.operands.size() != 1 || !producer.operands[0])
      return std::nullopt;
    value = *producer.operands[0];
  }
  return value;
}

void GroupedReasons::add(llvm::StringRef name, const llvm::Twine &reason) {
  std::pair<std::string, std::string> key(layerPattern(name), reason.str());
  auto known = llvm::find(order, key);
  if (known == order.end()) {
    order.push_back(std::move(key));
    first.emplace_back(name.str(), 1);
  } else {
    ++first[static_cast<size_t>(known - order.begin())].second;
  }
}

std::vector<std::string> GroupedReasons::take() const {
  std::vector<std::string> sentences;
  for (const auto &[key, own] : llvm::zip_equal(order, first)) {
    std::string subject = own.second == 1 ? own.first : key.first + " (" + std::to_string(own.second) + " times)";
    sentences.push_back(subject + ": " + key.second);
  }
  return sentences;
}

} // namespace apc
