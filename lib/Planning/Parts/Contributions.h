// The worth of each kind of parallelism in an answer: the same program without it.
#pragma once

#include "../Task.h"

namespace apc {

/// Cuts of the batch; other cuts of computation; parameters and states that rest in smaller pieces than are used.
enum class ParallelKind : uint8_t { Data, Tensor, Storage };
inline constexpr ParallelKind parallelKinds[] = {ParallelKind::Data, ParallelKind::Tensor, ParallelKind::Storage};

/// "data parallel", "tensor parallel", "cut storage".
llvm::StringRef parallelKindName(ParallelKind kind);

/// The program of \p candidate, an answer of \p task, without the cuts of a kind; none where it has none of them.
/// Errors: those of the cost.
llvm::Expected<std::optional<Candidate>> withoutKind(const PlanningTask &task, const Candidate &candidate,
                                                     ParallelKind kind);

/// Costs the program of `candidate` again without its cuts of the batch ("data parallel"), without the other cuts of
/// its computation ("tensor parallel"), and with parameters and states that rest as they are used ("cut storage").
/// Kinds of which the candidate has nothing are left out.
///
/// Example: eight devices that each take an eighth of the batch and hold an eighth of the states give
/// {"data parallel", 21.7 s, 350 GiB} and {"cut storage", 2.95 s, 64.2 GiB} beside 2.99 s and 53.9 GiB.
std::vector<PlanContribution> contributionsOf(const PlanningTask &task, const Candidate &candidate);

} // namespace apc
