// Sizes of a graph at another batch, and rules that are equal there.
#include "apc/Graph/Batch.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// A rule with the factors "a" and "b" of these sizes.
FactorRule ruleOf(int64_t a, int64_t b) {
  FactorRule rule;
  rule.factors = {{"a", a}, {"b", b}};
  return rule;
}

/// Ops with rules of 3 batches by 8, of 4 by 8, of 7 batches by 8, and of 3 batches by 8 again.
OpGraph graphOfAnyBatch() {
  OpGraph graph;
  graph.rules = {ruleOf(3 * anyBatch, 8), ruleOf(4, 8), ruleOf(7 * anyBatch, 8)};
  for (unsigned rule : {0U, 1U, 2U, 0U}) {
    GraphOp op;
    op.rule = RuleId(rule);
    graph.ops.push_back(op);
  }
  graph.values.emplace_back().shape = TensorShape{{3 * anyBatch, 8, 1}, 16};
  return graph;
}

} // namespace

TEST_CASE("multiples of the batch change, and no other sizes") {
  OpGraph graph = atBatch(graphOfAnyBatch(), 5);
  REQUIRE(graph.rules.size() == 3);
  CHECK(graph.ruleOf(OpId(0)) == ruleOf(15, 8));
  CHECK(graph.ruleOf(OpId(1)) == ruleOf(4, 8));
  CHECK(graph.ruleOf(OpId(2)) == ruleOf(35, 8));
  CHECK(graph.values.front().shape.dims == llvm::SmallVector<int64_t, 4>{15, 8, 1});
}

TEST_CASE("rules that are equal at a batch are one, in the order of their ops") {
  OpGraph graph = graphOfAnyBatch();
  graph.rules[1] = ruleOf(12, 8);
  graph = atBatch(std::move(graph), 4);
  REQUIRE(graph.rules.size() == 2);
  CHECK(graph.rules[0] == ruleOf(12, 8));
  CHECK(graph.rules[1] == ruleOf(28, 8));
  CHECK(graph.ops[0].rule == graph.ops[1].rule);
  CHECK(graph.ops[3].rule == RuleId(0));
  CHECK(graph.ops[2].rule == RuleId(1));
}
