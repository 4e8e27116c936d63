// Sizes of buckets, and the least seconds of values in them.
#include "apc/Cost/Fusion.h"

#include <algorithm>
#include <cmath>

namespace apc {

namespace {

constexpr int64_t mebi = int64_t(1) << 20;

double secondsAt(Collective collective, int64_t bytes, const CostModel &model) {
  collective.inputBytes = collective.outputBytes = bytes;
  return model.collectiveSeconds(collective);
}

} // namespace

int64_t Fusion::mostWholeBytes(unsigned group, CollectiveKind kind) const {
  const bool isPart = kind == CollectiveKind::AllGather || kind == CollectiveKind::ReduceScatter;
  if (mostBytes || !isPart || group >= layerBytes.size() || !layerBytes[group])
    return groupBytes[group];
  return std::min(*layerBytes[group], groupBytes[group]);
}

int64_t efficientBytes(const Collective &collective, const CostModel &model) {
  constexpr double share = 0.05;                    // of the time may be latency
  constexpr int64_t most = int64_t(1) << 40;        // no buffer is larger
  constexpr double transfers = (1 - share) / share; // 19 times the latency
  int64_t bytes = most;
  // The algorithm that is the fastest for so many bytes asks for fewer, where another may be faster: so on until the
  // fastest is content.
  for (;;) {
    int64_t step = std::max<int64_t>(bytes / 1024, 1);
    double here = secondsAt(collective, bytes, model), before = secondsAt(collective, bytes - step, model);
    double perByte = (here - before) / static_cast<double>(step);
    double latency = here - perByte * static_cast<double>(bytes);
    double wanted = perByte > 0 ? transfers * std::max(latency, 0.0) / perByte : static_cast<double>(most);
    auto rounded = static_cast<int64_t>(
        std::min(std::ceil(wanted / static_cast<double>(mebi)), static_cast<double>(most) / static_cast<double>(mebi)));
    int64_t next = std::max<int64_t>(rounded, 1) * mebi;
    if (next >= bytes)
      return bytes;
    bytes = next;
  }
}

int64_t FusedCosts::bucketBytes(const Collective &collective) {
  if (fusion.mostBytes)
    return *fusion.mostBytes;
  auto [entry, isNew] = limits.try_emplace({collective.kind, collective.axes});
  if (isNew)
    entry->second = efficientBytes(collective, model);
  return entry->second;
}

double FusedCosts::leastSeconds(const Collective &collective, unsigned group) {
  if (collective.kind == CollectiveKind::Slice || numExchanges(collective) != 1)
    return model.collectiveSeconds(collective);
  const int64_t bytes = costedBytes(collective), whole = fusion.mostWholeBytes(group, collective.kind);
  const int64_t together = std::min(bucketBytes(collective), whole);
  if (bytes >= together)
    return model.collectiveSeconds(collective);
  const double ofAll = secondsAt(collective, together, model);
  const Mesh &mesh = model.getMesh();
  const int64_t part = whole / (mesh.numDevices() / mesh.size(collective.axes));
  const bool isByLayer = whole < fusion.groupBytes[group];
  if (!isByLayer || part < 1 || part > together / 2 || !isRingKind(collective.kind))
    return static_cast<double>(std::max<int64_t>(bytes, 1)) / static_cast<double>(together) * ofAll;
  const double ofPart = secondsAt(collective, part, model);
  const double perByte = (ofAll - ofPart) / static_cast<double>(together - part);
  const double latency = std::max(0.0, ofPart - perByte * static_cast<double>(part));
  const double share = std::min(1.0, static_cast<double>(collective.wholeBytes) / static_cast<double>(whole));
  return latency * share + perByte * static_cast<double>(bytes);
}

} // namespace apc
