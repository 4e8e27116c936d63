// A table of pairs in the form in which pruning compares strategies.
#pragma once

#include "MinPlus.h"
#include "PairKinds.h"

#include <algorithm>
#include <atomic>
#include <cmath>

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
  PairView(const PairView &) = delete; // `cells` may refer to `copied`

  /// Those of a view.
  static size_t numBytes(const PairsByKind &pairs, llvm::ArrayRef<uint32_t> columns) {
    size_t numCopied = columns.size() < pairs.numColumns ? pairs.numRows * columns.size() : 0;
    return numCopied * sizeof(double) + (pairs.numRows <= mostRemembered ? pairs.numRows * pairs.numRows : 0);
  }

  /// \p pairs has a row for each strategy of the node; only \p columns count. Its cells must outlive this.
  PairView(const PairsByKind &pairs, llvm::ArrayRef<uint32_t> columns) : pairs(&pairs), length(columns.size()) {
    for (size_t kind = 0; kind < pairs.numRows; ++kind) {
      Total &total = totals.emplace_back();
      for (uint32_t column : columns) {
        double cell = pairs.cells[kind * pairs.numColumns + column];
        total += std::isnan(cell) ? Total{1, 0} : Total{0, cell};
      }
    }
    if (length < pairs.numColumns)
      copy(columns);
    cells = length < pairs.numColumns ? llvm::ArrayRef(copied) : pairs.cells;
    if (pairs.numRows <= mostRemembered)
      relations.assign(pairs.numRows * pairs.numRows, Relation::Unknown);
    findWitnesses();
  }

  uint32_t kindOf(uint32_t strategy) const { return pairs->rowKindOf[strategy]; }
  const Total &totalOf(uint32_t kind) const { return totals[kind]; }
  bool fits(uint32_t kind) const { return totals[kind].impossible < length; }
  /// Does every pair of `a` take at most as long as the same pair of `b`? An impossible pair is the worst. Several
  /// threads may ask at the same time.
  bool dominates(uint32_t a, uint32_t b) {
    if (relations.empty())
      return compare(a, b);
    std::atomic_ref<Relation> relation(relations[b * pairs->numRows + a]);
    Relation known = relation.load(std::memory_order_relaxed);
    if (known == Relation::Unknown) {
      known = compare(a, b) ? Relation::Dominates : Relation::DoesNotDominate;
      relation.store(known, std::memory_order_relaxed);
    }
    return known == Relation::Dominates;
  }

private:
  enum class Relation : uint8_t { Unknown, Dominates, DoesNotDominate };

  static constexpr size_t mostRemembered = 512; ///< kinds: 256 KiB of relations

  const double *row(size_t kind) const { return cells.data() + kind * length; }

  void copy(llvm::ArrayRef<uint32_t> columns) {
    copied.reserve(pairs->numRows * length);
    for (size_t kind = 0; kind < pairs->numRows; ++kind)
      for (uint32_t column : columns)
        copied.push_back(pairs->cells[kind * pairs->numColumns + column]);
  }

  bool compare(uint32_t a, uint32_t b) const {
    auto isNoWorse = [](double own, double other) { return own <= other || std::isnan(other); };
    return totals[a] <= totals[b] && (length == 0 || isNoWorse(row(a)[witnesses[b]], row(b)[witnesses[b]])) &&
           std::equal(row(a), row(a) + length, row(b), isNoWorse);
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
  llvm::ArrayRef<double> cells; ///< a row for each kind, a column for each kind that the neighbour still has
  std::vector<double> copied;   ///< holds `cells` where they are not those of `pairs`
  size_t length;
  std::vector<Total> totals;       ///< by kind
  std::vector<uint32_t> witnesses; ///< by kind: a column
  std::vector<Relation> relations; ///< of each kind to each, found on demand; empty where there are too many kinds
};

} // namespace apc
