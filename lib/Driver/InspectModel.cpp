// `apc inspect`: the findings of the importer.
#include "apc/Driver/InspectModel.h"

#include "apc/IR/Apc.h"
#include "apc/Plan/LayerNames.h"
#include "apc/Support/Json/JsonWriter.h"
#include "apc/Support/TextTable.h"
#include "apc/Support/Units.h"
#include "apc/Support/VisibleText.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/StringExtras.h"

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
    std::string operatorName = op->getName().stripDialect().str();
    auto [entry, isNew] = positions.try_emplace({pattern, operatorName}, groups.size());
    if (isNew)
      groups.push_back({pattern, operatorName, 0});
    ++groups[entry->second].count;
  });
  llvm::erase_if(groups, [](const Inspection::Group &group) { return group.count < 2; });
  return groups;
}

} // namespace

llvm::Expected<Inspection> inspectModel(llvm::StringRef path, const ImportOptions &options) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<ApcDialect, mlir::func::FuncDialect>();
  llvm::Expected<ImportedModel> model = inspectOnnx(path, options, context);
  if (!model)
    return model.takeError();
  Inspection inspection;
  inspection.path = path.str();
  inspection.report = std::move(model->report);
  if (model->module) {
    inspection.statistics = statistics(*model->module);
    inspection.groups = findGroups(*model->module);
  }
  return inspection;
}

void printInspection(const Inspection &inspection, llvm::raw_ostream &os) {
  const ModuleStatistics &numbers = inspection.statistics;
  os << "model       " << inspection.path << "\n";
  os << "nodes       " << inspection.report.numNodes << " in the file, " << numbers.nodes
     << " after shape arithmetic is folded\n";
  os << "parameters  " << formatCount(double(numbers.parameters)) << ", " << formatBytes(double(numbers.parameterBytes))
     << "\n";
  os << "forward     " << formatFlops(numbers.forwardFlops) << "\n\n";
  TextTable operators;
  operators.addColumn("operator");
  operators.addColumn("count", TextTable::Align::Right);
  for (const auto &[name, count] : inspection.report.operators)
    operators.addRow({name, std::to_string(count)});
  operators.print(os);
  if (!inspection.groups.empty()) {
    os << "\n";
    TextTable groups;
    groups.addColumn("repeated ops");
    groups.addColumn("operator");
    groups.addColumn("count", TextTable::Align::Right);
    for (const Inspection::Group &group : inspection.groups)
      groups.addRow({group.pattern, group.operatorName, std::to_string(group.count)});
    groups.print(os);
  }
  for (const auto &[name, nodes] : inspection.report.unsupported)
    os << "unsupported: " << visibleText(name) << " (" << nodes.size() << " x, first at '" << visibleText(nodes.front())
       << "')\n";
  for (const std::string &value : inspection.report.unresolved)
    os << "unresolved: '" << visibleText(value) << "'\n";
  for (const std::string &note : inspection.report.notes)
    os << "note: " << visibleText(note) << "\n";
}

std::string printInspectionJson(const Inspection &inspection) {
  const ModuleStatistics &numbers = inspection.statistics;
  std::vector<std::string> unsupported;
  for (const auto &[name, nodes] : inspection.report.unsupported)
    unsupported.push_back(name);
  JsonWriter json;
  json.object([&](JsonObjectWriter &object) {
    object("model", inspection.path);
    object("nodes", inspection.report.numNodes);
    object("parameters", numbers.parameters);
    object("parameter_bytes", numbers.parameterBytes);
    object("forward_flops", numbers.forwardFlops);
    object("contraction_flops", numbers.contractionFlops);
    object("operators", inspection.report.operators);
    object("unresolved_values", static_cast<int64_t>(inspection.report.unresolved.size()));
    object("unsupported_operators", unsupported);
    object("notes", inspection.report.notes);
  });
  return json.take() + "\n";
}

} // namespace apc
