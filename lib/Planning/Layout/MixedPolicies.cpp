// The number of layers is interpolated between those that fit and those that do not.
#include "MixedPolicies.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace apc {

namespace {

double bytesOf(const LayoutFigures &figures) { return static_cast<double>(figures.memory.total()); }

/// Does \p light differ in the policy alone, which is the same for all layers?
bool isLighter(const EvaluatedLayout &light, const EvaluatedLayout &heavy) {
  ParallelDegrees same = light.layout;
  same.recompute = heavy.layout.recompute;
  auto isWhole = [](const ParallelDegrees &layout) { return !layout.recompute || !layout.recompute->layers; };
  return same == heavy.layout && isWhole(light.layout) && isWhole(heavy.layout) &&
         policyOf(light.layout) != policyOf(heavy.layout) && bytesOf(light.figures) > bytesOf(heavy.figures);
}

/// Seconds of as many layers of each as fit together, if both bytes and seconds were linear in them.
double mixedSeconds(const EvaluatedLayout &heavy, const EvaluatedLayout &light) {
  const double room = static_cast<double>(heavy.figures.memoryLimitBytes) - bytesOf(heavy.figures);
  const double share = std::min(1.0, room / (bytesOf(light.figures) - bytesOf(heavy.figures)));
  return heavy.figures.stepSeconds + share * (light.figures.stepSeconds - heavy.figures.stepSeconds);
}

/// Layers that are recomputed together, so that all workers of a pipeline have as many of them: a chunk of each.
int64_t layersTogether(const ParallelDegrees &layout, int64_t layers) {
  const int64_t chunks = layout.numChunks();
  return layout.pipeline > 1 && layers % chunks == 0 ? layers / chunks : 1;
}

/// A layout as fast as `best` or faster, with the fewest layers of \p heavy beside those of \p light.
llvm::Expected<EvaluatedLayout> mixWith(const EvaluatedLayout &heavy, const EvaluatedLayout &light, int64_t layers,
                                        EvaluatedLayout best, MayTryLayout mayTry, TryLayout tryLayout,
                                        std::optional<double> known) {
  constexpr unsigned mostTries = 4;
  const auto limit = static_cast<double>(heavy.figures.memoryLimitBytes);
  const int64_t together = layersTogether(heavy.layout, layers);
  int64_t fitting = layers, tooFew = 0;
  double bytes = bytesOf(heavy.figures); // of those that fit
  double bytesEach = (bytesOf(light.figures) - bytes) / static_cast<double>(layers);
  for (unsigned tries = 0; tries < mostTries && fitting - tooFew > together && bytesEach > 0; ++tries) {
    const auto fewer = static_cast<int64_t>((limit - bytes) / bytesEach) / together * together;
    const int64_t next = std::clamp(fitting - fewer, tooFew + together, fitting - together);
    ParallelDegrees mixed = light.layout;
    mixed.recompute = RecomputeSetting{policyOf(heavy.layout), next, policyOf(light.layout)};
    if (!mayTry(mixed))
      break;
    llvm::Expected<std::optional<LayoutFigures>> figures = tryLayout(mixed, leastKnown(best, known));
    if (!figures)
      return figures.takeError();
    if (!*figures)
      break;
    const bool isFaster = (*figures)->stepSeconds < best.figures.stepSeconds, fits = (*figures)->fits();
    if (!isFaster && !fits)
      break;
    bytesEach = (bytesOf(**figures) - bytes) / static_cast<double>(fitting - next);
    if (!fits) {
      tooFew = next;
      continue;
    }
    fitting = next;
    bytes = bytesOf(**figures);
    if (isFaster)
      best = {mixed, **figures};
  }
  return best;
}

} // namespace

llvm::Expected<EvaluatedLayout> mixPolicies(EvaluatedLayout best, llvm::ArrayRef<EvaluatedLayout> costed,
                                            llvm::ArrayRef<EvaluatedLayout> tooLarge, int64_t layers,
                                            MayTryLayout mayTry, TryLayout tryLayout, std::optional<double> known) {
  struct Pair {
    double seconds;
    const EvaluatedLayout *heavy, *light;
  };
  std::vector<Pair> pairs;
  for (const EvaluatedLayout &heavy : costed)
    for (const EvaluatedLayout &light : tooLarge)
      if (heavy.figures.fits() && (heavy.layout.pipeline == 1 || heavy.layout.numChunks() > 1) &&
          isLighter(light, heavy))
        pairs.push_back({mixedSeconds(heavy, light), &heavy, &light});
  llvm::stable_sort(pairs, [](const Pair &a, const Pair &b) { return a.seconds < b.seconds; });
  constexpr size_t most = 3;
  for (const Pair &pair : llvm::ArrayRef(pairs).take_front(most)) {
    if (pair.seconds >= leastKnown(best, known))
      break;
    llvm::Expected<EvaluatedLayout> mixed = mixWith(*pair.heavy, *pair.light, layers, best, mayTry, tryLayout, known);
    if (!mixed)
      return mixed;
    best = std::move(*mixed);
  }
  return best;
}

} // namespace apc
