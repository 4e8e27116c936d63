// The network between nodes in the words that describe hardware.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <optional>

namespace apc {

struct NetworkRate {
  double bytesPerSecond = 0;
  bool isOfDevice = false; ///< else of all devices of a node together
};

/// The rate that text states: "8x HDR200 IB", "4x Omni-Path 100 Gb/s", "400 Gbps EFA", "25 Gbps between hosts", "RDMA
/// 400 Gb/s per GPU". None for links inside a node, and for a rate that does not say of how many adapters it is.
std::optional<NetworkRate> networkIn(llvm::StringRef text);

} // namespace apc
