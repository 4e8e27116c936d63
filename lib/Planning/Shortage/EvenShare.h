// Memory that every plan needs, as if it were spread evenly over the devices.
#pragma once

#include "../Task.h"

#include "apc/Support/Units.h"

namespace apc {

/// "285 GiB".
inline std::string bytesText(int64_t count) { return formatBytes(static_cast<double>(count)); }

/// The fullest moment of a step by category, all devices together, and the share of each device.
///
/// Example: GPT-3 175B with AdamW holds 325 GiB of parameters and 1.91 TiB of states; 8 devices hold 285 GiB each at
/// the least, however ops are cut.
struct EvenShare {
  MemoryTable whole; ///< without workspace, which no cut makes less
  int64_t devices = 1;

  /// No plan needs less on its fullest device.
  int64_t bytesPerDevice() const { return (whole.total() + devices - 1) / devices; }
  /// Parameters and states alone: the same for every micro-batch and every policy of recomputation.
  EvenShare held() const;
};

/// Bytes that one device would need for the whole step, spread evenly over the devices of the task: each value that
/// lives at a time lives at least once over all devices. Errors: those of `costCandidate`.
llvm::Expected<EvenShare> evenShareOf(const PlanningTask &task);
/// The same from the candidate of one device.
EvenShare evenShareOf(const PlanningTask &task, const Candidate &alone);

/// An error where the even share alone is more than the limit; it takes no search to know that nothing fits. One that
/// no micro-batch and no recomputation can mend is a `TooMuchHeld`.
llvm::Error checkEvenShare(const PlanningTask &task);

} // namespace apc
