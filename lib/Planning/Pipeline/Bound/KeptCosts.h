// The least that a step pays for the values that its backward pass reads: bytes that are kept, or ops that run again.
#pragma once

#include "apc/Graph/OpGraph.h"
#include "apc/Planning/PipelineBound.h"

namespace apc {

/// The least that one micro-batch in flight pays at any cost of a byte, in the steps of whatever policies of
/// recomputation, by an even share of its bytes on \p devices. \p seconds: by op of \p graph, the least that all its
/// runs take.
///
/// A value that ops of the backward pass read is kept from the forward pass, or its op runs again; then that op's own
/// operands are kept or made again, too. So the least is a minimum cut for each cost of a byte: values weigh what their
/// bytes cost, contractions the seconds that they take again. Other ops weigh nothing, for they may run as parts of
/// kernels that run anyhow. Parameters and what is made of them are there in any case, and so are inputs.
///
/// x -> (1 s) y -> (cheap) z, of 4 GB each on one device, y and z read by the backward pass, x an input: {0, 0}, {0.25
/// s per GB, 1 s}, {0.5 s per GB, 1 s}: z is made from y, and y from x where a byte costs more than 0.25 s per GB.
std::vector<PaidAt> keptCostsOf(const OpGraph &graph, llvm::ArrayRef<double> seconds, int64_t devices);

} // namespace apc
