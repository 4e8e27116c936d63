// A model as the planner sees it: ops with factor rules, values between them. Plain values, no MLIR.
#pragma once

#include "apc/Graph/Roles.h"
#include "apc/Sharding/Strategy.h"
#include "apc/Support/NumberFormat.h"

#include <optional>
#include <string>
#include <vector>

namespace apc {

using OpId = Id<struct OpTag>;
using ValueId = Id<struct ValueTag>;
using RuleId = Id<struct RuleTag>;

struct GraphValue {
  std::string name;
  TensorShape shape;
  ValueRole role = ValueRole::Activation;
  OpId producer;
  unsigned resultIndex = 0;
  /// The parameter or state whose place the value takes: it is written over it where both are spread alike.
  std::optional<ValueId> replaces = {};
  /// Of an element while devices exchange the value; 0: those of its shape. Sums of gradients in 16 bits that a trainer
  /// adds up over devices in 32 have 32; so have values in 16 bits that it exchanges twice.
  unsigned exchangeBits = 0;

  TensorShape exchanged() const { return {shape.dims, exchangeBits > 0 ? exchangeBits : shape.elementBits}; }
};

/// The times at which a kernel makes a copy of an operand in 8 bits, and one of that transposed, before the op reads
/// it.
enum class Narrowing : uint8_t { None, EachRun, EachStep };

/// The part that an op has in the kernels of a runtime (`applyRuntime`). By default each op is a kernel.
struct KernelShare {
  bool isReadThrough = false; ///< its readers, or the op before, go over the dims in the op's order: no work of its own
  bool joins = false;         ///< runs in the kernel of an op before it, and is not launched
  bool isOfList = false;      ///< one kernel does it for many tensors: the update of a parameter
  bool isNormalization = false;
  bool isMadeByReaders = false; ///< kernels that read its results know them: the mask of a causal attention
  bool isLoss = false; ///< sums over the classes of a loss, or reads them beside the scores and the right classes
  /// By operand, then by result: the value stays inside the kernel, and no bytes move. Empty: all move.
  std::vector<bool> inside = {};
  std::vector<Narrowing> narrows = {}; ///< by operand; empty: all are read as they are

  friend auto operator<=>(const KernelShare &, const KernelShare &) = default;
};

/// An op, or an end of the graph: a source (graph input or parameter: a rule without operands) or a sink (graph output:
/// a rule without results, so that the value arrives settled).
struct GraphOp {
  std::string name;         ///< unique: the ONNX node's name
  std::string operatorName; ///< "matmul"; "input", "parameter", "output" for the ends
  RuleId rule;
  NumberFormat format = NumberFormat::Other;
  /// One for each operand of the rule; empty for absent ones and for constants, which every device holds whole.
  std::vector<std::optional<ValueId>> operands;
  std::vector<std::optional<ValueId>> results;
  /// The op runs once, when parameters are loaded, and no step spends time on it: see `opsAtLoad`.
  bool atLoad = false;
  std::vector<std::string> merged = {}; ///< ops of the model that this one does as well: the Softmax of an attention
  /// Of an op that is tied: for each factor of its rule the name of the leader's factor that it is, "" for none. Empty:
  /// factors of one name are the same. The gradient `b m n, k n -> b m k` of `b m k, k n -> b m n` for its operand A,
  /// whose own names are those of an equation: {"b", "m", "n", "k"}.
  std::vector<std::string> leadingFactors = {};
  /// Runs in one step: the number of micro-batches, or 1 for what runs once, behind the last of them.
  int64_t repeats = 1;
  bool accumulates = false; ///< each run adds to the result of the one before
  /// Takes statistics of rows (sums over them) that another op reads, which goes over the same rows: where no device
  /// shares a row with another, one kernel does both in one pass.
  bool inPass = false;
  /// The end of a transfer between stages: a source whose value arrives when the op runs, not before the first op; a
  /// sink that needs its value until it runs, not to the end.
  bool isTransfer = false;
  KernelShare kernel = {};
};

/// Ops that are decided together: an op and its gradients, or its recomputed copy. The first leads: factors of the
/// others that are one of its factors (`leadingFactors`) are cut like it, all others stay whole.
using TiedOps = std::vector<OpId>;

/// Micro-batches of a stage that wait for their backward pass, and for gradients of weights alone.
struct WaitingAt {
  int64_t backward = 0, weights = 0;

  /// At no place are there more of \p other.
  bool covers(const WaitingAt &other) const { return backward >= other.backward && weights >= other.weights; }
  friend auto operator<=>(const WaitingAt &, const WaitingAt &) = default;
};

/// The most of them at each place beside the micro-batch that runs: while that one runs its forward pass or gradients
/// of inputs, and while it runs gradients of weights.
struct WaitingMicroBatches {
  WaitingAt besidePass, besideWeights;

  const WaitingAt &beside(bool isWeights) const { return isWeights ? besideWeights : besidePass; }
  WaitingAt &beside(bool isWeights) { return isWeights ? besideWeights : besidePass; }
  friend auto operator<=>(const WaitingMicroBatches &, const WaitingMicroBatches &) = default;
};

/// The micro-batches that a stage of a pipeline has begun and not ended. {4, op 37}: while one micro-batch runs, the
/// values of three others wait that ops before op 37 made and ops from there on read. Where gradients of weights are a
/// part of their own, from op 52 on, micro-batches wait there, too: {4, op 37, op 52}. Each of the others then counts
/// for both places, unless it is known how many wait where at most. Where a stage has no gradients of weights, nothing
/// is held of those that wait for them.
struct InFlight {
  int64_t microBatches = 1;
  OpId backward;                    ///< the first op of the backward pass
  std::optional<OpId> weights = {}; ///< the first op of a part of gradients of weights
  std::optional<WaitingMicroBatches> waiting = {};

  /// How many of the others hold at most a value that is there at the first op of the backward pass, or of the
  /// gradients of weights, while an op runs \p inWeights or before.
  int64_t othersHolding(bool atBackward, bool atWeights, bool inWeights) const;

  friend bool operator==(const InFlight &, const InFlight &) = default;
};

/// Ops in an order in which producers come before users. Rules are shared by equal ops: the 96 layers of GPT-3 have
/// some 30 rules.
struct OpGraph {
  std::vector<FactorRule> rules;
  std::vector<GraphOp> ops;
  std::vector<GraphValue> values;
  std::vector<TiedOps> ties;             ///< by leader, ascending; ops that stand in none are decided alone
  bool overlaps = false;                 ///< of a step of training: collectives may run beside ops
  std::optional<InFlight> inFlight = {}; ///< of a stage of a pipeline
  int64_t copies = 1;                    ///< of a micro-batch, which run in turn: each is a run of its own
  bool keepsNarrowCopies = false;        ///< a trainer keeps these instead of what products have copied (`Narrowing`)

  const FactorRule &ruleOf(OpId op) const { return rules[ops[op.index()].rule.index()]; }
  const GraphOp &op(OpId id) const { return ops[id.index()]; }
  const GraphValue &value(ValueId id) const { return values[id.index()]; }
  /// The users of every value: (op, operand index), in op order.
  struct Use {
    OpId op;
    unsigned operand;
  };
  std::vector<std::vector<Use>> uses() const;
  /// True for the result of an op that only looks at its first operand in another way, or replaces it when parameters
  /// are loaded, or through which kernels read and write (`KernelShare::isReadThrough`): they share their storage.
  bool isView(ValueId id) const;
  /// True for the result of an op whose results no kernel writes or reads (`KernelShare::isMadeByReaders`).
  bool isMadeByReaders(ValueId id) const;
  /// For every value the one in whose storage it lies: itself, unless it is a view. x -> reshape -> y -> reshape -> z:
  /// all lie in x.
  std::vector<ValueId> storages() const;
  /// The value is made by an op that leads or stands alone, and read by one that is tied to another: it is kept for the
  /// backward pass.
  std::vector<bool> keptForBackward() const;
  /// Some value takes the place of a parameter: the graph is a step of training. So is a stage of a pipeline, whose
  /// parameters may all be frozen: pipelines are for training.
  bool isTrainingStep() const;
  /// By op: it is tied to another op, which leads it: a gradient, a recomputed copy, the state of an optimizer.
  /// Statistics that stand before the op that leads them belong to the forward pass.
  std::vector<bool> followers() const;
  /// By value: an update makes another one that takes its place.
  std::vector<bool> replaced() const;
  /// Does the op make the new value of a parameter or a state?
  bool isUpdate(OpId id) const;
  /// By value: it is made of parameters and constants alone: a weight, its transpose, its cast.
  std::vector<bool> weights() const;
  /// The most runs of an op in one step: an op runs once, or with every micro-batch, or with every copy of each.
  int64_t microBatches() const;
  /// Micro-batches with all of their copies.
  int64_t wholeMicroBatches() const { return microBatches() / copies; }
  /// By value: how often a device holds it at once. A value that every run makes anew is there once for each copy of
  /// the micro-batch; sums over micro-batches, parameters and states are there once.
  std::vector<int64_t> timesHeld() const;
  /// Micro-batches whose kept values wait beside those of the one that runs; 0 without a pipeline.
  int64_t othersInFlight() const { return inFlight ? inFlight->microBatches - 1 : 0; }
  /// The value is a sum over micro-batches: it lives as long as the step.
  bool isAccumulated(ValueId id) const { return op(value(id).producer).accumulates; }
  /// For every op: does it read nothing but parameters and results of such ops, reduce nothing, and make no more bytes
  /// than it reads? Then its result can take the place of what it reads before the first step. Transpose(weight): yes;
  /// DequantizeLinear(weight of 4 bits): no, for it would be kept in 16. A value of another stage comes in every step.
  std::vector<bool> opsAtLoad() const;
};

} // namespace apc
