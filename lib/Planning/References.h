// Plans that an engineer would try first, costed on the same footing.
#pragma once

#include "Parts/InputFactors.h"
#include "Task.h"

namespace apc {

/// The batch of the inputs, their first dim; none where no input has dims.
std::optional<int64_t> knownBatch(const OpGraph &graph);

/// Strategies of a program that every device runs whole.
std::vector<Strategy> replicated(const OpGraph &graph);

/// The extent of the batch: the smallest batch factor of the graph's inputs; 1 without any.
int64_t batchSize(const OpGraph &graph);

/// A layout carried out, with a remark on idle devices or on parts of ZeRO that only training has.
struct CostedLayout {
  Candidate candidate;
  std::string remark;
};
/// A layout of one stage. Errors (input): its degrees do not divide the devices; the batch is smaller than dp; a
/// pipeline.
llvm::Expected<CostedLayout> costLayout(const PlanningTask &task, const ParallelDegrees &layout);

/// The kinds of references. Others are layouts.
enum class ReferenceKind : uint8_t { SingleDevice, DataParallel, TensorParallel, Layout };

/// A reference with the candidate behind it, when there is one.
struct CostedReference {
  ReferenceKind kind;
  Reference reference;
  std::optional<Candidate> candidate;
  bool isLate = false; ///< not costed: the time for references was over
};
/// The part of planning with whose end references that take a search become late; none: they are not wanted.
using SearchUntil = std::optional<PlanningTask::Part>;

/// Single device, pure data parallelism, best one-axis tensor parallelism, an expert's dp and tp, and the layouts that
/// the user names.
std::vector<CostedReference> costReferences(const PlanningTask &task, SearchUntil until);

} // namespace apc
