// One case of a conformance suite: a model and the data sets beside it.
#pragma once

#include "apc/Conformance/Conformance.h"
#include "apc/IR/Kernels/Tensor.h"
#include "apc/Import/ModelData.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <map>

namespace apc {

enum class Verdict : uint8_t { Passed, Failed, Skipped };

struct CaseResult {
  Verdict verdict = Verdict::Passed;
  std::string text; ///< what differs, or why it is skipped
  double seconds = 0;
};

/// A data set beside the model that was imported for it.
struct CaseData {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::map<std::string, Tensor> inputs;                ///< by name
  std::vector<std::pair<std::string, Tensor>> outputs; ///< expected, by name
  std::map<std::string, size_t> lengths;               ///< expected of sequences, whose elements are outputs
  std::vector<Tensor> arguments;                       ///< of @main, in order
  const ModelData *model = nullptr;
};

/// Runs the case in `folder`, which holds model.onnx.
CaseResult runCase(const std::string &folder, const ConformanceOptions &options);

/// Runs the case of training in `folder`, which holds model.onnx and train.json.
CaseResult runTrainingCase(const std::string &folder, const ConformanceOptions &options);

/// How close results must come: as ONNX has it, or, where sums are taken in another order, as to the absolute part,
/// 1e-5 of the largest element.
enum class Agreement : uint8_t { OnOneRank, OnRanks };

/// The first difference between the results of @main of `data.module` and the expected outputs; empty for none.
std::optional<std::string> compareOutputs(const CaseData &data, llvm::ArrayRef<Tensor> results, Agreement agreement);

/// The tensor of a parameter: the data set's when that gives it, else the model's own.
llvm::Expected<Tensor> parameterTensor(const CaseData &data, mlir::Operation *parameter);

} // namespace apc
