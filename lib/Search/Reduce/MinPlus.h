// The inner loops of `dp`: rows of least sums. A number here may be a NaN, which is "impossible" and never wins.
#pragma once

#include "llvm/ADT/ArrayRef.h"

namespace apc::dp {

/// Rows of a table, one for each state of the eliminated variable: row v starts at cells + v * stride.
struct RowsOfStates {
  const double *cells;
  size_t stride;
};

/// out[t] = the least of `ceiling` and, over all v, bases[v] + (row v of `rows`)[t].
void leastOverStates(llvm::MutableArrayRef<double> out, llvm::ArrayRef<double> bases, RowsOfStates rows,
                     double ceiling);
/// The same with bases[v] + (row v of `first`)[t] + (row v of `second`)[t].
void leastOverStates(llvm::MutableArrayRef<double> out, llvm::ArrayRef<double> bases, RowsOfStates first,
                     RowsOfStates second, double ceiling);

/// Four rows of a min-plus matrix product at once: out[i * columns + t] = the least of `ceiling` and, over all
/// v < numStates, bases[i * numStates + v] + matrix[v * columns + t]. Reading the matrix once for four rows is what
/// makes it fast.
void leastOfFourRows(double *out, const double *bases, const double *matrix, size_t numStates, size_t columns,
                     double ceiling);

} // namespace apc::dp
