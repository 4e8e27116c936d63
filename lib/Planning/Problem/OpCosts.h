// The seconds and bytes of one op in the table of its node.
#pragma once

#include "apc/Cost/GraphCost.h"
#include "apc/Search/Problem.h"

#include <string>

namespace apc {

/// The storages of what an op reads and makes, numbered as they are met; none for what is absent, and for what lies in
/// a parameter. x * x reads {0, 0} and makes {1}.
struct OpStorage {
  std::vector<std::optional<unsigned>> operands, results;

  friend auto operator<=>(const OpStorage &, const OpStorage &) = default;
};

/// Everything that the costs of an op in its node depend on.
struct OpKey {
  RuleId rule;
  NumberFormat format;
  bool staysForStep; ///< makes a parameter or a state of the optimizer
  bool atLoad;
  OpStorage storage;
  std::vector<bool> kept = {}; ///< by result, then by operand: the backward pass reads it, or a view of it
  std::vector<std::string> leadingFactors = {};
  std::vector<bool> replaces = {}; ///< by result: it takes the place of a parameter or state
  int64_t repeats = 1;             ///< in one step

  friend auto operator<=>(const OpKey &, const OpKey &) = default;
};

/// Costs of the ops of one graph on one mesh.
class OpCosts {
public:
  OpCosts(const OpGraph &graph, const CostModel &model)
      : graph(graph), model(model), storages(graph.storages()), kept(heldThroughStep(graph)) {}

  OpKey keyOf(OpId id) const;
  /// Persistent bytes are those of parameters and states, and of results that are kept for the backward pass. Transient
  /// bytes are no more than what lives while the op runs beside them: each storage counts once, with its largest piece.
  StrategyCost cost(OpId id, const Strategy &strategy) const;

private:
  static std::vector<bool> heldThroughStep(const OpGraph &graph);
  bool producesResident(const GraphOp &op) const;
  bool isKept(ValueId value) const { return kept[storages[value.index()].index()]; }
  OpStorage storageOf(const GraphOp &op) const;

  const OpGraph &graph;
  const CostModel &model;
  std::vector<ValueId> storages;
  std::vector<bool> kept; ///< by value: for the backward pass, or from one micro-batch to the next
};

} // namespace apc
