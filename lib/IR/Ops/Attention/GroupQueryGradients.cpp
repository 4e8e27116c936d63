// Gradients of com.microsoft's GroupQueryAttention: rotated on the way, beside sinks, behind caches.
#include "../Attributes.h"
#include "GroupQuery.h"
#include "HeadGradients.h"
#include "Kernels.h"
#include "apc/IR/Apc.h"
#include "apc/IR/ElementTypes.h"
#include "apc/IR/Ops/Attention/Attention.h"
#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/IR/Ops/Indexing/Indexing.h"
#include "apc/IR/Ops/Movement/Movement.h"
#include "apc/IR/Ops/Normalization/Normalization.h"

#include <array>

namespace apc {

namespace {

/// The buffer that keys and values of a call stand in, [b, key heads, attended, size]: of batch element i the past up
/// to begin i, then the positions of the call. A first call, of as many positions as are attended, has no past.
class Buffer {
public:
  Buffer(GradientBuilder &g, GroupQueryAttentionOp op)
      : g(g), positions(dimsOf(g.operand(GroupQuery::Query))[1]), batch(dimsOf(g.operand(GroupQuery::Query))[0]),
        past(isAbsent(g.operand(GroupQuery::PastKey)) ? 0 : dimsOf(g.operand(GroupQuery::PastKey))[2]) {
    attended = knownTotal(g.operand(GroupQuery::TotalLength)).value_or(past + positions);
    bool isFirst = attended == positions;
    begins.begin = isFirst ? 0 : std::max<int64_t>(0, attended - positions);
    if (isAbsent(g.operand(GroupQuery::Lengths)) || (isFirst && op.getCausal() != 0))
      return;
    // The operand is one less than the length.
    mlir::Value last =
        g.make<CastOp>({g.operand(GroupQuery::Lengths)}, g.attribute("to", dataType(g.getBuilder().getI64Type())));
    ends = g.make<ExpandOp>({g.add(shaped(g, last, {mlir::ShapedType::getNumElements(dimsOf(last))}), g.integers({1})),
                             g.integers({batch})});
    if (!isFirst)
      begins.begins = g.make<MaxOp>({g.sub(ends, g.integers({positions})), g.integers({0})});
  }

  int64_t numAttended() const { return attended; }
  const QueryPlaces &getPlaces() const { return begins; }
  mlir::Value getEnds() const { return ends; } ///< [b] of i64; null where all ends are known to be alike
  bool isFirst() const { return attended == positions; }
  /// Positions follow those of a past that is all there.
  bool isAppended() const { return !begins.begins && past == attended - positions; }
  /// Are there positions before the call, but no past that they could be of?
  bool lacksPast() const { return past == 0 && !isFirst(); }

  /// The ids [b, s] of the positions of the call, or [1] for those from 0 on.
  mlir::Value ids() {
    if (isFirst())
      return g.integers({0});
    mlir::Value own = positionsFrom(g, begins.begins ? 0 : begins.begin, positions);
    if (begins.begins)
      return g.add(own, shaped(g, begins.begins, {batch, 1}));
    return g.make<ExpandOp>({own, g.integers({batch, positions})});
  }

  mlir::Value place(mlir::Value cache, mlir::Value current) {
    if (isFirst())
      return current;
    if (isAppended())
      return behindPast(g, cache, current);
    return g.make<TensorScatterOp>({resized(cache, attended), current, firstPlaces()});
  }

  /// The gradient of the buffer that is attended: of `placed`, which arrives there, and of `ofPresent`, which arrives
  /// at the one that goes out, which may be longer. Either may be null.
  mlir::Value whole(mlir::Value placed, mlir::Value ofPresent) {
    return sumOfBoth(g, placed, ofPresent ? resized(ofPresent, attended) : ofPresent);
  }
  /// The gradients of the positions of the call, and of the past, from that; null where it is.
  mlir::Value ofCurrent(mlir::Value whole) {
    if (!whole || isFirst())
      return whole;
    if (!begins.begins)
      return positionSlice(g, whole, begins.begin, begins.begin + positions);
    mlir::Value at = shaped(g, ids(), {batch, 1, positions, 1});
    llvm::SmallVector<int64_t, 4> dims(dimsOf(whole));
    dims[2] = positions;
    return g.make<GatherElementsOp>({whole, g.make<ExpandOp>({at, g.integers(dims)})}, g.attribute("axis", int64_t(2)));
  }
  mlir::Value ofPast(mlir::Value whole) {
    if (!whole || isFirst())
      return {};
    mlir::Value before = shaped(g, keysBefore(g, firstPlaces(), attended), {batch, 1, attended, 1});
    return resized(g.where(before, whole), past);
  }

private:
  /// [b] of i64: where the positions of the call begin.
  mlir::Value firstPlaces() {
    return begins.begins ? begins.begins : g.integers(llvm::SmallVector<int64_t>(batch, begins.begin));
  }
  /// With so many positions: those behind are cut off, missing ones are zeros.
  mlir::Value resized(mlir::Value value, int64_t count) {
    int64_t found = dimsOf(value)[2];
    if (found >= count)
      return positionSlice(g, value, 0, count);
    llvm::SmallVector<int64_t, 4> dims(dimsOf(value));
    dims[2] = count - found;
    return behindPast(g, value, g.make<ExpandOp>({g.scalar(0, value), g.integers(dims)}));
  }

  GradientBuilder &g;
  int64_t positions, batch, past, attended;
  QueryPlaces begins;
  mlir::Value ends;
};

/// Operands of attention with fewer key heads than query heads, apart or packed.
class GroupQueryGradients {
public:
  GroupQueryGradients(GradientBuilder &g, GroupQueryAttentionOp op)
      : g(g), op(op), buffer(g, op), isPacked(isAbsent(g.operand(GroupQuery::Key))), heads(op.getNumHeads()),
        keyHeads(op.getKvNumHeads()),
        size(dimsOf(g.operand(GroupQuery::Query))[2] / (isPacked ? heads + 2 * keyHeads : heads)) {}

  bool isTrained() {
    for (unsigned operand : {GroupQuery::KeyScale, GroupQuery::ValueScale})
      if (!isAbsent(g.operand(operand)))
        return g.refuse("operand '" + operandName(op, operand) + "' is given, and none is accepted");
    if (op.getSlidingWindowCache() != 0)
      return g.refuse("attribute 'sliding_window_cache' is " + llvm::Twine(op.getSlidingWindowCache()) +
                      ", and 0 is accepted");
    return isPlaced() && mayRotate();
  }

  void give() {
    HeadValues gradients;
    if (g.incoming() || g.incoming(3))
      gradients = ofResults();
    giveHeads(gradients);
    if (gradients.bias)
      g.give(GroupQuery::AttentionBias, shortMask(g, gradients.bias, g.operand(GroupQuery::AttentionBias)));
    if (gradients.sink)
      g.give(GroupQuery::HeadSink, gradients.sink);
  }

private:
  /// Are the places of keys and values known, and of as many positions as queries?
  bool isPlaced() {
    int64_t positions = dimsOf(g.operand(GroupQuery::Query))[1];
    if (!isPacked && dimsOf(g.operand(GroupQuery::Key))[1] != positions)
      return g.refuse("operand 'key' has " + llvm::Twine(dimsOf(g.operand(GroupQuery::Key))[1]) + " positions, and " +
                      llvm::Twine(positions) + ", as 'query' has, are accepted");
    if (buffer.numAttended() < positions)
      return g.refuse("operand 'total_sequence_length' is " + llvm::Twine(buffer.numAttended()) +
                      ", and at least the " + llvm::Twine(positions) + " positions of 'query' are accepted");
    if (buffer.lacksPast())
      return g.refuse("operand 'total_sequence_length' is " + llvm::Twine(buffer.numAttended()) +
                      ", and without a past " + llvm::Twine(positions) + " is accepted");
    for (unsigned past : {GroupQuery::PastKey, GroupQuery::PastValue})
      if (!isAbsent(g.operand(past)) && operandElement(op, past) != operandElement(op, GroupQuery::Query))
        return g.refuse("operand '" + operandName(op, past) +
                        "' is quantised, and one of the type of 'query' is accepted");
    return true;
  }
  bool mayRotate() {
    if (op.getDoRotary() == 0 ||
        (!isAbsent(g.operand(GroupQuery::CosCache)) && !isAbsent(g.operand(GroupQuery::SinCache))))
      return true;
    return g.refuse("attribute 'do_rotary' is given without tables, and one beside 'cos_cache' and 'sin_cache' is "
                    "accepted");
  }

  ScoreStage returnedStage() { return op.getQkOutput() == 2 ? ScoreStage::Softmax : ScoreStage::Biased; }
  bool isSmooth() { return static_cast<int64_t>(op.getSmoothSoftmax().value_or(0)) > 0; }

  /// Through the result of the heads, and through their scores.
  HeadValues ofResults() {
    HeadValues forward = {headsOf(GroupQuery::Query),
                          buffer.place(g.operand(GroupQuery::PastKey), headsOf(GroupQuery::Key)),
                          buffer.place(g.operand(GroupQuery::PastValue), headsOf(GroupQuery::Value))};
    forward.scale = scaleOfHeads(op, size);
    forward.softcap = floatAttribute(op, "softcap", 0);
    takeSeen(forward);
    if (mlir::Value bias = g.operand(GroupQuery::AttentionBias); !isAbsent(bias)) {
      forward.bias = wholeMask(g, bias, buffer.numAttended());
      forward.mayHideAll = true; // minus infinity at all keys
    }
    takeSink(forward);
    auto wants = [&](unsigned operand, unsigned past) {
      return g.wants(isPacked ? unsigned(GroupQuery::Query) : operand) || g.wants(past);
    };
    const WantedHeads wanted{g.wants(GroupQuery::Query) || g.wants(GroupQuery::QueryNorm),
                             wants(GroupQuery::Key, GroupQuery::PastKey) || g.wants(GroupQuery::KeyNorm),
                             wants(GroupQuery::Value, GroupQuery::PastValue), g.wants(GroupQuery::AttentionBias),
                             g.wants(GroupQuery::HeadSink)};
    HeadValues gradients;
    if (g.incoming())
      gradients = gradientsOfHeads(g, forward, splitIntoHeads(g, g.incoming(), heads, keyHeads), wanted);
    if (mlir::Value scores = g.incoming(3))
      gradients = sumOfBoth(g, gradients, gradientsOfScores(g, forward, returnedStage(), scores, wanted));
    return gradients;
  }

  void takeSeen(HeadValues &forward) {
    int64_t positions = dimsOf(forward.queries)[2], attended = buffer.numAttended();
    if (op.getCausal() != 0) {
      forward.seen = causalMask(g, positions, attended, op.getLocalWindowSize(), buffer.getPlaces());
    } else if (buffer.getEnds()) {
      forward.seen = keysBefore(g, buffer.getEnds(), attended);
      forward.mayHideAll = true;
    }
  }
  /// Smooth softmax is that beside sinks of 0.
  void takeSink(HeadValues &forward) {
    if (!isAbsent(g.operand(GroupQuery::HeadSink)))
      forward.sink = g.operand(GroupQuery::HeadSink);
    else if (isSmooth())
      forward.sink = g.make<ExpandOp>({g.scalar(0, forward.queries), g.integers({heads})});
    if (forward.sink)
      forward.result = splitIntoHeads(g, g.result(), heads, keyHeads);
  }

  void giveHeads(const HeadValues &gradients) {
    mlir::Value keys = buffer.whole(gradients.keys, g.incoming(1)),
                values = buffer.whole(gradients.values, g.incoming(2));
    std::array<mlir::Value, 3> parts = {gradients.queries, buffer.ofCurrent(keys), buffer.ofCurrent(values)};
    for (auto [index, part] : llvm::enumerate(parts)) {
      if (!part)
        continue;
      unsigned operand = index == 0 ? GroupQuery::Query : index == 1 ? GroupQuery::Key : GroupQuery::Value;
      part = joinFromHeads(g, part, keyHeads);
      if (operand != GroupQuery::Value)
        part = beforeNorm(operand, rotated(part, countOf(operand), /*isBack=*/true));
      if (!isPacked)
        g.give(operand, part);
    }
    if (isPacked && g.wants(GroupQuery::Query))
      givePacked(parts);
    if (!isAbsent(g.operand(GroupQuery::PastKey)) && g.wants(GroupQuery::PastKey))
      giveIfAny(GroupQuery::PastKey, buffer.ofPast(keys));
    if (!isAbsent(g.operand(GroupQuery::PastValue)) && g.wants(GroupQuery::PastValue))
      giveIfAny(GroupQuery::PastValue, buffer.ofPast(values));
  }
  void giveIfAny(unsigned operand, mlir::Value gradient) {
    if (gradient)
      g.give(operand, gradient);
  }
  /// Parts at which nothing arrives are zeros.
  void givePacked(std::array<mlir::Value, 3> parts) {
    llvm::SmallVector<int64_t, 3> dims(dimsOf(g.operand(GroupQuery::Query)));
    for (auto [part, count] : llvm::zip_equal(parts, std::array{heads, keyHeads, keyHeads})) {
      dims[2] = count * size;
      if (!part)
        part = g.make<ExpandOp>({g.scalar(0, g.operand(GroupQuery::Query)), g.integers(dims)});
    }
    g.give(GroupQuery::Query, g.make<ConcatOp>(llvm::ArrayRef<mlir::Value>(parts), g.attribute("axis", int64_t(2))));
  }

  int64_t countOf(unsigned operand) const { return operand == GroupQuery::Query ? heads : keyHeads; }
  /// [b, s, count * size].
  mlir::Value flatOf(unsigned operand) {
    if (!isPacked)
      return g.operand(operand);
    int64_t begin = size * (operand == GroupQuery::Query ? 0 : operand == GroupQuery::Key ? heads : heads + keyHeads);
    return lastSlice(g, g.operand(GroupQuery::Query), begin, begin + countOf(operand) * size);
  }
  mlir::Value headsOf(unsigned operand) {
    mlir::Value flat = flatOf(operand);
    if (operand != GroupQuery::Value)
      flat = rotated(normalised(operand, flat), countOf(operand), /*isBack=*/false);
    return splitIntoHeads(g, flat, countOf(operand), keyHeads);
  }

  /// [b, s, count, size], whose last dim is normalised where the operand has a norm.
  mlir::Value apart(unsigned operand, mlir::Value flat) {
    llvm::ArrayRef<int64_t> dims = dimsOf(flat);
    return shaped(g, flat, {dims[0], dims[1], countOf(operand), size});
  }
  static unsigned normOf(unsigned operand) {
    return operand == GroupQuery::Query ? GroupQuery::QueryNorm : GroupQuery::KeyNorm;
  }
  mlir::NamedAttribute epsilon() {
    double own = floatAttribute(op, "qk_norm_epsilon", 1e-6);
    return g.attribute("epsilon", g.getBuilder().getF32FloatAttr(static_cast<float>(own)));
  }
  mlir::Value normalised(unsigned operand, mlir::Value flat) {
    mlir::Value scale = g.operand(normOf(operand));
    if (isAbsent(scale))
      return flat;
    return g.reshapeTo(g.make<RMSNormalizationOp>({apart(operand, flat), scale}, epsilon()), flat);
  }
  /// The gradient of an operand from that of its normalised form, which also gives that of the norm's scale.
  mlir::Value beforeNorm(unsigned operand, mlir::Value gradient) {
    mlir::Value scale = g.operand(normOf(operand));
    if (isAbsent(scale))
      return gradient;
    const llvm::SmallVector<mlir::NamedAttribute, 3> attributes = {g.attribute("axis", int64_t(3)), epsilon(),
                                                                   g.attribute("centred", int64_t(0))};
    mlir::Value x = apart(operand, flatOf(operand)), own = apart(operand, gradient);
    if (g.wants(normOf(operand)))
      g.give(normOf(operand), g.sumTo(g.make<LayerNormalizationScaleGradOp>({own, x}, attributes), scale));
    return g.reshapeTo(g.make<LayerNormalizationGradOp>({own, x, scale}, attributes), gradient);
  }

  /// [b, s, count * size] turned by the angles of the positions.
  mlir::Value rotated(mlir::Value flat, int64_t count, bool isBack) {
    if (op.getDoRotary() == 0)
      return flat;
    mlir::Value ids = g.operand(GroupQuery::PositionIds), sines = g.operand(GroupQuery::SinCache);
    int64_t pairs = dimsOf(g.operand(GroupQuery::CosCache))[1];
    return g.make<MsRotaryEmbeddingOp>({flat, isAbsent(ids) ? buffer.ids() : idsOfAll(ids),
                                        g.operand(GroupQuery::CosCache), isBack ? g.neg(sines) : sines},
                                       {g.attribute("num_heads", count),
                                        g.attribute("interleaved", static_cast<int64_t>(op.getRotaryInterleaved())),
                                        g.attribute("rotary_embedding_dim", 2 * pairs == size ? 0 : 2 * pairs)});
  }
  /// Ids [1, s] stand for those of all batch elements.
  mlir::Value idsOfAll(mlir::Value ids) {
    llvm::ArrayRef<int64_t> dims = dimsOf(g.operand(GroupQuery::Query)).take_front(2);
    return dimsOf(ids) == dims ? ids : g.make<ExpandOp>({ids, g.integers(dims)});
  }

  GradientBuilder &g;
  GroupQueryAttentionOp op;
  Buffer buffer;
  bool isPacked;
  int64_t heads, keyHeads, size;
};

} // namespace

bool GroupQueryAttentionOp::differentiate(GradientBuilder &g) {
  GroupQueryGradients attention(g, *this);
  if (!attention.isTrained())
    return false;
  attention.give();
  return true;
}

} // namespace apc
