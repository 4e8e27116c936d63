// The words and the document for what changed between two plans.
#include "apc/Report/PrintDiff.h"

#include "apc/Support/TextTable.h"
#include "apc/Support/Units.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

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

void writeFigures(llvm::json::OStream &json, const std::vector<FigureChange> &figures) {
  json.object([&] {
    for (const FigureChange &figure : figures)
      json.attributeObject(figure.name, [&] {
        json.attribute("before", figure.before);
        json.attribute("after", figure.after);
        std::optional<double> relative = figure.relative();
        json.attribute("change", relative ? llvm::json::Value(*relative) : llvm::json::Value(nullptr));
      });
  });
}

void writeStrategy(llvm::json::OStream &json, const StrategyChange &change) {
  auto orNull = [](const std::string &text) {
    return text.empty() ? llvm::json::Value(nullptr) : llvm::json::Value(text);
  };
  json.object([&] {
    json.attribute("ops", change.pattern);
    json.attribute("operator", change.operatorName);
    json.attribute("count", change.count);
    json.attribute("before", orNull(change.before));
    json.attribute("after", orNull(change.after));
    json.attribute("before_seconds", change.beforeSeconds);
    json.attribute("after_seconds", change.afterSeconds);
  });
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
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::OStream json(stream, 1);
  json.object([&] {
    json.attribute("same", diff.isEmpty());
    json.attributeArray("settings", [&] {
      for (const TextChange &change : diff.settings)
        json.object([&] {
          json.attribute("name", change.name);
          json.attribute("before", change.before);
          json.attribute("after", change.after);
        });
    });
    json.attributeBegin("seconds");
    writeFigures(json, diff.seconds);
    json.attributeEnd();
    json.attributeBegin("bytes");
    writeFigures(json, diff.bytes);
    json.attributeEnd();
    json.attributeArray("strategies", [&] {
      for (const StrategyChange &change : diff.strategies)
        writeStrategy(json, change);
    });
    json.attribute("ops", diff.numOps);
  });
  return text + "\n";
}

} // namespace apc
