// From a module to its graph: which ops share a rule, and errors.
#include "apc/Transforms/BuildGraph.h"
#include "../ValueOf.h"
#include "Parsed.h"

using namespace apc;
using Catch::Contains;

namespace {

OpGraph graphOf(llvm::StringRef text) { return valueOf(graphOfModel(*Parsed(text).module, "test")); }

} // namespace

TEST_CASE("Ops share a rule only when their rules are equal to the last digit") {
  // An LRN of size s takes 6 + 2 s operations for each element: 2,469,140 and 2,469,142 print as 2.46914e+06.
  OpGraph graph = graphOf(R"(
func.func @main(%x: tensor<1x3x1xf32>) -> tensor<1x3x1xf32> {
  %0 = "apc.lrn"(%x) {size = 1234567 : i64} : (tensor<1x3x1xf32>) -> tensor<1x3x1xf32> loc("a")
  %1 = "apc.lrn"(%0) {size = 1234568 : i64} : (tensor<1x3x1xf32>) -> tensor<1x3x1xf32> loc("b")
  %2 = "apc.lrn"(%1) {size = 1234567 : i64} : (tensor<1x3x1xf32>) -> tensor<1x3x1xf32> loc("c")
  return %2 : tensor<1x3x1xf32>
})");
  REQUIRE(graph.ops.size() == 5); // the input, three ops, the output
  const GraphOp &a = graph.ops[1], &b = graph.ops[2], &c = graph.ops[3];
  REQUIRE(graph.rules[a.rule.index()].str() == graph.rules[b.rule.index()].str());
  CHECK(graph.rules[a.rule.index()].flops() == 3 * 2469140.0);
  CHECK(graph.rules[b.rule.index()].flops() == 3 * 2469142.0);
  CHECK(a.rule != b.rule);
  CHECK(a.rule == c.rule);
}

TEST_CASE("Equal shapes of different element types have different rules") {
  OpGraph graph = graphOf(R"(
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf16>) -> (tensor<4xf32>, tensor<4xf16>) {
  %0 = "apc.relu"(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("a")
  %1 = "apc.relu"(%y) : (tensor<4xf16>) -> tensor<4xf16> loc("b")
  return %0, %1 : tensor<4xf32>, tensor<4xf16>
})");
  REQUIRE(graph.ops.size() == 6);
  CHECK(graph.ops[2].rule != graph.ops[3].rule);
}

TEST_CASE("The graph of a model holds its composites as one op") {
  OpGraph graph = graphOf(R"(
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "apc.sigmoid"(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("gate")
  %1 = "apc.mul"(%x, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("swish")
  return %1 : tensor<4xf32>
})");
  REQUIRE(graph.ops.size() == 3);
  CHECK(graph.ops[1].operatorName == "swish");
  CHECK(graph.ops[1].name == "swish");
}

TEST_CASE("A module without main has no graph, and the error names the model") {
  Parsed parsed("func.func @other() { return }");
  auto [fault, message] = takeMessage(graphOfModel(*parsed.module, "model.onnx").takeError());
  CHECK(fault == Fault::Input);
  CHECK_THAT(message, Contains("model.onnx: ") && Contains("has no function 'main' to plan"));
}

TEST_CASE("Statistics are tied to the op that reads them, and so are their copies, which alone follow it") {
  OpGraph graph = graphOf(R"(
func.func @main(%x: tensor<4x6xf32>, %g: tensor<6xf32>, %dy: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<6xf32>) {
  %none = apc.none
  %s = "apc.layer_statistics"(%x, %none, %none) {apc.pass} : (tensor<4x6xf32>, none, none) -> tensor<4x2xf32> loc("ln.statistics")
  %0:2 = "apc.layer_normalize"(%x, %s, %g, %none, %none, %none) : (tensor<4x6xf32>, tensor<4x2xf32>, tensor<6xf32>, none, none, none) -> (tensor<4x6xf32>, none) loc("ln")
  %r = "apc.layer_statistics"(%x, %none, %none) {apc.pass, apc.tie = "ln.statistics"} : (tensor<4x6xf32>, none, none) -> tensor<4x2xf32> loc("ln.statistics.recomputed")
  %1 = "apc.layer_normalize_scale_grad"(%dy, %x, %r) {apc.tie = "ln", apc.factors = ["d0", "d1", ""]} : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x2xf32>) -> tensor<6xf32> loc("ln.grad")
  return %0#0, %1 : tensor<4x6xf32>, tensor<6xf32>
})");
  REQUIRE(graph.ops.size() == 3 + 4 + 2);
  REQUIRE(graph.ties.size() == 1);
  CHECK(graph.ties[0] == TiedOps{OpId(4), OpId(3), OpId(5), OpId(6)}); // the reader leads
  CHECK(graph.ops[3].inPass);
  CHECK_FALSE(graph.ops[4].inPass);
  std::vector<bool> follows = graph.followers();
  CHECK_FALSE(follows[3]);
  CHECK(follows[5]);
  CHECK(follows[6]);
  // The backward pass reads x, and not the statistics.
  std::vector<bool> kept = graph.keptForBackward();
  CHECK(kept[graph.ops[0].results[0]->index()]);
  CHECK_FALSE(kept[graph.ops[3].results[0]->index()]);
}
