// A table of pairs in the form in which pruning compares strategies.
#pragma once

#include "PairKinds.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace apc {

/// The sum of many pairs. A dominating strategy never has a larger total: rounding keeps the order.
struct Total {
  size_t impossible = 0;
  double seconds = 0; ///< of the possible pairs

  void operator+=(const Total &other) {
    impossible += other.impossible;
    seconds += other.seconds;
  }
  friend auto operator<=>(const Total &, const Total &) = default;
};

/// The strategies of a node on one of its edges, by kind: all strategies of a kind have the same pairs.
class PairView {
public:
  /// \p pairs has a row for each strategy of the node; only \p columns count.
  PairView(const PairsByKind &pairs, llvm::ArrayRef<uint32_t> columns) : pairs(&pairs) {
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
    if (pairs.numRows <= mostRemembered)
      relations.assign(pairs.numRows * pairs.numRows, Relation::Unknown);
    findWitnesses();
  }

  uint32_t kindOf(uint32_t strategy) const { return pairs->rowKindOf[strategy]; }
  const Total &totalOf(uint32_t kind) const { return totals[kind]; }
  bool fits(uint32_t kind) const { return totals[kind].impossible < length; }
  /// Does every pair of `a` take at most as long as the same pair of `b`?
  bool dominates(uint32_t a, uint32_t b) {
    if (relations.empty())
      return compare(a, b);
    Relation &relation = relations[b * pairs->numRows + a];
    if (relation == Relation::Unknown)
      relation = compare(a, b) ? Relation::Dominates : Relation::DoesNotDominate;
    return relation == Relation::Dominates;
  }

  size_t numBytes() const { return cells.size() * sizeof(double) + relations.size(); }

private:
  enum class Relation : uint8_t { Unknown, Dominates, DoesNotDominate };

  static constexpr size_t mostRemembered = 512; ///< kinds: 256 KiB of relations

  /// Above every cost that `check` accepts, so that an impossible pair is the worst.
  static constexpr double ceiling = 0x1p300;

  const double *row(size_t kind) const { return cells.data() + kind * length; }

  bool compare(uint32_t a, uint32_t b) const {
    return totals[a] <= totals[b] && (length == 0 || row(a)[witnesses[b]] <= row(b)[witnesses[b]]) &&
           std::equal(row(a), row(a) + length, row(b), std::less_equal<double>());
  }

  /// For each kind, a column in which few other kinds are as good: it has the minimum of the column, which the fewest
  /// other kinds share. Most comparisons end with this column.
  void findWitnesses() {
    std::vector<double> least(length, ceiling);
    for (size_t kind = 0; kind < pairs->numRows; ++kind)
      for (size_t column = 0; column < length; ++column)
        least[column] = std::min(least[column], row(kind)[column]);
    std::vector<uint32_t> equals(length, 0);
    for (size_t kind = 0; kind < pairs->numRows; ++kind)
      for (size_t column = 0; column < length; ++column)
        equals[column] += row(kind)[column] == least[column];
    for (size_t kind = 0; kind < pairs->numRows; ++kind) {
      uint32_t witness = 0;
      size_t fewest = pairs->numRows + 1;
      for (size_t column = 0; column < length; ++column)
        if (equals[column] < fewest && row(kind)[column] == least[column]) {
          witness = column;
          fewest = equals[column];
        }
      witnesses.push_back(witness);
    }
  }

  const PairsByKind *pairs;
  std::vector<double> cells; ///< a row for each kind, a column for each kind that the neighbour still has
  size_t length = 0;
  std::vector<Total> totals;       ///< by kind
  std::vector<uint32_t> witnesses; ///< by kind: a column
  std::vector<Relation> relations; ///< of each kind to each, found on demand; empty where there are too many kinds
};

} // namespace apc
