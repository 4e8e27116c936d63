// The number of layers to recompute: the fewest with which a step fits the memory.
#pragma once

#include <cstdint>
#include <optional>

namespace apc {

/// The fewest layers to recompute, where a step that recomputes none needs \p bytes, each recomputed layer saves \p
/// savedBytes of them, and \p limitBytes are there: max(0, ceil((bytes - limit) / saved)). 96 layers that keep 552 MiB
/// each, or 48 MiB when recomputed, in 40,000 MiB: ceil((52,992 - 40,000) / 504) = 26. This holds where the first
/// layers are the recomputed ones (Korthikanti et al. 2022; Megatron's `block`): while one of them is made again and is
/// whole for a moment, the values that the others kept are free already. \p savedBytes must be above 0.
int64_t fewestRecomputed(double bytes, double savedBytes, double limitBytes);

/// Finds the fewest layers by trying numbers of them. Numbers are good or bad, and those above a good one are good.
///
///   LayerSearch search(96, allBytes, limitBytes);   all 96 are known to be good
///   while (auto layers = search.next())
///     search.add(*layers, isGood, bytes);
///   search.fewest()
class LayerSearch {
public:
  /// \p bytes: those of the step that recomputes all \p layers.
  LayerSearch(int64_t layers, int64_t bytes, int64_t limitBytes);

  /// The number to try next, above 0 and below `fewest()`: where the bytes of the good ones lead to, and the middle in
  /// turns, so that the tries grow with the logarithm of the layers. None once the fewest are known.
  std::optional<int64_t> next() const;
  /// \p bytes: those of a good one.
  void add(int64_t layers, bool isGood, int64_t bytes);
  int64_t fewest() const { return good; }

private:
  int64_t bad = 0, good;
  int64_t bytes;                        ///< of the fewest good layers
  std::optional<double> bytesEach = {}; ///< that a layer saved between the last two good numbers
  int64_t limitBytes;
  unsigned tries = 0;
};

} // namespace apc
