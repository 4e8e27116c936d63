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
  const bool isWhole = !light.layout.recompute || !light.layout.recompute->layers;
  return same == heavy.layout && isWhole && policyOf(light.layout) != policyOf(heavy.layout) &&
         bytesOf(light.figures) > bytesOf(heavy.figures);
}

/// Seconds of as many layers of each as fit together, if both bytes and seconds were linear in them.
double mixedSeconds(const EvaluatedLayout &heavy, const EvaluatedLayout &light) {
  const double room = static_cast<double>(heavy.figures.memoryLimitBytes) - bytesOf(heavy.figures);
  const double share = std::min(1.0, room / (bytesOf(light.figures) - bytesOf(heavy.figures)));
  return heavy.figures.stepSeconds + share * (light.figures.stepSeconds - heavy.figures.stepSeconds);
}

/// A layout as fast as `best` or faster, with the fewest layers of \p heavy beside those of \p light.
llvm::Expected<EvaluatedLayout> mixWith(const EvaluatedLayout &heavy, const EvaluatedLayout &light, int64_t layers,
                                        EvaluatedLayout best, MayTryLayout mayTry, TryLayout tryLayout) {
  constexpr unsigned mostTries = 4;
  const auto limit = static_cast<double>(heavy.figures.memoryLimitBytes);
  int64_t fitting = layers, tooFew = 0;
  double bytes = bytesOf(heavy.figures); // of those that fit
  double bytesEach = (bytesOf(light.figures) - bytes) / static_cast<double>(layers);
  for (unsigned tries = 0; tries < mostTries && fitting - tooFew > 1 && bytesEach > 0; ++tries) {
    const auto fewer = static_cast<int64_t>((limit - bytes) / bytesEach);
    const int64_t next = std::clamp(fitting - fewer, tooFew + 1, fitting - 1);
    ParallelDegrees mixed = light.layout;
    mixed.recompute = RecomputeSetting{policyOf(heavy.layout), next, policyOf(light.layout)};
    if (!mayTry(mixed))
      break;
    llvm::Expected<std::optional<LayoutFigures>> figures = tryLayout(mixed, best.figures.stepSeconds);
    if (!figures)
      return figures.takeError();
    if (!*figures || (*figures)->stepSeconds >= best.figures.stepSeconds)
      break;
    bytesEach = (bytesOf(**figures) - bytes) / static_cast<double>(fitting - next);
    if (!(*figures)->fits()) {
      tooFew = next;
      continue;
    }
    fitting = next;
    bytes = bytesOf(**figures);
    best = {mixed, **figures};
  }
  return best;
}

} // namespace

llvm::Expected<EvaluatedLayout> mixPolicies(const EvaluatedLayout &heavy, llvm::ArrayRef<EvaluatedLayout> tooLarge,
                                            int64_t layers, MayTryLayout mayTry, TryLayout tryLayout) {
  std::vector<EvaluatedLayout> lights;
  if (heavy.layout.pipeline == 1)
    llvm::copy_if(tooLarge, std::back_inserter(lights),
                  [&](const EvaluatedLayout &own) { return isLighter(own, heavy); });
  llvm::stable_sort(lights, [&](const EvaluatedLayout &a, const EvaluatedLayout &b) {
    return mixedSeconds(heavy, a) < mixedSeconds(heavy, b);
  });
  EvaluatedLayout best = heavy;
  for (const EvaluatedLayout &light : lights) {
    if (mixedSeconds(heavy, light) >= best.figures.stepSeconds)
      break;
    llvm::Expected<EvaluatedLayout> mixed = mixWith(heavy, light, layers, best, mayTry, tryLayout);
    if (!mixed)
      return mixed;
    best = std::move(*mixed);
  }
  return best;
}

} // namespace apc
