// One product: its operands are sorted by the variables that they depend on, so that the inner loop runs over
// contiguous rows.
#include "Product.h"

#include "../Reduce/MinPlus.h"

#include "apc/Support/Parallel.h"

#include "llvm/ADT/STLExtras.h"

namespace apc::dp {

OperandView viewOf(const TableOperand &operand, llvm::ArrayRef<uint32_t> sizes, const double *cells) {
  OperandView view{cells, llvm::SmallVector<size_t, 6>(sizes.size(), 0)};
  size_t stride = 1;
  for (uint8_t variable : llvm::reverse(operand.dims)) {
    view.strides[variable] = stride;
    stride *= sizes[variable];
  }
  return view;
}

namespace {

/// Walks the states of local variables first .. last in row-major order; the others stay 0.
class Odometer {
public:
  Odometer(llvm::ArrayRef<uint32_t> sizes, size_t first, size_t last, size_t start)
      : sizes(sizes), first(first), last(last), digits(sizes.size(), 0) {
    for (size_t variable = last + 1; variable-- > first;) {
      digits[variable] = start % sizes[variable];
      start /= sizes[variable];
    }
  }

  llvm::ArrayRef<uint32_t> states() const { return digits; }

  void advance() {
    for (size_t variable = last + 1; variable-- > first;) {
      if (++digits[variable] < sizes[variable])
        return;
      digits[variable] = 0;
    }
  }

private:
  llvm::ArrayRef<uint32_t> sizes;
  size_t first, last;
  llvm::SmallVector<uint32_t, 6> digits;
};

/// Variable 0 is minimised over, variable `last` runs along the rows of the result, the variables between are the
/// prefix.
class ProductRun {
public:
  ProductRun(const ProductInput &input, llvm::MutableArrayRef<double> out)
      : input(input), out(out), last(input.sizes.size() - 1), rowSize(input.sizes[last]) {
    for (const OperandView &operand : input.operands) {
      if (operand.strides[last] == 0) {
        scalars.push_back(operand);
        continue;
      }
      OperandView rows = withContiguousRows(operand);
      bool dependsOnPrefix = false;
      for (size_t variable = 1; variable < last; ++variable)
        dependsOnPrefix |= rows.strides[variable] != 0;
      (dependsOnPrefix ? deep : flat).push_back(std::move(rows));
    }
    mergeFlat();
  }

  size_t numPrefixes() const { return out.size() / rowSize; }

  void compute(size_t begin, size_t end) const {
    Odometer prefix(input.sizes, 1, last - 1, begin);
    size_t at = begin;
    if (deep.empty())
      for (; at + 4 <= end; at += 4)
        computeFour(prefix, at);
    for (; at < end; ++at, prefix.advance())
      computeOne(prefix.states(), at);
  }

private:
  /// The same table with variable `last` innermost: from [before][last][after] to [before][after][last].
  OperandView withContiguousRows(const OperandView &operand) {
    size_t after = operand.strides[last];
    if (after == 1)
      return operand;
    size_t size = rowSize;
    for (size_t variable = 0; variable < last; ++variable)
      if (operand.strides[variable] != 0)
        size *= input.sizes[variable];
    std::vector<double> copy(size);
    for (size_t block = 0; block < size; block += after * rowSize)
      for (size_t t = 0; t < rowSize; ++t)
        for (size_t a = 0; a < after; ++a)
          copy[block + a * rowSize + t] = operand.cells[block + t * after + a];
    OperandView result = operand;
    for (size_t &stride : result.strides)
      if (stride < after)
        stride *= rowSize;
    result.strides[last] = 1;
    copies.push_back(std::move(copy));
    result.cells = copies.back().data();
    return result;
  }

  /// Adds up all tables over variables 0 and `last` alone into one matrix [variable 0][last].
  void mergeFlat() {
    if (flat.size() < 2)
      return;
    std::vector<double> sum(input.sizes[0] * rowSize, 0.0);
    for (const OperandView &operand : flat)
      for (size_t index = 0; index < sum.size(); ++index)
        sum[index] += operand.cells[index];
    copies.push_back(std::move(sum));
    flat.resize(1);
    flat.front().cells = copies.back().data();
  }

  /// The sum of the tables that do not depend on `last`, for every state of variable 0.
  void fillBases(llvm::ArrayRef<uint32_t> states, double *bases) const {
    for (size_t v = 0; v < input.sizes[0]; ++v)
      bases[v] = input.unary.empty() ? 0.0 : input.unary[v];
    for (const OperandView &scalar : scalars) {
      const double *cells = scalar.cells + scalar.offset(states);
      for (size_t v = 0; v < input.sizes[0]; ++v)
        bases[v] += cells[v * scalar.strides[0]];
    }
  }

  void computeFour(Odometer &prefix, size_t at) const {
    size_t numStates = input.sizes[0];
    llvm::SmallVector<double, 512> bases(4 * numStates);
    for (size_t row = 0; row < 4; ++row, prefix.advance())
      fillBases(prefix.states(), bases.data() + row * numStates);
    minOfFourRows(out.data() + at * rowSize, bases.data(), flat.front().cells, numStates, rowSize, input.ceiling);
  }

  void computeOne(llvm::ArrayRef<uint32_t> states, size_t at) const {
    llvm::SmallVector<double, 128> bases(input.sizes[0]);
    fillBases(states, bases.data());
    llvm::SmallVector<RowsOfStates, 4> tables;
    for (const OperandView &operand : deep)
      tables.push_back({operand.cells + operand.offset(states), operand.strides[0]});
    if (!flat.empty())
      tables.push_back({flat.front().cells, rowSize});
    llvm::MutableArrayRef<double> row = out.slice(at * rowSize, rowSize);
    if (tables.size() == 1)
      return minOverStates(row, bases, tables[0], input.ceiling);
    if (tables.size() == 2)
      return minOverStates(row, bases, tables[0], tables[1], input.ceiling);
    std::vector<double> sums = addUp(llvm::ArrayRef(tables).drop_front());
    minOverStates(row, bases, tables[0], {sums.data(), rowSize}, input.ceiling);
  }

  /// The rows of several tables added up, for every state of variable 0.
  std::vector<double> addUp(llvm::ArrayRef<RowsOfStates> tables) const {
    std::vector<double> sums(input.sizes[0] * rowSize, 0.0);
    for (const RowsOfStates &table : tables)
      for (size_t v = 0; v < input.sizes[0]; ++v)
        for (size_t t = 0; t < rowSize; ++t)
          sums[v * rowSize + t] += table.cells[v * table.stride + t];
    return sums;
  }

  const ProductInput &input;
  llvm::MutableArrayRef<double> out;
  size_t last;
  size_t rowSize;
  llvm::SmallVector<OperandView, 2> scalars, flat, deep;
  std::vector<std::vector<double>> copies;
};

/// The product of a node without neighbours: one number.
void computeScalar(const ProductInput &input, llvm::MutableArrayRef<double> out) {
  out[0] = input.ceiling;
  for (size_t v = 0; v < input.sizes[0]; ++v) {
    double sum = input.unary.empty() ? 0.0 : input.unary[v];
    for (const OperandView &operand : input.operands)
      sum += operand.cells[v * operand.strides[0]];
    out[0] = sum < out[0] ? sum : out[0];
  }
}

} // namespace

double computeProduct(const ProductInput &input, llvm::MutableArrayRef<double> out, unsigned numThreads) {
  if (input.sizes.size() == 1) {
    computeScalar(input, out);
  } else {
    ProductRun run(input, out);
    constexpr size_t workForThreads = size_t(1) << 22;
    bool isLarge = out.size() * input.sizes[0] >= workForThreads;
    parallelRanges(run.numPrefixes(), isLarge ? numThreads : 1,
                   [&](size_t begin, size_t end) { run.compute(begin, end); });
  }
  return markImpossible(out, input.ceiling);
}

} // namespace apc::dp
