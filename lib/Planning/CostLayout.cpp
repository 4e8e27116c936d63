// A layout as a restricted search: what the layout decides is fixed, the rest is found.
#include "DescribePlan.h"
#include "References.h"

#include "apc/Support/Error.h"
#include "apc/Support/Units.h"

#include "llvm/ADT/STLExtras.h"

#include <map>
#include <numeric>
#include <tuple>

namespace apc {

namespace {

/// The mesh of a layout and which of its axes are dp's and tp's.
struct LayoutMesh {
  Mesh mesh;
  AxisList data, tensor;
};

/// From the innermost level outwards tp takes what it can, then dp: dp=16,tp=4 on {8, 8} -> [d=8 | d=2, t=4].
std::optional<LayoutMesh> arrange(const Pool &pool, const ParallelDegrees &layout) {
  llvm::SmallVector<int64_t, 4> sizes = pool.levelSizes();
  struct Part {
    int64_t size;
    unsigned level;
    bool isData;
  };
  std::vector<Part> parts; // innermost first
  int64_t data = layout.data, tensor = layout.tensor;
  for (size_t level = sizes.size(); level-- > 0;) {
    int64_t inner = std::gcd(sizes[level], tensor);
    int64_t outer = std::gcd(sizes[level] / inner, data);
    tensor /= inner;
    data /= outer;
    if (inner > 1)
      parts.push_back({inner, static_cast<unsigned>(level), false});
    if (outer > 1)
      parts.push_back({outer, static_cast<unsigned>(level), true});
  }
  if (data != 1 || tensor != 1)
    return std::nullopt;
  LayoutMesh result;
  std::vector<MeshAxis> axes;
  for (const Part &part : llvm::reverse(parts)) {
    (part.isData ? result.data : result.tensor).push_back(AxisId(axes.size()));
    axes.push_back({"x" + std::to_string(axes.size()), part.size, part.level});
  }
  result.mesh = Mesh(std::move(axes));
  return result;
}

/// For every value whether it is made of parameters and constants alone: a weight, its transpose, its cast.
std::vector<bool> weightValues(const OpGraph &graph) {
  std::vector<bool> isWeight(graph.values.size());
  for (const GraphOp &op : graph.ops) {
    bool fromWeights = !op.operands.empty() && llvm::all_of(op.operands, [&](std::optional<ValueId> value) {
      return !value || isWeight[value->index()];
    });
    for (std::optional<ValueId> value : op.results)
      if (value)
        isWeight[value->index()] = graph.value(*value).role == ValueRole::Parameter || fromWeights;
  }
  return isWeight;
}

/// Which strategies of each op a layout allows.
class LayoutFilter {
public:
  LayoutFilter(const OpGraph &graph, const LayoutMesh &layout, bool cutsParameters)
      : graph(graph), layout(layout), cutsParameters(cutsParameters), batch(batchFactors(graph)),
        isWeight(weightValues(graph)) {}

  bool operator()(OpId op, const Strategy &strategy) { return score(op, strategy) == best(op); }

private:
  /// How well a strategy is what the layout asks of the op; -1 when it contradicts it. The best there are stay: where a
  /// cut that is asked for cannot be, those without it.
  int score(OpId op, const Strategy &strategy) const {
    if (llvm::any_of(strategy.partialInputs, [](const AxisList &axes) { return !axes.empty(); }))
      return -1;
    if (cutsParameters && isParameter(op))
      return scoreStorage(strategy);
    int points = 0;
    std::optional<unsigned> weight = cutWeight(op);
    for (auto [index, axes] : llvm::enumerate(strategy.axes)) {
      if (axes.empty())
        continue;
      FactorId factor(index);
      bool isBatch = batch[op.index()] == factor;
      if (axes != (isBatch ? layout.data : layout.tensor))
        return -1;
      points += isBatch ? 2 : weight && hasFactor(graph.ruleOf(op).operands[*weight], factor) ? 1 : 0;
    }
    return points;
  }

  /// ZeRO 3: as many of dp's axes as can be, each worth a point; tp's together on one dim or nowhere.
  int scoreStorage(const Strategy &strategy) const {
    int points = 0;
    for (const AxisList &axes : strategy.axes) {
      size_t tensor = llvm::count_if(axes, [&](AxisId axis) { return llvm::is_contained(layout.tensor, axis); });
      if (tensor != 0 && tensor != layout.tensor.size())
        return -1;
      points += static_cast<int>(axes.size() - tensor);
    }
    return points;
  }

  int best(OpId op) {
    auto key = std::make_tuple(graph.op(op).rule, batch[op.index()], cutWeight(op), isParameter(op));
    auto [entry, isNew] = known.try_emplace(key, -1);
    if (isNew)
      for (const Strategy &strategy : enumerateStrategies(graph.ruleOf(op), layout.mesh))
        entry->second = std::max(entry->second, score(op, strategy));
    return entry->second;
  }

  bool isParameter(OpId op) const {
    const GraphOp &known = graph.op(op);
    return known.operands.empty() && known.results.size() == 1 && known.results[0] &&
           graph.value(*known.results[0]).role == ValueRole::Parameter;
  }

  /// The operand of a contraction, or the table of an embedding, that is a weight and that tp therefore cuts.
  std::optional<unsigned> cutWeight(OpId op) const {
    const FactorRule &rule = graph.ruleOf(op);
    for (auto [index, value] : llvm::enumerate(graph.op(op).operands))
      if (value && isWeight[value->index()] && (rule.work == Work::Contraction || rule.operands[index].sparse))
        return static_cast<unsigned>(index);
    return std::nullopt;
  }

  static bool hasFactor(const RuleTensor &tensor, FactorId factor) {
    return llvm::any_of(tensor.dims, [&](const DimFactors &dim) { return llvm::is_contained(dim, factor); });
  }

  const OpGraph &graph;
  const LayoutMesh &layout;
  bool cutsParameters;
  std::vector<std::optional<FactorId>> batch;
  std::vector<bool> isWeight;
  std::map<std::tuple<RuleId, std::optional<FactorId>, std::optional<unsigned>, bool>, int> known;
};

/// The cheapest way to carry the layout out: without a limit first, for that is quick and mostly fits; within the limit
/// when it does not. A layout that does not fit then either is returned all the same.
llvm::Expected<Candidate> carryOut(const PlanningTask &task, const LayoutMesh &layout, bool cutsParameters) {
  LayoutFilter filter(task.graph, layout, cutsParameters);
  PlanningProblem planning = buildProblem(task.graph, CostModel(task.pool, layout.mesh),
                                          [&](OpId op, const Strategy &strategy) { return filter(op, strategy); });
  auto solve = [&](const SearchOptions &options) -> llvm::Expected<Candidate> {
    llvm::Expected<SearchResult> result = searchDp(planning.problem, options);
    if (!result)
      return result.takeError();
    if (result->status == SearchStatus::Infeasible)
      return noPlanError("{0}", result->reason);
    return costAnswer(task, layout.mesh, planning, result->assignment);
  };
  // The cost of a layout is the same however coarsely the plan beside it is searched.
  SearchOptions exact = task.searchOptions(PlanningTask::Part::References);
  exact.gapTolerance = 0;
  llvm::Expected<Candidate> fastest = solve(exact);
  if (!fastest || fastest->cost.memory.total() <= task.memoryLimitBytes)
    return fastest;
  planning.problem.memoryLimitBytes = task.memoryLimitBytes;
  // A yardstick need not be exact: what fits and is near its bound will do.
  SearchOptions options = task.searchOptions(PlanningTask::Part::References);
  options.gapTolerance = std::max(options.gapTolerance, 0.02);
  options.maxFrontier = std::min<size_t>(options.maxFrontier, 100);
  options.timeLimitSeconds = std::min(options.timeLimitSeconds, 5.0);
  llvm::Expected<Candidate> smaller = solve(options);
  if (smaller && smaller->cost.memory.total() <= task.memoryLimitBytes)
    return smaller;
  if (!smaller)
    llvm::consumeError(smaller.takeError());
  return fastest;
}

std::string remarkOn(const PlanningTask &task, const ParallelDegrees &layout) {
  std::string remark;
  if (int64_t used = layout.numDevices(); used < task.pool.numDevices())
    remark = llvm::formatv("uses {0} of {1} devices", used, task.pool.numDevices()).str();
  if (layout.zero == 0)
    return remark;
  remark += remark.empty() ? "" : "; ";
  if (layout.zero < 3)
    return remark + llvm::formatv("zero={0} changes nothing: it cuts {1}, which only training has", layout.zero,
                                  layout.zero == 1 ? "optimizer state" : "optimizer state and gradients")
                        .str();
  return remark + "zero=3 cuts the storage of parameters over dp; what it cuts of optimizer state and gradients only "
                  "training has";
}

llvm::Error checkFit(const PlanningTask &task, const ParallelDegrees &layout) {
  int64_t devices = task.pool.numDevices();
  if (devices % layout.numDevices() != 0)
    return inputError("layout {0}: {1} x {2} = {3} does not divide {4} devices; a product that equals or divides the "
                      "number of devices is accepted",
                      layout.str(), layout.data, layout.tensor, layout.numDevices(), devices);
  int64_t batch = batchSize(task.graph);
  if (batch < layout.data)
    return inputError("layout {0}: a batch of {1} cannot be cut {2} ways; dp up to {1} is accepted, or a larger batch",
                      layout.str(), batch, layout.data);
  return llvm::Error::success();
}

} // namespace

llvm::Expected<CostedLayout> costLayout(const PlanningTask &task, const ParallelDegrees &layout) {
  if (llvm::Error error = checkFit(task, layout))
    return error;
  std::optional<LayoutMesh> arranged = arrange(task.pool, layout);
  if (!arranged)
    return internalError("layout {0} does not fit the levels of the cluster", layout.str());
  llvm::Expected<Candidate> candidate = carryOut(task, *arranged, layout.zero == 3);
  if (!candidate)
    return candidate.takeError();
  return CostedLayout{std::move(*candidate), remarkOn(task, layout)};
}

llvm::Expected<Plan> evaluateLayout(const OpGraph &graph, const PlanRequest &request, const PlanningTarget &target,
                                    const ParallelDegrees &layout, const PlanningControl &control) {
  llvm::Expected<PlanningTask> task = makeTask(graph, request, target, {}, control);
  if (!task)
    return task.takeError();
  llvm::Expected<CostedLayout> costed = costLayout(*task, layout);
  if (!costed)
    return costed.takeError();
  std::string remark = std::move(costed->remark);
  Plan plan = describePlan(*task, decisionFor(*task, std::move(costed->candidate), "layout " + layout.str()));
  plan.cluster = target.cluster.name;
  if (!target.idleNote.empty())
    plan.notes.push_back(target.idleNote);
  llvm::append_range(plan.notes, target.notes);
  if (!remark.empty())
    plan.notes.push_back(remark);
  return plan;
}

} // namespace apc
