// Values that are gathered once for both passes, or for each pass apart.
#include "../../lib/Planning/Pipeline/Bound/HeldCopies.h"
#include "../../lib/Planning/Problem/LayoutProblem.h"
#include "GraphMaker.h"

#include "apc/Planning/BuildProblem.h"
#include "apc/Search/Algorithms.h"
#include "apc/Support/Error.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// y = x . W in the forward pass, and once more in the backward pass, tied to the first. W rests cut, and is wanted
/// whole.
struct TwoPasses {
  GraphMaker maker;
  ValueId x, w;
  OpId first{0}, second{0};
  Mesh mesh;
  CostModel model;

  TwoPasses()
      : x(maker.source("x", {64, 1024}, ValueRole::Input)), w(maker.source("w", {1024, 512}, ValueRole::Parameter)),
        model(modelOn(8, mesh)) {
    ValueId y = maker.matmul("y", x, w), again = maker.matmul("again", x, w);
    first = maker.graph.value(y).producer;
    second = maker.graph.value(again).producer;
    maker.sink(y);
    maker.sink(again);
    maker.graph.ties = {{first, second}};
  }

  bool keep(OpId op, const Strategy &strategy) const {
    std::string text = strategy.str(maker.graph.ruleOf(op), mesh), axis = mesh.axis(AxisId(0)).name;
    bool isWeight = op == maker.graph.value(w).producer;
    return text == (isWeight ? "d0:" + axis : "replicated");
  }

  PlanningProblem problem(WeightCopies copies = WeightCopies::Chosen) const {
    return buildProblem(
        maker.graph, model, [&](OpId op, const Strategy &strategy) { return keep(op, strategy); }, {}, copies);
  }
};

constexpr int64_t wholeBytes = 1024 * 512 * 2, numRanks = 8;
constexpr int64_t input = 64 * 1024 * 2; // x waits for the backward pass

struct Solved {
  SearchResult result;
  Evaluation sum;
  GraphCost cost;
};

Solved solve(const TwoPasses &passes, PlanningProblem planning, std::optional<int64_t> limit) {
  planning.problem.memoryLimitBytes = limit;
  SearchResult result = llvm::cantFail(searchDp(planning.problem, {}));
  REQUIRE(result.status == SearchStatus::Optimal);
  GraphCost cost = llvm::cantFail(costOfGraph(passes.maker.graph, planning.decode(result.assignment), passes.model,
                                              planning.decodeHubs(result.assignment)));
  return {result, evaluate(planning.problem, result.assignment), std::move(cost)};
}

} // namespace

TEST_CASE("a copy of a weight is kept between the passes where memory allows") {
  TwoPasses passes;
  Solved kept = solve(passes, passes.problem(), std::nullopt);
  REQUIRE(kept.cost.moves.size() == 1);
  CHECK(kept.cost.moves[0].users.size() == 2);
  CHECK(kept.cost.comeAgain.empty());
  CHECK(kept.cost.communicationBytes[CollectiveKind::AllGather] == wholeBytes);
  CHECK(kept.sum.persistentBytes == input + wholeBytes / numRanks + wholeBytes);

  Solved again = solve(passes, passes.problem(), kept.sum.bytes() - 1);
  REQUIRE(again.cost.moves.size() == 2);
  CHECK(again.cost.moves[0].users.size() == 1);
  CHECK(again.cost.moves[0].users[0].op == passes.first);
  CHECK(again.cost.moves[1].users.size() == 1);
  CHECK(again.cost.moves[1].users[0].op == passes.second);
  CHECK(again.cost.comeAgain == std::vector<ValueId>{passes.w});
  CHECK(again.cost.communicationBytes[CollectiveKind::AllGather] == 2 * wholeBytes);
  CHECK(again.sum.persistentBytes == input + wholeBytes / numRanks);
  CHECK(again.cost.communicationSeconds == Approx(2 * kept.cost.communicationSeconds).epsilon(1e-12));

  for (const Solved &program : {kept, again}) {
    CHECK(program.result.seconds == Approx(program.cost.seconds()).epsilon(1e-12));
    CHECK(program.sum.bytes() <= program.cost.memory.total());
  }
}

TEST_CASE("bounds count the copy of a weight that waits for the backward pass") {
  TwoPasses passes;
  const PlanningProblem planning = passes.problem();
  const llvm::SmallVector<HeldCopy> copies = heldCopiesOf(planning, passes.maker.graph, passes.model);
  REQUIRE(copies.size() == 1);
  const HeldCopy &copy = copies.front();
  const Edge &edge = planning.problem.edges[copy.edge];
  CHECK(copy.parameter == planning.nodeOf(passes.maker.graph.value(passes.w).producer));
  CHECK(copy.stored == std::vector<double>{wholeBytes / numRanks});
  CHECK(copy.arriving == copy.stored);
  const Solved kept = solve(passes, planning, std::nullopt), again = solve(passes, planning, kept.sum.bytes() - 1);
  CHECK(copy.atHub[kept.result.assignment[edge.to]] == static_cast<double>(wholeBytes));
  CHECK_FALSE(copy.atHub[again.result.assignment[edge.to]]);
}

TEST_CASE("copies of weights are dropped where a layout says so") {
  TwoPasses passes;
  Solved again = solve(passes, passes.problem(WeightCopies::Dropped), std::nullopt);
  CHECK(again.cost.communicationBytes[CollectiveKind::AllGather] == 2 * wholeBytes);
  CHECK(again.result.seconds == Approx(again.cost.seconds()).epsilon(1e-12));
}

TEST_CASE("a weight that rests as it is used comes for nothing, and keeps nothing") {
  TwoPasses passes;
  PlanningProblem planning = buildProblem(passes.maker.graph, passes.model);
  SearchResult result = llvm::cantFail(searchDp(planning.problem, {}));
  GraphCost cost = llvm::cantFail(costOfGraph(passes.maker.graph, planning.decode(result.assignment), passes.model,
                                              planning.decodeHubs(result.assignment)));
  CHECK(cost.communicationBytes[CollectiveKind::AllGather] == 0);
  CHECK(cost.comeAgain.empty());
  CHECK(result.seconds == Approx(cost.seconds()).epsilon(1e-12));
}

namespace {

/// y = a . W in the forward pass, and once more in the backward pass, tied to the first; a = relu(x) is made cut, and
/// is wanted whole.
struct ActivationTwice {
  GraphMaker maker;
  ValueId a, w;
  Mesh mesh;
  CostModel model;

  ActivationTwice()
      : a(maker.relu("a", maker.source("x", {64, 1024}, ValueRole::Input))),
        w(maker.source("w", {1024, 512}, ValueRole::Parameter)), model(modelOn(8, mesh)) {
    ValueId y = maker.matmul("y", a, w), again = maker.matmul("again", a, w);
    maker.sink(y);
    maker.sink(again);
    maker.graph.ties = {{maker.graph.value(y).producer, maker.graph.value(again).producer}};
  }

  PlanningProblem problem() const {
    std::string axis = mesh.axis(AxisId(0)).name;
    return buildProblem(maker.graph, model, [&](OpId op, const Strategy &strategy) {
      std::string text = strategy.str(maker.graph.ruleOf(op), mesh);
      llvm::StringRef name = maker.graph.op(op).name;
      return text == (name == "x" ? "d0:" + axis : name == "a" ? "b0:" + axis : "replicated");
    });
  }
  GraphCost cost(const PlanningProblem &planning, const Assignment &answer, llvm::ArrayRef<ValueHub> hubs) const {
    return llvm::cantFail(costOfGraph(maker.graph, planning.decode(answer), model, hubs));
  }
};

} // namespace

TEST_CASE("an activation is gathered again for the backward pass where memory binds, and its original is kept") {
  constexpr int64_t wholeA = 64 * 1024 * 2, wholeW = 1024 * 512 * 2;
  ActivationTwice passes;
  PlanningProblem planning = passes.problem();
  SearchResult kept = llvm::cantFail(searchDp(planning.problem, {}));
  Evaluation sum = evaluate(planning.problem, kept.assignment);
  CHECK(sum.persistentBytes == wholeA + wholeW);
  GraphCost once = passes.cost(planning, kept.assignment, planning.decodeHubs(kept.assignment));
  CHECK(once.communicationBytes[CollectiveKind::AllGather] == wholeA);
  CHECK(once.comeAgain.empty());

  planning.problem.memoryLimitBytes = sum.bytes() - 1;
  SearchResult smaller = llvm::cantFail(searchDp(planning.problem, {}));
  REQUIRE(smaller.status == SearchStatus::Optimal);
  CHECK(evaluate(planning.problem, smaller.assignment).persistentBytes == wholeA / 8 + wholeW);
  GraphCost twice = passes.cost(planning, smaller.assignment, planning.decodeHubs(smaller.assignment));
  CHECK(twice.communicationBytes[CollectiveKind::AllGather] == 2 * wholeA);
  CHECK(twice.comeAgain == std::vector<ValueId>{passes.a});
  CHECK(smaller.seconds == Approx(twice.seconds()).epsilon(1e-12));
}

TEST_CASE("a hub that is given is taken though another is faster, for that may need more memory") {
  ActivationTwice passes;
  PlanningProblem planning = passes.problem();
  Assignment answer = llvm::cantFail(searchDp(planning.problem, {})).assignment;
  OpId maker = passes.maker.graph.value(passes.a).producer;
  Sharding made = resultSharding(passes.maker.graph.ruleOf(maker), planning.decode(answer)[maker.index()], 0);
  CHECK(passes.cost(planning, answer, {}).moves.size() == 1);
  CHECK(passes.cost(planning, answer, {ValueHub{passes.a, made}}).moves.size() == 2);
}

namespace {

/// A step: y = a . W with dy = relu(y), da = dy . W^T and dW = a^T . dy. a = relu(x) is made cut over its rows, and is
/// wanted whole by y and dW, on 8 devices whose runtime may gather it again beside da.
struct ProductStep {
  GraphMaker maker;
  ValueId a, w;
  OpId product{0};
  Mesh mesh;
  CostModel model;

  explicit ProductStep(bool gathersInputsAgain)
      : a(maker.relu("a", maker.source("x", {4096, 1024}, ValueRole::Input))),
        w(maker.source("w", {1024, 4096}, ValueRole::Parameter)), model(modelOn(8, mesh)) {
    ValueId y = maker.matmul("y", a, w), dy = maker.relu("dy", y);
    ValueId da = maker.contraction("da", dy, {"m", "n"}, w, {"k", "n"}, {"m", "k"});
    ValueId dw = maker.contraction("dw", a, {"m", "k"}, dy, {"m", "n"}, {"k", "n"});
    ValueId updated = maker.sum("updated", w, dw);
    OpGraph &graph = maker.graph;
    graph.values[updated.index()].replaces = w;
    maker.sink(updated);
    maker.sink(da);
    product = graph.value(da).producer;
    graph.ties = {{graph.value(y).producer, product, graph.value(dw).producer}};
    Pool pool = model.getPool();
    pool.runtime.gathersInputsAgain = gathersInputsAgain;
    model = CostModel(pool, mesh);
  }

  bool keep(OpId op, const Strategy &strategy) const {
    std::string text = strategy.str(maker.graph.ruleOf(op), mesh), axis = mesh.axis(AxisId(0)).name;
    llvm::StringRef name = maker.graph.op(op).name;
    return text == (name == "x" ? "d0:" + axis : name == "a" ? "b0:" + axis : "replicated");
  }
  /// The fastest program, and the seconds that its problem has for it.
  std::pair<GraphCost, double> solve(bool gathersAgain) const {
    RedistributionSeconds moves(mesh, [&](const Collective &each) { return model.collectiveSeconds(each); });
    auto kept = [&](OpId op, const Strategy &strategy) { return keep(op, strategy); };
    auto kinds = [](OpId op) { return op.value; };
    PlanningProblem planning =
        problemOfLayout(maker.graph, model, {kept, kinds, gathersAgain}, WeightCopies::Chosen, {}, moves);
    SearchResult result = llvm::cantFail(searchDp(planning.problem, {}));
    return {llvm::cantFail(costOfGraph(maker.graph, planning.decode(result.assignment), model,
                                       planning.decodeHubs(result.assignment))),
            result.seconds};
  }
};

} // namespace

TEST_CASE("a layout does not keep what products gather, and the second gather runs beside a product") {
  constexpr int64_t wholeA = 4096 * 1024 * 2;
  ProductStep step(/*gathersInputsAgain=*/true);
  auto [again, seconds] = step.solve(/*gathersAgain=*/true);
  CHECK(again.communicationBytes[CollectiveKind::AllGather] == 2 * wholeA);
  CHECK(again.comeAgain == std::vector<ValueId>{step.a});
  CHECK(seconds == Approx(again.seconds()).epsilon(1e-12));
  // The product takes longer than the gather, and is slowed down by it.
  const double gather = again.communicationSeconds / 2;
  REQUIRE(again.ops[step.product.index()].seconds() > 2 * gather);
  const Device &device = step.model.getPool().device;
  const double slower = gather / device.overlappedCommunicationShare * (1 - device.overlappedComputeShare);
  CHECK(again.besideSeconds == Approx(gather - slower).epsilon(1e-12));
  CHECK(again.seconds() == Approx(again.computeSeconds + gather + slower).epsilon(1e-12));
}

TEST_CASE(
    "what may come beside a product is kept where a search finds that faster, and another runtime hides nothing") {
  auto [once, seconds] = ProductStep(/*gathersInputsAgain=*/true).solve(/*gathersAgain=*/false);
  CHECK(once.comeAgain.empty());
  CHECK(once.besideSeconds == 0);
  ProductStep other(/*gathersInputsAgain=*/false);
  auto [kept, sameSeconds] = other.solve(/*gathersAgain=*/false);
  CHECK(sameSeconds == Approx(seconds).epsilon(1e-12));
  std::vector<Strategy> strategies;
  for (size_t op = 0; op < other.maker.graph.ops.size(); ++op)
    for (const Strategy &strategy : enumerateStrategies(other.maker.graph.ruleOf(OpId(op)), other.mesh))
      if (other.keep(OpId(op), strategy)) {
        strategies.push_back(strategy);
        break;
      }
  GraphCost twice = llvm::cantFail(
      costOfGraph(other.maker.graph, strategies, other.model, {ValueHub{other.a, std::nullopt, /*again=*/true}}));
  CHECK(twice.communicationSeconds == Approx(2 * kept.communicationSeconds).epsilon(1e-12));
  CHECK(twice.besideSeconds == 0);
}
