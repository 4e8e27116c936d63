// Orders, components and cuts, on graphs small enough to see the answer.
#include "apc/Graph/Algorithms.h"
#include "../ValueOf.h"

#include "llvm/ADT/STLExtras.h"

#include <random>

using namespace apc;
using Catch::Contains;

namespace {

/// A graph of ops with one result each. An op names the ops whose results it reads; `bytes` are those of its result.
class GraphSketch {
public:
  OpId source(const std::string &name, ValueRole role) { return add(name, {}, 4, role); }
  OpId op(const std::string &name, std::initializer_list<OpId> reads, int64_t bytes = 4) {
    return add(name, reads, bytes, ValueRole::Activation);
  }
  void output(OpId read) { graph.ops.push_back({"output", "output", {}, {}, {resultOf(read)}, {}}); }
  /// Makes `op` read `read`, too; `read` may stand behind it.
  void addUse(OpId op, OpId read) { graph.ops[op.index()].operands.emplace_back(resultOf(read)); }

  OpGraph graph;

private:
  std::optional<ValueId> resultOf(OpId op) { return graph.op(op).results.front(); }
  OpId add(const std::string &name, llvm::ArrayRef<OpId> reads, int64_t bytes, ValueRole role) {
    OpId id(graph.ops.size());
    ValueId result(graph.values.size());
    graph.ops.push_back({name, name, {}, {}, {}, {result}});
    graph.values.push_back({name, {{bytes}, 8}, role, id, 0});
    for (OpId read : reads)
      addUse(id, read);
    return id;
  }
};

std::vector<std::string> namesOf(const OpGraph &graph, llvm::ArrayRef<OpId> ops) {
  std::vector<std::string> names;
  for (OpId op : ops)
    names.push_back(graph.op(op).name);
  return names;
}

std::vector<std::string> namesOf(const OpGraph &graph, llvm::ArrayRef<ValueId> values) {
  std::vector<std::string> names;
  for (ValueId value : values)
    names.push_back(graph.value(value).name);
  return names;
}

using Names = std::vector<std::string>;

} // namespace

TEST_CASE("Ops that stand in a topological order keep it") {
  GraphSketch sketch;
  OpId x = sketch.source("x", ValueRole::Input), left = sketch.op("left", {x}), right = sketch.op("right", {x});
  OpId join = sketch.op("join", {right, left}), apart = sketch.op("apart", {x});
  sketch.output(join);
  sketch.output(apart);
  CHECK(namesOf(sketch.graph, valueOf(topologicalOrder(sketch.graph))) ==
        Names{"x", "left", "right", "join", "apart", "output", "output"});
}

TEST_CASE("Every op stands behind the producers of its operands, whatever order the graph is in") {
  std::mt19937 random(7);
  for (unsigned trial = 0; trial < 50; ++trial) {
    constexpr size_t numOps = 40;
    GraphSketch sketch;
    for (size_t op = 0; op < numOps; ++op)
      sketch.op("op" + std::to_string(op), {});
    std::vector<size_t> hidden(numOps); // the order that the uses follow
    for (size_t op = 0; op < numOps; ++op)
      hidden[op] = op;
    std::shuffle(hidden.begin(), hidden.end(), random);
    for (unsigned use = 0; use < 60; ++use) {
      size_t a = random() % numOps, b = random() % numOps;
      if (a != b)
        sketch.addUse(OpId(hidden[std::max(a, b)]), OpId(hidden[std::min(a, b)]));
    }
    std::vector<OpId> order = valueOf(topologicalOrder(sketch.graph));
    REQUIRE(order.size() == numOps);
    std::vector<std::optional<size_t>> position(numOps);
    for (auto [at, op] : llvm::enumerate(order)) {
      REQUIRE(!position[op.index()]); // once
      position[op.index()] = at;
      for (std::optional<ValueId> operand : sketch.graph.op(op).operands)
        CHECK(position[sketch.graph.value(*operand).producer.index()].has_value());
    }
  }
}

TEST_CASE("A cycle has no order, and the error names an op on it") {
  GraphSketch sketch;
  OpId x = sketch.source("x", ValueRole::Input), first = sketch.op("first", {x}), second = sketch.op("second", {first});
  sketch.op("outside", {second});
  sketch.addUse(first, second);
  auto [fault, message] = takeMessage(topologicalOrder(sketch.graph).takeError());
  CHECK(fault == Fault::Internal);
  CHECK_THAT(message, Contains("'first'") || Contains("'second'"));
}

TEST_CASE("Components are numbered by their first ops, and a shared parameter joins its users") {
  GraphSketch sketch;
  OpId x = sketch.source("x", ValueRole::Input), y = sketch.source("y", ValueRole::Input);
  OpId a = sketch.op("a", {x}), b = sketch.op("b", {y});
  sketch.output(a);
  sketch.output(b);
  GraphComponents apart = weaklyConnectedComponents(sketch.graph);
  CHECK(apart.count == 2);
  CHECK(apart.ofOp == std::vector<unsigned>{0, 1, 0, 1, 0, 1});

  OpId weight = sketch.source("weight", ValueRole::Parameter);
  sketch.addUse(a, weight);
  sketch.addUse(b, weight);
  GraphComponents joined = weaklyConnectedComponents(sketch.graph);
  CHECK(joined.count == 1);
  CHECK(joined.ofOp == std::vector<unsigned>(7, 0));
}

TEST_CASE("A graph without ops has no components and no cuts") {
  OpGraph graph;
  CHECK(weaklyConnectedComponents(graph).count == 0);
  CHECK(valueOf(topologicalOrder(graph)).empty());
  CHECK(cutPositions(graph, {}).empty());
}

TEST_CASE("The bytes of a cut are those of the values that ops on both sides share") {
  // x -> a -> b -> c -> d, c reads a, too; each reads a weight; a's result is an output.
  GraphSketch sketch;
  OpId x = sketch.source("x", ValueRole::Input), w = sketch.source("w", ValueRole::Parameter);
  OpId a = sketch.op("a", {x, w}, 10), b = sketch.op("b", {a, w}, 20), c = sketch.op("c", {b, a, w}, 30);
  OpId d = sketch.op("d", {c, c, x}, 40);
  sketch.output(a);
  sketch.output(d);
  std::vector<OpId> order = valueOf(topologicalOrder(sketch.graph));
  std::vector<CutPosition> cuts = cutPositions(sketch.graph, order);
  REQUIRE(cuts.size() == 3); // not beside sources and outputs
  CHECK(sketch.graph.op(order[cuts[0].position]).name == "b");
  CHECK(namesOf(sketch.graph, cuts[0].values) == Names{"a"});
  CHECK(cuts[0].bytes == 10);
  CHECK(sketch.graph.op(order[cuts[1].position]).name == "c");
  CHECK(namesOf(sketch.graph, cuts[1].values) == Names{"a", "b"});
  CHECK(cuts[1].bytes == 30);
  CHECK(namesOf(sketch.graph, cuts[2].values) == Names{"c"}); // once, though d reads it twice
  CHECK(cuts[2].bytes == 30);
}

TEST_CASE("A cut follows the order that it is given") {
  // Two branches of x meet in `join`; one branch after the other keeps fewer values alive than both side by side.
  GraphSketch sketch;
  OpId x = sketch.source("x", ValueRole::Input), start = sketch.op("start", {x}, 1);
  OpId l1 = sketch.op("l1", {start}, 8), l2 = sketch.op("l2", {l1}, 1);
  OpId r1 = sketch.op("r1", {start}, 8), r2 = sketch.op("r2", {r1}, 1);
  OpId join = sketch.op("join", {l2, r2}, 1);
  auto bytes = [&](llvm::ArrayRef<OpId> order) {
    std::vector<int64_t> list;
    for (const CutPosition &cut : cutPositions(sketch.graph, order))
      list.push_back(cut.bytes);
    return list;
  };
  CHECK(bytes({x, start, l1, l2, r1, r2, join}) == std::vector<int64_t>{1, 9, 2, 9, 2});
  CHECK(bytes({x, start, l1, r1, l2, r2, join}) == std::vector<int64_t>{1, 9, 16, 9, 2});
}
