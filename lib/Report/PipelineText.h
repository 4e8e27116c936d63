// The stages of a pipeline for a terminal.
#pragma once

#include "apc/Plan/Plan.h"

#include "llvm/Support/raw_ostream.h"

namespace apc {

/// Lines "mesh     ..." with the text of each stage; stages in a row that say the same are one line: "stages 0-6: ...".
/// A plan of one stage says its text alone. Empty texts are left out.
void printByStage(llvm::StringRef label, const Plan &plan, llvm::function_ref<std::string(const StagePlan &)> text,
                  llvm::raw_ostream &os);

/// "pipeline interleaved: 8 workers with 2 chunks each; ..." nothing without a pipeline.
void printPipeline(const Plan &plan, llvm::raw_ostream &os);

/// A row for each stage: its first op, the seconds of its parts, the micro-batches in flight, its memory. Without \p
/// all the rows of stages in a row that take alike are one.
void printStages(const Plan &plan, bool all, llvm::raw_ostream &os);

} // namespace apc
