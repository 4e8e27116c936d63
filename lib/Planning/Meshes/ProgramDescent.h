// Small changes of a program, each judged by what the changed program takes.
#pragma once

#include "../Task.h"

#include "apc/Search/Problem.h"

namespace apc {

/// A program, and the answer to a problem that it stands for.
struct AnsweredProgram {
  Assignment answer;
  Candidate candidate;
};

/// \p from, an answer to `planning`, with the choices of one node after the other changed, then of two at once, as long
/// as that helps: as long as the program does not fit, it takes fewer bytes; then it fits in fewer seconds. A search
/// counts memory as a sum over ops, which hides some of what fits near the limit. No change is tried behind \p end, a
/// reading of the task's clock. Where nothing helps, what was given. Not for steps whose collectives run beside ops.
/// Errors: internal ones.
llvm::Expected<AnsweredProgram> descend(const PlanningTask &task, const Mesh &mesh, const PlanningProblem &planning,
                                        AnsweredProgram from, double end);

} // namespace apc
