// Symbolic dims: names, expressions, positions, and the error for dims that are not bound.
#include "ModelText.h"

using namespace apc::test;
using Catch::Contains;

namespace {

apc::ImportOptions dims(std::map<std::string, int64_t> bindings) {
  apc::ImportOptions options;
  options.dims = std::move(bindings);
  return options;
}

std::string relu(const std::string &in) { return node("Relu", {"x"}, {"y"}) + in + output("y"); }

} // namespace

TEST_CASE("unbound dims are listed all at once with the flags that bind them") {
  std::string graph =
      node("Add", {"x", "z"}, {"y"}) + input("x", {"batch", "seq"}) + input("z", {"batch", "?"}) + output("y");
  std::string message = importError(serialize(graph));
  CHECK_THAT(message, Contains("3 dim(s)") && Contains("'batch' (dim 0 of 'x')") &&
                          Contains("Bind them with --dim batch=N --dim seq=N --dim z.1=N"));
  CHECK_THAT(importText(serialize(graph), dims({{"batch", 4}, {"seq", 8}, {"z.1", 1}}))->text(),
             Contains("tensor<4x8xf32>") && Contains("tensor<4x1xf32>"));
}

TEST_CASE("a batch leads the first input, in place of one sample") {
  std::string graph = node("Relu", {"x"}, {"y"}) + input("x", {"batch", "3"}) + output("y");
  auto shapeWith = [&](std::map<std::string, int64_t> bindings) {
    apc::ImportOptions options = dims(std::move(bindings));
    options.batch = 6;
    return importText(serialize(graph), options)->text();
  };
  CHECK_THAT(shapeWith({}), Contains("tensor<6x3xf32>"));
  CHECK_THAT(shapeWith({{"batch", 1}}), Contains("tensor<6x3xf32>"));
  CHECK_THAT(shapeWith({{"batch", 4}}), Contains("tensor<4x3xf32>")); // changed in the graph
}

TEST_CASE("expressions are evaluated") {
  auto text = [](const std::string &expression) {
    return importText(serialize(relu(input("x", {"a", "b", expression}))), dims({{"a", 5}, {"b", 12}, {"unit.x", 9}}))
        ->text();
  };
  CHECK_THAT(text("a+b"), Contains("tensor<5x12x17xf32>"));
  CHECK_THAT(text("2*a - 1"), Contains("tensor<5x12x9xf32>"));
  CHECK_THAT(text("(b - a)//2 + 1"), Contains("tensor<5x12x4xf32>"));
  CHECK_THAT(text("floor(a/2 - 1/2)"), Contains("tensor<5x12x2xf32>"));
  CHECK_THAT(text("Max(1, a, b) % 5"), Contains("tensor<5x12x2xf32>"));
}

TEST_CASE("expressions ask for the names in them, other texts for themselves") {
  CHECK_THAT(importError(serialize(relu(input("x", {"past", "seq", "past+seq"})))),
             Contains("with --dim past=N --dim seq=N") && !Contains("past+seq=N"));
  CHECK_THAT(importError(serialize(relu(input("x", {"batch-size", "my dim"})))),
             Contains("--dim batch-size=N") && Contains("--dim 'my dim=N'"));
  CHECK_THAT(importError(serialize(relu(input("x", {"a", "a/2"}))), dims({{"a", 5}})), Contains("--dim a/2=N"));
  CHECK_THAT(importText(serialize(relu(input("x", {"my dim"}))), dims({{"my dim", 3}}))->text(),
             Contains("tensor<3xf32>"));
}

TEST_CASE("positions win over names, and bind inputs without a shape") {
  CHECK_THAT(importText(serialize(relu(input("x", {"n", "n"}))), dims({{"n", 4}, {"x.1", 6}}))->text(),
             Contains("tensor<4x6xf32>"));
  std::string shapeless = relu("input { name: \"x\" type { tensor_type { elem_type: 1 } } }");
  CHECK_THAT(importError(serialize(shapeless)),
             Contains("'x', which is declared without a shape") && Contains("--dim x.0=N"));
  CHECK_THAT(importText(serialize(shapeless), dims({{"x.0", 2}, {"x.1", 3}}))->text(), Contains("tensor<2x3xf32>"));
}

TEST_CASE("a dim that the file fixes takes its own number alone") {
  auto import = [](int64_t size) {
    return importError(serialize(relu(input("x", {"6", "2"}))), dims({{"x.0", size}}));
  };
  CHECK_THAT(import(4), Contains("--dim x.0=4: dim 0 of 'x' is fixed to 6 in the file"));
  CHECK_THAT(importText(serialize(relu(input("x", {"6", "2"}))), dims({{"x.0", 6}}))->text(),
             Contains("tensor<6x2xf32>"));
}

TEST_CASE("symbols of outputs are inferred, unknown bindings are noted, negative dims are asked for") {
  auto model = importText(serialize(node("Relu", {"x"}, {"y"}) + input("x", {"2"}) + value("output", "y", {"rows"})),
                          dims({{"columns", 3}}));
  REQUIRE(model->report.notes.size() == 1);
  CHECK_THAT(model->report.notes[0], Contains("--dim columns names no dim"));
  CHECK_THAT(importError(serialize(relu(input("x", {"-1", "2"})))), Contains("--dim x.0=N"));
}

TEST_CASE("absurd dims") {
  CHECK_THAT(importError(serialize(relu(input("x", {"9223372036854775807", "2"})))),
             Contains("'x' has more than 2^60"));
  CHECK_THAT(importError(serialize(relu(input("x", {"n"}))), dims({{"n", -4}})), Contains("--dim n=-4"));
  std::string huge = node("Expand", {"x", "to"}, {"y"}) +
                     intTensor("initializer", "to", {"3"}, {"4294967296", "4294967296", "2"}) + input("x", {"2"}) +
                     output("y");
  CHECK_THAT(importError(serialize(huge)), Contains("'Expand_0'"));
}

TEST_CASE("a shape that depends on data which is elsewhere is taken as declared") {
  std::string external = "initializer { name: \"to\" data_type: 7 dims: 2 data_location: 1 "
                         "external_data { key: \"location\" value: \"gone\" } }\n";
  std::string graph = node("Reshape", {"x", "to"}, {"y"}) + external + input("x", {"batch", "2", "3"});
  auto model = importText(serialize(graph + value("output", "y", {"batch", "6"})), dims({{"batch", 4}}));
  CHECK_THAT(model->text(), Contains("tensor<4x6xf32>"));
  CHECK_THAT(model->report.notes.at(0), Contains("'y' depends on data that is not there"));
  CHECK_THAT(importError(serialize(graph + output("y")), dims({{"batch", 4}})), Contains("'Reshape_0'"));
  CHECK_THAT(importError(serialize(graph + value("output", "y", {"batch", "7"})), dims({{"batch", 4}})),
             Contains("'Reshape_0'"));
}

TEST_CASE("a single number that is elsewhere is the rest of a reshape") {
  std::string external = "initializer { name: \"rest\" data_type: 7 dims: 1 data_location: 1 }\n";
  auto model = importText(serialize(intTensor("initializer", "rows", {"1"}, {"4"}) + external +
                                    node("Concat", {"rows", "rest"}, {"to"}, integer("axis", 0)) +
                                    node("Reshape", {"x", "to"}, {"y"}) + input("x", {"4", "2", "3"}) + output("y")));
  CHECK_THAT(model->text(), Contains("tensor<4x6xf32>"));
  CHECK_THAT(model->report.notes.at(0), Contains("'Reshape_1' depends on a number that is not there"));
}

TEST_CASE("known values of inputs decide shapes") {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  apc::ImportOptions options;
  auto known = [&](mlir::Type element, std::vector<int64_t> values) {
    apc::Tensor tensor{{static_cast<int64_t>(values.size())}, element, std::move(values), {}};
    options.inputValues.insert_or_assign("to", std::move(tensor));
  };
  std::string bytes =
      serialize(node("Reshape", {"x", "to"}, {"y"}) + input("x", {"6"}) + input("to", {"n"}, 7) + output("y"));
  known(mlir::IntegerType::get(&context, 64), {3, -1});
  auto model = apc::importOnnxBytes(bytes, "model.onnx", options, context);
  REQUIRE(static_cast<bool>(model));
  std::string text;
  llvm::raw_string_ostream(text) << *model->module;
  CHECK_THAT(text, Contains("tensor<3x2xf32>") && Contains("%arg1: tensor<2xi64>"));
  known(mlir::IntegerType::get(&context, 32), {3, 2});
  auto other = apc::importOnnxBytes(bytes, "model.onnx", options, context);
  REQUIRE_FALSE(static_cast<bool>(other));
  CHECK_THAT(apc::takeMessage(other.takeError()).second, Contains("value of input 'to'"));
}

TEST_CASE("a declared output that disagrees is noted") {
  auto model = importText(serialize(node("Relu", {"x"}, {"y"}) + input("x", {"2"}) + value("output", "y", {"3"})));
  REQUIRE(model->report.notes.size() == 1);
  CHECK_THAT(model->report.notes[0], Contains("output 'y' is tensor<2xf32>"));
}
