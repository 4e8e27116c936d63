// The schedules that a request allows for a number of workers.
#pragma once

#include "apc/Graph/OpGraph.h"
#include "apc/Plan/PlanRequest.h"
#include "apc/Schedule/Pipeline/Schedules.h"
#include "apc/Schedule/Pipeline/SimulatePipeline.h"

#include <vector>

namespace apc {

/// Units that the stages of each worker hold together (`PipelineSimulator::heldTogether`), by worker.
using HeldByWorkers = std::vector<std::vector<std::vector<HeldUnits>>>;

/// A schedule with its lists of actions: {1f1b, {4 workers, 8 micro-batches, 1 chunk}}.
struct PipelinePoint {
  const PipelineSchedule *schedule;
  PipelineCounts counts;
  ActionLists lists;
  PipelineSimulator simulator;
  HeldByWorkers held; ///< under these lists
  /// No update begins before all gradients are there: their norm is clipped, or a loss scale asks whether all are
  /// finite.
  bool updatesWait = false;
  bool sendersWait = false; ///< a worker computes nothing while it sends

  /// By stage: the most micro-batches whose values it holds at once.
  std::vector<int64_t> inFlight() const;
  /// By stage: where these wait, the most at each place.
  std::vector<WaitingMicroBatches> waiting() const;
  /// The most micro-batches that the stages of a worker hold at once.
  int64_t mostInFlight(uint32_t worker) const;
  /// The same of all workers together.
  int64_t mostInFlight() const;
};

/// Errors (input): the schedule runs two copies of the model, which needs programs of their own.
llvm::Error checkPlanned(const PipelineSchedule &schedule);

/// The schedules that the request allows and that take these counts. Where it names none: all that run one copy of the
/// model on whole micro-batches, one action at a time.
std::vector<const PipelineSchedule *> schedulesFor(const PlanRequest &request, const PipelineCounts &counts);

/// The points of so many workers, chunks and micro-batches that the request allows, those that hold the fewest
/// micro-batches first: those of `schedulesFor`. Errors (input): the named schedule does not take these numbers.
llvm::Expected<std::vector<PipelinePoint>> pipelinePoints(const PlanRequest &request, int64_t workers, int64_t chunks,
                                                          int64_t microBatches);

/// The numbers of chunks to try, ascending: that of the request, or all up to \p most that are worth it and that the
/// request's schedule takes; the fewest that it takes where these are more.
std::vector<int64_t> chunksToTry(const PlanRequest &request, int64_t most);

} // namespace apc
