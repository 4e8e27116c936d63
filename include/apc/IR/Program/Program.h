// The program of a plan: one SPMD module for each pipeline stage, and the order in which stages act.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <cassert>
#include <cstdint>
#include <string>
#include <vector>

namespace apc {

/// One stage: what its ranks run, [firstRank, firstRank + numRanks). The mesh of the module has `numRanks` devices.
struct StageProgram {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  int64_t firstRank = 0;
  int64_t numRanks = 1;
};

/// The part of a stage's work for one micro-batch that ranks run at one go (see `part_end`); Backward is all that
/// stands behind the forward part.
enum class ProgramPart : uint8_t { Forward, InputGradient, WeightGradient, Backward };

/// Stage 5's backward pass of micro-batch 3: {Backward, 5, 3}.
struct ProgramAction {
  ProgramPart part = ProgramPart::Forward;
  unsigned stage = 0;
  int64_t microBatch = 0;

  friend bool operator==(const ProgramAction &, const ProgramAction &) = default;
};

/// "F3 of stage 5", "B3 of stage 5"; I and W are the halves of B.
std::string printAction(const ProgramAction &action);

/// The stages in the order of the model. A plan without a pipeline on 4 devices is one stage: ranks 0 to 3.
///
/// With a pipeline, a worker is the ranks of one stage, or of several that hold the same ranks (chunks). All its ranks
/// run its list in order, waiting where a value has not come; then they run the updates of its stages, side by side
/// where one waits for another.
struct Program {
  std::vector<StageProgram> stages;
  /// By worker; empty for a program of one stage, which runs one micro-batch after the other.
  std::vector<std::vector<ProgramAction>> workers = {};
  /// The inputs and results of the model in its order, by name; empty for a program of one stage, which has the same.
  std::vector<std::string> inputs = {}, results = {};

  /// The program of one stage on the ranks 0 to `numRanks` - 1.
  static Program ofOneStage(mlir::OwningOpRef<mlir::ModuleOp> module, int64_t numRanks) {
    Program program;
    program.stages.push_back({std::move(module), 0, numRanks});
    return program;
  }

  /// The stage of a program that has no other.
  const StageProgram &onlyStage() const {
    assert(stages.size() == 1 && "the program has one stage");
    return stages.front();
  }
};

} // namespace apc
