// Layouts that engineers would try for a training step.
#pragma once

#include "apc/Cluster/Cluster.h"
#include "apc/Graph/OpGraph.h"
#include "apc/Plan/Plan.h"
#include "apc/Planning/LayoutFigures.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

namespace apc {

/// A layout with what its plan takes, which may be too much memory.
struct EvaluatedLayout {
  ParallelDegrees layout;
  LayoutFigures figures;
};

/// The numbers of a layout that a request fixes; none: any.
struct AskedOfLayouts {
  std::optional<int64_t> workers = {};            ///< of a pipeline
  std::optional<int64_t> chunks = {};             ///< of a worker
  std::optional<int64_t> microBatch = {};         ///< samples of all ranks of dp together
  std::optional<RecomputeSetting> recompute = {}; ///< of all layers
  std::optional<int> zero = {};                   ///< the most
  std::string schedule = {};                      ///< of a pipeline; "": any
  std::optional<int64_t> copies = {};             ///< of a micro-batch
};

/// A training step, as far as layouts of experts depend on it.
struct StepSizes {
  int64_t batch = 1;                            ///< samples
  int64_t experts = 0;                          ///< of a mixture's layer; 0 without mixtures
  int64_t layers = 0;                           ///< that repeat; 0 where none do
  std::optional<int64_t> stages = std::nullopt; ///< that the forward pass can be cut into; none: any number
  AskedOfLayouts asked = {};
};

/// The experts of a layer; 0 for a model without experts. The least number where layers differ.
int64_t numExperts(const OpGraph &graph);

/// The layers that repeat, an embedding or head that weighs as much among them; 0 without repetition.
int64_t numLayers(const OpGraph &graph);

/// The most stages that a graph can be cut into, at its `layerCuts`.
int64_t mostStages(const OpGraph &graph);

/// The most ways of tp that layouts have: the largest power of two that divides the devices of a node.
int64_t mostTensorOf(const Pool &pool);

/// The figures of a layout; none where the model or the devices do not allow it, or there is no time. Where a step is
/// known that takes \p knownSeconds, slower ones need not keep to the memory, nor those that need far more than there
/// is.
using TryLayout = llvm::function_ref<llvm::Expected<std::optional<LayoutFigures>>(const ParallelDegrees &,
                                                                                  std::optional<double> knownSeconds)>;

/// Does the request allow a layout?
using MayTryLayout = llvm::function_ref<bool(const ParallelDegrees &)>;

/// Layouts of Megatron's kind that fit: for each tp, a power of two up to a node, largest first, the fewest workers of
/// a pipeline with which everything recomputed fits, and the fewest with which nothing is recomputed, there also with
/// two chunks; no more are tried where twice as many need about as much memory, or fit but take longer. All have the
/// numbers that are asked for. dp takes the other devices, with ZeRO 1, and experts are spread over as many ranks of dp
/// as can be. Workers whose weights and states fill half of the memory are left out where twice as many are possible.
/// Where nothing fits without a pipeline or recomputation, one worker with weights in pieces on all devices (FSDP) is
/// tried, too, if \p mayImprove allows it: with as little of tp as the batch divides, and in as few micro-batches as
/// fit. Others have one sample on each rank in a micro-batch, and up to four without a pipeline. Where \p mayImprove is
/// given, the fastest of those of the largest tp that has any is improved by one change after the other, and then the
/// fastest with other ways of tp: the layouts at which that ends are among those that are returned. Others of the ways
/// of tp at which the first improvement ended are tried last. Errors: those of \p tryLayout.
llvm::Expected<std::vector<EvaluatedLayout>> tryExpertLayouts(const Pool &pool, const StepSizes &step,
                                                              TryLayout tryLayout, MayTryLayout mayImprove = {});

/// Why \p request would not have given a layout, whose own request is \p own; empty where it might: "is not as
/// --pipeline 1 wants it".
std::string refusalOf(const PlanRequest &request, const ParallelDegrees &layout, const PlanRequest &own);

/// A layout among the references of a plan: with the reason why it does not run, or with \p refusal (`refusalOf`).
Reference referenceOf(const EvaluatedLayout &evaluated, std::string refusal);

} // namespace apc
