// Models that others or we exported, read in place where the folder of shared models lies beside the checkout.
#include "apc/IR/Program/Statistics.h"
#include "apc/Import/Import.h"
#include "apc/Support/Error.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Regex.h"

#include <catch2/catch.hpp>

#include <ctime>
#include <iostream>

namespace {

const std::string shared = APC_SHARED_FOLDER;

bool isAbsent(const std::string &path) {
  if (llvm::sys::fs::exists(path))
    return false;
  std::cout << "absent: " << path << "\n";
  return true;
}

struct Known {
  const char *name;
  double parameters;   // published
  double contractions; // FLOPs of MatMul, Gemm, Conv; 0 where the file is dynamic
  std::map<std::string, int64_t> dims;
};

} // namespace

TEST_CASE("a model of 7,710 nodes is imported in well under 1.5 s") {
  std::string path = shared + "/models/gpt3_175b_loss.onnx";
  if (isAbsent(path))
    return;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  std::clock_t start = std::clock();
  auto model = apc::importOnnx(path, {}, context);
  bool imported = static_cast<bool>(model);
  REQUIRE(imported);
  CHECK(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC < 1.5);
}

TEST_CASE("exports of known models have their published parameters and FLOPs") {
  const std::map<std::string, int64_t> text = {{"batch", 4}, {"seq", 512}};
  // gpt3_6_7b_dyn, gpt2_xl and bert_large store their tied embeddings twice: published are 6.662, 1.558 and 0.335
  // billion.
  const Known models[] = {
      {"gpt3_175b_weights_as_inputs", 174.604e9, 734.80e12, {}},
      {"gpt3_175b_loss", 174.604e9, 2939.22e12, {}},
      {"gpt3_1_3b_train_step", 1.316e9, 74.33e12, {}},
      {"gpt3_6_7b_dyn", 6.872e9, 0, text},
      {"gpt2_xl", 1.638e9, 0, text},
      {"llama3_8b", 8.030e9, 0, text},
      {"llama3_70b", 70.554e9, 1314.64e12, {}},
      {"mixtral_8x7b", 46.703e9, 0, {}},
      {"bert_large", 0.3664e9, 0, text},
      {"vit_l16", 0.304e9, 0, {{"batch", 4}}},
      {"resnet50", 25.6e6, 2.09e12, {}},
      {"syn_functions_gpt2_xl_opset18", 1.558e9, 0, {}},
      {"syn_genai_llama3_8b_fp16",
       8.030e9,
       0,
       {{"batch_size", 4}, {"sequence_length", 512}, {"past_sequence_length", 0}, {"total_sequence_length", 512}}}};
  if (isAbsent(shared + "/models"))
    return;
  for (const Known &known : models) {
    INFO(known.name);
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    apc::ImportOptions options;
    options.dims = known.dims;
    auto model = apc::importOnnx(shared + "/models/" + known.name + ".onnx", options, context);
    if (!model) {
      FAIL_CHECK(apc::takeMessage(model.takeError()).second);
      continue;
    }
    CHECK(model->report.unresolved.empty());
    CHECK(mlir::succeeded(mlir::verify(*model->module)));
    apc::ModuleStatistics sums = apc::statistics(*model->module);
    CHECK(static_cast<double>(sums.parameters) == Approx(known.parameters).epsilon(0.005));
    if (known.contractions > 0) {
      CHECK(sums.contractionFlops == Approx(known.contractions).epsilon(0.01));
      CHECK(sums.forwardFlops == Approx(known.contractions).epsilon(0.01)); // the rest is a hundredth at most
    }
  }
}

TEST_CASE("a sequence longer than the table of positions is refused, whatever its length") {
  std::string path = shared + "/models/bert_large.onnx";
  if (isAbsent(path))
    return;
  for (int64_t length : {513, 65536, 65537, 131072}) {
    CAPTURE(length);
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    apc::ImportOptions options;
    options.dims = {{"batch", 1}, {"seq", length}};
    auto model = apc::importOnnx(path, options, context);
    bool imported = static_cast<bool>(model);
    REQUIRE_FALSE(imported);
    CHECK_THAT(apc::takeMessage(model.takeError()).second, Catch::Contains("picks element 512 of a dim of 512"));
  }
}

namespace {

/// Imports the file; dims that it asks for are bound to 4, `dims` aside. The message of the failure, or "".
std::string failureOf(const std::string &path, const std::map<std::string, int64_t> &dims) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  apc::ImportOptions options;
  options.dims = dims;
  for (int round = 0;; ++round) {
    auto model = apc::importOnnx(path, options, context);
    if (model)
      return model->report.unresolved.empty() ? "" : path + ": values are not resolved";
    std::string message = apc::takeMessage(model.takeError()).second;
    llvm::StringRef rest = message;
    llvm::SmallVector<llvm::StringRef> match;
    bool isNew = false;
    for (llvm::Regex asked("--dim ([^=]*)=N"); asked.match(rest, &match); rest = rest.split(match[0]).second)
      isNew |= options.dims.try_emplace(match[1].str(), 4).second;
    if (!isNew || round == 3)
      return message;
  }
}

std::vector<std::string> modelsBelow(const std::string &folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (llvm::sys::fs::recursive_directory_iterator entry(folder, error), end; entry != end && !error;
       entry.increment(error))
    if (llvm::StringRef(entry->path()).ends_with(".onnx"))
      files.push_back(entry->path());
  return files;
}

} // namespace

TEST_CASE("models that others exported are imported whole") {
  if (isAbsent(shared + "/onnx-real"))
    return;
  // The images of MNIST, flattened, for the one model whose symbolic dims are not free.
  const std::map<std::string, int64_t> dims = {{"input-0_dim1", 784}};
  const std::pair<const char *, size_t> folders[] = {
      {"onnx-light", 9}, {"micas-stream", 20}, {"micas-zigzag", 7}, {"ort", 10}, {"ort-1.4", 7}};
  for (auto [folder, count] : folders) {
    std::vector<std::string> files = modelsBelow(shared + "/onnx-real/" + folder);
    CHECK(files.size() >= count);
    for (const std::string &file : files)
      CHECK(failureOf(file, dims) == "");
  }
}

TEST_CASE("what is left out of others' models is left out for a reason that names operator or node") {
  if (isAbsent(shared + "/onnx-real"))
    return;
  // Branches and loops that a graph input decides, whose value a flag gives.
  llvm::Regex known("1 operator\\(s\\) are not supported.* (If \\(.*decided by graph input '.*: say --condition |"
                    "Loop \\(.*trip count '.*: say --value )");
  unsigned imported = 0;
  for (const std::string &file : modelsBelow(shared + "/onnx-real/burn")) {
    std::string failure = failureOf(file, {});
    INFO(failure);
    imported += failure.empty() ? 1 : 0;
    CHECK((failure.empty() || known.match(failure)));
  }
  CHECK(imported >= 39);
}

TEST_CASE("a file that is cut off anywhere gives an error") {
  std::string path = shared + "/models/resnet50.onnx";
  if (isAbsent(path))
    return;
  auto buffer = llvm::MemoryBuffer::getFile(path);
  REQUIRE(buffer);
  llvm::StringRef bytes = (*buffer)->getBuffer();
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  for (size_t length = 0; length < bytes.size(); length += 1 + bytes.size() / 40) {
    auto model = apc::importOnnxBytes(bytes.take_front(length), "cut.onnx", {}, context);
    REQUIRE(!model);
    CHECK(apc::takeMessage(model.takeError()).first == apc::Fault::Input);
  }
}
