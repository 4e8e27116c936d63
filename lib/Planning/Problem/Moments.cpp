// Spans of storages over the ops, and what they hold at a moment.
#include "Moments.h"

#include "apc/Graph/Memory.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace apc {

namespace {

/// The ops around the life of a storage.
struct Span {
  std::optional<size_t> producer; ///< none: there before the first op
  size_t first, last; ///< users, also by way of views; outputs are needed until the last op, not sent values

  bool contains(size_t op) const { return (!producer || *producer < op) && op < last; }
};

/// By value; those of views say nothing.
std::vector<Span> spansOf(const OpGraph &graph) {
  std::vector<ValueId> storages = graph.storages();
  std::vector<Span> spans;
  for (size_t index = 0; index < graph.values.size(); ++index) {
    const GraphValue &value = graph.values[index];
    bool isInput = value.role == ValueRole::Input && !graph.op(value.producer).isTransfer;
    bool isThere = isInput || graph.isAccumulated(ValueId(index));
    spans.push_back({isThere ? std::nullopt : std::optional(value.producer.index()), graph.ops.size(), 0});
  }
  for (size_t op = 0; op < graph.ops.size(); ++op) {
    bool isOutput = graph.ops[op].results.empty() && !graph.ops[op].isTransfer;
    for (std::optional<ValueId> operand : graph.ops[op].operands)
      if (operand) {
        Span &span = spans[storages[operand->index()].index()];
        span.first = std::min(span.first, op);
        span.last = std::max(span.last, isOutput ? graph.ops.size() - 1 : op);
      }
  }
  return spans;
}

/// Values of a role that stays are counted by their producer; what takes the place of another value may need nothing.
bool mayCount(const OpGraph &graph, ValueId id) {
  const GraphValue &value = graph.value(id);
  return !graph.isView(id) && !graph.isMadeByReaders(id) && !traitsOf(value.role).staysForStep && !value.replaces;
}

std::vector<Hold> heldThroughStep(const OpGraph &graph) {
  std::vector<Hold> holds;
  for (auto [index, isKept] : llvm::enumerate(graph.keptForBackward()))
    holds.push_back(isKept || graph.isAccumulated(ValueId(index)) ? Hold::Made : Hold::None);
  return holds;
}

} // namespace

std::vector<Hold> holdsAt(const OpGraph &graph, std::optional<Moment> moment) {
  if (!moment)
    return heldThroughStep(graph);
  size_t here = moment->op.index();
  bool mayMoveEarly = graph.isTrainingStep();
  std::vector<Hold> holds(graph.values.size(), Hold::None);
  for (auto [index, span] : llvm::enumerate(spansOf(graph))) {
    if (!mayCount(graph, ValueId(index)) || !span.contains(here))
      continue;
    bool isMovedEarly = mayMoveEarly && !graph.isAccumulated(ValueId(index)); // perhaps (`placeMoves`)
    bool isAsMade = !moment->isCertain || (here < span.first && !isMovedEarly);
    holds[index] = isAsMade ? Hold::Made : Hold::Least;
  }
  std::vector<ValueId> storages = graph.storages();
  for (std::optional<ValueId> own : graph.op(moment->op).operands)
    if (own)
      holds[storages[own->index()].index()] = Hold::None;
  return holds;
}

std::vector<int64_t> othersHolding(const OpGraph &graph, std::optional<Moment> moment) {
  std::vector<int64_t> others(graph.values.size());
  if (graph.othersInFlight() == 0)
    return others;
  const InFlight &inFlight = *graph.inFlight;
  size_t backward = inFlight.backward.index(), weights = inFlight.weights.value_or(inFlight.backward).index();
  const bool inWeights = inFlight.weights && moment && moment->op.index() >= weights;
  for (auto [index, span] : llvm::enumerate(spansOf(graph))) {
    auto isHeldAt = [&, own = span](size_t at) { return own.producer.value_or(0) < at && at <= own.last; };
    others[index] = inFlight.othersHolding(isHeldAt(backward), inFlight.weights && isHeldAt(weights), inWeights);
  }
  return others;
}

std::vector<Hold> holdsInFlight(const OpGraph &graph, std::optional<Moment> moment) {
  std::vector<Hold> holds(graph.values.size(), Hold::None);
  if (graph.othersInFlight() == 0)
    return holds;
  const std::vector<int64_t> others = othersHolding(graph, moment);
  bool runsOnce = moment && graph.op(moment->op).repeats < graph.microBatches(); // behind all micro-batches
  std::vector<bool> isWeight = graph.weights();
  for (size_t index = 0; index < graph.values.size(); ++index)
    if (others[index] > 0 && !runsOnce && !isWeight[index] && mayCount(graph, ValueId(index)) &&
        !graph.isAccumulated(ValueId(index)))
      holds[index] = moment && moment->isCertain ? Hold::Least : Hold::Made;
  return holds;
}

std::vector<int64_t> leastOfViews(const OpGraph &graph) {
  std::vector<int64_t> least;
  for (auto [index, storage] : llvm::enumerate(graph.storages())) {
    least.push_back(graph.values[index].shape.bytes());
    least[storage.index()] = std::min(least[storage.index()], least.back());
  }
  return least;
}

std::optional<Moment> startingMoment(const OpGraph &graph) {
  std::vector<Hold> held = heldThroughStep(graph);
  if (llvm::all_of(held, [](Hold hold) { return hold == Hold::None; }))
    return std::nullopt;
  std::vector<LiveInterval> live;
  for (auto [index, span] : llvm::enumerate(spansOf(graph)))
    if (mayCount(graph, ValueId(index)) && graph.values[index].role != ValueRole::Gradient)
      live.push_back({span.producer.value_or(0), std::max(span.last, span.producer.value_or(0)),
                      graph.values[index].shape.bytes()});
  std::vector<OpMemory> ops(graph.ops.size());
  return Moment{OpId(stepPeak({}, live, ops).op), /*isCertain=*/true};
}

} // namespace apc
