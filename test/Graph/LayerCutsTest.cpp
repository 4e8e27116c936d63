// Places to cut, on chains whose widths show where they are.
#include "apc/Graph/LayerCuts.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// A chain of ops; each op has a width (the bytes of its result) and may be a contraction. Equal ops share a rule.
struct Link {
  int64_t bytes;
  bool contracts = true;
};

OpGraph chain(llvm::ArrayRef<Link> links) {
  OpGraph graph;
  graph.rules.emplace_back();
  graph.ops.push_back({"x", "input", RuleId(0), {}, {}, {ValueId(0)}});
  graph.values.push_back({"x", {{1}, 8}, ValueRole::Input, OpId(0), 0});
  for (Link link : links) {
    FactorRule rule;
    rule.work = link.contracts ? Work::Contraction : Work::Stream;
    rule.flopsPerPoint = static_cast<double>(link.bytes);
    auto found = std::find(graph.rules.begin(), graph.rules.end(), rule);
    RuleId id(static_cast<size_t>(found - graph.rules.begin()));
    if (found == graph.rules.end())
      graph.rules.push_back(rule);
    ValueId made(graph.values.size());
    std::string name = "op" + std::to_string(graph.ops.size());
    graph.values.push_back({name, {{link.bytes}, 8}, ValueRole::Activation, OpId(graph.ops.size()), 0});
    graph.ops.push_back({name, name, id, {}, {ValueId(made.index() - 1)}, {made}});
  }
  return graph;
}

using Places = std::vector<std::pair<size_t, int64_t>>; ///< position, bytes

Places placesOf(llvm::ArrayRef<Link> links) {
  Places places;
  for (const CutPosition &cut : layerCuts(chain(links)))
    places.emplace_back(cut.position, cut.bytes);
  return places;
}

} // namespace

TEST_CASE("A chain is cut where it is narrow") {
  CHECK(placesOf({{8}, {2}, {8}, {9}, {3}, {7}, {9}}) == Places{{2, 2}, {5, 3}});
}

TEST_CASE("A place with fewer bytes on both sides is left out, however many there are") {
  CHECK(placesOf({{8}, {2}, {8}, {5}, {9}, {6}, {9}, {3}, {7}}) == Places{{2, 2}, {8, 3}});
  // On a slope each place has fewer bytes on one side alone.
  CHECK(placesOf({{9}, {6}, {8}, {4}, {7}, {2}, {3}}) == Places{{2, 6}, {4, 4}, {6, 2}});
}

TEST_CASE("Equal widths are cut once between two contractions") {
  Link work{4}, pass{4, false};
  CHECK(placesOf({work, pass, pass, work, pass, work}) == Places{{1, 4}, {4, 4}});
}

TEST_CASE("The loss behind the last layer does not hide the places between equal layers") {
  Link work{4}, pass{4, false}, loss{1, false};
  CHECK(placesOf({work, pass, work, pass, work, pass, loss, loss}) == Places{{1, 4}, {3, 4}});
}

TEST_CASE("Layers that become ever narrower or wider are cut where each is narrowest") {
  CHECK(placesOf({{9}, {8, false}, {7}, {5}, {3}}) == Places{{2, 8}, {3, 7}, {4, 5}});
  CHECK(placesOf({{2}, {4}, {7}}) == Places{{1, 2}, {2, 4}});
}

TEST_CASE("Both sides of a cut hold a contraction") {
  CHECK(placesOf({{2, false}, {9}, {3}, {8}, {1, false}, {5, false}}) == Places{{2, 9}, {3, 3}});
  CHECK(placesOf({{2}}).empty());
  CHECK(placesOf({}).empty());
}

TEST_CASE("Contractions of parameters alone do not count as a side of a cut") {
  OpGraph graph = chain({{2}, {9}, {3}, {8}});
  CHECK(layerCuts(graph).size() == 2);
  graph.ops.front().results.push_back(ValueId(graph.values.size())); // the third op alone reads an input
  graph.values.front().role = ValueRole::Parameter;
  graph.values.push_back({"input", {{1}, 8}, ValueRole::Input, OpId(0), 1});
  graph.ops[3].operands.push_back(*graph.ops.front().results.back());
  REQUIRE(layerCuts(graph).size() == 1);
  CHECK(layerCuts(graph).front().position == 3);
}

TEST_CASE("A repeated layer is cut at its narrowest place") {
  // Layers of two parts, which leave 3 and 2 bytes; the model ends with a head.
  std::vector<Link> links = {{2, false}};
  for (int layer = 0; layer < 5; ++layer)
    links.insert(links.end(), {{8}, {3}, {9}, {2}});
  links.insert(links.end(), {{7}, {6}});
  CHECK(placesOf(links) == Places{{5, 2}, {9, 2}, {13, 2}, {17, 2}, {21, 2}});
}

TEST_CASE("Layers are counted from the end: where the first does more, the others are cut where they begin") {
  std::vector<Link> links = {{2, false}, {8}, {5}};
  for (int layer = 0; layer < 4; ++layer)
    links.insert(links.end(), {{8}, {2}, {9}, {2}}); // two parts each
  links.insert(links.end(), {{7}, {6}});
  CHECK(placesOf(links) == Places{{5, 2}, {7, 2}, {11, 2}, {15, 2}, {19, 2}});
}
