// Sums of products as one loop nest: outer result factors, then the factors summed over, then the last result factor,
// along which every operand lies with stride 1 or 0.
#include "apc/IR/Kernels/Contract.h"

#include <algorithm>

namespace apc {

namespace {

/// One loop: the strides of the operands and of the result along one factor.
struct Loop {
  int64_t size = 1;
  llvm::SmallVector<int64_t, 3> operands;
  int64_t result = 0;
};

/// How far a tensor's flat index moves with a factor: [4, 6] as (a b) c with a=2, b=2 moves by 12, 6, 1. Both dims of a
/// diagonal add up.
int64_t strideOf(const FactorRule &rule, const RuleTensor &tensor, FactorId factor) {
  int64_t stride = 1, found = 0;
  for (const DimFactors &dim : llvm::reverse(tensor.dims))
    for (FactorId id : llvm::reverse(dim)) {
      if (id == factor)
        found += stride;
      stride *= rule.factor(id).size;
    }
  return found;
}

/// The loops from the outermost; factors of one element are left out.
std::vector<Loop> orderedLoops(const FactorRule &rule, llvm::ArrayRef<Multiplicand> multiplicands) {
  std::vector<Loop> results, sums;
  for (unsigned i = 0; i < rule.numFactors(); ++i) {
    Loop loop{rule.factors[i].size, {}, strideOf(rule, rule.results[0], FactorId(i))};
    for (const Multiplicand &each : multiplicands)
      loop.operands.push_back(strideOf(rule, rule.operands[each.operand], FactorId(i)));
    bool takesPart = loop.result != 0 || llvm::any_of(loop.operands, [](int64_t stride) { return stride != 0; });
    if (takesPart && loop.size != 1)
      (loop.result != 0 ? results : sums).push_back(std::move(loop));
  }
  std::stable_sort(results.begin(), results.end(), [](const Loop &a, const Loop &b) { return a.result > b.result; });
  size_t inner = results.empty() ? 0 : results.size() - 1;
  results.insert(results.begin() + static_cast<std::ptrdiff_t>(inner), sums.begin(), sums.end());
  return results;
}

/// The elements of one operand in the order of the loops that it moves with.
template <typename T>
std::vector<T> packed(const T *from, llvm::MutableArrayRef<Loop> loops, size_t operand) {
  int64_t count = 1;
  for (const Loop &loop : loops)
    count *= loop.operands[operand] != 0 ? loop.size : 1;
  std::vector<T> to;
  to.reserve(count);
  auto copy = [&](auto &self, const T *at, size_t level) -> void {
    if (level == loops.size()) {
      to.push_back(*at);
      return;
    }
    int64_t stride = loops[level].operands[operand];
    for (int64_t i = 0; i < (stride != 0 ? loops[level].size : 1); ++i)
      self(self, at + i * stride, level + 1);
  };
  copy(copy, from, 0);
  int64_t stride = 1;
  for (Loop &loop : llvm::reverse(loops))
    if (loop.operands[operand] != 0) {
      loop.operands[operand] = stride;
      stride *= loop.size;
    }
  return to;
}

template <typename T>
class Nest {
public:
  Nest(std::vector<Loop> loops, llvm::ArrayRef<const T *> operands) : loops(std::move(loops)) {
    for (auto [index, operand] : llvm::enumerate(operands))
      storage.push_back(packed(operand, this->loops, index));
  }
  void run(T *result) {
    if (llvm::any_of(loops, [](const Loop &loop) { return loop.size == 0; }))
      return;
    llvm::SmallVector<const T *, 3> at;
    for (const std::vector<T> &operand : storage)
      at.push_back(operand.data());
    run(0, at, result);
  }

private:
  void run(size_t level, llvm::SmallVector<const T *, 3> at, T *result) {
    if (level + 1 >= loops.size())
      return runInner(at, result);
    const Loop &loop = loops[level];
    for (int64_t i = 0; i < loop.size; ++i) {
      run(level + 1, at, result);
      for (size_t operand = 0; operand < at.size(); ++operand)
        at[operand] += loop.operands[operand];
      result += loop.result;
    }
  }
  void runInner(llvm::ArrayRef<const T *> at, T *result) const {
    int64_t size = loops.empty() ? 1 : loops.back().size, step = loops.empty() ? 0 : loops.back().result;
    llvm::ArrayRef<int64_t> strides;
    if (!loops.empty())
      strides = loops.back().operands;
    if (at.size() == 2 && step == 1 && strides[0] != strides[1]) {
      const T *row = strides[0] == 0 ? at[1] : at[0];
      return addScaled(strides[0] == 0 ? *at[0] : *at[1], row, result, size);
    }
    if (at.size() == 2 && step == 0 && size != 1) {
      T sum = 0;
      for (int64_t i = 0; i < size; ++i)
        sum += at[0][i * strides[0]] * at[1][i * strides[1]];
      *result += sum;
      return;
    }
    for (int64_t i = 0; i < size; ++i) {
      T product = 1;
      for (size_t operand = 0; operand < at.size(); ++operand)
        product *= at[operand][strides.empty() ? 0 : i * strides[operand]];
      result[i * step] += product;
    }
  }
  static void addScaled(T factor, const T *__restrict row, T *__restrict result, int64_t size) {
    for (int64_t i = 0; i < size; ++i)
      result[i] += factor * row[i];
  }

  std::vector<Loop> loops;
  std::vector<std::vector<T>> storage;
};

} // namespace

Tensor contract(const FactorRule &rule, llvm::ArrayRef<Multiplicand> multiplicands, mlir::Type element) {
  Tensor result;
  result.element = element;
  result.dims = rule.resultShape(0).dims;
  std::vector<Loop> loops = orderedLoops(rule, multiplicands);
  if (multiplicands.front().tensor.isFloat()) {
    result.floats.resize(result.numElements());
    llvm::SmallVector<const double *, 3> operands;
    for (const Multiplicand &each : multiplicands)
      operands.push_back(each.tensor.floats.data());
    Nest<double>(std::move(loops), operands).run(result.floats.data());
    return result;
  }
  // Unsigned, so that overflow wraps around.
  std::vector<uint64_t> sums(result.numElements());
  llvm::SmallVector<const uint64_t *, 3> operands;
  for (const Multiplicand &each : multiplicands)
    operands.push_back(reinterpret_cast<const uint64_t *>(each.tensor.ints.data()));
  Nest<uint64_t>(std::move(loops), operands).run(sums.data());
  result.ints.assign(sums.begin(), sums.end());
  return result;
}

} // namespace apc
