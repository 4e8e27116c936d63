// Strategies and shardings with names in place of indices, so that they can be read without rule and mesh.
#pragma once

#include "apc/Sharding/Strategy.h"

namespace apc {

/// The names of axes, major first.
using AxisNames = std::vector<std::string>;

/// The strategy of a plan. `{{"m", {"node"}}, {"k", {"x0", "x1"}}}` prints as `m:node k:(x0 x1)`.
struct NamedStrategy {
  /// A factor that is cut, or a group of linear operands (`passing0`) that enter while partial, with its axes.
  struct Cut {
    std::string factor;
    AxisNames axes;

    friend bool operator==(const Cut &, const Cut &) = default;
  };
  std::vector<Cut> cuts; ///< in the order of the result's dims, then sums; empty: nothing is cut

  static NamedStrategy of(const Strategy &strategy, const FactorRule &rule, const Mesh &mesh);
  /// `b0:node k:gpu`, or `replicated` when no axis is used.
  std::string str() const;
  /// Reads the form that `str` prints. Errors (input) name the text and the word.
  static llvm::Expected<NamedStrategy> parse(llvm::StringRef text);
  /// The strategy for an op with `rule` on `mesh`. Errors (input): a name that is no factor of the rule or no axis of
  /// the mesh, an illegal strategy.
  llvm::Expected<Strategy> bind(const FactorRule &rule, const Mesh &mesh) const;

  friend bool operator==(const NamedStrategy &, const NamedStrategy &) = default;
};

/// The sharding of a plan. `{{{"x0"}, {}}, {"x1"}, Sum}` prints as `[x0, -] sum{x1}`.
struct NamedSharding {
  std::vector<AxisNames> dims;
  AxisNames partial;
  Combiner combiner = Combiner::Sum;
  /// By dim, the parts inside which it is cut, `{{}, {256, 128, 128}}`; empty when no dim is cut so.
  std::vector<std::vector<int64_t>> parts = {};

  static NamedSharding of(const Sharding &sharding, const Mesh &mesh);
  std::string str() const;
  /// The sharding on `mesh`. Errors (input): a name that is no axis of the mesh, parts of a dim that is not cut.
  llvm::Expected<Sharding> bind(const Mesh &mesh) const;

  friend bool operator==(const NamedSharding &, const NamedSharding &) = default;
};

} // namespace apc
