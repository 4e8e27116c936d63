// The seconds that other cuts and schedules of a planned pipeline let expect.
#pragma once

#include "StagedStep.h"

#include "apc/Cost/MemoryOfStage.h"

namespace apc {

/// The seconds and bytes of the layers of a pipeline that is planned, between the places where the model may be cut.
/// Other cuts and schedules are simulated with them, as if every layer kept its strategies: costs are taken once and
/// weighed many times; on a worker of fewer devices it takes more seconds and bytes in proportion. Memory is in
/// proportion: the bytes of a stage while it runs, and those of a micro-batch that waits, are spread over its layers by
/// their seconds.
class PipelineForecast {
public:
  /// \p places: ascending, in the forward pass of the step. \p other: the same cuts under a schedule that splits the
  /// backward pass where that of \p planned does not, or the other way round; such schedules hold other values. None:
  /// they are taken to hold the same.
  PipelineForecast(llvm::ArrayRef<size_t> places, const PipelineAnswer &planned,
                   const std::optional<PipelineAnswer> &other = std::nullopt);

  struct Expected {
    double seconds = 0;
    int64_t bytes = 0; ///< of the fullest worker's device
  };
  /// The step of a point whose stages begin at the layers behind some places: `firsts`, one for each stage but the
  /// first, are numbers of layers. None where the simulation fails.
  std::optional<Expected> of(const PipelinePoint &point, llvm::ArrayRef<size_t> firsts) const;

  /// The seconds of all layers with one micro-batch on the strongest worker, to balance cuts by.
  std::vector<double> secondsByLayer() const;
  /// Moves single cuts by a layer as long as the step becomes faster; none beyond \p limitBytes.
  std::vector<size_t> refine(const PipelinePoint &point, std::vector<size_t> firsts, int64_t limitBytes) const;

private:
  /// `MemoryOfStage` in bytes, parts that run without `idle`.
  struct Bytes {
    double idle = 0, pass = 0, weights = 0, update = 0;
    double atBackward = 0, atWeights = 0, done = 0;

    Bytes &operator+=(const Bytes &own);
    Bytes operator*(double times) const;
    double at(const HeldUnits &held) const;
  };
  /// The seconds and bytes that a layer adds to its stage.
  struct Layer {
    PlanStageSeconds seconds;
    Bytes unsplit, split; ///< under schedules that split the backward pass, or do not

    Bytes &bytesOf(bool splitsBackward) { return splitsBackward ? split : unsplit; }
  };
  /// Of a planned stage, which splits the backward pass or not, under a schedule that \p splits it or not; where that
  /// does otherwise, what waits for gradients of weights holds as much as what waits for the whole pass.
  static Bytes bytesOf(const MemoryOfStage &memory, bool isSplit, bool splits);
  void addStage(llvm::ArrayRef<std::optional<size_t>> layerOfOp, const PipelineAnswer &planned,
                const PipelineAnswer *other, size_t stage);
  /// The times of workers that may be their fullest.
  static HeldByWorkers timesOf(const PipelinePoint &point);
  std::optional<Expected> simulate(const PipelinePoint &point, const HeldByWorkers &times,
                                   llvm::ArrayRef<size_t> firsts) const;
  /// The bytes of the fullest worker's device, of stages with these.
  static double fullestBytes(const PipelineShape &shape, const HeldByWorkers &times, llvm::ArrayRef<Bytes> stages);
  Layer stageOf(llvm::ArrayRef<size_t> firsts, size_t stage) const;

  std::vector<Layer> layers; ///< on the strongest worker
  WorkerPools workers;
  double transferSeconds = 0; ///< of a value on its way to the next worker, on average
};

} // namespace apc
