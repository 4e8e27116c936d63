// Proof that the stages of a pipeline fit together.
#pragma once

#include "apc/IR/Program/Program.h"

#include "llvm/Support/Error.h"

namespace apc {

/// Facts about the transfers of a program that was proven.
struct TransferProof {
  unsigned numTransfers = 0; ///< values that leave a stage, counted once for each stage that receives them
  /// Empty: the lists also come to their end where a send waits for its receivers (rendezvous). Otherwise the places at
  /// which the workers then wait for each other.
  std::string rendezvousDeadlock;
  /// By worker, the bytes of one device with all micro-batches in flight: parameters, states, sums over micro-batches,
  /// and the values that live at the fullest moment.
  std::vector<int64_t> peakBytes;
};

/// Every value that a stage receives is sent by exactly one other stage, with the same whole shape, elements and time,
/// and every value that is sent is received. Each stage is one worker's; stages of one worker have the same ranks, of
/// several workers others. Each list runs the parts of every micro-batch of its stages in their order, all of them
/// once.
///
/// The lists come to their end: every worker runs its actions in order, then the updates of its stages side by side; it
/// waits at a receive until the value has been sent. Sends stand right behind the op that makes their value, receives
/// before the first op that reads it, and nobody waits for a receiver: that order is free of deadlock for lists in
/// which no action waits for a later one. A runtime whose sends wait (rendezvous) runs into a deadlock in many
/// schedules (1F1B: a stage sends forward while the next one sends back), as `rendezvousDeadlock` says; it has to send
/// without waiting, or to post receives in the order in which the values are sent.
///
/// Errors (a failed check, exit code 1) name stages, values, and the places at which workers wait.
llvm::Expected<TransferProof> verifyTransfers(const Program &program);

} // namespace apc
