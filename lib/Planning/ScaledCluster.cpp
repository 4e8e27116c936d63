// One figure of a cluster, larger or smaller than it is.
#include "ScaledCluster.h"

namespace apc {

std::string ScalableFigure::name(const Cluster &cluster) const {
  switch (kind) {
  case FigureKind::LinkRate:
    return level ? "level." + cluster.levels[*level].name + ".bytes_per_second" : "bytes_per_second of all links";
  case FigureKind::MemoryRate:
    return "device.memory_bytes_per_second";
  case FigureKind::MemorySize:
    return "device.memory_bytes";
  case FigureKind::ComputeRate:
    return "device.peak_flops_per_second";
  }
  llvm_unreachable("a figure without a name");
}

std::optional<double> ScalableFigure::value(const Cluster &cluster) const {
  if (kind == FigureKind::MemoryRate)
    return cluster.device.memoryBytesPerSecond;
  if (kind == FigureKind::MemorySize)
    return static_cast<double>(cluster.device.memoryBytes);
  if (kind == FigureKind::LinkRate && level)
    return cluster.levels[*level].bytesPerSecond;
  return std::nullopt;
}

Cluster scaled(const Cluster &cluster, const ScalableFigure &figure, double factor) {
  Cluster changed = cluster;
  switch (figure.kind) {
  case FigureKind::LinkRate:
    for (size_t level = 0; level < changed.levels.size(); ++level)
      if (!figure.level || *figure.level == level)
        changed.levels[level].bytesPerSecond *= factor;
    break;
  case FigureKind::MemoryRate:
    changed.device.memoryBytesPerSecond *= factor;
    break;
  case FigureKind::MemorySize:
    changed.device.memoryBytes = static_cast<int64_t>(factor * static_cast<double>(changed.device.memoryBytes));
    break;
  case FigureKind::ComputeRate:
    for (auto *peaks : {&changed.device.peakFlopsPerSecond, &changed.device.peakVectorFlopsPerSecond})
      for (auto &[format, peak] : *peaks)
        peak *= factor;
    break;
  }
  return changed;
}

} // namespace apc
