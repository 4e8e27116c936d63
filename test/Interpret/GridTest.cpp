// Programs of many ranks, by hand: their results, and faults that are found.
#include "TestPrograms.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// A program on `[a=2 | b=3]` whose main takes a piece of x [5, 4] under `in` and returns `%y` under `out`.
std::string program(const std::string &in, const std::string &inType, const std::string &out,
                    const std::string &outType, const std::string &body, const std::string &outShape = "5, 4") {
  return "#mesh = #apc.mesh<[a=2 | b=3]>\nmodule attributes {apc.mesh = #mesh} {\n  func.func @main(%x: " + inType +
         " {apc.sharding = #apc.sharding<#mesh, " + in + ">, apc.shape = array<i64: 5, 4>}) -> (" + outType +
         " {apc.sharding = #apc.sharding<#mesh, " + out + ">, apc.shape = array<i64: " + outShape + ">}) {\n" + body +
         "\n    return %y : " + outType + "\n  }\n}";
}

/// The head of a program of `main`, which takes a tensor of 4 and returns another, whole on every rank.
std::string whole(const std::string &mesh) {
  std::string type = "tensor<4xf32> {apc.sharding = #apc.sharding<#mesh, [-]>, apc.shape = array<i64: 4>}";
  return "#mesh = #apc.mesh<" + mesh + ">\nmodule attributes {apc.mesh = #mesh} {\n func.func @main(%x: " + type +
         ") -> (" + type + ") {\n";
}

std::vector<double> runOn(const std::string &text) {
  TestProgram test(text);
  auto results = runRanks({*test.module}, {counted(*test.context, {5, 4})}, noParameter);
  if (!results)
    FAIL(takeMessage(results.takeError()).second);
  return (*results)[0].floats;
}

std::vector<double> counting(size_t count) {
  std::vector<double> numbers(count);
  for (size_t k = 0; k < count; ++k)
    numbers[k] = static_cast<double>(k);
  return numbers;
}

} // namespace

TEST_CASE("Movements over uneven dims of a 2 x 3 mesh keep every element") {
  SECTION("gather") {
    CHECK(
        runOn(program(
            "[a, b]", "tensor<3x2xf32>", "[-, b]", "tensor<5x2xf32>",
            R"(%y = apc.all_gather %x <#mesh, AllGather{a}, [a, b] -> [-, b] of [5, 4]> : (tensor<3x2xf32>) -> tensor<5x2xf32>)")) ==
        counting(20));
  }
  SECTION("slice") {
    CHECK(
        runOn(program(
            "[-, -]", "tensor<5x4xf32>", "[b, a]", "tensor<2x2xf32>",
            R"(%0 = apc.shard_slice %x <#mesh, Slice{b}, [-, -] -> [b, -] of [5, 4]> : (tensor<5x4xf32>) -> tensor<2x4xf32>
                           %y = apc.shard_slice %0 <#mesh, Slice{a}, [b, -] -> [b, a] of [5, 4]> : (tensor<2x4xf32>) -> tensor<2x2xf32>)")) ==
        counting(20));
  }
  SECTION("all-to-all") {
    CHECK(
        runOn(program(
            "[b, -]", "tensor<2x4xf32>", "[-, b]", "tensor<5x2xf32>",
            R"(%y = apc.all_to_all %x <#mesh, AllToAll{b}, [b, -] -> [-, b] of [5, 4]> : (tensor<2x4xf32>) -> tensor<5x2xf32>)")) ==
        counting(20));
  }
}

TEST_CASE("Partial sums are completed: x . w with the reduction over 3 ranks") {
  // x [5, 4] times ones [4, 2], the 4 cut in pieces of 2 (the third is padding only, and masked).
  std::string body = R"(
    %w = apc.constant dense<1.0> : tensor<2x2xf32>
    %m = apc.mask_padding %x dim 1 of 4 <#mesh, (b)> <sum> : tensor<5x2xf32>
    %p = "apc.matmul"(%m, %w) : (tensor<5x2xf32>, tensor<2x2xf32>) -> tensor<5x2xf32>
    )";
  std::vector<double> sums = {6, 6, 22, 22, 38, 38, 54, 54, 70, 70};
  SECTION("all-reduce") {
    CHECK(
        runOn(program(
            "[-, b]", "tensor<5x2xf32>", "[-, -]", "tensor<5x2xf32>",
            body +
                R"(%y = apc.all_reduce %p <#mesh, AllReduce{b}, [-, -] sum{b} -> [-, -] of [5, 2]> : (tensor<5x2xf32>) -> tensor<5x2xf32>)",
            "5, 2")) == sums);
  }
  SECTION("reduce-scatter") {
    CHECK(
        runOn(program(
            "[-, b]", "tensor<5x2xf32>", "[b, -]", "tensor<2x2xf32>",
            body +
                R"(%y = apc.reduce_scatter %p <#mesh, ReduceScatter{b}, [-, -] sum{b} -> [b, -] of [5, 2]> : (tensor<5x2xf32>) -> tensor<2x2xf32>)",
            "5, 2")) == sums);
  }
}

TEST_CASE("A collective of two values combines each by its own sharding") {
  // The sums of x and of -x over the three ranks of b, both cut over b.
  TestProgram test(R"(
#mesh = #apc.mesh<[a=2 | b=3]>
module attributes {apc.mesh = #mesh} {
  func.func @main(%x: tensor<4xf32> {apc.sharding = #apc.sharding<#mesh, [-]>, apc.shape = array<i64: 4>})
      -> (tensor<2xf32> {apc.sharding = #apc.sharding<#mesh, [b]>, apc.shape = array<i64: 4>},
          tensor<2xf32> {apc.sharding = #apc.sharding<#mesh, [b]>, apc.shape = array<i64: 4>}) {
    %0 = "apc.neg"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %1, %2 = apc.reduce_scatter %x, %0 <#mesh, ReduceScatter{b}, [-] sum{b} -> [b] of [4], [-] sum{b} -> [b] of [4]>
        : (tensor<4xf32>, tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>)
    return %1, %2 : tensor<2xf32>, tensor<2xf32>
  }
})");
  auto results = runRanks({*test.module}, {counted(*test.context, {4})}, noParameter);
  if (!results)
    FAIL(takeMessage(results.takeError()).second);
  CHECK((*results)[0].floats == std::vector<double>{0, 3, 6, 9});
  CHECK((*results)[1].floats == std::vector<double>{0, -3, -6, -9});
}

TEST_CASE("Padding that is not masked reaches the result as NaN") {
  std::vector<double> found = runOn(program("[-, b]", "tensor<5x2xf32>", "[-, -]", "tensor<5x2xf32>",
                                            R"(%w = apc.constant dense<1.0> : tensor<2x2xf32>
         %p = "apc.matmul"(%x, %w) : (tensor<5x2xf32>, tensor<2x2xf32>) -> tensor<5x2xf32>
         %y = apc.all_reduce %p <#mesh, AllReduce{b}, [-, -] sum{b} -> [-, -] of [5, 2]> : (tensor<5x2xf32>) -> tensor<5x2xf32>)",
                                            "5, 2"));
  CHECK(found[0] != found[0]);
}

TEST_CASE("Results said to be the same on all ranks must be") {
  TestProgram test(program("[-, b]", "tensor<5x2xf32>", "[-, -]", "tensor<5x2xf32>",
                           R"(%y = "apc.relu"(%x) : (tensor<5x2xf32>) -> tensor<5x2xf32>)", "5, 2"));
  CHECK_THAT(errorOf(runRanks({*test.module}, {counted(*test.context, {5, 4})}, noParameter)),
             Catch::Contains("result 0: ranks 0 and 1 hold element 0 of [5, 2] and differ in it"));
}

TEST_CASE("Ranks that meet at different collectives are told apart") {
  auto of = [](const std::string &step) { return whole("[a=2]") + step + "\n return %x : tensor<4xf32>\n }\n}"; };
  TestProgram first(of(
      R"(%0 = apc.all_reduce %x <#mesh, AllReduce{a}, [-] sum{a} -> [-] of [4]> : (tensor<4xf32>) -> tensor<4xf32> loc("mean"))"));
  SECTION("another combiner") {
    TestProgram second(
        of(R"(%0 = apc.all_reduce %x <#mesh, AllReduce{a}, [-] max{a} -> [-] of [4]> : (tensor<4xf32>) -> tensor<4xf32> loc("max"))"),
        first);
    CHECK(errorOf(runRanks({*first.module, *second.module}, {counted(*first.context, {4})}, noParameter)) ==
          "rank 1: rank 1 meets rank 0 at apc.all_reduce 'mean', but is itself at apc.all_reduce 'max'");
  }
  SECTION("a rank that is done is waited for in vain") {
    TestProgram second(of(""), first);
    CHECK(errorOf(runRanks({*first.module, *second.module}, {counted(*first.context, {4})}, noParameter)) ==
          "deadlock: 1 ranks are done, the others wait for ever: rank 0 at apc.all_reduce 'mean'");
  }
}

TEST_CASE("Ranks that wait for one another in a circle are a deadlock") {
  // On a 2 x 2 mesh ranks 0 and 3 meet over a first, ranks 1 and 2 over b: nobody ever has a whole group.
  auto of = [](const std::string &one, const std::string &two) {
    std::string text = whole("[a=2, b=2]");
    for (const std::string &axis : {one, two})
      text += "%" + axis + " = apc.all_reduce %x <#mesh, AllReduce{" + axis + "}, [-] sum{" + axis +
              "} -> [-] of [4]> : (tensor<4xf32>) -> tensor<4xf32> loc(\"over " + axis + "\")\n";
    return text + "return %x : tensor<4xf32>\n }\n}";
  };
  TestProgram ab(of("a", "b")), ba(of("b", "a"), ab);
  std::string error =
      errorOf(runRanks({*ab.module, *ba.module, *ba.module, *ab.module}, {counted(*ab.context, {4})}, noParameter));
  CHECK(error == "deadlock: 0 ranks are done, the others wait for ever: rank 0 at apc.all_reduce 'over a', rank 1 at "
                 "apc.all_reduce 'over b', rank 2 at apc.all_reduce 'over b', rank 3 at apc.all_reduce 'over a'");
}

TEST_CASE("Parameters are read once and cut for each rank") {
  TestProgram test(R"(
#mesh = #apc.mesh<[a=2]>
module attributes {apc.mesh = #mesh} {
  func.func @main(%x: tensor<3xf32> {apc.sharding = #apc.sharding<#mesh, [a]>, apc.shape = array<i64: 5>}) -> (tensor<3xf32> {apc.sharding = #apc.sharding<#mesh, [a]>, apc.shape = array<i64: 5>}) {
    %w = apc.parameter "w" "initializer" {apc.sharding = #apc.sharding<#mesh, [a]>, apc.shape = array<i64: 5>} : tensor<3xf32>
    %y = "apc.add"(%x, %w) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    return %y : tensor<3xf32>
  }
})");
  unsigned numAsked = 0;
  auto results =
      runRanks({*test.module}, {counted(*test.context, {5})}, [&](ParameterOp parameter) -> llvm::Expected<Tensor> {
        ++numAsked;
        return counted(*test.context, {5}, 100);
      });
  REQUIRE(static_cast<bool>(results));
  CHECK(numAsked == 1);
  CHECK((*results)[0].floats == std::vector<double>{100, 102, 104, 106, 108});
}
