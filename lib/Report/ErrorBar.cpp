// Bars from published steps, around a plan and its next best.
#include "apc/Report/ErrorBar.h"

#include "NextBest.h"

#include "apc/Support/Units.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace apc {

namespace {

constexpr PublishedDistance distances[] = {{"data", 1.126}, {"stages", 1.130}, {"tensor", 1.170}};

/// A measurement for each kind of choice of `nextBest` that weighs what differs: the rest of the step is the same.
struct Deciding {
  llvm::StringLiteral kind, measurement;
};
constexpr Deciding deciding[] = {
    {"no pipeline", "a step of each; of the parts, the seconds in which gradients of all weights are reduced"},
    {"a pipeline", "a step of each; of the parts, the seconds of one transfer between two stages"},
    {"other workers", "a step of each; of the parts, the seconds of one transfer between two stages"},
    {"other schedule", "a step of each; of the parts, the seconds of one transfer between two stages"},
    {"other chunks", "a step of each; of the parts, the seconds of one transfer between two stages"},
    {"other micro-batches", "the forward and backward pass of one micro-batch of either size, on one stage"},
    {"other copies", "the forward and backward pass of one layer, as a whole and in copies"},
    {"other recomputation", "the forward and backward pass of one layer with either policy"},
    {"other ZeRO", "the gathers and reductions of the weights of one layer beside its computation"}};

double distanceOf(llvm::StringRef kind) {
  const auto *found = llvm::find_if(distances, [&](const PublishedDistance &each) { return each.kind == kind; });
  assert(found != std::end(distances) && "every kind of layout has a distance");
  return found->distance;
}

/// The step that has no tensor parallelism would lie outside the bar of a layout of kind "data": measured steps of kind
/// "tensor" cut the weights of all layers, and take 1.7 times as long without, or more.
bool restsOnTensorParallelism(const Plan &plan) {
  const double within = plan.stepSeconds * distanceOf("data");
  return llvm::any_of(plan.parallelism, [&](const PlanContribution &row) {
    return row.kind == "tensor parallel" && row.stepSeconds > within;
  });
}

} // namespace

llvm::ArrayRef<PublishedDistance> publishedDistances() { return distances; }

std::optional<ErrorBar> errorBarOf(const Plan &plan, double seconds, bool isPipeline) {
  if (!plan.training || seconds <= 0)
    return std::nullopt;
  double distance = distanceOf(isPipeline ? "stages" : restsOnTensorParallelism(plan) ? "tensor" : "data");
  return ErrorBar{seconds / distance, seconds * distance};
}

std::optional<ErrorBar> errorBarOf(const Plan &plan) {
  return errorBarOf(plan, plan.stepSeconds, plan.pipeline.has_value());
}

void printErrorBar(const Plan &plan, llvm::raw_ostream &os) {
  if (std::optional<ErrorBar> bar = errorBarOf(plan))
    os << "error    " << formatSeconds(bar->low) << " to " << formatSeconds(bar->high)
       << ": so far from what is predicted lie four of five published steps\n";
}

std::optional<OpenChoice> openChoiceOf(const Plan &plan) {
  std::optional<ErrorBar> own = errorBarOf(plan);
  std::vector<NextBest> rows = nextBest(plan);
  llvm::erase_if(rows, [](const NextBest &row) { return !row.point.feasible || !row.point.stepSeconds; });
  if (!own || rows.empty())
    return std::nullopt;
  const NextBest &nearest = *llvm::min_element(
      rows, [](const NextBest &a, const NextBest &b) { return *a.point.stepSeconds < *b.point.stepSeconds; });
  std::optional<ErrorBar> other = errorBarOf(plan, *nearest.point.stepSeconds, nearest.point.workers > 1);
  if (!other || !own->overlaps(*other))
    return std::nullopt;
  const auto *found = llvm::find_if(deciding, [&](const Deciding &each) { return each.kind == nearest.kind; });
  assert(found != std::end(deciding) && "every kind of choice has a measurement");
  return OpenChoice{nearest.kind, *nearest.point.stepSeconds, *own, *other, found->measurement.str()};
}

void printOpenChoice(const Plan &plan, llvm::raw_ostream &os) {
  std::optional<OpenChoice> open = openChoiceOf(plan);
  if (!open)
    return;
  os << llvm::formatv(
      "\nThe choice is not certain: the next best ({0}) is predicted to take {1}, {2:f2} times this "
      "plan's step,\nand its steps may take {3} to {4}, this plan's {5} to {6}.\nA measurement decides: "
      "{7}.\n",
      open->kind, formatSeconds(open->stepSeconds), open->stepSeconds / plan.stepSeconds,
      formatSeconds(open->other.low), formatSeconds(open->other.high), formatSeconds(open->own.low),
      formatSeconds(open->own.high), open->measurement);
}

} // namespace apc
