// The request that a layout runs.
#include "LayoutReferences.h"

#include "apc/Driver/ImportStep.h"
#include "apc/Support/Error.h"
#include "apc/Support/Units.h"

namespace apc {

/// All samples: those of the request or, where it does not say, of the model as it was exported.
static llvm::Error setGlobalBatch(PlanRequest &request) {
  if (request.globalBatch)
    return llvm::Error::success();
  PlanRequest asExported = request;
  asExported.microBatch.reset();
  llvm::Expected<int64_t> batch = exportedBatch(asExported);
  if (batch)
    request.globalBatch = *batch;
  return batch.takeError();
}

/// One micro-batch of all samples.
static llvm::Error setWholeBatch(PlanRequest &request) {
  if (llvm::Error error = setGlobalBatch(request))
    return error;
  request.microBatch = request.globalBatch;
  return llvm::Error::success();
}

/// Micro-batches of `mb` samples on each rank of dp.
static llvm::Error setMicroBatch(PlanRequest &request, const ParallelDegrees &layout) {
  if (*layout.microBatch % layout.copies != 0)
    return inputError("--layout {0}: {1} of a rank cannot be taken in {2} copies; a multiple of {2} is accepted for mb",
                      layout.str(), counted(*layout.microBatch, "sample"), layout.copies);
  int64_t size = *layout.microBatch * layout.data;
  if (request.microBatch && *request.microBatch != size)
    return inputError("--layout {0} has micro-batches of {1} samples, {2} on each of {3} ranks, and --micro-batch is "
                      "{4}; give one of them",
                      layout.str(), size, *layout.microBatch, layout.data, *request.microBatch);
  if (llvm::Error error = setWholeBatch(request))
    return error;
  if (*request.globalBatch % size != 0)
    return inputError(
        "--layout {0}: a global batch of {1} cannot be cut into micro-batches of {2} samples, {3} on each "
        "of {4} ranks; mb and dp must divide it together",
        layout.str(), *request.globalBatch, size, *layout.microBatch, layout.data);
  request.microBatch = size;
  return llvm::Error::success();
}

static llvm::Error contradiction(const ParallelDegrees &layout, llvm::StringRef flag, const std::string &given) {
  return inputError("--layout {0} and {1} {2} say different things; give one of them", layout.str(), flag, given);
}

/// The workers, chunks and schedule of a layout, which flags may only repeat.
static llvm::Error setPipeline(PlanRequest &request, const ParallelDegrees &layout) {
  if (request.pipeline.isOn() && !request.pipeline.allowsEqual(layout.pipeline))
    return contradiction(layout, "--pipeline", request.pipeline.str());
  request.pipeline = {layout.pipeline};
  if (layout.pipeline == 1)
    return llvm::Error::success();
  if (request.chunks.count && *request.chunks.count != layout.numChunks())
    return contradiction(layout, "--chunks", request.chunks.str());
  if (request.schedule != "auto" && request.schedule != layout.scheduleName())
    return contradiction(layout, "--schedule", request.schedule);
  request.chunks = {layout.numChunks()};
  request.schedule = layout.scheduleName();
  return llvm::Error::success();
}

llvm::Error checkStorage(const PlanRequest &request, const ParallelDegrees &layout) {
  const std::optional<int64_t> most = zeroStage(request.zero);
  if (request.mode == StepMode::Train && most && layout.zero > *most)
    return contradiction(layout, "--zero", std::to_string(*most));
  return llvm::Error::success();
}

llvm::Expected<PlanRequest> requestOfLayout(PlanRequest request, const ParallelDegrees &layout) {
  request.pins.clear();
  request.inputs.clear();
  request.ignoresModelShardings = true;
  if (request.mode == StepMode::Infer) {
    if (layout.microBatch || layout.recompute)
      return inputError("--layout {0}: mb and recompute belong to --mode train, and the mode is infer", layout.str());
    if (layout.pipeline > 1 || layout.copies > 1)
      return inputError("--layout {0}: {1} to --mode train, and the mode is infer", layout.str(),
                        layout.pipeline > 1 ? "pp belongs" : "copies belong");
    return request;
  }
  if (llvm::Error error = setPipeline(request, layout))
    return std::move(error);
  bool isOpen = request.recompute.policy == RecomputeChoice::None || request.recompute.policy == RecomputeChoice::Auto;
  if (layout.recompute && !isOpen && *layout.recompute != request.recompute)
    return contradiction(layout, "--recompute", request.recompute.str());
  if (layout.recompute)
    request.recompute = *layout.recompute;
  if (request.recompute == RecomputeChoice::Auto) // a layout has one policy
    request.recompute = RecomputeChoice::None;
  if (request.copies.count && *request.copies.count != 1 && *request.copies.count != layout.copies)
    return contradiction(layout, "--copies", request.copies.str());
  request.copies = {layout.copies};
  bool needsBatch = !request.microBatch && (layout.copies > 1 || request.globalBatch);
  if (llvm::Error error = layout.microBatch    ? setMicroBatch(request, layout)
                          : request.microBatch ? setGlobalBatch(request)
                          : needsBatch         ? setWholeBatch(request)
                                               : llvm::Error::success())
    return std::move(error);
  return request;
}

} // namespace apc
