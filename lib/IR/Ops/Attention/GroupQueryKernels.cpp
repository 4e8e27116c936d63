// The kernel of attention with caches, rotation and fewer key heads.
#include "../Attributes.h"
#include "GroupQuery.h"
#include "Kernels.h"
#include "apc/IR/Apc.h"
#include "apc/IR/Ops/Attention/Attention.h"
#include "apc/IR/Ops/Normalization/Kernels.h"

#include <cmath>

namespace apc {

namespace {

/// Where the new positions of each batch element begin, and where its keys end.
struct Places {
  llvm::SmallVector<int64_t, 4> begins, ends;
  int64_t attended = 0; ///< positions of the longest
};

Places placesOf(Operands operands) {
  const Tensor &query = *operands[GroupQuery::Query], *lengths = operands[GroupQuery::Lengths],
               *total = operands[GroupQuery::TotalLength];
  int64_t past = operands[GroupQuery::PastKey] ? operands[GroupQuery::PastKey]->dims[2] : 0, positions = query.dims[1];
  Places places;
  places.attended = total && total->numElements() == 1 ? total->ints[0] : past + positions;
  // A first call has no past, though its sequences may be shorter than its positions.
  bool isFirst = places.attended == positions;
  for (int64_t batch = 0; batch < query.dims[0]; ++batch) {
    int64_t end = lengths ? lengths->ints[lengths->numElements() == 1 ? 0 : batch] + 1 : places.attended;
    places.begins.push_back(isFirst ? 0 : std::max<int64_t>(0, end - positions));
    places.ends.push_back(end);
  }
  return places;
}

/// The heads of this piece, out of operands that are apart or packed as queries | keys | values.
HeadTensors headsOf(GroupQueryAttentionOp op, Operands operands) {
  int64_t heads = op.getNumHeads(), keyHeads = op.getKvNumHeads();
  if (operands[GroupQuery::Key])
    return {splitHeads(*operands[GroupQuery::Query], heads), splitHeads(*operands[GroupQuery::Key], keyHeads),
            splitHeads(*operands[GroupQuery::Value], keyHeads)};
  int64_t total = op.getTotalHeads().value_or(heads), totalKeys = op.getTotalKvHeads().value_or(keyHeads);
  int64_t first = op.getOffsets().empty() ? 0 : operands.back()->ints[0];
  int64_t firstKey = first / std::max<int64_t>(1, total / std::max<int64_t>(1, totalKeys));
  Tensor packed = splitHeads(*operands[GroupQuery::Query], total + 2 * totalKeys);
  return {sliced(packed, 1, first, heads), sliced(packed, 1, total + firstKey, keyHeads),
          sliced(packed, 1, total + totalKeys + firstKey, keyHeads)};
}

void normaliseHeads(Tensor &heads, const Tensor *weights, double epsilon) {
  if (!weights)
    return;
  llvm::SmallVector<int64_t, 4> rows = heads.dims;
  rows.back() = 1;
  std::vector<double> inverse = inverseRoots(momentsOf(heads, rows).meanSquare, epsilon);
  combineRows(heads, rows, inverse, [](double x, double scale) { return x * scale; });
  scaleTensor(heads, weights);
}

void rotateHeads(GroupQueryAttentionOp op, Operands operands, const Places &places, HeadTensors &tensors) {
  const Tensor *ids = operands[GroupQuery::PositionIds];
  int64_t positions = operands[GroupQuery::Query]->dims[1];
  auto row = [&](int64_t batch, int64_t position) {
    return ids ? ids->ints[(batch * positions + position) % ids->numElements()] : places.begins[batch] + position;
  };
  bool interleaved = op.getRotaryInterleaved() != 0;
  for (Tensor *tensor : {&tensors.queries, &tensors.keys})
    rotate(*tensor, *operands[GroupQuery::CosCache], *operands[GroupQuery::SinCache], interleaved, row);
}

/// Keys up to the query's own place, which counts to the window, within that and the length of the batch element.
bool isSeen(GroupQueryAttentionOp op, const Places &places, const ScoreIndex &index) {
  if (op.getCausal() == 0)
    return index.key < places.ends[index.batch];
  int64_t place = places.begins[index.batch] + index.query, window = op.getLocalWindowSize();
  return index.key <= place && (window <= 0 || index.key > place - window);
}

/// A cache of another element type is quantised.
bool isQuantised(mlir::Operation *op) {
  return llvm::any_of(llvm::ArrayRef<unsigned>{GroupQuery::PastKey, GroupQuery::PastValue}, [&](unsigned past) {
    return !isAbsent(op->getOperand(past)) && operandElement(op, past) != operandElement(op, GroupQuery::Query);
  });
}

} // namespace

Evaluated GroupQueryAttentionOp::evaluate(Operands operands) {
  GroupQueryAttentionOp op = *this;
  bool rotates = getDoRotary() != 0;
  if (!areAllKnown(op, operands) || isQuantised(op) || getSlidingWindowCache() != 0 ||
      (rotates && (!operands[GroupQuery::CosCache] || !operands[GroupQuery::SinCache])))
    return std::nullopt;
  Places places = placesOf(operands);
  int64_t present =
      std::max(places.attended, operands[GroupQuery::PastKey] ? operands[GroupQuery::PastKey]->dims[2] : 0);
  // The total length, where no constant says it, is that of the past and the new positions.
  auto isOfLength = [](mlir::Value result, size_t dim, int64_t length) {
    return isAbsent(result) || dimsOf(result)[dim] == length;
  };
  if (places.attended < 0 || !isOfLength(getPresentKey(), 2, present) || !isOfLength(getPresentValue(), 2, present) ||
      !isOfLength(getOutputQk(), 3, places.attended))
    return std::nullopt;
  HeadTensors tensors = headsOf(op, operands);
  double epsilon = floatAttribute(op, "qk_norm_epsilon", 1e-6);
  normaliseHeads(tensors.queries, operands[GroupQuery::QueryNorm], epsilon);
  normaliseHeads(tensors.keys, operands[GroupQuery::KeyNorm], epsilon);
  if (rotates)
    rotateHeads(op, operands, places, tensors);
  tensors.keys = placePositions(operands[GroupQuery::PastKey], tensors.keys, places.begins, present);
  tensors.values = placePositions(operands[GroupQuery::PastValue], tensors.values, places.begins, present);
  ScoreMask mask(operands[GroupQuery::AttentionBias]);
  auto bias = [&](const ScoreIndex &index) { return isSeen(op, places, index) ? mask.at(index) : masked; };
  bool smooth = static_cast<int64_t>(getSmoothSoftmax().value_or(0)) > 0;
  auto sink = [&](int64_t head) -> std::optional<double> {
    if (operands[GroupQuery::HeadSink])
      return operands[GroupQuery::HeadSink]->floats[head];
    return smooth ? std::optional(0.0) : std::nullopt;
  };
  double scale = floatAttribute(op, "scale", 0);
  if (scale == 0)
    scale = 1 / std::sqrt(static_cast<double>(tensors.queries.dims[3]));
  Scoring scoring{scale, floatAttribute(op, "softcap", 0), bias, sink,
                  getQkOutput() == 2 ? ScoreStage::Softmax : ScoreStage::Biased};
  Attended attended = attend(tensors, scoring);
  llvm::SmallVector<Tensor, 1> results{joinHeads(attended.results)};
  results.push_back(resultOrNone(op, 1, std::move(tensors.keys)));
  results.push_back(resultOrNone(op, 2, std::move(tensors.values)));
  results.push_back(resultOrNone(op, 3, sliced(attended.scores, 3, 0, places.attended)));
  return results;
}

} // namespace apc
