// Gathers for the backward pass that a runtime runs beside the products of gradients.
#include "apc/Cost/GraphCost.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

double leastExposedShare(const Device &device) {
  return std::min(1.0, (1 - device.overlappedComputeShare) / device.overlappedCommunicationShare);
}

/// Of a gather and a product that begin together: what ends last has its own speed when the other is over.
static double hiddenSeconds(double gather, double product, const Device &device) {
  const double compute = device.overlappedComputeShare, communication = device.overlappedCommunicationShare;
  if (gather / communication <= product / compute)
    return (1 - leastExposedShare(device)) * gather;
  return std::max(0.0, 1 - (1 - communication) / compute) * product;
}

/// A copy that is larger than the value, for users of the backward pass alone.
static bool isGatherAgain(const PassUses &passes, const GraphMove &move) {
  llvm::ArrayRef<Collective> collectives = move.redistribution.collectives;
  return !move.source && !move.bucket && move.redistribution.seconds > 0 &&
         collectives.back().outputBytes > collectives.front().inputBytes && passes.split(move.users).forward.empty();
}

double secondsBeside(const OpGraph &graph, const GraphCost &cost, const CostModel &model) {
  const Pool &pool = model.getPool();
  if (!pool.runtime.gathersInputsAgain || graph.overlaps || !graph.isTrainingStep())
    return 0;
  PassUses passes(graph);
  const std::vector<bool> weights = graph.weights();
  const std::vector<std::vector<OpGraph::Use>> uses = graph.uses();
  double hidden = 0;
  for (const GraphMove &move : cost.moves) {
    ValueId value = move.values.front();
    if (weights[value.index()] || !isGatherAgain(passes, move) || !passes.mayComeAgain(value, uses[value.index()]))
      continue;
    double products = 0;
    for (OpId product : passes.productsBeside(move.users))
      products += cost.ops[product.index()].seconds();
    hidden += hiddenSeconds(move.redistribution.seconds, products, pool.device);
  }
  return hidden;
}

} // namespace apc
