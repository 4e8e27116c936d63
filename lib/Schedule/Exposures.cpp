// Counts contractions between the ops that make values and those that need them.
#include "apc/Schedule/Exposures.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

namespace {

/// Where values are made and read in the order of a graph, seen through views.
class Waits {
public:
  explicit Waits(const OpGraph &graph)
      : graph(graph), made(graph.values.size(), 0), read(graph.values.size(), noReader) {
    for (auto [index, op] : llvm::enumerate(graph.ops)) {
      contractions.push_back(contractions.back() + isContraction(OpId(index)));
      for (std::optional<ValueId> value : op.results)
        if (value && !op.operands.empty() && !op.atLoad)
          made[value->index()] = graph.isView(*value) ? made[op.operands[0]->index()] : index + 1;
    }
    for (size_t index = graph.ops.size(); index-- > 0;)
      for (std::optional<ValueId> value : graph.op(OpId(index)).operands)
        if (value)
          read[value->index()] = std::min(read[value->index()], firstReader(OpId(index), *value));
  }

  /// The ops in between, from the first to behind the last; none where nothing needs the operand.
  std::optional<std::pair<size_t, size_t>> between(OpId op, ValueId operand) const {
    size_t reader = firstReader(op, operand);
    return reader == noReader ? std::nullopt : std::optional(std::pair(made[operand.index()], reader));
  }
  size_t numContractions(std::pair<size_t, size_t> range) const {
    return range.second <= range.first ? 0 : contractions[range.second] - contractions[range.first];
  }

private:
  static constexpr size_t noReader = SIZE_MAX;

  bool isContraction(OpId id) const {
    const GraphOp &op = graph.op(id);
    return !op.operands.empty() && !op.results.empty() && !op.atLoad && graph.ruleOf(id).work == Work::Contraction;
  }
  /// The op, or for a view the first that reads it.
  size_t firstReader(OpId op, ValueId operand) const {
    for (std::optional<ValueId> result : graph.op(op).results)
      if (result && graph.isView(*result) && graph.op(op).operands[0] == operand)
        return read[result->index()];
    return op.index();
  }

  const OpGraph &graph;
  std::vector<size_t> contractions{0}; ///< before each op
  std::vector<size_t> made;            ///< by value: behind the op that makes it; 0 for what is there from the start
  std::vector<size_t> read;            ///< by value: the first op that needs it
};

/// By group: is one of its values read before another is made?
std::vector<bool> waitingGroups(const OpGraph &graph, const Fusion &fusion) {
  std::vector<size_t> made(fusion.groupBytes.size(), 0), read(fusion.groupBytes.size(), graph.ops.size());
  for (auto [index, op] : llvm::enumerate(graph.ops)) {
    for (std::optional<ValueId> value : op.results)
      if (std::optional<unsigned> group = value ? fusion.group(*value) : std::nullopt; group && !op.operands.empty())
        made[*group] = index;
    for (std::optional<ValueId> value : op.operands)
      if (std::optional<unsigned> group = value ? fusion.group(*value) : std::nullopt; group)
        read[*group] = std::min(read[*group], index);
  }
  std::vector<bool> waits;
  for (auto [last, first] : llvm::zip_equal(made, read))
    waits.push_back(first <= last);
  return waits;
}

/// By op: does it read a value of a bucket that may wait for a later one, or what waits so?
std::vector<bool> mayWait(const OpGraph &graph, const Fusion &fusion) {
  std::vector<bool> waits = waitingGroups(graph, fusion), may(graph.ops.size(), false);
  for (auto [index, op] : llvm::enumerate(graph.ops))
    for (std::optional<ValueId> value : op.operands) {
      std::optional<unsigned> group = value ? fusion.group(*value) : std::nullopt;
      if ((group && waits[*group]) || (value && may[graph.value(*value).producer.index()]))
        may[index] = true;
    }
  return may;
}

} // namespace

/// Another copy of the micro-batch computes while one waits.
static Exposures hiddenByCopies(const OpGraph &graph) {
  Exposures exposures{{}, std::vector<bool>(graph.ops.size(), true)};
  for (const GraphOp &op : graph.ops)
    exposures.operands.emplace_back(op.operands.size(), Exposure::Far);
  return exposures;
}

Exposures exposuresOf(const OpGraph &graph, const Fusion &fusion) {
  if (graph.copies > 1)
    return hiddenByCopies(graph);
  Waits waits(graph);
  Exposures exposures{{}, mayWait(graph, fusion)};
  auto exposureOf = [&](OpId op, ValueId value) {
    auto range = waits.between(op, value);
    size_t contractions = range ? waits.numContractions(*range) : 0;
    if (range && contractions == 0)
      return Exposure::Exposed;
    OpId producer = graph.value(value).producer;
    bool isNear = range && contractions == 1 && range->first > 0 && !fusion.group(value) &&
                  graph.op(producer).repeats == graph.op(op).repeats;
    if (!isNear)
      return Exposure::Far;
    for (size_t between = range->first; between < range->second; ++between)
      exposures.covers[between] = true;
    return Exposure::Near;
  };
  for (auto [index, op] : llvm::enumerate(graph.ops)) {
    llvm::SmallVector<Exposure, 4> &own = exposures.operands.emplace_back();
    for (std::optional<ValueId> value : op.operands)
      own.push_back(value ? exposureOf(OpId(index), *value) : Exposure::Far);
  }
  return exposures;
}

} // namespace apc
