// A layout as a restricted search: what the layout decides is fixed, the rest is found.
#include "CostLayout.h"

#include "../Problem/LayoutProblem.h"
#include "../References.h"
#include "LayoutFilter.h"

#include "apc/Planning/ExpertLayouts.h"
#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace apc {

namespace {

/// An exact search over what the layout leaves open, for the fewest seconds.
llvm::Expected<Candidate> solve(const PlanningTask &task, const LayoutMesh &layout, const PlanningProblem &planning,
                                const SearchOptions &options) {
  llvm::Expected<SearchResult> result = searchDp(planning.problem, options);
  if (!result)
    return result.takeError();
  if (result->status == SearchStatus::Infeasible)
    return noPlanError("{0}", result->reason);
  return costAnswer(task, layout.mesh, planning, result->assignment);
}

/// The cheapest way that keeps to the memory limit, or none. A search counts memory as a sum over ops: where the
/// program that it finds takes more than there is, the limit is lowered by as much, and raised again by half where
/// nothing is found so.
std::optional<Candidate> carryOutWithin(const PlanningTask &task, const LayoutMesh &layout, PlanningProblem planning) {
  constexpr int mostSearches = 4; // more of them let few layouts fit, and those that do not take long
  // A yardstick need not be exact: what fits and is near its bound will do.
  SearchOptions options = task.searchOptions(PlanningTask::Part::References);
  options.gapTolerance = std::max(options.gapTolerance, 0.02);
  options.maxFrontier = std::min<size_t>(options.maxFrontier, 100);
  options.timeLimitSeconds = std::min(options.timeLimitSeconds, 5.0);
  int64_t limit = task.memoryLimitBytes, tooLarge = limit;
  for (int search = 0; search < mostSearches; ++search) {
    planning.problem.memoryLimitBytes = limit;
    llvm::Expected<Candidate> smaller = solve(task, layout, planning, options);
    if (!smaller) {
      llvm::consumeError(smaller.takeError());
      if (limit == task.memoryLimitBytes)
        return std::nullopt;
      limit += (tooLarge - limit) / 2;
      continue;
    }
    const int64_t excess = smaller->cost.memory.total() - task.memoryLimitBytes;
    if (excess <= 0)
      return std::move(*smaller);
    tooLarge = limit;
    limit -= excess;
  }
  return std::nullopt;
}

/// The copies of gathered weights that a layout keeps.
WeightCopies copiesOf(const ParallelDegrees &layout) {
  return layout.zero == 3 ? WeightCopies::Dropped : WeightCopies::Chosen;
}

/// With sequence parallelism the parts of inputs are kept and gathered again where the runtime does so.
bool gathersAgain(const PlanningTask &task, const ParallelDegrees &layout) {
  return layout.cutsSequences && task.pool.runtime.gathersInputsAgain;
}

/// The fewest seconds of a problem of the layout. The cost of a layout is the same however coarsely the plan beside it
/// is searched.
llvm::Expected<CarriedLayout> carryOut(const PlanningTask &task, const LayoutMesh &layout, PlanningProblem planning) {
  task.spend(buildingWork(planning));
  SearchOptions exact = task.searchOptions(PlanningTask::Part::References);
  exact.gapTolerance = 0;
  llvm::Expected<Candidate> fastest = solve(task, layout, planning, exact);
  if (!fastest)
    return fastest.takeError();
  return CarriedLayout{std::move(*fastest), std::move(planning)};
}

/// The cheapest way to carry the layout out with sums of gradients that wait so long; none where they cannot.
std::optional<llvm::Expected<CarriedLayout>> carryOutWaiting(const PlanningTask &task, const ParallelDegrees &layout,
                                                             SumsWait sums, LayoutCosts &costs) {
  const WeightCopies copies = copiesOf(layout);
  LayoutFilter filter(task.graph, costs.mesh, layout, sums, task.pool.runtime.gathersLogits);
  auto kinds = [&](OpId op) { return filter.kindOf(op); };
  const LayoutChoice choice{filter, kinds, gathersAgain(task, layout)};
  if (sums == SumsWait::Free)
    return carryOut(task, costs.mesh,
                    problemOfLayout(task.graph, costs.model, choice, copies, task.fusion, costs.moves));
  std::optional<PlanningProblem> possible =
      possibleProblemOfLayout(task.graph, costs.model, choice, copies, task.fusion, costs.moves);
  if (!possible)
    return std::nullopt;
  llvm::Expected<CarriedLayout> carried = carryOut(task, costs.mesh, std::move(*possible));
  if (carried || !carried.errorIsA<PlannerError>())
    return carried;
  auto [fault, message] = takeMessage(carried.takeError());
  if (fault == Fault::NoPlan)
    return std::nullopt;
  return llvm::Expected<CarriedLayout>(llvm::make_error<PlannerError>(fault, message));
}

bool hasRole(const OpGraph &graph, ValueRole role) {
  return llvm::any_of(graph.values, [&](const GraphValue &value) { return value.role == role; });
}

std::string remarkOnZero(const PlanningTask &task, const ParallelDegrees &layout) {
  const int zero = layout.zero;
  if (zero == 0)
    return "";
  if (layout.shard == 1)
    return llvm::formatv("zero={0} changes nothing: with shard=1 no rank shares with another", zero).str();
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

/// The longest sequence of the inputs; 0 where none has one.
int64_t longestSequence(const OpGraph &graph, const InputFactors &inputs) {
  int64_t longest = 0;
  for (auto [op, factor] : llvm::zip_equal(graph.ops, inputs.sequence))
    if (factor && isInput(op))
      longest = std::max(longest, graph.rules[op.rule.index()].factor(*factor).size);
  return longest;
}

/// The graph has one batch and one policy: a layout among the references of a plan may not ask for others.
llvm::Error checkStep(const PlanningTask &task, const ParallelDegrees &layout) {
  int64_t batch = batchSize(task.graph) * task.graph.copies;
  if (layout.copies != task.graph.copies)
    return inputError("layout {0}: the step that is planned has --copies {1}; 'apc evaluate' costs the layout's own",
                      layout.str(), task.graph.copies);
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
  if (layout.pipeline > 1)
    return inputError("layout {0}: the step that is planned has one stage; 'apc evaluate' costs the layout's own",
                      layout.str());
  if (devices % layout.numDevices() != 0)
    return inputError("layout {0}: {1} does not divide {2} devices; a product that equals or divides the number of "
                      "devices is accepted",
                      layout.str(), layout.product(), devices);
  if (llvm::Error error = checkLayoutOnModel(task, layout))
    return error;
  return checkStep(task, layout);
}

} // namespace

std::string remarkOnLayout(const PlanningTask &task, const ParallelDegrees &layout) {
  std::vector<std::string> remarks;
  if (int64_t used = layout.numDevices(); used < task.pool.numDevices())
    remarks.push_back(llvm::formatv("uses {0} of {1} devices", used, task.pool.numDevices()).str());
  if (std::string zero = remarkOnZero(task, layout); !zero.empty())
    remarks.push_back(std::move(zero));
  if (layout.pipeline > 1 && task.graph.microBatches() == 1)
    remarks.push_back("one micro-batch keeps one worker at a time busy; mb=1 cuts the batch as far as can be");
  return llvm::join(remarks, "; ");
}

llvm::Error checkLayoutOnModel(const PlanningTask &task, const ParallelDegrees &layout) {
  int64_t batch = batchSize(task.graph);
  if (batch < layout.data)
    return inputError("layout {0}: a batch of {1} cannot be cut {2} ways; dp up to {1} is accepted, or a larger batch",
                      layout.str(), batch, layout.data);
  InputFactors inputs = inputFactors(task.graph);
  if (layout.context > 1 && llvm::none_of(inputs.sequence, [](auto factor) { return factor.has_value(); }))
    return inputError("layout {0}: cp cuts sequences, and no input of the model has one (dim 1 of two or three); "
                      "accepted is cp=1",
                      layout.str());
  if (int64_t longest = longestSequence(task.graph, inputs); longest > 0 && longest < layout.context)
    return inputError("layout {0}: sequences of {1} cannot be cut {2} ways; cp up to {1} is accepted", layout.str(),
                      longest, layout.context);
  if (layout.experts == 1 && !layout.hasWholeExperts())
    return llvm::Error::success();
  int64_t experts = numExperts(task.graph);
  if (experts == 0)
    return inputError("layout {0}: {1}, and the model has none whose weights are one tensor; accepted is ep=1 without "
                      "etp",
                      layout.str(), layout.experts > 1 ? "ep spreads experts" : "etp=1 leaves experts whole");
  if (experts % layout.experts != 0)
    return inputError("layout {0}: {1} experts cannot be spread over ep={2}; divisors of {1} are accepted",
                      layout.str(), experts, layout.experts);
  return llvm::Error::success();
}

/// The numbers of ranks that lie next to each other, all of them apart.
static std::vector<std::string> wholeGroups(const Pool &pool, ParallelDegrees layout) {
  std::vector<std::string> sizes;
  for (int64_t ranks = layout.data * layout.context, size = 1; size < ranks; ++size) {
    layout.shard = size;
    std::optional<LayoutMesh> arranged = ranks % size == 0 ? arrangeLayout(pool, layout) : std::nullopt;
    if (arranged && arranged->hasWholeGroups())
      sizes.push_back(std::to_string(size));
  }
  return sizes;
}

llvm::Expected<std::unique_ptr<LayoutCosts>> costsOfLayout(const Pool &pool, const ParallelDegrees &layout) {
  std::optional<LayoutMesh> arranged = arrangeLayout(pool, layout);
  if (!arranged)
    return internalError("layout {0} does not fit the levels of the cluster", layout.str());
  if (!arranged->hasWholeGroups())
    return inputError("layout {0}: {1} ranks of dp and cp that lie next to each other do not fill the levels of the "
                      "cluster; shard={2} is accepted",
                      layout.str(), *layout.shard, llvm::join(wholeGroups(pool, layout), ", "));
  return std::make_unique<LayoutCosts>(pool, std::move(*arranged));
}

/// Sums of gradients wait until after the last micro-batch with ZeRO 0 and 1. Where ranks of cp have the parts of some
/// sum alone, it waits for dp; where ranks of dp have them whole, there is nothing to wait for, and the layout is
/// carried out without that.
llvm::Expected<CarriedLayout> carryOutLayout(const PlanningTask &task, const ParallelDegrees &layout,
                                             LayoutCosts &costs) {
  const bool hasSums = task.graph.microBatches() > 1;
  for (SumsWait sums : {SumsWait::ForAll, SumsWait::ForSome})
    if (hasSums && (sums == SumsWait::ForAll || layout.context > 1))
      if (auto carried = carryOutWaiting(task, layout, sums, costs))
        return std::move(*carried);
  return *carryOutWaiting(task, layout, SumsWait::Free, costs);
}

std::optional<Candidate> carryOutWithin(const PlanningTask &task, const ParallelDegrees &layout,
                                        const CarriedLayout &carried, const LayoutCosts &costs) {
  const MemoryTable &memory = carried.fastest.cost.memory; // the layout says where parameters and states rest
  if (memory[MemoryCategory::Parameters] + memory[MemoryCategory::Optimizer] > task.memoryLimitBytes)
    return std::nullopt;
  return carryOutWithin(
      task, costs.mesh,
      withBytesOf(carried.planning, task.graph, costs.model, copiesOf(layout), gathersAgain(task, layout)));
}

/// The cheapest way to carry the layout out; where it does not fit, within the limit. A layout that does not fit then
/// either is returned all the same.
static llvm::Expected<Candidate> carryOutWhole(const PlanningTask &task, const ParallelDegrees &layout) {
  llvm::Expected<std::unique_ptr<LayoutCosts>> costs = costsOfLayout(task.pool, layout);
  if (!costs)
    return costs.takeError();
  llvm::Expected<CarriedLayout> carried = carryOutLayout(task, layout, **costs);
  if (!carried)
    return carried.takeError();
  if (carried->fastest.cost.memory.total() > task.memoryLimitBytes)
    if (std::optional<Candidate> smaller = carryOutWithin(task, layout, *carried, **costs))
      return std::move(*smaller);
  return std::move(carried->fastest);
}

llvm::Expected<CostedLayout> costLayout(const PlanningTask &task, const ParallelDegrees &layout) {
  if (llvm::Error error = checkFit(task, layout))
    return error;
  llvm::Expected<Candidate> candidate = carryOutWhole(task, layout);
  if (!candidate)
    return candidate.takeError();
  return CostedLayout{std::move(*candidate), remarkOnLayout(task, layout)};
}

} // namespace apc
