// Kernels out of ops, by their rules alone.
#include "apc/Cost/ApplyRuntime.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

namespace {

bool hasPoint(const RuleTensor &tensor, const FactorRule &rule) {
  return llvm::any_of(tensor.dims, [&](const DimFactors &dim) {
    return llvm::any_of(dim, [&](FactorId factor) { return !rule.factor(factor).whole; });
  });
}

/// One value for each point of the loop nest, computed from operands at that point.
bool isElementwise(const FactorRule &rule) {
  if (rule.work != Work::Stream || rule.results.size() != 1 || rule.operands.empty())
    return false;
  for (size_t index = 0; index < rule.factors.size(); ++index)
    if (rule.factors[index].whole || rule.isReduction(FactorId(index)))
      return false;
  if (llvm::any_of(rule.operands, [](const RuleTensor &operand) { return operand.sparse; }))
    return false;
  double elements = 1;
  for (const DimFactors &dim : rule.results.front().dims)
    elements *= static_cast<double>(rule.dimSize(dim));
  return elements == rule.numPoints();
}

/// Normalises along a whole dim, with a scale that has no other: `... !k, k -> ... !k`.
bool isNormalization(const FactorRule &rule) {
  if (rule.work != Work::Stream || rule.operands.size() < 2 || rule.operands[0].absent)
    return false;
  bool hasScale = llvm::any_of(llvm::drop_begin(rule.operands), [&](const RuleTensor &operand) {
    return !operand.absent && !operand.dims.empty() && !hasPoint(operand, rule);
  });
  return hasScale && hasPoint(rule.operands[0], rule) &&
         llvm::any_of(rule.operands[0].dims.back(), [&](FactorId factor) { return rule.factor(factor).whole; });
}

/// The op makes one number of a gradient, its share in the norm of all: kernels take lists of them
/// (NVIDIA/Megatron-LM megatron/optimizer/clip_grads.py, multi_tensor_l2norm; PyTorch's clip_grad_norm_, foreach).
bool isOfNorm(const OpGraph &graph, const GraphOp &op) {
  auto isOther = [&](std::optional<ValueId> operand) {
    return operand && graph.value(*operand).role != ValueRole::Gradient;
  };
  auto isNumber = [&](std::optional<ValueId> result) {
    return result && graph.value(*result).shape.numElements() == 1;
  };
  return !op.operands.empty() && op.operands[0] && llvm::none_of(op.operands, isOther) && !op.results.empty() &&
         llvm::all_of(op.results, isNumber);
}

/// Sums of exponentials over classes that an op reads together with scores and right classes: of a loss, not of a
/// softmax, which reads scores and sums alone.
void markLosses(OpGraph &graph) {
  std::vector<std::vector<OpGraph::Use>> uses = graph.uses();
  for (GraphOp &op : graph.ops) {
    const FactorRule &rule = graph.rules[op.rule.index()];
    bool sums = llvm::any_of(rule.factors, [](const Factor &factor) { return factor.combiner == Combiner::LogSumExp; });
    if (!sums || op.results.size() != 1 || !op.results[0])
      continue;
    for (OpGraph::Use use : uses[op.results[0]->index()]) {
      constexpr size_t leastOperands = 3;
      GraphOp &reader = graph.ops[use.op.index()];
      if (graph.ruleOf(use.op).work == Work::Stream && reader.operands.size() >= leastOperands)
        op.kernel.isLoss = reader.kernel.isLoss = true;
    }
  }
}

class KernelBuilder {
public:
  KernelBuilder(OpGraph &graph, const Runtime &runtime) : graph(graph), runtime(runtime), uses(graph.uses()) {}

  void readThrough() {
    for (GraphOp &op : graph.ops)
      if (graph.rules[op.rule.index()].isRearrangement()) {
        bool isRead = llvm::all_of(op.results, [&](auto result) { return !result || areReadersFree(*result); });
        op.kernel.isReadThrough = isRead || isWritten(*op.operands[0]);
      }
  }

  /// A fused attention knows a causal mask, and looks at no later key: what makes the mask alone makes nothing.
  void leaveMasks() {
    const std::vector<bool> isWeight = graph.weights();
    auto isLeft = [&](std::optional<ValueId> result) {
      return !result || (isWeight[result->index()] && !uses[result->index()].empty() &&
                         llvm::all_of(uses[result->index()], [&](OpGraph::Use use) { return knows(use); }));
    };
    for (size_t index = graph.ops.size(); index-- > 0;) {
      GraphOp &op = graph.ops[index];
      op.kernel.isMadeByReaders = !op.operands.empty() && !op.results.empty() && llvm::all_of(op.results, isLeft);
    }
  }

  void joinElementwise() {
    kernels.assign(graph.ops.size(), std::nullopt);
    followers = graph.followers();
    for (size_t index = 0; index < graph.ops.size(); ++index)
      if (isElementwise(graph.ruleOf(OpId(index))))
        place(index);
    for (size_t index = 0; index < graph.ops.size(); ++index)
      if (kernels[index])
        markInside(index);
  }

  /// Sums of gradients that a product makes move no bytes of their own, nor do conversions to their type: it reads and
  /// writes them behind its tiles.
  void joinSums() {
    for (size_t index = 0; index < graph.ops.size(); ++index) {
      if (!graph.ops[index].accumulates)
        continue;
      std::vector<OpId> joined{OpId(index)};
      std::optional<OpId> made = onlyMaker(joined.back());
      for (; made && isElementwise(graph.ruleOf(*made)) && graph.op(*made).operands.size() == 1;
           made = onlyMaker(joined.back()))
        joined.push_back(*made);
      if (!made || graph.ruleOf(*made).work != Work::Contraction || graph.ruleOf(*made).attention)
        continue;
      for (OpId op : joined) {
        KernelShare &kernel = graph.ops[op.index()].kernel;
        kernel.joins = true;
        kernel.inside.assign(graph.ruleOf(op).operands.size() + graph.ruleOf(op).results.size(), true);
      }
    }
  }

private:
  /// The op that makes the first operand of `op`, which nothing else reads.
  std::optional<OpId> onlyMaker(OpId op) const {
    std::optional<ValueId> read = graph.op(op).operands[0];
    return read && uses[read->index()].size() == 1 ? std::optional(graph.value(*read).producer) : std::nullopt;
  }
  /// Does the op know what it reads there: a causal mask, or what is made into one?
  bool knows(OpGraph::Use use) const {
    const FactorRule &rule = graph.ruleOf(use.op);
    return rule.attention ? rule.attention->knowsMask(use.operand) : graph.op(use.op).kernel.isMadeByReaders;
  }
  bool goesThrough(const FactorRule &rule) const { return rule.work == Work::View || rule.isRearrangement(); }
  bool takesAnyOrder(const FactorRule &rule) const {
    return rule.work == Work::Contraction || (runtime.fusesElementwise && rule.work == Work::Stream);
  }
  bool areReadersFree(ValueId value) const {
    return llvm::all_of(uses[value.index()], [&](OpGraph::Use use) {
      const FactorRule &rule = graph.ruleOf(use.op);
      if (!goesThrough(rule))
        return takesAnyOrder(rule);
      return llvm::all_of(graph.op(use.op).results, [&](auto result) { return !result || areReadersFree(*result); });
    });
  }
  bool isWritten(ValueId value) const {
    OpId op = graph.value(value).producer;
    const FactorRule &rule = graph.ruleOf(op);
    if (goesThrough(rule) && !graph.op(op).operands.empty() && graph.op(op).operands[0])
      return isWritten(*graph.op(op).operands[0]);
    return takesAnyOrder(rule) && !graph.op(op).operands.empty();
  }

  /// A kernel by its first op.
  bool canJoin(size_t op, size_t kernel) const {
    const GraphOp &own = graph.ops[op];
    if (graph.ops[kernel].repeats != own.repeats || followers[kernel] != followers[op] ||
        graph.ruleOf(OpId(kernel)).numPoints() != graph.ruleOf(OpId(op)).numPoints())
      return false;
    bool areThere = true, isUnread = true;
    for (std::optional<ValueId> operand : own.operands)
      if (operand) {
        size_t producer = graph.value(*operand).producer.index();
        areThere &= producer < kernel || kernels[producer] == kernel;
      }
    for (size_t member = kernel; member < op && !areThere; ++member)
      if (kernels[member] == kernel)
        for (std::optional<ValueId> result : graph.ops[member].results)
          for (OpGraph::Use use : result ? llvm::ArrayRef(uses[result->index()]) : llvm::ArrayRef<OpGraph::Use>())
            isUnread &= use.op.index() >= op || kernels[use.op.index()] == kernel;
    return areThere || isUnread;
  }

  void place(size_t op) {
    kernels[op] = op;
    for (std::optional<ValueId> operand : graph.ops[op].operands) {
      size_t producer = operand ? graph.value(*operand).producer.index() : op;
      if (std::optional<size_t> kernel = kernels[producer]; producer != op && kernel && canJoin(op, *kernel)) {
        kernels[op] = kernel;
        graph.ops[op].kernel.joins = true;
        return;
      }
    }
  }

  void markInside(size_t op) {
    GraphOp &own = graph.ops[op];
    std::vector<bool> inside;
    for (std::optional<ValueId> operand : own.operands)
      inside.push_back(operand && kernels[graph.value(*operand).producer.index()] == kernels[op]);
    for (std::optional<ValueId> result : own.results)
      inside.push_back(result && !uses[result->index()].empty() &&
                       llvm::all_of(uses[result->index()],
                                    [&](OpGraph::Use use) { return kernels[use.op.index()] == kernels[op]; }));
    if (llvm::is_contained(inside, true))
      own.kernel.inside = std::move(inside);
  }

  OpGraph &graph;
  const Runtime &runtime;
  std::vector<std::vector<OpGraph::Use>> uses;
  std::vector<std::optional<size_t>> kernels; ///< by op: the first op of its kernel
  std::vector<bool> followers;
};

} // namespace

void applyRuntime(OpGraph &graph, const Runtime &runtime) {
  for (auto [index, op] : llvm::enumerate(graph.ops)) {
    op.kernel = KernelShare();
    op.kernel.isOfList = op.accumulates || graph.isUpdate(OpId(index)) || isOfNorm(graph, op);
    op.kernel.isNormalization = isNormalization(graph.rules[op.rule.index()]);
  }
  markLosses(graph);
  KernelBuilder builder(graph, runtime);
  if (runtime.readsTransposed)
    builder.readThrough();
  if (runtime.fusesAttention)
    builder.leaveMasks();
  if (runtime.fusesElementwise)
    builder.joinElementwise();
  if (runtime.fusesSums)
    builder.joinSums();
}

} // namespace apc
