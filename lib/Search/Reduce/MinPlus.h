// The inner loops of the searches: rows of minimal sums. A NaN means "impossible" and is never the minimum.
#pragma once

#include "llvm/ADT/ArrayRef.h"

namespace apc {

/// Above every sum of costs that `Problem::check` accepts and of the messages of a bound.
inline constexpr double ceiling = 0x1p300;

/// Rows of a table, one for each state of the eliminated variable: row v starts at cells + v * stride.
struct RowsOfStates {
  const double *cells;
  size_t stride;
};

/// out[t] = the minimum of `ceiling` and, over all v, bases[v] + (row v of `rows`)[t].
void minOverStates(llvm::MutableArrayRef<double> out, llvm::ArrayRef<double> bases, RowsOfStates rows, double ceiling);
/// The same with bases[v] + (row v of `first`)[t] + (row v of `second`)[t].
void minOverStates(llvm::MutableArrayRef<double> out, llvm::ArrayRef<double> bases, RowsOfStates first,
                   RowsOfStates second, double ceiling);

/// Four rows of a min-plus matrix product at once: out[i * columns + t] = the minimum of `ceiling` and, over all
/// v < numStates, bases[i * numStates + v] + matrix[v * columns + t]. It is fast because the matrix is read once for
/// four rows.
void minOfFourRows(double *out, const double *bases, const double *matrix, size_t numStates, size_t columns,
                   double ceiling);

/// Replaces each minimum that no sum came below (a cell of at least `ceiling`) by a NaN. Returns the largest of the
/// other cells, at least 0. With ceiling 9: {3, 9, 5} becomes {3, NaN, 5}, and 5 is returned.
double markImpossible(llvm::MutableArrayRef<double> cells, double ceiling);

} // namespace apc
