// A plan for people: the summary of `apc plan` and the answer of `apc explain`.
#pragma once

#include "apc/Plan/Plan.h"

#include "llvm/Support/raw_ostream.h"

namespace apc {

/// The summary: model, mesh, step time by compute and communication with rates and bound, the longest ops by layer
/// group (with `allOps` all of them), memory table, collectives, references with reasons.
void printSummary(const Plan &stated, llvm::raw_ostream &os, bool allOps = false);

/// The table of `plan.sensitivity`; nothing when it was not asked for.
void printSensitivity(const Plan &plan, llvm::raw_ostream &os);

/// Ops whose names differ in numbers only and that do the same: "/h.*/attn/MatMul" x 96.
struct LayerGroup {
  std::string pattern;
  std::string operatorName;
  std::string strategy;
  unsigned count = 0;
  double seconds = 0;
  double communicationSeconds = 0;

  double total() const { return seconds + communicationSeconds; }
};
/// In order of first appearance.
std::vector<LayerGroup> layerGroups(const Plan &plan);

/// Why `op` does what it does: its strategy and cost, runner-up with its extra seconds and what would have to change
/// in the cluster for it to win, what was rejected (with `candidates` also why), the shardings around it and the
/// collectives it waits for. Ops of a pattern that do the same are explained once, with their sums. `op` may be a name,
/// or a pattern with `*`; the name of an op that another one does as well; the name of a parameter or of another value,
/// of which its place and its readers are told. An unknown name is an error that lists near names.
llvm::Error explainOp(const Plan &plan, llvm::StringRef op, llvm::raw_ostream &os, bool candidates = false);

/// The whole plan's reasons: where the time goes, what each reference lacks, which decisions the smallest changes of
/// the cluster would turn.
void explainPlan(const Plan &stated, llvm::raw_ostream &os, bool allOps = false);

} // namespace apc
