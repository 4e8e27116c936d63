// Steps of the tiny models cut into stages, as programs.
#pragma once

#include "TinySteps.h"

#include "apc/Graph/StageSplit.h"
#include "apc/IR/Program/Program.h"
#include "apc/Schedule/Pipeline/Actions.h"

namespace apc {

/// Cuts for stages of as many ops of the forward pass each, wherever layers begin.
std::vector<size_t> evenCuts(const OpGraph &graph, unsigned stages);

/// The program in which each stage runs on one rank, its worker's.
Program wholeStages(const ImportedStep &step, const StageSplit &split, const ActionLists &lists, bool splitsBackward);

/// Runs the step on one device and the program on its ranks, with random numbers; fails the test where they differ.
void checkRun(const ImportedStep &step, const Program &program);

} // namespace apc
