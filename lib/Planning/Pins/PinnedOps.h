// Pins bound to the ops of a graph: which strategies they leave, and on which meshes.
#pragma once

#include "apc/Cluster/Cluster.h"
#include "apc/Graph/OpGraph.h"
#include "apc/Plan/Pins.h"
#include "apc/Sharding/Mesh.h"

namespace apc {

/// Ops with the pins that match them. Graph and pins are kept by value or outlive this.
class PinnedOps {
public:
  /// Matches pins with ops that have operands; a pin that matches none of them, with inputs, parameters and outputs. Of
  /// ops that are decided together a pin is on the one that leads, where its name matches.
  /// Errors (input): a pin that matches nothing; a factor that a matched op does not have; a level that the cluster
  /// does not have; two pins that want different things of one factor of one op. Each names the pin, the op and what
  /// would be accepted.
  static llvm::Expected<PinnedOps> bind(const OpGraph &graph, const Pool &pool, std::vector<Pin> pins);

  bool empty() const { return pins.empty(); }
  llvm::ArrayRef<Pin> getPins() const { return pins; }
  bool isPinned(OpId op) const { return !pinsOf.empty() && !pinsOf[op.index()].empty(); }
  /// True when every pin on the op is met.
  bool allows(OpId op, const Strategy &strategy, const Mesh &mesh) const;
  bool allowsAll(llvm::ArrayRef<Strategy> strategies, const Mesh &mesh) const;
  /// The pins on an op, for messages: `pin 'fc: n=8' (--pin)`.
  std::string describe(OpId op) const;

  /// The logical meshes of at most `maxAxes` axes on which every pinned op has a legal strategy; where there are none,
  /// those of one axis more, and so on. Errors (input): an op to which its pins leave no strategy on any mesh; an op
  /// and its gradients, which are decided together, to which theirs leave none; pins that no one mesh meets together.
  llvm::Expected<std::vector<Mesh>> suitableMeshes(const OpGraph &graph, unsigned maxAxes) const;

private:
  llvm::Error match(const OpGraph &graph, unsigned pin, bool sources, unsigned &count);
  llvm::Error checkFactors(const OpGraph &graph, OpId op, const Pin &pin) const;
  llvm::Error checkLevels(const Pin &pin) const;
  bool cuts(const PinnedFactor &factor) const; ///< n=8, n=device; not n=1, nor n=node on one node
  /// A factor that `cutting` cuts and `closed`, by not naming it, leaves whole; none where `closed` has '...'.
  const PinnedFactor *cutBesides(const Pin &cutting, const Pin &closed) const;
  bool suits(const OpGraph &graph, OpId op, const Mesh &mesh) const;
  /// Ties with pinned ops, one for each set of rules and pins.
  std::vector<TiedOps> pinnedTies(const OpGraph &graph) const;
  /// Some strategy of the leader meets the pins on all ops that follow it.
  bool suits(const OpGraph &graph, const TiedOps &tie, const Mesh &mesh) const;
  llvm::Error nothingLeft(const OpGraph &graph, const TiedOps &tie) const;
  llvm::Error nothingLeft(const OpGraph &graph, OpId op, llvm::ArrayRef<Mesh> meshes) const;
  std::vector<OpId> distinctOps(const OpGraph &graph) const;

  std::vector<Pin> pins;
  std::vector<std::vector<unsigned>> pinsOf;         ///< by op: indices into `pins`
  std::vector<std::vector<std::string>> factorNames; ///< by op, of pinned ops
  std::vector<std::string> levels;
  std::vector<int64_t> levelSizes;
};

} // namespace apc
