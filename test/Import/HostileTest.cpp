// Files that are broken or made to break: each gives, quickly, an error that names the fault.
#include "ModelText.h"

#include <ctime>

using namespace apc::test;
using Catch::Contains;

namespace {

std::string relu() { return node("Relu", {"x"}, {"y"}) + input("x", {"2"}) + output("y"); }

} // namespace

TEST_CASE("bytes that are no model") {
  CHECK_THAT(importError(""), Contains("empty"));
  CHECK_THAT(importError("version https://git-lfs.github.com/spec/v1\n"), Contains("git lfs pull"));
  CHECK_THAT(importError("PK\x03\x04 and so on"), Contains("zip archive"));
  CHECK_THAT(importError("{\"graph\": {}}"), Contains("it is text"));
  CHECK_THAT(importError(std::string("\x18\0\0\0ORTM\xff\xff", 10)), Contains("ONNX Runtime's own format (.ort)"));
  CHECK_THAT(importError(std::string(400, '\xff')), Contains("do not parse"));
  CHECK_THAT(importError(std::string("\x08\x08", 2)), Contains("no graph"));
  std::string bytes = serialize(relu());
  for (size_t length = 3; length < bytes.size(); length += 3)
    CHECK_THAT(importError(bytes.substr(0, length)), Contains("model.onnx: "));
}

TEST_CASE("a file that is not there") {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto model = apc::importOnnx("no/such/model.onnx", {}, context);
  REQUIRE(!model);
  CHECK_THAT(apc::takeMessage(model.takeError()).second, Contains("no/such/model.onnx"));
}

TEST_CASE("nesting deeper than any parser should go") {
  std::string bytes;
  auto wrap = [](char tag, const std::string &content) {
    std::string length;
    for (size_t n = content.size();; n >>= 7) {
      length += static_cast<char>(n < 128 ? n : (n & 127) | 128);
      if (n < 128)
        break;
    }
    return std::string(1, tag) + length + content;
  };
  // attribute.g (6) in node.attribute (5) in graph.node (1), many times.
  for (int i = 0; i < 2000; ++i)
    bytes = wrap(0x0a, wrap(0x2a, wrap(0x32, bytes)));
  CHECK_THAT(importError("\x08\x08" + wrap(0x3a, bytes)), Contains("nested at most 100 deep"));
}

TEST_CASE("attributes of the wrong kind") {
  auto concat = [](const std::string &attribute) {
    return importError(serialize(node("Concat", {"x", "x"}, {"y"}, attribute) + input("x", {"2"}) + output("y")));
  };
  CHECK_THAT(concat("attribute { name: \"axis\" type: 3 s: \"left\" }"),
             Contains("'Concat_0' (Concat)") && Contains("axis"));
  CHECK_THAT(concat(ints("axis", {"1", "2"})), Contains("axis"));
  CHECK_THAT(concat("attribute { name: \"axis\" type: 5 g { } }"), Contains("attribute 'axis'"));
  CHECK_THAT(concat("attribute { name: \"axis\" type: 77 }"), Contains("attribute 'axis'"));
  CHECK_THAT(concat(""), Contains("axis"));
  CHECK_THAT(concat(integer("axis", 9223372036854775807)), Contains("axis"));
}

TEST_CASE("attributes are called in ONNX's words") {
  auto norm = [](const std::string &attribute) {
    return importError(serialize(node("LpNormalization", {"x"}, {"y"}, attribute) + input("x", {"2"}) + output("y")));
  };
  CHECK_THAT(norm(integer("p", 3)), Contains("attribute 'p' is 3; one of 1, 2 is needed"));
  CHECK_THAT(norm(ints("axis", {"0"})), Contains("attribute 'axis' is a list of integers; an integer is needed"));
  CHECK_THAT(norm("attribute { name: \"axis\" type: 1 f: 0.5 }"), Contains("is 0.5 (a float); an integer is needed"));
  CHECK_THAT(
      importError(serialize(node("Constant", {}, {"y"}, "attribute { name: \"value\" type: 1 f: 0.5 }") + output("y"))),
      Contains("'Constant_0' (Constant): attribute 'value' is 0.5 (a float); a tensor is needed"));
}

TEST_CASE("attributes that an operator does not have are named once") {
  auto imported =
      importText(serialize(node("Relu", {"x"}, {"h"}, integer("epsion", 1)) +
                           node("Relu", {"h"}, {"y"}, integer("epsion", 1) + ints("consumed_inputs", {"0"})) +
                           input("x", {"2"}) + output("y")));
  REQUIRE(imported->report.notes.size() == 1);
  CHECK(imported->report.notes[0] ==
        "attribute 'epsion' of node 'Relu_0' (Relu) is none of the operator's; it is left out of account");
}

TEST_CASE("too many and too few inputs and outputs") {
  std::string tail = input("x", {"2"}) + output("y");
  CHECK_THAT(importError(serialize(node("Relu", {"x", "x"}, {"y"}) + tail)), Contains("has 2 inputs, at most 1"));
  CHECK_THAT(importError(serialize(node("Relu", {"x"}, {"y", "z"}) + tail)), Contains("has 2 outputs, at most 1"));
  CHECK_THAT(importError(serialize(node("Add", {"x"}, {"y"}) + tail)), Contains("input 1 ('B') is missing"));
  CHECK_THAT(importError(serialize(node("Add", {"", "x"}, {"y"}) + tail)), Contains("input 0 ('A') is missing"));
}

TEST_CASE("tensors that lie about themselves") {
  auto weight = [](const std::string &fields) {
    return importError(serialize(node("Add", {"x", "w"}, {"y"}) + "initializer { name: \"w\" " + fields + " }\n" +
                                 input("x", {"2"}) + output("y")));
  };
  CHECK_THAT(weight("data_type: 1 dims: -3"), Contains("tensor 'w' has dims [-3]"));
  CHECK_THAT(weight("data_type: 1 dims: 9223372036854775807 dims: 9223372036854775807"), Contains("2^60"));
  CHECK_THAT(weight("data_type: 7 dims: 2 raw_data: \"abc\""), Contains("tensor 'w' has 2 elements of 64 bits"));
  CHECK_THAT(weight("data_type: 7 dims: 2 int64_data: 1"), Contains("1 entries of data"));
  CHECK_THAT(weight("data_type: 99 dims: 2"),
             Contains("the first is 'y': initializer 'w' has element type data type 99; "
                      "supported are the integer, float and bool types of ONNX"));
  CHECK_THAT(weight("data_type: 8 dims: 1 string_data: \"a\""),
             Contains("'y': initializer 'w' has element type STRING; supported are"));
}

TEST_CASE("inputs that are no tensors") {
  std::string sequence =
      "input { name: \"x\" type { sequence_type { elem_type { tensor_type { elem_type: 1 } } } } }\n";
  CHECK_THAT(importError(serialize(node("Relu", {"x"}, {"y"}) + sequence + output("y"))),
             Contains("input 'x' is a sequence; --dim x.length=N"));
  CHECK_THAT(importError(serialize(node("Relu", {"x"}, {"y"}) + input("x", {"2"}, 8) + output("y"))),
             Contains("'x' has element type STRING"));
  CHECK_THAT(importError(serialize(node("Relu", {"x"}, {"y"}) + "input { name: \"x\" }" + output("y"))),
             Contains("'x'"));
}

TEST_CASE("shapes that do not fit name node and values") {
  std::string message = importError(serialize(node("MatMul", {"x", "w"}, {"y"}, "name: \"product\"") +
                                              emptyWeight("w", {"4", "5"}) + input("x", {"2", "3"}) + output("y")));
  CHECK_THAT(message,
             Contains("node 'product' (MatMul)") && Contains("'x' tensor<2x3xf32>") && Contains("'w' tensor<4x5xf32>"));
  CHECK_THAT(importError(serialize(node("Reshape", {"x", "to"}, {"y"}) + input("x", {"2"}) + input("to", {"1"}, 7) +
                                   output("y"))),
             Contains("'Reshape_0'"));
}

TEST_CASE("element types that do not go together") {
  CHECK_THAT(
      importError(serialize(node("Add", {"x", "i"}, {"y"}) + input("x", {"2"}) + input("i", {"2"}, 7) + output("y"))),
      Contains("'Add_0' (Add)") && Contains("'i' tensor<2xi64>"));
}

TEST_CASE("tensors without elements whose dims are huge") {
  std::string empty = "initializer { name: \"e\" data_type: 7 dims: 1099511627776 dims: 3 dims: 0 }\n";
  std::string taken = "initializer { name: \"c\" data_type: 9 dims: 3 int32_data: 1 int32_data: 0 int32_data: 1 }\n";
  // Not folded: nobody walks along the dims.
  CHECK_THAT(importText(serialize(node("Unique", {"e"}, {"y"}, integer("axis", 0)) + empty + output("y")))->text(),
             Contains("apc.unique"));
  auto text = importText(serialize(node("Compress", {"e", "c"}, {"y"}, integer("axis", 1)) + empty + taken +
                                   node("Neg", {"y"}, {"z"}) + output("z")))
                  ->text();
  CHECK_THAT(text, Contains("tensor<1099511627776x2x0xi64>"));
}

TEST_CASE("quantised products whose scales and addends have other shapes") {
  auto product = [](const std::string &scale, Names c) {
    std::string zero = "initializer { name: \"z\" data_type: 3 int32_data: 0 }\n";
    std::string one = "initializer { name: \"s\" data_type: 1 float_data: 1 }\n";
    return serialize(node("QGemm", {"a", "s", "z", "b", "bs", "z", "c"}, {"y"}, "domain: \"com.microsoft\"") + zero +
                     one + scale + input("a", {"2", "3"}, 3) + input("b", {"3", "4"}, 3) + input("c", c, 6) +
                     output("y"));
  };
  std::string two = "initializer { name: \"bs\" data_type: 1 dims: 2 float_data: 1 float_data: 1 }\n";
  std::string one = "initializer { name: \"bs\" data_type: 1 dims: 1 float_data: 1 }\n";
  CHECK_THAT(importError(product(two, {"4"})), Contains("'b_scale' has shape [2]"));
  CHECK_THAT(importError(product(one, {"3"})), Contains("'C' has shape [3], which does not broadcast to [2, 4]"));
  CHECK_THAT(importError(product(one, {"3", "4"})), Contains("does not broadcast to [2, 4]"));
  CHECK_THAT(importError(product(one, {"1", "2", "4"})), Contains("does not broadcast to [2, 4]"));
  for (Names c : {Names{"4"}, Names{"2", "4"}, Names{"1", "4"}, Names{"1"}, Names{}})
    CHECK_THAT(importText(product(one, c))->text(), Contains("apc.qgemm"));
}

TEST_CASE("sizes that no arithmetic holds") {
  std::string parts, huge = "576460752303423488";
  for (int i = 0; i < 16; ++i)
    parts += "input: \"a\" input: \"s\" input: \"z\" ";
  CHECK_THAT(
      importError(serialize(
          node("QLinearConcat", {"s", "z"}, {"y"}, parts + "domain: \"com.microsoft\" " + integer("axis", 0)) +
          "initializer { name: \"z\" data_type: 3 int32_data: 0 }\n" +
          "initializer { name: \"s\" data_type: 1 float_data: 1 }\n" + input("a", {huge, "0"}, 3) + output("y"))),
      Contains("2^63 or more indices along axis 0"));
  CHECK_THAT(
      importError(serialize(node("GroupNorm", {"x", "g", "g"}, {"y"},
                                 "domain: \"com.microsoft\" " + integer("groups", 1 << 30) + integer("activation", 0)) +
                            input("x", {"2", "5", "5", "0"}) + input("g", {"0"}) + output("y"))),
      Contains("groups 1073741824 must divide dim 3"));
}

TEST_CASE("ten million elements in a constant are read in a moment") {
  std::string raw(80'000'000, '\1');
  apc::onnx::ModelProto model;
  REQUIRE(google::protobuf::TextFormat::ParseFromString(
      "ir_version: 8 opset_import { version: 17 } graph { " + relu() + "}", &model));
  auto *constant = model.mutable_graph()->add_node();
  constant->set_op_type("Constant");
  constant->add_output("c");
  auto *attribute = constant->add_attribute();
  attribute->set_name("value");
  attribute->set_type(4);
  attribute->mutable_t()->add_dims(10'000'000);
  attribute->mutable_t()->set_data_type(7);
  attribute->mutable_t()->set_raw_data(raw);
  model.mutable_graph()->add_output()->set_name("c");
  std::clock_t start = std::clock();
  auto imported = importText(model.SerializeAsString());
  CHECK_THAT(imported->text(), Contains("apc.parameter \"c\" \"initializer\""));
  CHECK(std::clock() - start < 2 * CLOCKS_PER_SEC);
}

TEST_CASE("a long chain of nodes in reverse order") {
  std::string graph = input("x", {"2"}) + output("v20000");
  for (int i = 20000; i > 0; --i)
    graph += node("Relu", {i == 1 ? "x" : "v" + std::to_string(i - 1)}, {"v" + std::to_string(i)});
  std::clock_t start = std::clock();
  CHECK(importText(serialize(graph))->report.numNodes == 20000);
  CHECK(std::clock() - start < 10 * CLOCKS_PER_SEC);
}

TEST_CASE("files of later versions than are known are read, with a note") {
  auto notesOf = [](int64_t opset, int64_t ir) {
    apc::onnx::ModelProto model;
    REQUIRE(model.ParseFromString(serialize(node("Relu", {"x"}, {"y"}) + input("x", {"2"}) + output("y"), opset)));
    model.set_ir_version(ir);
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    auto imported = apc::importOnnxBytes(model.SerializeAsString(), "m.onnx", {}, context);
    REQUIRE(static_cast<bool>(imported));
    return imported->report.notes;
  };
  CHECK(notesOf(27, 13).empty());
  CHECK(notesOf(99, 8) == std::vector<std::string>{"the model imports opset 99; later ones than 27 are not known, and "
                                                   "operators are read as of 27"});
  CHECK(notesOf(17, 99) ==
        std::vector<std::string>{"the file is of IR version 99; what later ones than 13 add is left out of account"});
}
