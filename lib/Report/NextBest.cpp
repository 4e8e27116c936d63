// The best points that differ from a plan, by the choice in which they differ.
#include "NextBest.h"

#include "apc/Plan/ParallelDegrees.h"
#include "apc/Support/TextTable.h"
#include "apc/Support/Units.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <tuple>

namespace apc {

namespace {

/// "full:26,norms" -> "full,norms": how many layers recompute is no policy of its own.
std::string policyOf(llvm::StringRef recompute) {
  auto [first, rest] = recompute.split(',');
  return (first.split(':').first + (rest.empty() ? "" : ",") + rest).str();
}

/// One kind of choice around the step.
struct Kind {
  llvm::StringLiteral name;
  llvm::StringLiteral untried;         ///< where no point is known
  bool (*isOf)(const TriedPoint &own); ///< does the plan have such a choice?
  bool (*differs)(const TriedPoint &point, const TriedPoint &own);
};

bool hasPipeline(const TriedPoint &own) { return own.workers > 1; }
bool hasNone(const TriedPoint &own) { return own.workers == 1; }
bool isAny(const TriedPoint &) { return true; }

constexpr Kind kinds[] = {
    {"no pipeline", "no step without a pipeline was tried", hasPipeline,
     [](const TriedPoint &point, const TriedPoint &) { return point.workers == 1; }},
    {"a pipeline", "no pipeline was tried", hasNone,
     [](const TriedPoint &point, const TriedPoint &) { return point.workers > 1; }},
    {"other workers", "no other number of workers was tried", hasPipeline,
     [](const TriedPoint &point, const TriedPoint &own) { return point.workers > 1 && point.workers != own.workers; }},
    {"other schedule", "no other schedule was tried", hasPipeline,
     [](const TriedPoint &point, const TriedPoint &own) {
       return point.workers > 1 && !point.schedule.empty() && point.schedule != own.schedule;
     }},
    {"other chunks", "no other number of chunks was tried", hasPipeline,
     [](const TriedPoint &point, const TriedPoint &own) { return point.workers > 1 && point.chunks != own.chunks; }},
    {"other micro-batches", "no other number of micro-batches was tried", isAny,
     [](const TriedPoint &point, const TriedPoint &own) { return point.microBatches != own.microBatches; }},
    {"other copies", "no other number of copies was tried", isAny,
     [](const TriedPoint &point, const TriedPoint &own) { return point.copies != own.copies; }},
    {"other recomputation", "no other policy of recomputation was tried", isAny,
     [](const TriedPoint &point, const TriedPoint &own) {
       return policyOf(point.recompute) != policyOf(own.recompute);
     }},
    {"other ZeRO", "no other stage of ZeRO was tried", isAny,
     [](const TriedPoint &point, const TriedPoint &own) { return point.zero != own.zero; }}};

/// The point of a layout in the place of a plan's own.
TriedPoint pointOf(const ParallelDegrees &layout, const Plan &plan, const TriedPoint &own) {
  const bool isPipeline = layout.pipeline > 1;
  TriedPoint point = own;
  point.workers = layout.pipeline;
  point.schedule = isPipeline ? layout.scheduleName() : "";
  point.chunks = layout.numChunks();
  point.isQuick = false;
  if (layout.microBatch && plan.training) {
    point.microBatch = *layout.microBatch * layout.data;
    point.microBatches = plan.training->globalBatch / *point.microBatch;
  }
  point.copies = layout.copies;
  point.recompute = layout.recompute ? layout.recompute->str() : own.recompute;
  point.zero = std::to_string(layout.zero);
  return point;
}

/// The layouts among the references whose costs are known.
std::vector<NextBest> layoutsBeside(const Plan &plan, const TriedPoint &own) {
  std::vector<NextBest> found;
  for (const Reference &reference : plan.references) {
    const std::optional<ParallelDegrees> layout = layoutNamed(reference.name);
    if (!reference.stepSeconds || !reference.memoryBytes || !layout)
      continue;
    TriedPoint point = pointOf(*layout, plan, own);
    point.stepSeconds = reference.stepSeconds;
    point.memoryBytes = reference.memoryBytes;
    point.feasible = *reference.memoryBytes <= plan.memoryLimitBytes;
    found.push_back({"", point, reference.name + (reference.reason.empty() ? "" : ": " + reference.reason)});
  }
  return found;
}

/// The same program without cut storage, where that was costed.
std::vector<NextBest> withoutZero(const Plan &plan, const TriedPoint &own) {
  std::vector<NextBest> found;
  for (const PlanContribution &row : plan.parallelism)
    if (row.kind == "cut storage") {
      TriedPoint point = own;
      std::tie(point.zero, point.stepSeconds, point.memoryBytes) = std::tuple("0", row.stepSeconds, row.memoryBytes);
      point.feasible = row.memoryBytes <= plan.memoryLimitBytes;
      std::string limit = formatBytes(static_cast<double>(plan.memoryLimitBytes));
      found.push_back(
          {"", point, "the same program" + (point.feasible ? "" : ", which does not fit: the limit is " + limit)});
    }
  return found;
}

std::string remarkOn(const TriedPoint &point) {
  return point.reason.empty() ? std::string(point.isQuick ? "planned quickly" : "") : point.reason;
}

/// All that is known of one kind. A layout says a stage of ZeRO, a plan perhaps none: they are not compared in it.
std::vector<NextBest> knownOf(const Kind &kind, const Plan &plan, const TriedPoint &own,
                              llvm::ArrayRef<NextBest> layouts) {
  const bool isZero = kind.name == "other ZeRO";
  std::vector<NextBest> known;
  for (const TriedPoint &point : plan.tried)
    if (kind.differs(point, own))
      known.push_back({"", point, remarkOn(point)});
  if (isZero)
    return known.empty() ? withoutZero(plan, own) : known;
  llvm::copy_if(layouts, std::back_inserter(known),
                [&](const NextBest &layout) { return kind.differs(layout.point, own); });
  return known;
}

/// The best of \p known, which is not empty, with a remark on the fastest that does not fit.
NextBest bestOf(const std::vector<NextBest> &known, const Kind &kind, double planSeconds) {
  auto keys = [](const NextBest &row) {
    return std::tuple(!row.point.feasible, !row.point.stepSeconds, row.point.stepSeconds.value_or(0));
  };
  auto seconds = [&](const NextBest &row) { return row.point.stepSeconds.value_or(planSeconds); };
  NextBest best = *llvm::min_element(known, [&](const auto &a, const auto &b) { return keys(a) < keys(b); });
  const NextBest &fastest =
      *llvm::min_element(known, [&](const auto &a, const auto &b) { return seconds(a) < seconds(b); });
  best.kind = kind.name.str();
  if (best.point.feasible && !fastest.point.feasible && seconds(fastest) < planSeconds)
    best.remark += (best.remark.empty() ? "" : "; ") +
                   llvm::formatv("a faster one does not fit: {0} with {1}", formatSeconds(seconds(fastest)),
                                 formatBytes(static_cast<double>(fastest.point.memoryBytes.value_or(0))))
                       .str();
  return best;
}

/// The kinds of choices that a plan has.
std::vector<Kind> kindsOf(const Plan &plan, const TriedPoint &own) {
  std::vector<Kind> held;
  for (const Kind &kind : kinds)
    if (plan.training && kind.isOf(own))
      held.push_back(kind);
  return held;
}

/// A table of points behind columns of their own; columns of pipelines, copies and ZeRO only where points differ in
/// them.
class PointTable {
public:
  PointTable(const Plan &plan, llvm::ArrayRef<TriedPoint> points, llvm::StringRef title)
      : planSeconds(plan.stepSeconds), hasTitle(!title.empty()) {
    TriedPoint own = triedPointOf(plan);
    auto isSomewhere = [&](auto differs) { return differs(own) || llvm::any_of(points, differs); };
    hasPipelines = isSomewhere([](const TriedPoint &point) { return point.workers > 1; });
    hasCopies = isSomewhere([](const TriedPoint &point) { return point.copies > 1; });
    hasZero = isSomewhere([&](const TriedPoint &point) { return point.zero != own.zero; });
    if (hasTitle)
      table.addColumn(title);
    if (hasPipelines) {
      table.addColumn("workers", TextTable::Align::Right);
      table.addColumn("schedule");
      table.addColumn("chunks", TextTable::Align::Right);
    }
    table.addColumn("micro-batches");
    if (hasCopies)
      table.addColumn("copies", TextTable::Align::Right);
    table.addColumn("recompute");
    if (hasZero)
      table.addColumn("ZeRO");
    for (const char *name : {"step", "slower", "memory"})
      table.addColumn(name, TextTable::Align::Right);
    table.addColumn("remark");
  }

  void add(llvm::StringRef title, const TriedPoint &point, const std::string &remark) {
    std::vector<std::string> cells;
    if (hasTitle)
      cells.push_back(title.str());
    bool isPipeline = point.workers > 1;
    if (hasPipelines)
      cells.insert(cells.end(),
                   {isPipeline ? std::to_string(point.workers) : "-", point.schedule.empty() ? "-" : point.schedule,
                    isPipeline ? std::to_string(point.chunks) : "-"});
    cells.push_back(std::to_string(point.microBatches) +
                    (point.microBatch ? " of " + std::to_string(*point.microBatch) : ""));
    if (hasCopies)
      cells.push_back(std::to_string(point.copies));
    cells.push_back(point.recompute);
    if (hasZero)
      cells.push_back(point.zero);
    bool hasRatio = point.stepSeconds && planSeconds > 0;
    cells.push_back(point.stepSeconds ? formatSeconds(*point.stepSeconds) : "-");
    cells.push_back(hasRatio ? llvm::formatv("{0:f2} x", *point.stepSeconds / planSeconds).str() : "-");
    cells.push_back(point.memoryBytes ? formatBytes(static_cast<double>(*point.memoryBytes)) : "-");
    cells.push_back(remark);
    table.addRow(std::move(cells));
  }
  void print(llvm::raw_ostream &os) const { table.print(os); }

private:
  double planSeconds;
  bool hasTitle, hasPipelines = false, hasCopies = false, hasZero = false;
  TextTable table;
};

} // namespace

std::vector<NextBest> nextBest(const Plan &plan) {
  TriedPoint own = triedPointOf(plan);
  const std::vector<NextBest> layouts = layoutsBeside(plan, own);
  std::vector<NextBest> rows;
  for (const Kind &kind : kindsOf(plan, own))
    if (std::vector<NextBest> known = knownOf(kind, plan, own, layouts); !known.empty())
      rows.push_back(bestOf(known, kind, plan.stepSeconds));
  return rows;
}

std::vector<std::string> untriedKinds(const Plan &plan) {
  TriedPoint own = triedPointOf(plan);
  const std::vector<NextBest> layouts = layoutsBeside(plan, own);
  std::vector<std::string> texts;
  for (const Kind &kind : kindsOf(plan, own))
    if (knownOf(kind, plan, own, layouts).empty())
      texts.push_back(kind.untried.str());
  return texts;
}

void printNextBest(const Plan &plan, llvm::raw_ostream &os) {
  std::vector<NextBest> rows = nextBest(plan);
  if (rows.empty())
    return;
  std::vector<TriedPoint> points;
  for (const NextBest &row : rows)
    points.push_back(row.point);
  PointTable table(plan, points,
                   plan.numTried ? llvm::formatv("next best of {0} tried", plan.numTried).str() : "next best");
  for (const NextBest &row : rows)
    table.add(row.kind, row.point, row.remark);
  os << "\n";
  table.print(os);
}

void printTried(const Plan &plan, llvm::raw_ostream &os) {
  TriedPoint own = triedPointOf(plan);
  if (!plan.tried.empty()) {
    os << "\nTried around the step, the best first";
    auto left = plan.numTried - static_cast<int64_t>(plan.tried.size());
    os << (left > 0 ? llvm::formatv(", without {0} that are neither the best nor the best of a kind:\n", left).str()
                    : ":\n");
    PointTable table(plan, plan.tried, "");
    for (const TriedPoint &point : plan.tried)
      table.add("", point, point.isPointOf(own) ? "this plan" : remarkOn(point));
    table.print(os);
  }
  std::vector<std::string> untried = untriedKinds(plan);
  if (!untried.empty())
    os << "\n" << llvm::join(untried, "; ") << "\n";
}

} // namespace apc
