// The seconds and bytes of one op in the table of its node.
#pragma once

#include "Moments.h"

#include "llvm/ADT/SmallVector.h"

#include <compare>
#include <string>

namespace apc {

/// The storages of what an op reads and makes, numbered as they are met; none for what is absent, and for what lies in
/// a parameter. x * x reads {0, 0} and makes {1}.
struct OpStorage {
  llvm::SmallVector<std::optional<unsigned>, 4> operands, results;

  friend bool operator==(const OpStorage &, const OpStorage &) = default;
  friend std::strong_ordering operator<=>(const OpStorage &, const OpStorage &) = default;
};

/// Everything that the costs of an op in its node depend on.
struct OpKey {
  RuleId rule;
  NumberFormat format;
  bool staysForStep; ///< makes a parameter or a state of the optimizer
  bool atLoad;
  OpStorage storage;
  llvm::SmallVector<Hold, 8> held = {}; ///< by result, then by operand: its storage
  bool isBeside = true;                 ///< what it reads and makes counts beside what is held
  std::vector<std::string> leadingFactors = {};
  llvm::SmallVector<bool, 4> replaces = {}; ///< by result: it takes the place of a parameter or state
  int64_t repeats = 1;                      ///< in one step
  llvm::SmallVector<bool, 8> inPass = {};   ///< of the op, then by operand: it is made in a pass of its reader
  llvm::SmallVector<int64_t, 6> times = {}; ///< by result, then by operand: how often it is held; then by others
  KernelShare kernel = {};

  friend bool operator==(const OpKey &, const OpKey &) = default;
  friend std::strong_ordering operator<=>(const OpKey &, const OpKey &) = default;
};

/// Costs of the ops of one graph on one mesh.
class OpCosts {
public:
  OpCosts(const OpGraph &graph, const CostModel &model, std::optional<Moment> moment)
      : graph(graph), model(model), moment(moment), storages(graph.storages()), holds(holdsAt(graph, moment)),
        inFlight(holdsInFlight(graph, moment)), others(othersHolding(graph, moment)), least(leastOfViews(graph)),
        times(graph.timesHeld()) {}

  OpKey keyOf(OpId id) const;
  /// Persistent bytes are those of parameters and states, and of results that are held at the moment. Transient bytes
  /// are no more than what lives while the op runs beside them: each storage counts once, with its largest piece, and
  /// the workspace.
  StrategyCost cost(OpId id, const Strategy &strategy) const;
  /// The same without the seconds, which no moment changes.
  StrategyCost bytes(OpId id, const Strategy &strategy) const;

private:
  bool producesResident(const GraphOp &op) const;
  Hold holdOf(ValueId value) const { return holds[storages[value.index()].index()]; }
  /// A certain sum is that of one op.
  bool countsBeside(OpId op) const { return !moment || !moment->isCertain || moment->op == op; }
  int64_t heldBytes(Hold hold, ValueId result, const Sharding &made) const;
  OpStorage storageOf(const GraphOp &op) const;

  const OpGraph &graph;
  const CostModel &model;
  std::optional<Moment> moment;
  std::vector<ValueId> storages;
  std::vector<Hold> holds;     ///< by value
  std::vector<Hold> inFlight;  ///< by value, of each other micro-batch
  std::vector<int64_t> others; ///< by value: how many of these hold it
  std::vector<int64_t> least;  ///< by value: bytes of the whole, or of the smallest of its views
  std::vector<int64_t> times;  ///< by value: how often a device holds it
};

} // namespace apc
