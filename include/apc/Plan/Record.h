// The record that `apc check` holds a plan to: a small file that is kept under version control beside the model.
#pragma once

#include "apc/Plan/Plan.h"

namespace apc {

/// The decisions and predictions of a plan, merged over repeated layers, with what it takes to plan again. As text, one
/// fact a line, in a fixed order, so that changes of different layers merge:
///
///   apc baseline 1
///   setting cluster dgx-a100-80gb
///   setting devices 64
///   setting dim batch=4
///   setting mode infer
///   setting search dp
///   mesh node=8 device=8
///   stages 1f1b on 2 workers, cut before '/model/h.48/ln_1/Sub'    (of a pipeline)
///   seconds step 0.382107
///   bytes memory total 44992512000
///   op /model/h.*/MatMul (matmul) x 96: b0:node m:device
struct PlanRecord {
  static constexpr int version = 1;

  /// Settings that were said, by name, each with its texts (apc/Plan/Settings.h): "dim" -> {"batch=4", "seq=128"}.
  std::map<std::string, std::vector<std::string>> settings;

  // Decisions: the mesh, the stages, and for each group of ops its strategies with the number of ops that have them.
  // Layers are told by their names with numbers left out; a name that stands alone keeps its numbers.
  std::string mesh;
  std::string stages; ///< as `Plan::pipelineText` says; empty without a pipeline
  std::map<std::string, std::map<std::string, unsigned>> strategies; ///< "/h.*/MatMul (matmul)" -> strategy -> count

  // Predictions. Seconds to six digits, which is what is written.
  std::map<std::string, double> seconds; ///< "step", "compute", "communication"
  std::map<std::string, int64_t> bytes;  ///< "memory total", ..., "AllReduce"

  friend bool operator==(const PlanRecord &, const PlanRecord &) = default;
};

PlanRecord recordOf(const Plan &plan);
/// The request that a record was planned with, but for the path of the model. Errors (input) begin with `source` and
/// name the setting.
llvm::Expected<PlanRequest> requestOf(const PlanRecord &record, llvm::StringRef source);
std::string printRecord(const PlanRecord &record);
/// True for what `printRecord` writes, in any version.
bool isRecord(llvm::StringRef text);
/// Reads the text form, in any order of lines, or a whole plan.json. Errors name `source`, line and what is accepted.
llvm::Expected<PlanRecord> parseRecord(llvm::StringRef text, llvm::StringRef source);

/// How a new plan does against the record.
struct RecordComparison {
  std::vector<std::string> failures;     ///< each a line: a changed strategy, a figure that is worse
  std::vector<std::string> improvements; ///< figures that are better by more than the tolerance
  bool passes() const { return failures.empty(); }
};

/// Fails when the devices of a level, the stages or strategies differ (as in `diffPlans`), or when step seconds or
/// total memory exceed the record's by more than `tolerance` (0.02 is 2 %).
RecordComparison compareRecords(const PlanRecord &record, const PlanRecord &now, double tolerance);

} // namespace apc
