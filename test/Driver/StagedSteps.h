// Steps of the tiny models cut into stages, as programs.
#pragma once

#include "TinySteps.h"

#include "apc/Graph/SharedSums.h"
#include "apc/IR/Program/Program.h"
#include "apc/Schedule/Pipeline/Actions.h"

namespace apc {

/// Cuts for stages of as many ops of the forward pass each, wherever layers begin.
std::vector<size_t> evenCuts(const OpGraph &graph, unsigned stages);

/// A step as its stages carry it out.
struct CutModule {
  mlir::OwningOpRef<mlir::ModuleOp> module; ///< with the parts of shared sums
  OpGraph graph;                            ///< of that module
  StageSplit split;
};
CutModule cutModule(const ImportedStep &step, llvm::ArrayRef<size_t> cuts);

/// The program in which each stage runs on one rank, its worker's.
Program wholeStages(const CutModule &step, const ActionLists &lists, bool splitsBackward);

/// Runs the step on one device and the program on its ranks, with random numbers; fails the test where they differ.
void checkRun(const ImportedStep &step, const Program &program);

} // namespace apc
