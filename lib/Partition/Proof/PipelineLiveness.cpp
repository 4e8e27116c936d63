// Lists of actions run for the bytes that they hold.
#include "PipelineLiveness.h"

#include "ExpandCalls.h"
#include "ProgramLiveness.h"

#include "apc/IR/MainFunction.h"
#include "apc/Support/Error.h"

#include <map>
#include <set>

namespace apc {

namespace {

/// A worker on its way through its list.
class WorkerMemory {
public:
  WorkerMemory(llvm::ArrayRef<ProgramBytes> stages, llvm::ArrayRef<ProgramAction> list) : stages(stages) {
    for (const ProgramAction &action : list) {
      left[action.stage].insert(action.microBatch);
      if (finished.try_emplace(action.stage, 0).second)
        fixed += stages[action.stage].parameters + stages[action.stage].states + stages[action.stage].sums;
    }
  }

  int64_t run(llvm::ArrayRef<ProgramAction> list) {
    for (const ProgramAction &action : list) {
      size_t numParts = stages[action.stage].parts.size() - 1;
      bool isBackward = action.part == ProgramPart::Backward;
      do
        runPart(action.stage, action.microBatch);
      while (isBackward && inFlight[{action.stage, action.microBatch}].numDone < numParts);
    }
    for (auto &[stage, held] : finished) {
      this->held -= held;
      note(stages[stage].parts.back().peak - stages[stage].sums);
      this->held += held;
    }
    return most;
  }

private:
  struct MicroBatch {
    size_t numDone = 0; ///< parts
    int64_t held = 0;
  };

  void note(int64_t running) { most = std::max(most, fixed + held + running); }

  void runPart(unsigned stage, int64_t microBatch) {
    MicroBatch &own = inFlight[{stage, microBatch}];
    const std::vector<PartBytes> &parts = stages[stage].parts;
    held -= own.held;
    note(parts[own.numDone].peak);
    own.held = parts[own.numDone].held;
    held += own.held;
    if (++own.numDone + 1 < parts.size())
      return;
    left[stage].erase(microBatch);
    if (left[stage].empty()) // the update reads the values of the last one alone
      finished[stage] = own.held;
    else
      held -= own.held;
    own.held = 0;
  }

  llvm::ArrayRef<ProgramBytes> stages;
  int64_t fixed = 0; ///< what lives through the step
  int64_t held = 0;  ///< by micro-batches that no action runs
  int64_t most = 0;
  std::map<std::pair<unsigned, int64_t>, MicroBatch> inFlight;
  std::map<unsigned, std::set<int64_t>> left; ///< by stage: micro-batches that are not finished
  std::map<unsigned, int64_t> finished;       ///< by stage: what is held of the last micro-batch for the update
};

} // namespace

llvm::Expected<std::vector<int64_t>> workerBytes(const Program &program) {
  std::vector<ProgramBytes> stages;
  for (const StageProgram &stage : program.stages) {
    mlir::OwningOpRef<mlir::ModuleOp> expanded = expandCalls(*stage.module);
    if (!expanded)
      return noPlanError("stage {0}: the program is incomplete: a function is missing", stages.size());
    stages.push_back(programBytes(mainOf(*expanded)));
  }
  std::vector<int64_t> bytes;
  for (const std::vector<ProgramAction> &list : program.workers)
    bytes.push_back(WorkerMemory(stages, list).run(list));
  return bytes;
}

} // namespace apc
