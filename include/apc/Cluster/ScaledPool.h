// One figure of a pool, larger or smaller than it is: for questions of the kind "what if the links were faster".
#pragma once

#include "apc/Cluster/Cluster.h"

namespace apc {

/// Figures that are scaled together; the table of figures (lib/Cluster/FigureTable.cpp) says which they are.
enum class FigureKind : uint8_t { LinkRate, MemoryRate, MemorySize, ComputeRate };

/// A figure that can be scaled. `level` indexes `Pool::levels` for the links of one level; none for all links.
struct ScalableFigure {
  FigureKind kind = FigureKind::ComputeRate;
  std::optional<unsigned> level;

  /// As in `--cluster-set`: "level.node.bytes_per_second"; "bytes_per_second of all links".
  std::string name(const Pool &pool) const;
  /// In its own unit; none where there are several values (all links; the peaks of all number formats).
  std::optional<double> value(const Pool &pool) const;
};

/// The same pool with the figure multiplied; the peaks of all number formats together.
Pool scaled(const Pool &pool, const ScalableFigure &figure, double factor);

} // namespace apc
