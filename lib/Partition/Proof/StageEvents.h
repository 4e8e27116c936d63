// The sends and receives of a pipeline's workers, in the order in which they come to them.
#pragma once

#include "apc/IR/Ops/Spmd/Spmd.h"
#include "apc/IR/Program/Program.h"

#include "llvm/Support/Error.h"

#include <map>
#include <optional>

namespace apc {

/// One end of a transfer: of a value of one micro-batch, or, without one, of the step.
struct TransferEvent {
  bool isSend = false;
  unsigned stage = 0;
  std::string value;
  std::optional<int64_t> microBatch;
  std::string place; ///< "F2 of stage 1", "the update of stage 1"

  /// "send of 'h' of micro-batch 2 in F2 of stage 1"
  std::string str() const;
};

/// A worker's events: those of its list, then those of the updates of its stages, side by side.
struct WorkerEvents {
  std::vector<TransferEvent> list;
  std::vector<std::vector<TransferEvent>> updates;
};

/// The events of all workers. Errors (a failed check): a list that does not run the parts of each micro-batch of its
/// stages in their order, all of them once.
llvm::Expected<std::vector<WorkerEvents>> stageEvents(const Program &program);

/// An error (a failed check) that says where workers wait, unless all come to the end of their events. With
/// `isRendezvous`, a send waits until all its receivers are at their receives, but for those on its own worker.
llvm::Error runEvents(llvm::ArrayRef<WorkerEvents> workers, bool isRendezvous);

} // namespace apc
