// The largest memory of a plan: its place, and its values as a table.
#include "PeakText.h"

#include "apc/Plan/FullestWorker.h"
#include "apc/Plan/LayerNames.h"
#include "apc/Support/TextTable.h"
#include "apc/Support/Units.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace apc {

std::string peakText(const Plan &plan) {
  const WorkerStages fullest = fullestWorker(plan);
  if (fullest.stages.empty())
    return "";
  if (fullest.stages.size() == 1) {
    const std::string &op = plan.stages[fullest.stages.front()].fullestOp;
    return op.empty() ? "" : "largest at " + op;
  }
  std::vector<std::string> names;
  for (size_t stage : fullest.stages)
    names.push_back(std::to_string(stage));
  std::string last = names.back();
  names.pop_back();
  return llvm::formatv("largest on worker {0}, stages {1} and {2}", fullest.worker, llvm::join(names, ", "), last);
}

namespace {

/// The values of all stages of a worker, those of the same name but for numbers as one row, the largest first.
std::vector<PlanPeakValues> valuesOf(const Plan &plan, const WorkerStages &worker) {
  std::vector<PlanPeakValues> rows;
  for (size_t stage : worker.stages)
    for (const PlanPeakValues &own : plan.stages[stage].peakValues) {
      auto known = llvm::find_if(rows, [&](const PlanPeakValues &row) {
        return layerPattern(row.pattern) == layerPattern(own.pattern) && row.category == own.category &&
               row.areCopies == own.areCopies;
      });
      if (known == rows.end()) {
        rows.push_back(own);
        continue;
      }
      known->pattern = layerPattern(own.pattern);
      known->count += own.count;
      known->bytes += own.bytes;
    }
  llvm::stable_sort(rows, [](const PlanPeakValues &a, const PlanPeakValues &b) { return a.bytes > b.bytes; });
  return rows;
}

} // namespace

void printPeak(const Plan &plan, llvm::raw_ostream &os) {
  constexpr size_t mostRows = 5;
  const WorkerStages fullest = fullestWorker(plan);
  const std::vector<PlanPeakValues> rows = valuesOf(plan, fullest);
  if (rows.empty())
    return;
  TextTable table;
  table.addColumn(fullest.stages.size() == 1 ? "values where memory is largest"
                                             : "values of its stages at their largest");
  table.addColumn("count", TextTable::Align::Right);
  table.addColumn("counted as");
  table.addColumn("bytes", TextTable::Align::Right);
  const MemoryTable memory = fullest.memory(plan);
  double rest = static_cast<double>(memory.total() - memory[MemoryCategory::Workspace] -
                                    memory[MemoryCategory::Communication] - memory[MemoryCategory::Runtime]);
  for (const PlanPeakValues &values : llvm::ArrayRef(rows).take_front(mostRows)) {
    auto bytes = static_cast<double>(values.bytes);
    rest -= bytes;
    table.addRow({values.pattern, std::to_string(values.count),
                  memoryCategoryName(values.category).str() + (values.areCopies ? ", moved copies" : ""),
                  formatBytes(bytes)});
  }
  if (rest > 0)
    table.addRow({"others", "", "", formatBytes(rest)});
  table.print(os);
  os << "\n";
}

} // namespace apc
