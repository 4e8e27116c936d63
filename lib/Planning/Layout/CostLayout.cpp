// A layout as a restricted search: what the layout decides is fixed, the rest is found.
#include "../DescribePlan.h"
#include "../References.h"
#include "LayoutFilter.h"

#include "apc/Support/Error.h"
#include "apc/Support/Units.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <numeric>

namespace apc {

namespace {

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

/// The cheapest way to carry the layout out: without a limit first, for that is quick and mostly fits; within the limit
/// when it does not. A layout that does not fit then either is returned all the same.
llvm::Expected<Candidate> carryOut(const PlanningTask &task, const LayoutMesh &layout, LayoutFilter filter,
                                   WeightCopies copies) {
  PlanningProblem planning = buildProblem(
      task.graph, CostModel(task.pool, layout.mesh),
      [&](OpId op, const Strategy &strategy) { return filter(op, strategy); }, /*zero=*/{}, copies, task.fusion);
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

/// Sums of gradients wait until after the last micro-batch with ZeRO 0 and 1; where ranks of dp have the parts of some
/// sum whole, there is nothing to wait for, and the layout is carried out without that.
llvm::Expected<Candidate> carryOut(const PlanningTask &task, const LayoutMesh &layout, int zero) {
  WeightCopies copies = zero == 3 ? WeightCopies::Dropped : WeightCopies::Chosen;
  llvm::Expected<Candidate> strict =
      carryOut(task, layout, LayoutFilter(task.graph, layout, zero, /*isStrict=*/true), copies);
  if (strict || !strict.errorIsA<PlannerError>() || task.graph.microBatches() == 1)
    return strict;
  auto [fault, message] = takeMessage(strict.takeError());
  if (fault != Fault::NoPlan)
    return llvm::make_error<PlannerError>(fault, message);
  return carryOut(task, layout, LayoutFilter(task.graph, layout, zero, /*isStrict=*/false), copies);
}

bool hasRole(const OpGraph &graph, ValueRole role) {
  return llvm::any_of(graph.values, [&](const GraphValue &value) { return value.role == role; });
}

std::string remarkOnZero(const PlanningTask &task, int zero) {
  if (zero == 0)
    return "";
  if (task.request.mode == StepMode::Infer)
    return zero < 3 ? llvm::formatv("zero={0} changes nothing: it cuts {1}, which only training has", zero,
                                    zero == 1 ? "optimizer state" : "optimizer state and gradients")
                          .str()
                    : "zero=3 cuts the storage of parameters over dp; what it cuts of optimizer state and gradients "
                      "only training has";
  if (!hasRole(task.graph, ValueRole::OptimizerState) && zero < 3)
    return llvm::formatv("the optimizer has no states that zero={0} could cut", zero).str();
  if (zero == 2 && task.graph.microBatches() == 1)
    return "zero=2 is zero=1: with one micro-batch there are no sums of gradients to keep";
  return "";
}

std::string remarkOn(const PlanningTask &task, const ParallelDegrees &layout) {
  std::vector<std::string> remarks;
  if (int64_t used = layout.numDevices(); used < task.pool.numDevices())
    remarks.push_back(llvm::formatv("uses {0} of {1} devices", used, task.pool.numDevices()).str());
  if (std::string zero = remarkOnZero(task, layout.zero); !zero.empty())
    remarks.push_back(std::move(zero));
  return llvm::join(remarks, "; ");
}

/// The graph has one batch and one policy: a layout among the references of a plan may not ask for others.
llvm::Error checkStep(const PlanningTask &task, const ParallelDegrees &layout) {
  int64_t batch = batchSize(task.graph);
  if (layout.microBatch && *layout.microBatch * layout.data != batch)
    return inputError("layout {0}: mb={1} on {2} ranks is a micro-batch of {3}, and the step that is planned has {4}; "
                      "'apc evaluate' costs the layout's own",
                      layout.str(), *layout.microBatch, layout.data, *layout.microBatch * layout.data, batch);
  if (layout.recompute && *layout.recompute != task.request.recompute)
    return inputError("layout {0}: the step that is planned has --recompute {1}; 'apc evaluate' costs the layout's own",
                      layout.str(), task.request.recompute.str());
  return llvm::Error::success();
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
  return checkStep(task, layout);
}

} // namespace

llvm::Expected<CostedLayout> costLayout(const PlanningTask &task, const ParallelDegrees &layout) {
  if (llvm::Error error = checkFit(task, layout))
    return error;
  std::optional<LayoutMesh> arranged = arrange(task.pool, layout);
  if (!arranged)
    return internalError("layout {0} does not fit the levels of the cluster", layout.str());
  llvm::Expected<Candidate> candidate = carryOut(task, *arranged, layout.zero);
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
