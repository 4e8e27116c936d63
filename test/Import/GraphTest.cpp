// Order, names, domains and outputs of graphs, with the quirks that real files have.
#include "ModelText.h"

using namespace apc::test;
using Catch::Contains;

TEST_CASE("nodes are named and sorted, values keep their names") {
  auto model = importText(serialize(node("Add", {"a", "x"}, {"y"}) + node("Relu", {"x"}, {"a"}, "name: \"first\"") +
                                    input("x", {"2", "3"}) + output("y")));
  std::string text = model->text();
  CHECK_THAT(text, Contains("apc.values = [\"a\"]") && Contains("loc(\"first\")") && Contains("loc(\"Add_0\")"));
  CHECK(text.find("apc.relu") < text.find("apc.add"));
  CHECK_THAT(text, Contains("apc.name = \"x\"") && Contains("apc.name = \"y\""));
  CHECK(model->report.numNodes == 2);
  CHECK(model->report.operators == std::map<std::string, int64_t>{{"Add", 1}, {"Relu", 1}});
  CHECK(model->report.sha256.size() == 64);
}

TEST_CASE("nodes of one name get distinct ones") {
  auto model = importText(serialize(node("Relu", {"x"}, {"a"}, "name: \"n\"") +
                                    node("Relu", {"a"}, {"b"}, "name: \"n\"") + input("x", {"2"}) + output("b")));
  CHECK_THAT(model->text(), Contains("loc(\"n\")") && Contains("loc(\"n#2\")"));
}

TEST_CASE("the default domain may be spelled ai.onnx, in nodes and imports") {
  auto bytes = serialize(node("Relu", {"x"}, {"y"}, "domain: \"ai.onnx\"") + input("x", {"2"}) + output("y"), 0,
                         "opset_import { domain: \"ai.onnx\" version: 13 }");
  CHECK(importText(bytes)->report.notes.empty());
}

TEST_CASE("a used domain without an import, and no import at all, are read") {
  auto bytes = serialize(node("Gelu", {"x"}, {"y"}, "domain: \"com.microsoft\"") + input("x", {"2"}) + output("y"), 0);
  auto model = importText(bytes);
  REQUIRE(model->report.notes.size() == 2);
  CHECK_THAT(model->report.notes[0], Contains("imports no opset"));
  CHECK_THAT(model->report.notes[1], Contains("com.microsoft"));
}

TEST_CASE("outputs may be inputs and initializers") {
  auto model = importText(serialize(emptyWeight("w", {"4"}) + input("x", {"2"}) + output("x") + output("w")));
  CHECK_THAT(model->text(), Contains("apc.parameter \"w\" \"empty\"") && Contains("return %arg0, %0"));
}

TEST_CASE("what no output needs is left out") {
  auto model =
      importText(serialize(node("Relu", {"x"}, {"y"}) + node("NoSuchThing", {"x"}, {"z"}) + emptyWeight("w", {"4"}) +
                           input("x", {"2"}) + input("unused", {"?"}) + output("y")));
  CHECK_THAT(model->text(), !Contains("parameter") && !Contains("apc.none") && !Contains("unused"));
  CHECK(model->report.operators.at("NoSuchThing") == 1);
}

TEST_CASE("empty inputs and outputs are absent") {
  auto model = importText(
      serialize(node("Clip", {"x", "", "high"}, {"y"}) + "initializer { name: \"high\" data_type: 1 float_data: 6 }" +
                input("x", {"2", "3"}) + node("MaxPool", {"image"}, {"pooled", ""}, ints("kernel_shape", {"2", "2"})) +
                input("image", {"1", "1", "4", "4"}) + output("y") + output("pooled")));
  CHECK_THAT(model->text(), Contains("apc.none") && Contains("none"));
}

TEST_CASE("weights of experts come in both orders, and offsets of pieces in none") {
  auto experts = [](Names up, Names down, const std::string &more = "") {
    return serialize(node("MoE", {"x", "router", "up", "", "down"}, {"y"}, "domain: \"com.microsoft\" " + more) +
                     input("x", {"16", "8"}) + input("router", {"16", "4"}) + emptyWeight("up", up) +
                     emptyWeight("down", down) + output("y"));
  };
  for (const std::string &bytes :
       {experts({"4", "32", "8"}, {"4", "8", "32"}), experts({"4", "8", "32"}, {"4", "32", "8"})})
    CHECK_THAT(importText(bytes)->text(), Contains("\"apc.moe\"") && Contains("-> tensor<16x8xf32>"));
  CHECK_THAT(importError(experts({"4", "8", "32"}, {"4", "8", "32"})),
             Contains("MoE") && Contains("operand 'fc2_experts_weights' has shape [4, 8, 32]") &&
                 Contains("[4, 32, 8] ([experts, inputs, outputs]) is needed"));
  // An attribute of ops on pieces is none of ONNX's.
  auto foreign = importText(experts({"4", "32", "8"}, {"4", "8", "32"}, integer("inputs_first", 1)));
  CHECK_THAT(foreign->text(), Contains("onnx.inputs_first = 1"));
  std::string inputs =
      node("MoE", {"x", "router", "up", "", "up", "", "", "", "x"}, {"y"}, "domain: \"com.microsoft\"");
  CHECK_THAT(importError(serialize(inputs + input("x", {"16", "8"}) + input("router", {"16", "4"}) +
                                   emptyWeight("up", {"4", "8", "8"}) + output("y"))),
             Contains("has 9 inputs, at most 8 are accepted"));
}

TEST_CASE("shape arithmetic folds away") {
  auto model = importText(
      serialize(node("Shape", {"x"}, {"shape"}) + intTensor("initializer", "zero", {}, {"0"}) +
                node("Gather", {"shape", "zero"}, {"batch"}) + intTensor("initializer", "axes", {"1"}, {"0"}) +
                node("Unsqueeze", {"batch", "axes"}, {"batches"}) + intTensor("initializer", "rest", {"1"}, {"-1"}) +
                node("Concat", {"batches", "rest"}, {"target"}, integer("axis", 0)) +
                node("Reshape", {"x", "target"}, {"y"}) + input("x", {"batch", "3", "5"}) + output("y")),
      {.dims = {{"batch", 4}}, .parameters = {}, .conditions = {}});
  CHECK_THAT(model->text(), Contains("tensor<4x15xf32>") && !Contains("apc.gather") && !Contains("apc.concat"));
  CHECK(model->report.operators.size() == 5);
}

TEST_CASE("unsupported operators are listed at once, with their nodes") {
  std::string graph = node("Strange", {"x"}, {"a"}, "name: \"s1\"") + node("Strange", {"a"}, {"b"}) +
                      node("Odd", {"b"}, {"c"}, "domain: \"my.domain\"") + node("Relu", {"c"}, {"y"}) +
                      input("x", {"2"}) + output("y");
  CHECK_THAT(importError(serialize(graph)),
             Contains("2 operator(s)") && Contains("Strange (s1, Strange_1)") && Contains("my.domain.Odd (Odd_2)"));
}

TEST_CASE("of constants with one name the last stands, with a note") {
  auto constant = [](const std::string &number) {
    return node("Constant", {}, {"c"}, "attribute { name: \"value_float\" type: 1 f: " + number + " }");
  };
  auto model = importText(
      serialize(constant("12") + node("Add", {"x", "c"}, {"y"}) + constant("2") + input("x", {"2"}) + output("y")));
  CHECK_THAT(model->text(), Contains("dense<2.000000e+00>") && !Contains("1.2"));
  CHECK_THAT(model->report.notes.at(0), Contains("constant 'c' is defined more than once"));
}

TEST_CASE("structure that is no graph") {
  std::string x = input("x", {"2"}), y = output("y");
  CHECK_THAT(importError(serialize(node("Add", {"x", "b"}, {"a"}, "name: \"one\"") + node("Relu", {"a"}, {"b"}) +
                                   node("Relu", {"b"}, {"y"}) + x + y)),
             Contains("cycle of 2 node(s)") && Contains("'one'") && Contains("'Relu_1'"));
  CHECK_THAT(importError(serialize(node("Add", {"x", "gone"}, {"y"}) + x + y)),
             Contains("node 'Add_0' (Add) reads value 'gone'"));
  CHECK_THAT(importError(serialize(node("Relu", {"x"}, {"y"}) + node("Relu", {"x"}, {"y"}) + x + y)),
             Contains("'y' is defined twice"));
  CHECK_THAT(importError(serialize(node("Relu", {"x"}, {"x"}) + x + output("x"))), Contains("'x' is defined twice"));
  CHECK_THAT(importError(serialize(node("Relu", {"x"}, {"a"}) + x + y)), Contains("output 'y' is defined by no"));
  CHECK_THAT(importError(serialize(node("Relu", {"x"}, {"y"}) + x + x + y)),
             Contains("two graph inputs are named 'x'"));
  CHECK_THAT(importError(serialize(node("Relu", {"x"}, {"y"}) + x)), Contains("no outputs"));
}
