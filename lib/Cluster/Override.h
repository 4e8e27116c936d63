// A figure of a cluster that a flag sets: which one, and to what.
#pragma once

#include "JsonLines.h"
#include "apc/Cluster/Cluster.h"

#include <variant>

namespace apc {

/// `level.node.bytes_per_second=25GB/s` on a cluster whose outermost level is 'node': object {"levels", "0"}, key
/// "bytes_per_second", value 25e9. `device.peak_flops_per_second.bf16=1e15` has the part "bf16".
struct Override {
  JsonPath object;
  std::string key;
  std::string part; ///< "" for the whole figure
  std::variant<bool, double, std::string> value;
};

/// Reads KEY=VALUE as `loadCluster` describes it. Errors name key and accepted keys, or value and accepted units; that
/// the document has no such key, or that the figure is out of range, is left to its reader.
llvm::Expected<Override> readOverride(llvm::StringRef text, const Cluster &cluster);

} // namespace apc
