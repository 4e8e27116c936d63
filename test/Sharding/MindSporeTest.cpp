// Layouts and redistributions of MindSpore's auto-parallel, mirrored: shardings on one mesh and on another, reshapes,
// changes of axes. Where MindSpore lists its collectives, ours must not move more bytes.
#include "ElementGrid.h"

using namespace apc;
using namespace apc::test;

namespace {

/// Bytes that one device receives in a collective, and a little for each collective.
double bytesMoved(const Collective &collective, const Mesh &mesh) {
  auto ways = static_cast<double>(mesh.size(collective.axes));
  double share = (ways - 1) / ways;
  auto in = static_cast<double>(collective.inputBytes), out = static_cast<double>(collective.outputBytes);
  switch (collective.kind) {
  case CollectiveKind::Slice:
    return 0;
  case CollectiveKind::AllGather:
    return out * share + 1e-3;
  case CollectiveKind::AllReduce:
    return 2 * in * share + 1e-3;
  case CollectiveKind::Permute:
    return in + 1e-3;
  default:
    return in * share + 1e-3;
  }
}

struct Case {
  Mesh on;
  TensorShape whole;

  Redistribution find(llvm::StringRef from, llvm::StringRef to) const {
    auto path = redistribute(sharding(from, on), sharding(to, on), whole, on,
                             [&](const Collective &collective) { return bytesMoved(collective, on); });
    REQUIRE(path);
    ElementGrid grid = ElementGrid::make(whole, sharding(from, on), {}, on);
    for (const Collective &collective : path->collectives)
      grid.apply(collective);
    CHECK(grid.holdsSame(ElementGrid::make(whole, sharding(to, on), {}, on)));
    return *path;
  }

  std::vector<std::string> collectives(llvm::StringRef from, llvm::StringRef to) const {
    std::vector<std::string> texts;
    for (const Collective &collective : find(from, to).collectives)
      texts.push_back(collective.str(on));
    return texts;
  }

  /// The cost of MindSpore's way: its shardings one after the other, each one collective (or free slice) apart.
  double costOf(std::initializer_list<llvm::StringRef> stations) const {
    double total = 0;
    for (const auto *station = stations.begin(); station + 1 != stations.end(); ++station)
      total += onlyCollective(*station, station[1]);
    return total;
  }

private:
  /// Between two stations: an AllGather when axes go, an AllToAll when they move, a slice when they come.
  double onlyCollective(llvm::StringRef fromText, llvm::StringRef toText) const {
    Sharding from = sharding(fromText, on), to = sharding(toText, on);
    Collective collective;
    for (AxisId axis : from.usedAxes())
      for (size_t dim = 0; dim < from.dims.size(); ++dim)
        if (llvm::is_contained(from.dims[dim], axis) && !llvm::is_contained(to.dims[dim], axis))
          collective.axes.push_back(axis);
    collective.inputBytes = localShape(whole, from, on).bytes();
    collective.outputBytes = localShape(whole, to, on).bytes();
    collective.kind = collective.axes.empty()                           ? CollectiveKind::Slice
                      : collective.inputBytes == collective.outputBytes ? CollectiveKind::AllToAll
                                                                        : CollectiveKind::AllGather;
    return bytesMoved(collective, on);
  }
};

using Texts = std::vector<std::string>;

/// The local shape of the result of a reshape under a strategy.
Dims localReshape(std::initializer_list<int64_t> from, std::initializer_list<int64_t> to, llvm::StringRef strategy,
                  const Mesh &on) {
  FactorRule rule = reshapeRule(shape(from), shape(to));
  Strategy parsed = valueOf(Strategy::parse(strategy, rule, on));
  return localShape(rule.resultShape(0), resultSharding(rule, parsed, 0), on).dims;
}

/// The strategies of a reshape under which its operand is sharded so.
std::vector<Strategy> strategiesFor(const FactorRule &rule, const Mesh &on, llvm::StringRef operand) {
  std::vector<Strategy> found;
  for (const Strategy &each : enumerateStrategies(rule, on))
    if (operandSharding(rule, each, 0).str(on) == operand)
      found.push_back(each);
  return found;
}

} // namespace

TEST_CASE("MindSpore: device arrangements [8,4] and [2,16] unify to [2,4,4]") {
  Case each{mesh("[a=2, b=4, c=4]"), shape({512, 1024})};
  CHECK(localShape(each.whole, sharding("[(a b), c]", each.on), each.on).dims == Dims{64, 256});
  CHECK(localShape(each.whole, sharding("[a, (b c)]", each.on), each.on).dims == Dims{256, 64});
  CHECK(each.find("[(a b), c]", "[a, (b c)]").collectives.size() == 2);
}

TEST_CASE("MindSpore: arrangements with the axes exchanged unify to [2,2,2,4]") {
  Case each{mesh("[p=2, q=2, r=2, s=4]"), shape({512, 1024})};
  CHECK(localShape(each.whole, sharding("[(p q r), s]", each.on), each.on).dims == Dims{64, 256});
  CHECK(localShape(each.whole, sharding("[(q r s), p]", each.on), each.on).dims == Dims{32, 512});
  CHECK(each.find("[(p q r), s]", "[(q r s), p]").seconds > 0);
}

TEST_CASE("MindSpore: [8] to [2,2,2] on two dims") {
  Case each{mesh("[p=2, q=2, r=2]"), shape({512, 1024})};
  CHECK(each.find("[(p q r), -]", "[p, q]").seconds <= each.costOf({"[(p q r), -]", "[(p q), -]", "[p, q]"}));
}

TEST_CASE("MindSpore: rows over 16 to columns over 16 is one AllToAll") {
  Case each{mesh("[x=16, y=1, z=1]"), shape({512, 1024})};
  CHECK(each.collectives("[x, y]", "[z, x]").size() <= 3);
  CHECK(each.find("[x, -]", "[-, x]").collectives.size() == 1);
  CHECK(each.collectives("[x, -]", "[-, x]") == Texts{"AllToAll{x} 0->1"});
}

TEST_CASE("MindSpore: a reshape between shapes that share factors") {
  Mesh on = mesh("[x0=8, x1=4]");
  FactorRule rule = reshapeRule(shape({512, 1024}), shape({128, 4096}));
  CHECK(rule.str() == "(i0 i1) i2 -> i0 (i1 i2) {i0=128, i1=4, i2=1024} linear={0}");
  // The result is wanted as [x0, x1]: i1, the major factor of its second dim, takes x1, below i0 in the operand, so i0
  // has to be cut to the end first; otherwise the axis comes and goes around the reshape.
  CHECK(mentions(errorOf(Strategy::parse("i0:x0 i1:x1", rule, on)), "i0 is not fully cut"));
  CHECK(localReshape({512, 1024}, {128, 4096}, "i0:(x0 x1)", on) == Dims{4, 4096});
  Case before{on, shape({512, 1024})}, after{on, shape({128, 4096})};
  CHECK(before.collectives("[x0, x1]", "[(x0 x1), -]") == Texts{"AllToAll{x1} 1->0"});
  CHECK(after.collectives("[(x0 x1), -]", "[x0, x1]") == Texts{"AllToAll{x1} 0->1"});
  Case turned{mesh("[p=4, q=2, r=4]"), shape({128, 4096})};
  CHECK(turned.find("[(p q r), -]", "[r, (p q)]").collectives.size() <= 3);
}

TEST_CASE("MindSpore: [2,4,2] to [4,2,2] moves no more bytes") {
  Case each{mesh("[a=2, b=2, c=2, d=2]"), shape({512, 1024})};
  CHECK(each.find("[a, d]", "[(a b), c]").seconds <= each.costOf({"[a, d]", "[(a b), d]", "[(a b), -]", "[(a b), c]"}));
}

TEST_CASE("MindSpore: a reshape that only drops dims of 1 moves nothing") {
  Mesh on = mesh("[x=8]");
  FactorRule rule = reshapeRule(shape({128, 64, 1, 1}), shape({128, 64}));
  auto found = strategiesFor(rule, on, "[x, -, -, -]");
  REQUIRE(found.size() == 1);
  CHECK(resultSharding(rule, found[0], 0).str(on) == "[x, -]");
  CHECK(Case{on, shape({128, 64})}.collectives("[x, -]", "[x, -]").empty());
}

TEST_CASE("MindSpore: rows, columns and replicas of 8 devices") {
  Case each{mesh("[x=8]"), shape({64, 64})};
  CHECK(each.collectives("[x, -]", "[-, x]") == Texts{"AllToAll{x} 0->1"});
  CHECK(each.collectives("[x, -]", "[-, -]") == Texts{"AllGather{x} 0"});
  CHECK(each.collectives("[-, -]", "[x, -]") == Texts{"Slice{x} ->0"});
  CHECK(each.find("[-, -]", "[x, -]").seconds == 0);
}

TEST_CASE("MindSpore's greedy collectives on (2,4) are never cheaper") {
  Case each{mesh("[x=2, y=4]"), shape({64, 64})};
  CHECK(each.find("[x, y]", "[y, x]").seconds <= each.costOf({"[x, y]", "[-, y]", "[y, -]", "[y, x]"}));
  CHECK(each.find("[x, -]", "[y, -]").seconds <= each.costOf({"[x, -]", "[-, -]", "[y, -]"}));
  CHECK(each.find("[x, -]", "[-, y]").seconds <= each.costOf({"[x, -]", "[x, y]", "[-, y]"}));
  CHECK(each.find("[x, y]", "[-, x]").seconds <= each.costOf({"[x, y]", "[x, -]", "[-, x]"}));
  // Here greedy gathers everything; slicing first halves the bytes.
  CHECK(each.find("[x, -]", "[y, -]").seconds < 0.6 * each.costOf({"[x, -]", "[-, -]", "[y, -]"}));
}

TEST_CASE("MindSpore: cycles of axes on (2,2,2) need no gather") {
  Case each{mesh("[x=2, y=2, z=2]"), shape({16, 16, 16})};
  CHECK(each.find("[x, y, -]", "[-, x, y]").seconds <= each.costOf({"[x, y, -]", "[x, -, y]", "[-, x, y]"}));
  CHECK(each.find("[x, y, z]", "[y, z, x]").seconds <=
        each.costOf({"[x, y, z]", "[-, y, z]", "[y, -, z]", "[y, z, -]", "[y, z, x]"}));
  CHECK(each.collectives("[x, y, z]", "[y, z, x]") == Texts{"Permute{x y z} -> [y, z, x]"});
}

TEST_CASE("MindSpore: several axes of one dim move in one AllToAll on (2,4)") {
  Case each{mesh("[x=2, y=4]"), shape({64, 64})};
  CHECK(each.collectives("[(x y), -]", "[x, y]") == Texts{"AllToAll{y} 0->1"});
  CHECK(each.collectives("[x, y]", "[(x y), -]") == Texts{"AllToAll{y} 1->0"});
  CHECK(each.collectives("[(x y), -]", "[-, (x y)]") == Texts{"AllToAll{x y} 0->1"});
}

TEST_CASE("MindSpore: a reshape keeps a cut that stays on the outermost factor") {
  Mesh dp = mesh("[dp=2]");
  CHECK(localReshape({1024, 512, 512}, {1024, 2, 256, 512}, "i0:dp", dp) == Dims{512, 2, 256, 512});
  CHECK(localReshape({4, 4, 8}, {16, 8}, "i0:dp", dp) == Dims{8, 8});
  CHECK(localReshape({32, 128}, {4, 8, 128}, "i0:dp", dp) == Dims{2, 8, 128});
  Mesh three = mesh("[dp=2, cp=2, mp=2]");
  FactorRule rule = reshapeRule(shape({32, 6, 128, 28, 10}), shape({4, 8, 2, 384, 280}));
  auto found = strategiesFor(rule, three, "[cp, dp, -, mp, -]");
  REQUIRE(found.size() == 1);
  Sharding result = resultSharding(rule, found[0], 0);
  CHECK(result.str(three) == "[cp, -, dp, -, mp]");
  CHECK(localShape(rule.resultShape(0), result, three).dims == Dims{2, 8, 1, 384, 140});
  CHECK(strategiesFor(reshapeRule(shape({4, 8, 4, 12}), shape({4, 8, 12, 4})), dp, "[-, -, -, dp]").empty());
  CHECK(
      strategiesFor(reshapeRule(shape({4, 8, 12, 7}), shape({4, 8, 2, 42})), mesh("[mp=4]"), "[-, -, mp, -]").empty());
}

TEST_CASE("MindSpore: flattening the image of a classifier keeps the cut of its batch") {
  Mesh on = mesh("[x0=8, x1=4]");
  FactorRule rule = reshapeRule(shape({32, 512, 7, 7}), shape({32, 25088}));
  auto found = strategiesFor(rule, on, "[x1, -, -, -]");
  REQUIRE(found.size() == 1);
  CHECK(resultSharding(rule, found[0], 0).str(on) == "[x1, -]");
  CHECK(localShape(rule.operandShape(0), operandSharding(rule, found[0], 0), on).dims == Dims{8, 512, 7, 7});
  CHECK(localShape(rule.resultShape(0), resultSharding(rule, found[0], 0), on).dims == Dims{8, 25088});
  CHECK(mentions(errorOf(check(sharding("[-, x1, -]", on), shape({32, 512, 7, 7}), on)), "3 dims does not fit"));
}
