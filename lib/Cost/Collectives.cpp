// The formulas of collectives: ring, tree, hierarchical, in the switch, all rings of a torus, direct. COSTS.md names
// the sources.
#include "apc/Cost/Collectives.h"

#include "llvm/Support/MathExtras.h"

#include <array>
#include <cassert>
#include <cmath>

using namespace llvm;

namespace apc {

namespace {

/// The share of a link that a protocol's messages carry as data: 4 of 8 bytes, 120 of 128 less a little, all.
constexpr double protocolShare[] = {0.5, 0.92, 1.0};
/// The share of a ring's bandwidth that a tree reaches.
constexpr double treeShare = 0.92;

/// One level of a group, ready for the formulas.
struct Link {
  double ways;                          ///< how many the group has on this level
  double outer;                         ///< the product of the ways of the levels further out
  double rails;                         ///< the product further in: so many rings cross this level side by side
  double depth;                         ///< of a chain or a binary tree over the ways
  double fullBytesPerSecond;            ///< per device, as far as collectives reach it
  double pairShare;                     ///< what two devices have of it between them
  std::array<double, 3> messageSeconds; ///< by protocol
  bool isChain;                         ///< messages pass from neighbour to neighbour
  bool isTorus;
  const Level *level;
  double latency = 0;        ///< of one message in the protocol at hand
  double bytesPerSecond = 0; ///< of data in the protocol at hand

  void use(Protocol protocol) {
    auto index = static_cast<size_t>(protocol);
    latency = messageSeconds[index];
    bytesPerSecond = fullBytesPerSecond * protocolShare[index];
  }
};

using LinkList = SmallVector<Link, 4>;

/// The bandwidth of a link that all levels below share, divided among them.
double bytesPerSecondOfDevice(unsigned index, const Pool &pool) {
  const Level &level = pool.levels[index];
  double bytesPerSecond = level.bytesPerSecond * level.efficiency;
  if (level.shared)
    for (size_t inner = index + 1; inner < pool.levels.size(); ++inner)
      bytesPerSecond /= static_cast<double>(pool.levels[inner].size);
  return bytesPerSecond;
}

Link makeLink(const GroupSpan::Part &part, const Pool &pool) {
  assert(part.level < pool.levels.size() && "the mesh has a level that the pool lacks");
  const Level &level = pool.levels[part.level];
  Link link{};
  link.level = &level;
  link.ways = static_cast<double>(part.size);
  link.fullBytesPerSecond = bytesPerSecondOfDevice(part.level, pool);
  link.pairShare = level.topology == Topology::Torus ? 0.5 : 1;
  if (level.topology == Topology::Mesh && level.peers > 0) {
    double used = std::min(1.0, (link.ways - 1) / static_cast<double>(level.peers));
    link.fullBytesPerSecond *= used;
    link.pairShare = 1 / (used * static_cast<double>(level.peers));
  }
  link.messageSeconds = {level.latencySeconds, std::sqrt(level.latencySeconds * level.bulkLatencySeconds),
                         level.bulkLatencySeconds};
  link.isTorus = level.topology == Topology::Torus;
  link.isChain = link.isTorus || part.level + 1 == pool.levels.size();
  link.depth = link.isChain ? link.ways - 1 : Log2_64_Ceil(static_cast<uint64_t>(part.size));
  return link;
}

/// The levels that a group has more than one way on, outermost first.
LinkList makeLinks(const GroupSpan &span, const Pool &pool) {
  LinkList links;
  double outer = 1;
  for (const GroupSpan::Part &part : span.parts) {
    if (part.size <= 1)
      continue;
    links.push_back(makeLink(part, pool));
    links.back().outer = outer;
    outer *= links.back().ways;
  }
  for (Link &link : links)
    link.rails = outer / (link.outer * link.ways);
  return links;
}

double groupSize(const LinkList &links) { return links.front().outer * links.front().ways * links.front().rails; }

/// AllReduce passes over the data twice: ReduceScatter, then AllGather.
double numPasses(CollectiveKind kind) { return kind == CollectiveKind::AllReduce ? 2 : 1; }

/// passes * (sum over levels of hops * latency + max over levels of (n - 1) / n * bytes / (bandwidth * rails)).
/// Of the n - 1 hops of a ring, outer * (ways - 1) cross a level.
double ringSeconds(CollectiveKind kind, const LinkList &links, double bytes) {
  double n = groupSize(links), latency = 0, transfer = 0;
  for (const Link &link : links) {
    latency += link.outer * (link.ways - 1) * link.latency;
    transfer = std::max(transfer, (n - 1) / n * bytes / (link.bytesPerSecond * link.rails));
  }
  return numPasses(kind) * (latency + transfer);
}

/// passes * (sum over levels of depth * latency + max over levels of (n - 1) / n * bytes / (0.92 * bandwidth * rails));
/// depth is ways - 1 for a chain, ceil(log2(ways)) otherwise.
std::optional<double> treeSeconds(CollectiveKind kind, const LinkList &links, double bytes) {
  if (!isRingKind(kind) || all_of(links, [](const Link &link) { return link.isChain; }))
    return std::nullopt;
  double n = groupSize(links), latency = 0, transfer = 0;
  for (const Link &link : links) {
    latency += link.depth * link.latency;
    transfer = std::max(transfer, (n - 1) / n * bytes / (treeShare * link.bytesPerSecond * link.rails));
  }
  return numPasses(kind) * (latency + transfer);
}

/// The data that a ring of `ways` sends from each device to every other one, as a share of the buffer times hops: on a
/// switch (ways - 1) / ways, on a torus the mean distance, floor(ways^2 / 4) / ways.
double exchangeShare(const Link &link) {
  return link.isTorus ? std::floor(link.ways * link.ways / 4) / link.ways : (link.ways - 1) / link.ways;
}

/// Level after level. AllGather and ReduceScatter: passes * sum of ((ways - 1) * latency + (ways - 1) / ways * bytes /
/// (rest * bandwidth)), rest being the ways of the levels further in, which have scattered the buffer by then.
/// AllToAll: every level exchanges the whole buffer.
std::optional<double> hierarchicalSeconds(CollectiveKind kind, const LinkList &links, double bytes) {
  if (links.size() < 2 || (!isRingKind(kind) && kind != CollectiveKind::AllToAll))
    return std::nullopt;
  double seconds = 0;
  for (const Link &link : links) {
    if (kind == CollectiveKind::AllToAll)
      seconds +=
          link.latency + (link.ways - 1) * link.messageSeconds[0] + exchangeShare(link) * bytes / link.bytesPerSecond;
    else
      seconds += numPasses(kind) * ((link.ways - 1) * link.latency +
                                    (link.ways - 1) / link.ways * bytes / (link.rails * link.bytesPerSecond));
  }
  return seconds;
}

/// latency + bytes / bandwidth, both of the reduction in the switch: a device sends the buffer once (ReduceScatter),
/// receives it once (AllGather), or both at the same time (AllReduce).
std::optional<double> switchSeconds(CollectiveKind kind, Protocol protocol, const LinkList &links, double bytes) {
  const Level &level = *links.front().level;
  if (!isRingKind(kind) || protocol != Protocol::Bulk || links.size() > 1 || level.switchReductionEfficiency <= 0)
    return std::nullopt;
  double bandwidth = links.front().fullBytesPerSecond / level.efficiency * level.switchReductionEfficiency;
  return level.switchReductionLatencySeconds + bytes / bandwidth;
}

/// passes * (sum of (ways - 1) * latency + (n - 1) / n * bytes / sum of bandwidths): a part of the buffer starts on
/// each ring of a torus.
std::optional<double> allRingsSeconds(CollectiveKind kind, const LinkList &links, double bytes) {
  if (!isRingKind(kind) || links.size() < 2 || !all_of(links, [](const Link &link) { return link.isTorus; }))
    return std::nullopt;
  double n = groupSize(links), latency = 0, bandwidth = 0;
  for (const Link &link : links) {
    latency += (link.ways - 1) * link.latency;
    bandwidth += link.bytesPerSecond;
  }
  return numPasses(kind) * (latency + (n - 1) / n * bytes / bandwidth);
}

/// AllToAll: the slowest level's latency + sum of messages * low latency + max over levels of share / outer * bytes /
/// bandwidth; (ways - 1) * rails messages cross a level. A message that leaves a node does not pass the links inside
/// it; in a torus it does (outer is 1). Permute: one message over the slowest level.
std::optional<double> directSeconds(CollectiveKind kind, const LinkList &links, double bytes) {
  double start = 0, messages = 0, transfer = 0;
  for (const Link &link : links) {
    if (kind == CollectiveKind::Permute) {
      transfer = std::max(transfer, link.latency + bytes / (link.pairShare * link.bytesPerSecond));
      continue;
    }
    start = std::max(start, link.latency);
    messages += (link.ways - 1) * link.rails * link.messageSeconds[0];
    transfer = std::max(transfer, exchangeShare(link) / (link.isTorus ? 1 : link.outer) * bytes / link.bytesPerSecond);
  }
  if (kind != CollectiveKind::Permute && kind != CollectiveKind::AllToAll)
    return std::nullopt;
  return start + messages + transfer;
}

std::optional<double> transferSeconds(CollectiveAlgorithm algorithm, Protocol protocol, CollectiveKind kind,
                                      const LinkList &links, double bytes) {
  switch (algorithm) {
  case CollectiveAlgorithm::Ring:
    return isRingKind(kind) ? std::optional(ringSeconds(kind, links, bytes)) : std::nullopt;
  case CollectiveAlgorithm::Tree:
    return treeSeconds(kind, links, bytes);
  case CollectiveAlgorithm::Hierarchical:
    return hierarchicalSeconds(kind, links, bytes);
  case CollectiveAlgorithm::Switch:
    return switchSeconds(kind, protocol, links, bytes);
  case CollectiveAlgorithm::AllRings:
    return allRingsSeconds(kind, links, bytes);
  case CollectiveAlgorithm::Direct:
    return directSeconds(kind, links, bytes);
  }
  llvm_unreachable("an algorithm without a formula");
}

constexpr CollectiveAlgorithm algorithms[] = {CollectiveAlgorithm::Ring,         CollectiveAlgorithm::Tree,
                                              CollectiveAlgorithm::Hierarchical, CollectiveAlgorithm::Switch,
                                              CollectiveAlgorithm::AllRings,     CollectiveAlgorithm::Direct};
constexpr Protocol protocols[] = {Protocol::LowLatency, Protocol::Mixed, Protocol::Bulk};

} // namespace

bool isRingKind(CollectiveKind kind) { return isReduction(kind) || kind == CollectiveKind::AllGather; }

int64_t GroupSpan::size() const {
  int64_t size = 1;
  for (const Part &part : parts)
    size *= part.size;
  return size;
}

std::optional<double> algorithmSeconds(CollectiveAlgorithm algorithm, Protocol protocol, CollectiveKind kind,
                                       const GroupSpan &span, int64_t bytes, const Pool &pool) {
  LinkList links = makeLinks(span, pool);
  for (Link &link : links)
    link.use(protocol);
  if (links.empty() || kind == CollectiveKind::Slice)
    return std::nullopt;
  std::optional<double> seconds = transferSeconds(algorithm, protocol, kind, links, static_cast<double>(bytes));
  if (seconds)
    *seconds += pool.device.collectiveLaunchSeconds;
  return seconds;
}

CollectiveCost collectiveCost(CollectiveKind kind, const GroupSpan &span, int64_t bytes, const Pool &pool) {
  assert(bytes >= 0 && "a buffer of negative size");
  CollectiveCost best;
  LinkList links = makeLinks(span, pool);
  if (links.empty() || kind == CollectiveKind::Slice)
    return best;
  bool isFirst = true;
  for (Protocol protocol : protocols) {
    for (Link &link : links)
      link.use(protocol);
    for (CollectiveAlgorithm algorithm : algorithms) {
      std::optional<double> seconds = transferSeconds(algorithm, protocol, kind, links, static_cast<double>(bytes));
      if (!seconds || (!isFirst && *seconds >= best.seconds))
        continue;
      best = {*seconds, algorithm, protocol};
      isFirst = false;
    }
  }
  best.seconds += pool.device.collectiveLaunchSeconds;
  return best;
}

double collectiveSeconds(CollectiveKind kind, const GroupSpan &span, int64_t bytes, const Pool &pool) {
  return collectiveCost(kind, span, bytes, pool).seconds;
}

} // namespace apc
