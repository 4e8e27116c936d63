// Costs the program that a choice of strategies stands for: ops and redistributions.
#include "apc/Cost/GraphCost.h"

#include "apc/Cost/NarrowProducts.h"
#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"

#include <deque>

namespace apc {

char IncompatibleStrategies::ID = 0;

void forEachCollective(const GraphCost &cost, llvm::function_ref<void(const Collective &, int64_t)> take) {
  auto takeAll = [&](llvm::ArrayRef<Collective> collectives, int64_t repeats) {
    for (const Collective &collective : collectives)
      if (collective.kind != CollectiveKind::Slice)
        take(collective, repeats);
  };
  for (const GraphMove &move : cost.moves)
    if (!move.bucket)
      takeAll(move.redistribution.collectives, move.repeats);
    else if (const MoveBucket &bucket = cost.buckets[*move.bucket]; &cost.moves[bucket.moves.front()] == &move)
      takeAll(bucket.collectives, move.repeats);
}

std::vector<ValueHub> GraphCost::hubsOfComeAgain() const {
  std::vector<ValueHub> hubs;
  for (ValueId value : comeAgain)
    hubs.push_back({value, std::nullopt, /*again=*/true});
  return hubs;
}

int64_t GraphCost::numCollectives() const {
  int64_t count = 0;
  forEachCollective(*this, [&](const Collective &collective, int64_t repeats) {
    count += repeats * static_cast<int64_t>(numExchanges(collective));
  });
  return count;
}

namespace {

/// The moves of all values, each by the way that is the fastest at its costs.
class MoveFinder {
public:
  MoveFinder(const OpGraph &graph, llvm::ArrayRef<Strategy> strategies, const CostModel &model, const Fusion &fusion)
      : graph(graph), strategies(strategies), fused(fusion, model), fusion(fusion),
        alone(model.getMesh(), [&model](const Collective &each) { return model.collectiveSeconds(each); }) {
    for (unsigned group = 0; group < fusion.groupBytes.size(); ++group)
      together.emplace_back(model.getMesh(),
                            [this, group](const Collective &each) { return fused.leastSeconds(each, group); });
  }

  /// Sets the moves of `cost`, and the values that come again.
  llvm::Error find(llvm::ArrayRef<ValueHub> hubs, GraphCost &cost) {
    std::vector<std::vector<OpGraph::Use>> uses = graph.uses();
    std::vector<const ValueHub *> suggested(graph.values.size());
    for (const ValueHub &hub : hubs)
      suggested[hub.value.index()] = &hub;
    PassUses passes(graph);
    auto strategyOf = [&](OpId op) -> const Strategy & { return strategies[op.index()]; };
    for (auto [v, value] : llvm::enumerate(graph.values)) {
      std::optional<unsigned> group = fusion.group(ValueId(v));
      Redistributor &redistributor = (group ? together[*group] : alone).of(value.exchanged());
      ValueHub hub = suggested[v] ? *suggested[v] : ValueHub{ValueId(v), std::nullopt};
      auto own = movesByPass(graph, passes, uses[v], strategyOf, redistributor, hub, cost.moves.size());
      if (!own)
        return llvm::make_error<IncompatibleStrategies>("value '" + value.name +
                                                        "' cannot become partial for its users");
      if (hub.again && llvm::any_of(*own, [](const GraphMove &move) { return move.redistribution.seconds > 0; }))
        cost.comeAgain.emplace_back(v);
      llvm::move(*own, std::back_inserter(cost.moves));
    }
    return llvm::Error::success();
  }

private:
  const OpGraph &graph;
  llvm::ArrayRef<Strategy> strategies;
  FusedCosts fused;
  const Fusion &fusion;
  Redistributors alone;
  std::deque<Redistributors> together; ///< by group
};

} // namespace

/// No axis cuts a factor that an operand has and `tensor` lacks.
static bool areRowsWhole(const FactorRule &rule, const Strategy &strategy, const RuleTensor &tensor) {
  return llvm::all_of(rule.operands, [&](const RuleTensor &operand) {
    return llvm::all_of(operand.dims, [&](const DimFactors &dim) {
      return llvm::all_of(dim,
                          [&](FactorId factor) { return strategy.axes[factor.index()].empty() || tensor.has(factor); });
    });
  });
}

/// The operands that an op has from the pass in which it makes its results: statistics of whole rows.
static llvm::SmallVector<size_t, 2> operandsOfPass(const OpGraph &graph, OpId op, const Strategy &strategy) {
  llvm::SmallVector<size_t, 2> operands;
  const FactorRule &rule = graph.ruleOf(op);
  for (auto [index, value] : llvm::enumerate(graph.op(op).operands))
    if (value && graph.op(graph.value(*value).producer).inPass && areRowsWhole(rule, strategy, rule.operands[index]))
      operands.push_back(index);
  return operands;
}

/// Kernels that each make two copies in 8 bits of an operand, of those that are narrowed at such times.
static OpCost costOfNarrowing(const KernelShare &kernel, Narrowing when, const FactorRule &rule,
                              const Strategy &strategy, const CostModel &model) {
  OpCost all;
  for (auto [index, narrowing] : llvm::enumerate(kernel.narrows)) {
    if (narrowing != when)
      continue;
    FactorRule copies = rule;
    copies.work = Work::Stream;
    copies.flopsPerPoint = 0;
    copies.steps = 1;
    copies.operands.assign(1, rule.operands[index]);
    copies.results.assign(1, rule.operands[index]); // two of half the bits
    OpCost own = model.opCost(copies, strategy, NumberFormat::Other);
    all.memorySeconds += own.memorySeconds;
    all.launchSeconds += own.launchSeconds;
    all.dispatchSeconds += own.dispatchSeconds;
    all.bytes += own.bytes;
  }
  all.computeSeconds = all.memorySeconds; // nothing else runs beside them
  return all;
}

static OpCost sum(const OpCost &a, const OpCost &b) {
  return {a.computeSeconds + b.computeSeconds,
          a.memorySeconds + b.memorySeconds,
          a.launchSeconds + b.launchSeconds,
          a.flops + b.flops,
          a.bytes + b.bytes,
          a.dispatchSeconds + b.dispatchSeconds};
}

/// The rule of a product with operands of 8 bits.
static FactorRule ofNarrowOperands(FactorRule rule) {
  constexpr unsigned narrowBits = 8;
  for (unsigned operand = 0; operand < numMultiplied; ++operand)
    rule.operands[operand].elementBits = narrowBits;
  return rule;
}

/// The cost of all runs of a product that takes operands of 8 bits, and of their copies.
static OpCost costOfNarrow(const GraphOp &op, const FactorRule &rule, const Strategy &strategy,
                           const CostModel &model) {
  OpCost run = sum(model.opCost(ofNarrowOperands(rule), strategy, op.format),
                   costOfNarrowing(op.kernel, Narrowing::EachRun, rule, strategy, model));
  return sum(run.times(op.repeats), costOfNarrowing(op.kernel, Narrowing::EachStep, rule, strategy, model));
}

/// The cost of an op beside the rest of its kernel.
static OpCost costInKernel(const KernelShare &kernel, FactorRule rule, const Strategy &strategy, NumberFormat format,
                           const CostModel &model) {
  for (auto [index, isInside] : llvm::enumerate(kernel.inside)) {
    RuleTensor &tensor =
        index < rule.operands.size() ? rule.operands[index] : rule.results[index - rule.operands.size()];
    tensor.absent = tensor.absent || isInside;
  }
  OpCost cost = model.opCost(rule, strategy, format);
  const Runtime &runtime = model.getPool().runtime;
  if (kernel.isNormalization) {
    cost.memorySeconds *= runtime.normalizationPasses;
    cost.launchSeconds *= runtime.normalizationKernels;
    cost.dispatchSeconds *= runtime.normalizationKernels;
  }
  if (kernel.isLoss)
    cost.memorySeconds *= runtime.lossPasses;
  if (kernel.joins || kernel.isOfList)
    cost.launchSeconds = cost.dispatchSeconds = 0;
  return cost;
}

OpCost costOfOp(const OpGraph &graph, OpId op, const Strategy &strategy, const CostModel &model) {
  const GraphOp &own = graph.op(op);
  if (own.atLoad || own.kernel.isReadThrough || own.kernel.isMadeByReaders)
    return OpCost();
  const FactorRule &rule = graph.ruleOf(op);
  if (own.inPass && areRowsWhole(rule, strategy, rule.results.front()))
    return OpCost();
  if (!own.kernel.narrows.empty())
    return costOfNarrow(own, rule, strategy, model);
  llvm::SmallVector<size_t, 2> ofPass = operandsOfPass(graph, op, strategy);
  if (ofPass.empty() && own.kernel == KernelShare())
    return model.opCost(rule, strategy, own.format).times(own.repeats);
  FactorRule read = rule;
  for (size_t operand : ofPass)
    read.operands[operand].absent = true;
  return costInKernel(own.kernel, std::move(read), strategy, own.format, model).times(own.repeats);
}

double leastComputeSeconds(const OpGraph &graph, const Pool &pool) {
  DeviceRates rates(pool.device, pool.runtime);
  const double devices = static_cast<double>(pool.numDevices()) * pool.device.contractionEfficiency.top();
  double seconds = 0;
  for (auto [index, op] : llvm::enumerate(graph.ops)) {
    const FactorRule &rule = graph.ruleOf(OpId(index));
    if (rule.work != Work::Contraction || rule.attention || op.atLoad)
      continue;
    const NumberFormat format = rates.formatOf(rule, op.format);
    double rate = std::max(rates.matrixFlopsPerSecond(format), rates.vectorFlopsPerSecond(format));
    seconds += static_cast<double>(op.repeats) * rule.flops() / (devices * rate);
  }
  return seconds;
}

double leastHostSeconds(const OpGraph &graph, const Pool &pool) {
  const CostModel single(pool, Mesh());
  double seconds = 0;
  for (auto [index, op] : llvm::enumerate(graph.ops)) {
    if (pool.runtime.dispatchSeconds == 0 || op.inPass)
      continue;
    const FactorRule &rule = graph.ruleOf(OpId(index));
    Strategy whole;
    whole.axes.resize(rule.numFactors());
    whole.partialInputs.resize(rule.linear.size());
    seconds += costOfOp(graph, OpId(index), whole, single).dispatchSeconds;
  }
  return seconds;
}

namespace {

/// Checks and costs of ops; those that are alike are looked at once.
class OpsByKind {
public:
  OpsByKind(const OpGraph &graph, const CostModel &model) : graph(graph), model(model), kinds(graph.rules.size()) {}

  llvm::Expected<OpCost> costOf(OpId id, const Strategy &strategy) {
    Kind kind{&graph.op(id), &strategy, readsPass(id), {}};
    llvm::SmallVector<Kind, 2> &known = kinds[kind.op->rule.index()];
    if (const Kind *same = llvm::find_if(known, [&](const Kind &own) { return areAlike(own, kind); });
        same != known.end())
      return same->cost;
    if (llvm::Error illegal = check(graph.ruleOf(id), strategy, model.getMesh()))
      return internalError("op '{0}': {1}", kind.op->name, takeMessage(std::move(illegal)).second);
    kind.cost = costOfOp(graph, id, strategy, model);
    return known.emplace_back(std::move(kind)).cost;
  }

private:
  struct Kind {
    const GraphOp *op;
    const Strategy *strategy;
    llvm::SmallVector<bool, 8> readsPass; ///< by operand: it is made in a pass of its reader
    OpCost cost;
  };

  llvm::SmallVector<bool, 8> readsPass(OpId id) const {
    llvm::SmallVector<bool, 8> reads;
    for (std::optional<ValueId> value : graph.op(id).operands)
      reads.push_back(value && graph.op(graph.value(*value).producer).inPass);
    return reads;
  }

  static bool areAlike(const Kind &a, const Kind &b) {
    return a.op->repeats == b.op->repeats && a.op->format == b.op->format && a.op->atLoad == b.op->atLoad &&
           a.op->inPass == b.op->inPass && a.op->kernel == b.op->kernel && a.readsPass == b.readsPass &&
           *a.strategy == *b.strategy;
  }

  const OpGraph &graph;
  const CostModel &model;
  std::vector<llvm::SmallVector<Kind, 2>> kinds; ///< by rule
};

} // namespace

llvm::Expected<GraphCost> costOfGraph(const OpGraph &graph, llvm::ArrayRef<Strategy> strategies, const CostModel &model,
                                      llvm::ArrayRef<ValueHub> hubs, const Fusion &fusion) {
  GraphCost cost;
  cost.ops.reserve(graph.ops.size());
  OpsByKind kinds(graph, model);
  for (auto [index, strategy] : llvm::enumerate(strategies)) {
    llvm::Expected<OpCost> own = kinds.costOf(OpId(index), strategy);
    if (!own)
      return own.takeError();
    cost.ops.push_back(*own);
    cost.computeSeconds += cost.ops.back().seconds();
    cost.flopsPerDevice += cost.ops.back().flops;
  }
  if (llvm::Error error = MoveFinder(graph, strategies, model, fusion).find(hubs, cost))
    return error;
  takeTogether(graph, strategies, model, fusion, /*share=*/1, cost);
  return cost;
}

} // namespace apc
