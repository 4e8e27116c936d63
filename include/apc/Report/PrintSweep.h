// Plans of one model for several device counts and clusters, beside each other.
#pragma once

#include "apc/Plan/Plan.h"

#include "llvm/Support/raw_ostream.h"

namespace apc {

/// One cell of a sweep: the figures of its plan, or the reason why there is none.
struct SweepCell {
  std::string cluster;
  int64_t devices = 1;
  std::string reason = {}; ///< "" where a plan was found
  std::string mesh = {};
  PlanStatus status = PlanStatus::Feasible;
  int64_t devicesUsed = 0;
  double stepSeconds = 0;
  std::optional<double> samplesPerSecond = {}, tokensPerSecond = {}, shareOfPeak = {};
  int64_t memoryBytes = 0, memoryLimitBytes = 0;

  bool hasPlan() const { return reason.empty(); }
  /// Devices that are taken, by samples per second; none where the samples are not known.
  std::optional<double> deviceSecondsPerSample() const;
};

SweepCell cellOf(const Plan &plan);

/// The fewest devices of a cluster that have a plan, and the count beyond which more devices are used at less than a
/// half: from there, each device that is added brings less than half of the speed of those before it. Indices of cells.
struct SweepMarks {
  std::vector<size_t> fewest, knees;
};
/// `cells` hold the device counts of each cluster in ascending order.
SweepMarks marksOf(llvm::ArrayRef<SweepCell> cells);

/// A row for each cell, the marks behind it.
void printSweep(llvm::ArrayRef<SweepCell> cells, llvm::raw_ostream &os);
/// Keys `model`, `cells` [{cluster, devices, feasible, reason, devices_used, mesh, status, step_seconds,
/// samples_per_second, tokens_per_second, share_of_peak, memory_bytes, memory_limit_bytes, device_seconds_per_sample,
/// fewest, knee}]; figures are null where there is no plan or where they are not known.
std::string printSweepJson(llvm::StringRef modelPath, llvm::ArrayRef<SweepCell> cells);

} // namespace apc
