// Groups of values by their part in the update of parameters.
#include "Fusion.h"

#include "Layout/LayerwiseCuts.h"

#include "apc/Graph/StageSplit.h"
#include "apc/Support/Saturating.h"

#include "llvm/ADT/STLExtras.h"

#include <map>
#include <set>
#include <tuple>

namespace apc {

namespace {

enum class Purpose : uint8_t { Parameter, Updated, Gradient, GradientSum, Square };

class ValueSorter {
public:
  explicit ValueSorter(const OpGraph &graph)
      : graph(graph), uses(graph.uses()), storages(graph.storages()), isOfUpdate(graph.ops.size()) {
    for (const GraphValue &value : graph.values)
      if (replacesParameter(value))
        isOfUpdate[value.producer.index()] = true;
    for (const TiedOps &tie : graph.ties)
      if (llvm::any_of(tie, [&](OpId op) { return isOfUpdate[op.index()]; }))
        for (OpId op : tie)
          isOfUpdate[op.index()] = true;
  }

  std::optional<Purpose> purposeOf(ValueId id) const {
    const GraphValue &value = graph.value(id);
    if (graph.value(storages[id.index()]).role == ValueRole::Parameter)
      return Purpose::Parameter;
    llvm::ArrayRef<OpGraph::Use> users = uses[id.index()];
    auto isSink = [&](OpGraph::Use use) { return graph.op(use.op).results.empty(); };
    auto isUpdate = [&](OpGraph::Use use) { return isOfUpdate[use.op.index()] && !isSink(use); };
    if (replacesParameter(value))
      return llvm::all_of(users, isSink) ? std::optional(Purpose::Updated) : std::nullopt;
    if (llvm::any_of(users, isUpdate) &&
        llvm::all_of(users, [&](OpGraph::Use use) { return isSink(use) || isUpdate(use); }))
      return graph.isAccumulated(id) ? Purpose::GradientSum : Purpose::Gradient;
    bool isNumber = value.shape.numElements() == 1;
    return isNumber && isOfUpdate[value.producer.index()] ? std::optional(Purpose::Square) : std::nullopt;
  }

private:
  bool replacesParameter(const GraphValue &value) const {
    return value.replaces && graph.value(*value.replaces).role == ValueRole::Parameter;
  }

  const OpGraph &graph;
  std::vector<std::vector<OpGraph::Use>> uses;
  std::vector<ValueId> storages;
  std::vector<bool> isOfUpdate; ///< by op: writes a parameter, or is decided with such an op
};

} // namespace

std::optional<int64_t> elementsOfLayer(const OpGraph &graph) {
  const std::vector<size_t> starts = layerStarts(graph);
  if (starts.size() < 2)
    return std::nullopt;
  const size_t middle = (starts.size() - 1) / 2;
  const std::vector<OpId> forward = forwardOps(graph);
  const std::vector<ValueId> storages = graph.storages();
  std::set<ValueId> read;
  int64_t elements = 0;
  for (size_t place = starts[middle]; place < starts[middle + 1]; ++place)
    for (std::optional<ValueId> value : graph.op(forward[place]).operands) {
      if (!value)
        continue;
      const ValueId storage = storages[value->index()];
      if (graph.value(storage).role == ValueRole::Parameter && read.insert(storage).second)
        elements = addSaturating(elements, graph.value(storage).shape.numElements());
    }
  return elements > 0 ? std::optional(elements) : std::nullopt;
}

Fusion fusionOf(const OpGraph &graph, const PlanRequest &request, std::optional<int64_t> layerElements) {
  Fusion fusion;
  fusion.mostBytes = request.fusionBytes;
  fusion.layerElements = layerElements;
  if (request.mode != StepMode::Train || request.fusionBytes == 0)
    return fusion;
  ValueSorter sorter(graph);
  std::map<std::tuple<Purpose, unsigned, NumberFormat>, unsigned> groups;
  for (auto [index, value] : llvm::enumerate(graph.values)) {
    std::optional<Purpose> purpose = sorter.purposeOf(ValueId(index));
    fusion.groupOf.emplace_back();
    if (!purpose)
      continue;
    auto [entry, isNew] = groups.try_emplace({*purpose, value.shape.elementBits, graph.op(value.producer).format},
                                             static_cast<unsigned>(groups.size()));
    if (isNew) {
      fusion.groupBytes.push_back(0);
      const bool isByLayer = layerElements && (*purpose == Purpose::Parameter || *purpose == Purpose::Gradient);
      fusion.layerBytes.push_back(
          isByLayer ? std::optional(TensorShape{{*layerElements}, value.shape.elementBits}.bytes()) : std::nullopt);
    }
    fusion.groupOf.back() = entry->second;
    fusion.groupBytes[entry->second] = addSaturating(fusion.groupBytes[entry->second], value.shape.bytes());
  }
  return fusion;
}

} // namespace apc
