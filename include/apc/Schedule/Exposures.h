// The ops of a program that can run while operands of others are brought to them.
#pragma once

#include "apc/Cost/Fusion.h"
#include "apc/Graph/OpGraph.h"

namespace apc {

/// The work that can run, in the order of the graph, between the op that makes what an operand reads and the op that
/// reads it: no contraction, so that the device waits for the operand; one, and what is light beside it; or more.
enum class Exposure : uint8_t { Exposed, Near, Far };

/// Of all operands of a graph, seen through views.
struct Exposures {
  std::vector<llvm::SmallVector<Exposure, 4>> operands; ///< by op and operand
  std::vector<bool> covers; ///< by op: it may run while something is brought to an operand that is near
};

/// Runtimes send a collective ahead behind heavy work; what elementwise ops in between could hide is little. Sources
/// are there from the start. Ops that may wait for a bucket of \p fusion may run anywhere: all of them cover. With
/// copies of a micro-batch, everything may run behind the ops of another copy.
///
/// Example: y = x w; z = relu(y); dx = dy w^T; dw = x^T dy; then an op that reads dx. x is an input. Of relu the
/// operand y is exposed. That op's dx is near, and the product dw covers it; an update that reads dw behind other
/// products is far.
Exposures exposuresOf(const OpGraph &graph, const Fusion &fusion = {});

} // namespace apc
