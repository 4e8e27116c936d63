// Shapes that data decides: numbers of inputs, bounds that follow from constants, declared and bound numbers of
// results.
#include "ModelText.h"

using namespace apc::test;
using Catch::Contains;

namespace {

apc::ImportOptions with(std::map<std::string, std::vector<double>> values, std::map<std::string, int64_t> dims = {}) {
  apc::ImportOptions options;
  options.values = std::move(values);
  options.dims = std::move(dims);
  return options;
}

/// Boxes of 2 samples, scores of 3 classes for 40 boxes each; at most 5 boxes of a class are taken.
std::string suppression(const std::string &declared) {
  return node("NonMaxSuppression", {"boxes", "scores", "most", "overlap"}, {"taken"}) +
         intTensor("initializer", "most", {}, {"5"}) +
         "initializer { name: \"overlap\" data_type: 1 float_data: 0.5 }\n" + input("boxes", {"2", "40", "4"}) +
         input("scores", {"2", "3", "40"}) + declared;
}

} // namespace

TEST_CASE("the numbers of an input make it a constant") {
  std::string graph = node("Reshape", {"x", "to"}, {"y"}) + input("x", {"6"}) + input("to", {"n"}, 7) + output("y");
  CHECK_THAT(importText(serialize(graph), with({{"to", {3, -1}}}))->text(),
             Contains("tensor<3x2xf32>") && !Contains("%arg1"));
  CHECK_THAT(importError(serialize(graph), with({{"to", {1.5, 4}}})), Contains("--value to") && Contains("1.5"));
  CHECK_THAT(importError(serialize(graph), with({{"no", {1}}}, {{"n", 2}})),
             Contains("--value no names no graph input"));
  CHECK_THAT(importError(serialize(graph), with({{"to", {1, 2, 3}}}, {{"n", 2}})),
             Contains("3 numbers are given, which do not fill the dims"));
  CHECK_THAT(importError(serialize(graph), with({}, {{"n", 2}})), Contains("--value to=NUMBERS"));
}

TEST_CASE("the number of results of a node is bounded by constants and shapes") {
  auto model = importText(serialize(suppression(value("output", "taken", {"n", "3"}, 7))));
  CHECK_THAT(model->text(), Contains("bound = 30") && Contains("tensor<30x3xi64>"));
  REQUIRE(model->report.notes.size() == 1);
  CHECK_THAT(model->report.notes[0], Contains("30 are taken, the most that there can be; --dim taken.0=N takes fewer"));
}

TEST_CASE("a declared or bound number of results wins over the bound") {
  CHECK_THAT(importText(serialize(suppression(value("output", "taken", {"12", "3"}, 7))))->text(),
             Contains("tensor<12x3xi64>"));
  auto bound = importText(serialize(suppression(value("output", "taken", {"n", "3"}, 7))), with({}, {{"n", 20}}));
  CHECK_THAT(bound->text(), Contains("tensor<20x3xi64>"));
  REQUIRE(bound->report.notes.size() == 1); // no note that `n` is unknown
  CHECK_THAT(importText(serialize(suppression(output("taken"))), with({}, {{"taken.0", 7}}))->text(),
             Contains("tensor<7x3xi64>"));
  CHECK_THAT(importError(serialize(suppression(output("taken"))), with({}, {{"taken.0", 31}})),
             Contains("dim 0 of 'taken' is 31") && Contains("at most 30"));
}

TEST_CASE("numbers of results of other operators") {
  auto text = [](const std::string &graph, std::map<std::string, int64_t> dims = {}) {
    return importText(serialize(graph), with({}, std::move(dims)))->text();
  };
  std::string x = input("x", {"4", "6"});
  CHECK_THAT(text(node("NonZero", {"x"}, {"y"}) + x + output("y")), Contains("tensor<2x24xi64>"));
  CHECK_THAT(text(node("NonZero", {"x"}, {"y"}) + x + output("y"), {{"y.1", 9}}), Contains("tensor<2x9xi64>"));
  CHECK_THAT(text(node("Unique", {"x"}, {"y", "", "z"}, integer("axis", -1)) + x + output("y") + output("z")),
             Contains("tensor<4x6xf32>, none, tensor<6xi64>"));
  CHECK_THAT(text(node("Compress", {"x", "c"}, {"y"}, integer("axis", 1)) + x + input("c", {"5"}, 9) + output("y")),
             Contains("bound = 5") && Contains("tensor<4x5xf32>"));
  CHECK_THAT(
      text(node("TopK", {"x", "k"}, {"y", "z"}) + x + input("k", {"1"}, 7) + output("y") + output("z"), {{"y.1", 2}}),
      Contains("tensor<4x2xf32>, tensor<4x2xi64>"));
  std::string range = node("Range", {"a", "b", "c"}, {"y"}) + input("a", {}, 7) + input("b", {}, 7) + input("c", {}, 7);
  CHECK_THAT(text(range + value("output", "y", {"8"}, 7)), Contains("tensor<8xi64>"));
  CHECK_THAT(importError(serialize(range + output("y"))),
             Contains("--dim y.0=N gives the number of results") && Contains("--value b=NUMBERS"));
}

TEST_CASE("dims of a result that a list decides are bound by place") {
  std::string graph = node("Expand", {"x", "to"}, {"y"}) + input("x", {"1", "6"}) + input("to", {"2"}, 7) + output("y");
  CHECK_THAT(importText(serialize(graph), with({}, {{"y.0", 5}, {"y.1", 6}}))->text(), Contains("tensor<5x6xf32>"));
}
