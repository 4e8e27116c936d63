// Local functions and branches.
#include "ModelText.h"

using namespace apc::test;
using Catch::Contains;

namespace {

/// `functions { ... }` around a body.
std::string function(const std::string &name, const std::string &body, const std::string &domain = "my") {
  return "functions { name: \"" + name + "\" domain: \"" + domain + "\" opset_import { version: 17 } " + body + "}\n";
}

std::string call(const std::string &name, Names inputs, Names outputs, const std::string &more = "") {
  return node(name, inputs, outputs, "domain: \"my\" " + more);
}

} // namespace

TEST_CASE("functions are expanded, nested, with names that tell where") {
  std::string inner = function("Inner", "input: \"a\" output: \"b\" " + node("Relu", {"a"}, {"b"}));
  std::string outer = function("Outer", "input: \"a\" output: \"c\" " + call("Inner", {"a"}, {"t"}) +
                                            call("Inner", {"t"}, {"c"}, "name: \"again\""));
  auto model = importText(
      serialize(call("Outer", {"x"}, {"y"}, "name: \"block\"") + input("x", {"2"}) + output("y"), 17, inner + outer));
  CHECK_THAT(model->text(), Contains("loc(\"block/Inner_0/Relu_0\")") && Contains("loc(\"block/again/Relu_0\")") &&
                                Contains("apc.values = [\"block/again/b\"]"));
  CHECK(model->report.operators == std::map<std::string, int64_t>{{"Relu", 2}});
  CHECK(model->report.numNodes == 1);
}

TEST_CASE("attribute references take the call's value, the default, or nothing") {
  std::string body = "input: \"a\" output: \"b\" attribute: \"to\" "
                     "attribute_proto { name: \"axis\" type: 2 i: 0 } ";
  std::string f = function(
      "F", body + node("Concat", {"a", "a"}, {"b"}, "attribute { name: \"axis\" type: 2 ref_attr_name: \"axis\" }"));
  std::string graph = call("F", {"x"}, {"y"}) + call("F", {"x"}, {"z"}, integer("axis", 1)) + input("x", {"2", "3"}) +
                      output("y") + output("z");
  CHECK_THAT(importText(serialize(graph, 17, f))->text(), Contains("tensor<4x3xf32>") && Contains("tensor<2x6xf32>"));
}

TEST_CASE("overloads are different functions, and twice the same is an error") {
  std::string relu = function("F", "input: \"a\" output: \"b\" " + node("Relu", {"a"}, {"b"}));
  std::string add = function("F", "overload: \"two\" input: \"a\" output: \"b\" " + node("Add", {"a", "a"}, {"b"}));
  std::string graph =
      call("F", {"x"}, {"a"}) + call("F", {"a"}, {"y"}, "overload: \"two\"") + input("x", {"2"}) + output("y");
  auto model = importText(serialize(graph, 17, relu + add));
  CHECK(model->report.operators == std::map<std::string, int64_t>{{"Add", 1}, {"Relu", 1}});
  CHECK_THAT(importError(serialize(graph, 17, relu + relu)), Contains("'my.F' is defined twice"));
}

TEST_CASE("recursion and explosions of functions") {
  std::string graph = call("A", {"x"}, {"y"}) + input("x", {"2"}) + output("y");
  auto forward = [](const std::string &from, const std::string &to) {
    return function(from, "input: \"a\" output: \"c\" " + call(to, {"a"}, {"b"}) + call(to, {"b"}, {"c"}));
  };
  CHECK_THAT(importError(serialize(graph, 17, forward("A", "B") + forward("B", "A"))),
             Contains("function 'A' calls itself: A -> B -> A"));
  std::string chain = forward("A", "F0");
  for (int i = 0; i < 40; ++i)
    chain += forward("F" + std::to_string(i), "F" + std::to_string(i + 1));
  chain += function("F40", "input: \"a\" output: \"b\" " + node("Relu", {"a"}, {"b"}));
  CHECK_THAT(importError(serialize(graph, 17, chain)), Contains("more than 1000000 nodes"));
  std::string deep = forward("A", "F0");
  for (int i = 0; i < 80; ++i)
    deep += function("F" + std::to_string(i),
                     "input: \"a\" output: \"b\" " + call("F" + std::to_string(i + 1), {"a"}, {"b"}));
  deep += function("F80", "input: \"a\" output: \"b\" " + node("Relu", {"a"}, {"b"}));
  CHECK_THAT(importError(serialize(graph, 17, deep)), Contains("nested deeper than 64"));
}

TEST_CASE("calls that do not fit") {
  std::string f = function("F", "input: \"a\" output: \"b\" " + node("Relu", {"a"}, {"b"}));
  CHECK_THAT(importError(serialize(call("F", {"x", "x"}, {"y"}) + input("x", {"2"}) + output("y"), 17, f)),
             Contains("passes 2 inputs to function 'F', which takes 1"));
  CHECK_THAT(importError(serialize(call("F", {"x"}, {"y"}) + input("x", {"2"}) + output("y"), 17,
                                   function("F", "input: \"a\" output: \"b\" " + node("Relu", {"q"}, {"b"})))),
             Contains("function 'my.F': node 'Relu_0' (Relu) reads value 'q'"));
}

TEST_CASE("a branch whose condition follows is walked in place") {
  std::string then = branch("then_branch", node("Relu", {"x"}, {"t"}) + output("t"));
  std::string otherwise = branch("else_branch", node("Add", {"x", "w"}, {"e"}) + emptyWeight("w", {"2"}) + output("e"));
  std::string constant = "initializer { name: \"c\" data_type: 9 int32_data: 1 }\n";
  std::string tail = input("x", {"2"}) + output("y");
  auto taken = importText(serialize(constant + node("If", {"c"}, {"y"}, then + otherwise) + tail));
  CHECK_THAT(taken->text(), Contains("apc.relu") && !Contains("apc.add"));

  std::string graph = node("If", {"flag"}, {"y"}, then + otherwise) + input("flag", {}, 9) + tail;
  CHECK_THAT(importError(serialize(graph)),
             Contains("If (If_0 (decided by graph input 'flag': say --condition flag=true"));
  apc::ImportOptions options;
  options.conditions["flag"] = false;
  auto chosen = importText(serialize(graph), options);
  CHECK_THAT(chosen->text(), Contains("apc.add") && Contains("parameter \"w\"") && !Contains("apc.name = \"flag\""));
  options.conditions["nobody"] = true;
  CHECK_THAT(importError(serialize(graph), options), Contains("--condition nobody names no value"));
}

TEST_CASE("a graph that changes what an operator computes is not passed over") {
  std::string change = branch("score_mod", node("Relu", {"x"}, {"t"}) + output("t"));
  CHECK_THAT(importError(serialize(node("Relu", {"x"}, {"y"}, change) + input("x", {"2"}) + output("y"))),
             Contains("Relu (Relu_0 (with the graph 'score_mod'))"));
}

TEST_CASE("inputs that a branch declares are the values of those names around it") {
  std::string then = branch("then_branch", node("Relu", {"late"}, {"t"}) + input("late", {"2"}) + output("t"));
  std::string otherwise = branch("else_branch", input("late", {"2"}) + output("late"));
  std::string constant = "initializer { name: \"c\" data_type: 9 int32_data: 1 }\n";
  std::string graph = constant + node("If", {"c"}, {"y"}, then + otherwise) + input("x", {"2"}) + output("y");
  auto model = importText(serialize(graph + node("Add", {"x", "x"}, {"late"})));
  CHECK_THAT(model->text(), Contains("apc.add") && Contains("apc.relu"));
  CHECK_THAT(importError(serialize(graph)),
             Contains("node 'If_0' (If) reads value 'late', which no input, initializer or node defines"));
}

TEST_CASE("what a branch captures is defined before it") {
  std::string then = branch("then_branch", node("Relu", {"late"}, {"t"}) + output("t"));
  std::string constant = "initializer { name: \"c\" data_type: 9 int32_data: 1 }\n";
  auto model = importText(serialize(constant + node("If", {"c"}, {"y"}, then + branch("else_branch", output("late"))) +
                                    node("Add", {"x", "x"}, {"late"}) + input("x", {"2"}) + output("y")));
  CHECK_THAT(model->text(), Contains("apc.add") && Contains("apc.relu"));
}
