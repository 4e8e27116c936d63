// Fusion of communication: the values that may take a collective together, and the seconds that they take then.
#pragma once

#include "apc/Cost/CostModel.h"
#include "apc/Graph/OpGraph.h"

#include <map>
#include <optional>
#include <vector>

namespace apc {

/// The values of a graph that may be exchanged together, in groups, and the most bytes of one exchange. Two gradients
/// of 8 MiB in group 0: groupOf = {0, 0}, groupBytes = {16 MiB}.
///
/// Weights that are gathered for their use travel by the layer at most, and so do gradients that are reduced into
/// parts: two layers are whole at once then, however long the latency of many devices makes a bucket. FSDP does so
/// (torchtitan torchtitan/distributed/fsdp.py wraps each block).
struct Fusion {
  std::vector<std::optional<unsigned>> groupOf; ///< by value; none: the value moves alone. Empty: all do
  std::vector<int64_t> groupBytes;              ///< by group: the whole tensors of its values, each once
  std::optional<int64_t> mostBytes;             ///< of a bucket on one device; none: by the link of its collective
  std::optional<int64_t> layerElements = {};    ///< of the parameters of a layer; none: the graph repeats none
  /// By group: the bytes of as many elements, where values travel by the layer; empty: none do.
  std::vector<std::optional<int64_t>> layerBytes = {};

  std::optional<unsigned> group(ValueId value) const { return groupOf.empty() ? std::nullopt : groupOf[value.index()]; }
  /// The most bytes of whole tensors of a group in an exchange of this kind.
  int64_t mostWholeBytes(unsigned group, CollectiveKind kind) const;
};

/// The bytes of a collective at which the algorithm that is then the fastest spends 5 % of its time on latency: 19
/// latency * bandwidth, rounded up to whole MiB; the largest such size where several algorithms have one. More bytes
/// in one exchange save next to nothing and begin later. \p bytes of the collective do not count. 20 us and 50 GB/s:
/// 19 MB.
int64_t efficientBytes(const Collective &collective, const CostModel &model);

/// Seconds of collectives of values that may be exchanged together. Not safe to share between threads.
class FusedCosts {
public:
  /// Refers to `fusion`.
  FusedCosts(const Fusion &fusion, const CostModel &model) : fusion(fusion), model(model) {}

  /// The most bytes of one exchange of this kind over these ranks.
  int64_t bucketBytes(const Collective &collective);

  /// The least seconds that a value of `group` may add to an exchange that others share. With s the bytes of the
  /// value's collective, w those of the whole value, T the most bytes of a bucket and W the most of its whole values,
  /// and P the bytes of a bucket with W where all devices beside those of the collective cut the values, too:
  ///
  /// - s seconds(T) / T where P > T / 2, for such a bucket fills the link; and where one bucket may have all of the
  ///   group, of which a search chooses who is in it;
  /// - a w / W + b s otherwise, with a + b P = seconds(P) and a + b T = seconds(T): the values of a layer do not fill
  ///   the link, and have all of the latency a to themselves.
  ///
  /// The values of a bucket never add up to more than it takes. Every formula of a collective is a + b T with a >= 0,
  /// or the greatest or least of such, so that seconds(T) / T never rises with T: that is the first. For the second the
  /// least alone, hence concave: a bucket of S bytes and O <= W whole ones has a O / W + b S; where S >= P that lies
  /// below the chord from P to T, and where S < P, for O <= S W / P, below that from 0 to P. Values of more than T
  /// bytes move alone.
  double leastSeconds(const Collective &collective, unsigned group);

private:
  const Fusion &fusion;
  CostModel model;
  std::map<std::pair<CollectiveKind, AxisList>, int64_t> limits; ///< by kind and ranks
};

} // namespace apc
