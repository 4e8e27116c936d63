// Bisection over layers, helped by the bytes that a layer saves.
#include "apc/Planning/RecomputedLayers.h"

#include <algorithm>
#include <cmath>

namespace apc {

int64_t fewestRecomputed(double bytes, double savedBytes, double limitBytes) {
  return std::max<int64_t>(0, static_cast<int64_t>(std::ceil((bytes - limitBytes) / savedBytes)));
}

LayerSearch::LayerSearch(int64_t layers, int64_t bytes, int64_t limitBytes)
    : good(layers), bytes(bytes), limitBytes(limitBytes) {}

std::optional<int64_t> LayerSearch::next() const {
  if (good - bad <= 1)
    return std::nullopt;
  int64_t middle = bad + (good - bad) / 2;
  if (!bytesEach || tries % 2 == 0)
    return middle;
  double none = static_cast<double>(bytes) + static_cast<double>(good) * *bytesEach;
  return std::clamp(fewestRecomputed(none, *bytesEach, static_cast<double>(limitBytes)), bad + 1, good - 1);
}

void LayerSearch::add(int64_t layers, bool isGood, int64_t ownBytes) {
  ++tries;
  if (!isGood) {
    bad = std::max(bad, layers);
    return;
  }
  if (ownBytes > bytes)
    bytesEach = static_cast<double>(ownBytes - bytes) / static_cast<double>(good - layers);
  good = layers;
  bytes = ownBytes;
}

} // namespace apc
