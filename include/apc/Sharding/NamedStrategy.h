// A strategy that names the factors it cuts, so that it can be read without the rule of its op.
#pragma once

#include "apc/Sharding/Strategy.h"

namespace apc {

/// The strategy of a plan. `{{"m", {node}}, {"k", {gpu}}}` prints as `m:node k:gpu`.
struct NamedStrategy {
  /// A factor that is cut, or a group of linear operands (`passing0`) that enter while partial, with its axes.
  struct Cut {
    std::string factor;
    AxisList axes;

    friend bool operator==(const Cut &, const Cut &) = default;
  };
  std::vector<Cut> cuts; ///< in the order of the rule; empty: nothing is cut

  static NamedStrategy of(const Strategy &strategy, const FactorRule &rule);
  /// `b0:node k:gpu`, `m:(x0 x1)`, or `replicated` when no axis is used.
  std::string str(const Mesh &mesh) const;
  /// Reads what `str` writes. Errors (input) name the text, the word and the mesh.
  static llvm::Expected<NamedStrategy> parse(llvm::StringRef text, const Mesh &mesh);
  /// The strategy for an op with `rule`. Errors (input): a name that is no factor of the rule, an illegal strategy.
  llvm::Expected<Strategy> bind(const FactorRule &rule, const Mesh &mesh) const;

  friend bool operator==(const NamedStrategy &, const NamedStrategy &) = default;
};

} // namespace apc
