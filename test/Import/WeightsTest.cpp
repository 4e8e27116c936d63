// Parameters: the four ways in which weights are absent, and weights among the graph's inputs.
#include "ModelText.h"

#include "apc/IR/Apc.h"
#include "apc/IR/Program/Statistics.h"

#include <numeric>

using namespace apc::test;
using Catch::Contains;

TEST_CASE("initializers without data and with external data are parameters; the file is never opened") {
  std::string external =
      "initializer { name: \"b\" data_type: 1 dims: 5 data_location: 1 "
      "external_data { key: \"location\" value: \"nowhere.data\" } "
      "external_data { key: \"offset\" value: \"4096\" } external_data { key: \"length\" value: \"20\" } }\n";
  auto model = importText(serialize(node("MatMul", {"x", "w"}, {"m"}) + node("Add", {"m", "b"}, {"y"}) +
                                    emptyWeight("w", {"3", "5"}) + external + input("x", {"2", "3"}) + output("y")));
  CHECK_THAT(model->text(), Contains("apc.parameter \"w\" \"empty\"") && Contains("apc.parameter \"b\" \"external\"") &&
                                Contains("location = \"nowhere.data\"") && Contains("offset = 4096") &&
                                Contains("length = 20"));
  apc::ModuleStatistics sums = apc::statistics(*model->module);
  CHECK(sums.parameters == 20);
  CHECK(sums.parameterBytes == 80);
  CHECK(sums.nodes == 2);
  CHECK(sums.contractionFlops == 2.0 * 2 * 3 * 5);
  CHECK(sums.operators == std::map<std::string, int64_t>{{"add", 1}, {"matmul", 1}});
}

TEST_CASE("an initializer that is also an input is a parameter") {
  auto model = importText(serialize(node("MatMul", {"x", "w"}, {"y"}) + emptyWeight("w", {"3", "5"}) +
                                    input("x", {"2", "3"}) + input("w", {"3", "5"}) + output("y")));
  CHECK_THAT(model->text(), Contains("\"w\" \"empty\"") && !Contains("apc.name = \"w\""));
}

TEST_CASE("tensors made from their shape are parameters where weights stand") {
  std::string graph = intTensor("initializer", "ws", {"2"}, {"300", "500"}) + node("ConstantOfShape", {"ws"}, {"w"}) +
                      intTensor("initializer", "bs", {"1"}, {"500"}) + node("ConstantOfShape", {"bs"}, {"b"}) +
                      node("MatMul", {"x", "w"}, {"m"}) + node("Add", {"m", "b"}, {"y"}) + input("x", {"2", "300"}) +
                      output("y");
  auto model = importText(serialize(graph));
  CHECK_THAT(model->text(), Contains("apc.parameter \"w\" \"fill\"") && Contains("apc.parameter \"b\" \"fill\""));
  CHECK(apc::statistics(*model->module).parameters == 150500);
}

TEST_CASE("small floats stay constants, lists of floats are weights, integers are tables") {
  auto model = importText(serialize("initializer { name: \"scale\" data_type: 1 float_data: 2 }\n"
                                    "initializer { name: \"w\" data_type: 1 dims: 2 float_data: 2 float_data: 3 }\n" +
                                    intTensor("initializer", "index", {"2"}, {"0", "1"}) +
                                    node("Mul", {"x", "scale"}, {"a"}) + node("Mul", {"a", "w"}, {"b"}) +
                                    node("Gather", {"b", "index"}, {"y"}) + input("x", {"2", "2"}) + output("y")));
  CHECK_THAT(model->text(), Contains("apc.constant dense<2.000000e+00>") &&
                                Contains("apc.parameter \"w\" \"initializer\"") &&
                                Contains("apc.constant dense<[0, 1]>"));
}

TEST_CASE("constant indices lie inside the dim that they pick from") {
  auto graphWith = [](const char *index) {
    return serialize(intTensor("initializer", "index", {"2"}, {"0", index}) +
                     node("Gather", {"x", "index"}, {"y"}, "name: \"rows\"") + input("x", {"4", "2"}) + output("y"));
  };
  for (const char *inside : {"3", "-4"})
    CHECK_THAT(importText(graphWith(inside))->text(), Contains("apc.gather"));
  for (const char *outside : {"4", "-5"})
    CHECK_THAT(importError(graphWith(outside)), Contains("op 'rows' (Gather) picks element " + std::string(outside) +
                                                         " of a dim of 4, which has -4 to 3"));
}

TEST_CASE("positions of any number lie inside the table that they pick from") {
  // [0, 1, ...] of each row of x, from `first` on.
  auto graphWith = [](const std::string &first, const std::string &length) {
    return serialize(intTensor("initializer", "zero", {}, {"0"}) + intTensor("initializer", "one", {}, {"1"}) +
                     intTensor("initializer", "first", {}, {first}) + intTensor("initializer", "front", {"1"}, {"0"}) +
                     emptyWeight("table", {"131072", "2"}) + node("Shape", {"x"}, {"dims"}) +
                     node("Gather", {"dims", "one"}, {"length"}, integer("axis", 0)) +
                     node("Range", {"zero", "length", "one"}, {"count"}) + node("Add", {"count", "first"}, {"places"}) +
                     node("Unsqueeze", {"places", "front"}, {"row"}) + node("Expand", {"row", "dims"}, {"all"}) +
                     node("Gather", {"table", "all"}, {"y"}, "name: \"rows\"") + input("x", {"2", length}) +
                     output("y"));
  };
  for (const char *length : {"1024", "131072"})
    CHECK_THAT(importText(graphWith("0", length))->text(), Contains("apc.gather"));
  CHECK_THAT(importError(graphWith("2", "131072")), Contains("op 'rows' (Gather) picks element 131072 of a dim of "
                                                             "131072, which has -131072 to 131071"));
  CHECK_THAT(importError(graphWith("0", "200000")), Contains("picks element 131072 of a dim of 131072"));
  CHECK_THAT(importError(graphWith("-131073", "8")), Contains("picks element -131073 of a dim of 131072"));
}

TEST_CASE("weights that a shape depends on are read after all") {
  auto model = importText(serialize(node("Resize", {"x", "", "scales"}, {"y"}) +
                                    "initializer { name: \"scales\" data_type: 1 dims: 4 float_data: 1 float_data: 1 "
                                    "float_data: 2 float_data: 2 }\n" +
                                    input("x", {"1", "3", "8", "8"}) + output("y")));
  CHECK_THAT(model->text(), Contains("tensor<1x3x16x16xf32>"));
}

TEST_CASE("large tables of integers that grow evenly are ranges, whether they are raw data or a list") {
  auto textOf = [](const std::string &dims, bool isRaw, int64_t last) {
    apc::onnx::ModelProto model;
    REQUIRE(model.ParseFromString(serialize(node("Gather", {"x", "places"}, {"y"}) +
                                            "initializer { name: \"places\" data_type: 7 " + dims + " }\n" +
                                            input("x", {"100000", "2"}) + output("y"))));
    apc::onnx::TensorProto &places = *model.mutable_graph()->mutable_initializer(0);
    std::vector<int64_t> numbers(100000);
    std::iota(numbers.begin(), numbers.end(), 0);
    numbers.back() = last;
    if (isRaw)
      places.set_raw_data(numbers.data(), numbers.size() * sizeof(int64_t));
    else
      places.mutable_int64_data()->Assign(numbers.begin(), numbers.end());
    return importText(model.SerializeAsString())->text();
  };
  for (bool isRaw : {true, false}) {
    CHECK_THAT(textOf("dims: 100000", isRaw, 99999), Contains("tensor<100000xi64>") && Contains("apc.range") &&
                                                         !Contains("apc.parameter") && !Contains("apc.reshape"));
    CHECK_THAT(textOf("dims: 1 dims: 100000", isRaw, 99999), Contains("apc.range") && Contains("apc.reshape"));
    CHECK_THAT(textOf("dims: 100000", isRaw, 99998), Contains("apc.parameter \"places\"") && !Contains("apc.range"));
    CHECK_THAT(textOf("dims: 2 dims: 50000", isRaw, 99999), Contains("apc.parameter \"places\""));
  }
}

TEST_CASE("large tables of integers are parameters with the role of constants") {
  std::string graph = node("Gather", {"x", "index"}, {"y"}) +
                      "initializer { name: \"index\" data_type: 7 dims: 100000 raw_data: \"" +
                      std::string(800000, 'a') + "\" }\n" + input("x", {"2", "2"}) + output("y");
  auto model = importText(serialize(graph));
  CHECK_THAT(model->text(), Contains("apc.role = \"constant\""));
  CHECK(apc::statistics(*model->module).parameters == 0);
  CHECK(apc::statistics(*model->module).constantBytes == 800000);
}

TEST_CASE("a copy of a table is noted unless that copy is tied") {
  const std::string graph = serialize(node("Gather", {"wte", "ids"}, {"e"}) + node("Gather", {"dec", "ids"}, {"d"}) +
                                      node("Add", {"e", "d"}, {"h"}) + node("MatMul", {"h", "onnx::MatMul_9"}, {"y"}) +
                                      emptyWeight("wte", {"64", "8"}) + emptyWeight("dec", {"64", "8"}) +
                                      emptyWeight("onnx::MatMul_9", {"8", "64"}) +
                                      intTensor("initializer", "ids", {"2"}, {"0", "1"}) + output("y"));
  auto hasNote = [&](std::set<std::string> tied) {
    apc::ImportOptions options;
    options.tied = std::move(tied);
    return llvm::any_of(importText(graph, options)->report.notes, [](llvm::StringRef note) {
      return note.contains("'onnx::MatMul_9' may be a transposed copy of 'wte'");
    });
  };
  CHECK(hasNote({}));
  CHECK(hasNote({"wte", "dec"}));
  CHECK_FALSE(hasNote({"wte", "onnx::MatMul_9"}));
}

TEST_CASE("weights among inputs: by use and by name") {
  std::string graph = node("MatMul", {"x", "w"}, {"m"}) + node("Add", {"m", "b"}, {"a"}) +
                      node("Mul", {"a", "mask"}, {"c"}) + node("Add", {"c", "t.weight"}, {"y"}) +
                      input("x", {"2", "3", "4"}) + input("w", {"4", "5"}) + input("b", {"5"}) +
                      input("mask", {"2", "3", "5"}) + input("t.weight", {"3", "5"}) + output("y");
  auto model = importText(serialize(graph));
  CHECK_THAT(model->text(), Contains("\"w\" \"input\"") && Contains("\"b\" \"input\"") &&
                                Contains("\"t.weight\" \"input\"") && Contains("apc.name = \"x\"") &&
                                Contains("apc.name = \"mask\""));
  CHECK_THAT(model->report.notes.at(0), Contains("3 graph input(s) are taken for parameters"));

  apc::ImportOptions options;
  options.parameters = "mask|x";
  CHECK_THAT(importText(serialize(graph), options)->text(),
             Contains("\"mask\" \"input\"") && Contains("apc.name = \"w\""));
  options.parameters = "(";
  CHECK_THAT(importError(serialize(graph), options), Contains("no regular expression"));
}

TEST_CASE("a float of one element is a constant unless it is named as a weight") {
  std::string graph = node("Mul", {"x", "logit_scale"}, {"m"}) + node("Add", {"m", "head.bias"}, {"y"}) +
                      "initializer { name: \"logit_scale\" data_type: 1 float_data: 1.5 }\n"
                      "initializer { name: \"head.bias\" data_type: 1 dims: 1 float_data: 2 }\n" +
                      input("x", {"2", "3"}) + output("y");
  CHECK_THAT(importText(serialize(graph))->text(),
             Contains("\"head.bias\" \"initializer\"") && !Contains("apc.parameter \"logit_scale\""));
  apc::ImportOptions options;
  options.parameters = "logit_.*";
  CHECK_THAT(importText(serialize(graph), options)->text(),
             Contains("\"head.bias\" \"initializer\"") && Contains("apc.parameter \"logit_scale\""));
}

TEST_CASE("data is no weight: images, symbolic dims, batches of matrices, integers") {
  auto isInput = [](const std::string &graph, const std::string &name, apc::ImportOptions options = {}) {
    return importText(serialize(graph), options)->text().find("apc.name = \"" + name + "\"") != std::string::npos;
  };
  CHECK(isInput(node("Conv", {"image", "w"}, {"y"}) + emptyWeight("w", {"64", "3", "7", "7"}) +
                    input("image", {"256", "3", "224", "224"}) + output("y"),
                "image"));
  std::string batched = node("MatMul", {"q", "k"}, {"y"}) + output("y");
  CHECK(isInput(batched + input("q", {"2", "4", "8", "16"}) + input("k", {"2", "4", "16", "8"}), "k"));
  CHECK(isInput(batched + input("q", {"8", "16"}) + input("k", {"16", "n"}), "k",
                {.dims = {{"n", 8}}, .parameters = {}, .conditions = {}}));
  CHECK(isInput(node("Gather", {"table.weight", "ids"}, {"y"}) + input("ids", {"2", "8"}, 7) +
                    input("table.weight", {"100", "16"}) + output("y"),
                "ids"));
}

namespace {

/// A constant node of floats: 1, 2, 3, ...
std::string floatConstant(const std::string &name, Names dims) {
  std::string tensor = "data_type: 1";
  int64_t numElements = 1;
  for (const std::string &dim : dims) {
    tensor += " dims: " + dim;
    numElements *= std::stoll(dim);
  }
  for (int64_t i = 1; i <= numElements; ++i)
    tensor += " float_data: " + std::to_string(i);
  return node("Constant", {}, {name}, "attribute { name: \"value\" type: 4 t { " + tensor + " } }");
}

std::string scalarZero(const std::string &name) {
  return node("Constant", {}, {name}, "attribute { name: \"value_float\" type: 1 f: 0 }");
}

/// An LSTM of weights without data on 3 positions, 4 samples and 5 features, from the states "h" and "c" on.
std::string lstmFrom(const std::string &states) {
  return states + emptyWeight("w", {"1", "24", "5"}) + emptyWeight("r", {"1", "24", "6"}) +
         node("LSTM", {"x", "w", "r", "", "", "h", "c"}, {"y"}, integer("hidden_size", 6)) +
         input("x", {"3", "4", "5"}) + output("y");
}

std::vector<std::string> parametersOf(const std::string &graph, std::vector<std::string> *notes = nullptr) {
  auto model = importText(serialize(graph));
  if (notes)
    *notes = model->report.notes;
  std::vector<std::string> names;
  model->module->walk([&](apc::ParameterOp op) { names.push_back(op.getName().str()); });
  std::sort(names.begin(), names.end());
  return names;
}

} // namespace

TEST_CASE("the first states of a recurrent op are no weights, however they are made") {
  const std::vector<std::string> weights{"r", "w"};
  std::string dims = intTensor("initializer", "dims", {"3"}, {"1", "4", "6"});
  CHECK(parametersOf(lstmFrom(scalarZero("zero") + dims + node("Expand", {"zero", "dims"}, {"h"}) +
                              node("Expand", {"zero", "dims"}, {"c"}))) == weights);
  CHECK(parametersOf(lstmFrom(dims + node("ConstantOfShape", {"dims"}, {"h"}) +
                              node("ConstantOfShape", {"dims"}, {"c"}))) == weights);
  CHECK(parametersOf(lstmFrom(floatConstant("h", {"1", "4", "6"}) + floatConstant("c", {"1", "4", "6"}))) == weights);
  CHECK(parametersOf(lstmFrom(input("h", {"1", "4", "6"}) + input("c", {"1", "4", "6"}))) == weights);
}

TEST_CASE("constants that importing computes are no weights, stored ones in another form are") {
  std::string bias =
      scalarZero("zero") + intTensor("initializer", "width", {"1"}, {"6"}) + node("Expand", {"zero", "width"}, {"b"});
  std::string made = node("Shape", {"x"}, {"sizes"}) + node("ConstantOfShape", {"sizes"}, {"none"});
  std::vector<std::string> notes;
  CHECK(parametersOf(floatConstant("w", {"6", "5"}) + node("Transpose", {"w"}, {"turned"}) + bias + made +
                         node("Add", {"x", "none"}, {"a"}) + node("MatMul", {"a", "turned"}, {"m"}) +
                         node("Add", {"m", "b"}, {"y"}) + input("x", {"4", "5"}) + output("y"),
                     &notes) == std::vector<std::string>{"turned"});
  REQUIRE(notes.size() == 1);
  CHECK(notes[0] == "1 constant(s) are taken for parameters: 'turned'; say --freeze REGEX to keep them as they are");
  CHECK(parametersOf(floatConstant("w", {"3", "5"}) + floatConstant("v", {"3", "5"}) +
                     node("Concat", {"w", "v"}, {"both"}, integer("axis", 0)) + node("MatMul", {"x", "both"}, {"y"}) +
                     input("x", {"4", "6"}) + output("y")) == std::vector<std::string>{"both"});
  CHECK(parametersOf(scalarZero("zero") + intTensor("initializer", "dims", {"2"}, {"6", "5"}) +
                     node("Expand", {"zero", "dims"}, {"w"}) + node("MatMul", {"x", "w"}, {"y"}) +
                     input("x", {"4", "6"}) + output("y"))
            .empty());
}
