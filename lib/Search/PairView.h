// What shaving compares of a table of pairs.
#pragma once

#include "PairKinds.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace apc::dp {

/// Of many pairs; what covers another has no larger total, as rounding keeps order.
struct Total {
  size_t impossible = 0;
  double seconds = 0; ///< of the possible ones

  void operator+=(const Total &other) {
    impossible += other.impossible;
    seconds += other.seconds;
  }
  friend auto operator<=>(const Total &, const Total &) = default;
};

/// The node's strategies as one role sees them, by kind: all strategies of a kind have the same pairs.
class PairView {
public:
  /// \p pairs has a row for each strategy of the node; only \p columns count.
  PairView(const PairsByKind &pairs, llvm::ArrayRef<uint32_t> columns)
      : pairs(&pairs), relations(pairs.numRows * pairs.numRows, Relation::Unknown) {
    cells.reserve(pairs.numRows * columns.size());
    for (size_t kind = 0; kind < pairs.numRows; ++kind) {
      Total &total = totals.emplace_back();
      for (uint32_t column : columns) {
        double cell = pairs.cells[kind * pairs.numColumns + column];
        total += std::isnan(cell) ? Total{1, 0} : Total{0, cell};
        cells.push_back(std::isnan(cell) ? ceiling : cell);
      }
    }
    length = columns.size();
  }

  uint32_t kindOf(uint32_t strategy) const { return pairs->rowKindOf[strategy]; }
  const Total &totalOf(uint32_t kind) const { return totals[kind]; }
  bool fits(uint32_t kind) const { return totals[kind].impossible < length; }
  /// Is every pair of `a` at most as dear as that of `b`?
  bool covers(uint32_t a, uint32_t b) {
    Relation &relation = relations[b * pairs->numRows + a];
    if (relation == Relation::Unknown) {
      bool isCovering =
          totals[a] <= totals[b] && std::equal(row(a), row(a) + length, row(b), std::less_equal<double>());
      relation = isCovering ? Relation::Covers : Relation::CoversNot;
    }
    return relation == Relation::Covers;
  }

  size_t numCells() const { return cells.size(); }

private:
  enum class Relation : uint8_t { Unknown, Covers, CoversNot };

  /// Above every price that `check` accepts: an impossible pair is worse than all.
  static constexpr double ceiling = 0x1p300;

  const double *row(size_t kind) const { return cells.data() + kind * length; }

  const PairsByKind *pairs;
  std::vector<double> cells; ///< a row for each kind, a column for each kind that the neighbour keeps
  size_t length = 0;
  std::vector<Total> totals;       ///< by kind
  std::vector<Relation> relations; ///< of each kind to each, made when asked for
};

} // namespace apc::dp
