// Memory that kernels of a runtime take beside the values of a program.
#pragma once

#include "Timeline.h"

#include "apc/Cost/CostModel.h"
#include "apc/Graph/OpGraph.h"

#include <vector>

namespace apc {

/// Bytes that kernels keep from one op to another beside the values of the graph.
struct KeptByKernels {
  ValueId value;            ///< what it is kept with: of the same micro-batch
  std::vector<OpId> ops;    ///< from the first of them that runs to the last
  int64_t bytes = 0;        ///< on one device
  int64_t numBlocks = 1;    ///< tensors that hold them, but for two of `stayingBytes`
  int64_t stayingBytes = 0; ///< one of each micro-batch, which stays until the second from there makes its own
};

/// The scores of attentions in parts until the gradients of the attention. An attention that is computed again keeps
/// none from its first time: of those that read the same queries the last one counts; and the numbers of losses over
/// classes until their gradients (COSTS.md, Memory). 1 sequence of 2,048 with 40 heads at 6 bytes: 1 GB.
std::vector<KeptByKernels> keptByKernels(const OpGraph &graph, llvm::ArrayRef<Strategy> strategies,
                                         const CostModel &model);

/// Beside each element of the result of an op on a device, as long as it is needed: op by op, a normalisation keeps
/// what it has before it is scaled.
int64_t keptBesideResult(const OpGraph &graph, OpId op, const Strategy &strategy, const CostModel &model);

/// While an attention in parts or its gradient runs, more than what is kept.
int64_t workspaceOfScores(const OpGraph &graph, OpId op, const Strategy &strategy, const CostModel &model);

/// Tensors that hold so many bytes for each number: of 4 bytes or fewer each. 8: two.
int64_t numTensors(double bytesOfNumber);

/// Bytes of a value on a device: of sums of gradients over micro-batches as the runtime adds them up, else its own.
int64_t bytesInRuntime(const OpGraph &graph, ValueId value, const Sharding &sharding, const CostModel &model);

/// By value: a kernel that fuses a loss makes it in no memory of its own: the wider copy of the scores that the loss
/// reads, and the gradient of that. Empty where the runtime has no such kernel.
std::vector<bool> madeInsideLosses(const OpGraph &graph, const Runtime &runtime);

/// Until when a stage needs its values where the runtime keeps what it has sent (`Runtime::keepsSentValues`): to the
/// end of the backward pass of the micro-batch. As \p ends elsewhere.
StorageEnds endsInRuntime(StorageEnds ends, const OpGraph &graph, const Timeline &time, const Runtime &runtime);

/// The way by which a value of a stage has come.
enum class Arrival : uint8_t {
  None,       ///< made here, or a parameter
  Activation, ///< from an earlier stage, before the backward pass
  Gradient    ///< from a later one
};
/// By value; all `None` in a graph that is no stage.
std::vector<Arrival> arrivalsOf(const OpGraph &graph, const Timeline &time);

} // namespace apc
