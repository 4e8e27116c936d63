// Tensors out of files: element types, places of the data, declarations.
#include "apc/Import/ModelData.h"
#include "Folder.h"
#include "ModelText.h"

using namespace apc;
using namespace apc::test;
using Catch::Contains;

namespace {

std::string tensorBytes(const std::string &text) {
  onnx::TensorProto tensor;
  REQUIRE(google::protobuf::TextFormat::ParseFromString(text, &tensor));
  return tensor.SerializeAsString();
}

struct Reader {
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};

  Tensor read(const std::string &text, mlir::Type declared = {}) {
    auto tensor = readTensor(tensorBytes(text), "t.pb", context, declared);
    if (!tensor)
      FAIL(takeMessage(tensor.takeError()).second);
    return *tensor;
  }
  std::string error(const std::string &bytes) {
    auto tensor = readTensor(bytes, "t.pb", context);
    REQUIRE_FALSE(static_cast<bool>(tensor));
    return takeMessage(tensor.takeError()).second;
  }
};

using Floats = std::vector<double>;
using Ints = std::vector<int64_t>;

} // namespace

TEST_CASE("tensors are read with the values of their type") {
  Reader reader;
  CHECK(reader.read("data_type: 1 dims: 2 raw_data: \"\\000\\000\\200\\077\\000\\000\\000\\300\"").floats ==
        Floats{1, -2});
  CHECK(reader.read("data_type: 1 dims: 1 float_data: 0.5").floats == Floats{0.5});
  CHECK(reader.read("data_type: 10 dims: 1 int32_data: 15360").floats == Floats{1});
  CHECK(reader.read("data_type: 16 dims: 1 raw_data: \"\\200\\077\"").floats == Floats{1});
  CHECK(reader.read("data_type: 17 dims: 2 raw_data: \"\\070\\270\"").floats == Floats{1, -1});
  CHECK(reader.read("data_type: 2 dims: 2 raw_data: \"\\001\\377\"").ints == Ints{1, 255});
  CHECK(reader.read("data_type: 3 dims: 2 raw_data: \"\\001\\377\"").ints == Ints{1, -1});
  CHECK(reader.read("data_type: 6 dims: 1 raw_data: \"\\376\\377\\377\\377\"").ints == Ints{-2});
  CHECK(reader.read("data_type: 7 dims: 1 int64_data: -5").ints == Ints{-5});
  CHECK(reader.read("data_type: 9 dims: 2 raw_data: \"\\001\\000\"").ints == Ints{1, 0});
  CHECK(reader.read("data_type: 21 dims: 3 raw_data: \"\\361\\002\"").ints == Ints{1, 15, 2});
  CHECK(reader.read("data_type: 22 dims: 3 raw_data: \"\\361\\002\"").ints == Ints{1, -1, 2});
  Tensor empty = reader.read("data_type: 1 dims: 0 dims: 3");
  CHECK(empty.floats.empty());
  CHECK(llvm::ArrayRef(empty.dims) == llvm::ArrayRef<int64_t>({0, 3}));
}

TEST_CASE("bfloat16 kept as uint16 is told by the declared type") {
  Reader reader;
  std::string bits = "data_type: 4 dims: 1 raw_data: \"\\200\\077\"";
  CHECK(reader.read(bits).ints == Ints{0x3f80});
  CHECK(reader.read(bits, mlir::BFloat16Type::get(&reader.context)).floats == Floats{1});
}

TEST_CASE("tensors that cannot be read say why") {
  Reader reader;
  CHECK_THAT(reader.error("\377\377"), Contains("t.pb: not a TensorProto"));
  CHECK_THAT(reader.error(tensorBytes("data_type: 8 dims: 1 string_data: \"a\"")), Contains("STRING"));
  CHECK_THAT(reader.error(tensorBytes("data_type: 1 dims: 3")), Contains("no data"));
  CHECK_THAT(reader.error(tensorBytes("data_type: 1 dims: 3 raw_data: \"abcd\"")), Contains("3 elements of 32 bits"));
}

TEST_CASE("a model gives its tensors by name") {
  Folder folder;
  folder.add("weights.bin", std::string("....\0\0\x80\x3f\0\0\0\x40", 12));
  auto external = [](const std::string &name, const std::string &place) {
    return "initializer { name: \"" + name + "\" data_type: 1 dims: 2 data_location: 1 " + place + " }\n";
  };
  auto entry = [](const std::string &key, const std::string &value) {
    return "external_data { key: \"" + key + "\" value: \"" + value + "\" } ";
  };
  std::string graph =
      intTensor("initializer", "i", {"2"}, {"4", "5"}) + emptyWeight("empty", {"2"}) +
      external("w", entry("location", "weights.bin") + entry("offset", "4")) +
      external("short", entry("location", "weights.bin") + entry("offset", "8")) +
      external("gone", entry("location", "none.bin")) + external("outside", entry("location", "../weights.bin")) +
      node("Constant", {}, {"c"},
           "attribute { name: \"value\" type: 4 t { data_type: 1 dims: 1 "
           "float_data: 7 } }") +
      input("x", {"2"}) + "input { name: \"s\" type { tensor_type { elem_type: 8 } } }\n" +
      "input { name: \"q\" type { sequence_type { elem_type { tensor_type { elem_type: 7 } } } } }\n" + output("c");
  auto model = ModelData::open(folder.add("model.onnx", serialize(graph)));
  REQUIRE(static_cast<bool>(model));
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto tensor = [&](const char *name) {
    auto found = model->tensor(name, context);
    if (!found)
      FAIL(takeMessage(found.takeError()).second);
    return *found;
  };
  auto error = [&](const char *name) { return takeMessage(model->tensor(name, context).takeError()).second; };
  CHECK(tensor("i").ints == Ints{4, 5});
  CHECK(tensor("w").floats == Floats{1, 2});
  CHECK(tensor("c").floats == Floats{7});
  CHECK_THAT(error("empty"), Contains("without data"));
  CHECK_THAT(error("short"), Contains("8 bytes at 8"));
  CHECK_THAT(error("gone"), Contains("none.bin cannot be read"));
  CHECK_THAT(error("outside"), Contains("no file in the model's folder"));
  CHECK_THAT(error("x"), Contains("holds no tensor of that name"));
  auto isAbsent = [&](const char *name) {
    llvm::Error reason = model->tensor(name, context).takeError();
    bool isA = reason.isA<AbsentData>();
    return llvm::consumeError(std::move(reason)), isA;
  };
  for (const char *name : {"empty", "gone", "outside", "x"})
    CHECK(isAbsent(name));
  CHECK_FALSE(isAbsent("short"));
  auto inputs = model->inputs(context);
  REQUIRE(inputs.size() == 3);
  CHECK(inputs[0].element == mlir::Float32Type::get(&context));
  CHECK(inputs[1].kind == ValueKind::Strings);
  CHECK(inputs[2].kind == ValueKind::Sequence);
}
