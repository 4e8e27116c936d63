// The inner loops of `dp`: rows of the least sums. A number here may be a NaN, which is "impossible" and never wins.
#pragma once

#include "llvm/ADT/ArrayRef.h"

namespace apc::dp {

/// out[t] = least of out[t] and base + row[t]. All rows have the size of `out`.
void takeLeast(llvm::MutableArrayRef<double> out, double base, const double *row);
/// The same with base + first[t] + second[t].
void takeLeast(llvm::MutableArrayRef<double> out, double base, const double *first, const double *second);

/// Four rows of a min-plus matrix product at once: for i < 4, out[i * columns + t] = least of itself and
/// bases[i * rows + v] + matrix[v * columns + t] over all v < rows. Reading the matrix once for four rows is what makes
/// it fast.
void takeLeastOfFour(double *out, const double *bases, const double *matrix, size_t rows, size_t columns);

} // namespace apc::dp
