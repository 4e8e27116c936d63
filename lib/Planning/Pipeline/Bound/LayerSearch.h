// The least seconds of a layer, where its bytes have a cost or none.
#pragma once

#include "../StageAnswers.h"

namespace apc {

/// A cost of a byte in seconds, and the least that a layer pays: the seconds of its program, and the cost of each
/// byte that stays on a device through all micro-batches, of parameters, states and sums of gradients.
struct ByteCostedLayer {
  double secondsPerByte = 0;
  double seconds = 0;
};

/// One layer of a step on the devices of a worker, by itself: a problem for each mesh, built once and searched at
/// several costs.
class LayerSearch {
public:
  /// The parts of \p stage, a stage of \p layers, up to \p last. Searches have so many seconds. Errors: pins that no
  /// mesh meets.
  static llvm::Expected<LayerSearch> make(const StageAnswers &layers, const CutStep &step, unsigned stage,
                                          StagePart last, double seconds);

  /// No program of the layer takes less, on any mesh; 0 where a search was not done in time. Errors: those of searches.
  llvm::Expected<double> least();

  /// Costs at which as many such layers as \p count, those of a worker, need the \p limitBytes that there are, or
  /// about as much: the bounds of the worker are greatest there. None where they fit with their fastest programs.
  /// Values that the layer has from others do not count.
  ///
  /// A layer that takes 1 s with 10 GB or 2 s with 5 GB, ten of them in 80 GB: {0.2 s per GB, 3 s}, and the bound of
  /// ten is 30 s - 16 s = 14 s. Errors: those of searches.
  llvm::Expected<std::vector<ByteCostedLayer>> byteCosts(double count, int64_t limitBytes);

private:
  struct Program {
    double seconds = 0, bytes = 0;

    double paid(double secondsPerByte) const { return seconds + secondsPerByte * bytes; }
  };
  /// The bound of all programs at a cost, and the best of them; none where none was found in time.
  struct Line {
    double bound = 0;
    std::optional<Program> best = {};
  };
  struct OnMesh {
    PlanningProblem planning;
    std::vector<bool> counts; ///< by node: its bytes count, for its ops are the layer's own
  };

  LayerSearch(std::shared_ptr<StageAnswer> answer, const StageGraph &layer, llvm::ArrayRef<Mesh> meshes);
  static Problem withBytes(const OnMesh &mesh, double secondsPerByte);
  /// None where nothing is possible on the mesh.
  llvm::Expected<std::optional<Line>> leastOn(const OnMesh &mesh, double secondsPerByte,
                                              std::shared_ptr<WorkClock> clock) const;
  llvm::Expected<Line> leastLine(double secondsPerByte) const;
  llvm::Expected<Line> fastestLine();

  std::shared_ptr<StageAnswer> own;
  std::vector<std::unique_ptr<OnMesh>> onMeshes;
  std::optional<Line> fastest; ///< at no cost, once it is known
};

} // namespace apc
