// A whole program by hand: shared moves are counted once, and memory is taken at the op where most of it lives.
#include "ByHand.h"

#include "apc/Cost/GraphCost.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

constexpr int64_t size = 1 << 20; ///< elements of every value, 4 bytes each

/// Two ranks of 4 MiB values; ops over one factor.
struct Builder {
  OpGraph graph;
  std::vector<Strategy> strategies;
  CostModel model = [] {
    Cluster cluster = llvm::cantFail(withDevices(llvm::cantFail(loadCluster("cpu-local")), 2));
    return CostModel(cluster.pool, Mesh::fromLevels(cluster.pool.levelSizes()));
  }();

  /// An op on values; cut over the ranks or whole. Without operands a source, without result a sink.
  std::optional<ValueId> add(llvm::ArrayRef<ValueId> operands, bool hasResult, bool isCut, Work work = Work::Stream,
                             ValueRole role = ValueRole::Activation) {
    FactorRuleBuilder rule;
    FactorId i = rule.addFactor("i", size);
    for (size_t operand = 0; operand < operands.size(); ++operand)
      rule.addOperand({{i}}, 32);
    if (hasResult)
      rule.addResult({{i}}, 32);
    rule.setWork(work);
    GraphOp op;
    op.name = "op" + std::to_string(graph.ops.size());
    op.rule = RuleId(graph.rules.size());
    op.format = NumberFormat::F32;
    op.operands.assign(operands.begin(), operands.end());
    OpId id(graph.ops.size());
    std::optional<ValueId> result;
    if (hasResult) {
      result = ValueId(graph.values.size());
      graph.values.push_back({op.name, TensorShape{{size}, 32}, role, id, 0});
      op.results = {result};
    }
    graph.rules.push_back(rule.take());
    graph.ops.push_back(std::move(op));
    Strategy strategy;
    strategy.axes.resize(1);
    if (isCut)
      strategy.axes[0] = {AxisId(0)};
    strategies.push_back(strategy);
    return result;
  }

  GraphCost cost() { return llvm::cantFail(costOfGraph(graph, strategies, model)); }
};

} // namespace

TEST_CASE("no way to cut contractions takes less than their FLOPs on all devices") {
  for (bool isCut : {false, true}) {
    Builder b;
    ValueId x = *b.add({}, true, isCut);
    b.add({x}, true, isCut, Work::Contraction);
    b.graph.rules.back().flopsPerPoint = 1000;
    b.graph.ops.back().repeats = 3;
    const Device &device = b.model.getPool().device;
    double rate = device.peakVectorFlopsPerSecond.at(NumberFormat::F32);
    if (auto matrix = device.peakFlopsPerSecond.find(NumberFormat::F32); matrix != device.peakFlopsPerSecond.end())
      rate = std::max(rate, matrix->second);
    double least = leastComputeSeconds(b.graph, b.model.getPool());
    CHECK(least == Approx(3.0 * 1000 * size / (2 * rate * device.contractionEfficiency.top())));
    CHECK(least <= b.cost().computeSeconds);
  }
}

TEST_CASE("a chain without moves holds two values at a time") {
  Builder b;
  auto x = b.add({}, true, true, Work::View, ValueRole::Input);
  auto y = b.add({*x}, true, true);
  auto z = b.add({*y}, true, true);
  b.add({*z}, false, true, Work::View);
  GraphCost cost = b.cost();
  CHECK(cost.moves.empty());
  CHECK(cost.communicationSeconds == 0);
  CHECK(cost.memory[MemoryCategory::Activations] == 2 * 2 * mebi); // halves of two values
  CHECK(cost.memory.total() == 4 * mebi);
  CHECK(cost.computeSeconds == Approx(cost.ops[1].seconds() + cost.ops[2].seconds()));
}

TEST_CASE("two users of one sharding share the move, and its copy lives from the first to the last") {
  Builder b;
  auto x = b.add({}, true, true, Work::View, ValueRole::Input);
  auto y = b.add({*x}, true, false); // op 1 and op 2 read x whole
  auto z = b.add({*x}, true, false);
  b.add({*y, *z}, false, false, Work::View);
  GraphCost cost = b.cost();
  REQUIRE(cost.moves.size() == 1);
  CHECK(cost.moves[0].users.size() == 2);
  REQUIRE(cost.moves[0].redistribution.collectives.size() == 1);
  CHECK(cost.moves[0].redistribution.collectives[0].kind == CollectiveKind::AllGather);
  CHECK(cost.communicationSeconds == b.model.collectiveSeconds(cost.moves[0].redistribution.collectives[0]));
  CHECK(cost.communicationBytes.at(CollectiveKind::AllGather) == 4 * mebi);
  // Op 1: half of x (2), its copy (4), y (4) = 10. Op 2: copy, y, z = 12; x is no longer needed.
  CHECK(cost.memory[MemoryCategory::Activations] == 12 * mebi);
  CHECK(cost.memory[MemoryCategory::Communication] == 0);
}

TEST_CASE("a view keeps alive the value or the copy that it reads") {
  Builder b;
  auto x = b.add({}, true, true, Work::View, ValueRole::Input);
  auto view = b.add({*x}, true, true, Work::View);
  auto y = b.add({*view}, true, true);
  auto z = b.add({*y, *view}, true, true);
  b.add({*z}, false, true, Work::View);
  // Op 3: x (through the view), y, z; the view itself has no storage.
  CHECK(b.cost().memory[MemoryCategory::Activations] == 3 * 2 * mebi);

  Builder moved;
  x = moved.add({}, true, true, Work::View, ValueRole::Input);
  view = moved.add({*x}, true, false, Work::View); // reads a whole copy of x
  y = moved.add({*view}, true, false);
  z = moved.add({*y, *view}, true, false);
  moved.add({*z}, false, false, Work::View);
  // Op 3: the copy (through the view), y, z, 4 MiB each; x was needed until the copy was made.
  CHECK(moved.cost().memory[MemoryCategory::Activations] == 12 * mebi);
}

TEST_CASE("inputs are handed over together, also inputs that nothing reads") {
  Builder b;
  auto x = b.add({}, true, true, Work::View, ValueRole::Input);
  auto y = b.add({}, true, true, Work::View, ValueRole::Input);
  b.add({*x}, false, true, Work::View);
  CHECK(y->index() == 1);
  CHECK(b.cost().memory[MemoryCategory::Activations] == 2 * 2 * mebi); // before the first op: halves of x and y
}

TEST_CASE("parameters are there for good and are no activations") {
  Builder b;
  auto x = b.add({}, true, true, Work::View, ValueRole::Input);
  auto w = b.add({}, true, false, Work::View, ValueRole::Parameter);
  auto y = b.add({*x}, true, true);
  auto z = b.add({*y, *w}, true, true); // reads half of w
  b.add({*z}, false, true, Work::View);
  GraphCost cost = b.cost();
  CHECK(cost.memory[MemoryCategory::Parameters] == 4 * mebi);
  REQUIRE(cost.moves.size() == 1);
  CHECK(cost.moves[0].redistribution.seconds == 0);                // a slice
  CHECK(cost.memory[MemoryCategory::Activations] == 3 * 2 * mebi); // y, the slice of w, z
}

TEST_CASE("a value that would have to become partial is our error") {
  Builder b;
  auto x = b.add({}, true, true, Work::View, ValueRole::Input);
  b.add({*x}, true, true);
  b.graph.rules[1].linear.push_back({0});
  b.strategies[1].axes[0].clear();
  b.strategies[1].partialInputs.push_back({AxisId(0)});
  llvm::Expected<GraphCost> cost = costOfGraph(b.graph, b.strategies, b.model);
  REQUIRE_FALSE(static_cast<bool>(cost));
  std::string message;
  llvm::handleAllErrors(cost.takeError(), [&](const IncompatibleStrategies &error) { message = error.message(); });
  CHECK(llvm::StringRef(message).contains("cannot become partial"));
}

TEST_CASE("a runtime keeps gradients whole, or where parameters rest in pieces the pieces that they are reduced to") {
  auto gradientsOf = [](bool restsInPieces, bool keeps) {
    Builder b;
    auto w = b.add({}, true, restsInPieces, Work::View, ValueRole::Parameter);
    auto x = b.add({}, true, false, Work::View, ValueRole::Input);
    auto y = b.add({*x}, true, false);
    auto z = b.add({*x, *y}, true, false);
    auto loss = b.add({*x, *y, *z}, true, false); // four values of 4 MiB
    auto gradient = b.add({*loss}, true, false, Work::Stream, ValueRole::Gradient);
    auto updated = b.add({*w, *gradient}, true, true);
    b.add({*updated}, false, restsInPieces, Work::View);
    b.graph.values[updated->index()].replaces = w;
    Pool pool = b.model.getPool();
    pool.runtime.keepsGradients = keeps;
    CostModel model(pool, b.model.getMesh());
    MemoryTable memory = llvm::cantFail(costOfGraph(b.graph, b.strategies, model)).memory;
    CHECK(memory[MemoryCategory::Activations] == 16 * mebi);
    return memory[MemoryCategory::Gradients];
  };
  for (bool restsInPieces : {false, true})
    CHECK(gradientsOf(restsInPieces, /*keeps=*/false) == 0);
  CHECK(gradientsOf(/*restsInPieces=*/false, /*keeps=*/true) == 4 * mebi); // ZeRO 1
  CHECK(gradientsOf(/*restsInPieces=*/true, /*keeps=*/true) == 2 * mebi);  // ZeRO 3
}

TEST_CASE("gradients that are exchanged together are held until the last, and then with all their copies") {
  Builder b;
  for (int layer = 0; layer < 2; ++layer) {
    auto gradient = b.add({}, true, true, Work::Stream, ValueRole::Gradient);
    b.add({*gradient}, true, false);
  }
  constexpr int64_t part = 2 * mebi, whole = 4 * mebi;
  CHECK(b.cost().memory[MemoryCategory::Gradients] == part + whole);
  Pool pool = b.model.getPool();
  pool.runtime.exchangesGradientsTogether = true;
  CostModel together(pool, b.model.getMesh());
  MemoryTable memory = llvm::cantFail(costOfGraph(b.graph, b.strategies, together)).memory;
  CHECK(memory[MemoryCategory::Gradients] == 2 * part + 2 * whole);
}
