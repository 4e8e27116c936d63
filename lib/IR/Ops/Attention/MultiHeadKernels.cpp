// Kernels of com.microsoft's attention: of packed operands, of one new position, of an input to be projected.
#include "../Attributes.h"
#include "Kernels.h"
#include "MultiHead.h"
#include "Projected.h"
#include "apc/IR/Apc.h"
#include "apc/IR/Kernels/Contract.h"
#include "apc/IR/Ops/Attention/Attention.h"

#include <cmath>

namespace apc {

namespace {

/// [b, heads, s, d] of part `part` of [b, s, heads, parts, d].
Tensor interleavedPart(const Tensor &packed, int64_t part) {
  Tensor apart = sliced(packed, 3, part, 1);
  apart.dims.erase(apart.dims.begin() + 3);
  return permuted(apart, {0, 2, 1, 3});
}

HeadTensors readHeads(mlir::Operation *op, Operands operands, int64_t firstHead) {
  int64_t heads = intAttribute(op, "num_heads", 1), total = intAttribute(op, "total_heads", heads);
  const Tensor &query = *operands[0];
  switch (packingOf(op)) {
  case Packing::Interleaved:
    return {interleavedPart(query, 0), interleavedPart(query, 1), interleavedPart(query, 2)};
  case Packing::InterleavedKeys:
    return {splitHeads(query, heads), interleavedPart(*operands[1], 0), interleavedPart(*operands[1], 1)};
  case Packing::Transposed:
    return {splitHeads(query, heads), *operands[1], *operands[2]};
  case Packing::Blocks: {
    Tensor packed = splitHeads(query, 3 * total);
    return {sliced(packed, 1, firstHead, heads), sliced(packed, 1, total + firstHead, heads),
            sliced(packed, 1, 2 * total + firstHead, heads)};
  }
  case Packing::None:
    break;
  }
  return {splitHeads(query, heads), splitHeads(*operands[1], heads), splitHeads(*operands[2], heads)};
}

/// Adds elements [first, first + heads * size) of a bias to [b, heads, s, size].
void addHeadBias(Tensor &tensor, const Tensor &bias, int64_t first) {
  int64_t heads = tensor.dims[1], positions = tensor.dims[2], size = tensor.dims[3];
  for (auto [i, x] : llvm::enumerate(tensor.floats)) {
    auto at = static_cast<int64_t>(i);
    x += bias.floats[first + at / (positions * size) % heads * size + at % size];
  }
}

/// The cache and the masks of an attention: shared by all operators below.
struct Cached {
  const Tensor *pastKey, *pastValue;
  std::optional<int64_t> length; ///< of the past within a buffer that comes in and goes out
  PaddingMask padding;
  ScoreMask bias;
  bool isCausal;
};

Attended attendCached(mlir::Operation *op, HeadTensors &tensors, const Cached &cached) {
  int64_t buffer = cached.pastKey ? cached.pastKey->dims[2] : 0, past = cached.length.value_or(buffer);
  int64_t keys = tensors.keys.dims[2];
  llvm::SmallVector<int64_t, 4> begins(tensors.keys.dims[0], past);
  int64_t present = cached.length ? buffer : past + keys;
  tensors.keys = placePositions(cached.pastKey, tensors.keys, begins, present);
  tensors.values = placePositions(cached.pastValue, tensors.values, begins, present);
  auto bias = [&](const ScoreIndex &index) {
    if (index.key >= past + keys || (cached.isCausal && index.key > past + index.query))
      return masked;
    return cached.padding.at(index, past) + cached.bias.at(index);
  };
  double size = static_cast<double>(tensors.queries.dims[3]), scale = floatAttribute(op, "scale", 0);
  Scoring scoring{scale == 0 ? 1 / std::sqrt(size) : scale, 0, bias, {}, ScoreStage::Biased};
  return attend(tensors, scoring);
}

double filterOf(mlir::Operation *op) { return floatAttribute(op, "mask_filter_value", -10000); }

std::optional<int64_t> lengthAt(const Tensor *length, const Tensor *past) {
  return length && past && length->numElements() == 1 ? std::optional(length->ints[0]) : std::nullopt;
}

} // namespace

Evaluated evaluateMultiHeadAttention(mlir::Operation *op, Operands operands) {
  MultiHeadOperands which = multiHeadOperands(op);
  if (!areAllKnown(op, operands) || operands[which.indirection])
    return std::nullopt;
  int64_t heads = intAttribute(op, "num_heads", 1), total = intAttribute(op, "total_heads", heads);
  int64_t first = op->hasAttr("total_heads") ? operands.back()->ints[0] : 0;
  HeadTensors tensors = readHeads(op, operands, first);
  int64_t size = tensors.queries.dims[3], valueSize = tensors.values.dims[3];
  if (const Tensor *bias = operands[which.bias]) {
    addHeadBias(tensors.queries, *bias, first * size);
    // Keys and values that come head by head have theirs already.
    if (packingOf(op) != Packing::Transposed) {
      addHeadBias(tensors.keys, *bias, (total + first) * size);
      addHeadBias(tensors.values, *bias, 2 * total * size + first * valueSize);
    }
  }
  int64_t batch = tensors.queries.dims[0];
  Cached cached{operands[which.pastKey],
                operands[which.pastValue],
                lengthAt(operands[which.pastLength], operands[which.pastKey]),
                PaddingMask(operands[which.paddingMask], batch, filterOf(op)),
                ScoreMask(operands[which.attentionBias]),
                intAttribute(op, "unidirectional", 0) != 0};
  Attended attended = attendCached(op, tensors, cached);
  llvm::SmallVector<Tensor, 1> results{joinHeads(attended.results)};
  results.push_back(resultOrNone(op, 1, std::move(tensors.keys)));
  results.push_back(resultOrNone(op, 2, std::move(tensors.values)));
  results.push_back(resultOrNone(op, 3, std::move(attended.scores)));
  return results;
}

namespace {

/// Columns [first, first + count) of input times weights plus bias.
Tensor project(Operands operands, int64_t first, int64_t count) {
  const Tensor &input = *operands[Projected::Input];
  Tensor weights = sliced(*operands[Projected::Weights], 1, first, count);
  FactorRuleBuilder builder;
  FactorId b = builder.addFactor("b", input.dims[0]), s = builder.addFactor("s", input.dims[1]);
  FactorId k = builder.addReduction("k", input.dims[2], Combiner::Sum), n = builder.addFactor("n", count);
  builder.addOperand({{b}, {s}, {k}}, 64);
  builder.addOperand({{k}, {n}}, 64);
  builder.addResult({{b}, {s}, {n}}, 64);
  Tensor result = contract(builder.take(), {{0, input}, {1, weights}}, input.element);
  if (const Tensor *bias = operands[Projected::Bias])
    for (auto [i, x] : llvm::enumerate(result.floats))
      x += bias->floats[first + static_cast<int64_t>(i) % count];
  return result;
}

/// Keys (0) or values (1) of a past [2, b, heads, positions, size].
Tensor halfOf(const Tensor &past, int64_t half) {
  Tensor tensor = sliced(past, 0, half, 1);
  tensor.dims.erase(tensor.dims.begin());
  return tensor;
}

Tensor joinedHalves(const Tensor &keys, const Tensor &values) {
  Tensor joined = keys;
  llvm::append_range(joined.floats, values.floats);
  joined.dims.insert(joined.dims.begin(), 2);
  return joined;
}

} // namespace

Evaluated ProjectedAttentionOp::evaluate(Operands operands) {
  ProjectedAttentionOp op = *this;
  auto hidden = projectedSizes(op);
  if (mlir::failed(hidden) || !areAllKnown(op, operands) || getDoRotary() != 0)
    return std::nullopt;
  int64_t heads = getNumHeads(), total = getTotalHeads().value_or(heads);
  int64_t first = getOffsets().empty() ? 0 : operands.back()->ints[0], column = 0;
  llvm::SmallVector<Tensor, 3> parts;
  for (int64_t size : *hidden) {
    parts.push_back(splitHeads(project(operands, column + first * (size / total), heads * (size / total)), heads));
    column += size;
  }
  HeadTensors tensors{std::move(parts[0]), std::move(parts[1]), std::move(parts[2])};
  std::optional<Tensor> pastKey, pastValue;
  if (operands[Projected::Past]) {
    pastKey = halfOf(*operands[Projected::Past], 0);
    pastValue = halfOf(*operands[Projected::Past], 1);
  }
  bool shared = getPastPresentShareBuffer() != 0;
  Cached cached{pastKey ? &*pastKey : nullptr,
                pastValue ? &*pastValue : nullptr,
                shared ? lengthAt(operands[Projected::PastLength], operands[Projected::Past]) : std::nullopt,
                PaddingMask(operands[Projected::MaskIndex], tensors.queries.dims[0], filterOf(op)),
                ScoreMask(operands[Projected::AttentionBias]),
                getUnidirectional() != 0};
  Attended attended = attendCached(op, tensors, cached);
  Tensor present = isAbsent(op->getResult(1)) ? Tensor() : joinedHalves(tensors.keys, tensors.values);
  return llvm::SmallVector<Tensor, 1>{joinHeads(attended.results), std::move(present)};
}

} // namespace apc
