// A plan in another tool's words, and what cannot be said in them.
#pragma once

#include "apc/Graph/OpGraph.h"
#include "apc/Plan/Plan.h"

#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace apc {

/// A plan on its way to another tool.
struct ExportSource {
  const Plan &plan;
  const OpGraph &graph;         ///< of the plan's step
  const ParallelDegrees layout; ///< that comes nearest to the plan (apc/Planning/RecognizeLayout.h)
};

/// {"megatron.args", "--tensor-model-parallel-size 8\n..."}.
struct ExportedFile {
  std::string name, content;
};

/// The outcome of a target: the files, and a sentence for each thing that they do not say. "stage 3 begins inside
/// of layer 5: Megatron cuts between layers".
struct Exported {
  std::vector<ExportedFile> files;
  std::vector<std::string> unsaid;
};

/// The layout that a target would run, and in which it differs from the plan's.
struct TargetLayout {
  ParallelDegrees layout;
  std::vector<std::string> unsaid;
};

/// One row of the table of targets.
struct ExportTarget {
  llvm::StringLiteral name;
  llvm::StringLiteral title;   ///< as sentences have it: "Megatron"
  llvm::StringLiteral summary; ///< of the files, for people
  /// The nearest layout that the target can run, for targets that are told degrees alone. Null for those that are told
  /// each value's sharding, or each op. Errors (no plan): nothing near can be said; with all reasons.
  llvm::Expected<TargetLayout> (*nearest)(const ExportSource &source);
  /// The files for `layout`, which is that of `nearest`. Errors as above.
  llvm::Expected<Exported> (*write)(const ExportSource &source, const ParallelDegrees &layout);
  bool tellsOfNarrowProducts = false; ///< that products of weights run in 8 bits, or nothing runs by the files
};

llvm::ArrayRef<ExportTarget> allExportTargets();
/// Errors (input) list the names.
llvm::Expected<const ExportTarget *> findExportTarget(llvm::StringRef name);

/// The differences of a target from the plan: one sentence for each kind of ops that are decided by themselves and
/// take time, with the seconds here and there, those that differ most first, and for each kind of parameters and states
/// that rest otherwise. Gradients follow their ops. `recreated` is the plan of a layout of the target's; `title` is its
/// name.
std::vector<std::string> differencesFrom(const ExportSource &source, const Plan &recreated, llvm::StringRef title);

/// The outcome of an export, for people and scripts.
struct ExportReport {
  std::string target;
  std::string layout;                      ///< that the target runs: "dp=8,tp=8"; empty where it is told each value
  double stepSeconds = 0;                  ///< of the plan
  std::optional<double> targetStepSeconds; ///< of the plan that the target would run
  Exported exported;
};

/// {"target": ..., "layout": ..., "unsaid": [...], "files": {name: text}}.
std::string printExportJson(const ExportReport &report);
/// The layout, the seconds, and a line for each thing that cannot be said.
void printExport(const ExportReport &report, llvm::raw_ostream &os);

} // namespace apc
