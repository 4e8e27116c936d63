// The least seconds of each layer of a model, taken by itself.
#pragma once

#include "../../Task.h"

#include "apc/Graph/StageSplit.h"
#include "apc/Planning/PipelineBound.h"

namespace apc {

/// Layers with their minima, and the costs of a byte that these know, ascending.
struct LayerBounds {
  std::vector<LayerMinima> layers;
  std::vector<double> byteCosts;
};

/// The seconds of the fastest strategies of ops on several meshes, each of which is looked for once, also for ops of
/// several graphs.
class FastestOps {
public:
  /// \p pool: outlives this. Meshes of up to `numAxes` axes.
  FastestOps(const Pool &pool, unsigned numAxes);

  /// By op of \p graph: of all repeats; 0 of ops that are free where rows are whole.
  std::vector<double> secondsOf(const OpGraph &graph);

private:
  /// Everything that the seconds of an op depend on; rules by their number in `rules`, and by operand, whether it is
  /// made in a pass of the op.
  using OpKind = std::tuple<size_t, NumberFormat, bool, int64_t, KernelShare, std::vector<bool>>;

  double leastOf(const OpGraph &graph, OpId op) const;

  std::vector<CostModel> models;
  std::vector<FactorRule> rules;
  std::map<OpKind, double> known;
};

/// By layer: does it share a trained parameter with others of which two may stand in the same stage, when all layers
/// make up `workers` stages or more? Gradients are then summed otherwise.
std::vector<bool> mayShareInStage(const OpGraph &graph, const StageSplit &split, int64_t workers);

/// Searches of both passes of a micro-batch beside those of whole steps: done, or left out where nothing asks for
/// `LayerMinima::microBatch` (`boundAsksForPasses`), which then counts ops alone.
enum class PassSearches : uint8_t { Done, LeftOut };

/// The minima of the layers between all places where the model may be cut, on the devices of one of `workers` workers:
/// of ops under their fastest strategies on meshes of as many axes as searches of `whole` may come to, or what searches
/// find, which take `seconds` in all and count collectives, too. A stage may exchange the values of several layers
/// together.
///
/// Where collectives may hide behind the ops of other layers, ops alone count, as they do for `forward`. Of a layer
/// that shares a trained parameter with another one that may stand in its stage, where gradients are exchanged
/// together, the forward pass alone counts. Layers of the most frequent kind are also searched at costs of a byte,
/// where as many of them as a worker has on average do not fit its memory with their fastest programs. A layer that
/// stands alone among a hundred, and is as large as the others, is not searched, for it counts for little; where no two
/// layers are alike, the first one is searched. \p kept: of all layers. \p ops: on the devices of a worker; what is
/// found is added. Errors: those of the searches.
llvm::Expected<LayerBounds> fastestLayers(const PlanningTask &whole, int64_t workers, double seconds,
                                          PassSearches passes, llvm::ArrayRef<PaidAt> kept, FastestOps &ops);
/// The same with ops that are looked for anew, and all searches.
llvm::Expected<LayerBounds> fastestLayers(const PlanningTask &whole, int64_t workers, double seconds);

} // namespace apc
