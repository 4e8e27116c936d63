// Loads, imports, runs and compares one case.
#include "ConformanceCase.h"

#include "ConformanceRanks.h"

#include "apc/Autodiff/ExpandGradients.h"
#include "apc/IR/Apc.h"
#include "apc/IR/AttributeNames.h"
#include "apc/IR/MainFunction.h"
#include "apc/IR/Random.h"
#include "apc/IR/UnsupportedOperators.h"
#include "apc/Import/Import.h"
#include "apc/Interpret/Compare.h"
#include "apc/Interpret/Run.h"
#include "apc/Transforms/RecognizeComposites.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace apc {

namespace {

CaseResult failed(llvm::Error error) { return {Verdict::Failed, takeMessage(std::move(error)).second}; }
CaseResult failed(std::string text) { return {Verdict::Failed, std::move(text)}; }
CaseResult skipped(std::string reason) { return {Verdict::Skipped, std::move(reason)}; }

/// Numbers that a case was recorded with are not ours.
bool drawsNumbers(mlir::ModuleOp module) {
  for (mlir::Operation &op : mainOf(module).front())
    if (isRandom(&op))
      return true;
  return false;
}

/// A case whose outputs are not what its model says, by the digest of model.onnx.
struct WrongCase {
  llvm::StringLiteral sha256;
  llvm::StringLiteral reason;
};

constexpr WrongCase wrongCases[] = {
    // test_adam_multiple up to ONNX 1.12; later releases have the attribute.
    {"c4e5ae63e47e1f1034b74ad5fd92fe1f908dcdea805ad58a2a67993b7990270e",
     "its outputs were made with an epsilon of 0.01, which the model does not say"},
};

/// Why values of a kind are no business of ours; empty for tensors and sequences of tensors.
llvm::StringRef skippedKind(ValueKind kind) {
  switch (kind) {
  case ValueKind::Tensor:
  case ValueKind::Sequence:
    return "";
  case ValueKind::Strings:
    return "strings";
  case ValueKind::Other:
    return "values other than tensors of numbers";
  }
  llvm_unreachable("all kinds are listed");
}

std::vector<std::string> dataSets(const std::string &folder) {
  std::vector<std::string> found;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator entry(folder, error), end; entry != end && !error; entry.increment(error))
    if (llvm::sys::path::filename(entry->path()).starts_with("test_data_set_"))
      found.push_back(entry->path());
  llvm::sort(found);
  return found;
}

llvm::StringRef resultName(mlir::func::FuncOp main, unsigned index) {
  return main.getResultAttrOfType<mlir::StringAttr>(index, nameAttribute).getValue();
}

/// The result of that name; null for none.
const Tensor *resultNamed(const CaseData &data, llvm::ArrayRef<Tensor> results, llvm::StringRef name) {
  auto main = mainOf(data.module.get());
  for (auto [index, result] : llvm::enumerate(results))
    if (resultName(main, static_cast<unsigned>(index)) == name)
      return &result;
  return nullptr;
}

class CaseRunner {
public:
  CaseRunner(const std::string &folder, const ConformanceOptions &options)
      : folder(folder), options(options), context(mlir::MLIRContext::Threading::DISABLED) {}

  CaseResult run();

private:
  CaseResult runSet(const ModelData &model, const std::string &set);
  llvm::Error load(const std::string &set, CaseData &data, ImportOptions &import);
  llvm::Error loadInput(const std::string &file, const DeclaredValue &declared, ImportOptions &import);
  llvm::Error loadOutput(const std::string &file, const DeclaredValue &declared, CaseData &data);
  /// The first fault of the model once its composites are recognised, and all that reduces rows is taken apart, as for
  /// planning; empty when there is none, or no such op. `text` says how many there are.
  std::optional<std::string> judgeRecognized(CaseData &data, std::string &text);
  /// The case as programs of all ranks, and with its composites recognised.
  CaseResult judgeOnRanks(CaseData &data);
  CaseResult judgeDrawn(CaseData &data, llvm::ArrayRef<Tensor> results);
  CaseResult whyNotImported(const ImportOptions &import, llvm::Error error);

  std::string folder;
  const ConformanceOptions &options;
  mlir::MLIRContext context;
  std::vector<DeclaredValue> inputs, outputs;
};

std::string modelOf(const std::string &folder) { return folder + "/model.onnx"; }

/// The elements of a sequence are inputs and outputs of their own.
std::string elementOf(const DeclaredValue &declared, size_t index) {
  return declared.kind == ValueKind::Sequence ? declared.name + "[" + std::to_string(index) + "]" : declared.name;
}

llvm::Error CaseRunner::loadInput(const std::string &file, const DeclaredValue &declared, ImportOptions &import) {
  auto value = readValueFile(file, declared, context);
  if (!value)
    return value.takeError();
  if (declared.isOptional)
    import.conditions[declared.name] = value->has_value();
  if (!*value)
    return llvm::Error::success();
  if (declared.kind == ValueKind::Sequence)
    import.dims[declared.name + ".length"] = static_cast<int64_t>((*value)->size());
  for (auto [index, tensor] : llvm::enumerate(**value))
    import.inputValues.emplace(elementOf(declared, index), std::move(tensor));
  return llvm::Error::success();
}

llvm::Error CaseRunner::loadOutput(const std::string &file, const DeclaredValue &declared, CaseData &data) {
  auto value = readValueFile(file, declared, context);
  if (!value)
    return value.takeError();
  if (!*value)
    return llvm::Error::success();
  if (declared.kind == ValueKind::Sequence)
    data.lengths[declared.name] = (*value)->size();
  for (auto [index, tensor] : llvm::enumerate(**value))
    data.outputs.emplace_back(elementOf(declared, index), std::move(tensor));
  return llvm::Error::success();
}

llvm::Error CaseRunner::load(const std::string &set, CaseData &data, ImportOptions &import) {
  auto loadAll = [&](const char *role, const std::vector<DeclaredValue> &values, auto load) -> llvm::Error {
    for (auto [index, declared] : llvm::enumerate(values)) {
      std::string file = llvm::formatv("{0}/{1}_{2}.pb", set, role, index);
      if (llvm::Error error = llvm::sys::fs::exists(file) ? load(file, declared) : llvm::Error::success())
        return error;
    }
    return llvm::Error::success();
  };
  if (llvm::Error error = loadAll("input", inputs, [&](const std::string &file, const DeclaredValue &declared) {
        return loadInput(file, declared, import);
      }))
    return error;
  return loadAll("output", outputs, [&](const std::string &file, const DeclaredValue &declared) {
    return loadOutput(file, declared, data);
  });
}

CaseResult CaseRunner::whyNotImported(const ImportOptions &import, llvm::Error error) {
  std::string message = takeMessage(std::move(error)).second;
  auto inspected = inspectOnnx(modelOf(folder), import, context);
  if (!inspected) {
    llvm::consumeError(inspected.takeError());
    return failed(message);
  }
  const auto &unsupported = inspected->report.unsupported;
  for (const auto &[name, nodes] : unsupported)
    if (llvm::StringRef kind = unsupportedKind(name); !kind.empty())
      return skipped(kind.str());
  if (!unsupported.empty())
    return skipped("unsupported operator " + unsupported.begin()->first);
  return failed(message);
}

std::optional<std::string> CaseRunner::judgeRecognized(CaseData &data, std::string &text) {
  mlir::OwningOpRef<mlir::ModuleOp> imported = data.module->clone();
  RecognizedComposites found =
      recognizeComposites(*data.module, /*trains=*/false, /*shares=*/[](llvm::StringRef) { return true; });
  unsigned count = found.gelu + found.swish + found.layerNorm + found.rmsNorm + found.attention + found.rotation +
                   found.crossEntropy + found.longSoftmax + found.shared;
  std::optional<std::string> wrong;
  if (count > 0) {
    text = llvm::formatv("{0} composites recognised", count);
    auto results =
        apc::run(*data.module, data.arguments, [&](ParameterOp parameter) { return parameterTensor(data, parameter); });
    wrong = results ? compareOutputs(data, *results, Agreement::OnOneRank)
                    : std::optional(takeMessage(results.takeError()).second);
    if (!wrong)
      wrong = runOnRanks(data, options).failure;
  }
  data.module = std::move(imported);
  return wrong ? std::optional("with " + text + ": " + *wrong) : std::nullopt;
}

CaseResult CaseRunner::judgeOnRanks(CaseData &data) {
  RanksResult ranks = runOnRanks(data, options);
  if (ranks.failure)
    return failed(*ranks.failure);
  CaseResult passed;
  if (auto wrong = judgeRecognized(data, passed.text))
    return failed(*wrong);
  if (!options.meshes.empty())
    passed.text = llvm::formatv("{0} programs on ranks, for {1} strategies{2}{3}", ranks.numRun, ranks.numPossible,
                                passed.text.empty() ? "" : ", ", passed.text);
  return passed;
}

/// A model whose numbers are drawn, by a generator other than that of the case: results must have the dims and element
/// types of those expected, and all ranks must draw what one does.
CaseResult CaseRunner::judgeDrawn(CaseData &data, llvm::ArrayRef<Tensor> results) {
  for (auto &[name, expected] : data.outputs) {
    const Tensor *got = resultNamed(data, results, name);
    if (!got || got->dims != expected.dims || got->element != expected.element)
      return failed("output '" + name + "' has not the dims and the element type that are expected");
    expected = *got;
  }
  CaseResult result = judgeOnRanks(data);
  if (result.verdict == Verdict::Passed)
    result.text += result.text.empty() ? "by its own draws" : ", by its own draws";
  return result;
}

CaseResult CaseRunner::runSet(const ModelData &model, const std::string &set) {
  CaseData data;
  data.model = &model;
  ImportOptions import;
  import.findWeights = false;
  import.strict = true;
  import.maxConstantElements = int64_t(1) << 24;
  if (llvm::Error error = load(set, data, import))
    return failed(std::move(error));
  auto imported = importOnnx(modelOf(folder), import, context);
  if (!imported)
    return whyNotImported(import, imported.takeError());
  data.module = std::move(imported->module);
  if (llvm::Error error = expandGradients(mainOf(*data.module)))
    return failed(std::move(error));
  data.inputs = std::move(import.inputValues);
  auto main = mainOf(*data.module);
  for (unsigned i = 0; i < main.getNumArguments(); ++i) {
    auto name = main.getArgAttrOfType<mlir::StringAttr>(i, nameAttribute).str();
    auto given = data.inputs.find(name);
    if (given == data.inputs.end())
      return failed(llvm::formatv("{0} has no value for input '{1}'", set, name).str());
    data.arguments.push_back(given->second);
  }
  auto results =
      apc::run(*data.module, data.arguments, [&](ParameterOp parameter) { return parameterTensor(data, parameter); });
  if (!results) {
    std::optional<CaseResult> result;
    llvm::Error rest = llvm::handleErrors(results.takeError(), [&](const MissingKernel &missing) {
      llvm::StringRef kind = unsupportedKind(missing.getOperator());
      result = skipped(kind.empty() ? "no kernel " + missing.getOperator() : kind.str());
    });
    return result ? (llvm::consumeError(std::move(rest)), *result) : failed(std::move(rest));
  }
  if (auto difference = compareOutputs(data, *results, Agreement::OnOneRank)) {
    if (drawsNumbers(*data.module))
      return judgeDrawn(data, *results);
    auto wrong =
        llvm::find_if(wrongCases, [&](const WrongCase &each) { return each.sha256 == imported->report.sha256; });
    return wrong == std::end(wrongCases) ? failed(*difference) : skipped(("wrong case: " + wrong->reason).str());
  }
  return judgeOnRanks(data);
}

CaseResult CaseRunner::run() {
  auto model = ModelData::open(modelOf(folder));
  if (!model)
    return failed(model.takeError());
  inputs = model->inputs(context);
  outputs = model->outputs(context);
  for (const auto *values : {&inputs, &outputs})
    for (const DeclaredValue &value : *values)
      if (llvm::StringRef kind = skippedKind(value.kind); !kind.empty())
        return skipped(kind.str());
  std::vector<std::string> sets = dataSets(folder);
  if (sets.empty())
    return skipped("no data");
  CaseResult result;
  for (const std::string &set : sets) {
    result = runSet(*model, set);
    if (result.verdict == Verdict::Passed)
      continue;
    if (result.verdict == Verdict::Failed && sets.size() > 1)
      result.text = (llvm::sys::path::filename(set) + ": " + result.text).str();
    break;
  }
  return result;
}

} // namespace

std::optional<std::string> compareOutputs(const CaseData &data, llvm::ArrayRef<Tensor> results, Agreement agreement) {
  auto main = mainOf(data.module.get());
  auto numOps =
      static_cast<unsigned>(llvm::count_if(main.front(), [](mlir::Operation &op) { return op.getNumOperands() > 0; }));
  for (const auto &[name, length] : data.lengths)
    if (auto got = static_cast<size_t>(llvm::count_if(
            llvm::seq(main.getNumResults()),
            [&, name = name](unsigned result) { return resultName(main, result).starts_with(name + "["); }));
        got != length)
      return llvm::formatv("output '{0}': has {1} elements, expected {2}", name, got, length).str();
  for (const auto &[name, expected] : data.outputs) {
    const Tensor *got = resultNamed(data, results, name);
    if (!got)
      return "output '" + name + "' is not a result of the program";
    Tolerance tolerance = onnxTolerance(expected, numOps);
    if (agreement == Agreement::OnRanks)
      tolerance.absolute = std::max(tolerance.absolute, 1e-5 * largestMagnitude(expected));
    if (auto difference = findDifference(*got, expected, tolerance))
      return "output '" + name + "': " + *difference;
  }
  return std::nullopt;
}

llvm::Expected<Tensor> parameterTensor(const CaseData &data, mlir::Operation *op) {
  auto parameter = llvm::cast<ParameterOp>(op);
  auto given = data.inputs.find(parameter.getName().str());
  if (given != data.inputs.end())
    return given->second;
  return data.model->tensor(parameter.getName(), *op->getContext());
}

CaseResult runCase(const std::string &folder, const ConformanceOptions &options) {
  return CaseRunner(folder, options).run();
}

} // namespace apc
