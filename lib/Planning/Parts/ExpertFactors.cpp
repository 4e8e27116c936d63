// Experts from contractions to the ops around them, and to the parameters that they read.
#include "ExpertFactors.h"

#include "apc/Planning/ExpertLayouts.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace apc {

namespace {

class ExpertFinder {
public:
  explicit ExpertFinder(const OpGraph &graph)
      : graph(graph), isWeight(graph.weights()), newValues(graph.values.size()), found(graph.ops.size()) {
    for (auto [index, value] : llvm::enumerate(graph.values))
      if (value.replaces)
        newValues[value.replaces->index()].push_back(ValueId(index));
  }

  std::vector<std::optional<FactorId>> run() {
    for (size_t op = 0; op < graph.ops.size(); ++op)
      if (std::optional<FactorId> factor = expertsOfContraction(OpId(op)))
        found[op] = factor;
      else
        follow(OpId(op));
    for (size_t op = 0; op < graph.ops.size(); ++op)
      if (expertsOfContraction(OpId(op)))
        markWeights(OpId(op));
    return std::move(found);
  }

private:
  /// The factor that a weight, the other operand and the result of a contraction share; groups of the channels of a
  /// convolution are no experts.
  std::optional<FactorId> expertsOfContraction(OpId id) const {
    const FactorRule &rule = graph.ruleOf(id);
    const GraphOp &op = graph.op(id);
    if (rule.work != Work::Contraction || rule.isConvolution || op.operands.size() != 2 || !op.operands[0] ||
        !op.operands[1])
      return std::nullopt;
    if (isWeight[op.operands[0]->index()] == isWeight[op.operands[1]->index()])
      return std::nullopt;
    for (unsigned factor = 0; factor < rule.numFactors(); ++factor) {
      FactorId own(factor);
      if (rule.factor(own).size > 1 && rule.operands[0].has(own) && rule.operands[1].has(own) &&
          rule.results[0].has(own))
        return own;
    }
    return std::nullopt;
  }

  /// An op that no contraction is, and that reads what experts made: it keeps them apart.
  void follow(OpId id) {
    const FactorRule &rule = graph.ruleOf(id);
    if (rule.work == Work::Contraction || rule.results.empty())
      return;
    for (auto [index, operand] : llvm::enumerate(graph.op(id).operands)) {
      if (!operand || !found[graph.value(*operand).producer.index()])
        continue;
      std::optional<FactorId> factor = factorFrom(*operand, rule.operands[index]);
      if (factor && rule.results[0].has(*factor)) {
        found[id.index()] = factor;
        return;
      }
    }
  }

  /// The factor of \p reader, a tensor that is `value`, in the dim that the producer's experts are in.
  std::optional<FactorId> factorFrom(ValueId value, const RuleTensor &reader) const {
    const GraphValue &own = graph.value(value);
    const RuleTensor &made = graph.ruleOf(own.producer).results[own.resultIndex];
    for (auto [dim, factors] : llvm::enumerate(made.dims))
      if (!factors.empty() && factors.front() == *found[own.producer.index()] && !reader.dims[dim].empty())
        return reader.dims[dim].front();
    return std::nullopt;
  }

  /// The weights of a contraction of experts, and the updates that their parameters have.
  void markWeights(OpId id) {
    for (auto [index, operand] : llvm::enumerate(graph.op(id).operands))
      if (isWeight[operand->index()])
        markProducer(*operand, graph.ruleOf(id).operands[index], *found[id.index()]);
  }

  /// The op that makes `value`, read as `reader`, and what stands before it.
  void markProducer(ValueId value, const RuleTensor &reader, FactorId factor) {
    const GraphValue &own = graph.value(value);
    OpId producer = own.producer;
    if (found[producer.index()])
      return;
    const FactorRule &rule = graph.ruleOf(producer);
    for (auto [dim, factors] : llvm::enumerate(reader.dims))
      if (llvm::is_contained(factors, factor) && !rule.results[own.resultIndex].dims[dim].empty())
        found[producer.index()] = rule.results[own.resultIndex].dims[dim].front();
    if (!found[producer.index()] || rule.work == Work::Contraction)
      return;
    markOperands(producer);
    if (own.role == ValueRole::Parameter && graph.op(producer).operands.empty())
      markUpdates(value);
  }

  void markOperands(OpId id) {
    const FactorRule &rule = graph.ruleOf(id);
    for (auto [index, operand] : llvm::enumerate(graph.op(id).operands))
      if (operand && rule.operands[index].has(*found[id.index()]))
        markProducer(*operand, rule.operands[index], *found[id.index()]);
  }

  /// The ops that make the new value of a parameter from its gradient and states.
  void markUpdates(ValueId parameter) {
    OpId source = graph.value(parameter).producer;
    for (ValueId updated : newValues[parameter.index()])
      markProducer(updated, graph.ruleOf(source).results[0], *found[source.index()]);
  }

  const OpGraph &graph;
  std::vector<bool> isWeight;
  std::vector<std::vector<ValueId>> newValues; ///< by parameter or state
  std::vector<std::optional<FactorId>> found;
};

} // namespace

std::vector<std::optional<FactorId>> expertFactors(const OpGraph &graph) { return ExpertFinder(graph).run(); }

int64_t numExperts(const OpGraph &graph) {
  int64_t least = 0;
  for (auto [index, factor] : llvm::enumerate(expertFactors(graph))) {
    const FactorRule &rule = graph.ruleOf(OpId(index));
    if (factor && rule.work == Work::Contraction)
      least = least == 0 ? rule.factor(*factor).size : std::min(least, rule.factor(*factor).size);
  }
  return least;
}

} // namespace apc
