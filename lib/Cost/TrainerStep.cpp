// A step as another program's trainer runs it.
#include "apc/Cost/TrainerStep.h"

#include "apc/Graph/LossValues.h"
#include "apc/Graph/Originals.h"

#include "llvm/ADT/STLExtras.h"

#include <map>
#include <tuple>

namespace apc {

namespace {

/// Gives sums of gradients over micro-batches the bytes of the runtime, and rules to their makers and readers that say
/// so. Ops that share a rule share the new one.
class SumNarrower {
public:
  SumNarrower(OpGraph &graph, const Runtime &runtime) : graph(graph), runtime(runtime), uses(graph.uses()) {}

  void run() {
    for (size_t op = 0; op < graph.ops.size(); ++op)
      for (std::optional<ValueId> result : graph.ops[op].results)
        if (result && graph.ops[op].accumulates && graph.value(*result).role == ValueRole::Gradient) {
          narrow(*result, bitsOf(graph.ops[op]));
          graph.values[result->index()].exchangeBits =
              static_cast<unsigned>(bitsOfByte * runtime.gradientExchangeBytes);
        }
  }

private:
  static constexpr int64_t bitsOfByte = 8;

  unsigned bitsOf(const GraphOp &sum) const {
    bool isHalf = sum.format == NumberFormat::F16 && runtime.fp16GradientSumBytes > 0;
    return static_cast<unsigned>(bitsOfByte * (isHalf ? runtime.fp16GradientSumBytes : runtime.gradientSumBytes));
  }

  void narrow(ValueId sum, unsigned bits) {
    GraphValue &value = graph.values[sum.index()];
    if (bits == 0 || bits >= value.shape.elementBits)
      return;
    value.shape.elementBits = bits;
    setRule(value.producer, /*isResult=*/true, value.resultIndex, bits);
    for (OpGraph::Use use : uses[sum.index()])
      setRule(use.op, /*isResult=*/false, use.operand, bits);
  }

  void setRule(OpId op, bool isResult, unsigned index, unsigned bits) {
    RuleId &rule = graph.ops[op.index()].rule;
    auto [known, isNew] = changed.try_emplace({rule, isResult, index, bits}, graph.rules.size());
    if (isNew) {
      FactorRule own = graph.rules[rule.index()];
      (isResult ? own.results[index] : own.operands[index]).elementBits = bits;
      graph.rules.push_back(std::move(own));
    }
    rule = known->second;
  }

  OpGraph &graph;
  const Runtime &runtime;
  std::vector<std::vector<OpGraph::Use>> uses;
  std::map<std::tuple<RuleId, bool, unsigned, unsigned>, RuleId> changed;
};

} // namespace

void narrowSums(OpGraph &graph, const Runtime &runtime) { SumNarrower(graph, runtime).run(); }

/// By op: it is not made again, though something that it reads is.
static std::vector<bool> endsOfRecomputed(const OpGraph &graph) {
  std::vector<bool> isMadeAgain(graph.values.size()), ends(graph.ops.size());
  for (std::optional<ValueId> original : originalsOf(graph))
    if (original)
      isMadeAgain[original->index()] = true;
  auto isAgain = [&](std::optional<ValueId> value) { return value && isMadeAgain[value->index()]; };
  for (size_t op = 0; op < graph.ops.size(); ++op)
    ends[op] = llvm::any_of(graph.ops[op].operands, isAgain) && llvm::none_of(graph.ops[op].results, isAgain);
  return ends;
}

/// \p twice: rules of ops that run twice, by their own: equal ops share a rule, by which layers are known to be equal.
static void runTwice(OpGraph &graph, GraphOp &op, std::map<RuleId, RuleId> &twice) {
  auto [known, isNew] = twice.try_emplace(op.rule, graph.rules.size());
  if (isNew) {
    FactorRule rule = graph.rules[op.rule.index()];
    rule.flopsPerPoint *= 2;
    graph.rules.push_back(std::move(rule));
  }
  op.rule = known->second;
  GraphValue &made = graph.values[op.results[0]->index()];
  made.exchangeBits = 2 * made.shape.elementBits;
}

void runProductsAgain(OpGraph &graph, const Runtime &runtime) {
  if (!runtime.recomputesLogits && !runtime.recomputesLastProducts)
    return;
  const std::vector<bool> isOfLoss = lossValues(graph), follows = graph.followers(), ends = endsOfRecomputed(graph);
  std::map<RuleId, RuleId> twice;
  for (size_t index = 0; index < graph.ops.size(); ++index) {
    GraphOp &op = graph.ops[index];
    if (graph.ruleOf(OpId(index)).work != Work::Contraction || follows[index] || !op.results[0])
      continue;
    const bool makesLogits = isOfLoss[op.results[0]->index()];
    if (makesLogits ? runtime.recomputesLogits : runtime.recomputesLastProducts && ends[index])
      runTwice(graph, op, twice);
  }
}

} // namespace apc
