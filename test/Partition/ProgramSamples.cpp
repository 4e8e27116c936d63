// Parses the samples and plans them.
#include "ProgramSamples.h"
#include "../ValueOf.h"

#include "apc/IR/Apc.h"
#include "apc/Planning/PlanStrategies.h"
#include "apc/Support/Error.h"
#include "apc/Transforms/BuildGraph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include <catch2/catch.hpp>

namespace apc {

const char *const mlp = R"(
func.func @main(%x: tensor<6x5xf32> {apc.name = "x"}) -> (tensor<6x7xf32> {apc.name = "y"}) {
  %w1 = apc.parameter "w1" "initializer" : tensor<5x8xf32>
  %w2 = apc.parameter "w2" "initializer" : tensor<8x7xf32>
  %0 = "apc.matmul"(%x, %w1) : (tensor<6x5xf32>, tensor<5x8xf32>) -> tensor<6x8xf32> loc("up")
  %1 = "apc.relu"(%0) : (tensor<6x8xf32>) -> tensor<6x8xf32> loc("act")
  %2 = "apc.matmul"(%1, %w2) : (tensor<6x8xf32>, tensor<8x7xf32>) -> tensor<6x7xf32> loc("down")
  return %2 : tensor<6x7xf32>
})";

const char *const gemm = R"(
func.func @main(%x: tensor<6x5xf32> {apc.name = "x"}) -> (tensor<4x6xf32> {apc.name = "y"}) {
  %w = apc.parameter "w" "initializer" : tensor<5x4xf32>
  %bias = apc.parameter "bias" "initializer" : tensor<4xf32>
  %0 = "apc.gemm"(%x, %w, %bias) : (tensor<6x5xf32>, tensor<5x4xf32>, tensor<4xf32>) -> tensor<6x4xf32> loc("gemm")
  %1 = "apc.relu"(%0) : (tensor<6x4xf32>) -> tensor<6x4xf32> loc("act")
  %2 = "apc.transpose"(%1) {perm = array<i64: 1, 0>} : (tensor<6x4xf32>) -> tensor<4x6xf32> loc("turn")
  return %2 : tensor<4x6xf32>
})";

const std::map<std::string, std::string> megatron = {
    {"x", "d0:x0"},         {"w1", "d1:x1"},       {"w2", "d0:x1"},      {"up", "m:x0 n:x1"},
    {"act", "b0:x0 b1:x1"}, {"down", "m:x0 k:x1"}, {"output y", "d0:x0"}};

const std::map<std::string, std::string> unevenGemm = {
    {"x", "d1:x1"}, {"w", "d0:x1"}, {"gemm", "k:x1"}, {"act", "b0:x1"}, {"turn", "d0:x0 d1:x1"}, {"output y", "d0:x0"}};

const char *const constants = R"(
func.func @main(%x: tensor<6x6xf32> {apc.name = "x"}, %rows: tensor<4xi64> {apc.name = "rows"}) -> (tensor<4x6xf32> {apc.name = "y"}) {
  %shape = apc.constant dense<[6, 2, 3]> : tensor<3xi64>
  %back = apc.constant dense<[6, 6]> : tensor<2xi64>
  %scale = apc.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]> : tensor<6xf32>
  %0 = "apc.transpose"(%x) {perm = array<i64: 1, 0>} : (tensor<6x6xf32>) -> tensor<6x6xf32> loc("turn")
  %1 = "apc.reshape"(%0, %shape) : (tensor<6x6xf32>, tensor<3xi64>) -> tensor<6x2x3xf32> loc("part")
  %2 = "apc.exp"(%1) : (tensor<6x2x3xf32>) -> tensor<6x2x3xf32> loc("exp")
  %3 = "apc.reshape"(%2, %back) : (tensor<6x2x3xf32>, tensor<2xi64>) -> tensor<6x6xf32> loc("join")
  %4 = "apc.mul"(%3, %scale) : (tensor<6x6xf32>, tensor<6xf32>) -> tensor<6x6xf32> loc("scale")
  %5 = "apc.gather"(%4, %rows) {axis = 0 : i64} : (tensor<6x6xf32>, tensor<4xi64>) -> tensor<4x6xf32> loc("take")
  return %5 : tensor<4x6xf32>
})";

namespace {

/// The levels of the mesh's axes index those of the cluster: a cluster of as many devices in one node.
Cluster clusterFor(const Mesh &mesh) {
  return valueOf(withDevices(valueOf(loadCluster("dgx-a100-80gb")), mesh.numDevices()));
}

Plan planned(const OpGraph &graph, const Mesh &mesh, std::vector<Strategy> strategies) {
  return valueOf(planStrategies(graph, clusterFor(mesh), mesh, std::move(strategies)));
}

} // namespace

Sample::Sample(llvm::StringRef text) : context(std::make_unique<mlir::MLIRContext>()) {
  context->loadDialect<ApcDialect, mlir::func::FuncDialect>();
  module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
  REQUIRE(module);
  mlir::FailureOr<OpGraph> built = buildGraph(*module);
  REQUIRE(mlir::succeeded(built));
  graph = std::move(*built);
}

Plan Sample::plan(llvm::StringRef meshText, const std::map<std::string, std::string> &wanted) const {
  Mesh mesh = valueOf(Mesh::parse(meshText));
  std::vector<Strategy> strategies;
  size_t numFound = 0;
  for (auto [index, op] : llvm::enumerate(graph.ops)) {
    auto found = wanted.find(op.name);
    numFound += found != wanted.end();
    llvm::StringRef text = found == wanted.end() ? "replicated" : llvm::StringRef(found->second);
    INFO(op.name);
    strategies.push_back(valueOf(Strategy::parse(text, graph.ruleOf(OpId(index)), mesh)));
  }
  REQUIRE(numFound == wanted.size());
  return planned(graph, mesh, std::move(strategies));
}

Plan Sample::drawnPlan(llvm::StringRef meshText, uint64_t seed) const {
  Mesh mesh = valueOf(Mesh::parse(meshText));
  return planned(graph, mesh, drawStrategies(graph, mesh, seed));
}

std::string print(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  return text;
}

} // namespace apc
