// Dims of inputs, followed along factors.
#include "InputFactors.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

namespace {

/// The first factor of a dim that is more than one element, and more than `after` further ones.
std::optional<FactorId> realFactor(const FactorRule &rule, const DimFactors &dim, unsigned after = 0) {
  for (FactorId factor : dim)
    if (rule.factor(factor).size > 1 && after-- == 0)
      return factor;
  return std::nullopt;
}

/// The dims of a value that batch and sequence are in.
struct ValueDims {
  std::optional<unsigned> batch, sequence;
};

class Follower {
public:
  explicit Follower(const OpGraph &graph) : graph(graph), dims(graph.values.size()) {
    found.batch.resize(graph.ops.size());
    found.sequence.resize(graph.ops.size());
  }

  InputFactors run() {
    for (size_t op = 0; op < graph.ops.size(); ++op) {
      begin(op);
      readOperands(op);
      setResults(op);
    }
    for (size_t op = 0; op < graph.ops.size(); ++op)
      settleInputs(op);
    return std::move(found);
  }

private:
  void begin(size_t index) {
    const FactorRule &rule = graph.ruleOf(OpId(index));
    if (!isInput(graph.ops[index]))
      return;
    llvm::ArrayRef<DimFactors> all = rule.results[0].dims;
    if (!all.empty())
      found.batch[index] = realFactor(rule, all[0]);
    if (all.size() == 2 || all.size() == 3)
      found.sequence[index] = realFactor(rule, all[1]);
  }

  void readOperands(size_t index) {
    const FactorRule &rule = graph.ruleOf(OpId(index));
    for (auto [operand, value] : llvm::enumerate(graph.ops[index].operands)) {
      if (!value)
        continue;
      const ValueDims &own = dims[value->index()];
      llvm::ArrayRef<DimFactors> all = rule.operands[operand].dims;
      if (!found.batch[index] && own.batch)
        found.batch[index] = realFactor(rule, all[*own.batch]);
      if (!found.sequence[index] && own.sequence)
        found.sequence[index] = sequenceIn(rule, all[*own.sequence], own);
    }
  }

  /// A dim of batch and sequence is two factors, or one for both.
  static std::optional<FactorId> sequenceIn(const FactorRule &rule, const DimFactors &dim, const ValueDims &own) {
    std::optional<FactorId> second = own.batch == own.sequence ? realFactor(rule, dim, 1) : std::nullopt;
    return second ? second : realFactor(rule, dim);
  }

  void setResults(size_t index) {
    const FactorRule &rule = graph.ruleOf(OpId(index));
    std::optional<FactorId> batch = found.batch[index], sequence = found.sequence[index];
    for (auto [result, value] : llvm::enumerate(graph.ops[index].results))
      for (auto [dim, factors] : llvm::enumerate(rule.results[result].dims)) {
        if (value && batch && realFactor(rule, factors) == batch)
          dims[value->index()].batch = static_cast<unsigned>(dim);
        if (value && sequence && llvm::is_contained(factors, *sequence))
          dims[value->index()].sequence = static_cast<unsigned>(dim);
      }
  }

  /// An input whose reader has its batch in another operand carries it there, too: classes come first in the target of
  /// a prediction of [classes, batch].
  void settleInputs(size_t index) {
    const GraphOp &op = graph.ops[index];
    const FactorRule &rule = graph.ruleOf(OpId(index));
    for (auto [operand, value] : llvm::enumerate(op.operands)) {
      if (!value || operand == 0 || !found.batch[index] || op.accumulates)
        continue;
      const OpId producer = graph.value(*value).producer;
      if (!isInput(graph.op(producer)))
        continue;
      llvm::ArrayRef<DimFactors> read = rule.operands[operand].dims, made = graph.ruleOf(producer).results[0].dims;
      for (auto [dim, factors] : llvm::enumerate(read))
        if (realFactor(rule, factors) == found.batch[index])
          found.batch[producer.index()] = realFactor(graph.ruleOf(producer), made[dim]);
    }
  }

  const OpGraph &graph;
  std::vector<ValueDims> dims; ///< by value
  InputFactors found;
};

} // namespace

bool isInput(const GraphOp &op) { return op.operatorName == valueRoleName(ValueRole::Input); }

InputFactors inputFactors(const OpGraph &graph) { return Follower(graph).run(); }

std::vector<std::optional<FactorId>> batchFactors(const OpGraph &graph) { return inputFactors(graph).batch; }

} // namespace apc
