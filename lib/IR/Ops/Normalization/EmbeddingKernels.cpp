// The sum of word, position and segment embeddings, normalised.
#include "apc/IR/Apc.h"
#include "apc/IR/Ops/Normalization/Kernels.h"
#include "apc/IR/Ops/Normalization/Normalization.h"

namespace apc {

namespace {

/// Adds row `row` of a table [rows, hidden]; tokens of padding may ask for rows that do not exist.
void addRow(double *to, const Tensor &table, int64_t row) {
  if (row < 0 || row >= table.dims[0])
    return;
  for (int64_t i = 0; i < table.dims[1]; ++i)
    to[i] += table.floats[row * table.dims[1] + i];
}

/// How many positions of each sequence [batch, positions] count.
Tensor maskLengths(mlir::Value result, const Tensor *mask) {
  if (isAbsent(result))
    return {};
  Tensor lengths = zeros(result.getType());
  for (int64_t i = 0; mask && i < mask->numElements(); ++i)
    lengths.ints[i / mask->dims[1]] += mask->ints[i] == 1;
  return lengths;
}

} // namespace

Evaluated EmbedLayerNormalizationOp::evaluate(Operands operands) {
  for (unsigned index = 0; index < operands.size(); ++index)
    if (!operands[index] && !isAbsent(getOperand(index)))
      return std::nullopt;
  const Tensor &ids = *operands[0], *segments = operands[1], *positions = operands[8];
  Tensor sum = zeros(getOutput().getType());
  for (int64_t token = 0, count = ids.numElements(); token < count; ++token) {
    double *to = sum.floats.data() + token * sum.dims[2];
    addRow(to, *operands[2], ids.ints[token]);
    int64_t position = token % ids.dims[1];
    addRow(to, *operands[3], positions ? positions->ints[token % positions->numElements()] : position);
    if (segments && operands[4])
      addRow(to, *operands[4], segments->ints[token]);
  }
  Tensor output = sum;
  Moments moments = momentsOf(sum, {sum.dims[0], sum.dims[1], 1});
  standardise(output, moments, inverseRoots(moments.variance, getEpsilon().convertToDouble()));
  scaleTensor(output, operands[5]);
  addTensor(output, operands[6]);
  return llvm::SmallVector<Tensor, 1>{std::move(output), maskLengths(getMaskIndex(), operands[7]),
                                      isAbsent(getEmbeddingSum()) ? Tensor() : std::move(sum)};
}

} // namespace apc
