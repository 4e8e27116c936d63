// Errors of stages of a pipeline.
#pragma once

#include "apc/Support/Error.h"

namespace apc {

/// The error of a stage, with its number in front.
inline llvm::Error ofStage(unsigned stage, llvm::Error error) {
  auto [fault, text] = takeMessage(std::move(error));
  return llvm::make_error<PlannerError>(fault, llvm::formatv("stage {0}: {1}", stage, text).str());
}

} // namespace apc
