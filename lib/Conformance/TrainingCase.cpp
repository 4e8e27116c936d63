// Reads train.json and the tensors beside it.
#include "TrainingCase.h"

#include "apc/Import/ModelData.h"
#include "apc/Support/Error.h"
#include "apc/Support/File.h"
#include "apc/Support/Json/JsonReader.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <array>
#include <set>

namespace apc {

namespace {

/// train.json, key by key.
struct TrainingFile {
  std::string loss, optimizer, freeze;
  double learningRate = 0, momentum = 0, dampening = 0, epsilon = 0, weightDecay = 0;
  bool nesterov = false, amsgrad = false;
  std::vector<double> betas;
  std::optional<double> clipNorm;
  int64_t steps = 0, microBatches = 1;
  std::vector<std::vector<std::string>> ties;
  std::optional<std::string> precision;
  std::optional<double> lossScale;
};

template <typename Visitor>
void fields(Visitor &visit, TrainingFile &file) {
  visit("loss", file.loss);
  visit("optimizer", file.optimizer);
  visit("learning_rate", file.learningRate);
  visit("momentum", file.momentum);
  visit("dampening", file.dampening);
  visit("nesterov", file.nesterov);
  visit("betas", file.betas);
  visit("eps", file.epsilon);
  visit.optional("amsgrad", file.amsgrad);
  visit("weight_decay", file.weightDecay);
  visit("clip_norm", file.clipNorm);
  visit("steps", file.steps);
  visit("micro_batches", file.microBatches);
  visit("freeze", file.freeze);
  visit("tie", file.ties);
  visit.optional("precision", file.precision);
  visit.optional("loss_scale", file.lossScale);
}

llvm::Expected<TrainingFile> readTrainingFile(const std::string &path) {
  auto text = readFile(path);
  if (!text)
    return text.takeError();
  auto document = JsonDocument::parse(*text, path);
  if (!document)
    return document.takeError();
  auto file = document->root().get<TrainingFile>();
  if (llvm::Error error = document->takeError())
    return error;
  return file;
}

llvm::Expected<TrainingOptions> optionsOf(const TrainingFile &file, const std::string &path) {
  TrainingOptions options;
  options.loss = file.loss;
  options.freeze = file.freeze;
  options.clipNorm = file.clipNorm;
  options.returnsGradients = true;
  options.lossScaling.fixed = file.lossScale;
  std::optional<Precision> precision = parsePrecision(file.precision.value_or("model"));
  if (!precision)
    return inputError("{0}: precision '{1}'; accepted are '{2}'", path, *file.precision,
                      llvm::join(precisionNames(), "', '"));
  options.precision = *precision;
  std::optional<OptimizerKind> kind = parseOptimizer(file.optimizer);
  if (!kind || file.betas.size() != 2)
    return inputError("{0}: optimizer '{1}' with {2} betas; sgd, momentum, adam and adamw with 2 betas are accepted",
                      path, file.optimizer, file.betas.size());
  if (file.amsgrad && *kind != OptimizerKind::Adam && *kind != OptimizerKind::AdamW)
    return inputError("{0}: amsgrad belongs to the optimizers adam and adamw, not to {1}", path, file.optimizer);
  options.optimizer = {*kind,         file.weightDecay, file.momentum, file.dampening, file.nesterov,
                       file.betas[0], file.betas[1],    file.epsilon,  file.amsgrad};
  for (const std::vector<std::string> &pair : file.ties) {
    if (pair.size() != 2)
      return inputError("{0}: an entry of 'tie' holds {1} names, not 2", path, pair.size());
    llvm::StringRef second = pair[1];
    bool transposed = second.consume_back("^T");
    options.ties.push_back({pair[0], second.str(), transposed});
  }
  return options;
}

/// input_0.pb, input_1.pb, ...
llvm::Expected<std::vector<Tensor>> readBatch(const std::string &folder, mlir::MLIRContext &context) {
  std::vector<Tensor> batch;
  for (size_t index = 0;; ++index) {
    std::string path = llvm::formatv("{0}/input_{1}.pb", folder, index);
    if (!llvm::sys::fs::exists(path))
      break;
    auto tensor = readTensorFile(path, context);
    if (!tensor)
      return tensor.takeError();
    batch.push_back(std::move(*tensor));
  }
  if (batch.empty())
    return inputError("{0}: holds no input_0.pb", folder);
  return batch;
}

/// The name of a tensor's file: characters outside [A-Za-z0-9._-] are `_`.
std::string fileName(llvm::StringRef name) {
  std::string file = name.str();
  for (char &c : file)
    if (!llvm::isAlnum(c) && c != '.' && c != '_' && c != '-')
      c = '_';
  return file + ".pb";
}

} // namespace

llvm::Expected<TrainingCase> readTrainingCase(llvm::StringRef folder, mlir::MLIRContext &context) {
  std::string path = (folder + "/train.json").str();
  auto file = readTrainingFile(path);
  if (!file)
    return file.takeError();
  auto options = optionsOf(*file, path);
  if (!options)
    return options.takeError();
  TrainingCase own;
  own.modelPath = (folder + "/model.onnx").str();
  own.options = std::move(*options);
  own.learningRate = file->learningRate;
  own.microBatches = file->microBatches;
  for (int64_t step = 0; step < file->steps; ++step) {
    auto batch = readBatch(llvm::formatv("{0}/step_{1}", folder, step), context);
    if (!batch)
      return batch.takeError();
    own.batches.push_back(std::move(*batch));
  }
  std::string losses = (folder + "/expected/loss.json").str();
  auto text = readFile(losses);
  if (!text)
    return text.takeError();
  auto document = JsonDocument::parse(*text, losses);
  if (!document)
    return document.takeError();
  document->root().into(own.losses);
  if (llvm::Error error = document->takeError())
    return error;
  if (own.losses.size() != own.batches.size())
    return inputError("{0}: holds {1} losses, but there are {2} steps", losses, own.losses.size(), own.batches.size());
  return own;
}

llvm::Expected<NamedTensors> readExpected(llvm::StringRef folder, llvm::ArrayRef<std::string> names,
                                          mlir::MLIRContext &context) {
  NamedTensors tensors;
  std::set<std::string> known;
  for (const std::string &name : names) {
    auto tensor = readTensorFile((folder + "/" + fileName(name)).str(), context);
    if (!tensor)
      return tensor.takeError();
    tensors.emplace(name, std::move(*tensor));
    known.insert(fileName(name));
  }
  std::error_code error;
  for (llvm::sys::fs::directory_iterator entry(folder, error), end; entry != end && !error; entry.increment(error))
    if (llvm::StringRef file = llvm::sys::path::filename(entry->path()); !known.count(file.str()))
      return inputError("{0}/{1}: belongs to no parameter that is trained", folder, file);
  return tensors;
}

} // namespace apc
