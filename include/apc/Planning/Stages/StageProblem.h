// The problem of stages: layers with figures for every width, to be cut, widened and scheduled.
#pragma once

#include "apc/Schedule/Pipeline/SimulatePipeline.h"

#include <string>

namespace apc {

/// The layers when each runs on so many devices; a layer's figures are those of a stage that holds it alone.
struct LayersOfWidth {
  uint32_t width = 1;
  std::vector<StageWork> layers;
};

/// A tensor that layer `from` sends to layer `to` directly, besides the chain.
struct SkippingTensor {
  uint32_t from = 0, to = 0;
  int64_t bytes = 0;
};

/// Messages of n bytes between stages of w and w' devices take latency + ceil(n / (bytesPerSecond min(w, w'))) seconds;
/// without a rate the latency alone.
struct StageLink {
  LinkMode mode = LinkMode::Latency;
  double latencySeconds = 0;
  std::optional<double> bytesPerSecond = std::nullopt;
};

/// A schedule to try, by its name in `allPipelineSchedules`.
struct ScheduleChoice {
  std::string name;
  std::optional<uint32_t> chunks = std::nullopt; ///< the fewest that the schedule takes, where there is none
  std::optional<uint32_t> warmUpFactor = std::nullopt;
};

/// {{4}, {{"1f1b"}, {"zb-h1"}}}: four stages under either schedule, each on one device.
struct StageSpace {
  std::vector<uint32_t> workers; ///< numbers of workers
  std::vector<ScheduleChoice> schedules;
  std::vector<uint32_t> widths;    ///< devices of a worker; empty: 1
  std::optional<uint32_t> devices; ///< the sum of all widths, where widths are searched
  bool recompute = false;          ///< each stage may recompute its forward pass
};

/// Layers of which the tail sums a shared gradient.
struct TiedLayers {
  uint32_t first = 0, second = 0;
  double seconds = 0;
};

struct StageProblemTail {
  bool overlap = false;
  std::optional<TiedLayers> tied = std::nullopt;
  bool barrier = false;
};

/// A candidate is a schedule and a number of workers of the space; the sizes of the stages, each at least one layer; a
/// width for each worker; and for each stage whether it recomputes. Its seconds are those of `simulatePipeline`; it is
/// feasible where no worker exceeds the memory limit.
struct StageProblem {
  std::string name;
  std::vector<LayersOfWidth> byWidth; ///< ascending widths; all those of the space, or 1
  std::vector<int64_t> boundaryBytes; ///< of one micro-batch from each layer to the next
  std::vector<SkippingTensor> skips;
  int64_t inputBytes = 0; ///< of one micro-batch, into the first layer
  StageLink link;
  uint32_t microBatches = 1;
  std::optional<int64_t> memoryLimitBytes;
  std::optional<StageProblemTail> tail;
  StageSpace space;

  uint32_t numLayers() const { return byWidth.empty() ? 0 : static_cast<uint32_t>(byWidth.front().layers.size()); }

  /// An input error where lists have wrong lengths, numbers are negative, a layer or a schedule does not exist, or
  /// numbers are so large that sums overflow.
  llvm::Error check() const;
};

} // namespace apc
