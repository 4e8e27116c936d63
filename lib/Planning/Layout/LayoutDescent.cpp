// One thing after the other is changed, as long as that is faster.
#include "LayoutDescent.h"

#include "MixedPolicies.h"

#include "apc/Schedule/Pipeline/Schedules.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

#include <algorithm>
#include <numeric>

namespace apc {

namespace {

/// Policies that layouts have, those that keep most first.
constexpr RecomputeChoice policies[] = {RecomputeChoice::None, RecomputeChoice::Norms, RecomputeChoice::Mlp,
                                        RecomputeChoice::Full};

/// The next policy that keeps less; none behind the last.
std::optional<RecomputeChoice> nextPolicy(const ParallelDegrees &layout) {
  const auto *own = llvm::find(policies, policyOf(layout));
  if (own == std::end(policies) || std::next(own) == std::end(policies))
    return std::nullopt;
  return *std::next(own);
}

ParallelDegrees withChunks(ParallelDegrees layout, int64_t chunks) {
  layout.chunks = chunks > 1 ? std::optional(chunks) : std::nullopt;
  return layout;
}

ParallelDegrees withPolicy(ParallelDegrees layout, RecomputeChoice policy) {
  layout.recompute = policy;
  return layout;
}

/// \p layers: of the model; one chunk each comes first.
std::vector<ParallelDegrees> withOtherChunks(const ParallelDegrees &layout, int64_t layers) {
  std::vector<ParallelDegrees> neighbours;
  const int64_t chunks = layout.numChunks();
  if (layout.pipeline == 1)
    return neighbours;
  if (const int64_t most = layers / layout.pipeline; layers % layout.pipeline == 0 && most > 2 * chunks)
    neighbours.push_back(withChunks(layout, most));
  constexpr std::pair<int64_t, int64_t> changes[] = {{2, 1}, {3, 1}, {3, 2}, {3, 4}, {1, 2}};
  for (auto [times, part] : changes)
    if (chunks % part == 0)
      neighbours.push_back(withChunks(layout, chunks / part * times));
  return neighbours;
}

/// Micro-batches that divide what a rank has of \p batch: the next of twice as many samples or more, and the next of
/// half as many or fewer.
std::vector<ParallelDegrees> withOtherSamples(const ParallelDegrees &layout, int64_t batch) {
  std::vector<ParallelDegrees> neighbours;
  const int64_t samples = layout.microBatch.value_or(1), all = batch / layout.data;
  int64_t more = 2 * samples, fewer = samples / 2;
  while (more < all && all % more != 0)
    ++more;
  while (fewer > 1 && all % fewer != 0)
    --fewer;
  for (int64_t own : {more, fewer})
    if (own > 0 && own <= all) {
      neighbours.push_back(layout);
      neighbours.back().microBatch = own;
    }
  return neighbours;
}

std::vector<ParallelDegrees> withOtherTensor(const ParallelDegrees &layout, int64_t mostTensor) {
  std::vector<ParallelDegrees> neighbours;
  const int64_t samples = layout.microBatch.value_or(1);
  ParallelDegrees fewer = layout, more = layout;
  fewer.tensor /= 2;
  fewer.data *= 2;
  fewer.microBatch = std::max<int64_t>(1, samples / 2);
  if (layout.tensor % 2 == 0)
    neighbours.push_back(fewer);
  more.tensor *= 2;
  more.data /= 2;
  more.microBatch = samples * 2;
  if (layout.data % 2 == 0 && more.tensor <= mostTensor)
    neighbours.push_back(more);
  return neighbours;
}

std::vector<ParallelDegrees> withOtherWorkers(const ParallelDegrees &layout) {
  std::vector<ParallelDegrees> neighbours;
  const int64_t chunks = layout.numChunks();
  ParallelDegrees more = layout, fewer = layout;
  more.zero = std::min(more.zero, statesCut);
  more.pipeline *= 2;
  more.data /= 2;
  if (layout.data % 2 == 0)
    neighbours.push_back(withChunks(more, std::max<int64_t>(1, chunks / 2)));
  if (layout.data % 2 == 0 && chunks > 1)
    neighbours.push_back(more);
  fewer.pipeline /= 2;
  fewer.data *= 2;
  if (layout.pipeline % 2 == 0)
    neighbours.push_back(withChunks(fewer, fewer.pipeline == 1 ? 1 : chunks * 2));
  if (fewer.pipeline > 1 && layout.pipeline % 2 == 0)
    neighbours.push_back(fewer);
  return neighbours;
}

/// Weights that are cut are gathered in every micro-batch: worth it with one worker, whose micro-batches are few.
std::vector<ParallelDegrees> withOtherStorage(const ParallelDegrees &layout) {
  if (layout.pipeline > 1 || layout.data == 1)
    return {};
  ParallelDegrees other = layout;
  other.zero = layout.zero == weightsCut ? statesCut : weightsCut;
  return {other};
}

std::vector<ParallelDegrees> withOtherPolicy(const ParallelDegrees &layout) {
  std::vector<ParallelDegrees> neighbours;
  for (RecomputeChoice policy : policies)
    if (policy != policyOf(layout))
      neighbours.push_back(withPolicy(layout, policy));
  return neighbours;
}

/// Does a backward pass make gradients of inputs first, and those of weights apart?
bool splitsBackward(const ParallelDegrees &layout) {
  if (layout.pipeline == 1)
    return false;
  auto schedule = findPipelineSchedule(layout.scheduleName(), static_cast<uint32_t>(layout.numChunks()));
  if (schedule)
    return (*schedule)->splitsBackward;
  llvm::consumeError(schedule.takeError());
  return false;
}

/// The usual schedule with backward passes split or whole.
ParallelDegrees withBackward(ParallelDegrees layout, bool isSplit) {
  layout.schedule.clear();
  if (isSplit && layout.pipeline > 1)
    layout.schedule = layout.numChunks() > 1 ? "interleaved-zb" : "zb-h1";
  return layout;
}

/// A layout of interleaved stages that does not fit, with the short warm-up, where it fits then by estimate: the first
/// of p workers keeps p - 1 chunks less of (v - 1) p + 2 (p - 1) + 1. None for others.
std::optional<ParallelDegrees> withShortWarmUp(const EvaluatedLayout &own, const StepSizes &step) {
  ParallelDegrees layout = own.layout;
  if (!step.asked.schedule.empty() || layout.scheduleName() != "interleaved")
    return std::nullopt;
  const int64_t workers = layout.pipeline;
  const double kept = static_cast<double>((layout.numChunks() - 1) * workers + 2 * (workers - 1) + 1);
  const MemoryTable &memory = own.figures.memory;
  const double saved = static_cast<double>(memory[MemoryCategory::Activations]) * double(workers - 1) / kept;
  if (static_cast<double>(memory.total()) - saved > static_cast<double>(own.figures.memoryLimitBytes))
    return std::nullopt;
  layout.schedule = "interleaved-short";
  return layout;
}

/// Whole experts beside tp, or experts that tp cuts.
std::vector<ParallelDegrees> withOtherExperts(const ParallelDegrees &layout, const StepSizes &step) {
  if (step.experts == 0 || layout.tensor == 1 || !layout.cutsSequences)
    return {};
  ParallelDegrees other = layout;
  other.expertTensor = layout.hasWholeExperts() ? std::nullopt : std::optional<int64_t>(1);
  return {other};
}

std::vector<ParallelDegrees> changed(const ParallelDegrees &layout, LayoutChange change, const StepSizes &step,
                                     int64_t mostTensor) {
  switch (change) {
  case LayoutChange::Tensor:
    return withOtherTensor(layout, mostTensor);
  case LayoutChange::Workers:
    return withOtherWorkers(layout);
  case LayoutChange::Chunks:
    return withOtherChunks(layout, step.layers);
  case LayoutChange::Samples:
    return withOtherSamples(layout, step.batch);
  case LayoutChange::Recompute:
    return withOtherPolicy(layout);
  case LayoutChange::Storage:
    return withOtherStorage(layout);
  case LayoutChange::Schedule:
    return layout.pipeline > 1 ? std::vector{layout} : std::vector<ParallelDegrees>(); // `neighboursOf` splits
  case LayoutChange::Experts:
    return withOtherExperts(layout, step);
  }
  llvm_unreachable("a change that is none");
}

/// Goes from layout to layout.
class Descent {
public:
  Descent(EvaluatedLayout from, const StepSizes &step, MayTryLayout mayTry, TryLayout tryLayout,
          std::optional<double> known)
      : best(std::move(from)), step(step), mayTry(mayTry), tryLayout(tryLayout), known(known), tried{best.layout},
        costed{best} {}

  /// A change that was worth it is made again; the next one's turn comes when it is not.
  llvm::Expected<EvaluatedLayout> run(int64_t mostTensor) {
    constexpr size_t kinds = std::size(layoutChanges);
    for (size_t kind = 0, inVain = 0; inVain < kinds;) {
      llvm::Expected<bool> isBetter = tryChange(layoutChanges[kind], mostTensor);
      if (!isBetter)
        return isBetter.takeError();
      inVain = *isBetter ? 0 : inVain + 1;
      kind = *isBetter ? kind : (kind + 1) % kinds;
    }
    return mixPolicies(best, costed, tooLarge, step.layers, mayTry, tryLayout, known);
  }

private:
  /// True where a neighbour of that kind is the best.
  llvm::Expected<bool> tryChange(LayoutChange change, int64_t mostTensor) {
    for (const ParallelDegrees &next : neighboursOf(best.layout, change, step, mostTensor)) {
      if (change == LayoutChange::Recompute && !best.figures.isByMemory && policyOf(best.layout) < policyOf(next))
        continue; // it would only add work: what is kept takes no time here
      llvm::Expected<bool> isBetter = tryInLessMemory(next);
      if (!isBetter || *isBetter)
        return isBetter;
    }
    return false;
  }

  /// True where the layout, or one of those that need less memory, is the best.
  llvm::Expected<bool> tryInLessMemory(const ParallelDegrees &next) {
    llvm::Expected<std::optional<bool>> isBetter = tryOne(next);
    if (!isBetter)
      return isBetter.takeError();
    if (isBetter->has_value())
      return **isBetter;
    for (const ParallelDegrees &own : inLessMemory(EvaluatedLayout(tooLarge.back()))) {
      isBetter = tryOne(own);
      if (!isBetter || isBetter->value_or(false))
        return isBetter ? llvm::Expected<bool>(true) : isBetter.takeError();
    }
    return false;
  }

  /// A layout that would be faster with the short warm-up, with the next policy, and, where that may still be faster,
  /// with everything recomputed: a forward pass more, of the three that a step takes.
  std::vector<ParallelDegrees> inLessMemory(const EvaluatedLayout &large) const {
    std::vector<ParallelDegrees> all;
    if (std::optional<ParallelDegrees> shorter = withShortWarmUp(large, step))
      all.push_back(*shorter);
    const std::optional<RecomputeChoice> policy = nextPolicy(large.layout);
    if (policy)
      all.push_back(withPolicy(large.layout, *policy));
    constexpr double withForward = 4.0 / 3;
    if (policy && *policy != RecomputeChoice::Full &&
        withForward * large.figures.stepSeconds < best.figures.stepSeconds)
      all.push_back(withPolicy(large.layout, RecomputeChoice::Full));
    return all;
  }

  /// Is it the best? None where it would be, but does not fit.
  llvm::Expected<std::optional<bool>> tryOne(const ParallelDegrees &next) {
    if (llvm::is_contained(tried, next) || isSlowWithoutBubble(next) || !mayTry(next))
      return std::optional(false);
    tried.push_back(next);
    llvm::Expected<std::optional<LayoutFigures>> figures = tryLayout(next, best.figures.stepSeconds);
    if (!figures)
      return figures.takeError();
    if (!*figures)
      return std::optional(false);
    costed.push_back({next, **figures});
    if ((*figures)->stepSeconds >= best.figures.stepSeconds) // and recomputation only adds to it
      return std::optional(false);
    if (!(*figures)->fits()) {
      tooLarge.push_back({next, **figures});
      return std::nullopt;
    }
    best = {next, **figures};
    return std::optional(true);
  }

  /// Would split backward passes not be worth it, whatever they leave of the bubble of whole ones?
  bool isSlowWithoutBubble(const ParallelDegrees &next) const {
    constexpr double least = 0.99; // of the step
    if (!splitsBackward(next))
      return false;
    const auto whole = llvm::find_if(
        costed, [&](const EvaluatedLayout &own) { return own.layout == withBackward(next, /*isSplit=*/false); });
    return whole != costed.end() &&
           whole->figures.stepSeconds - whole->figures.bubbleSeconds > least * leastKnown(best, known);
  }

  EvaluatedLayout best;
  const StepSizes &step;
  MayTryLayout mayTry;
  TryLayout tryLayout;
  std::optional<double> known;
  std::vector<ParallelDegrees> tried;
  std::vector<EvaluatedLayout> costed;
  std::vector<EvaluatedLayout> tooLarge; ///< faster than the best at that time
};

/// The layout under the schedule that is asked for, with as many chunks as that takes at least where it does not take
/// those of the layout.
ParallelDegrees underSchedule(ParallelDegrees layout, const std::string &schedule) {
  if (layout.scheduleName() == schedule)
    return layout;
  layout.schedule = schedule;
  if (llvm::Error error = findPipelineSchedule(schedule, static_cast<uint32_t>(layout.numChunks())).takeError()) {
    llvm::consumeError(std::move(error));
    layout = withChunks(layout, leastChunksOf(schedule).value_or(1));
  }
  if (ParallelDegrees usual = layout; usual.schedule.clear(), usual.scheduleName() == schedule)
    return usual;
  return layout;
}

} // namespace

std::optional<ParallelDegrees> asAsked(ParallelDegrees layout, const StepSizes &step) {
  const AskedOfLayouts &asked = step.asked;
  if (asked.microBatch && *asked.microBatch % layout.data != 0)
    return std::nullopt;
  if (asked.microBatch)
    layout.microBatch = *asked.microBatch / layout.data;
  layout.copies = asked.copies.value_or(layout.copies);
  if (const int64_t own = layout.microBatch.value_or(1); own % layout.copies != 0) {
    if (asked.microBatch)
      return std::nullopt;
    layout.microBatch = std::lcm(own, layout.copies); // each copy has samples
  }
  if (step.batch % (layout.data * layout.microBatch.value_or(1)) != 0)
    return std::nullopt;
  if (asked.recompute)
    layout.recompute = asked.recompute;
  if (asked.zero)
    layout.zero = std::min(layout.zero, *asked.zero);
  if (asked.chunks && layout.pipeline > 1)
    layout = withChunks(layout, *asked.chunks);
  return asked.schedule.empty() || layout.pipeline == 1 ? layout : underSchedule(layout, asked.schedule);
}

int64_t mostExpertRanks(const ParallelDegrees &layout, const StepSizes &step) {
  return step.experts > 0 ? std::gcd(step.experts, layout.ranksOfExperts()) : 1;
}

std::vector<ParallelDegrees> neighboursOf(const ParallelDegrees &layout, LayoutChange change, const StepSizes &step,
                                          int64_t mostTensor) {
  std::vector<ParallelDegrees> neighbours;
  for (ParallelDegrees &own : changed(layout, change, step, mostTensor)) {
    if (own.tensor == 1)
      own.expertTensor.reset();
    own.experts = mostExpertRanks(own, step);
    if (step.asked.schedule.empty())
      own = withBackward(std::move(own), splitsBackward(layout) != (change == LayoutChange::Schedule));
    if (std::optional<ParallelDegrees> asked = asAsked(std::move(own), step))
      neighbours.push_back(std::move(*asked));
  }
  return neighbours;
}

llvm::Expected<EvaluatedLayout> improveLayout(EvaluatedLayout from, const StepSizes &step, int64_t mostTensor,
                                              MayTryLayout mayTry, TryLayout tryLayout, std::optional<double> known) {
  return Descent(std::move(from), step, mayTry, tryLayout, known).run(mostTensor);
}

} // namespace apc
