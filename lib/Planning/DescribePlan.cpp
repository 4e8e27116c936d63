// From a decision to a plan: choices with reasons, shardings, collectives, mesh.
#include "DescribePlan.h"

#include "NameAxes.h"
#include "Parts/Contributions.h"
#include "RunnerUps.h"
#include "StatedStrategies.h"

#include "apc/Graph/LossValues.h"
#include "apc/Graph/Originals.h"
#include "apc/Plan/GatheredParameters.h"
#include "apc/Plan/LayerNames.h"
#include "apc/Support/Saturating.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>
#include <tuple>

namespace apc {

namespace {

/// Numbers in a reason differ from strategy to strategy ("2 is less than 8"); the reason's kind does not. Grouped by
/// the text.
PlanRejections rejectionsOf(const FactorRule &rule, const Mesh &mesh) {
  PlanRejections rejections;
  std::vector<RejectedStrategy> rejected;
  rejections.offered = static_cast<unsigned>(enumerateStrategies(rule, mesh, &rejected).size());
  rejections.rule = rule.str();
  for (const RejectedStrategy &entry : rejected) {
    auto known = llvm::find_if(rejections.reasons,
                               [&](const PlanRejections::Reason &reason) { return reason.reason == entry.reason; });
    if (known != rejections.reasons.end())
      ++known->count;
    else
      rejections.reasons.push_back({entry.reason, 1, entry.strategy.str(rule, mesh)});
  }
  return rejections;
}

/// Inputs and parameters have a sharding, not a choice of their own.
bool hasChoice(const GraphOp &op) { return !op.operands.empty(); }

std::vector<PlanChoice> describeChoices(const OpGraph &graph, const Candidate &candidate, const Mesh &mesh) {
  std::vector<double> waiting(graph.ops.size());
  for (const GraphMove &move : candidate.cost.moves)
    waiting[move.users.front().op.index()] += move.redistribution.seconds;
  std::vector<PlanChoice> choices;
  for (auto [index, op] : llvm::enumerate(graph.ops)) {
    if (!hasChoice(op))
      continue;
    const FactorRule &rule = graph.rules[op.rule.index()];
    const Strategy &strategy = candidate.strategies[index];
    const OpCost &own = candidate.cost.ops[index];
    int64_t bytes = 0;
    for (auto [result, value] : llvm::enumerate(op.results))
      if (value)
        bytes += localShape(graph.value(*value).shape, resultSharding(rule, strategy, result), mesh).bytes();
    choices.push_back(
        {op.name, op.operatorName, NamedStrategy::of(strategy, rule, mesh), own.seconds(), waiting[index], bytes});
    choices.back().merged = op.merged;
    choices.back().isMemoryBound = own.memorySeconds > own.computeSeconds;
  }
  return choices;
}

/// A stage, and the number of ops whose alternatives were not looked for, the time being over.
struct PartlyReasoned {
  StagePlan stage;
  size_t numMissing = 0;
};

/// `stage` with, for each choice, its runner-up, the other choice of its factors, and why other strategies were not
/// offered. \p runnerUps: null where there is no time for any.
PartlyReasoned withReasons(StagePlan stage, const PlanningTask &task, RunnerUps *runnerUps, const Mesh &mesh) {
  constexpr double perReason = 20'000; // nanoseconds
  const OpGraph &graph = task.graph;
  std::map<RuleId, unsigned> rejections;
  size_t numMissing = 0;
  auto choice = stage.choices.begin();
  for (auto [index, op] : llvm::enumerate(graph.ops)) {
    if (!hasChoice(op))
      continue;
    auto [entry, isNew] = rejections.try_emplace(op.rule, static_cast<unsigned>(stage.rejections.size()));
    if (isNew)
      stage.rejections.push_back(rejectionsOf(graph.rules[op.rule.index()], mesh));
    choice->rejections = entry->second;
    if (!runnerUps || task.isOutOfTime(PlanningTask::Part::Reasons)) {
      ++numMissing;
    } else {
      task.spend(perReason);
      const std::vector<std::optional<double>> &extra = runnerUps->extraSeconds(OpId(index));
      choice->runnerUp = runnerUps->of(OpId(index), extra);
      if (graph.rules[op.rule.index()].work != Work::View)
        choice->factors = runnerUps->factors(OpId(index), extra);
    }
    ++choice;
  }
  return {std::move(stage), numMissing};
}

std::vector<PlanSharding> describeShardings(const OpGraph &graph, const Candidate &candidate, const Mesh &mesh) {
  std::vector<PlanSharding> shardings;
  std::vector<std::vector<OpGraph::Use>> uses = graph.uses();
  for (auto [index, value] : llvm::enumerate(graph.values)) {
    Sharding sharding =
        resultSharding(graph.ruleOf(value.producer), candidate.strategies[value.producer.index()], value.resultIndex);
    TensorShape local = localShape(value.shape, sharding, mesh);
    shardings.push_back({value.name,
                         graph.op(value.producer).name,
                         value.role,
                         {value.shape.dims.begin(), value.shape.dims.end()},
                         {local.dims.begin(), local.dims.end()},
                         NamedSharding::of(sharding, mesh),
                         value.shape.elementBits,
                         namesOfUsers(graph, uses[index])});
  }
  return shardings;
}

std::vector<PlanMove> describeMoves(const OpGraph &graph, const Candidate &candidate, const Mesh &mesh) {
  std::vector<PlanMove> moves;
  ProgramPlaces program(graph, candidate.cost.moves, candidate.cost.buckets);
  std::vector<OpId> first = firstUsers(program, candidate.cost.moves, candidate.cost.buckets);
  for (auto [user, move] : llvm::zip_equal(first, candidate.cost.moves)) {
    PlanMove entry;
    entry.target = NamedSharding::of(move.target, mesh);
    entry.seconds = move.redistribution.seconds;
    if (move.source)
      entry.source = NamedSharding::of(candidate.cost.moves[*move.source].target, mesh).str();
    for (ValueId value : move.values)
      entry.values.push_back(graph.value(value).name);
    entry.users = namesOfUsers(graph, move.users);
    if (move.before != user)
      entry.before = graph.op(move.before).name;
    for (const Collective &collective : move.redistribution.collectives)
      entry.collectives.push_back(collective.str(mesh));
    moves.push_back(std::move(entry));
  }
  return moves;
}

std::vector<PlanBucket> describeBuckets(const GraphCost &cost, const Mesh &mesh) {
  std::vector<PlanBucket> buckets;
  for (const MoveBucket &bucket : cost.buckets) {
    PlanBucket &entry = buckets.emplace_back();
    entry.moves.assign(bucket.moves.begin(), bucket.moves.end());
    entry.seconds = bucket.seconds;
    entry.limitBytes = bucket.limitBytes;
    for (const Collective &collective : bucket.collectives) {
      // Places in a tensor differ from value to value.
      std::string text = collective.str(mesh);
      entry.collectives.push_back(text.substr(0, text.find('}') + 1));
      if (collective.kind != CollectiveKind::Slice)
        entry.bytes = std::max(entry.bytes, costedBytes(collective));
    }
  }
  return buckets;
}

/// The values where memory is largest, and the bytes of logits and loss among them.
void describePeak(const OpGraph &graph, const Candidate &candidate, const CostModel &costs, StagePlan &stage) {
  constexpr size_t mostKinds = 12;
  std::vector<bool> isOfLoss = lossValues(graph);
  std::map<std::tuple<std::string, MemoryCategory, bool>, size_t> positions;
  std::vector<PlanPeakValues> &kinds = stage.peakValues;
  for (const PeakValue &each :
       valuesAtPeak(graph, candidate.strategies, costs, candidate.cost.moves, candidate.cost.buckets)) {
    const std::string &name = graph.value(each.value).name;
    std::string pattern = layerPattern(name);
    auto [entry, isNew] = positions.try_emplace({pattern, each.category, each.isCopy}, kinds.size());
    if (isNew)
      kinds.push_back({name, 0, each.category, each.isCopy, 0});
    PlanPeakValues &kind = kinds[entry->second];
    kind.pattern = ++kind.count == 1 ? name : pattern;
    kind.bytes = addSaturating(kind.bytes, each.bytes);
    if (isOfLoss[each.value.index()])
      stage.lossBytes = addSaturating(stage.lossBytes, each.bytes);
  }
  llvm::stable_sort(kinds, [](const PlanPeakValues &a, const PlanPeakValues &b) { return a.bytes > b.bytes; });
  kinds.resize(std::min(kinds.size(), mostKinds));
}

/// `stage` with, for every pinned op, the pins on it and the strategy that would be taken there if it alone were free,
/// as long as there is time.
PartlyReasoned withPins(StagePlan stage, const PlanningTask &task, const Candidate &candidate, const Mesh &mesh) {
  auto isLate = [&] { return !task.control.findsReasons || task.isOutOfTime(PlanningTask::Part::Reasons); };
  const std::optional<PlanningProblem> unpinned =
      buildProblemUntil(isLate, task.graph, CostModel(task.pool, candidate.mesh), {}, zeroStage(task.request.zero),
                        WeightCopies::Chosen, task.fusion);
  std::optional<RunnerUps> alternatives;
  if (unpinned)
    alternatives.emplace(task, candidate, *unpinned, mesh);
  size_t numMissing = 0;
  auto choice = stage.choices.begin();
  for (auto [index, op] : llvm::enumerate(task.graph.ops)) {
    if (!hasChoice(op))
      continue;
    if (task.pins.isPinned(OpId(index))) {
      choice->pinned = PinnedChoice{task.pins.describe(OpId(index))};
      if (alternatives && !isLate())
        choice->pinned->free = alternatives->cheapestOther(OpId(index));
      else
        ++numMissing;
    }
    ++choice;
  }
  return {std::move(stage), numMissing};
}

/// The note on reasons that are missing; none where all are there.
std::vector<std::string> missingNotes(const PlanningTask &task, size_t numMissing, llvm::StringRef what,
                                      size_t numOps) {
  if (numMissing == 0)
    return {};
  return {llvm::formatv(
              "{0} before the {1} of {2} of {3} ops were looked for: {4}", task.endText(), what, numMissing, numOps,
              task.isStopped() ? "left to its end, it finds them" : "with more time (--time-limit) the plan has them")
              .str()};
}

/// FLOPs of a contraction, less those that it makes again: the gradients of an attention make its scores, one of five
/// products, a second time (Dao, "FlashAttention-2", 2023, section 3.1).
double modelFlops(const FactorRule &rule) {
  constexpr double shareOfGradient = 4.0 / 5;
  const bool makesScoresAgain = rule.attention && !rule.linear.empty();
  return rule.flops() * (makesScoresAgain ? shareOfGradient : 1);
}

/// Sets the share of the devices' peak: the seconds that the contractions of the model would take on all devices of the
/// request, those that the plan leaves idle too, at their peak, of those of the step. Contractions that recompute do no
/// work of the model ("model FLOPs utilization", Chowdhery et al., "PaLM", 2022, appendix B).
void setShareOfPeak(Plan &plan, const OpGraph &graph, const Pool &pool) {
  Device device = pool.device;
  device.slowestShare = 1;
  DeviceRates rates(device, pool.runtime);
  double seconds = 0;
  std::map<NumberFormat, double> flops;
  const std::vector<std::optional<ValueId>> originals = originalsOf(graph);
  auto isMadeAgain = [&](std::optional<ValueId> result) { return result && originals[result->index()]; };
  for (const GraphOp &op : graph.ops) {
    if (llvm::any_of(op.results, isMadeAgain))
      continue;
    const FactorRule &rule = graph.rules[op.rule.index()];
    if (rule.work != Work::Contraction)
      continue;
    const NumberFormat format = rates.formatOf(rule, op.format);
    const double rate = rates.matrixFlopsPerSecond(format);
    if (rate <= 0)
      continue;
    double own = modelFlops(rule) * static_cast<double>(op.repeats);
    seconds += own / rate;
    flops[rates.matrixFormat(format)] += own;
  }
  plan.shareOfPeak = seconds / static_cast<double>(plan.request.devices) / plan.stepSeconds;
  std::vector<std::pair<NumberFormat, double>> formats(flops.begin(), flops.end());
  llvm::stable_sort(formats, [](const auto &a, const auto &b) { return a.second > b.second; });
  for (const auto &[format, amount] : formats)
    plan.peakFormats.push_back(numberFormatName(format).str());
}

} // namespace

std::optional<PlanTraining> trainingOf(const OpGraph &graph, const PlanRequest &request) {
  if (request.mode == StepMode::Infer)
    return std::nullopt;
  int64_t count = graph.wholeMicroBatches();
  int64_t size =
      request.microBatch.value_or(request.globalBatch.value_or(knownBatch(graph).value_or(1) * graph.copies) / count);
  return PlanTraining{request.loss,
                      optimizerName(request.optimizer).str(),
                      precisionChoiceName(request.precision).str(),
                      zeroText(request.zero),
                      request.recompute.str(),
                      size * count,
                      size,
                      count,
                      graph.copies};
}

Plan withRates(Plan plan, const OpGraph &graph, const Pool &pool) {
  if (plan.stepSeconds <= 0)
    return plan;
  if (std::optional<int64_t> batch = knownBatch(graph))
    plan.samplesPerSecond = static_cast<double>(*batch * graph.microBatches()) / plan.stepSeconds;
  setShareOfPeak(plan, graph, pool);
  return plan;
}

StagePlan describeOn(const Mesh &mesh, const OpGraph &graph, const Pool &pool, const Candidate &candidate) {
  const GraphCost &cost = candidate.cost;
  StagePlan stage;
  std::vector<std::string> levels;
  for (const Level &level : pool.levels)
    levels.push_back(level.name);
  stage.mesh = PlanMesh::of(mesh, levels);
  stage.computeSeconds = candidate.time.computeSeconds;
  stage.communicationSeconds = cost.communicationSeconds;
  stage.exposedCommunicationSeconds = candidate.time.exposedCommunicationSeconds;
  stage.hostSeconds = candidate.time.hostSeconds;
  stage.flopsPerDevice = cost.flopsPerDevice;
  stage.memory = cost.memory;
  for (auto [kind, bytes] : cost.communicationBytes)
    stage.communicationBytes[collectiveName(kind).str()] = bytes;
  stage.choices = describeChoices(graph, candidate, mesh);
  stage.shardings = describeShardings(graph, candidate, mesh);
  stage.moves = describeMoves(graph, candidate, mesh);
  for (const auto gathers = gathersOf(stage); PlanSharding &sharding : stage.shardings)
    if (sharding.role == ValueRole::Parameter)
      sharding.storage = storageName(gathers.lookup(sharding.value)).str();
  stage.buckets = describeBuckets(cost, mesh);
  stage.collectives = describeCollectives(pool, candidate);
  stage.fullestOp = graph.op(cost.fullestOp).name;
  describePeak(graph, candidate, CostModel(pool, candidate.mesh), stage);
  return stage;
}

StagePlan describeProgram(const OpGraph &graph, const Pool &pool, const Candidate &candidate) {
  return describeOn(withAxesNamed(candidate.mesh, pool), graph, pool, candidate);
}

ReasonedStage describeStage(const PlanningTask &task, const Candidate &candidate, const PlanningProblem *problem) {
  Mesh mesh = withAxesNamed(candidate.mesh, task.pool);
  std::optional<RunnerUps> runnerUps;
  if (problem && task.control.findsReasons)
    runnerUps.emplace(task, candidate, *problem, mesh);
  PartlyReasoned reasoned =
      withReasons(describeOn(mesh, task.graph, task.pool, candidate), task, runnerUps ? &*runnerUps : nullptr, mesh);
  size_t numOps = reasoned.stage.choices.size();
  std::vector<std::string> notes = missingNotes(task, reasoned.numMissing, "runner-ups", numOps);
  if (!task.pins.empty()) {
    reasoned = withPins(std::move(reasoned.stage), task, candidate, mesh);
    llvm::append_range(notes, missingNotes(task, reasoned.numMissing, "unpinned strategies", numOps));
  }
  return {std::move(reasoned.stage), std::move(notes)};
}

std::optional<double> overlappedSeconds(const OpGraph &graph, const Pool &pool, const Candidate &candidate) {
  if (graph.overlaps || !graph.isTrainingStep())
    return std::nullopt;
  return overlappedTime(graph, candidate.cost, CostModel(pool, candidate.mesh)).seconds;
}

Plan describePlan(const PlanningTask &task, const Decision &decision) {
  const Candidate &candidate = decision.candidate;
  ReasonedStage reasoned = describeStage(task, candidate, decision.problem ? &*decision.problem : nullptr);
  Plan plan;
  plan.request = task.request;
  plan.devicesUsed = devicesUsed(task.graph, candidate);
  plan.search = decision.search;
  plan.status = decision.status;
  plan.lowerBoundSeconds = decision.lowerBoundSeconds;
  plan.unlimitedBoundSeconds = decision.unlimitedBoundSeconds;
  plan.isByMemory = decision.isByMemory;
  plan.unsharedSeconds = decision.unsharedSeconds;
  plan.gap = decision.gap;
  plan.overlappedSeconds = overlappedSeconds(task.graph, task.pool, candidate);
  plan.memoryLimitBytes = task.memoryLimitBytes;
  plan.deviceMemoryBytes = task.pool.device.memoryBytes;
  plan.references = decision.references;
  plan.training = trainingOf(task.graph, task.request);
  if (plan.training)
    plan.parallelism = contributionsOf(task, candidate);
  plan.notes = decision.notes;
  if (!decision.reasonOfGap.empty())
    plan.notes.push_back(llvm::formatv("a gap of {0:F2} % is left: {1}", 100 * decision.gap, decision.reasonOfGap));
  llvm::append_range(plan.notes, reasoned.notes);
  plan.timing.problemSeconds = decision.problemSeconds;
  plan.timing.searchSeconds = decision.searchSeconds;
  plan.stages.push_back(std::move(reasoned.stage));
  return withRates(withTotals(std::move(plan)), task.graph, task.pool);
}

} // namespace apc
