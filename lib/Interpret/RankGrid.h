// All ranks of a program, each on its way through the list of its worker.
#pragma once

#include "Mailbox.h"
#include "StageRanks.h"

#include "apc/IR/Program/Program.h"

#include <deque>
#include <map>

namespace apc {

using ActionList = std::vector<ProgramAction>;

/// A stage on one of its ranks.
struct StageRun {
  const StageRanks &stage;
  RankRun run;
  bool isHere = false; ///< counted in a meeting
};

/// A rank of the program on its way through the list of its worker, with one copy of each micro-batch: where one copy
/// waits for others, the rank goes on with the next.
struct Process {
  llvm::ArrayRef<ProgramAction> actions;
  int64_t index = 0; ///< among the worker's ranks: its rank on the meshes of the stages
  int64_t copy = 0;
  bool doesUpdate = true; ///< the last copy runs the update, behind all of them
  size_t next = 0;        ///< action
  bool isActing = false;
  bool isUpdating = false;
  std::map<unsigned, StageRun> stages;

  int64_t rank() const { return stages.begin()->second.stage.getFirstRank() + index; }
  bool isBeforeUpdate() const { return next == actions.size(); }
  bool isDone() const {
    bool isOver = llvm::all_of(stages, [](const auto &own) { return own.second.run.isDone(); });
    return isBeforeUpdate() && (isOver || !doesUpdate);
  }
};

/// A collective that some ranks of a group have reached.
struct Meeting {
  CollectiveInterface op;
  int64_t firstRank = 0;
  size_t numHere = 0;
};

/// Runs ranks in turn, each until it must wait, until all are done or none can move.
class RankGrid {
public:
  /// The lists are by worker; each stage is in one of them.
  RankGrid(llvm::ArrayRef<StageRanks> stages, llvm::ArrayRef<ActionList> lists, const ParameterSource &parameters,
           int64_t padding);

  /// `inputs` are by stage. Returned are results by stage.
  llvm::Expected<std::vector<std::vector<Tensor>>> run(llvm::ArrayRef<std::vector<const Tensor *>> inputs);
  /// True when the run ended at an op that cannot be evaluated.
  bool lacksKernel() const { return missesKernel; }

private:
  llvm::Error addStage(const StageRanks &stage, int64_t index, llvm::ArrayRef<const Tensor *> inputs,
                       llvm::MutableArrayRef<Process *> ofCopies);
  llvm::Error start(llvm::ArrayRef<std::vector<const Tensor *>> inputs);
  llvm::Error addProcesses(const ActionList &list, llvm::ArrayRef<std::vector<const Tensor *>> inputs);
  /// Runs every rank until it waits for others or is done; true when one moved.
  llvm::Expected<bool> advanceAll();
  llvm::Expected<bool> advance(Process &process);
  /// Begins the next action where none is being run.
  llvm::Error act(Process &process);
  llvm::Error endAction(Process &process);
  llvm::Error enterUpdates(Process &process);
  /// Have all copies of micro-batches been run on the rank of a process?
  bool areCopiesRun(const Process &process) const;
  /// Runs a stage until it waits, or to the end of what it has entered; true when it moved.
  llvm::Expected<bool> goOn(Process &process, StageRun &own);
  /// Carries out the op at which a stage waits; false where others have to move first.
  llvm::Expected<bool> settle(Process &process, StageRun &own);
  llvm::Error send(Process &process, StageRun &own, SendOp op);
  llvm::Expected<bool> receive(Process &process, StageRun &own, ReceiveOp op);
  llvm::Error meet(Process &process, StageRun &own, CollectiveInterface op);
  llvm::Error takePlace(const StageRanks &stage, CollectiveInterface op, llvm::ArrayRef<int64_t> members, int64_t copy);
  llvm::Error deadlock() const;
  std::string placeOf(const Process &process, const StageRun &own) const;
  llvm::Expected<TensorRef> pieceOfParameter(const StageRanks &stage, mlir::Operation *op, int64_t rank);
  llvm::Expected<std::vector<std::vector<Tensor>>> collect();
  StageRun &runOf(const StageRanks &stage, int64_t rank, int64_t copy) const {
    return *runs[stage.getNumber()][static_cast<size_t>(rank * numCopies + copy)];
  }

  llvm::ArrayRef<StageRanks> stages;
  llvm::ArrayRef<ActionList> lists;
  const ParameterSource &parameters;
  int64_t padding;   ///< of integers
  int64_t numCopies; ///< of each micro-batch
  bool missesKernel = false;
  std::deque<Process> processes;
  std::vector<std::vector<StageRun *>> runs;                                       ///< by stage, rank and copy
  std::map<std::tuple<unsigned, std::vector<int64_t>, int64_t>, Meeting> meetings; ///< by stage, group and copy
  std::map<std::string, Tensor> wholes;                                            ///< parameters
  Mailbox mailbox;
};

} // namespace apc
