// Ops on parameters alone: they run when parameters are loaded, and no step pays for them.
#include "GraphMaker.h"

#include "apc/Planning/BuildProblem.h"
#include "apc/Search/Algorithms.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

constexpr int64_t rows = 512, size = 4096;

/// x . W^T, with the transpose of the parameter in the graph or W^T as the parameter.
OpGraph product(bool isTransposedInGraph, bool runsAtLoad) {
  GraphMaker maker;
  ValueId x = maker.source("x", {rows, size}, ValueRole::Input);
  ValueId weight = maker.source("w", {size, size}, ValueRole::Parameter);
  maker.sink(maker.matmul("y", x, isTransposedInGraph ? maker.transpose("wt", weight) : weight));
  if (runsAtLoad)
    for (auto [op, atLoad] : llvm::zip_equal(maker.graph.ops, maker.graph.opsAtLoad()))
      op.atLoad = atLoad;
  return maker.graph;
}

SearchResult fastest(const OpGraph &graph) {
  Mesh mesh;
  return llvm::cantFail(searchDp(buildProblem(graph, modelOn(4, mesh)).problem, {}));
}

} // namespace

TEST_CASE("Ops run at load when they read parameters alone and make no more bytes") {
  GraphMaker maker;
  ValueId x = maker.source("x", {size, size}, ValueRole::Input);
  ValueId weight = maker.source("w", {size, size}, ValueRole::Parameter);
  ValueId transposed = maker.transpose("transposed", weight);
  maker.cast("narrowed twice", maker.transpose("again", transposed), 8);
  maker.cast("widened", weight, 32);
  maker.matmul("reduced", weight, weight);
  maker.product("mixed", x, weight);
  maker.transpose("of an input", x);
  std::vector<std::string> names;
  for (auto [op, atLoad] : llvm::zip_equal(maker.graph.ops, maker.graph.opsAtLoad()))
    if (atLoad)
      names.push_back(op.name);
  CHECK(names == std::vector<std::string>{"transposed", "again", "narrowed twice"});
}

TEST_CASE("A weight that the file keeps transposed costs neither time nor memory more than one that it does not") {
  SearchResult plain = fastest(product(false, true)), transposed = fastest(product(true, true));
  CHECK(transposed.seconds == plain.seconds);
  CHECK(transposed.bytes == plain.bytes);
  CHECK(fastest(product(true, false)).seconds > plain.seconds);
}

TEST_CASE("Results that are made at load lie where its parameter lay") {
  OpGraph graph = product(true, true);
  std::vector<ValueId> storages = graph.storages();
  CHECK(storages == std::vector<ValueId>{ValueId(0), ValueId(1), ValueId(1), ValueId(3)});
}
