// The hardware as data: device, levels of interconnect, host. Every figure has its unit in its name and a source beside
// it.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace apc {

/// The number formats that hardware figures distinguish.
enum class NumberFormat : uint8_t { F64, F32, TF32, BF16, F16, F8, F4, I8, I4, Other };

llvm::StringRef numberFormatName(NumberFormat format); ///< "f64", "f32", "tf32", "bf16", ...
std::optional<NumberFormat> parseNumberFormat(llvm::StringRef name);

/// A stepped or piecewise-linear curve: the fraction of peak reached at a size (linear between points in log(size),
/// constant outside).
/// `{{1e6, 0.1}, {1e9, 0.6}}`.
struct EfficiencyCurve {
  std::vector<std::pair<double, double>> points; ///< size ascending, efficiency in (0, 1]

  double at(double size) const;
};

/// One accelerator.
struct Device {
  std::string name;
  std::map<NumberFormat, double> peakFlopsPerSecond;       ///< matrix units, dense
  std::map<NumberFormat, double> peakVectorFlopsPerSecond; ///< vector units; the f32 figure stands in for absent ones
  int64_t memoryBytes = 0;
  double memoryBytesPerSecond = 0;
  double launchSeconds = 0;              ///< per op
  EfficiencyCurve contractionEfficiency; ///< over FLOPs of one local contraction
  EfficiencyCurve memoryEfficiency;      ///< over bytes of one local op
  bool tf32ForF32 = false;               ///< f32 contractions run at the tf32 peak
};

/// One layer of the interconnect; `levels` lists the outermost (slowest) first.
struct Level {
  std::string name;          ///< "node", "device", "pod"
  int64_t size = 1;          ///< how many of the next inner thing one of this holds
  double bytesPerSecond = 0; ///< per device and direction
  double latencySeconds = 0; ///< per message
  double efficiency = 1;     ///< fraction of the link's bandwidth that collectives reach
  bool shared = false;       ///< all devices below share one link: bandwidth is per group, not per device
};

struct Host {
  int64_t memoryBytes = 0;
  double deviceBytesPerSecond = 0; ///< between one device and host memory, per direction
  int64_t storageBytes = 0;
  double storageBytesPerSecond = 0;
};

/// Where a figure comes from, for `apc clusters`.
struct FigureSource {
  std::string figure; ///< JSON path, "device.memory_bytes"
  std::string source;
};

/// A cluster of one kind of device. A preset's outermost level has the size of the largest installation described;
/// `withDevices` takes what a job uses.
struct Cluster {
  std::string name;
  std::string description;
  Device device;
  std::vector<Level> levels;
  Host host;
  std::vector<FigureSource> sources;

  int64_t numDevices() const;
  /// Devices per level, outermost first: {8, 8}.
  llvm::SmallVector<int64_t, 4> levelSizes() const;
};

/// The same cluster cut to `count` devices: inner levels are filled first. 64 on nodes of 8 -> levels {8, 8}; 6 -> {1,
/// 6}; 12 -> the largest divisor of 12 that fits a node: {2, 6}, and `note` says that 2 devices of each node stay idle.
/// Errors: count < 1 or more than 2^20, named.
llvm::Expected<Cluster> withDevices(const Cluster &cluster, int64_t count, std::string *note = nullptr);

/// Names of the embedded presets, sorted.
std::vector<std::string> presetNames();
/// A preset by name, or a file by path (anything with a '/' or that ends in .json). An unknown name lists the presets.
llvm::Expected<Cluster> loadCluster(llvm::StringRef nameOrPath);
/// Reads the JSON schema described in lib/Cluster/README.md; errors name `source`, key, line and the unit that is
/// expected.
llvm::Expected<Cluster> parseCluster(llvm::StringRef json, llvm::StringRef source);

} // namespace apc
