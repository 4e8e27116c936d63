// Action lists as rows of cells.
#include "PipelineLists.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"

#include <map>
#include <tuple>

namespace apc {

llvm::Expected<ActionLists> actionListsOf(const Plan &plan) {
  const PipelineCounts counts = countsOf(plan.pipeline->workers, plan.training->microBatches, plan.pipeline->chunks);
  llvm::Expected<const PipelineSchedule *> schedule = findPipelineSchedule(plan.pipeline->schedule, counts.chunks);
  if (!schedule)
    return schedule.takeError();
  return generateActions(**schedule, counts);
}

namespace {

constexpr llvm::StringLiteral letters[] = {"F", "I", "W", "B"};

std::string cellOf(const Action &action) {
  return std::to_string(action.stage) + letters[static_cast<size_t>(action.kind)].str() +
         std::to_string(action.microBatch);
}

/// Fills one column after the other with what can run.
class Columns {
public:
  explicit Columns(const ActionLists &lists) : lists(lists), next(lists.workers.size()), rows(lists.workers.size()) {}

  /// False where workers wait for each other.
  bool fill() {
    bool hasMore = true;
    while (hasMore) {
      std::vector<Action> done;
      hasMore = false;
      for (size_t worker = 0; worker < rows.size(); ++worker) {
        const std::vector<Slot> &slots = lists.workers[worker];
        bool isDue = next[worker] < slots.size() && canRun(slots[next[worker]]);
        rows[worker].push_back(isDue ? textOf(slots[next[worker]]) : "");
        if (isDue) {
          const Slot &slot = slots[next[worker]++];
          done.push_back(slot.action);
          if (slot.beside)
            done.push_back(*slot.beside);
        }
        hasMore |= next[worker] < slots.size();
      }
      for (const Action &action : done)
        finish(action);
      if (done.empty() && hasMore)
        return false;
    }
    return true;
  }

  std::string print() const {
    std::string text;
    for (const std::vector<std::string> &row : rows) {
      size_t width = row.size();
      while (width > 1 && row[width - 1].empty())
        --width;
      for (size_t column = 0; column < width; ++column)
        text += (column > 0 ? "," : "") + row[column];
      text += "\n";
    }
    return text;
  }

private:
  static std::string textOf(const Slot &slot) {
    if (!slot.beside)
      return cellOf(slot.action);
    return "(" + cellOf(slot.action) + ";" + cellOf(*slot.beside) + ")OVERLAP_F_B";
  }
  bool isDone(char pass, uint32_t stage, uint32_t microBatch) const {
    return ended.count({pass, stage, microBatch}) > 0;
  }
  bool canRun(const Slot &slot) const { return canRun(slot.action) && (!slot.beside || canRun(*slot.beside)); }
  bool canRun(const Action &action) const {
    bool isLast = action.stage + 1 == lists.shape.numStages();
    switch (action.kind) {
    case ActionKind::Forward:
      return action.stage == 0 || isDone('F', action.stage - 1, action.microBatch);
    case ActionKind::WeightGradient:
      return isDone('I', action.stage, action.microBatch);
    case ActionKind::InputGradient:
    case ActionKind::Backward:
      return isDone('F', action.stage, action.microBatch) &&
             (isLast || isDone('I', action.stage + 1, action.microBatch));
    }
    llvm_unreachable("unknown kind of action");
  }
  void finish(const Action &action) {
    if (action.kind != ActionKind::WeightGradient)
      ended[{action.kind == ActionKind::Forward ? 'F' : 'I', action.stage, action.microBatch}] = true;
  }

  const ActionLists &lists;
  std::vector<size_t> next; ///< by worker: the place in its list
  std::vector<std::vector<std::string>> rows;
  std::map<std::tuple<char, uint32_t, uint32_t>, bool> ended; ///< F, or the gradients of inputs, of a stage
};

} // namespace

llvm::Expected<std::string> scheduleCsv(const ActionLists &lists) {
  if (lists.shape.placement == Placement::Mirrored)
    return noPlanError("the schedule runs two copies of the model in opposite directions, and a stage of the CSV has "
                       "one place");
  if (lists.shape.pieces > 1)
    return noPlanError("the schedule cuts micro-batches into pieces along the sequence, for which the CSV has no word");
  Columns columns(lists);
  if (!columns.fill())
    return internalError("the lists of the schedule wait for each other");
  return columns.print();
}

} // namespace apc
