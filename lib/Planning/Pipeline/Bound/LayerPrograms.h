// The programs of a layer, taken by itself, and the least that they pay for their seconds and their bytes.
#pragma once

#include "../StageAnswers.h"
#include "HeldCopies.h"

#include "apc/Planning/PipelineBound.h"

namespace apc {

/// The bound of all programs at a cost, and the best of them; none where none was found in time. Bytes count that stay
/// on a device through all micro-batches, of parameters, states and sums of gradients, and of copies of weights.
struct LayerLine {
  double bound = 0;
  std::optional<PaidLine> best = {};
};

/// One layer of a step on the devices of a worker, by itself: a problem for each mesh, built once, when it is first
/// searched, and searched at several costs.
class LayerPrograms {
public:
  /// The parts of \p stage, a stage of \p layers, up to \p last. Searches have so many seconds. Errors: pins that no
  /// mesh meets.
  static llvm::Expected<LayerPrograms> make(const StageAnswers &layers, const CutStep &step, unsigned stage,
                                            StagePart last, double seconds);

  size_t numMeshes() const { return onMeshes.size(); }
  const PlanningTask &task() const { return *own->task; }
  /// The least that programs on the mesh of an index are known to pay: it grows with the cost, ever less.
  double knownLeast(size_t index, double secondsPerByte) const;
  /// The least on such a mesh, which is known from then on; none where nothing is possible there. Work counts on \p
  /// clock.
  llvm::Expected<std::optional<LayerLine>> searchOn(size_t index, double secondsPerByte,
                                                    std::shared_ptr<WorkClock> clock);

private:
  struct OnMesh {
    Mesh mesh;
    std::optional<PlanningProblem> planning = {};
    std::vector<bool> counts = {}; ///< by node: its bytes count, for its ops are the layer's own
    llvm::SmallVector<HeldCopy> copies = {};
    std::vector<PaidAt> known = {}; ///< ascending
    bool isImpossible = false;
  };

  LayerPrograms(std::shared_ptr<StageAnswer> answer, const CutStep &step, unsigned stage, llvm::ArrayRef<Mesh> meshes);
  void build(OnMesh &mesh) const;
  static Problem withBytes(const OnMesh &mesh, double secondsPerByte);
  llvm::Expected<std::optional<LayerLine>> leastOn(const OnMesh &mesh, double secondsPerByte,
                                                   std::shared_ptr<WorkClock> clock) const;

  std::shared_ptr<StageAnswer> own;
  std::vector<bool> isOwnOp; ///< by op of the answer: an op of the layer alone, no input and nothing that others make
  std::vector<OnMesh> onMeshes;
};

/// The least of all programs of a layer at a cost, on any mesh. Searches that can find nothing better are left out. The
/// bound is 0 where a search was not done in time. Errors: those of searches.
llvm::Expected<LayerLine> leastLine(LayerPrograms &layer, double secondsPerByte);

/// A worker that has so many layers of a kind on average, and an even share of what is kept of a micro-batch.
struct WorkerBytes {
  double layers = 0;
  int64_t limitBytes = 0;
  llvm::ArrayRef<PaidAt> kept = {}; ///< of all workers
  double workers = 1;

  /// The seconds and bytes of a worker whose layers have such a program, and which keeps the cheapest at a cost of a
  /// byte.
  PaidLine with(const PaidLine &layer, double secondsPerByte) const;
  /// The least that a worker pays where each layer pays so much.
  double leastPaid(double layerPays, double secondsPerByte) const;
};

/// Costs at which the layers of a worker, and what they keep, need the bytes that there are, or about as much: the
/// bounds of the worker are greatest there. None where they fit with \p quickest, the fastest programs: `leastLine` at
/// no cost. Values that a layer has from others do not count.
///
/// A layer that takes 1 s with 10 GB or 2 s with 5 GB, ten of them in 80 GB: {0.2 s per GB, 3 s}, and the bound of
/// ten is 30 s - 16 s = 14 s. Errors: those of searches.
llvm::Expected<std::vector<PaidAt>> byteCostsOf(LayerPrograms &layer, const LayerLine &quickest,
                                                const WorkerBytes &worker);

} // namespace apc
