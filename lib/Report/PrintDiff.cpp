// The difference of two plans, as tables and as a document.
#include "apc/Report/PrintDiff.h"

#include "apc/Support/Json/JsonWriter.h"
#include "apc/Support/TextTable.h"
#include "apc/Support/Units.h"

#include "llvm/Support/Format.h"

namespace apc {

namespace {

std::string percentOf(const FigureChange &figure) {
  std::optional<double> relative = figure.relative();
  if (!relative)
    return figure.differs() ? "new" : "";
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%+.1f %%", 100 * *relative);
  return figure.differs() ? text : "";
}

void printSettings(const PlanDiff &diff, llvm::raw_ostream &os) {
  if (diff.settings.empty())
    return;
  TextTable table;
  for (const char *title : {"setting", "before", "after"})
    table.addColumn(title);
  for (const TextChange &change : diff.settings)
    table.addRow({change.name, change.before.empty() ? "-" : change.before, change.after.empty() ? "-" : change.after});
  table.print(os);
  os << "\n";
}

void printFigures(const PlanDiff &diff, llvm::raw_ostream &os) {
  TextTable table;
  table.addColumn("predicted");
  for (const char *title : {"before", "after", "change"})
    table.addColumn(title, TextTable::Align::Right);
  auto addRows = [&](const std::vector<FigureChange> &figures, std::string (*print)(double)) {
    for (const FigureChange &figure : figures)
      if (figure.before != 0 || figure.after != 0)
        table.addRow({figure.name, print(figure.before), print(figure.after), percentOf(figure)});
  };
  addRows(diff.seconds, formatSeconds);
  addRows(diff.bytes, formatBytes);
  table.print(os);
  os << "\n";
}

void printStrategies(const PlanDiff &diff, llvm::raw_ostream &os) {
  unsigned changed = 0;
  TextTable table;
  table.addColumn("ops");
  table.addColumn("count", TextTable::Align::Right);
  for (const char *title : {"operator", "before", "after"})
    table.addColumn(title);
  table.addColumn("seconds before", TextTable::Align::Right);
  table.addColumn("after", TextTable::Align::Right);
  for (const StrategyChange &change : diff.strategies) {
    changed += change.count;
    table.addRow({change.pattern, std::to_string(change.count), change.operatorName,
                  change.before.empty() ? "(absent)" : change.before, change.after.empty() ? "(absent)" : change.after,
                  formatSeconds(change.beforeSeconds), formatSeconds(change.afterSeconds)});
  }
  os << changed << " of " << diff.numOps << " ops differ in strategy\n";
  if (changed) {
    os << "\n";
    table.print(os);
  }
}

void writeFigures(JsonObjectWriter &object, const std::vector<FigureChange> &figures) {
  for (const FigureChange &figure : figures)
    object.object(figure.name, [&](JsonObjectWriter &change) {
      change("before", figure.before);
      change("after", figure.after);
      change("change", figure.relative());
    });
}

void writeStrategy(JsonObjectWriter &object, const StrategyChange &change) {
  auto orNull = [](const std::string &text) { return text.empty() ? std::nullopt : std::optional(text); };
  object("ops", change.pattern);
  object("operator", change.operatorName);
  object("count", change.count);
  object("before", orNull(change.before));
  object("after", orNull(change.after));
  object("before_seconds", change.beforeSeconds);
  object("after_seconds", change.afterSeconds);
}

} // namespace

void printDiff(const PlanDiff &diff, llvm::raw_ostream &os) {
  if (diff.isEmpty()) {
    os << "the plans are the same\n";
    return;
  }
  printSettings(diff, os);
  printFigures(diff, os);
  printStrategies(diff, os);
}

std::string printDiffJson(const PlanDiff &diff) {
  JsonWriter json(1);
  json.object([&](JsonObjectWriter &object) {
    object("same", diff.isEmpty());
    object.list("settings", [&] {
      for (const TextChange &change : diff.settings)
        json.object([&](JsonObjectWriter &entry) {
          entry("name", change.name);
          entry("before", change.before);
          entry("after", change.after);
        });
    });
    object.object("seconds", [&](JsonObjectWriter &figures) { writeFigures(figures, diff.seconds); });
    object.object("bytes", [&](JsonObjectWriter &figures) { writeFigures(figures, diff.bytes); });
    object.list("strategies", [&] {
      for (const StrategyChange &change : diff.strategies)
        json.object([&](JsonObjectWriter &entry) { writeStrategy(entry, change); });
    });
    object("ops", diff.numOps);
  });
  return json.take() + "\n";
}

} // namespace apc
