// The problem without dominated strategies, as dense tables with shared ids. Most searches work on it.
#pragma once

#include "Pruning.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <limits>
#include <memory>
#include <variant>
#include <vector>

namespace apc {

/// The costs of the surviving strategies of a node. Equal tables have one id, so that repeated layers look the same.
struct UnaryTable {
  std::vector<double> seconds;
  std::vector<int64_t> persistentBytes;
  std::vector<int64_t> transientBytes;

  size_t size() const { return seconds.size(); }
  friend bool operator==(const UnaryTable &, const UnaryTable &) = default;
};

/// How a search weighs the own costs of a strategy: seconds + secondsPerByte * persistent bytes. Strategies with more
/// transient bytes than the maximum are impossible.
/// Example: {.secondsPerByte = 2e-12} makes a GB cost 2 ms.
struct Weights {
  double secondsPerByte = 0;
  int64_t maxTransientBytes = std::numeric_limits<int64_t>::max();
};

/// The cells of a table, which may be those of other tables, too.
class SharedCells {
public:
  SharedCells(std::vector<double> own) : cells(std::make_shared<const std::vector<double>>(std::move(own))) {}
  SharedCells(std::shared_ptr<const std::vector<double>> cells) : cells(std::move(cells)) {}

  operator llvm::ArrayRef<double>() const { return *cells; }
  size_t size() const { return cells->size(); }
  const double *data() const { return cells->data(); }
  const double *begin() const { return data(); }
  const double *end() const { return data() + size(); }
  double operator[](size_t index) const { return (*cells)[index]; }

private:
  std::shared_ptr<const std::vector<double>> cells;
};

/// A dense table of seconds over one or more variables, the last one contiguous. An impossible cell is a NaN.
/// Example: sizes {2, 3}, the cell of (1, 2) is cells[1 * 3 + 2].
struct DenseTable {
  llvm::SmallVector<uint32_t, 4> sizes;
  SharedCells cells;
};

/// A table applied to nodes, in ascending order.
struct Potential {
  uint32_t table;
  llvm::SmallVector<uint32_t, 2> scope;
  uint32_t edge; ///< of the problem
};

/// Strategies are numbered within the surviving ones of their node; `expand` and `compress` translate.
struct ReducedProblem {
  std::vector<UnaryTable> unaries;
  std::vector<uint32_t> unaryOf;  ///< for each node
  std::vector<DenseTable> leaves; ///< the tables of edges; `dp` makes further tables from them
  /// At most one for each edge. A table whose cells are all equal goes into `constantSeconds`; the table of an edge
  /// with a node that has one strategy left is over the other node alone.
  std::vector<Potential> potentials;
  double constantSeconds = 0;
  Survivors survivors;

  size_t numNodes() const { return unaryOf.size(); }
  const UnaryTable &unary(size_t node) const { return unaries[unaryOf[node]]; }
  Assignment expand(llvm::ArrayRef<uint32_t> chosen) const;
  /// The inverse of `expand`; a strategy that was pruned becomes the first surviving one.
  std::vector<uint32_t> compress(const Assignment &assignment) const;
};

/// The tables of the surviving strategies. \p numThreads never changes a result.
std::variant<ReducedProblem, Impossible> tablesOf(const Problem &problem, Survivors survivors, unsigned numThreads = 1);

/// The nanoseconds that `reduceProblem` takes, about.
double reductionWork(const Problem &problem);

/// The tables of the strategies that \ref pruneDominated keeps. Pruning begins with the survivors of \p start, if
/// given.
std::variant<ReducedProblem, Impossible> reduceProblem(const Problem &problem, Dominance dominance,
                                                       const ReducedProblem *start = nullptr, unsigned numThreads = 1);

} // namespace apc
