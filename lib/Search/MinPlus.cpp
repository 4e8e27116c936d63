// Loops without branches, which the compiler turns into vector instructions. `x < y ? x : y` is y when x is a NaN, and
// y itself is never one: rows start at a number above all sums.
#include "MinPlus.h"

// Two builds of each loop, chosen once at program start; minima and sums of doubles are the same in both.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define APC_VECTOR_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define APC_VECTOR_CLONES
#endif

namespace apc::dp {

APC_VECTOR_CLONES static void leastOfOne(double *__restrict out, double base, const double *__restrict row,
                                         size_t size) {
  for (size_t t = 0; t < size; ++t) {
    double sum = base + row[t];
    out[t] = sum < out[t] ? sum : out[t];
  }
}

APC_VECTOR_CLONES static void leastOfTwo(double *__restrict out, double base, const double *__restrict first,
                                         const double *__restrict second, size_t size) {
  for (size_t t = 0; t < size; ++t) {
    double sum = base + first[t] + second[t];
    out[t] = sum < out[t] ? sum : out[t];
  }
}

APC_VECTOR_CLONES static void leastOfFour(double *__restrict out, const double *__restrict bases,
                                          const double *__restrict matrix, size_t rows, size_t columns) {
  double *__restrict out0 = out;
  double *__restrict out1 = out + columns;
  double *__restrict out2 = out + 2 * columns;
  double *__restrict out3 = out + 3 * columns;
  for (size_t v = 0; v < rows; ++v) {
    const double *__restrict row = matrix + v * columns;
    double base0 = bases[v], base1 = bases[rows + v], base2 = bases[2 * rows + v], base3 = bases[3 * rows + v];
    for (size_t t = 0; t < columns; ++t) {
      double cell = row[t];
      double sum0 = base0 + cell, sum1 = base1 + cell, sum2 = base2 + cell, sum3 = base3 + cell;
      out0[t] = sum0 < out0[t] ? sum0 : out0[t];
      out1[t] = sum1 < out1[t] ? sum1 : out1[t];
      out2[t] = sum2 < out2[t] ? sum2 : out2[t];
      out3[t] = sum3 < out3[t] ? sum3 : out3[t];
    }
  }
}

void takeLeast(llvm::MutableArrayRef<double> out, double base, const double *row) {
  leastOfOne(out.data(), base, row, out.size());
}

void takeLeast(llvm::MutableArrayRef<double> out, double base, const double *first, const double *second) {
  leastOfTwo(out.data(), base, first, second, out.size());
}

void takeLeastOfFour(double *out, const double *bases, const double *matrix, size_t rows, size_t columns) {
  leastOfFour(out, bases, matrix, rows, columns);
}

} // namespace apc::dp
