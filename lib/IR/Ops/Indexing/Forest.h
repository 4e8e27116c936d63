// The nodes and leaves of a tree_ensemble.
#pragma once

#include "apc/IR/Ops/Indexing/Indexing.h"

#include <cmath>
#include <set>

namespace apc {

namespace forests {

enum Mode : int64_t { LessOrEqual, Less, GreaterOrEqual, Greater, Equal, NotEqual, Member };
enum Aggregate : int64_t { Average, Sum, Least, Greatest };
enum Transform : int64_t { None, SoftMax, Logistic, SoftMaxZero, Probit };

/// Where a node leads: another node, or a leaf.
struct Child {
  int64_t index;
  bool isLeaf;
};

struct TreeNode {
  int64_t feature, mode;
  double split;
  bool tracksMissing; ///< NaN leads where the test holds
  Child whenTrue, whenFalse;
  std::set<double> members; ///< of mode Member

  bool holds(double value) const {
    if (std::isnan(value) && tracksMissing)
      return true;
    switch (mode) {
    case LessOrEqual:
      return value <= split;
    case Less:
      return value < split;
    case GreaterOrEqual:
      return value >= split;
    case Greater:
      return value > split;
    case Equal:
      return value == split;
    case NotEqual:
      return value != split;
    default:
      return members.count(value) > 0;
    }
  }
};

/// The trees of an ensemble.
struct Forest {
  std::vector<TreeNode> nodes;
  llvm::ArrayRef<int64_t> roots, targets;
  std::vector<double> weights;
  std::vector<int64_t> begins; ///< of each leaf in targets and weights, and their end
  int64_t numTargets = 1;

  /// The leaf that a row of features reaches; none for nodes in a circle.
  std::optional<int64_t> leafOf(int64_t root, llvm::ArrayRef<double> features) const {
    Child at{root, false};
    for (size_t steps = 0; !at.isLeaf && steps <= nodes.size(); ++steps) {
      const TreeNode &node = nodes[at.index];
      at = node.holds(features[node.feature]) ? node.whenTrue : node.whenFalse;
    }
    return at.isLeaf ? std::optional(at.index) : std::nullopt;
  }
};

} // namespace forests

/// An error at the op where its attributes are no trees over its features.
mlir::FailureOr<forests::Forest> readForest(TreeEnsembleOp op);

} // namespace apc
