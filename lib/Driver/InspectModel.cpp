// `apc inspect`: what the importer saw.
#include "apc/Driver/InspectModel.h"

#include "apc/IR/Apc.h"
#include "apc/Support/TextTable.h"
#include "apc/Support/Units.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

namespace apc {

namespace {

std::string namePattern(llvm::StringRef name) {
  std::string pattern;
  for (char c : name)
    if (!llvm::isDigit(c))
      pattern += c;
    else if (pattern.empty() || pattern.back() != '*')
      pattern += '*';
  return pattern;
}

/// Groups of at least two ops whose names differ in numbers only, in order of first appearance.
std::vector<Inspection::Group> findGroups(mlir::ModuleOp module) {
  std::vector<Inspection::Group> groups;
  std::map<std::pair<std::string, std::string>, size_t> positions;
  module.walk([&](OperatorInterface op) {
    auto name = llvm::dyn_cast<mlir::NameLoc>(op->getLoc());
    if (!name || op->getNumOperands() == 0)
      return;
    std::string pattern = namePattern(name.getName());
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
    os << "unsupported: " << name << " (" << nodes.size() << " x, first at '" << nodes.front() << "')\n";
  for (const std::string &value : inspection.report.unresolved)
    os << "unresolved: '" << value << "'\n";
  for (const std::string &note : inspection.report.notes)
    os << "note: " << note << "\n";
}

std::string printInspectionJson(const Inspection &inspection) {
  const ModuleStatistics &numbers = inspection.statistics;
  llvm::json::Object operators;
  for (const auto &[name, count] : inspection.report.operators)
    operators[name] = count;
  llvm::json::Array unsupported, notes(inspection.report.notes);
  for (const auto &[name, nodes] : inspection.report.unsupported)
    unsupported.push_back(name);
  llvm::json::Object object{{"model", inspection.path},
                            {"nodes", inspection.report.numNodes},
                            {"parameters", numbers.parameters},
                            {"parameter_bytes", numbers.parameterBytes},
                            {"forward_flops", numbers.forwardFlops},
                            {"contraction_flops", numbers.contractionFlops},
                            {"operators", std::move(operators)},
                            {"unresolved_values", static_cast<int64_t>(inspection.report.unresolved.size())},
                            {"unsupported_operators", std::move(unsupported)},
                            {"notes", std::move(notes)}};
  return llvm::formatv("{0:2}\n", llvm::json::Value(std::move(object))).str();
}

} // namespace apc
