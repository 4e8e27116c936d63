// One pipeline that fits, forecasts of all others, and plans of those that may be faster.
#include "PointTrials.h"

#include "../DescribePlan.h"
#include "../Layout/PipelineLayout.h"
#include "BalancedCuts.h"
#include "Workers/WorkerPools.h"

#include "apc/Graph/LayerCuts.h"
#include "apc/Support/Units.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>

namespace apc {

namespace {

std::string nameOf(const PipelinePoint &point) {
  std::string text = point.schedule->name.str() + " on " + std::to_string(point.counts.workers) + " workers";
  return point.counts.chunks == 1 ? text : text + llvm::formatv(" with {0} chunks", point.counts.chunks).str();
}

/// A point and its answer, where it has one. \p reason: why it does not fit; empty where it does.
TriedPoint describeTrial(const PlanningTask &whole, const PipelinePoint &point,
                         const std::optional<PipelineAnswer> &answer, const std::string &reason) {
  TriedPoint tried = failedPointOf(whole.request, whole.graph.wholeMicroBatches(), reason);
  tried.workers = point.counts.workers;
  tried.schedule = point.schedule->name.str();
  tried.chunks = point.counts.chunks;
  if (std::optional<PlanTraining> training = trainingOf(whole.graph, whole.request))
    std::tie(tried.microBatch, tried.recompute) = std::tie(training->microBatch, training->recompute);
  if (answer) {
    tried.stepSeconds = answer->time.stepSeconds;
    tried.memoryBytes = fullestBytes(*answer);
  }
  tried.feasible = answer && reason.empty();
  tried.isQuick = true;
  return tried;
}

/// A point with the cuts that it is to have, and what it is expected to take.
struct Promise {
  const PipelinePoint *point;
  std::vector<size_t> cuts;
  PipelineForecast::Expected expected;

  double secondsWithin(int64_t limitBytes) const {
    return expected.seconds * slowdownWithin(static_cast<double>(expected.bytes) / static_cast<double>(limitBytes));
  }
};

/// From all that is known, or as if nothing were.
enum class Beginning : uint8_t { Known, Open };

class PointTrials {
public:
  PointTrials(const PlanningTask &whole, const WorkerPools &workers, Beginning beginning)
      : whole(whole), workers(workers), beginning(beginning),
        patterns(whole.control.patterns && beginning == Beginning::Known ? whole.control.patterns
                                                                         : makeStagePatterns()) {
    for (const CutPosition &place : layerCuts(whole.graph))
      places.push_back(place.position);
  }

  llvm::Expected<FoundPipeline> run();
  /// The known layout, where it has as many workers and the same micro-batches; null elsewhere.
  const ParallelDegrees *layoutHere() const;

private:
  /// One point is tried at least.
  bool isOver() const {
    return whole.isStopped() || (!found.tried.empty() && whole.isOutOfTime(PlanningTask::Part::Search));
  }
  bool isBest(const Promise &own) const {
    return own.point->schedule == found.best->point.schedule && own.cuts == cutsOfBest;
  }
  /// Of the best here, or of what is known.
  double secondsToBeat() const {
    double own = found.best->time.stepSeconds;
    return beginning == Beginning::Known ? std::min(own, whole.control.knownSeconds.value_or(own)) : own;
  }
  llvm::Error addPoints();
  /// The point of that layout; null where it is not among them.
  const PipelinePoint *pointOfLayout() const;
  /// Tries the known layout where it has as many workers: it takes less time than a search.
  llvm::Error tryLayout();
  llvm::Error tryUntilOneFits();
  llvm::Error tryPromising();
  /// The best with its cuts under a schedule that splits the backward pass where that of the best does not, or the
  /// other way round; none where there is no such schedule.
  llvm::Expected<std::optional<PipelineAnswer>> sameCutsOtherwise();
  /// Points that may be faster than the best, the most promising first.
  std::vector<Promise> promises(const PipelineForecast &forecast) const;
  std::vector<size_t> cutsAt(llvm::ArrayRef<size_t> firsts) const {
    std::vector<size_t> cuts;
    for (size_t layer : firsts)
      cuts.push_back(places[layer - 1]);
    return cuts;
  }
  /// Takes a trial; true where it is the best.
  bool take(const PipelinePoint &point, const std::vector<size_t> &cuts, std::shared_ptr<StagedStep> stages,
            PipelineTrial trial);
  /// Plans a point; true where it is the best.
  llvm::Expected<bool> tryPoint(const PipelinePoint &point, const std::vector<size_t> &cuts, MeshesToSearch meshes);
  llvm::Expected<std::shared_ptr<StagedStep>> stagesOf(const PipelinePoint &point, const std::vector<size_t> &cuts);

  const PlanningTask &whole;
  WorkerPools workers;
  Beginning beginning;
  std::vector<size_t> places;
  std::vector<std::vector<PipelinePoint>> points;                                    ///< by number of chunks
  std::map<std::pair<std::vector<size_t>, bool>, std::shared_ptr<StagedStep>> steps; ///< by cuts, and split or not
  std::shared_ptr<StagePatterns> patterns;
  FoundPipeline found;
  std::vector<size_t> cutsOfBest;
  bool someFits = false; ///< of the points that were searched
};

/// A number of chunks that the named schedule refuses with these micro-batches is left out, unless it is the only one.
llvm::Error PointTrials::addPoints() {
  llvm::Error refused = llvm::Error::success();
  const int64_t most = static_cast<int64_t>(places.size() + 1) / workers.count();
  std::vector<int64_t> all = workers.areEqual() ? chunksToTry(whole.request, most) : std::vector<int64_t>{1};
  const ParallelDegrees *layout = layoutHere();
  if (layout && !whole.request.chunks.count && !llvm::is_contained(all, layout->numChunks()))
    all.push_back(layout->numChunks());
  for (int64_t chunks : all) {
    auto own = pipelinePoints(whole.request, workers.count(), chunks, whole.graph.wholeMicroBatches());
    if (own)
      points.push_back(std::move(*own));
    else
      refused = llvm::joinErrors(std::move(refused), own.takeError());
  }
  if (points.empty())
    return refused;
  llvm::consumeError(std::move(refused));
  return llvm::Error::success();
}

llvm::Expected<std::shared_ptr<StagedStep>> PointTrials::stagesOf(const PipelinePoint &point,
                                                                  const std::vector<size_t> &cuts) {
  std::shared_ptr<StagedStep> &step = steps[{cuts, point.schedule->splitsBackward}];
  if (step)
    return step;
  auto made = StagedStep::make(whole, workers, cuts, point.schedule->splitsBackward, patterns);
  if (!made)
    return made.takeError();
  step = std::move(*made);
  return step;
}

llvm::Expected<bool> PointTrials::tryPoint(const PipelinePoint &point, const std::vector<size_t> &cuts,
                                           MeshesToSearch meshes) {
  std::string best = found.best ? ": best " + formatSeconds(found.best->time.stepSeconds) : "";
  whole.report("planning " + nameOf(point) + best);
  llvm::Expected<std::shared_ptr<StagedStep>> stages = stagesOf(point, cuts);
  if (!stages)
    return stages.takeError();
  llvm::Expected<PipelineTrial> trial =
      (*stages)->plan(point, meshes, found.best ? std::optional(secondsToBeat()) : std::nullopt);
  if (!trial)
    return trial.takeError();
  someFits |= trial->fits();
  return take(point, cuts, *stages, std::move(*trial));
}

bool PointTrials::take(const PipelinePoint &point, const std::vector<size_t> &cuts, std::shared_ptr<StagedStep> stages,
                       PipelineTrial trial) {
  found.tried = withTried(std::move(found.tried), describeTrial(whole, point, trial.answer, trial.reason));
  if (!trial.fits()) {
    if (found.reason.empty())
      found.reason = nameOf(point) + ": " + trial.reason;
    return false;
  }
  if (found.best && trial.answer->time.stepSeconds >= found.best->time.stepSeconds)
    return false;
  found.best = std::move(*trial.answer);
  found.stages = std::move(stages);
  cutsOfBest = cuts;
  return true;
}

const ParallelDegrees *PointTrials::layoutHere() const {
  const std::optional<ParallelDegrees> &layout = whole.control.knownLayout;
  if (beginning == Beginning::Open || !layout || !workers.areEqual() || layout->pipeline != workers.count())
    return nullptr;
  const bool hasOthers = layout->microBatch && whole.request.microBatch != *layout->microBatch * layout->data;
  return hasOthers ? nullptr : &*layout;
}

const PipelinePoint *PointTrials::pointOfLayout() const {
  const ParallelDegrees *layout = layoutHere();
  if (!layout)
    return nullptr;
  auto schedule = findPipelineSchedule(layout->scheduleName(), static_cast<uint32_t>(layout->numChunks()));
  if (!schedule) {
    llvm::consumeError(schedule.takeError());
    return nullptr;
  }
  for (const std::vector<PipelinePoint> &ofChunks : points)
    for (const PipelinePoint &point : ofChunks)
      if (point.schedule == *schedule && point.counts.chunks == layout->numChunks())
        return &point;
  return nullptr;
}

llvm::Error PointTrials::tryLayout() {
  const PipelinePoint *point = pointOfLayout();
  if (!point)
    return llvm::Error::success();
  const ParallelDegrees &layout = *whole.control.knownLayout;
  auto cuts = cutsOfLayout(whole, layout, workers);
  if (!cuts)
    return cuts.takeError();
  auto stages = stagesOf(*point, *cuts);
  if (!stages)
    return stages.takeError();
  whole.report("planning layout " + layout.str());
  llvm::Expected<PipelineTrial> trial = costStagesOfLayout(whole, layout, *point, **stages);
  if (!trial)
    return trial.takeError();
  take(*point, *cuts, *stages, std::move(*trial));
  return llvm::Error::success();
}

/// The flags that ask for the stages of a point: "--pipeline 2 with --chunks 4"; "--pipeline 2 with --schedule zb-v",
/// whose stages are 2 on a worker.
static std::string sourceOf(const PlanRequest &request, const PipelinePoint &point) {
  std::string source = "--pipeline " + request.pipeline.str();
  if (point.counts.chunks == 1)
    return source;
  return source +
         (request.chunks.count ? " with --chunks " + request.chunks.str() : " with --schedule " + request.schedule);
}

/// All schedules of the fewest chunks; with more chunks at most twice, schedules that hold few micro-batches.
llvm::Error PointTrials::tryUntilOneFits() {
  constexpr size_t mostChunks = 3;
  for (const std::vector<PipelinePoint> &ofChunks : llvm::ArrayRef(points).take_front(mostChunks)) {
    if (ofChunks.empty())
      continue;
    const PipelinePoint &front = ofChunks.front();
    auto cuts = balancedCuts(whole.graph, workers, front.lists.shape.numStages(), sourceOf(whole.request, front));
    if (!cuts)
      return cuts.takeError();
    constexpr size_t few = 3;
    const bool isFewest = &ofChunks == &points.front();
    for (const PipelinePoint &point : llvm::ArrayRef(ofChunks).take_front(isFewest ? ofChunks.size() : few)) {
      if (isOver() || someFits)
        return llvm::Error::success();
      if (auto isBest = tryPoint(point, *cuts, MeshesToSearch::All); !isBest)
        return isBest.takeError();
    }
  }
  return llvm::Error::success();
}

std::vector<Promise> PointTrials::promises(const PipelineForecast &forecast) const {
  constexpr double hopeless = 1.2; // strategies that save memory save less than that
  constexpr double farOff = 1.1;   // other cuts save less
  constexpr double worthIt = 0.99; // stages that differ are planned one by one
  auto limitBytes = static_cast<int64_t>(hopeless * static_cast<double>(whole.memoryLimitBytes));
  const double farSeconds = secondsToBeat() * farOff;
  std::vector<double> seconds = forecast.secondsByLayer();
  std::vector<Promise> promising;
  for (const std::vector<PipelinePoint> &ofChunks : points) {
    if (ofChunks.empty() || ofChunks.front().lists.shape.numStages() > seconds.size())
      continue;
    const std::vector<size_t> balanced =
        balancedGroups(seconds, strengthsOf(workers, ofChunks.front().lists.shape.numStages()));
    for (const PipelinePoint &point : ofChunks) {
      std::optional<PipelineForecast::Expected> expected = forecast.of(point, balanced);
      if (!expected || expected->bytes > limitBytes || expected->seconds >= farSeconds)
        continue;
      promising.push_back({&point, cutsAt(balanced), *expected});
      std::vector<size_t> firsts = forecast.refine(point, balanced, whole.memoryLimitBytes);
      std::optional<PipelineForecast::Expected> refined = forecast.of(point, firsts);
      if (refined->seconds < expected->seconds * worthIt)
        promising.push_back({&point, cutsAt(firsts), *refined});
    }
  }
  llvm::stable_sort(promising, [&](const Promise &a, const Promise &b) {
    return a.secondsWithin(whole.memoryLimitBytes) < b.secondsWithin(whole.memoryLimitBytes);
  });
  return promising;
}

llvm::Expected<std::optional<PipelineAnswer>> PointTrials::sameCutsOtherwise() {
  const PipelineSchedule &known = *found.best->point.schedule;
  for (const std::vector<PipelinePoint> &ofChunks : points)
    for (const PipelinePoint &point : ofChunks)
      if (point.counts.chunks == found.best->point.counts.chunks &&
          point.schedule->splitsBackward != known.splitsBackward) {
        auto stages = stagesOf(point, cutsOfBest);
        if (!stages)
          return stages.takeError();
        return (*stages)->follow(point);
      }
  return std::nullopt;
}

llvm::Error PointTrials::tryPromising() {
  constexpr double inexact = 1.01;
  constexpr unsigned patience = 4;
  unsigned worse = 0;
  auto other = sameCutsOtherwise();
  if (!other)
    return other.takeError();
  for (const Promise &own : promises(PipelineForecast(places, *found.best, *other))) {
    if (isOver() || worse == patience || own.secondsWithin(whole.memoryLimitBytes) >= secondsToBeat() * inexact)
      break;
    if (isBest(own))
      continue;
    auto isBetter = tryPoint(*own.point, own.cuts, MeshesToSearch::OfPattern);
    if (!isBetter)
      return isBetter.takeError();
    worse = *isBetter ? 0 : worse + 1;
  }
  return llvm::Error::success();
}

llvm::Expected<FoundPipeline> PointTrials::run() {
  if (llvm::Error error = addPoints())
    return std::move(error);
  if (llvm::Error error = tryLayout())
    return std::move(error);
  if (llvm::Error error = tryUntilOneFits())
    return std::move(error);
  if (found.best)
    if (llvm::Error error = tryPromising())
      return std::move(error);
  return std::move(found);
}

} // namespace

/// The better of two, with all that both tried.
static FoundPipeline bestOf(FoundPipeline a, FoundPipeline b) {
  std::vector<TriedPoint> tried = withTried(std::move(a.tried), b.tried);
  const bool isOther = b.best && (!a.best || b.best->time.stepSeconds < a.best->time.stepSeconds);
  FoundPipeline best = std::move(isOther ? b : a);
  best.tried = std::move(tried);
  return best;
}

llvm::Expected<FoundPipeline> tryPipelines(const PlanningTask &whole, const WorkerPools &workers) {
  constexpr double little = 0.02; // of the time limit
  const Stopwatch watch(*whole.control.clock);
  PointTrials known(whole, workers, Beginning::Known);
  llvm::Expected<FoundPipeline> found = known.run();
  if (!found || !known.layoutHere() || watch.seconds() > little * whole.request.timeLimitSeconds || whole.isStopped())
    return found;
  llvm::Expected<FoundPipeline> open = PointTrials(whole, workers, Beginning::Open).run();
  return open ? bestOf(std::move(*found), std::move(*open)) : std::move(open);
}

} // namespace apc
