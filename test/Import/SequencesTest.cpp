// Sequences and optional values whose structure is known: lists of values when a file is read, nothing behind that.
#include "ModelText.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace apc::test;
using Catch::Contains;

namespace {

std::string splitText(const std::string &more = "") {
  return input("x", {"5", "2"}) + node("SplitToSequence", {"x", "two"}, {"s"}, "name: \"split\" " + more) +
         intTensor("initializer", "two", {}, {"2"}) + intTensor("initializer", "last", {}, {"-1"});
}

std::string sequenceValue(const std::string &field, const std::string &name, const std::string &shape,
                          const std::string &around = "") {
  std::string type = "sequence_type { elem_type { tensor_type { elem_type: 1 shape { " + shape + " } } } }";
  if (!around.empty())
    type = around + " { elem_type { " + type + " } }";
  return field + " { name: \"" + name + "\" type { " + type + " } }\n";
}

std::string graphOf(const std::string &graph) {
  return "attribute { name: \"body\" type: 5 g { name: \"body\" " + graph + "} }\n";
}

} // namespace

TEST_CASE("elements of a sequence are parts of what it was split from") {
  std::string text = importText(serialize(splitText() + node("SequenceAt", {"s", "last"}, {"a"}) +
                                          node("Relu", {"a"}, {"y"}) + output("y")))
                         ->text();
  CHECK_THAT(text, Contains("apc.split") && Contains("apc.relu") && Contains("tensor<1x2xf32>") &&
                       !Contains("unrealized_conversion_cast") && !Contains("tuple<"));
  // Without sizes each part has one element along the dim, which keepdims=0 takes away.
  std::string single = importText(serialize(input("x", {"5", "2"}) + intTensor("initializer", "last", {}, {"-1"}) +
                                            node("SplitToSequence", {"x"}, {"s"}, integer("keepdims", 0)) +
                                            node("SequenceAt", {"s", "last"}, {"y"}) + output("y")))
                           ->text();
  CHECK_THAT(single, Contains("return %") && Contains("-> (tensor<2xf32>"));
}

TEST_CASE("sequences grow, shrink and are joined") {
  std::string graph = splitText() + node("SequenceErase", {"s"}, {"shorter"}) +
                      node("SequenceInsert", {"shorter", "x", "zero"}, {"longer"}) +
                      intTensor("initializer", "zero", {}, {"0"}) + node("SequenceLength", {"longer"}, {"n"}) +
                      node("ConcatFromSequence", {"longer"}, {"y"}, integer("axis", 0)) +
                      node("ConcatFromSequence", {"shorter"}, {"z"}, integer("axis", -1) + integer("new_axis", 1)) +
                      node("Relu", {"y"}, {"r"}) + output("r") + output("z") + output("n");
  std::string text = importText(serialize(graph))->text();
  // [5, 2] before two parts of [2, 2]; two parts side by side along a new dim behind the last.
  CHECK_THAT(text, Contains("-> (tensor<9x2xf32>") && Contains("tensor<2x2x2xf32>") && Contains("dense<3>"));
}

TEST_CASE("a loop makes a sequence, trip by trip") {
  std::string graph = node("Add", {"x", "x"}, {"d"}) + node("SequenceInsert", {"c", "d"}, {"e"}) + input("i", {}, 7) +
                      input("go", {}, 9) + input("c", {}) + output("go") + output("e");
  std::string loop = intTensor("initializer", "M", {}, {"3"}) +
                     "initializer { name: \"yes\" data_type: 9 int32_data: 1 }\n" + input("x", {"2"}) +
                     node("SequenceEmpty", {}, {"none"}) + node("Loop", {"M", "yes", "none"}, {"s"}, graphOf(graph)) +
                     node("ConcatFromSequence", {"s"}, {"y"}, integer("axis", 0)) + output("y");
  std::string text = importText(serialize(loop))->text();
  CHECK(countOf(text, "apc.add") == 3);
  CHECK_THAT(text, Contains("tensor<6xf32>"));
}

TEST_CASE("a graph is mapped over sequences, whose elements are inputs and outputs") {
  std::string graph =
      sequenceValue("input", "s", "dim { dim_param: \"n\" }") + input("w", {"n"}) +
      node("SequenceMap", {"s", "w"}, {"y"},
           graphOf(node("Mul", {"a", "b"}, {"c"}) + input("a", {"n"}) + input("b", {"n"}) + output("c"))) +
      sequenceValue("output", "y", "");
  apc::ImportOptions options;
  options.dims = {{"n", 4}, {"s.length", 2}};
  std::string text = importText(serialize(graph), options)->text();
  CHECK(countOf(text, "apc.mul") == 2);
  CHECK_THAT(text, Contains("apc.name = \"s[1]\"") && Contains("apc.name = \"y[1]\"") && !Contains("y[2]"));
  options.dims.erase("s.length");
  CHECK_THAT(importError(serialize(graph), options), Contains("'s' is a sequence; --dim s.length=N"));
}

TEST_CASE("inputs that only positions and elements left out were go") {
  std::string graph = input("x", {"2"}) + input("unread", {"2"}) + input("p", {}, 7) +
                      node("SequenceConstruct", {"x", "unread"}, {"s"}) + node("SequenceErase", {"s", "p"}, {"t"}) +
                      node("SequenceLength", {"t"}, {"n"}) + node("SequenceAt", {"t", "zero"}, {"a"}) +
                      intTensor("initializer", "zero", {}, {"0"}) + node("Relu", {"a"}, {"y"}) + output("y") +
                      output("n");
  apc::ImportOptions options;
  mlir::MLIRContext context;
  options.inputValues["p"] = apc::Tensor{{}, mlir::IntegerType::get(&context, 64), {1}, {}};
  CHECK_THAT(importError(serialize(graph)), Contains("position 'p' is known at run time only"));
  auto bytes = serialize(graph);
  auto model = apc::importOnnxBytes(bytes, "model.onnx", options, context);
  REQUIRE(static_cast<bool>(model));
  auto main = model->module->lookupSymbol<mlir::func::FuncOp>("main");
  REQUIRE(main.getNumArguments() == 1);
  CHECK(main.getArgAttrOfType<mlir::StringAttr>(0, "apc.name").getValue() == "x");
}

TEST_CASE("optional values are there or not") {
  std::string graph = sequenceValue("input", "s", "dim { dim_value: 4 }", "optional_type") +
                      node("OptionalHasElement", {"s"}, {"y"}) + output("y");
  CHECK_THAT(importError(serialize(graph)), Contains("'s' is optional; say --condition s=true or =false"));
  apc::ImportOptions options;
  options.conditions["s"] = false;
  CHECK_THAT(importText(serialize(graph), options)->text(), Contains("dense<false>"));
  options.conditions["s"] = true;
  options.dims["s.length"] = 1;
  CHECK_THAT(importText(serialize(graph), options)->text(), Contains("dense<true>"));
  options.conditions["s"] = false;
  std::string taken = sequenceValue("input", "s", "dim { dim_value: 4 }", "optional_type") +
                      node("OptionalGetElement", {"s"}, {"e"}) + node("SequenceLength", {"e"}, {"y"}) + output("y");
  CHECK_THAT(importError(serialize(taken), options), Contains("optional value 's' has no element"));
}

TEST_CASE("sequences that data decides, and those that do not fit") {
  std::string at = node("SequenceAt", {"s", "p"}, {"y"}, "name: \"at\"") + output("y");
  CHECK_THAT(importError(serialize(splitText() + input("p", {}, 7) + at)),
             Contains("SequenceAt (at (position 'p' is known at run time only: say --value p=NUMBER"));
  CHECK_THAT(importError(serialize(splitText() + intTensor("initializer", "p", {}, {"3"}) + at)),
             Contains("node 'at' (SequenceAt): position 3 ('p') lies outside a sequence of 3 elements; -3 to 2"));
  CHECK_THAT(importError(serialize(splitText() + node("Relu", {"s"}, {"y"}) + output("y"))),
             Contains("(Relu): input 's' is a sequence; the operator takes tensors"));
  CHECK_THAT(importError(serialize(splitText() + node("SequenceLength", {"x"}, {"y"}) + output("y"))),
             Contains("(SequenceLength): input 0 ('x') is a tensor; a sequence is needed"));
  CHECK_THAT(importError(serialize(splitText() + node("SequenceInsert", {"s", "two"}, {"y"}) + output("y"))),
             Contains("makes a sequence of f32 and i64"));
  CHECK_THAT(importError(serialize(splitText(integer("axis", 2)) + output("s"))),
             Contains("attribute 'axis' is 2, for an input 'x' of 2 dims; -2 to 1 are accepted"));
  CHECK_THAT(importError(serialize(input("x", {"5"}) + node("SplitToSequence", {"x", "none"}, {"s"}) +
                                   intTensor("initializer", "none", {}, {"0"}) + output("s"))),
             Contains("into parts of 0"));
  CHECK_THAT(importError(serialize(node("SequenceEmpty", {}, {"s"}) + input("x", {"2"}) +
                                   node("ConcatFromSequence", {"s"}, {"y"}, integer("axis", 0)) + output("y"))),
             Contains("sequence 's' has no elements to concatenate"));
}
