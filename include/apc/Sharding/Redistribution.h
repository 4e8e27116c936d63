// The collective collectives that take a tensor from one sharding to another. The collectives that are costed are the
// collectives that are emitted.
#pragma once

#include "apc/Sharding/Sharding.h"

#include <functional>
#include <map>
#include <memory>

namespace apc {

/// AllGather     drops the minor axes `axes` of dim `fromDim`
/// Slice         appends `axes` as minor axes of dim `toDim` (free: each device keeps its part)
/// AllToAll      moves the minor axes `axes` of dim `fromDim` to the end of dim `toDim`
/// ReduceScatter settles the partial axes `axes` and appends them to dim `toDim`
/// AllReduce     settles the partial axes `axes`
/// Permute       sends each device's piece to another device: the tensor takes `result` directly (axes exchange places)
enum class CollectiveKind : uint8_t { AllGather, Slice, AllToAll, ReduceScatter, AllReduce, Permute };

llvm::StringRef collectiveName(CollectiveKind kind); ///< "AllGather", ...

/// True for AllReduce and ReduceScatter, which combine pieces.
constexpr bool isReduction(CollectiveKind kind) {
  return kind == CollectiveKind::AllReduce || kind == CollectiveKind::ReduceScatter;
}

struct Collective {
  CollectiveKind kind = CollectiveKind::Slice;
  AxisList axes;          ///< the group: all ranks that differ along these axes only
  unsigned fromDim = 0;   ///< AllGather, AllToAll
  unsigned toDim = 0;     ///< Slice, AllToAll, ReduceScatter
  Sharding result;        ///< the sharding after this collective
  int64_t inputBytes = 0; ///< bytes of the padded local piece before the collective, on one device
  int64_t outputBytes = 0;
  Combiner combiner = Combiner::Sum; ///< of AllReduce and ReduceScatter: how pieces combine
  int64_t wholeBytes = 0;            ///< of the whole tensor

  /// `AllToAll{x1} 0->1`, `Slice{x1} ->1{256 128 128}` when the dim is cut inside parts from then on
  std::string str(const Mesh &mesh) const;
  /// Reads what `str` writes, as a collective that is taken from `from`; sets `result` and the bytes.
  static llvm::Expected<Collective> parse(llvm::StringRef text, const Sharding &from, const TensorShape &shape,
                                          const Mesh &mesh);
  friend bool operator==(const Collective &, const Collective &) = default;
};

/// The exchanges between devices that carry a collective out: none for a Slice; two where pieces combine by LogSumExp,
/// an AllReduce of the greatest and then the collective itself, of the sum of the exponentials below it; one otherwise.
unsigned numExchanges(const Collective &collective);

/// The sharding that a collective of `kind` over `axes` takes `from` to; dims are used as in Collective. Errors when
/// the collective cannot be taken: AllGather{x1} of a dim whose minor axes are not x1. Permute has no result of its
/// own: an error. A dim that is not cut is cut inside `toParts` from then on; one that is cut keeps its parts.
llvm::Expected<Sharding> applyCollective(CollectiveKind kind, const AxisList &axes, unsigned fromDim, unsigned toDim,
                                         const Sharding &from, const Mesh &mesh, llvm::ArrayRef<int64_t> toParts = {});
/// An error that names both shardings unless a collective of `kind` over the group `axes` takes `from` to `to`.
llvm::Error checkCollective(CollectiveKind kind, const AxisList &axes, const Sharding &from, const Sharding &to,
                            const TensorShape &shape, const Mesh &mesh);

/// Whom a rank sends its piece to in a Permute, and whose piece it gets; both may be itself.
struct PermutePeers {
  int64_t sendTo = 0;
  int64_t receiveFrom = 0;
};
/// For each rank of `mesh.group(rank, axes)`, in its order. The k-th rank of a group that needs a piece gets it from
/// the k-th rank that holds it: on `[x0=2, x1=2]` from `[x0]` to `[x1]`, rank 1 is the second of 0 and 1 that hold
/// piece 0, so it sends to the second of 0 and 2 that need it; it needs piece 1, of which 2 is the first holder. A
/// Permute over `axes` must take `from` to `to`.
std::vector<PermutePeers> permutePeers(const AxisList &axes, const Sharding &from, const Sharding &to, const Mesh &mesh,
                                       int64_t rank);

/// The seconds of one collective; must be positive for everything that communicates and >= 0 for Slice. It is asked
/// once for each distinct (kind, axes, dims, bytes, combiner) of a tensor, with `result` left empty: the seconds follow
/// from these and the bytes of the tensor alone. The combiner is LogSumExp or Sum, which stands for all others.
using SecondsOfCollective = std::function<double(const Collective &)>;

/// A sequence of collectives and its seconds.
struct Redistribution {
  std::vector<Collective> collectives;
  double seconds = 0;
};

/// Cheapest sequences of collectives between shardings of one tensor, by shortest path (Dijkstra) over all its
/// shardings on this mesh: exact for the cost given, for collectives over any suffix of a dim's axes. One search for
/// each distinct source, kept. Not safe to share between threads.
///
/// Every pair is reachable unless the target is partial over an axis that the source is not partial over, or with
/// another combiner (there is no collective that makes a tensor partial): an empty optional. Ties: fewer collectives,
/// then the sharding met first in a fixed order.
///
/// The space: every axis of the mesh may be used on the way, idle ones too, because slicing first makes what is sent
/// smaller: `[-] sum{node}` with `gpu` idle is reduced by Slice{gpu}, AllReduce{node}, AllGather{gpu}. A dim is never
/// cut into more pieces than it has elements unless source or target does so. Permute goes to any sharding with as many
/// pieces in each dim, where the dims whose axes change divide evenly (pieces are the same, only their holders
/// differ); `axes` are all axes that change their place, and within a group the k-th rank that needs a piece gets
/// it from the k-th rank that holds it.
///
/// A dim that source or target cuts inside parts may on the way be cut so, or as one run, but not both.
///
/// Beyond 12,000 shardings (5 axes with 4 dims, 4 axes with 8 dims) the space is that of the pair: idle axes are
/// left out, axes that stay neighbours move as one, and two of the uncut dims may be used on the way. Where even
/// that is too large, the collectives are AllReduce, AllGather and Slice without a search.
class Redistributor {
public:
  Redistributor(const TensorShape &shape, const Mesh &mesh, SecondsOfCollective cost);
  ~Redistributor();
  Redistributor(Redistributor &&) noexcept;

  /// Seconds only, without building the collectives.
  std::optional<double> seconds(const Sharding &from, const Sharding &to);
  std::optional<Redistribution> collectives(const Sharding &from, const Sharding &to);

private:
  struct State;
  State &stateFor(const Sharding &from);
  std::unique_ptr<State> state;
  std::unique_ptr<State> ofLogSums; ///< for tensors that combine by LogSumExp, made when first asked for
};

/// The redistributors of all tensors on one mesh, each made when it is first asked for: tensors of one shape share
/// their searches. Not safe to share between threads.
class Redistributors {
public:
  Redistributors(const Mesh &mesh, SecondsOfCollective cost) : mesh(mesh), cost(std::move(cost)) {}

  Redistributor &of(const TensorShape &shape);

private:
  Mesh mesh;
  SecondsOfCollective cost;
  /// By the bits of an element and the extents.
  std::map<std::pair<unsigned, llvm::SmallVector<int64_t, 4>>, Redistributor> byShape;
};

} // namespace apc
