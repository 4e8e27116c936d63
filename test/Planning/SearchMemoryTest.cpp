// Bytes as the search adds them up, beside the program's peak by liveness.
#include "GraphMaker.h"

#include "apc/Planning/BuildProblem.h"
#include "apc/Search/Algorithms.h"
#include "apc/Support/Error.h"

#include <catch2/catch.hpp>

#include <random>

using namespace apc;

namespace {

/// The bytes of the search for one choice of strategies, and the cost of its program; none where a value would have to
/// become partial.
struct Bytes {
  int64_t searched;
  GraphCost cost;
};
std::optional<Bytes> bytesOf(const OpGraph &graph, const CostModel &model, llvm::ArrayRef<Strategy> strategies) {
  llvm::Expected<GraphCost> cost = costOfGraph(graph, strategies, model);
  if (!cost) {
    llvm::consumeError(cost.takeError());
    return std::nullopt;
  }
  PlanningProblem planning =
      buildProblem(graph, model, [&](OpId op, const Strategy &strategy) { return strategies[op.index()] == strategy; });
  return Bytes{evaluate(planning.problem, llvm::cantFail(searchDp(planning.problem, {})).assignment).bytes(),
               std::move(*cost)};
}

/// All ops whole.
std::vector<Strategy> whole(const OpGraph &graph) {
  std::vector<Strategy> strategies;
  for (const GraphOp &op : graph.ops) {
    const FactorRule &rule = graph.rules[op.rule.index()];
    strategies.emplace_back();
    strategies.back().axes.resize(rule.factors.size());
    strategies.back().partialInputs.resize(rule.linear.size());
  }
  return strategies;
}

constexpr int64_t mebi = int64_t(1) << 20;

} // namespace

TEST_CASE("an operand that is read twice counts once") {
  GraphMaker maker;
  ValueId x = maker.source("x", {1024, 1024}, ValueRole::Input); // 2 MiB
  maker.sink(maker.product("square", x, x));
  Mesh mesh;
  std::optional<Bytes> bytes = bytesOf(maker.graph, modelOn(2, mesh), whole(maker.graph));
  REQUIRE(bytes);
  CHECK(bytes->searched == 4 * mebi);
  CHECK(bytes->cost.memory.total() == 4 * mebi);
}

TEST_CASE("views of parameters count nothing beside the parameter") {
  GraphMaker maker;
  ValueId w = maker.source("w", {1024, 1024}, ValueRole::Parameter);
  ValueId x = maker.source("x", {1024, 1024}, ValueRole::Input);
  maker.sink(maker.product("scaled", x, maker.view("again", maker.view("w2", w))));
  Mesh mesh;
  std::optional<Bytes> bytes = bytesOf(maker.graph, modelOn(2, mesh), whole(maker.graph));
  REQUIRE(bytes);
  CHECK(bytes->searched == 6 * mebi); // w, x, the product
  CHECK(bytes->cost.memory.total() == 6 * mebi);
}

TEST_CASE("two views of one value share its storage") {
  GraphMaker maker;
  ValueId x = maker.relu("y", maker.source("x", {1024, 1024}, ValueRole::Input));
  maker.sink(maker.product("both", maker.view("a", x), maker.view("b", x)));
  Mesh mesh;
  std::optional<Bytes> bytes = bytesOf(maker.graph, modelOn(2, mesh), whole(maker.graph));
  REQUIRE(bytes);
  CHECK(bytes->searched == 4 * mebi);
}

TEST_CASE("a value of another stage lives from its arrival, one that is sent until then") {
  for (bool isTransfer : {false, true}) {
    INFO((isTransfer ? "sent and received" : "results and inputs"));
    GraphMaker maker;
    ValueId a = maker.relu("a", maker.source("x", {1024, 1024}, ValueRole::Input)); // 2 MiB each
    maker.sink(a);
    maker.graph.ops.back().isTransfer = isTransfer;
    ValueId b = maker.source("b", {1024, 1024}, ValueRole::Input);
    maker.graph.ops.back().isTransfer = isTransfer;
    ValueId c = maker.relu("c", b);
    maker.sink(c);
    Mesh mesh;
    CostModel model = modelOn(2, mesh);
    std::vector<Strategy> strategies = whole(maker.graph);
    int64_t most = (isTransfer ? 4 : 6) * mebi; // x and a, later b and c; or three of them
    CHECK(bytesOf(maker.graph, model, strategies)->cost.memory.total() == most);
    auto keep = [&](OpId op, const Strategy &strategy) { return strategies[op.index()] == strategy; };
    for (ValueId made : {a, c}) {
      Moment moment{maker.graph.value(made).producer};
      PlanningProblem planning = buildProblem(maker.graph, model, keep, {}, WeightCopies::Chosen, {}, moment);
      Assignment assignment = llvm::cantFail(searchDp(planning.problem, {})).assignment;
      int64_t searched = evaluate(planning.problem, assignment).bytes();
      CHECK((isTransfer ? searched == most : searched > 4 * mebi));
    }
  }
}

TEST_CASE("copies of a micro-batch have values of their own, and inputs, but no parameters") {
  GraphMaker maker;
  ValueId w = maker.source("w", {1024, 1024}, ValueRole::Parameter); // 2 MiB each
  ValueId x = maker.source("x", {1024, 1024}, ValueRole::Input);
  maker.sink(maker.product("scaled", x, w));
  for (GraphOp &own : maker.graph.ops)
    own.repeats = own.operands.empty() ? 1 : 6;
  maker.graph.copies = 3;
  Mesh mesh;
  std::optional<Bytes> bytes = bytesOf(maker.graph, modelOn(2, mesh), whole(maker.graph));
  REQUIRE(bytes);
  CHECK(bytes->cost.memory.total() == (1 + 3 * 2) * 2 * mebi);
  CHECK(bytes->searched == (1 + 3 * 2) * 2 * mebi);
}

TEST_CASE("the search never counts more than the program's peak") {
  std::mt19937_64 random(5);
  auto draw = [&](size_t size) { return static_cast<size_t>(random() % size); };
  size_t numPrograms = 0, numEqual = 0;
  for (size_t round = 0; round < 600; ++round) {
    GraphMaker maker;
    std::vector<ValueId> values{maker.source("x", {512, 512}, ValueRole::Input),
                                maker.source("w", {512, 512}, ValueRole::Parameter)};
    for (size_t op = 0; op < 5; ++op) {
      ValueId a = values[draw(values.size())], b = values[draw(values.size())];
      std::string name = "op" + std::to_string(op);
      size_t kind = draw(4);
      values.push_back(kind == 0   ? maker.view(name, a)
                       : kind == 1 ? maker.product(name, a, b)
                       : kind == 2 ? maker.matmul(name, a, b)
                                   : maker.relu(name, a));
    }
    maker.sink(values.back());
    if (round % 3 == 0) { // every micro-batch in two copies
      maker.graph.copies = 2;
      for (GraphOp &own : maker.graph.ops)
        own.repeats = own.operands.empty() ? 1 : 4;
    }
    Mesh mesh;
    CostModel model = modelOn(round % 2 ? 2 : 4, mesh);
    std::vector<Strategy> strategies;
    for (size_t op = 0; op < maker.graph.ops.size(); ++op) {
      std::vector<Strategy> offered = enumerateStrategies(maker.graph.ruleOf(OpId(op)), mesh);
      strategies.push_back(offered[draw(offered.size())]);
    }
    std::optional<Bytes> bytes = bytesOf(maker.graph, model, strategies);
    if (!bytes)
      continue;
    ++numPrograms;
    numEqual += bytes->searched == bytes->cost.memory.total();
    CHECK(bytes->searched <= bytes->cost.memory.total());
  }
  CHECK(numPrograms > 200);
  CHECK(numEqual > 0);
}
