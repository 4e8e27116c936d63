// The rule of a reshape: which parts of the dims before and after are the same indices.
#include "apc/Sharding/FactorRule.h"

#include <cassert>
#include <numeric>

namespace apc {

namespace {

/// Walks both shapes from the major end and splits them into common factors. `left` and `right` are what is left of
/// the current dims: [8, 6] -> [4, 12] meets 8 | 4 (common 4, left 2), 2 | 12 (common 2, left 6), 6 | 6.
class ReshapeWalk {
public:
  ReshapeWalk(const TensorShape &from, const TensorShape &to)
      : from(from.dims), to(to.dims), operand(from.numDims()), result(to.numDims()) {}

  void run() {
    if (std::accumulate(from.begin(), from.end(), int64_t(1), std::multiplies<>()) == 0) {
      keepWholeFrom(0, 0);
      return;
    }
    while (advance()) {
      int64_t common = std::gcd(left, right);
      if (common > 1)
        addCommon(common);
      if (left > 1 && right > 1)
        addRun();
    }
  }

  FactorRule take(unsigned fromBits, unsigned toBits) {
    builder.addOperand(std::move(operand), fromBits);
    builder.addResult(std::move(result), toBits);
    builder.addLinear({0});
    builder.setWork(Work::View);
    return builder.take();
  }

private:
  /// Moves on to the next dims that are not used up; false at the end.
  bool advance() {
    while (left == 1 && i < from.size())
      left = from[i++];
    while (right == 1 && j < to.size())
      right = to[j++];
    return left > 1 && right > 1;
  }

  void addCommon(int64_t size) {
    FactorId id = builder.addFactor("i" + std::to_string(numNames++), size);
    operand[i - 1].push_back(id);
    result[j - 1].push_back(id);
    left /= size;
    right /= size;
  }

  FactorId addWhole(int64_t size) { return builder.addWhole("w" + std::to_string(numNames++), size); }

  /// The remainders share no divisor: all dims up to the next common boundary stay whole. [4, 6] -> [3, 8] is one run.
  void addRun() {
    int64_t before = left, after = right;
    operand[i - 1].push_back(addWhole(left));
    result[j - 1].push_back(addWhole(right));
    while (before != after) {
      if (before < after) {
        before *= from[i];
        if (from[i] > 1)
          operand[i].push_back(addWhole(from[i]));
        ++i;
      } else {
        after *= to[j];
        if (to[j] > 1)
          result[j].push_back(addWhole(to[j]));
        ++j;
      }
    }
    left = right = 1;
  }

  void keepWholeFrom(size_t firstFrom, size_t firstTo) {
    for (size_t dim = firstFrom; dim < from.size(); ++dim)
      operand[dim].push_back(addWhole(from[dim]));
    for (size_t dim = firstTo; dim < to.size(); ++dim)
      result[dim].push_back(addWhole(to[dim]));
  }

  llvm::ArrayRef<int64_t> from, to;
  llvm::SmallVector<DimFactors, 4> operand, result;
  FactorRuleBuilder builder;
  size_t i = 0, j = 0;
  int64_t left = 1, right = 1;
  unsigned numNames = 0;
};

} // namespace

FactorRule reshapeRule(const TensorShape &from, const TensorShape &to) {
  assert(from.numElements() == to.numElements() && "a reshape keeps the number of elements");
  ReshapeWalk walk(from, to);
  walk.run();
  return walk.take(from.elementBits, to.elementBits);
}

} // namespace apc
