// A figure of a cluster that a flag sets: which one, and to what.
#pragma once

#include "FigureTable.h"
#include "apc/Support/Json/JsonDocument.h"

namespace apc {

/// `level.node.bytes_per_second=25GB/s` on a cluster whose outermost level is 'node': level 0, key "bytes_per_second",
/// value 25e9. `device.peak_flops_per_second.bf16=1e15` has the part "bf16".
struct Override {
  FigurePlace::Section section = FigurePlace::Section::Device;
  size_t level = 0;
  std::string key;
  std::string part; ///< "" for the whole figure
  JsonValue value;
  std::string flag; ///< "--cluster-set KEY=VALUE", for messages
};

/// Reads KEY=VALUE as `loadCluster` describes it. Errors name key and accepted keys, or value and accepted units; that
/// there is no such key, or that the figure is out of range, is left to `ClusterReader`.
llvm::Expected<Override> readOverride(llvm::StringRef text, const Cluster &cluster);

} // namespace apc
