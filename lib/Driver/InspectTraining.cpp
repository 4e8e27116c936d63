// `apc inspect --mode train`: the parameters that a training step changes, and the work of its backward pass.
#include "apc/Driver/InspectModel.h"

#include "apc/Driver/TrainModel.h"
#include "apc/IR/Apc.h"
#include "apc/IR/AttributeNames.h"
#include "apc/IR/Diagnostics.h"
#include "apc/IR/MainFunction.h"
#include "apc/Import/EqualWeights.h"
#include "apc/Transforms/RecognizeComposites.h"

namespace apc {

namespace {

/// FLOPs of the ops that make gradients: those named after the op with which they are decided.
double backwardFlops(mlir::ModuleOp step) {
  double sum = 0;
  DiagnosticCapture quiet(step.getContext());
  step.walk([&](OperatorInterface op) {
    auto leader = op->getAttrOfType<mlir::StringAttr>(tieAttribute);
    auto name = llvm::dyn_cast<mlir::NameLoc>(op->getLoc());
    if (!leader || !name || name.getName() != leader.getValue().str() + ".grad")
      return;
    if (auto rule = op.getRule(); mlir::succeeded(rule))
      sum += rule->flops();
  });
  return sum;
}

/// Shapes of the parameters by their names.
std::map<std::string, WeightShape> shapesOf(mlir::ModuleOp model) {
  std::map<std::string, WeightShape> shapes;
  model.walk([&](ParameterOp parameter) {
    auto type = llvm::dyn_cast<mlir::RankedTensorType>(parameter.getOutput().getType());
    if (!type)
      return;
    std::string element;
    llvm::raw_string_ostream(element) << type.getElementType();
    shapes[parameter.getName().str()] = {parameter.getName().str(), element, type.getShape().vec(),
                                         type.getElementTypeBitWidth() / 8};
  });
  return shapes;
}

/// A note for each trained parameter of two dims or more that the file holds a second time.
llvm::Error noteEqual(llvm::StringRef modelPath, llvm::ArrayRef<WeightShape> trained, std::vector<std::string> &notes) {
  auto pairs = findEqualWeights(modelPath, trained);
  if (!pairs)
    return pairs.takeError();
  for (const EqualWeights &pair : *pairs)
    notes.push_back(llvm::formatv("{0} and {1} hold the same numbers{2}: --tie {0}={1}{3}", pair.first, pair.second,
                                  pair.isTransposed ? ", transposed" : "", pair.isTransposed ? "^T" : ""));
  return llvm::Error::success();
}

} // namespace

llvm::Expected<TrainingInspection> inspectTraining(mlir::OwningOpRef<mlir::ModuleOp> model, const PlanRequest &request,
                                                   std::vector<std::string> &notes) {
  std::map<std::string, WeightShape> shapes = shapesOf(*model);
  recognizeComposites(*model, /*trains=*/true);
  llvm::Expected<TrainingStep> step = requestedStep(*model, request);
  if (!step)
    return step.takeError();
  TrainingInspection training;
  if (step->held) {
    training.backwardFlops = heldBackwardFlops(mainOf(*model), step->held->loss);
    training.heldBackward = describeHeld(mainOf(*model), *step->held);
  } else {
    training.backwardFlops = backwardFlops(*step->module);
  }
  std::vector<WeightShape> matrices;
  for (ParameterUse &use : step->parameters) {
    const WeightShape &shape = shapes[use.name];
    int64_t elements = 1;
    for (int64_t dim : shape.dims)
      elements *= dim;
    if (use.isTrained)
      training.trainedParameters += elements;
    if (use.isTrained && shape.dims.size() >= 2)
      matrices.push_back(shape);
    training.parameters.push_back({std::move(use), elements});
  }
  if (llvm::Error error = noteEqual(request.modelPath, matrices, notes))
    return error;
  return training;
}

} // namespace apc
