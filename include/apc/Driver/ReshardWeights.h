// Weights and states cut anew, for `apc reshard`.
#pragma once

#include "apc/Checkpoint/Reshard.h"

namespace apc {

struct ReshardOptions {
  std::string from;   ///< folder of a program with its weights, or of a checkpoint
  std::string to;     ///< folder of the program, or of a checkpoint, whose layout is wanted
  std::string folder; ///< to write; "": only the plan
};

/// Errors: those of `readSavedWeights`, `planReshard` and `writeResharded`; for the plan alone, of `checkSource`.
llvm::Expected<ReshardPlan> reshardWeights(const ReshardOptions &options);

} // namespace apc
