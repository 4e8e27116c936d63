// The findings of the importer and of the training step, as text and as JSON.
#include "NodesByOperator.h"
#include "apc/Driver/InspectModel.h"
#include "apc/Plan/LayerNames.h"
#include "apc/Support/Json/JsonWriter.h"
#include "apc/Support/TextTable.h"
#include "apc/Support/Units.h"
#include "apc/Support/VisibleText.h"

namespace apc {

namespace {

/// A row for all parameters whose names differ in numbers only and that are trained, or not, for the same reason.
void printParameters(const TrainingInspection &training, llvm::raw_ostream &os) {
  std::vector<std::pair<std::string, std::string>> order;
  std::map<std::pair<std::string, std::string>, std::pair<int64_t, int64_t>> rows; ///< count and elements
  for (const auto &[use, elements] : training.parameters) {
    std::pair row{layerPattern(use.name), use.isTrained ? "yes" : "no: " + use.reason};
    auto [entry, isNew] = rows.try_emplace(row);
    if (isNew)
      order.push_back(row);
    ++entry->second.first;
    entry->second.second += elements;
  }
  TextTable table;
  table.addColumn("parameters");
  table.addColumn("count", TextTable::Align::Right);
  table.addColumn("elements", TextTable::Align::Right);
  table.addColumn("trained");
  for (const auto &row : order)
    table.addRow({row.first, std::to_string(rows[row].first), formatCount(double(rows[row].second)), row.second});
  os << "\n";
  table.print(os);
}

void printGroups(llvm::ArrayRef<Inspection::Group> groups, llvm::raw_ostream &os) {
  TextTable table;
  table.addColumn("repeated ops");
  table.addColumn("operator");
  table.addColumn("count", TextTable::Align::Right);
  for (const Inspection::Group &group : groups)
    table.addRow({group.pattern, group.operatorName, std::to_string(group.count)});
  os << "\n";
  table.print(os);
}

void writeTraining(const TrainingInspection &training, JsonWriter &json, JsonObjectWriter &object) {
  object("backward_flops", training.backwardFlops);
  object("held_backward", training.heldBackward);
  object("trained_parameters", training.trainedParameters);
  object.list("parameter_uses", [&] {
    for (const InspectedParameter &parameter : training.parameters)
      json.oneLine([&] {
        json.object([&](JsonObjectWriter &entry) {
          entry("name", parameter.use.name);
          entry("trained", parameter.use.isTrained);
          entry("reason", parameter.use.reason);
        });
      });
  });
}

} // namespace

void printInspection(const Inspection &inspection, llvm::raw_ostream &os) {
  const ModuleStatistics &numbers = inspection.statistics;
  os << "model       " << inspection.path << "\n";
  os << "nodes       " << inspection.report.numNodes << " in the file, " << numbers.nodes
     << " after shape arithmetic is folded\n";
  os << "parameters  " << formatCount(double(numbers.parameters)) << ", " << formatBytes(double(numbers.parameterBytes))
     << "\n";
  os << "forward     " << formatFlops(numbers.forwardFlops) << "\n";
  if (inspection.training) {
    const std::string &held = inspection.training->heldBackward;
    os << "backward    " << formatFlops(inspection.training->backwardFlops) << "\n"
       << (held.empty() ? "" : "held        " + visibleText(held) + "\n");
    os << "trained     " << formatCount(double(inspection.training->trainedParameters)) << "\n";
  }
  os << "\n";
  TextTable operators;
  operators.addColumn("operator");
  operators.addColumn("count", TextTable::Align::Right);
  for (const auto &[name, count] : inspection.report.operators)
    operators.addRow({name, std::to_string(count)});
  operators.print(os);
  if (!inspection.groups.empty())
    printGroups(inspection.groups, os);
  if (inspection.training)
    printParameters(*inspection.training, os);
  printNodes("unsupported", inspection.report.unsupported, os);
  printNodes("not known", inspection.report.opaque, os);
  for (const std::string &value : inspection.report.unresolved)
    os << "unresolved: '" << visibleText(value) << "'\n";
  for (const std::string &note : inspection.report.notes)
    os << "note: " << visibleText(note) << "\n";
}

std::string printInspectionJson(const Inspection &inspection) {
  const ModuleStatistics &numbers = inspection.statistics;
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
    object("unsupported_operators", namesOf(inspection.report.unsupported));
    object("opaque_operators", namesOf(inspection.report.opaque));
    if (inspection.training)
      writeTraining(*inspection.training, json, object);
    object("notes", inspection.report.notes);
  });
  return json.take() + "\n";
}

} // namespace apc
