// `apc inspect`: the findings of the importer.
#include "apc/Driver/InspectModel.h"

#include "apc/Autodiff/ExpandGradients.h"
#include "apc/Driver/ImportStep.h"
#include "apc/IR/Apc.h"
#include "apc/IR/MainFunction.h"
#include "apc/IR/Opaque.h"
#include "apc/Plan/LayerNames.h"
#include "apc/Plan/Settings.h"
#include "apc/Support/Error.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

namespace apc {

namespace {

/// Groups of at least two ops whose names differ in numbers only, in order of first appearance.
std::vector<Inspection::Group> findGroups(mlir::ModuleOp module) {
  std::vector<Inspection::Group> groups;
  std::map<std::pair<std::string, std::string>, size_t> positions;
  module.walk([&](OperatorInterface op) {
    auto name = llvm::dyn_cast<mlir::NameLoc>(op->getLoc());
    if (!name || op->getNumOperands() == 0)
      return;
    std::string pattern = layerPattern(name.getName());
    std::string operatorName = operatorNameOf(op).str();
    auto [entry, isNew] = positions.try_emplace({pattern, operatorName}, groups.size());
    if (isNew)
      groups.push_back({pattern, operatorName, 0});
    ++groups[entry->second].count;
  });
  llvm::erase_if(groups, [](const Inspection::Group &group) { return group.count < 2; });
  return groups;
}

} // namespace

llvm::Expected<Inspection> inspectModel(const PlanRequest &request) {
  if (llvm::Error error = checkTrainingSettings(request))
    return error;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<ApcDialect, mlir::func::FuncDialect>();
  llvm::Expected<ImportedModel> model = inspectOnnx(request.modelPath, importOptionsOf(request), context);
  if (!model)
    return model.takeError();
  Inspection inspection;
  inspection.path = request.modelPath;
  inspection.report = std::move(model->report);
  if (model->module)
    if (llvm::Error error = expandGradients(mainOf(*model->module)))
      return inputError("{0}: {1}", request.modelPath, takeMessage(std::move(error)).second);
  if (model->module) {
    inspection.statistics = statistics(*model->module);
    inspection.groups = findGroups(*model->module);
  }
  if (model->module && request.mode == StepMode::Train) {
    auto training = inspectTraining(std::move(model->module), request, inspection.report.notes);
    if (!training)
      return training.takeError();
    inspection.training = std::move(*training);
    if (!inspection.training->heldBackward.empty())
      inspection.statistics.forwardFlops -= inspection.training->backwardFlops;
  }
  return inspection;
}

} // namespace apc
