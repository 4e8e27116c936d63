// Running minima in vector registers. `x < y ? x : y` is y when x is a NaN, and y is never a NaN: it starts at a number
// above all sums. The vectors are the extension of GCC and Clang; lanes never mix, so their width changes no result.
#include "MinPlus.h"

#include <algorithm>
#include <cstring>
#include <limits>

// Two builds of each loop, chosen once at program start. The choice runs before a sanitizer is ready.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(undefined_behavior_sanitizer)
#define APC_SANITIZED
#endif
#endif
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__SANITIZE_ADDRESS__) && !defined(APC_SANITIZED)
#define APC_VECTOR_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define APC_VECTOR_CLONES
#endif
#define APC_ALWAYS_INLINE __attribute__((always_inline)) inline

namespace apc {

namespace {

constexpr size_t lanes = 4;
using Vector = double __attribute__((vector_size(lanes * sizeof(double))));

APC_ALWAYS_INLINE void load(Vector &vector, const double *cells) { std::memcpy(&vector, cells, sizeof vector); }
APC_ALWAYS_INLINE void store(double *cells, const Vector &vector) { std::memcpy(cells, &vector, sizeof vector); }
APC_ALWAYS_INLINE double least(double x, double y) { return x < y ? x : y; }

/// Takes the minima over rows [begin, begin + NumRows) into `out`. Each row is read from end to end: large tables come
/// from memory, which is fast only in the order of addresses.
template <size_t NumRows, bool HasSecond>
APC_ALWAYS_INLINE void takeRows(double *__restrict out, size_t size, const double *bases, size_t begin,
                                RowsOfStates first, RowsOfStates second) {
  double base[NumRows];
  const double *cells[NumRows], *others[NumRows];
  for (size_t v = 0; v < NumRows; ++v) {
    base[v] = bases[begin + v];
    cells[v] = first.cells + (begin + v) * first.stride;
    others[v] = second.cells + (begin + v) * second.stride;
  }
  size_t t = 0;
  for (; t + lanes <= size; t += lanes) {
    Vector minimum;
    load(minimum, out + t);
    for (size_t v = 0; v < NumRows; ++v) {
      Vector sum, more;
      load(sum, cells[v] + t);
      sum += base[v];
      if (HasSecond) {
        load(more, others[v] + t);
        sum += more;
      }
      minimum = sum < minimum ? sum : minimum;
    }
    store(out + t, minimum);
  }
  for (; t < size; ++t)
    for (size_t v = 0; v < NumRows; ++v) {
      double sum = cells[v][t] + base[v];
      out[t] = least(HasSecond ? sum + others[v][t] : sum, out[t]);
    }
}

template <bool HasSecond>
APC_ALWAYS_INLINE void overStates(double *out, size_t size, const double *bases, size_t numStates, RowsOfStates first,
                                  RowsOfStates second, double ceiling) {
  constexpr size_t rows = HasSecond ? 4 : 8; // as many as there are registers for
  std::fill_n(out, size, ceiling);
  size_t v = 0;
  for (; v + rows <= numStates; v += rows)
    takeRows<rows, HasSecond>(out, size, bases, v, first, second);
  for (; v < numStates; ++v)
    takeRows<1, HasSecond>(out, size, bases, v, first, second);
}

APC_VECTOR_CLONES void overStatesOne(double *out, size_t size, const double *bases, size_t numStates, RowsOfStates rows,
                                     double ceiling) {
  overStates<false>(out, size, bases, numStates, rows, rows, ceiling);
}

APC_VECTOR_CLONES void overStatesTwo(double *out, size_t size, const double *bases, size_t numStates,
                                     RowsOfStates first, RowsOfStates second, double ceiling) {
  overStates<true>(out, size, bases, numStates, first, second, ceiling);
}

/// Columns [t, t + NumVectors * lanes) of four rows.
template <size_t NumVectors>
APC_ALWAYS_INLINE void fourRowTile(double *out, size_t t, const double *bases, const double *matrix, size_t numStates,
                                   size_t columns, double ceiling) {
  Vector minima[4][NumVectors];
  for (auto &row : minima)
    for (Vector &minimum : row)
      minimum = Vector{} + ceiling;
  for (size_t v = 0; v < numStates; ++v)
    for (size_t i = 0; i < NumVectors; ++i) {
      Vector cells;
      load(cells, matrix + v * columns + t + i * lanes);
      for (size_t row = 0; row < 4; ++row) {
        Vector sum = cells + bases[row * numStates + v];
        minima[row][i] = sum < minima[row][i] ? sum : minima[row][i];
      }
    }
  for (size_t row = 0; row < 4; ++row)
    for (size_t i = 0; i < NumVectors; ++i)
      store(out + row * columns + t + i * lanes, minima[row][i]);
}

APC_VECTOR_CLONES void fourRows(double *out, const double *bases, const double *matrix, size_t numStates,
                                size_t columns, double ceiling) {
  size_t t = 0;
  for (; t + 2 * lanes <= columns; t += 2 * lanes)
    fourRowTile<2>(out, t, bases, matrix, numStates, columns, ceiling);
  for (; t + lanes <= columns; t += lanes)
    fourRowTile<1>(out, t, bases, matrix, numStates, columns, ceiling);
  for (size_t row = 0; row < 4; ++row)
    for (size_t i = t; i < columns; ++i) {
      double minimum = ceiling;
      for (size_t v = 0; v < numStates; ++v)
        minimum = least(matrix[v * columns + i] + bases[row * numStates + v], minimum);
      out[row * columns + i] = minimum;
    }
}

/// One vector of cells; `largest` holds a running maximum in each lane.
APC_ALWAYS_INLINE void markVector(Vector &cells, double ceiling, Vector &largest) {
  const Vector impossible = Vector{} + std::numeric_limits<double>::quiet_NaN();
  cells = cells >= Vector{} + ceiling ? impossible : cells;
  largest = cells > largest ? cells : largest;
}

APC_VECTOR_CLONES double markCells(double *cells, size_t size, double ceiling) {
  Vector largest{};
  size_t i = 0;
  for (Vector vector; i + lanes <= size; i += lanes) {
    load(vector, cells + i);
    markVector(vector, ceiling, largest);
    store(cells + i, vector);
  }
  double result = 0;
  for (size_t lane = 0; lane < lanes; ++lane)
    result = largest[lane] > result ? largest[lane] : result;
  for (; i < size; ++i) {
    if (cells[i] >= ceiling)
      cells[i] = std::numeric_limits<double>::quiet_NaN();
    result = cells[i] > result ? cells[i] : result;
  }
  return result;
}

} // namespace

double markImpossible(llvm::MutableArrayRef<double> cells, double ceiling) {
  return markCells(cells.data(), cells.size(), ceiling);
}

void minOverStates(llvm::MutableArrayRef<double> out, llvm::ArrayRef<double> bases, RowsOfStates rows, double ceiling) {
  overStatesOne(out.data(), out.size(), bases.data(), bases.size(), rows, ceiling);
}

void minOverStates(llvm::MutableArrayRef<double> out, llvm::ArrayRef<double> bases, RowsOfStates first,
                   RowsOfStates second, double ceiling) {
  overStatesTwo(out.data(), out.size(), bases.data(), bases.size(), first, second, ceiling);
}

void minOfFourRows(double *out, const double *bases, const double *matrix, size_t numStates, size_t columns,
                   double ceiling) {
  fourRows(out, bases, matrix, numStates, columns, ceiling);
}

} // namespace apc
