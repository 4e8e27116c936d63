// Layouts one after the other, from those that cut weights most on.
#include "apc/Planning/ExpertLayouts.h"

#include "LayoutDescent.h"

#include "apc/Schedule/Pipeline/Schedules.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <numeric>

namespace apc {

namespace {

/// A layout and what was found out about it when a step of `knownSeconds` was known.
struct CostedOnce {
  ParallelDegrees layout;
  std::optional<LayoutFigures> figures;
  std::optional<double> knownSeconds;

  /// Nothing more would be found out beside another step: a way to fit is sought only where that is faster.
  bool holdsBeside(std::optional<double> otherSeconds) const {
    return !figures || figures->fits() || !knownSeconds || (otherSeconds && *otherSeconds <= *knownSeconds);
  }
};

class ExpertTrials {
public:
  ExpertTrials(const Pool &pool, const StepSizes &step, TryLayout tryLayout)
      : devices(pool.numDevices()), step(step), tryLayout(tryLayout) {}

  /// More and more workers, until nothing has to be recomputed.
  llvm::Error tryTensor(int64_t tensor);
  /// One worker whose weights are in pieces on all devices (FSDP), with as little recomputed as fits.
  llvm::Error tryWeightsCut(int64_t mostTensor, MayTryLayout mayTry);
  bool hasFitting() const { return !fitting.empty(); }
  /// Nothing that fits has one worker and recomputes nothing.
  bool needsMemory() const {
    return llvm::none_of(fitting, [](const EvaluatedLayout &own) {
      return own.layout.pipeline == 1 && own.layout.recompute == RecomputeSetting(RecomputeChoice::None);
    });
  }
  /// An improvement began or ended with so many ways of tp.
  bool hasImproved(int64_t tensor) const { return llvm::is_contained(improved, tensor); }
  /// The first improvement, behind a try with weights in pieces where memory asks for it.
  llvm::Error improveFirst(int64_t mostTensor, MayTryLayout mayTry) {
    if (needsMemory())
      if (llvm::Error error = tryWeightsCut(mostTensor, mayTry))
        return error;
    return improve(mostTensor, mayTry);
  }
  /// The fastest that may be tried, improved, where its ways of tp are others than before and after each improvement.
  llvm::Error improve(int64_t mostTensor, MayTryLayout mayTry);
  std::vector<EvaluatedLayout> take() { return std::move(fitting); }

private:
  /// A layout that keeps everything, with one sample in a micro-batch, or up to four without a pipeline, unless other
  /// numbers are asked for; none where these are impossible.
  std::optional<ParallelDegrees> layoutOf(int64_t tensor, int64_t workers, int zero) const;
  /// The figures of a layout, found out once where that will do.
  llvm::Expected<std::optional<LayoutFigures>> figuresOf(const ParallelDegrees &layout,
                                                         std::optional<double> knownSeconds);
  /// The figures of a layout that was costed; null for others.
  const LayoutFigures *known(const ParallelDegrees &layout) const;
  std::optional<double> bytesOf(const ParallelDegrees &layout) const; ///< of the fullest device
  std::optional<double> secondsOf(const ParallelDegrees &layout) const;
  /// Of whole weights.
  void takeHeld(const ParallelDegrees &layout, const LayoutFigures &figures);
  /// True where the layout fits.
  llvm::Expected<bool> add(const ParallelDegrees &layout);
  /// Weights, gradients and states are too much, by the layouts before: weights and gradients are cut over tp and
  /// pp, and states over all devices. Weights of experts are cut further.
  bool holdsTooMuch(const ParallelDegrees &layout) const { return holdsMore(layout, 1); }
  /// More than such a share of the memory. Of weights in pieces, the states alone count.
  bool holdsMore(const ParallelDegrees &layout, double share) const {
    if (step.experts > 0 || !leastHeld)
      return false;
    const double held = *leastHeld / static_cast<double>(layout.tensor * layout.pipeline);
    return leastStates + (layout.zero < weightsCut ? held : 0) > share * limitBytes;
  }
  /// Little room is left for activations, and twice as many workers are possible, which have more of it.
  bool isTight(const ParallelDegrees &layout, int64_t mostWorkers) const {
    constexpr double share = 0.5;
    const int64_t more = 2 * layout.pipeline;
    return more <= mostWorkers && devices % (layout.tensor * more) == 0 && holdsMore(layout, share);
  }

  int64_t devices;
  StepSizes step;
  TryLayout tryLayout;
  std::vector<EvaluatedLayout> fitting;
  std::vector<int64_t> improved; ///< ways of tp of layouts from which improvement began, and where it ended
  std::vector<CostedOnce> costed;
  std::optional<double> leastHeld; ///< weights and gradients of all ranks of tp and pp together
  double leastStates = 0;          ///< of one device
  double limitBytes = 0;
};

llvm::Expected<std::optional<LayoutFigures>> ExpertTrials::figuresOf(const ParallelDegrees &layout,
                                                                     std::optional<double> knownSeconds) {
  auto own = llvm::find_if(costed, [&](const CostedOnce &each) { return each.layout == layout; });
  if (own != costed.end() && own->holdsBeside(knownSeconds))
    return own->figures;
  llvm::Expected<std::optional<LayoutFigures>> figures = tryLayout(layout, knownSeconds);
  if (!figures)
    return figures;
  if (own == costed.end())
    own = costed.insert(own, {layout, {}, {}});
  own->figures = *figures;
  own->knownSeconds = knownSeconds;
  return figures;
}

void ExpertTrials::takeHeld(const ParallelDegrees &layout, const LayoutFigures &figures) {
  // Ranks hold unequal parts, of which plans state the largest.
  constexpr double evenness = 0.8;
  const MemoryTable &memory = figures.memory;
  double held = evenness * static_cast<double>(layout.tensor * layout.pipeline) *
                static_cast<double>(memory[MemoryCategory::Parameters] + memory[MemoryCategory::Gradients]);
  double states = evenness * static_cast<double>(memory[MemoryCategory::Optimizer]);
  leastStates = leastHeld ? std::min(leastStates, states) : states;
  leastHeld = std::min(leastHeld.value_or(held), held);
  limitBytes = static_cast<double>(figures.memoryLimitBytes);
}

llvm::Expected<bool> ExpertTrials::add(const ParallelDegrees &layout) {
  if (holdsTooMuch(layout))
    return false;
  if (llvm::any_of(fitting, [&](const EvaluatedLayout &own) { return own.layout == layout; }))
    return true; // what another one was improved to
  llvm::Expected<std::optional<LayoutFigures>> figures = figuresOf(layout, std::nullopt);
  if (!figures)
    return figures.takeError();
  if (!*figures)
    return false;
  if (layout.zero < weightsCut)
    takeHeld(layout, **figures);
  if (!(*figures)->fits())
    return false;
  fitting.push_back({layout, **figures});
  return true;
}

const LayoutFigures *ExpertTrials::known(const ParallelDegrees &layout) const {
  for (const CostedOnce &own : costed)
    if (own.layout == layout && own.figures)
      return &*own.figures;
  return nullptr;
}

std::optional<double> ExpertTrials::bytesOf(const ParallelDegrees &layout) const {
  const LayoutFigures *figures = known(layout);
  return figures ? std::optional(static_cast<double>(figures->memory.total())) : std::nullopt;
}

std::optional<double> ExpertTrials::secondsOf(const ParallelDegrees &layout) const {
  const LayoutFigures *figures = known(layout);
  return figures ? std::optional(figures->stepSeconds) : std::nullopt;
}

std::optional<ParallelDegrees> ExpertTrials::layoutOf(int64_t tensor, int64_t workers, int zero) const {
  ParallelDegrees layout{devices / tensor / workers, tensor, zero};
  layout.pipeline = workers;
  layout.experts = mostExpertRanks(layout, step);
  layout.microBatch = workers > 1 ? 1 : std::gcd(std::max<int64_t>(1, step.batch / layout.data), int64_t(4));
  layout.recompute = RecomputeChoice::None;
  return asAsked(layout, step);
}

llvm::Error ExpertTrials::tryWeightsCut(int64_t mostTensor, MayTryLayout mayTry) {
  int64_t tensor = 1;
  while (tensor < mostTensor && !layoutOf(tensor, /*workers=*/1, weightsCut))
    tensor *= 2;
  const std::optional<ParallelDegrees> first = layoutOf(tensor, /*workers=*/1, weightsCut);
  if (step.asked.workers.value_or(1) != 1 || !first)
    return llvm::Error::success();
  ParallelDegrees layout = *first;
  const int64_t all = step.batch / layout.data;
  // Weights are gathered in every micro-batch.
  for (int64_t samples = step.asked.microBatch ? *layout.microBatch : all; samples > 0; samples /= 2) {
    layout.microBatch = samples;
    if (all % samples != 0)
      continue;
    for (RecomputeChoice policy : {RecomputeChoice::None, RecomputeChoice::Full}) {
      layout.recompute = step.asked.recompute.value_or(policy);
      if (!mayTry(layout))
        continue;
      llvm::Expected<bool> fits = add(layout);
      if (!fits || *fits)
        return fits.takeError();
    }
  }
  return llvm::Error::success();
}

llvm::Error ExpertTrials::tryTensor(int64_t tensor) {
  bool fitsRecomputed = false;
  std::optional<double> least;     // bytes of fewer workers, with nothing recomputed
  std::optional<double> fewerTake; // seconds of fewer workers that fit so
  const AskedOfLayouts &asked = step.asked;
  const int64_t most = asked.workers.value_or(std::min(step.stages.value_or(devices), devices));
  for (int64_t workers = asked.workers.value_or(1); workers <= most && devices % (tensor * workers) == 0;
       workers *= 2) {
    const std::optional<ParallelDegrees> first = layoutOf(tensor, workers, statesCut);
    if (!first || isTight(*first, most))
      continue;
    ParallelDegrees layout = *first;
    llvm::Expected<bool> fits = add(layout);
    if (!fits)
      return fits.takeError();
    if (*fits && (workers == 1 || step.batch / layout.data % workers != 0))
      return llvm::Error::success();
    if (*fits) {
      const std::optional<double> seconds = secondsOf(layout);
      if (seconds && fewerTake && *seconds >= *fewerTake)
        return llvm::Error::success();
      fewerTake = seconds;
      if (asked.chunks || !asked.schedule.empty())
        return llvm::Error::success();
      layout.chunks = 2;
      fits = add(layout);
      if (!fits || *fits || !bytesOf(layout))
        return fits.takeError();
      // Memory binds: with more workers nothing has to be gathered again.
      fitsRecomputed = true;
      continue;
    }
    // With twice as many workers twice as many micro-batches are in flight.
    constexpr double same = 0.9;
    const std::optional<double> bytes = bytesOf(layout);
    if (fitsRecomputed && bytes && least && *bytes > same * *least)
      return llvm::Error::success();
    if (bytes)
      least = std::min(least.value_or(*bytes), *bytes);
    layout.recompute = RecomputeChoice::Full;
    if (!fitsRecomputed && !asked.recompute)
      fits = add(layout);
    if (!fits)
      return fits.takeError();
    fitsRecomputed = fitsRecomputed || *fits;
  }
  return llvm::Error::success();
}

llvm::Error ExpertTrials::improve(int64_t mostTensor, MayTryLayout mayTry) {
  const EvaluatedLayout *fastest = nullptr;
  std::optional<double> known;
  for (const EvaluatedLayout &own : fitting) {
    if (!mayTry(own.layout))
      continue;
    known = std::min(known.value_or(own.figures.stepSeconds), own.figures.stepSeconds);
    if (!hasImproved(own.layout.tensor) && (!fastest || own.figures.stepSeconds < fastest->figures.stepSeconds))
      fastest = &own;
  }
  if (!fastest)
    return llvm::Error::success();
  improved.push_back(fastest->layout.tensor);
  auto tryOne = [&](const ParallelDegrees &layout, std::optional<double> beside) { return figuresOf(layout, beside); };
  llvm::Expected<EvaluatedLayout> last = improveLayout(*fastest, step, mostTensor, mayTry, tryOne, known);
  if (!last)
    return last.takeError();
  if (llvm::none_of(fitting, [&](const EvaluatedLayout &own) { return own.layout == last->layout; }))
    fitting.push_back(*last);
  improved.push_back(last->layout.tensor);
  return llvm::Error::success();
}

/// Do both names mean one schedule for the chunks of `layout`? With several, 1f1b is interleaved.
bool isSameSchedule(llvm::StringRef a, llvm::StringRef b, const ParallelDegrees &layout) {
  auto rowOf = [&](llvm::StringRef name) -> const PipelineSchedule * {
    auto row = findPipelineSchedule(name, static_cast<uint32_t>(layout.numChunks()));
    if (row)
      return *row;
    llvm::consumeError(row.takeError());
    return nullptr;
  };
  return a == b || (rowOf(a) && rowOf(a) == rowOf(b));
}

} // namespace

std::string refusalOf(const PlanRequest &request, const ParallelDegrees &layout, const PlanRequest &own) {
  auto refuse = [](llvm::StringRef flag, const std::string &value) {
    return llvm::formatv("is not as {0} {1} wants it", flag, value).str();
  };
  if (!request.pipeline.allowsEqual(layout.pipeline))
    return refuse("--pipeline", request.pipeline.str());
  if (layout.pipeline > 1 && request.chunks.count && *request.chunks.count != layout.numChunks())
    return refuse("--chunks", request.chunks.str());
  if (layout.pipeline > 1 && request.schedule != "auto" && !isSameSchedule(request.schedule, own.schedule, layout))
    return refuse("--schedule", request.schedule);
  if (request.copies.count && *request.copies.count != layout.copies)
    return refuse("--copies", request.copies.str());
  if (request.microBatch && request.microBatch != own.microBatch)
    return refuse("--micro-batch", std::to_string(*request.microBatch));
  if (!(request.recompute == RecomputeChoice::Auto) && !(request.recompute == own.recompute))
    return refuse("--recompute", request.recompute.str());
  if (std::optional<int64_t> zero = zeroStage(request.zero); zero && *zero < layout.zero)
    return refuse("--zero", std::to_string(*zero));
  return "";
}

int64_t mostTensorOf(const Pool &pool) {
  const int64_t node = pool.levelSizes().back();
  return node & -node;
}

llvm::Expected<std::vector<EvaluatedLayout>> tryExpertLayouts(const Pool &pool, const StepSizes &step,
                                                              TryLayout tryLayout, MayTryLayout mayImprove) {
  ExpertTrials trials(pool, step, tryLayout);
  const int64_t most = mostTensorOf(pool);
  bool isImproved = !mayImprove;
  std::vector<int64_t> last; // ways of tp of which an improvement has tried better layouts already
  for (int64_t tensor = most; tensor >= 1; tensor /= 2) {
    if (trials.hasImproved(tensor)) {
      last.push_back(tensor);
      continue;
    }
    if (llvm::Error error = trials.tryTensor(tensor))
      return std::move(error);
    if (isImproved || !trials.hasFitting())
      continue;
    isImproved = true;
    if (llvm::Error error = trials.improveFirst(most, mayImprove))
      return std::move(error);
  }
  if (!isImproved)
    if (llvm::Error error = trials.improveFirst(most, mayImprove))
      return std::move(error);
  if (mayImprove)
    if (llvm::Error error = trials.improve(most, mayImprove))
      return std::move(error);
  for (int64_t tensor : last)
    if (llvm::Error error = trials.tryTensor(tensor))
      return std::move(error);
  return trials.take();
}

Reference referenceOf(const EvaluatedLayout &evaluated, std::string refusal) {
  const LayoutFigures &figures = evaluated.figures;
  int64_t bytes = figures.memory.total();
  Reference own{"layout " + evaluated.layout.str(), figures.stepSeconds, bytes, figures.fits(), ""};
  own.reason = own.feasible ? std::move(refusal) : shortageText(bytes, figures.memoryLimitBytes);
  return own;
}

} // namespace apc
