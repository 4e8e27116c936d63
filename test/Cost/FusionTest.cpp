// Buckets by hand: their sizes, seconds, counts and memory, and the order of ops that wait for them.
#include "ByHand.h"

#include "apc/Cost/GraphCost.h"

#include <catch2/catch.hpp>

#include <random>

using namespace apc;

namespace {

/// 8 devices at 50 GB/s whose messages take 1 us in every protocol; a collective starts in 5 us.
Pool poolOfEight() {
  Pool pool = llvm::cantFail(withDevices(llvm::cantFail(loadCluster("cpu-local")), 8)).pool;
  Level device{.name = "device", .size = 8, .bytesPerSecond = 5e10, .latencySeconds = 1e-6, .bulkLatencySeconds = 1e-6};
  pool.levels = {device};
  pool.device.collectiveLaunchSeconds = 5e-6;
  return pool;
}

/// All devices along one axis.
Mesh makeMesh() { return Mesh({{"x0", 8, 0}}); }

Collective gather(int64_t bytes) {
  Collective collective{CollectiveKind::AllGather, {AxisId(0)}, 0, 0, {}, bytes / 8, bytes};
  return collective;
}

/// Values of one dim; parameters rest in pieces and are used whole, gradients are partial and used whole.
struct Step {
  OpGraph graph;
  std::vector<Strategy> strategies;
  Fusion fusion;
  CostModel model{poolOfEight(), makeMesh()};

  /// An op that reads vectors of `size` floats. With `rows`, its operands are [rows, size] and its result is their sum
  /// over rows, which the 8 devices share.
  std::optional<ValueId> add(llvm::ArrayRef<ValueId> operands, bool hasResult, int64_t size, bool isCut,
                             ValueRole role = ValueRole::Activation, int64_t rows = 0) {
    FactorRuleBuilder rule;
    FactorId i = rule.addFactor("i", size), r = rows ? rule.addFactor("r", rows) : i;
    for (size_t operand = 0; operand < operands.size(); ++operand)
      rule.addOperand(rows ? llvm::SmallVector<DimFactors, 4>{{r}, {i}} : llvm::SmallVector<DimFactors, 4>{{i}}, 32);
    if (hasResult)
      rule.addResult({{i}}, 32);
    rule.setWork(operands.empty() || !hasResult ? Work::View : Work::Stream);
    GraphOp op{"op" + std::to_string(graph.ops.size()), "op", RuleId(graph.rules.size()), NumberFormat::F32, {}, {}};
    op.operands.assign(operands.begin(), operands.end());
    std::optional<ValueId> result;
    if (hasResult) {
      result = ValueId(graph.values.size());
      graph.values.push_back({op.name, TensorShape{{size}, 32}, role, OpId(graph.ops.size()), 0});
      op.results = {result};
    }
    graph.rules.push_back(rule.take());
    graph.ops.push_back(std::move(op));
    Strategy strategy;
    strategy.axes.resize(rows ? 2 : 1);
    if (rows || isCut)
      strategy.axes[rows ? 1 : 0] = {AxisId(0)};
    strategies.push_back(strategy);
    fusion.groupOf.resize(graph.values.size());
    return result;
  }

  /// All values of these are one group.
  void together(llvm::ArrayRef<ValueId> values, std::optional<int64_t> mostBytes) {
    fusion.mostBytes = mostBytes;
    fusion.groupBytes = {0};
    for (ValueId value : values) {
      fusion.groupOf[value.index()] = 0;
      fusion.groupBytes[0] += graph.value(value).shape.bytes();
    }
  }

  GraphCost cost() { return llvm::cantFail(costOfGraph(graph, strategies, model, {}, fusion)); }
};

/// Parameters of 1, 2, ... MiB, each used by an op of its own, one after the other.
struct Gathers : Step {
  std::vector<ValueId> parameters;

  explicit Gathers(int64_t count) {
    for (int64_t p = 0; p < count; ++p)
      parameters.push_back(*add({}, true, (p + 1) * mebi / 4, true, ValueRole::Parameter));
    for (ValueId parameter : parameters)
      add({*add({parameter}, true, graph.value(parameter).shape.dims[0], false)}, false,
          graph.value(parameter).shape.dims[0], false);
  }
};

/// AllGather of so many MiB by the ring: 5 us + 7 hops of 1 us + 7/8 of the bytes at 50 GB/s.
double gatherSeconds(double mebis) { return 12e-6 + 7.0 / 8 * mebis * mebi / 5e10; }

} // namespace

TEST_CASE("A bucket is so large that latency takes 5 % of its time: 19 latency * bandwidth, in whole MiB") {
  CostModel model(poolOfEight(), makeMesh());
  // 19 * 12 us * 50 GB/s * 8/7 = 13.03 MB = 12.4 MiB
  CHECK(efficientBytes(gather(1000), model) == 13 * mebi);
  // Two passes of 7 us, and 5 us: 19 * 19 us * 50 GB/s * 4/7 = 10.3 MB = 9.8 MiB
  Collective reduce{CollectiveKind::AllReduce, {AxisId(0)}, 0, 0, {}, 1000, 1000};
  CHECK(efficientBytes(reduce, model) == 10 * mebi);
  for (const Collective &each : {gather(1000), reduce}) {
    Collective full = each;
    full.inputBytes = full.outputBytes = efficientBytes(each, model);
    double latency = each.kind == CollectiveKind::AllGather ? 12e-6 : 19e-6;
    CHECK(latency / model.collectiveSeconds(full) <= 0.05);
    CHECK(latency / model.collectiveSeconds(full) > 0.045);
  }
}

TEST_CASE("Gathers of one bucket cost one collective of their bytes, and count once") {
  Gathers step(3);
  GraphCost alone = step.cost();
  CHECK(alone.numCollectives() == 3);
  CHECK(alone.communicationSeconds == Approx(gatherSeconds(1) + gatherSeconds(2) + gatherSeconds(3)));
  step.together(step.parameters, 6 * mebi);
  GraphCost cost = step.cost();
  REQUIRE(cost.buckets.size() == 1);
  CHECK(cost.buckets[0].moves == std::vector<size_t>{0, 1, 2});
  CHECK(cost.buckets[0].limitBytes == 6 * mebi);
  CHECK(cost.numCollectives() == 1);
  CHECK(cost.communicationSeconds == Approx(gatherSeconds(6)));
  CHECK(cost.communicationBytes == alone.communicationBytes);
  // Shares by bytes: 1, 2 and 3 of 6.
  for (size_t move = 0; move < 3; ++move)
    CHECK(cost.moves[move].redistribution.seconds == Approx(gatherSeconds(6) * double(move + 1) / 6));
  // Results live to the end: 1 + 2 MiB of them, and a copy and a result of 3 MiB at the last op. With the bucket a
  // result of 1 MiB and copies of 6 MiB at the first op are no more.
  CHECK(alone.memory[MemoryCategory::Activations] == 9 * mebi);
  CHECK(cost.memory[MemoryCategory::Activations] == 9 * mebi);
}

TEST_CASE("Copies of a bucket live from its first use on") {
  // The first op reads the small parameter, on a value that dies with it; the last the large one.
  Step step;
  ValueId small = *step.add({}, true, mebi / 4, true, ValueRole::Parameter);
  ValueId large = *step.add({}, true, 8 * mebi / 4, true, ValueRole::Parameter);
  ValueId input = *step.add({}, true, mebi / 4, false, ValueRole::Input);
  step.add({input, small}, true, mebi / 4, false);
  step.add({large}, true, 8 * mebi / 4, false);
  // At the last op: the copy and its result.
  CHECK(step.cost().memory[MemoryCategory::Activations] == 16 * mebi);
  CHECK(step.cost().fullestOp == OpId(4));
  step.together({small, large}, 16 * mebi);
  GraphCost cost = step.cost();
  REQUIRE(cost.buckets.size() == 1);
  // At the first: input, copies of 1 and 8 MiB, result. At the last as before.
  CHECK(cost.memory[MemoryCategory::Activations] == 16 * mebi);
  StepPeak cut = graphMemory(step.graph, step.strategies, step.model, cost.moves, {});
  CHECK(cut.memory == cost.memory);
}

TEST_CASE("A bucket that would be larger than its limit is closed, and what is larger alone moves alone") {
  Gathers step(5);
  step.together(step.parameters, 4 * mebi);
  GraphCost cost = step.cost();
  // 1 + 2, then 3 alone (4 does not fit beside it), 4 alone, 5 is larger than a bucket.
  REQUIRE(cost.buckets.size() == 1);
  CHECK(cost.buckets[0].moves == std::vector<size_t>{0, 1});
  CHECK(cost.communicationSeconds == Approx(gatherSeconds(3) + gatherSeconds(3) + gatherSeconds(4) + gatherSeconds(5)));
  CHECK(cost.numCollectives() == 4);
  step.together(step.parameters, 0);
  CHECK(step.cost().buckets.empty());
}

TEST_CASE("Weights are gathered by the layer at most, however many bytes the link could take at once") {
  Gathers step(5);
  step.together(step.parameters, std::nullopt);
  // 13 MiB by the link: 1 + 2 + 3 + 4, and 5 alone.
  REQUIRE(step.cost().buckets.size() == 1);
  CHECK(step.cost().buckets[0].moves == std::vector<size_t>{0, 1, 2, 3});
  step.fusion.layerBytes = {3 * mebi};
  GraphCost cost = step.cost();
  REQUIRE(cost.buckets.size() == 1);
  CHECK(cost.buckets[0].moves == std::vector<size_t>{0, 1});
  CHECK(cost.buckets[0].limitBytes == 3 * mebi);
  CHECK(cost.communicationSeconds == Approx(gatherSeconds(3) + gatherSeconds(3) + gatherSeconds(4) + gatherSeconds(5)));
  // A value has no less than its share of 3 MiB; gradients that stay whole, and a size that is asked for, know no
  // layer.
  FusedCosts costs(step.fusion, step.model);
  CHECK(costs.leastSeconds(gather(mebi), 0) == Approx(gatherSeconds(3) / 3));
  CHECK(step.fusion.mostWholeBytes(0, CollectiveKind::ReduceScatter) == 3 * mebi);
  CHECK(step.fusion.mostWholeBytes(0, CollectiveKind::AllReduce) == 15 * mebi);
  step.fusion.mostBytes = 10 * mebi;
  CHECK(step.cost().buckets[0].moves == std::vector<size_t>{0, 1, 2, 3});
}

TEST_CASE("Gradients of a bucket are reduced when the last is made; their updates wait for it") {
  Step step;
  ValueId x = *step.add({}, true, 64 * 1024, true, ValueRole::Input);
  std::vector<ValueId> gradients;
  for (int p = 0; p < 2; ++p) { // a gradient of 256 KiB, then its update
    ValueId rows = *step.add({x}, true, 64 * 1024, true);
    step.graph.values[rows.index()].shape.dims = {8, 64 * 1024};
    FactorRuleBuilder rule;
    FactorId r = rule.addFactor("r", 8), i = rule.addFactor("i", 64 * 1024);
    rule.addResult({{r}, {i}}, 32);
    rule.setWork(Work::View);
    step.graph.rules[step.graph.op(step.graph.value(rows).producer).rule.index()] = rule.take();
    step.graph.ops[step.graph.value(rows).producer.index()].operands.clear();
    step.strategies.back().axes = {{AxisId(0)}, {}};
    gradients.push_back(*step.add({rows}, true, 64 * 1024, false, ValueRole::Gradient, 8));
    step.add({gradients.back()}, true, 64 * 1024, false);
  }
  // 0 x, 1 rows, 2 gradient, 3 update, 4 rows, 5 gradient, 6 update
  step.together(gradients, mebi);
  GraphCost cost = step.cost();
  REQUIRE(cost.buckets.size() == 1);
  CHECK(cost.buckets[0].collectives[0].kind == CollectiveKind::AllReduce);
  CHECK(cost.buckets[0].collectives[0].inputBytes == 512 * 1024);
  // 5 us + 2 passes of 7 us and 7/8 of 512 KiB at 50 GB/s
  CHECK(cost.communicationSeconds == Approx(19e-6 + 2 * 7.0 / 8 * 512 * 1024 / 5e10));
  std::vector<OpId> order = programOrder(step.graph, cost.moves, cost.buckets);
  std::vector<size_t> places;
  for (OpId op : order)
    places.push_back(op.index());
  CHECK(places == std::vector<size_t>{0, 1, 2, 4, 5, 3, 6});
}

TEST_CASE("A bucket waits for a parameter that another stage sends, and what arrives before it is held meanwhile") {
  Step step;
  ValueId a = *step.add({}, true, mebi, true, ValueRole::Parameter);
  ValueId x = *step.add({a}, true, mebi, false);
  ValueId h = *step.add({}, true, mebi, true, ValueRole::Input);
  ValueId y = *step.add({x, h}, true, mebi, true);
  ValueId b = *step.add({}, true, mebi, true, ValueRole::Parameter);
  step.add({y, b}, true, mebi, false);
  for (ValueId arrival : {h, b})
    step.graph.ops[step.graph.value(arrival).producer.index()].isTransfer = true;
  step.together({a, b}, 64 * mebi);
  GraphCost cost = step.cost();
  REQUIRE(cost.buckets.size() == 1);
  // 0 a, 1 x, 2 h, 3 y, 4 b, 5 z: the first op waits for b, and h arrives before b.
  std::vector<size_t> places;
  for (OpId op : programOrder(step.graph, cost.moves, cost.buckets))
    places.push_back(op.index());
  CHECK(places == std::vector<size_t>{0, 2, 4, 1, 3, 5});
}

TEST_CASE("A move that depends on another is never taken with it") {
  // y is made from the gathered x, and gathered itself.
  Step step;
  ValueId x = *step.add({}, true, mebi, true, ValueRole::Parameter);
  ValueId whole = *step.add({x}, true, mebi, false);
  ValueId y = *step.add({whole}, true, mebi, true);
  ValueId z = *step.add({y}, true, mebi, false);
  step.add({z}, false, mebi, false);
  step.together({x, y}, 64 * mebi);
  GraphCost cost = step.cost();
  CHECK(cost.buckets.empty());
  CHECK(cost.numCollectives() == 2);
}

namespace {

/// An exchange over the innermost axis, and perhaps over the outermost one too.
Collective anyExchange(const Mesh &mesh, int round, std::mt19937 &random) {
  constexpr CollectiveKind kinds[] = {CollectiveKind::AllReduce, CollectiveKind::AllGather,
                                      CollectiveKind::ReduceScatter};
  Collective exchange{kinds[round % 3], {AxisId(mesh.numAxes() - 1)}, 0, 0, {}, 0, 0};
  if (random() % 2)
    exchange.axes.push_back(AxisId(0));
  return exchange;
}

/// The exchange of a value whose part of \p bytes is one of \p cuts.
Collective exchangeOf(Collective exchange, int64_t bytes, int64_t cuts) {
  exchange.inputBytes = exchange.outputBytes = bytes;
  exchange.wholeBytes = bytes * cuts;
  return exchange;
}

/// How many parts the axes beside those of an exchange can cut a value into.
int64_t mostCuts(const Collective &exchange, const Mesh &mesh) {
  int64_t cuts = mesh.numDevices();
  for (AxisId axis : exchange.axes)
    cuts /= mesh.axis(axis).size;
  return cuts;
}

} // namespace

TEST_CASE("The least seconds of the values of a bucket are never more than the bucket takes") {
  std::mt19937 random(5);
  for (const char *cluster : {"dgx-h100", "dgx-a100-80gb", "tpu-v4", "mi300x"}) {
    Pool pool = llvm::cantFail(withDevices(llvm::cantFail(loadCluster(cluster)), 64)).pool;
    Mesh mesh = Mesh::fromLevels(pool.levelSizes());
    CostModel model(pool, mesh);
    int ofLayers = 0, ofGroups = 0; // rounds with an exact sum
    for (int round = 0; round < 600; ++round) {
      const Collective exchange = anyExchange(mesh, round, random);
      // All whole beside the exchange, all cut by everything beside it, or each as may be.
      const int64_t most = mostCuts(exchange, mesh);
      const int kind = round / 3 % 3;
      auto cutsOfNext = [&] { return kind == 0 ? 1 : kind == 1 ? most : std::min(most, int64_t(1) << (random() % 7)); };
      std::vector<Collective> own;
      for (size_t count = 1 + random() % 20; count-- > 0;)
        own.push_back(exchangeOf(exchange, int64_t(1) << (random() % 25), cutsOfNext()));
      Collective all = exchange;
      for (const Collective &each : own) {
        all.inputBytes = all.outputBytes = all.inputBytes + each.inputBytes;
        all.wholeBytes += each.wholeBytes;
      }
      // One bucket has the whole group, or a layer of it, which may be too much for one bucket.
      const bool isByLayer = round % 2 && exchange.kind != CollectiveKind::AllReduce;
      Fusion fusion{{}, {all.wholeBytes}, all.inputBytes * int64_t(1 + random() % 3)};
      if (isByLayer)
        fusion = {{}, {2 * all.wholeBytes}, std::nullopt, std::nullopt, {all.wholeBytes}};
      FusedCosts costs(fusion, model);
      if (all.inputBytes > costs.bucketBytes(all))
        continue;
      double least = 0;
      for (const Collective &each : own) {
        least += costs.leastSeconds(each, 0);
        CHECK(costs.leastSeconds(each, 0) <= model.collectiveSeconds(each) * (1 + 1e-12));
      }
      CHECK(least <= model.collectiveSeconds(all) * (1 + 1e-12));
      const int64_t together = std::min(all.wholeBytes, costs.bucketBytes(all)), part = all.wholeBytes / most;
      const bool isExact = isByLayer && 0 < part && part <= together / 2; // of parts as small as may be
      if (together == all.inputBytes || (kind == 1 && isExact)) {
        CHECK(least >= 0.999999 * model.collectiveSeconds(all));
        ++(isByLayer ? ofLayers : ofGroups);
      }
    }
    CHECK(ofLayers > 20);
    CHECK(ofGroups > 20);
  }
}
