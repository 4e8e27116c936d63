// The table of a sweep, with the counts that matter marked.
#include "apc/Report/PrintSweep.h"

#include "Rates.h"

#include "apc/Support/Json/JsonWriter.h"
#include "apc/Support/TextTable.h"
#include "apc/Support/Units.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

namespace {

/// The speed that added devices bring, as a share of that of the devices before them.
double useOfAdded(const SweepCell &before, const SweepCell &after) {
  double speedUp = before.stepSeconds / after.stepSeconds;
  return (speedUp - 1) / (static_cast<double>(after.devices) / static_cast<double>(before.devices) - 1);
}

/// The cells of one cluster that have a plan.
void addMarks(llvm::ArrayRef<SweepCell> cells, llvm::ArrayRef<size_t> planned, SweepMarks &marks) {
  constexpr double leastUse = 0.5;
  if (planned.empty())
    return;
  marks.fewest.push_back(planned.front());
  for (size_t next = 1; next < planned.size(); ++next)
    if (useOfAdded(cells[planned[next - 1]], cells[planned[next]]) < leastUse) {
      marks.knees.push_back(planned[next - 1]);
      return;
    }
}

std::string orDash(std::optional<double> figure, llvm::function_ref<std::string(double)> text) {
  return figure ? text(*figure) : "-";
}

/// One line of a reason that has many: its remedy where it names one, else how it begins.
std::string shortReason(llvm::StringRef reason) {
  auto [before, remedy] = reason.split("\nwhat would help: ");
  if (!remedy.empty())
    return "does not fit: needs " + remedy.split('\n').first.split(" (").first.str();
  return "no plan: " + reason.split('\n').first.rtrim(':').str();
}

std::string marksText(const SweepMarks &marks, size_t cell) {
  std::string text = llvm::is_contained(marks.fewest, cell) ? "fewest that fit" : "";
  if (llvm::is_contained(marks.knees, cell))
    text += text.empty() ? "knee" : ", knee";
  return text;
}

TextTable emptyTable() {
  TextTable table;
  table.addColumn("cluster");
  for (const char *title : {"devices", "step", "samples/s", "tokens/s", "of peak", "memory", "device-seconds a sample"})
    table.addColumn(title, TextTable::Align::Right);
  table.addColumn("mesh");
  table.addColumn("remark");
  return table;
}

void writeCell(JsonObjectWriter &object, const SweepCell &cell, const SweepMarks &marks, size_t index) {
  auto ifPlanned = [&](auto figure) { return cell.hasPlan() ? std::optional(figure) : std::nullopt; };
  object("cluster", cell.cluster);
  object("devices", cell.devices);
  object("feasible", cell.hasPlan());
  object("reason", cell.reason);
  object("devices_used", ifPlanned(cell.devicesUsed));
  object("mesh", cell.mesh);
  object("status", ifPlanned(planStatusName(cell.status).str()));
  object("step_seconds", ifPlanned(cell.stepSeconds));
  object("samples_per_second", cell.samplesPerSecond);
  object("tokens_per_second", cell.tokensPerSecond);
  object("share_of_peak", cell.shareOfPeak);
  object("memory_bytes", ifPlanned(cell.memoryBytes));
  object("memory_limit_bytes", ifPlanned(cell.memoryLimitBytes));
  object("device_seconds_per_sample", cell.deviceSecondsPerSample());
  object("fewest", llvm::is_contained(marks.fewest, index));
  object("knee", llvm::is_contained(marks.knees, index));
}

} // namespace

std::optional<double> SweepCell::deviceSecondsPerSample() const {
  if (!samplesPerSecond || *samplesPerSecond <= 0)
    return std::nullopt;
  return static_cast<double>(devices) / *samplesPerSecond;
}

SweepCell cellOf(const Plan &plan) {
  SweepCell cell{plan.cluster, plan.request.devices};
  cell.mesh = plan.meshText();
  cell.status = plan.status;
  cell.devicesUsed = plan.devicesUsed;
  cell.stepSeconds = plan.stepSeconds;
  cell.samplesPerSecond = plan.samplesPerSecond;
  cell.tokensPerSecond = tokensPerSecond(plan);
  cell.shareOfPeak = plan.shareOfPeak;
  cell.memoryBytes = plan.memory.total();
  cell.memoryLimitBytes = plan.memoryLimitBytes;
  return cell;
}

SweepMarks marksOf(llvm::ArrayRef<SweepCell> cells) {
  SweepMarks marks;
  for (size_t begin = 0; begin < cells.size();) {
    size_t end = begin;
    std::vector<size_t> planned;
    for (; end < cells.size() && cells[end].cluster == cells[begin].cluster; ++end)
      if (cells[end].hasPlan())
        planned.push_back(end);
    addMarks(cells, planned, marks);
    begin = end;
  }
  return marks;
}

void printSweep(llvm::ArrayRef<SweepCell> cells, llvm::raw_ostream &os) {
  TextTable table = emptyTable();
  SweepMarks marks = marksOf(cells);
  for (auto [index, cell] : llvm::enumerate(cells)) {
    std::string devices = std::to_string(cell.devices);
    if (!cell.hasPlan()) {
      table.addRow({cell.cluster, devices, "-", "-", "-", "-", "-", "-", "-", shortReason(cell.reason)});
      continue;
    }
    table.addRow({cell.cluster, devices, formatSeconds(cell.stepSeconds), orDash(cell.samplesPerSecond, rateText),
                  orDash(cell.tokensPerSecond, rateText),
                  orDash(cell.shareOfPeak, [](double share) { return percent(share, 1); }),
                  formatBytes(static_cast<double>(cell.memoryBytes)),
                  orDash(cell.deviceSecondsPerSample(), formatSeconds), cell.mesh, marksText(marks, index)});
  }
  table.print(os);
  if (marks.knees.empty())
    os << "no knee: each device that was added brings at least half of the speed of those before it\n";
  else
    os << "knee: each device beyond it brings less than half of the speed of those before it\n";
}

std::string printSweepJson(llvm::StringRef modelPath, llvm::ArrayRef<SweepCell> cells) {
  SweepMarks marks = marksOf(cells);
  JsonWriter json(1);
  json.object([&](JsonObjectWriter &object) {
    object("model", modelPath.str());
    object.list("cells", [&] {
      for (auto [index, cell] : llvm::enumerate(cells))
        json.object(
            [&, index = index, &cell = cell](JsonObjectWriter &entry) { writeCell(entry, cell, marks, index); });
    });
  });
  return json.take() + "\n";
}

} // namespace apc
