// Element types, ways of storing data, attributes of old opsets, constant nodes.
#include "ModelText.h"

using namespace apc::test;
using Catch::Contains;

namespace {

/// The text of a model whose output is a constant node with this tensor.
std::string constantText(const std::string &tensor) {
  return importText(
             serialize(node("Constant", {}, {"y"}, "attribute { name: \"value\" type: 4 t { " + tensor + " } }") +
                       output("y")))
      ->text();
}

} // namespace

TEST_CASE("element types map to MLIR's") {
  const std::pair<int, const char *> types[] = {
      {1, "f32"},   {2, "ui8"},       {3, "i8"},          {4, "ui16"},    {5, "i16"},         {6, "i32"},
      {7, "i64"},   {9, "i1"},        {10, "f16"},        {11, "f64"},    {12, "ui32"},       {13, "ui64"},
      {16, "bf16"}, {17, "f8E4M3FN"}, {18, "f8E4M3FNUZ"}, {19, "f8E5M2"}, {20, "f8E5M2FNUZ"}, {21, "ui4"},
      {22, "i4"},   {23, "f4E2M1FN"}, {24, "f8E8M0FNU"},  {25, "ui2"},    {26, "i2"}};
  for (auto [number, name] : types) {
    auto model = importText(serialize(emptyWeight("w", {"6"}, number) + output("w")));
    CHECK_THAT(model->text(), Contains("tensor<6x" + std::string(name) + ">"));
  }
}

TEST_CASE("data is read from wherever it stands") {
  CHECK_THAT(constantText("data_type: 7 dims: 2 int64_data: 5 int64_data: -6"),
             Contains("dense<[5, -6]> : tensor<2xi64>"));
  CHECK_THAT(constantText("data_type: 6 dims: 2 raw_data: \"\\001\\000\\000\\000\\377\\377\\377\\377\""),
             Contains("dense<[1, -1]> : tensor<2xi32>"));
  CHECK_THAT(constantText("data_type: 9 dims: 3 raw_data: \"\\001\\000\\001\""),
             Contains("dense<[true, false, true]>"));
  CHECK_THAT(constantText("data_type: 9 dims: 2 int32_data: 0 int32_data: 1"), Contains("dense<[false, true]>"));
  CHECK_THAT(constantText("data_type: 10 dims: 1 int32_data: 15360"), Contains("dense<1.000000e+00> : tensor<1xf16>"));
  CHECK_THAT(constantText("data_type: 16 dims: 1 raw_data: \"\\200\\077\""),
             Contains("dense<1.000000e+00> : tensor<1xbf16>"));
  CHECK_THAT(constantText("data_type: 11 dims: 1 double_data: 0.5"), Contains("dense<5.000000e-01> : tensor<1xf64>"));
  CHECK_THAT(constantText("data_type: 22 dims: 3 int32_data: 33 int32_data: 15"),
             Contains("dense<[1, 2, -1]> : tensor<3xi4>"));
  CHECK_THAT(constantText("data_type: 21 dims: 2 raw_data: \"\\361\""), Contains("dense<[1, 15]> : tensor<2xui4>"));
  CHECK_THAT(constantText("data_type: 12 dims: 1 uint64_data: 7"), Contains("dense<7> : tensor<1xui32>"));
  CHECK_THAT(constantText("data_type: 7 dims: 0"), Contains("tensor<0xi64>"));
}

TEST_CASE("constant nodes take single numbers and lists") {
  auto text = [](const std::string &attribute) {
    return importText(serialize(node("Constant", {}, {"y"}, attribute) + output("y")))->text();
  };
  CHECK_THAT(text("attribute { name: \"value_int\" type: 2 i: 3 }"), Contains("dense<3> : tensor<i64>"));
  CHECK_THAT(text("attribute { name: \"value_float\" type: 1 f: 3 }"), Contains("dense<3.000000e+00> : tensor<f32>"));
  CHECK_THAT(text(ints("value_ints", {"3", "4"})), Contains("dense<[3, 4]> : tensor<2xi64>"));
  CHECK_THAT(importError(serialize(
                 node("Constant", {}, {"y"}, "attribute { name: \"value_string\" type: 3 s: \"a\" }") + output("y"))),
             Contains("Constant"));
}

TEST_CASE("sparse tensors are made dense") {
  std::string sparse =
      "sparse_initializer { dims: 2 dims: 3 values { name: \"s\" data_type: 1 dims: 2 float_data: 5 float_data: 7 } "
      "indices { data_type: 7 dims: 2 int64_data: 1 int64_data: 5 } }\n";
  CHECK_THAT(importText(serialize(sparse + output("s")))->text(),
             Contains("[0.000000e+00, 5.000000e+00, 0.000000e+00], [0.000000e+00, 0.000000e+00, 7.000000e+00]"));
  sparse.replace(sparse.rfind("5"), 1, "6");
  CHECK_THAT(importError(serialize(sparse + output("s"))), Contains("entry 1 of a sparse tensor lies outside"));
}

TEST_CASE("attributes that became operands") {
  auto text = [](const std::string &graph, int64_t opset) { return importText(serialize(graph, opset))->text(); };
  CHECK_THAT(text(node("Squeeze", {"x"}, {"y"}, ints("axes", {"0"})) + input("x", {"1", "3"}) + output("y"), 11),
             Contains("tensor<3xf32>"));
  CHECK_THAT(text(node("Slice", {"x"}, {"y"}, ints("starts", {"1"}) + ints("ends", {"3"}) + ints("axes", {"1"})) +
                      input("x", {"2", "5"}) + output("y"),
                  9),
             Contains("tensor<2x2xf32>"));
  CHECK_THAT(text(node("TopK", {"x"}, {"v", "y"}, integer("k", 3)) + input("x", {"2", "5"}) + output("y"), 1),
             Contains("tensor<2x3xi64>"));
  CHECK_THAT(text(node("Clip", {"x"}, {"y"}, "attribute { name: \"max\" type: 1 f: 6 } ") + input("x", {"2"}, 10) +
                      output("y"),
                  6),
             Contains("dense<6.000000e+00> : tensor<f16>"));
  CHECK_THAT(text(node("Split", {"x"}, {"y", "z"}, ints("split", {"1", "4"})) + input("x", {"5"}) + output("z"), 11),
             Contains("tensor<4xf32>"));
}

TEST_CASE("unknown attributes are kept, namespaces too") {
  auto model = importText(serialize(
      node("Relu", {"x"}, {"y"}, integer("speed", 3) + "metadata_props { key: \"namespace\" value: \"layers.0\" }") +
      input("x", {"2"}) + output("y")));
  CHECK_THAT(model->text(), Contains("onnx.speed = 3") && Contains("onnx.namespace = \"layers.0\""));
}
