// Redistributions are the cheapest: compared with Bellman-Ford over collectives that are recognised from pairs of
// shardings.
#include "ElementGrid.h"
#include "Redistribution/ShardingGraph.h"

#include <algorithm>

using namespace apc;
using namespace apc::test;

namespace {

/// Whether `longer` is `shorter` and something behind it; then `rest` is that.
bool continues(const AxisList &shorter, const AxisList &longer, AxisList &rest) {
  if (longer.size() <= shorter.size() || !std::equal(shorter.begin(), shorter.end(), longer.begin()))
    return false;
  rest.assign(longer.begin() + shorter.size(), longer.end());
  return true;
}

int64_t cut(const AxisList &axes, const Mesh &mesh) { return mesh.size(axes); }

/// Dim and stride of an axis, or that it is idle.
std::pair<int64_t, int64_t> placeOf(AxisId axis, const Sharding &sharding, const Mesh &mesh) {
  for (size_t dim = 0; dim < sharding.dims.size(); ++dim) {
    int64_t stride = 1;
    for (AxisId other : llvm::reverse(sharding.dims[dim])) {
      if (other == axis)
        return {static_cast<int64_t>(dim), stride};
      stride *= mesh.size(other);
    }
  }
  return {-1, 0};
}

std::optional<Collective> recognisePermute(const Sharding &a, const Sharding &b, const TensorShape &shape,
                                           const Mesh &mesh) {
  Collective collective;
  collective.kind = CollectiveKind::Permute;
  for (size_t dim = 0; dim < a.dims.size(); ++dim)
    if (cut(a.dims[dim], mesh) != cut(b.dims[dim], mesh))
      return std::nullopt;
  for (unsigned i = 0; i < mesh.numAxes(); ++i) {
    AxisId axis(i);
    auto before = placeOf(axis, a, mesh), after = placeOf(axis, b, mesh);
    if (before == after)
      continue;
    collective.axes.push_back(axis);
    for (int64_t dim : {before.first, after.first})
      if (dim >= 0 && shape.dims[dim] % cut(a.dims[dim], mesh) != 0)
        return std::nullopt;
  }
  return collective;
}

/// The one collective from `a` to `b`, if there is one.
std::optional<Collective> recognise(const Sharding &a, const Sharding &b, const TensorShape &shape, const Mesh &mesh) {
  Collective collective;
  AxisList settled, lost, gained;
  unsigned changed = 0, losing = 0, gaining = 0;
  for (unsigned dim = 0; dim < a.numDims(); ++dim) {
    if (a.dims[dim] == b.dims[dim])
      continue;
    ++changed;
    AxisList rest;
    if (continues(a.dims[dim], b.dims[dim], rest)) {
      ++gaining;
      gained = rest;
      collective.toDim = dim;
    } else if (continues(b.dims[dim], a.dims[dim], rest)) {
      ++losing;
      lost = rest;
      collective.fromDim = dim;
    }
  }
  std::set_difference(a.partial.begin(), a.partial.end(), b.partial.begin(), b.partial.end(),
                      std::back_inserter(settled));
  if (a.partial.size() - settled.size() != b.partial.size())
    return std::nullopt;
  if (!settled.empty()) {
    collective.kind = changed == 0 ? CollectiveKind::AllReduce : CollectiveKind::ReduceScatter;
    collective.axes = changed == 0 ? settled : gained;
    AxisList sorted = gained;
    llvm::sort(sorted);
    bool scatters = changed == 1 && gaining == 1 && sorted == settled;
    return changed == 0 || scatters ? std::optional(collective) : std::nullopt;
  }
  if (changed == 1 && gaining == 1) {
    collective.kind = CollectiveKind::Slice;
    collective.axes = gained;
    return collective;
  }
  if (changed == 1 && losing == 1) {
    collective.kind = CollectiveKind::AllGather;
    collective.axes = lost;
    return collective;
  }
  if (changed == 2 && losing == 1 && gaining == 1 && lost == gained) {
    collective.kind = CollectiveKind::AllToAll;
    collective.axes = lost;
    return collective;
  }
  return changed == 0 ? std::nullopt : recognisePermute(a, b, shape, mesh);
}

/// Rough collectives with axes of different speed, and slices that cost a little.
double cost(const Collective &collective, const Mesh &mesh, bool slicesAreFree) {
  if (collective.kind == CollectiveKind::Slice)
    return slicesAreFree ? 0 : 1e-7 * static_cast<double>(collective.outputBytes);
  double secondsPerByte = 0;
  for (AxisId axis : collective.axes)
    secondsPerByte = std::max(secondsPerByte, axis.index() == 0 ? 7e-6 : 1e-6);
  double ways = static_cast<double>(mesh.size(collective.axes)), share = (ways - 1) / ways;
  auto in = static_cast<double>(collective.inputBytes), out = static_cast<double>(collective.outputBytes);
  switch (collective.kind) {
  case CollectiveKind::AllGather:
    return 3e-5 + secondsPerByte * out * share;
  case CollectiveKind::AllReduce:
    return 4e-5 + 2 * secondsPerByte * in * share;
  case CollectiveKind::Permute:
    return 2e-5 + secondsPerByte * in;
  default:
    return 3e-5 + secondsPerByte * std::max(in, out) * share;
  }
}

bool cutsTooFinely(const Sharding &sharding, const TensorShape &shape, const Mesh &mesh) {
  for (unsigned dim = 0; dim < shape.numDims(); ++dim)
    if (cut(sharding.dims[dim], mesh) > shape.dims[dim])
      return true;
  return false;
}

struct OracleEdge {
  size_t from, to;
  double seconds;
};

void checkOptimal(const Mesh &mesh, const TensorShape &shape, bool slicesAreFree) {
  std::vector<Sharding> all = allShardings(shape.numDims(), mesh, true);
  llvm::erase_if(all, [&](const Sharding &each) { return cutsTooFinely(each, shape, mesh); });
  std::vector<OracleEdge> edges;
  for (size_t i = 0; i < all.size(); ++i)
    for (size_t j = 0; j < all.size(); ++j)
      if (i != j)
        if (std::optional<Collective> collective = recognise(all[i], all[j], shape, mesh)) {
          collective->inputBytes = localShape(shape, all[i], mesh).bytes();
          collective->outputBytes = localShape(shape, all[j], mesh).bytes();
          edges.push_back({i, j, cost(*collective, mesh, slicesAreFree)});
        }
  Redistributor redistributor(shape, mesh,
                              [&](const Collective &collective) { return cost(collective, mesh, slicesAreFree); });
  for (size_t source = 0; source < all.size(); ++source) {
    std::vector<double> seconds(all.size(), 1e30);
    seconds[source] = 0;
    for (bool improved = true; improved;) {
      improved = false;
      for (const OracleEdge &edge : edges)
        if (seconds[edge.from] + edge.seconds < seconds[edge.to] * (1 - 1e-12)) {
          seconds[edge.to] = seconds[edge.from] + edge.seconds;
          improved = true;
        }
    }
    for (size_t target = 0; target < all.size(); ++target) {
      std::optional<double> ours = redistributor.seconds(all[source], all[target]);
      bool same = ours ? std::abs(*ours - seconds[target]) <= 1e-9 * seconds[target] : seconds[target] == 1e30;
      if (!same)
        FAIL(all[source].str(mesh) << " to " << all[target].str(mesh) << ": " << ours.value_or(-1) << " instead of "
                                   << seconds[target]);
    }
  }
  SUCCEED();
}

} // namespace

TEST_CASE("redistributions equal Bellman-Ford over all collectives") {
  for (bool slicesAreFree : {true, false}) {
    for (const TensorShape &each : {shape({64}), shape({50}), shape({7, 3}), shape({64, 32, 16}), shape({6, 1, 9})})
      checkOptimal(mesh("[x0=2 | x1=2]"), each, slicesAreFree);
    for (const TensorShape &each : {shape({64}), shape({48, 36}), shape({24, 5, 6})})
      checkOptimal(mesh("[x0=2 | x1=3]"), each, slicesAreFree);
    for (const TensorShape &each : {shape({64}), shape({16, 32}), shape({12, 6})})
      checkOptimal(mesh("[x0=2 | x1=2, x2=2]"), each, slicesAreFree);
    checkOptimal(mesh("[x0=4 | x1=2, x2=2]"), shape({64, 32}), slicesAreFree);
  }
  checkOptimal(mesh("[x0=2 | x1=2, x2=2]"), shape({16, 8, 32}), true);
}

TEST_CASE("an idle axis makes a slow reduction smaller") {
  Mesh on = mesh("[node=2 | gpu=8]");
  auto path = redistribute(sharding("[-] sum{node}", on), sharding("[-]", on), shape({1 << 20}), on,
                           [&](const Collective &collective) { return cost(collective, on, true); });
  REQUIRE(path);
  std::vector<std::string> texts;
  for (const Collective &collective : path->collectives)
    texts.push_back(collective.str(on));
  CHECK(texts == std::vector<std::string>{"Slice{gpu} ->0", "AllReduce{node}", "AllGather{gpu} 0"});
}

TEST_CASE("a tensor does not become partial, nor partial in another way") {
  Mesh on = mesh("[x0=2, x1=2]");
  auto any = [](const Collective &) { return 1.0; };
  CHECK_FALSE(redistribute(sharding("[-]", on), sharding("[-] sum{x0}", on), shape({4}), on, any));
  CHECK_FALSE(redistribute(sharding("[-] sum{x0}", on), sharding("[-] sum{x1}", on), shape({4}), on, any));
  CHECK_FALSE(redistribute(sharding("[-] sum{x0}", on), sharding("[-] max{x0}", on), shape({4}), on, any));
  CHECK(redistribute(sharding("[-] max{x0 x1}", on), sharding("[x0] max{x1}", on), shape({4}), on, any));
  auto kept = redistribute(sharding("[-] max{x0 x1}", on), sharding("[-] max{x1}", on), shape({4}), on, any);
  REQUIRE(kept);
  CHECK(kept->collectives.back().result.combiner == Combiner::Max);
}

TEST_CASE("reductions say how pieces combine, and those of logarithms of sums have a cost of their own") {
  Mesh on = mesh("[x0=2, x1=2]");
  auto cost = [](const Collective &collective) {
    bool combinesLogSums = collective.combiner == Combiner::LogSumExp;
    CHECK(combinesLogSums <= isReduction(collective.kind));
    return collective.kind == CollectiveKind::Slice ? 0.0 : combinesLogSums ? 8.0 : 1.0;
  };
  Redistributor redistributor(shape({4}), on, cost);
  Sharding whole = sharding("[-]", on), sums = sharding("[-] sum{x0 x1}", on);
  Sharding logSums = sharding("[-] log_sum_exp{x0 x1}", on);
  CHECK(logSums.str(on) == "[-] log_sum_exp{x0 x1}");
  for (int again = 0; again < 2; ++again) {
    CHECK(redistributor.seconds(sums, whole) == 1);
    CHECK(redistributor.seconds(logSums, whole) == 8);
  }
  auto path = redistributor.collectives(logSums, whole);
  REQUIRE((path && path->collectives.size() == 1));
  CHECK(path->collectives[0].combiner == Combiner::LogSumExp);
  CHECK(numExchanges(path->collectives[0]) == 2);
  auto read = Collective::parse(path->collectives[0].str(on), logSums, shape({4}), on);
  REQUIRE(static_cast<bool>(read));
  CHECK(*read == path->collectives[0]);
  CHECK(numExchanges(redistributor.collectives(sums, whole)->collectives[0]) == 1);
}

TEST_CASE("meshes of many axes are searched in a smaller space") {
  Mesh on = Mesh::fromLevels({8, 8, 2});
  REQUIRE_FALSE(ShardingGraph::fits(4, on.numAxes()));
  auto onMesh = [&](const Collective &collective) { return cost(collective, on, true); };
  TensorShape large = shape({64, 128, 64, 32, 3, 5});
  auto checkMoves = [&](llvm::StringRef fromText, llvm::StringRef toText, size_t mostCollectives) {
    Sharding from = sharding(fromText, on), to = sharding(toText, on);
    auto path = redistribute(from, to, large, on, onMesh);
    REQUIRE(path);
    CHECK(path->collectives.size() <= mostCollectives);
    Sharding now = from;
    for (const Collective &collective : path->collectives) {
      CHECK(collective.inputBytes == localShape(large, now, on).bytes());
      now = collective.result;
      CHECK(collective.outputBytes == localShape(large, now, on).bytes());
    }
    CHECK(now == to);
  };
  checkMoves("[(x0 x1 x2), (x3 x4 x5), -, -, -, -]", "[(x3 x4 x5), (x0 x1 x2), -, -, -, -]", 1);
  checkMoves("[x6, -, -, -, -, -] sum{x0 x1 x2}", "[x6, (x0 x1 x2), -, -, -, -]", 1);
  checkMoves("[-, -, -, -, -, -] sum{x0 x1 x2 x6}", "[-, -, -, -, -, -] sum{x6}", 1);
  checkMoves("[(x0 x1 x2), -, (x3 x4 x5), -, -, -]", "[-, (x0 x1 x2), -, (x3 x4 x5), -, -]", 2);
  // Nothing stays together here: no search is possible, and the pair is still reached.
  checkMoves("[(x0 x2), (x4 x6), x1, x3, -, x5]", "[(x6 x1), (x3 x0), (x5 x2), x4, -, -]", 13);
}

TEST_CASE("small meshes give the same through the restricted space") {
  // 5 axes and 5 dims are too many for one graph, but a pair that uses 3 of them is not.
  Mesh large = mesh("[x0=2 | x1=2, x2=2, x3=1, x4=1]"), small = mesh("[x0=2 | x1=2, x2=2]");
  TensorShape wide = shape({16, 8, 32, 4, 6});
  REQUIRE_FALSE(ShardingGraph::fits(5, large.numAxes()));
  for (auto [fromText, toText] : {std::pair("[x0, x1, x2, -, -]", "[x1, x2, x0, -, -]"),
                                  std::pair("[(x0 x1), x2, -, -, -]", "[x2, -, x1, -, x0]"),
                                  std::pair("[x0, -, -, -, -] sum{x1 x2}", "[-, -, (x2 x1), -, x0]")}) {
    auto cheap = [&](const Collective &collective) { return cost(collective, small, true); };
    auto a = redistribute(sharding(fromText, large), sharding(toText, large), wide, large, cheap);
    auto b = redistribute(sharding(fromText, small), sharding(toText, small), wide, small, cheap);
    REQUIRE((a && b));
    CHECK(a->seconds == Approx(b->seconds));
  }
}

TEST_CASE("the same pairs give the same collectives in whatever order they are asked for") {
  Mesh on = mesh("[x0=2 | x1=2, x2=2]");
  TensorShape each = shape({8, 8, 8});
  auto onMesh = [&](const Collective &collective) { return cost(collective, on, true); };
  Redistributor one(each, on, onMesh), two(each, on, onMesh);
  std::vector<Sharding> all = allShardings(3, on, false);
  for (const Sharding &from : llvm::reverse(all))
    CHECK(two.seconds(from, all.front()));
  for (const Sharding &from : all)
    for (const Sharding &to : llvm::reverse(all)) {
      auto a = one.collectives(from, to), b = two.collectives(from, to);
      if (!a || !b || a->collectives != b->collectives)
        FAIL(from.str(on) << " to " << to.str(on));
    }
  SUCCEED();
}
