// Whole tensors cut and put together again.
#include "TestPrograms.h"

#include <catch2/catch.hpp>

#include <cmath>

using namespace apc;

TEST_CASE("10 rows over 4 ranks: 3, 3, 3 and 1, with poison behind it") {
  TestProgram program("module {}");
  Mesh mesh = meshFrom("[4]");
  Tensor whole = counted(*program.context, {10, 2});
  Tensor last = shardOf(whole, shardingFrom("[x0, -]", mesh), mesh, 3);
  CHECK(last.dims == llvm::SmallVector<int64_t, 4>{3, 2});
  CHECK(last.floats[0] == 18);
  CHECK(last.floats[1] == 19);
  for (size_t pad = 2; pad < 6; ++pad)
    CHECK(std::isnan(last.floats[pad]));
}

TEST_CASE("A tensor that is cut is put together again, under every sharding") {
  TestProgram program("module {}");
  Mesh mesh = meshFrom("[2 | 3]");
  const char *text =
      GENERATE("[-, -, -]", "[x0, -, -]", "[-, x1, x0]", "[(x0 x1), -, -]", "[(x1 x0), -, -]", "[-, -, x1]");
  Sharding sharding = shardingFrom(text, mesh);
  for (llvm::SmallVector<int64_t, 4> dims : {llvm::SmallVector<int64_t, 4>{6, 6, 6}, {7, 5, 4}, {2, 3, 1}, {1, 1, 1}}) {
    Tensor whole = counted(*program.context, dims);
    std::vector<Tensor> pieces;
    for (int64_t rank = 0; rank < 6; ++rank)
      pieces.push_back(shardOf(whole, sharding, mesh, rank));
    llvm::Expected<Tensor> again = assemble(pieces, dims, sharding, mesh);
    REQUIRE(static_cast<bool>(again));
    CHECK(again->floats == whole.floats);
  }
}

TEST_CASE("Scalars and empty tensors have pieces, too") {
  TestProgram program("module {}");
  Mesh mesh = meshFrom("[2]");
  Tensor scalar = counted(*program.context, {}, 5);
  CHECK(shardOf(scalar, shardingFrom("[]", mesh), mesh, 1).floats == std::vector<double>{5});
  Tensor empty = counted(*program.context, {0, 3});
  CHECK(shardOf(empty, shardingFrom("[-, -]", mesh), mesh, 1).floats.empty());
}

TEST_CASE("Ranks that differ in an element they both hold are found") {
  TestProgram program("module {}");
  Mesh mesh = meshFrom("[2]");
  Tensor a = counted(*program.context, {4}), b = a;
  b.floats[2] = 7;
  CHECK(errorOf(assemble({a, b}, {4}, shardingFrom("[-]", mesh), mesh)) ==
        "ranks 0 and 1 hold element 2 of [4] and differ in it");
}
