// The findings of the importer, for `apc inspect`.
#pragma once

#include "apc/Autodiff/TrainingStep.h"
#include "apc/IR/Program/Statistics.h"
#include "apc/Import/Import.h"
#include "apc/Plan/PlanRequest.h"

#include "llvm/Support/raw_ostream.h"

namespace apc {

/// A floating parameter of a model that is trained.
struct InspectedParameter {
  ParameterUse use;
  int64_t elements = 0;
};

/// The training step of a model, with `--mode train`.
struct TrainingInspection {
  double backwardFlops = 0;                   ///< of all gradients; nothing is recomputed
  std::string heldBackward;                   ///< what the model holds of its backward pass; "" where it is derived
  int64_t trainedParameters = 0;              ///< elements
  std::vector<InspectedParameter> parameters; ///< floating ones, in the order of the model
};

struct Inspection {
  std::string path;
  ImportReport report;
  ModuleStatistics statistics; ///< zero when the module could not be built
  /// Ops whose names differ in numbers only, with how many there are of each: the layers.
  struct Group {
    std::string pattern;
    std::string operatorName;
    unsigned count = 0;
  };
  std::vector<Group> groups;
  std::optional<TrainingInspection> training; ///< with `--mode train`, when the module could be built
};

/// Errors: what is not a model, unbound dims; settings of training without `--mode train`, and with it those of
/// `buildTrainingStep`. Unsupported operators and unresolved values are part of the answer.
llvm::Expected<Inspection> inspectModel(const PlanRequest &request);

/// The training step of `model`, a forward pass, which is used up. Parameters that the file of the model holds twice
/// are named in `notes`.
llvm::Expected<TrainingInspection> inspectTraining(mlir::OwningOpRef<mlir::ModuleOp> model, const PlanRequest &request,
                                                   std::vector<std::string> &notes);

void printInspection(const Inspection &inspection, llvm::raw_ostream &os);
/// Keys `nodes`, `parameters`, `parameter_bytes`, `forward_flops`, `contraction_flops`, `operators`,
/// `unresolved_values`, `unsupported_operators`, `notes`; with `--mode train` also `backward_flops`,
/// `held_backward`, `trained_parameters` and `parameter_uses`.
std::string printInspectionJson(const Inspection &inspection);

} // namespace apc
