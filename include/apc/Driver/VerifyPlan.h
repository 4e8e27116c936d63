// `apc verify`: the program of a plan, proven and, when asked, executed.
#pragma once

#include "apc/Driver/ExecuteProgram.h"
#include "apc/Driver/ShrinkProgram.h"
#include "apc/Partition/VerifyProgram.h"
#include "apc/Partition/VerifyTransfers.h"

#include <optional>
#include <string>

namespace apc {

struct VerifyOptions {
  std::string planPath;
  std::optional<std::string> modelPath; ///< where the model is when not where the plan says
  bool execute = false;                 ///< run all ranks against one device, too
  Shrinkage shrinkage;                  ///< verify a smaller model of the same structure instead
};

struct VerifiedPlan {
  ProgramProof proof;                     ///< of all stages
  std::optional<TransferProof> transfers; ///< of a pipeline
  std::vector<OutputError> outputs;       ///< when executed
  std::vector<std::string> drawn;         ///< parameters that were executed with random numbers
  std::vector<std::string> opaque;        ///< operators that nobody knows: the program is proven and cannot run
  std::string summary;                    ///< for people, a few lines
  std::string json;                       ///< one document: "verified", "operators", ..., "drawn_parameters", "outputs"
  bool agrees = true;                     ///< every output is the model's
};

/// Imports the plan's model again, carries the plan out and proves the program (apc/Partition/VerifyProgram.h); when
/// asked, runs it with the model's weights, or random ones where the files have none, and random inputs.
/// A plan with a pipeline is proven stage by stage, and with what runs between them.
/// Errors: the plan or the model cannot be read, or the model has changed, or is too large to execute, with how to make
/// it smaller (input); the proof fails (no plan, exit code 1).
llvm::Expected<VerifiedPlan> verifyPlan(const VerifyOptions &options);

} // namespace apc
