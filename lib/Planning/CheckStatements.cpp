// Derives what a plan says of its model again, and compares.
#include "apc/Planning/CheckStatements.h"

#include "CheckStage.h"
#include "DescribePlan.h"
#include "NameAxes.h"
#include "Pipeline/Workers/WorkerPools.h"
#include "StatedStrategies.h"

#include "apc/Plan/Statement.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

namespace {

constexpr llvm::StringLiteral model = "the model has";
constexpr llvm::StringLiteral program = "the program has";

/// The pool on which a stage runs, and whether it is that of the plan's cluster. A cluster file may be gone: any pool
/// tells sizes of pieces, but no memory of devices and no seconds.
struct StatedPool {
  Pool pool;
  bool isOfCluster = false;
};

/// All axes at one level.
Mesh flattened(const Mesh &mesh) {
  std::vector<MeshAxis> axes(mesh.getAxes());
  for (MeshAxis &axis : axes)
    axis.level = 0;
  return Mesh(std::move(axes));
}

llvm::Error checkLevels(const StagePlan &stage, const Pool &pool) {
  for (const PlanAxis &axis : stage.mesh.axes)
    if (axis.levelIndex >= pool.levels.size() || pool.levels[axis.levelIndex].name != axis.level)
      return noPlanError("mesh axis '{0}' lies on level '{1}' with level_index {2}; the levels of the cluster are {3}",
                         axis.name, axis.level, axis.levelIndex,
                         llvm::join(llvm::map_range(pool.levels, [](const Level &level) { return level.name; }), ", "));
  return llvm::Error::success();
}

/// Of the devices of a worker.
llvm::Expected<StatedPool> poolOf(const Plan &plan, const StagePlan &stage, uint32_t worker) {
  llvm::Expected<PlanningTarget> target = readTarget(plan.request);
  if (!target) {
    llvm::consumeError(target.takeError());
    auto any = withDevices(llvm::cantFail(loadCluster("cpu-local")), stage.numRanks());
    return any ? llvm::Expected<StatedPool>(StatedPool{any->pool}) : any.takeError();
  }
  if (llvm::Error error = checkLevels(stage, target->cluster.pool))
    return error;
  FirstError check;
  check(expectSame("cluster", plan.cluster, target->cluster.name, "the request names"));
  check(expectSame("memory_limit_bytes", plan.memoryLimitBytes, target->memoryLimitBytes, "the request gives"));
  if (llvm::Error error = check.take())
    return error;
  if (!plan.pipeline)
    return StatedPool{target->cluster.pool, true};
  auto workers = workersOf(target->cluster.pool, plan.pipeline->choice(), "pipeline.workers");
  if (!workers)
    return noPlanError("{0}", takeMessage(workers.takeError()).second);
  return StatedPool{workers->pool(worker), true};
}

/// The cost of a program whose moves and buckets are known.
GraphCost costOf(const OpGraph &graph, llvm::ArrayRef<Strategy> strategies, const CostModel &costs,
                 std::vector<GraphMove> moves, std::vector<MoveBucket> buckets) {
  GraphCost cost;
  for (auto [index, strategy] : llvm::enumerate(strategies)) {
    cost.ops.push_back(costOfOp(graph, OpId(index), strategy, costs));
    cost.flopsPerDevice += cost.ops.back().flops;
    cost.computeSeconds += cost.ops.back().seconds();
  }
  for (const GraphMove &move : moves)
    cost.communicationSeconds += move.redistribution.seconds;
  cost.moves = std::move(moves);
  cost.buckets = std::move(buckets);
  cost.besideSeconds = secondsBeside(graph, cost, costs);
  forEachCollective(cost, [&](const Collective &collective, int64_t repeats) {
    cost.communicationBytes[collective.kind] += repeats * exchangedBytes(collective);
  });
  StepPeak peak = graphMemory(graph, strategies, costs, cost.moves, cost.buckets);
  cost.memory = peak.memory;
  cost.fullestOp = OpId(peak.op);
  return cost;
}

/// The stage as it follows from what a plan decides, and the devices that it uses.
struct DerivedStage {
  StagePlan stage;
  Candidate candidate;
  int64_t devicesUsed = 0;
};

/// The seconds of moves and buckets, held against what their collectives take.
llvm::Error checkMoves(const StagePlan &stated, GraphCost truth, const CostModel &costs) {
  FirstError check;
  for (auto [index, bucket] : llvm::enumerate(truth.buckets)) {
    costBucket(costs, truth.moves, bucket);
    check(expectClose("buckets[" + llvm::Twine(index) + "]: seconds", stated.buckets[index].seconds, bucket.seconds,
                      "its collectives take"));
  }
  for (auto [move, own] : llvm::zip_equal(stated.moves, truth.moves)) {
    double seconds = own.bucket ? own.redistribution.seconds : 0;
    for (const Collective &collective : own.redistribution.collectives)
      seconds += own.bucket ? 0 : static_cast<double>(own.repeats) * costs.collectiveSeconds(collective);
    check(expectClose("move of value '" + llvm::join(move.values, "', '") + "' to " + move.target.str() + ": seconds",
                      move.seconds, seconds, "its collectives take"));
  }
  return check.take();
}

llvm::Expected<DerivedStage> derive(const OpGraph &graph, const StagePlan &stage, const Mesh &stated,
                                    const StatedPool &pool) {
  Candidate candidate{pool.isOfCluster ? stated : flattened(stated), {}, {}, {}};
  auto strategies = statedStrategies(graph, stage, candidate.mesh);
  if (!strategies)
    return strategies.takeError();
  candidate.strategies = std::move(*strategies);
  auto moves = statedMoves(graph, candidate.strategies, stage, candidate.mesh);
  if (!moves)
    return moves.takeError();
  auto buckets = statedBuckets(graph, stage, *moves);
  if (!buckets)
    return buckets.takeError();
  if (llvm::Error error = placeAsStated(graph, stage, *moves, *buckets))
    return error;
  CostModel costs(pool.pool, candidate.mesh);
  candidate.cost = costOf(graph, candidate.strategies, costs, std::move(*moves), std::move(*buckets));
  if (pool.isOfCluster)
    if (llvm::Error error = checkMoves(stage, candidate.cost, costs))
      return error;
  candidate.time = stepTime(graph, candidate.cost, costs);
  int64_t used = devicesUsed(graph, candidate);
  StagePlan described = describeOn(candidate.mesh, graph, pool.pool, candidate);
  return DerivedStage{std::move(described), std::move(candidate), used};
}

llvm::Error checkFactors(const PlanChoice &choice, const FactorRule &rule, const Strategy &strategy) {
  FirstError check;
  for (const FactorChoice &stated : choice.factors) {
    std::string place = "factor '" + stated.factor + "' of op '" + choice.op + "': ";
    const auto *factor = llvm::find_if(rule.factors, [&](const Factor &each) { return each.name == stated.factor; });
    if (factor == rule.factors.end()) {
      check(noPlanError("{0}the rule is {1}", place, rule.str()));
      continue;
    }
    check(expectSame(place + "size", stated.size, factor->size, model));
    check(expectSame(place + "must_be_whole", stated.mustBeWhole, factor->whole, model));
    bool isCut = !strategy.axes[static_cast<size_t>(factor - rule.factors.begin())].empty();
    check(expectSame(place + "cut", stated.isCut, isCut, program));
  }
  return check.take();
}

/// Alternatives of a choice must be strategies of its op.
llvm::Error checkAlternatives(const PlanChoice &choice, const FactorRule &rule, const Mesh &mesh) {
  std::vector<const NamedStrategy *> alternatives;
  auto add = [&](const std::optional<RunnerUp> &other) {
    if (other)
      alternatives.push_back(&other->strategy);
  };
  add(choice.runnerUp);
  for (const FactorChoice &factor : choice.factors)
    add(factor.other);
  if (choice.pinned)
    add(choice.pinned->free);
  for (const NamedStrategy *strategy : alternatives)
    if (llvm::Expected<Strategy> bound = strategy->bind(rule, mesh); !bound)
      return noPlanError("alternative '{0}' of op '{1}': {2}", strategy->str(), choice.op,
                         takeMessage(bound.takeError()).second);
  return llvm::Error::success();
}

/// Seconds of the op are known where the cluster is.
llvm::Error checkChoice(const StagePlan &stage, const PlanChoice &stated, const PlanChoice &truth,
                        const FactorRule &rule, const Mesh &mesh, bool hasCosts) {
  std::string place = "choice of op '" + stated.op + "': ";
  llvm::Expected<Strategy> strategy = stated.strategy.bind(rule, mesh);
  if (!strategy)
    return strategy.takeError();
  FirstError check;
  check(expectSame(place + "operator", stated.operatorName, truth.operatorName, model));
  check(expectSame(place + "strategy", stated.strategy.str(), truth.strategy.str(), program));
  check(expectSame(place + "bytes", stated.bytes, truth.bytes, program));
  if (hasCosts) {
    check(expectClose(place + "seconds", stated.seconds, truth.seconds, program));
    check(expectSame(place + "memory_bound", stated.isMemoryBound, truth.isMemoryBound, program));
  }
  check(expectClose(place + "communication_seconds", stated.communicationSeconds, truth.communicationSeconds,
                    "the moves before it sum to"));
  if (!stage.rejections.empty())
    check(expectSame(place + "rule", stage.rejections[stated.rejections].rule, rule.str(), model));
  check(checkFactors(stated, rule, *strategy));
  check(checkAlternatives(stated, rule, mesh));
  return check.take();
}

llvm::Error checkSharding(const PlanSharding &stated, const PlanSharding &truth) {
  std::string place = "sharding of value '" + stated.value + "': ";
  FirstError check;
  check(expectSame(place + "producer", stated.producer, truth.producer, model));
  check(expectSame(place + "role", valueRoleName(stated.role).str(), valueRoleName(truth.role).str(), model));
  check(expectSame(place + "shape", stated.shape, truth.shape, model));
  check(expectSame(place + "local_shape", stated.localShape, truth.localShape, program));
  check(expectSame(place + "dims", stated.sharding.dims, truth.sharding.dims, program));
  check(expectSame(place + "partial", stated.sharding.partial, truth.sharding.partial, program));
  check(expectSame(place + "combiner", combinerName(stated.sharding.combiner).str(),
                   combinerName(truth.sharding.combiner).str(), program));
  check(expectSame(place + "element_bits", stated.elementBits, truth.elementBits, model));
  check(expectSame(place + "users", stated.users, truth.users, program));
  if (!stated.storage.empty()) // plans of earlier versions do not say it
    check(expectSame(place + "storage", stated.storage, truth.storage, program));
  return check.take();
}

llvm::Error checkCollectives(llvm::ArrayRef<PlanCollectives> stated, llvm::ArrayRef<PlanCollectives> truth) {
  if (llvm::Error error = expectSame("number of collectives", stated.size(), truth.size(), program))
    return error;
  FirstError check;
  for (size_t index = 0; index < truth.size(); ++index) {
    std::string place = llvm::formatv("collectives[{0}]: ", index).str();
    check(expectSame(place + "collective", stated[index].collective, truth[index].collective, program));
    check(expectSame(place + "levels", stated[index].levels, truth[index].levels, program));
    check(expectSame(place + "count", stated[index].count, truth[index].count, program));
    check(expectClose(place + "seconds", stated[index].seconds, truth[index].seconds, program));
    check(expectSame(place + "received_bytes", stated[index].receivedBytes, truth[index].receivedBytes, program));
  }
  return check.take();
}

llvm::Error checkBuckets(llvm::ArrayRef<PlanBucket> stated, llvm::ArrayRef<PlanBucket> truth) {
  FirstError check;
  for (auto [index, pair] : llvm::enumerate(llvm::zip_equal(stated, truth))) {
    const auto &[own, known] = pair;
    std::string place = llvm::formatv("buckets[{0}]: ", index).str();
    check(expectSame(place + "collectives", own.collectives, known.collectives, program));
    check(expectSame(place + "bytes", own.bytes, known.bytes, program));
    if (own.bytes > own.limitBytes)
      check(noPlanError("{0}bytes is {1}, above its limit_bytes of {2}", place, own.bytes, own.limitBytes));
  }
  return check.take();
}

/// Plans of other programs may lack the values.
llvm::Error checkPeak(const StagePlan &stated, const StagePlan &truth) {
  if (stated.peakValues.empty())
    return llvm::Error::success();
  FirstError check;
  check(expectSame("logits_and_loss_bytes", stated.lossBytes, truth.lossBytes, program));
  check(expectSame("number of memory_peak_values", stated.peakValues.size(), truth.peakValues.size(), program));
  for (const auto &[own, known] : llvm::zip(stated.peakValues, truth.peakValues)) {
    std::string place = "memory_peak_values of '" + known.pattern + "': ";
    check(expectSame(place + "values", own.pattern, known.pattern, program));
    check(expectSame(place + "count", own.count, known.count, program));
    check(expectSame(place + "category", memoryCategoryName(own.category).str(),
                     memoryCategoryName(known.category).str(), program));
    check(expectSame(place + "copies", own.areCopies, known.areCopies, program));
    check(expectSame(place + "bytes", own.bytes, known.bytes, program));
  }
  return check.take();
}

/// Of memory, of the collectives' seconds and of their levels the cluster decides.
llvm::Error checkFigures(const StagePlan &stated, const StagePlan &truth, bool isOfCluster) {
  FirstError check;
  check(expectClose("flops_per_device", stated.flopsPerDevice, truth.flopsPerDevice, program));
  check(expectSame("communication_bytes", stated.communicationBytes, truth.communicationBytes, program));
  for (MemoryCategory category : allMemoryCategories())
    if (isOfCluster)
      check(expectSame("memory_bytes." + memoryCategoryName(category), stated.memory[category], truth.memory[category],
                       program));
  if (isOfCluster) {
    check(expectSame("memory_bytes.host", stated.memory.hostBytes, truth.memory.hostBytes, program));
    check(expectClose("exposed_communication_seconds", stated.exposedCommunicationSeconds,
                      truth.exposedCommunicationSeconds, program));
    check(expectClose("host_seconds", stated.hostSeconds, truth.hostSeconds, program));
  }
  check(checkBuckets(stated.buckets, truth.buckets));
  if (isOfCluster)
    check(checkCollectives(stated.collectives, truth.collectives));
  if (isOfCluster && !stated.fullestOp.empty())
    check(expectSame("memory_peak_op", stated.fullestOp, truth.fullestOp, program));
  if (isOfCluster)
    check(checkPeak(stated, truth));
  return check.take();
}

} // namespace

llvm::Expected<CheckedStage> checkStageStatements(const OpGraph &graph, const Plan &plan, const StagePlan &stage,
                                                  uint32_t worker) {
  llvm::Expected<Mesh> mesh = stage.mesh.bind(plan.request.devices);
  if (!mesh)
    return mesh.takeError();
  llvm::Expected<StatedPool> pool = poolOf(plan, stage, worker);
  if (!pool)
    return pool.takeError();
  llvm::Expected<DerivedStage> derived = derive(graph, stage, *mesh, *pool);
  if (!derived)
    return derived.takeError();
  const StagePlan &truth = derived->stage;
  FirstError check;
  auto op = graph.ops.begin();
  for (auto [stated, choice] : llvm::zip_equal(stage.choices, truth.choices)) {
    while (op->operands.empty())
      ++op;
    check(checkChoice(stage, stated, choice, graph.rules[op->rule.index()], *mesh, pool->isOfCluster));
    ++op;
  }
  for (auto [stated, sharding] : llvm::zip_equal(stage.shardings, truth.shardings))
    check(checkSharding(stated, sharding));
  check(checkFigures(stage, truth, pool->isOfCluster));
  if (pool->isOfCluster && !plan.pipeline) {
    std::optional<double> overlapped = overlappedSeconds(graph, pool->pool, derived->candidate);
    check(expectSame("overlapped_seconds is there", plan.overlappedSeconds.has_value(), overlapped.has_value(),
                     "for a step of training in turn:"));
    if (overlapped)
      check(expectClose("overlapped_seconds", plan.overlappedSeconds.value_or(0), *overlapped, program));
  }
  if (llvm::Error error = check.take())
    return std::move(error);
  return CheckedStage{std::move(derived->candidate), derived->devicesUsed, pool->isOfCluster};
}

/// Of a plan without a pipeline.
static llvm::Error checkOneStage(const OpGraph &graph, const Plan &plan) {
  if (llvm::Error error = expectSame("number of stages", plan.stages.size(), size_t(1), program))
    return error;
  auto stage = checkStageStatements(graph, plan, plan.stages.front(), /*worker=*/0);
  if (!stage)
    return stage.takeError();
  return expectSame("devices_used", plan.devicesUsed, stage->devicesUsed, program);
}

llvm::Error checkStatements(const OpGraph &graph, const Plan &plan) {
  FirstError check;
  check(checkSums(plan));
  check(checkOrigin(plan));
  check(checkTraining(graph, plan));
  check(checkRates(graph, plan));
  if (plan.pipeline)
    check(expectSame("overlapped_seconds", plan.overlappedSeconds, std::optional<double>(), "a pipeline has"));
  if (llvm::Error error = check.take())
    return error;
  if (llvm::Error error = plan.pipeline ? checkPipelineStatements(graph, plan) : checkOneStage(graph, plan))
    return error;
  return checkChoices(plan);
}

} // namespace apc
