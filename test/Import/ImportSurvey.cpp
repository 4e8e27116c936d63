// Imports every model below the given folders and prints a line for each: counts and seconds, or the error.
//
// `--dim NAME=N` binds dims for all of them; further dims that a model asks for take the default 4. `--verify` also
// runs MLIR's verifier.
#include "apc/IR/Program/Statistics.h"
#include "apc/Import/Import.h"
#include "apc/Import/ModelData.h"
#include "apc/Support/Error.h"
#include "apc/Support/File.h"

#include "OnnxModel.pb.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>

namespace {

struct Totals {
  int imported = 0, failed = 0;
  std::map<std::string, int> reasons;
};

/// Binds the dims that the message asks for (`--dim NAME=N`) and returns whether there were any new ones.
bool bindAskedDims(llvm::StringRef message, std::map<std::string, int64_t> &dims) {
  llvm::Regex asked("--dim '?([^=]*)=N");
  bool any = false;
  llvm::SmallVector<llvm::StringRef> match;
  while (asked.match(message, &match)) {
    any |= dims.try_emplace(match[1].str(), 4).second;
    message = message.drop_front(static_cast<size_t>(match[0].end() - message.begin()));
  }
  return any;
}

/// The values that ONNX's operator tests keep beside the model, in the order of the graph's inputs.
void readInputValues(const std::string &path, apc::ImportOptions &options, mlir::MLIRContext &context) {
  llvm::SmallString<256> folder = llvm::sys::path::parent_path(path);
  llvm::sys::path::append(folder, "test_data_set_0");
  auto bytes = apc::readFile(path);
  apc::onnx::ModelProto model;
  if (!llvm::sys::fs::is_directory(folder) || !bytes || !model.ParseFromString(*bytes)) {
    if (!bytes)
      llvm::consumeError(bytes.takeError());
    return;
  }
  for (int i = 0; i < model.graph().input_size(); ++i) {
    auto tensor = apc::readTensorFile((folder + "/input_" + llvm::Twine(i) + ".pb").str(), context);
    if (tensor)
      options.inputValues.emplace(model.graph().input(i).name(), std::move(*tensor));
    else
      llvm::consumeError(tensor.takeError());
  }
}

void importOne(const std::string &path, apc::ImportOptions options, bool verify, Totals &totals) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  readInputValues(path, options, context);
  auto start = std::chrono::steady_clock::now();
  auto model = apc::importOnnx(path, options, context);
  for (int round = 0; !model && round < 3; ++round) {
    std::string message = apc::takeMessage(model.takeError()).second;
    bool again = bindAskedDims(message, options.dims);
    if (!again) {
      ++totals.failed;
      llvm::outs() << "FAIL " << message << "\n";
      return;
    }
    start = std::chrono::steady_clock::now();
    model = apc::importOnnx(path, options, context);
  }
  if (!model) {
    ++totals.failed;
    llvm::outs() << "FAIL " << apc::takeMessage(model.takeError()).second << "\n";
    return;
  }
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  apc::ModuleStatistics sums = apc::statistics(*model->module);
  bool valid = !verify || mlir::succeeded(mlir::verify(*model->module));
  ++(valid ? totals.imported : totals.failed);
  llvm::outs() << (valid ? "ok   " : "BAD  ") << path << ": "
               << llvm::formatv("{0:f3} s, {1} -> {2} nodes, {3} parameters, {4:f4} TFLOP ({5:f4} in contractions)\n",
                                seconds, model->report.numNodes, sums.nodes, sums.parameters, sums.forwardFlops / 1e12,
                                sums.contractionFlops / 1e12);
  for (const std::string &note : model->report.notes)
    llvm::outs() << "       " << note << "\n";
}

void collect(llvm::StringRef path, std::vector<std::string> &files) {
  if (!llvm::sys::fs::is_directory(path)) {
    files.push_back(path.str());
    return;
  }
  std::error_code error;
  for (llvm::sys::fs::recursive_directory_iterator entry(path, error), end; entry != end && !error;
       entry.increment(error))
    if (llvm::StringRef(entry->path()).ends_with(".onnx"))
      files.push_back(entry->path());
}

} // namespace

int main(int argc, char **argv) {
  apc::ImportOptions options;
  std::vector<std::string> files;
  bool verify = false;
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef argument = argv[i];
    int64_t size = 0;
    if (argument == "--verify") {
      verify = true;
    } else if (argument == "--dim" && i + 1 < argc) {
      auto [name, number] = llvm::StringRef(argv[++i]).rsplit('=');
      if (!number.getAsInteger(10, size))
        options.dims[name.str()] = size;
    } else {
      collect(argument, files);
    }
  }
  std::sort(files.begin(), files.end());
  Totals totals;
  for (const std::string &file : files)
    importOne(file, options, verify, totals);
  llvm::outs() << totals.imported << " imported, " << totals.failed << " not\n";
  return 0;
}
