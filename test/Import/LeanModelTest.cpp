// Large models are imported without their weights, to the same module and hash.
#include "ModelText.h"

#include "apc/Support/File.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"

#include <numeric>

using namespace apc;
using namespace apc::test;

namespace {

/// y = x . w + b and a float table of 3 elements; w of [rows, 1024] is raw data in the model, b small. 100,000
/// positions are raw data, too, as are indices that are none.
std::string largeModel(int64_t rows) {
  onnx::ModelProto model;
  std::string row = std::to_string(rows);
  REQUIRE(model.ParseFromString(serialize(input("x", {"2", row}) + emptyWeight("w", {row, "1024"}) +
                                          emptyWeight("b", {"1024"}) + emptyWeight("nothing", {row, "1024"}) +
                                          node("MatMul", {"x", "w"}, {"h"}) + node("Add", {"h", "b"}, {"s"}) +
                                          node("MatMul", {"x", "nothing"}, {"n"}) + node("Add", {"s", "n"}, {"y"}) +
                                          output("y") + "initializer { name: \"places\" data_type: 7 dims: 100000 }\n" +
                                          "initializer { name: \"index\" data_type: 7 dims: 100000 }\n" +
                                          node("Add", {"places", "index"}, {"z"}) + output("z"))));
  model.mutable_graph()->mutable_initializer(0)->set_raw_data(std::string(static_cast<size_t>(rows) * 4096, 'w'));
  model.mutable_graph()->mutable_initializer(1)->set_raw_data(std::string(4096, 'b'));
  std::vector<int64_t> places(100000);
  std::iota(places.begin(), places.end(), 0);
  for (onnx::TensorProto &tensor : *model.mutable_graph()->mutable_initializer())
    if (tensor.name() == "places" || tensor.name() == "index") {
      tensor.set_raw_data(places.data(), places.size() * sizeof(int64_t));
      places[7] = 0;
    }
  return model.SerializeAsString();
}

} // namespace

TEST_CASE("a model of 40 MiB is imported from its file as from its bytes") {
  std::string bytes = largeModel(10240);
  std::string sha256 = sha256Hex(bytes);
  llvm::SmallString<128> path;
  REQUIRE_FALSE(llvm::sys::fs::createTemporaryFile("apc-lean", "onnx", path));
  REQUIRE_FALSE(static_cast<bool>(writeFileAtomically(path, bytes)));
  auto whole = std::make_unique<Imported>(), lean = std::make_unique<Imported>();
  auto take = [&](Imported &imported, llvm::Expected<ImportedModel> model) {
    if (!model)
      FAIL(takeMessage(model.takeError()).second);
    imported.module = std::move(model->module);
    CHECK(model->report.sha256 == sha256);
  };
  take(*whole, importOnnxBytes(bytes, path, {}, whole->context));
  take(*lean, importOnnx(path, {}, lean->context));
  CHECK(lean->text() == whole->text());
  CHECK(lean->text().find("apc.parameter \"w\" \"initializer\"") != std::string::npos);
  CHECK(lean->text().find("apc.parameter \"nothing\" \"empty\"") != std::string::npos);
  CHECK(lean->text().find("apc.range") != std::string::npos);
  CHECK(lean->text().find("apc.parameter \"index\" \"initializer\"") != std::string::npos);

  // Cut off: the error is that of the parser.
  REQUIRE_FALSE(static_cast<bool>(writeFileAtomically(path, llvm::StringRef(bytes).drop_back(100))));
  mlir::MLIRContext context;
  auto [fault, text] = takeMessage(importOnnx(path, {}, context).takeError());
  CHECK(fault == Fault::Input);
  CHECK(text.find("cut off or damaged") != std::string::npos);
  CHECK_FALSE(llvm::sys::fs::remove(path));
}
