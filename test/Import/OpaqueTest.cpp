// Operators that nobody knows: planned by declared types, or by a factor rule.
#include "ModelText.h"

using namespace apc::test;
using Catch::Contains;

namespace {

std::string mix(const std::string &more = "") {
  return node("Mix", {"x", "w"}, {"h"}, "domain: \"com.acme\" name: \"mix\" " + integer("heads", 2) + more) +
         node("Relu", {"h"}, {"y"}) + input("x", {"b", "8"}) + input("w", {"8"}) + output("y");
}

apc::ImportOptions options(const std::string &rule = "", bool strict = false) {
  apc::ImportOptions options;
  options.dims = {{"b", 4}};
  options.strict = strict;
  if (!rule.empty())
    options.operators = {{"com.acme.Mix", {rule, 8}}};
  return options;
}

const std::string declared = value("value_info", "h", {"b", "8"});
const std::string opsets = "opset_import { domain: \"com.acme\" version: 1 }";

} // namespace

TEST_CASE("an operator that nobody knows has the results that the file declares") {
  auto model = importText(serialize(mix() + declared, 17, opsets), options());
  CHECK_THAT(model->text(), Contains("apc.opaque") && Contains("operator_name = \"com.acme.Mix\"") &&
                                Contains("onnx.heads = 2") && Contains("loc(\"mix\")"));
  REQUIRE(model->report.notes.size() == 1);
  CHECK_THAT(model->report.notes[0], Contains("com.acme.Mix (node 'mix') is not known") && Contains("whole"));
  CHECK(model->report.opaque.at("com.acme.Mix") == std::vector<std::string>{"mix"});
}

TEST_CASE("attributes of an operator that nobody knows may repeat, and their names may be any bytes") {
  std::string twice = integer("heads", 3) + integer("\\377\\376", 1);
  auto model = importText(serialize(mix(twice) + declared, 17, opsets), options());
  CHECK(llvm::StringRef(model->text()).count("onnx.heads") == 1);
  CHECK_THAT(model->text(), Contains("onnx.heads = 3"));
}

TEST_CASE("an operator that nobody knows and that has no inputs reads nothing") {
  std::string graph =
      node("Make", {}, {"h"}, "domain: \"com.acme\"") + node("Relu", {"h"}, {"y"}) + declared + output("y");
  CHECK_THAT(importText(serialize(graph, 17, opsets), options())->text(), Contains("\"apc.opaque\"(%0)"));
}

TEST_CASE("operators that nobody knows are refused without declared types, with graphs, and where the user wants it") {
  CHECK_THAT(importError(serialize(mix(), 17, opsets), options()), Contains("not supported") && Contains("--operator"));
  CHECK_THAT(importError(serialize(mix() + declared, 17, opsets), options("", true)),
             Contains("not supported") && !Contains("--operator"));
  std::string graph = "attribute { name: \"body\" type: 5 g { name: \"body\" } } ";
  CHECK_THAT(importError(serialize(mix(graph) + declared, 17, opsets), options()), Contains("not supported"));
}

TEST_CASE("a factor rule gives an operator that nobody knows its shapes") {
  auto model = importText(serialize(mix(), 17, opsets), options("b d, d -> b d"));
  CHECK_THAT(model->text(), Contains("factor_rule = \"b d, d -> b d\"") && Contains("tensor<4x8xf32>"));
  CHECK_THAT(model->report.notes.at(0), Contains("cut by its factor rule"));
  // A rule is a promise of the user, which --strict takes.
  CHECK_THAT(importText(serialize(mix(), 17, opsets), options("b d, d -> b d", true))->text(), Contains("factor_rule"));
  CHECK_THAT(importError(serialize(mix() + value("value_info", "h", {"b", "9"}), 17, opsets), options("b d, d -> b d")),
             Contains("gives 'h' the dims [4, 8]") && Contains("[4, 9]"));
  CHECK_THAT(importError(serialize(mix(), 17, opsets), options("b d -> b d")),
             Contains("has 2 inputs and 1 output") && Contains("has 1 and 1"));
  std::string outer = node("Mix", {"x", "w"}, {"h"}, "domain: \"com.acme\"") + output("h");
  std::string large = input("x", {"1099511627776"}) + input("w", {"1099511627775"});
  CHECK_THAT(importError(serialize(outer + large, 17, opsets), options("b, d -> b d")),
             Contains("2^60 or more elements") || Contains("overflows"));
  CHECK_THAT(importError(serialize(mix(), 17, opsets), options("b b, d -> b d")), Contains("'mix'"));
}

TEST_CASE("a factor rule that no node has is noted") {
  std::string graph = node("Relu", {"x"}, {"y"}) + input("x", {"2"}) + output("y");
  CHECK_THAT(importText(serialize(graph), options("b d, d -> b d"))->report.notes.back(),
             Contains("--operator com.acme.Mix: the model has no operator of this name"));
}

TEST_CASE("an operator of ONNX Runtime without its domain is read as such, and noted once") {
  auto model = importText(serialize(node("QuickGelu", {"x"}, {"h"}) + node("QuickGelu", {"h"}, {"y"}) +
                                    input("x", {"2", "3"}) + output("y")));
  CHECK_THAT(model->text(), Contains("apc.quick_gelu"));
  REQUIRE(model->report.notes.size() == 1);
  CHECK_THAT(model->report.notes[0], Contains("operator QuickGelu") && Contains("com.microsoft"));
  CHECK_THAT(
      importError(serialize(node("QuickGelu", {"x"}, {"y"}, "domain: \"com.acme\"") + input("x", {"2"}) + output("y"))),
      Contains("com.acme.QuickGelu"));
}
