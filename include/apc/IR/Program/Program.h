// The program of a plan: one SPMD module for each pipeline stage.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <cassert>
#include <cstdint>
#include <vector>

namespace apc {

/// One stage: what its ranks run, [firstRank, firstRank + numRanks). The mesh of the module has `numRanks` devices.
struct StageProgram {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  int64_t firstRank = 0;
  int64_t numRanks = 1;
};

/// The stages in the order of their ranks. A plan without a pipeline on 4 devices is one stage: ranks 0 to 3.
struct Program {
  std::vector<StageProgram> stages;

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
