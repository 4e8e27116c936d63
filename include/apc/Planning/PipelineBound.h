// The least seconds of every pipeline of a step.
#pragma once

#include "apc/Planning/Planning.h"

namespace apc {

/// Seconds that no program of a layer takes less than, whatever its strategies, its neighbours in a stage and the
/// memory: {1.33, 0.0277, 0.0095} of a layer that takes 27.7 ms for each of 48 micro-batches, 9.5 ms of these forwards.
struct LayerMinima {
  double step = 0;            ///< all micro-batches and the update
  double microBatch = 0;      ///< both passes of one micro-batch
  double forward = 0;         ///< its forward pass
  double back = 0;            ///< of its backward pass, the gradients for which the layer in front of it waits
  bool followsBefore = false; ///< reads what the layer in front of it makes of the same micro-batch
  bool isAwaited = false;     ///< the layer in front of it reads gradients that it makes of the same micro-batch
  /// By cost of a byte (`PipelineBound::byteCosts`): the least of `step` and what its bytes cost, which stay on a
  /// device through all micro-batches.
  std::vector<double> withBytes = {};
};

/// A cost of a byte in seconds, and the least that is paid there: for a program and its bytes, or for what one
/// micro-batch in flight keeps for its backward pass and what ops take that run again. {2e-12, 0.3} where 0.1 s of ops
/// run again and 100 GB are kept.
struct PaidAt {
  double secondsPerByte = 0;
  double seconds = 0;
};

/// Seconds, and bytes that cost some: those of a program, or of ops that run again and of values that are kept.
struct PaidLine {
  double seconds = 0, bytes = 0;

  double paid(double secondsPerByte) const { return seconds + secondsPerByte * bytes; }
};

/// No more than is paid at any cost of a byte: it grows with the cost, ever less, so that between two known costs it
/// lies above the straight line, and beyond the last one it does not fall. \p known: by cost, ascending; nothing is
/// known below the first.
PaidLine lineBelow(llvm::ArrayRef<PaidAt> known, double secondsPerByte);

/// Bounds of the step of every pipeline of a number of workers: {8, 48, 13.7, 0.9, ...} for one micro-batch that takes
/// 0.9 s through all stages.
struct PipelineBound {
  int64_t workers = 1;
  int64_t microBatches = 1;
  double shareSeconds = 0;            ///< an even share of the work of all ops
  double pathSeconds = 0;             ///< one micro-batch through all stages and back
  std::vector<LayerMinima> layers;    ///< between the places where the model may be cut; empty of unequal workers
  std::vector<double> byteCosts = {}; ///< of a byte of a device, in seconds
  std::vector<PaidAt> kept = {};      ///< of all layers, were a device of a worker to have them all
  int64_t memoryLimitBytes = 0;       ///< of a device

  /// The bound of all chunks and schedules that \p request allows, for the micro-batches of this bound, or for more of
  /// them in a step of as many samples: work is subadditive, an op or a collective on half the samples takes at least
  /// half the time. None where no schedule takes the numbers.
  std::optional<double> seconds(const PlanRequest &request, int64_t microBatches) const;
  /// The bound of the same were there memory for everything.
  PipelineBound withAnyMemory() const;
};

/// The bounds for as many workers as `request.pipeline` says, in the micro-batches and with the recomputation of
/// `graph`, whatever cuts, schedule, chunks, strategies and memory; the work counts collectives as far as searches get
/// within the time limit of the request, none within no time. Errors: those of the searches; workers that the pool does
/// not allow.
llvm::Expected<PipelineBound> boundPipeline(const OpGraph &graph, const PlanRequest &request,
                                            const PlanningTarget &target, const PlanningControl &control);

} // namespace apc
