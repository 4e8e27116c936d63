// The text form of problems of stages and of their answers.
#pragma once

#include "apc/Planning/Stages/SearchStages.h"

namespace apc {

/// One problem, or several under the key `instances`.
struct StageProblemFile {
  std::vector<StageProblem> problems;
  bool isList = false;
};

/// Whether a document is for `parseStageProblems`: it has the key `layers` or `instances`. Text that is no JSON is not.
bool isStageProblem(llvm::StringRef json);

/// Reads
///   {"layers": {"forward_seconds": {"1": [4, 2]}, "backward_input_seconds": {"1": [4, 2]}, "backward_weight_seconds":
///    {"1": [4, 2]}, "boundary_bytes": [8]}, "link": {"mode": "latency", "latency_seconds": 1, "bytes_per_second": 4},
///    "micro_batches": 8, "memory_limit_bytes": null, "space": {"workers": [1, 2], "schedules": [{"name": "1f1b"}]}}
/// Every table of `layers` but `boundary_bytes` is {width: one number per layer}; also known are
/// `first_forward_extra_seconds`, `last_backward_extra_seconds`, `gradient_sync_seconds`, `optimizer_seconds`,
/// `activation_bytes`, `weight_activation_bytes` and `static_bytes` (0 where absent). Further keys: `name`, `skips`
/// [{from, to, bytes}], `input_bytes`, `tail` {overlap, tied {layers, seconds}, barrier}; of `space` `widths`,
/// `devices`, `recompute`; of a schedule `chunks` and `warmup_factor`. `why` and `answer` are for readers of the file.
/// Errors name `source`, line and key. Each problem has passed `StageProblem::check`.
llvm::Expected<StageProblemFile> parseStageProblems(llvm::StringRef json, llvm::StringRef source);

/// Keys `status`, `seconds`, `lower_bound_seconds`, `schedule` (its index in the space), `schedule_name`, `workers`,
/// `stage_sizes`, `widths`, `recompute`, `finish_seconds`, `memory_bytes`, `search_seconds`, `reason` when there is no
/// answer and `notes` when there are any; of a file with `instances` the key `answers` with one such object for each,
/// which has the problem's `name`, too.
std::string printStageResults(const StageProblemFile &file, llvm::ArrayRef<StageResult> results,
                              llvm::ArrayRef<double> searchSeconds);

} // namespace apc
