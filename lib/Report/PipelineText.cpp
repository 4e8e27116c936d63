// Lines and tables that name stages.
#include "PipelineText.h"

#include "Rates.h"

#include "apc/Support/TextTable.h"
#include "apc/Support/Units.h"

namespace apc {

/// "stage 3", "stages 3-7".
static std::string stagesText(size_t first, size_t last) {
  return first == last ? llvm::formatv("stage {0}", first).str() : llvm::formatv("stages {0}-{1}", first, last).str();
}

void printByStage(llvm::StringRef label, const Plan &plan, llvm::function_ref<std::string(const StagePlan &)> text,
                  llvm::raw_ostream &os) {
  for (size_t first = 0; first < plan.stages.size();) {
    std::string own = text(plan.stages[first]);
    size_t last = first;
    while (last + 1 < plan.stages.size() && text(plan.stages[last + 1]) == own)
      ++last;
    if (!own.empty())
      os << label.str() << std::string(9 - std::min<size_t>(8, label.size()), ' ')
         << (plan.stages.size() > 1 ? stagesText(first, last) + ": " : "") << own << "\n";
    first = last + 1;
  }
}

void printPipeline(const Plan &plan, llvm::raw_ostream &os) {
  if (!plan.pipeline)
    return;
  const PlanPipeline &pipeline = *plan.pipeline;
  os << "pipeline " << pipeline.schedule << ": " << counted(pipeline.workers, "worker");
  if (pipeline.chunks > 1)
    os << llvm::formatv(" with {0} chunks each, {1} stages", pipeline.chunks, plan.stages.size());
  os << llvm::formatv("; bubble {0}, {1} of the step\n", formatSeconds(plan.bubbleSeconds),
                      percent(plan.bubbleSeconds, plan.stepSeconds));
}

namespace {

/// The columns of a stage behind its number and its first op.
std::vector<std::string> figuresOf(const StagePlan &stage) {
  PlanStageSeconds parts = stage.parts.value_or(PlanStageSeconds());
  return {formatSeconds(parts.forward),   formatSeconds(parts.backward),
          formatSeconds(parts.weights),   formatSeconds(parts.update),
          std::to_string(stage.inFlight), formatBytes(static_cast<double>(stage.memory.total()))};
}

} // namespace

void printStages(const Plan &plan, bool all, llvm::raw_ostream &os) {
  if (!plan.pipeline)
    return;
  TextTable table;
  table.addColumn("stage");
  table.addColumn("begins at");
  for (const char *name : {"forward", "backward", "weights", "update", "in flight", "memory"})
    table.addColumn(name, TextTable::Align::Right);
  for (size_t first = 0; first < plan.stages.size();) {
    std::vector<std::string> figures = figuresOf(plan.stages[first]);
    size_t last = first;
    while (!all && last + 1 < plan.stages.size() && figuresOf(plan.stages[last + 1]) == figures)
      ++last;
    std::vector<std::string> row{first == last ? std::to_string(first) : llvm::formatv("{0}-{1}", first, last).str(),
                                 first == 0 ? "" : plan.pipeline->cuts[first - 1]};
    row.insert(row.end(), figures.begin(), figures.end());
    table.addRow(row);
    first = last + 1;
  }
  table.print(os);
  os << "forward, backward (gradients of inputs), weights (gradients of weights): of one micro-batch; update: of a "
        "step\n";
  if (plan.pipeline->chunks > 1)
    os << "memory: of the stage at its fullest; the stages of a worker are not all so at once\n";
  os << "\n";
}

} // namespace apc
