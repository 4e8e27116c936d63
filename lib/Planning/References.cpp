// Plans that an engineer would try first, costed on the same footing: a plan must not be slower.
#include "References.h"
#include "Shortage/EvenShare.h"

#include "apc/Search/Phases.h"
#include "apc/Support/Error.h"
#include "apc/Support/Parallel.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <numeric>

namespace apc {

namespace {

AxisList allAxes(const Mesh &mesh) {
  AxisList axes;
  for (unsigned axis = 0; axis < mesh.numAxes(); ++axis)
    axes.push_back(AxisId(axis));
  return axes;
}

/// A mesh of `count` devices with at most one axis for each level, inner levels filled first: 16 on {8, 8} -> [2 | 8].
std::optional<Mesh> meshOf(const Pool &pool, int64_t count) {
  llvm::SmallVector<int64_t, 4> sizes = pool.levelSizes();
  std::vector<MeshAxis> axes;
  for (size_t level = sizes.size(); level-- > 0;) {
    int64_t size = std::gcd(sizes[level], count);
    count /= size;
    if (size > 1)
      axes.insert(axes.begin(), {"x" + std::to_string(level), size, static_cast<unsigned>(level)});
  }
  return count == 1 ? std::optional<Mesh>(Mesh(std::move(axes))) : std::nullopt;
}

CostedReference judge(const PlanningTask &task, ReferenceKind kind, llvm::StringRef name,
                      llvm::Expected<Candidate> candidate, std::string remark) {
  CostedReference result{kind, {name.str(), std::nullopt, std::nullopt, false, ""}, std::nullopt};
  Reference &reference = result.reference;
  if (!candidate) {
    reference.reason = takeMessage(candidate.takeError()).second;
    return result;
  }
  int64_t bytes = candidate->cost.memory.total();
  reference.stepSeconds = candidate->seconds();
  reference.memoryBytes = bytes;
  reference.feasible = bytes <= task.memoryLimitBytes;
  reference.reason = std::move(remark);
  if (!reference.feasible)
    reference.reason = shortageText(bytes, task.memoryLimitBytes);
  result.candidate = std::move(*candidate);
  return result;
}

/// The divisor of `devices` that leaves each device the smallest part of a batch, the smallest of them; with padding
/// only where `even` is false: 256 over 48 devices -> 16 ways of 16, or 48 ways of 6 of which some is padding.
int64_t batchWays(int64_t batch, int64_t devices, bool even) {
  int64_t best = 1;
  for (int64_t ways = 2; ways <= std::min(batch, devices); ++ways)
    if (devices % ways == 0 && (!even || batch % ways == 0) &&
        llvm::divideCeil(batch, ways) < llvm::divideCeil(batch, best))
      best = ways;
  return best;
}

/// The axes over which all that an op reads is partial; none where its operands differ.
AxisList partialOperands(const OpGraph &graph, const GraphOp &op, llvm::ArrayRef<Strategy> strategies) {
  std::optional<AxisList> common;
  for (std::optional<ValueId> operand : op.operands) {
    if (!operand)
      return {};
    const GraphValue &value = graph.value(*operand);
    const FactorRule &rule = graph.ruleOf(value.producer);
    AxisList partial = resultSharding(rule, strategies[value.producer.index()], value.resultIndex).partial;
    if (common && *common != partial)
      return {};
    common = std::move(partial);
  }
  return common.value_or(AxisList());
}

/// True for an op that makes the new value of a parameter or state, or hands it out: no samples pass through it, though
/// a dim of a weight may be as long as the batch.
bool isUpdate(const OpGraph &graph, const GraphOp &op) {
  auto isNew = [&](std::optional<ValueId> value) { return value && graph.value(*value).replaces; };
  return llvm::any_of(op.results, isNew) || (op.results.empty() && llvm::any_of(op.operands, isNew));
}

llvm::Expected<Candidate> cutBatch(const PlanningTask &task, int64_t ways) {
  const OpGraph &graph = task.graph;
  std::vector<std::optional<FactorId>> batch = batchFactors(graph);
  std::optional<Mesh> mesh = meshOf(task.pool, ways);
  if (!mesh)
    return internalError("data parallel: {0} ways do not fit the levels of the cluster", ways);
  std::vector<Strategy> strategies = replicated(graph);
  for (auto [op, factor, strategy] : llvm::zip_equal(graph.ops, batch, strategies)) {
    if ((!factor && !op.accumulates) || isUpdate(graph, op))
      continue;
    Strategy cut = strategy;
    if (op.accumulates) // gradients are added up over micro-batches, then reduced once
      cut.partialInputs.front() = partialOperands(graph, op, strategies);
    else
      cut.axes[factor->index()] = allAxes(*mesh);
    if (llvm::Error illegal = check(graph.rules[op.rule.index()], cut, *mesh))
      llvm::consumeError(std::move(illegal)); // Such an op is computed whole on every device.
    else
      strategy = std::move(cut);
  }
  return costCandidate(task, *mesh, std::move(strategies));
}

/// The batch in equal parts, or in as many parts as can be, with padding: whichever is faster.
CostedReference dataParallel(const PlanningTask &task) {
  int64_t extent = batchSize(task.graph), devices = task.pool.numDevices();
  int64_t ways = batchWays(extent, devices, true), padded = batchWays(extent, devices, false);
  llvm::Expected<Candidate> candidate = cutBatch(task, ways);
  if (candidate && padded != ways) {
    llvm::Expected<Candidate> other = cutBatch(task, padded);
    if (!other) {
      candidate = other.takeError();
    } else if (isBetter(rankOf(task, *other), rankOf(task, *candidate))) {
      candidate = std::move(other);
      ways = padded;
    }
  }
  std::string remark;
  if (ways < devices)
    remark = llvm::formatv("a batch of {0} uses {1} of {2} devices", extent, ways, devices).str();
  return judge(task, ReferenceKind::DataParallel, "data parallel", std::move(candidate), std::move(remark));
}

/// The best plan that cuts one factor of an op (not the batch) over all `ways` devices, or none.
std::optional<Candidate> tensorParallel(const PlanningTask &task, const Mesh &mesh,
                                        llvm::ArrayRef<std::optional<FactorId>> batch,
                                        const std::shared_ptr<WorkClock> &clock, std::string &failure) {
  AxisList all = allAxes(mesh);
  auto keep = [&](OpId op, const Strategy &strategy) {
    for (auto [factor, axes] : llvm::enumerate(strategy.axes))
      if (!axes.empty() && (axes != all || batch[op.index()] == FactorId(factor)))
        return false;
    const GraphOp &own = task.graph.op(op);
    bool maySum = own.accumulates || !own.leadingFactors.empty(); // a sum of gradients may wait
    return llvm::all_of(strategy.partialInputs,
                        [&](const AxisList &axes) { return axes.empty() || (maySum && axes == all); });
  };
  PlanningProblem planning =
      buildProblem(task.graph, CostModel(task.pool, mesh), keep, {}, WeightCopies::Chosen, task.fusion);
  clock->spend(buildingWork(planning));
  planning.problem.memoryLimitBytes = task.memoryLimitBytes;
  // A reference need not be exact: the first answer will do. It does not depend on the search of the plan.
  SearchOptions options = task.searchOptions(PlanningTask::Part::References);
  options.gapTolerance = 0;
  options.numThreads = 1; // meshes run side by side
  options.clock = clock;
  SharedWork shared;
  llvm::Expected<InitialAnswer> answer = searchFirst(planning.problem, options, shared);
  if (!answer) {
    failure = takeMessage(answer.takeError()).second;
    return std::nullopt;
  }
  if (!answer->result || answer->result->status == SearchStatus::Infeasible) {
    failure = answer->result ? answer->result->reason : "no such layout was found within the memory limit";
    return std::nullopt;
  }
  llvm::Expected<Candidate> candidate = costAnswer(task, mesh, planning, answer->result->assignment);
  if (candidate)
    return std::move(*candidate);
  failure = takeMessage(candidate.takeError()).second;
  return std::nullopt;
}

bool isTooLate(const PlanningTask &task, SearchUntil until) { return !until || task.isOutOfTime(*until); }

CostedReference lateReference(ReferenceKind kind, std::string name) {
  return {kind, {std::move(name), std::nullopt, std::nullopt, false, ""}, std::nullopt, /*isLate=*/true};
}

CostedReference namedLayout(const PlanningTask &task, const ParallelDegrees &layout, SearchUntil until) {
  std::string name = "layout " + layout.str();
  if (isTooLate(task, until))
    return lateReference(ReferenceKind::Layout, std::move(name));
  llvm::Expected<CostedLayout> costed = costLayout(task, layout);
  return costed ? judge(task, ReferenceKind::Layout, name, std::move(costed->candidate), std::move(costed->remark))
                : judge(task, ReferenceKind::Layout, name, costed.takeError(), "");
}

/// Within a node every divisor; across nodes whole nodes, as many as divide them.
std::vector<Mesh> tensorMeshes(const Pool &pool) {
  std::vector<Mesh> meshes;
  int64_t devices = pool.numDevices(), inner = pool.levelSizes().back();
  for (int64_t ways = 2; ways <= devices; ++ways) {
    bool offered = ways <= inner ? inner % ways == 0 : devices % ways == 0 && ways % inner == 0;
    if (std::optional<Mesh> mesh = offered ? meshOf(pool, ways) : std::nullopt)
      meshes.push_back(std::move(*mesh));
  }
  return meshes;
}

/// Tensor parallel candidates, and why there is none on a mesh.
struct TensorParallel {
  std::vector<std::optional<Candidate>> candidates; ///< by mesh
  std::string failure = "there is only one device";
  bool isLate = false;
};

TensorParallel tensorParallelOn(const PlanningTask &task, llvm::ArrayRef<Mesh> meshes, SearchUntil until) {
  std::vector<std::optional<FactorId>> batch = batchFactors(task.graph);
  TensorParallel result;
  result.candidates.resize(meshes.size());
  std::vector<std::string> failures(meshes.size());
  result.isLate = isTooLate(task, until);
  if (!result.isLate)
    forEach(meshes.size(), task.control.numThreads, *task.control.clock,
            [&](size_t index, const std::shared_ptr<WorkClock> &clock) {
              result.candidates[index] = tensorParallel(task, meshes[index], batch, clock, failures[index]);
            });
  for (auto [candidate, reason] : llvm::zip_equal(result.candidates, failures))
    if (!candidate)
      result.failure = reason;
  return result;
}

/// The best that fits; where none does, the one that comes nearest. \p leastBytes: of all devices together. Meshes that
/// are too small for that are only tried where nothing else fits.
CostedReference bestTensorParallel(const PlanningTask &task, SearchUntil until, int64_t leastBytes) {
  std::vector<Mesh> meshes = tensorMeshes(task.pool);
  auto tooSmall = std::stable_partition(meshes.begin(), meshes.end(), [&](const Mesh &mesh) {
    return leastBytes / mesh.numDevices() <= task.memoryLimitBytes;
  });
  size_t numLarge = tooSmall - meshes.begin();
  auto excess = [&](const Candidate &candidate) {
    return std::max<int64_t>(0, candidate.cost.memory.total() - task.memoryLimitBytes);
  };
  auto isPreferred = [&](const Candidate &a, const Candidate &b) {
    return excess(a) != excess(b) ? excess(a) < excess(b) : isBetter(rankOf(task, a), rankOf(task, b));
  };
  std::optional<Candidate> best;
  TensorParallel found;
  for (llvm::ArrayRef<Mesh> part :
       {llvm::ArrayRef(meshes).take_front(numLarge), llvm::ArrayRef(meshes).drop_front(numLarge)}) {
    if (part.empty() || (best && excess(*best) == 0))
      continue;
    found = tensorParallelOn(task, part, until);
    for (std::optional<Candidate> &candidate : found.candidates)
      if (candidate && (!best || isPreferred(*candidate, *best)))
        best = std::move(candidate);
  }
  if (!best && found.isLate)
    return lateReference(ReferenceKind::TensorParallel, "tensor parallel");
  if (!best)
    return {ReferenceKind::TensorParallel, {"tensor parallel", std::nullopt, std::nullopt, false, found.failure}, {}};
  std::string remark =
      llvm::formatv("best over {0} of {1} devices", best->mesh.numDevices(), task.pool.numDevices()).str();
  return judge(task, ReferenceKind::TensorParallel, "tensor parallel", std::move(*best), std::move(remark));
}

/// The layout that an expert would try on several nodes: tensor parallelism inside a node and data parallelism between
/// them, dp=8,tp=8 on 8 nodes of 8; where the batch is too small for that, as many ways of it as can be: dp=4,tp=16.
/// None inside one node or where that is tensor parallelism alone, which is a reference of its own.
std::optional<ParallelDegrees> expertLayout(const PlanningTask &task) {
  int64_t devices = task.pool.numDevices(), inner = task.pool.levelSizes().back();
  int64_t data = batchWays(batchSize(task.graph), devices / inner, false);
  if (inner == devices || inner == 1 || data == 1)
    return std::nullopt;
  return ParallelDegrees{data, devices / data};
}

} // namespace

std::vector<Strategy> replicated(const OpGraph &graph) {
  std::vector<Strategy> strategies;
  for (const GraphOp &op : graph.ops) {
    const FactorRule &rule = graph.rules[op.rule.index()];
    Strategy strategy;
    strategy.axes.resize(rule.numFactors());
    strategy.partialInputs.resize(rule.linear.size());
    strategies.push_back(std::move(strategy));
  }
  return strategies;
}

int64_t batchSize(const OpGraph &graph) { return knownBatch(graph).value_or(1); }

std::optional<int64_t> knownBatch(const OpGraph &graph) {
  std::optional<int64_t> size;
  bool hasInputs = false, isEmpty = false;
  for (auto [op, factor] : llvm::zip_equal(graph.ops, batchFactors(graph))) {
    const FactorRule &rule = graph.rules[op.rule.index()];
    const bool hasDims = isInput(op) && !rule.results[0].dims.empty();
    hasInputs |= hasDims;
    isEmpty |= hasDims && graph.value(*op.results.front()).shape.dims.front() == 0;
    if (factor && op.operands.empty()) {
      int64_t extent = rule.factor(*factor).size;
      size = std::min(size.value_or(extent), extent);
    }
  }
  if (size || !hasInputs || isEmpty)
    return size;
  return 1; // a dim of one element has no factor that could be cut
}

std::vector<CostedReference> costReferences(const PlanningTask &task, SearchUntil until) {
  std::vector<CostedReference> references;
  references.push_back(judge(task, ReferenceKind::SingleDevice, "single device",
                             costCandidate(task, Mesh(), replicated(task.graph)), ""));
  references.push_back(dataParallel(task));
  const std::optional<Candidate> &alone = references.front().candidate;
  int64_t leastBytes = alone ? evenShareOf(task, *alone).whole.total() : 0;
  references.push_back(bestTensorParallel(task, until, leastBytes));
  std::optional<ParallelDegrees> expert = expertLayout(task);
  if (expert && !llvm::is_contained(task.request.layouts, *expert))
    references.push_back(namedLayout(task, *expert, until));
  for (const ParallelDegrees &layout : task.request.layouts)
    references.push_back(namedLayout(task, layout, until));
  return references;
}

} // namespace apc
