// The hardware as data: device, levels of interconnect, host. Every figure has its unit in its name and a source beside
// it.
#pragma once

#include "apc/Cluster/Runtime.h"
#include "apc/Support/NumberFormat.h"

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

/// A piecewise-linear curve: the fraction of peak reached at a size, linear between points in log(size), constant
/// outside them, 1 without points. `{{1e6, 0.3}, {1e8, 0.5}}` is 0.4 at 1e7.
struct EfficiencyCurve {
  std::vector<std::pair<double, double>> points; ///< size ascending, efficiency in (0, 1]

  double at(double size) const;
  /// At the largest sizes.
  double top() const { return points.empty() ? 1 : points.back().second; }
  /// True when size / at(size) never falls as the size grows: more work never takes less time. Holds when between
  /// neighbours (s1, e1) and (s2, e2) the slope (e2 - e1) / ln(s2 / s1) is at most e1.
  bool isMonotoneInTime() const;
};

/// One accelerator.
struct Device {
  std::string name;
  std::map<NumberFormat, double> peakFlopsPerSecond;       ///< matrix units, dense
  std::map<NumberFormat, double> peakVectorFlopsPerSecond; ///< vector units; the f32 figure stands in for absent ones
  int64_t memoryBytes = 0;
  double memoryBytesPerSecond = 0;
  double launchSeconds = 0;                ///< per op
  double graphLaunchSeconds = 0;           ///< per op of a recorded graph; 0: the device has none
  double collectiveLaunchSeconds = 0;      ///< per collective, before its first message
  int64_t workspaceBytes = 0;              ///< scratch memory of a contraction
  EfficiencyCurve contractionEfficiency;   ///< over FLOPs of one local contraction
  double narrowContractionShare = 1;       ///< what products of 8 bits or fewer keep of that efficiency
  int64_t multiprocessors = 0;             ///< tiles of a contraction computed at a time; 0: as many as there are
  EfficiencyCurve attentionEfficiency;     ///< over the size of a head, for long sequences; may be unknown
  EfficiencyCurve tunedAttention;          ///< the same of kernels that were written for this device; may be unknown
  double maskedAttentionShare = 1;         ///< what a mask for each query leaves of an attention's speed
  EfficiencyCurve memoryEfficiency;        ///< over bytes of one local op
  double speedVariation = 0;               ///< standard deviation of devices of this kind, as a share of their speed
  double slowestShare = 1;                 ///< of a usual one's speed that the slowest of a job has (`withDevices`)
  double overlappedComputeShare = 1;       ///< what ops keep of their speed beside a collective
  double overlappedCommunicationShare = 1; ///< what collectives keep of theirs beside an op
  bool tf32ForF32 = false;                 ///< f32 contractions run at the tf32 peak, where the runtime lets them
  bool bf16ForF32 = false;                 ///< the same at the bf16 peak, in one pass, under any runtime
};

/// How the things of one level are linked.
/// Switch: any group has the full bandwidth of each device. Mesh: a link to every other one; a group of n among N
/// uses n - 1 of a device's N - 1 links. Torus: a ring with two directions.
enum class Topology : uint8_t { Switch, Mesh, Torus };

llvm::ArrayRef<llvm::StringLiteral> enumNames(Topology); ///< "switch", "mesh", "torus"

/// One layer of the interconnect; `levels` lists the outermost (slowest) first. DGX H100, inside the node: size 8,
/// 450e9 bytes per second, 0.6 us a message, efficiency 0.82.
struct Level {
  std::string name;              ///< what the links of this level join: "node", "device"
  int64_t size = 1;              ///< how many of them are joined
  double bytesPerSecond = 0;     ///< per device and direction, all its links together
  double latencySeconds = 0;     ///< per message that is sent for low latency
  double bulkLatencySeconds = 0; ///< per message that is sent for bandwidth
  double efficiency = 1;         ///< fraction of the link's bandwidth that collectives reach
  bool shared = false;           ///< all devices below share one link: bytesPerSecond is that link's, not each device's
  Topology topology = Topology::Switch;
  int64_t peers = 0; ///< of a mesh: the others that one is linked to; stays when `withDevices` cuts the level
  /// Reduction inside the switch (NVLink SHARP): for an all-reduce each device sends and receives the buffer once, at
  /// this fraction of the link. 0: the switch cannot.
  double switchReductionEfficiency = 0;
  double switchReductionLatencySeconds = 0;
};

/// The memory and storage below one node's devices; 0 is unknown.
struct Host {
  int64_t memoryBytes = 0;
  double deviceBytesPerSecond = 0; ///< between one device and host memory, per direction
  int64_t storageBytes = 0;
  double storageBytesPerSecond = 0;
};

/// Devices of one kind with the levels that join them. Two nodes of a DGX H100: levels {2, 8}, 16 devices.
struct Pool {
  Device device;
  std::vector<Level> levels; ///< outermost first
  Host host;
  Runtime runtime; ///< runs the program on them

  int64_t numDevices() const;
  /// Devices per level, outermost first: {8, 8}.
  llvm::SmallVector<int64_t, 4> levelSizes() const;
};

/// A figure as its document gives it, for `apc clusters`.
struct Figure {
  std::string name;   ///< as in `--cluster-set`: "device.memory_bytes", "level.node.size"
  std::string value;  ///< JSON text
  std::string source; ///< "" when the document names none
};

/// The most devices of a cluster.
constexpr int64_t maxDevices = int64_t(1) << 20;

/// The hardware of one document. A preset's outermost level has the size of the largest installation described;
/// `withDevices` takes what a job uses.
struct Cluster {
  std::string name;
  std::string description;
  Pool pool;
  std::vector<Figure> figures; ///< the figures that the document gives, in the order of the schema
};

/// The same cluster cut to `count` devices, all of which are used: from the innermost level outwards each takes the
/// largest divisor of what is left that fits it. 64 on nodes of 8 -> levels {8, 8}; 6 -> {1, 6}; 12 -> {2, 6}, and
/// `note` says that they are 2 nodes with 6 devices each; 13 -> {13, 1}. The outermost level grows beyond its
/// size where it must, which `note` says too. A step takes as long as on its slowest device, which is the slower the
/// more there are. Errors: count < 1 or more than `maxDevices`, named.
llvm::Expected<Cluster> withDevices(const Cluster &cluster, int64_t count, std::string *note = nullptr);

/// Device counts below `count` on which a model may run faster, descending: the largest powers of two, three, five and
/// seven times one, where `count` is no power of two, and the largest counts that fill whole groups of some level, for
/// levels whose groups `count` does not fill; no divisors of `count`, which its own meshes hold. On nodes of 8: 62 ->
/// {56, 48, 40, 32}; 7 -> {6, 5, 4}.
llvm::SmallVector<int64_t, 4> fewerCounts(const Cluster &cluster, int64_t count);

/// Names of the embedded presets, sorted.
std::vector<std::string> presetNames();
/// A preset by name, or a file by path (anything with a '/' or that ends in .json). An unknown name lists the presets.
///
/// `overrides` set single figures, in their order, as if the document said so; each is KEY=VALUE with KEY `device.KEY`,
/// `device.KEY.FORMAT`, `host.KEY` or `level.NAME.KEY`. VALUE is a number, for bytes also with a unit, true or false, a
/// name or a list: `device.memory_bytes=40GiB`, `level.node.bytes_per_second=25GB/s`,
/// `device.peak_flops_per_second.bf16=1e15`, `device.memory_efficiency=[[1e6, 0.4], [1e8, 0.8]]`. Errors name key, unit
/// and accepted keys.
llvm::Expected<Cluster> loadCluster(llvm::StringRef nameOrPath, llvm::ArrayRef<std::string> overrides = {});
/// Reads the JSON schema described in lib/Cluster/README.md; errors name `source`, key, line and the unit that is
/// expected. The presets are documents of the same schema; their names and texts come in the order of `presetNames`.
llvm::Expected<Cluster> parseCluster(llvm::StringRef text, llvm::StringRef source,
                                     llvm::ArrayRef<std::string> overrides = {});

} // namespace apc
