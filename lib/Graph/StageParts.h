// The facts about ops and values that a cut into stages rests on, whatever the cut.
#pragma once

#include "apc/Graph/StageSplit.h"

namespace apc {

/// By op: the op that leads it, itself for leaders; empty for ops that are tied to nothing.
std::vector<std::optional<OpId>> leadersOf(const OpGraph &graph);

/// By op: its part, all of the backward pass in InputGradients.
std::vector<StagePart> passesOf(const OpGraph &graph, llvm::ArrayRef<std::optional<OpId>> leaders);

/// The op adds up operands of one shape.
bool addsUp(const FactorRule &rule);

/// By value: it is a parameter or made of parameters and constants alone, so that each micro-batch reads the same.
std::vector<bool> valuesOfStep(const OpGraph &graph);

/// By value: an op makes it in the forward pass, of parameters that are not trained and constants alone.
std::vector<bool> valuesMadeByEach(const OpGraph &graph, llvm::ArrayRef<StagePart> parts);

} // namespace apc
