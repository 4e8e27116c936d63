// `apc verify`: the program of a plan, proven.
#pragma once

#include "apc/Partition/VerifyProgram.h"

#include <optional>
#include <string>

namespace apc {

struct VerifyOptions {
  std::string planPath;
  std::optional<std::string> modelPath; ///< where the model is when not where the plan says
};

struct VerifiedPlan {
  ProgramProof proof;
  std::string summary; ///< for people, a few lines
  std::string json;    ///< one document: "verified", "operators", "steps", ...
};

/// Imports the plan's model again, carries the plan out and proves the program (apc/Partition/VerifyProgram.h).
/// Errors: the plan or the model cannot be read, or the model has changed (input); the proof fails (no plan, exit code
/// 1).
llvm::Expected<VerifiedPlan> verifyPlan(const VerifyOptions &options);

} // namespace apc
