// The places of weights in a file, found without reading them, are those that a parser of the whole file finds.
#include "apc/Import/WeightFiles.h"

#include "ModelText.h"

#include "apc/Support/File.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"

using namespace apc;
using namespace apc::test;

namespace {

/// A model in a file of its own.
struct ModelFile {
  explicit ModelFile(const std::string &bytes) : bytes(bytes) {
    REQUIRE_FALSE(llvm::sys::fs::createTemporaryFile("apc-weights", "onnx", path));
    if (llvm::Error error = writeFileAtomically(path, bytes))
      FAIL(takeMessage(std::move(error)).second);
  }
  ~ModelFile() { (void)llvm::sys::fs::remove(path); }

  llvm::StringMap<WeightLocation> locate() const {
    auto found = locateWeights(path);
    if (!found)
      FAIL(takeMessage(found.takeError()).second);
    return std::move(*found);
  }
  std::string at(const WeightLocation &location) const {
    return bytes.substr(static_cast<size_t>(location.offset), static_cast<size_t>(location.length.value_or(0)));
  }

  llvm::SmallString<128> path;
  std::string bytes;
};

const char *const kinds = R"(
  initializer { name: "raw" data_type: 1 dims: 2 raw_data: "\001\002\003\004\005\006\007\010" }
  initializer { name: "floats" data_type: 1 dims: 3 float_data: 1 float_data: 2 float_data: -3 }
  initializer { name: "doubles" data_type: 11 dims: 1 double_data: 0.5 }
  initializer { name: "ints" data_type: 7 dims: 2 int64_data: 300 int64_data: 4 }
  initializer { name: "halves" data_type: 10 dims: 1 int32_data: 15360 }
  initializer { name: "unsigned" data_type: 13 dims: 1 uint64_data: 1 }
  initializer { name: "nothing" data_type: 1 dims: 2 }
  initializer { name: "elsewhere" data_type: 1 dims: 2 data_location: 1
                external_data { key: "location" value: "sub/model.data" } external_data { key: "offset" value: "4096" }
                external_data { key: "length" value: "8" } }
  initializer { name: "rest" data_type: 1 dims: 2 data_location: 1
                external_data { key: "location" value: "model.data" } }
  initializer { name: "outside" data_type: 1 dims: 2 data_location: 1
                external_data { key: "location" value: "../model.data" } }
  initializer { name: "absolute" data_type: 1 dims: 2 data_location: 1
                external_data { key: "location" value: "/model.data" } }
  initializer { name: "nowhere" data_type: 1 dims: 2 data_location: 1 }
  initializer { name: "raw" data_type: 1 dims: 1 raw_data: "\011\011\011\011" }
  sparse_initializer { values { name: "sparse" data_type: 1 dims: 1 float_data: 1 }
                       indices { data_type: 7 dims: 1 int64_data: 3 } dims: 9 }
  node { op_type: "Constant" output: "constant"
         attribute { name: "value" type: 4 t { data_type: 1 dims: 1 raw_data: "abcd" } } }
  node { op_type: "Other" output: "other" attribute { name: "table" type: 4 t { data_type: 1 dims: 1 raw_data: "abcd" } } }
)";

} // namespace

TEST_CASE("every way to store a tensor is a range of bytes or says why not") {
  ModelFile file(serialize(kinds));
  llvm::StringMap<WeightLocation> found = file.locate();
  CHECK(file.at(found["raw"]) == "\001\002\003\004\005\006\007\010");
  std::string ownName = llvm::StringRef(file.path).rsplit('/').second.str();
  CHECK(found["raw"].file == ownName);
  const float floats[] = {1, 2, -3};
  CHECK(file.at(found["floats"]) == std::string(reinterpret_cast<const char *>(floats), sizeof floats));
  const double half = 0.5;
  CHECK(file.at(found["doubles"]) == std::string(reinterpret_cast<const char *>(&half), sizeof half));
  CHECK(file.at(found["constant"]) == "abcd");
  CHECK(found["elsewhere"].file == "sub/model.data");
  CHECK(found["elsewhere"].offset == 4096);
  CHECK(found["elsewhere"].length == 8);
  CHECK(found["rest"].absent.empty());
  CHECK_FALSE(found["rest"].length);
  // 300 is 44 + 2 * 128, 15360 is 0 + 120 * 128.
  for (auto [name, bytes] : {std::pair("ints", "\254\002\004"), {"halves", "\200\170"}, {"unsigned", "\001"}}) {
    CHECK(found[name].isVarints);
    CHECK(found[name].absent.empty());
    CHECK(file.at(found[name]) == bytes);
  }
  CHECK_FALSE(found["raw"].isVarints);
  const std::pair<const char *, const char *> absent[] = {
      {"nothing", "declared without data"}, {"outside", "leaves"},       {"absolute", "leaves"},
      {"nowhere", "without a location"},    {"sparse", "sparse tensor"},
  };
  for (auto [name, reason] : absent) {
    INFO(name << ": " << found[name].absent);
    CHECK(found[name].absent.find(reason) != std::string::npos);
  }
  CHECK_FALSE(found.contains("other"));
}

TEST_CASE("weights whose place is no number are no weights at another place") {
  std::string head = "data_type: 1 dims: 2 data_location: 1 external_data { key: \"location\" value: \"w.bin\" } "
                     "external_data { key: \"offset\" value: \"0x40\" } ";
  for (const std::string &graph :
       {"initializer { " + head + "name: \"w\" }",
        "node { op_type: \"Constant\" output: \"w\" attribute { name: \"value\" type: 4 t { " + head + "} } }"}) {
    ModelFile file(serialize(graph));
    auto [fault, text] = takeMessage(locateWeights(file.path).takeError());
    CHECK(fault == Fault::Input);
    CHECK(text.find("tensor 'w': the offset of its external data is '0x40': a whole number") != std::string::npos);
  }
}

TEST_CASE("floats that are not packed, and packed ones in two runs, have no range") {
  // TensorProto in wire format: dims 2, data_type 1, float_data (field 4), name (field 8) "w".
  std::string head = std::string("\x08\x02\x10\x01", 4), name = std::string("\x42\x01w", 3);
  std::string one = std::string("\x00\x00\x80\x3f", 4);
  std::string loose = head + "\x25" + one + "\x25" + one + name;
  std::string runs = head + "\x22\x04" + one + "\x22\x04" + one + name;
  for (const std::string &tensor : {loose, runs}) {
    std::string graph = "\x2a" + std::string(1, static_cast<char>(tensor.size())) + tensor;
    ModelFile file("\x3a" + std::string(1, static_cast<char>(graph.size())) + graph);
    CHECK(file.locate()["w"].absent == "its values are stored in several runs");
  }
}

TEST_CASE("the weights of a tiny model lie where protobuf reads them") {
  auto bytes = readFile(std::string(APC_MODELS) + "/tiny/llama/model.onnx");
  REQUIRE(static_cast<bool>(bytes));
  ModelFile file(*bytes);
  llvm::StringMap<WeightLocation> found = file.locate();
  onnx::ModelProto model;
  REQUIRE(model.ParseFromString(*bytes));
  int numChecked = 0;
  for (const onnx::TensorProto &tensor : model.graph().initializer())
    if (!tensor.raw_data().empty()) {
      ++numChecked;
      CHECK(file.at(found[tensor.name()]) == tensor.raw_data());
    }
  CHECK(numChecked > 10);
}

TEST_CASE("damage is an error with the place") {
  std::string bytes = serialize(kinds);
  for (size_t length = 1; length < bytes.size(); length += 7) {
    ModelFile file(bytes.substr(0, length));
    auto found = locateWeights(file.path);
    if (found)
      continue; // cut between two fields
    auto [fault, text] = takeMessage(found.takeError());
    CHECK(fault == Fault::Input);
    CHECK(text.find("is damaged at byte") != std::string::npos);
  }
  ModelFile group(std::string("\x3b", 1));
  CHECK(takeMessage(locateWeights(group.path).takeError()).second.find("of a kind that ONNX does not use") !=
        std::string::npos);
  CHECK(takeMessage(locateWeights("absent.onnx").takeError()).second.find("cannot be read") != std::string::npos);
}
