// Small constants that stand in files beside the model are read; weights are not.
#include "Folder.h"
#include "ModelText.h"

using namespace apc;
using namespace apc::test;
using Catch::Contains;

namespace {

/// A folder with a model and its data.
struct ModelFolder : Folder {
  /// The module of a model with this graph as text, or the message of the failure; notes stand behind the module.
  std::string import(const std::string &graph) const {
    std::string file = add("model.onnx", serialize(graph));
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    auto model = importOnnx(file, {}, context);
    if (!model)
      return takeMessage(model.takeError()).second;
    std::string text;
    llvm::raw_string_ostream(text) << **&model->module;
    for (const std::string &note : model->report.notes)
      text += "note: " + note + "\n";
    return text;
  }
};

std::string external(const std::string &fields, const std::string &file, int64_t offset = 0) {
  return fields + " data_location: 1 external_data { key: \"location\" value: \"" + file +
         "\" } external_data { key: \"offset\" value: \"" + std::to_string(offset) + "\" } ";
}
std::string initializer(const std::string &name, const std::string &fields, const std::string &file,
                        int64_t offset = 0) {
  return "initializer { name: \"" + name + "\" " + external(fields, file, offset) + "}\n";
}

template <typename T>
std::string bytesOf(std::initializer_list<T> values) {
  return std::string(reinterpret_cast<const char *>(values.begin()), values.size() * sizeof(T));
}

} // namespace

TEST_CASE("external integers decide shapes") {
  ModelFolder folder;
  folder.add("numbers.bin", bytesOf<int64_t>({7, 3, 4}));
  std::string graph = node("Reshape", {"x", "to"}, {"y"}) + input("x", {"2", "6"}) + output("y") +
                      initializer("to", "data_type: 7 dims: 2", "numbers.bin", 8);
  CHECK_THAT(folder.import(graph), Contains("tensor<3x4xf32>") && Contains("dense<[3, 4]>"));
  std::string gone = node("Reshape", {"x", "to"}, {"y"}) + input("x", {"2", "6"}) + output("y") +
                     initializer("to", "data_type: 7 dims: 2", "gone.bin");
  CHECK_THAT(folder.import(gone), Contains("'Reshape_0' (Reshape)") && Contains("tensor 'to': its external data") &&
                                      Contains("gone.bin cannot be read"));
}

TEST_CASE("no number is guessed that a file beside the model holds") {
  ModelFolder folder;
  folder.add("numbers.bin", bytesOf<int64_t>({4}));
  std::string graph = node("Concat", {"three", "four"}, {"to"}, integer("axis", 0)) +
                      node("Reshape", {"x", "to"}, {"y"}) + input("x", {"2", "6"}) + output("y") +
                      intTensor("initializer", "three", {"1"}, {"3"});
  std::string known = folder.import(graph + initializer("four", "data_type: 7 dims: 1", "numbers.bin"));
  CHECK_THAT(known, Contains("tensor<3x4xf32>") && !Contains("taken for -1"));
  std::string guessed = folder.import(graph + initializer("four", "data_type: 7 dims: 1", "gone.bin"));
  CHECK_THAT(guessed, Contains("tensor<3x4xf32>") && Contains("taken for -1"));
}

TEST_CASE("external floats are read where they decide a shape, and nowhere else") {
  ModelFolder folder;
  folder.add("scales.bin", bytesOf<float>({1, 1, 2, 2}));
  std::string graph = node("Conv", {"x", "w"}, {"h"}) + node("Resize", {"h", "", "scales"}, {"y"}) +
                      input("x", {"1", "3", "8", "8"}) + output("y") +
                      initializer("scales", "data_type: 1 dims: 4", "scales.bin") +
                      initializer("w", "data_type: 1 dims: 4 dims: 3 dims: 1 dims: 1", "gone.bin");
  CHECK_THAT(folder.import(graph), Contains("tensor<1x4x16x16xf32>") && Contains("apc.parameter \"w\" \"external\""));
}

TEST_CASE("an offset or a length that is no number ends the import with the value") {
  ModelFolder folder;
  folder.add("w.bin", bytesOf<float>({1, 2, 3, 4}));
  auto importWith = [&](const std::string &key, const std::string &value) {
    return folder.import(node("Mul", {"x", "w"}, {"y"}) + input("x", {"2"}) + output("y") +
                         "initializer { name: \"w\" data_type: 1 dims: 2 data_location: 1 external_data { key: "
                         "\"location\" value: \"w.bin\" } external_data { key: \"" +
                         key + "\" value: \"" + value + "\" } }");
  };
  CHECK_THAT(importWith("offset", "8"), Contains("offset = 8") || Contains("8 : i64"));
  for (std::string value : {"+8", "0x8", " 8", "8.0", "abc", "-8", "9223372036854775808", ""})
    for (std::string key : {"offset", "length"})
      CHECK_THAT(importWith(key, value), Contains("model.onnx: tensor 'w': the " + key + " of its external data is '" +
                                                  value + "': a whole number of bytes"));
  CHECK_THAT(importWith("checksum", "abc"), Contains("apc.parameter"));
}

TEST_CASE("external tensors in attributes") {
  ModelFolder folder;
  folder.add("seven.bin", bytesOf<float>({7}));
  std::string value =
      "attribute { name: \"value\" type: 4 t { " + external("data_type: 1 dims: 1", "seven.bin") + "} }";
  std::string graph = node("ConstantOfShape", {"to"}, {"c"}, value) + node("Add", {"x", "c"}, {"y"}) +
                      intTensor("initializer", "to", {"1"}, {"2"}) + input("x", {"2"}) + output("y");
  CHECK_THAT(folder.import(graph), Contains("dense<7.000000e+00>"));
}
