// Storages that live across one op of the program, as far as they are known before strategies are chosen.
#pragma once

#include "apc/Planning/BuildProblem.h"

namespace apc {

/// How a storage counts in the sum over nodes: not at all; with the least that any piece of it takes; as it is made.
enum class Hold : uint8_t { None, Least, Made };

/// By value: how its storage counts beside the op of the moment, which counts what it reads and makes itself. `Least`
/// and `Made` are for values that own their storage, never for parameters and states.
///
/// Certain: a value counts as it is made until its first user where no copy of it is there before: in training, sums
/// over micro-batches alone. Behind that the original, a copy or a piece of it may be what lives, but something does
/// until the last user. Likely: as it is made until its last user.
///
/// Without a moment: what is kept for the backward pass or from one micro-batch to the next, as it is made.
std::vector<Hold> holdsAt(const OpGraph &graph, std::optional<Moment> moment);

/// By value: how a storage counts that other micro-batches in flight keep for their backward pass, for each of them;
/// all `None` without a pipeline. With a certain moment as the least that any piece takes, else as it is made.
std::vector<Hold> holdsInFlight(const OpGraph &graph, std::optional<Moment> moment);

/// By value: how many other micro-batches in flight hold it, at the moment or, without one, before gradients of weights
/// are made.
std::vector<int64_t> othersHolding(const OpGraph &graph, std::optional<Moment> moment);

/// By value that owns its storage: the fewest bytes of the value and its views.
std::vector<int64_t> leastOfViews(const OpGraph &graph);

} // namespace apc
