// Shardings: text form, checks, padded local shapes, slices (MindSpore's among them).
#include "TestSupport.h"

#include "apc/Sharding/NamedStrategy.h"

using namespace apc;
using namespace apc::test;

TEST_CASE("a sharding is read back from its text") {
  Mesh on = mesh("[x0=2 | x1=4, x2=3]");
  for (const char *text : {"[]", "[x0, -, (x1 x2)]", "[-, -] sum{x1}", "[x2] max{x0 x1}", "[(x2 x0)]"})
    CHECK(sharding(text, on).str(on) == text);
  CHECK(mentions(errorOf(Sharding::parse("[x0, x0]", on)), "dim 1: axis x0 is used twice"));
  CHECK(mentions(errorOf(Sharding::parse("[x7]", on)), "no axis 'x7'"));
  CHECK(mentions(errorOf(Sharding::parse("[x0] mean{x1}", on)), "mean"));
  CHECK(mentions(errorOf(Sharding::parse("[x0] sum{x0}", on)), "used twice"));
  CHECK(mentions(errorOf(Sharding::parse("x0", on)), "brackets"));
  CHECK(mentions(errorOf(Sharding::parse("[(x0]", on)), "parenthesis"));
}

TEST_CASE("a sharding is checked against shape and mesh") {
  Mesh on = mesh("[x0=2]");
  CHECK(mentions(errorOf(check(Sharding::replicated(2), shape({4}), on)), "2 dims does not fit a tensor of 1"));
  Sharding unknown = Sharding::replicated(1);
  unknown.dims[0].push_back(AxisId(5));
  CHECK(mentions(errorOf(check(unknown, shape({4}), on)), "axis number 5"));
  CHECK(Sharding::replicated(3).isReplicated());
  CHECK_FALSE(sharding("[-] sum{x0}", on).isReplicated());
}

TEST_CASE("bytes count bits") {
  CHECK(shape({3, 5}, 4).bytes() == 8);
  CHECK(shape({}, 16).bytes() == 2);
  CHECK(shape({8, 512}).bytes() == 16384);
  CHECK(shape({int64_t(1) << 40, int64_t(1) << 40}).numElements() == std::numeric_limits<int64_t>::max());
}

TEST_CASE("uneven dims are padded, axis by axis") {
  Mesh on = mesh("[x0=2, x1=3 | x2=8]");
  CHECK(localSize(50257, {AxisId(2)}, on) == 6283);
  CHECK(localShape(shape({10, 7}), sharding("[(x0 x1), -]", on), on).dims == Dims{2, 7});
  // 10 over (2 3): halves of 5, each in pieces of 2: [0,2) [2,4) [4,5) | [5,7) [7,9) [9,10).
  std::vector<std::pair<int64_t, int64_t>> slices;
  for (int64_t first = 0; first < 6; ++first) {
    DimSlice slice = dimSlice(10, {AxisId(0), AxisId(1)}, on, first * 8);
    slices.emplace_back(slice.begin, slice.count);
  }
  CHECK(slices == std::vector<std::pair<int64_t, int64_t>>{{0, 2}, {2, 2}, {4, 1}, {5, 2}, {7, 2}, {9, 1}});
}

TEST_CASE("the slices of a dim are disjoint and cover it") {
  Mesh on = mesh("[x0=2, x1=3, x2=2]");
  const AxisList lists[] = {{}, {AxisId(0)}, {AxisId(1), AxisId(0)}, {AxisId(2), AxisId(1), AxisId(0)}};
  for (int64_t size = 1; size <= 30; ++size)
    for (const AxisList &axes : lists) {
      std::vector<int> covered(size, 0);
      for (int64_t rank : on.group(0, axes)) {
        DimSlice slice = dimSlice(size, axes, on, rank);
        CHECK(slice.count <= localSize(size, axes, on));
        for (int64_t i = slice.begin; i < slice.begin + slice.count; ++i)
          ++covered.at(i);
      }
      CHECK(llvm::all_of(covered, [](int times) { return times == 1; }));
    }
}

TEST_CASE("a slice takes extent/n of the cut dim and all of the others, as in MindSpore") {
  Mesh on = mesh("[x0=2, x1=4]");
  TensorShape whole = shape({512, 1024, 6});
  Sharding cut = sharding("[-, x1, -]", on);
  CHECK(localShape(whole, cut, on).dims == Dims{512, 256, 6});
  CHECK(dimSlice(1024, cut.dims[1], on, 6).begin == 512);
  CHECK(dimSlice(512, cut.dims[0], on, 6).count == 512);
}

TEST_CASE("a dim is cut inside its parts") {
  Mesh on = mesh("[x0=2, x1=2]");
  TensorShape whole = shape({2, 32});
  for (const char *text : {"[-, x0{16 8 8}]", "[x1, x0{16 8 8}]", "[-, (x0 x1){16 16}]", "[-, x1{31 1}] max{x0}"})
    CHECK(sharding(text, on).str(on) == text);
  Sharding cut = sharding("[-, (x0 x1){16 8 8}]", on);
  CHECK(localShape(whole, cut, on).dims == Dims{2, 8});
  llvm::SmallVector<DimRun, 1> runs = dimRuns(32, cut, 1, on, 3);
  REQUIRE(runs.size() == 3);
  CHECK((runs[0].begin == 12 && runs[0].count == 4 && runs[0].at == 0 && runs[0].room == 4));
  CHECK((runs[1].begin == 22 && runs[1].count == 2 && runs[1].at == 4 && runs[1].room == 2));
  CHECK((runs[2].begin == 30 && runs[2].count == 2 && runs[2].at == 6 && runs[2].room == 2));
  // Each part is padded on its own: 3 over two devices is 2 and 1.
  Sharding uneven = sharding("[x0{3 4}]", on);
  CHECK(localShape(shape({7}), uneven, on).dims == Dims{4});
  runs = dimRuns(7, uneven, 0, on, 2);
  CHECK((runs[0].begin == 2 && runs[0].count == 1 && runs[0].room == 2 && runs[1].begin == 5 && runs[1].at == 2));
}

TEST_CASE("cuts inside other parts are other shardings") {
  Mesh on = mesh("[x0=2]");
  CHECK_FALSE(sharding("[x0{4 4}]", on) == sharding("[x0]", on));
  CHECK_FALSE(sharding("[x0{4 4}]", on) == sharding("[x0{2 6}]", on));
  CHECK((sharding("[x0]", on) < sharding("[x0{4 4}]", on)) != (sharding("[x0{4 4}]", on) < sharding("[x0]", on)));
  CHECK(NamedSharding::of(sharding("[-, x0{4 4}]", on), on).str() == "[-, x0{4 4}]");
  CHECK(valueOf(NamedSharding::of(sharding("[-, x0{4 4}]", on), on).bind(on)) == sharding("[-, x0{4 4}]", on));
}

TEST_CASE("parts belong to a dim that is cut, and make it up") {
  Mesh on = mesh("[x0=2]");
  CHECK(mentions(errorOf(check(sharding("[x0{4 4}]", on), shape({9}), on)), "do not make up its 9 elements"));
  CHECK(mentions(errorOf(Sharding::parse("[-{4 4}]", on)), "is not cut"));
  CHECK(mentions(errorOf(Sharding::parse("[x0{4}]", on)), "two parts or more"));
  CHECK(mentions(errorOf(Sharding::parse("[x0{4 -4}]", on)), "do not make up"));
  CHECK(mentions(errorOf(Sharding::parse("[x0{4 four}]", on)), "two parts or more"));
}
