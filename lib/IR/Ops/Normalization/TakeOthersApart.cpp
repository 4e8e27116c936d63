// Normalisations of groups, of instances, over any dims, by a norm and of embeddings as ops that devices can share
// along the dims that they reduce.
#include "../Attributes.h"
#include "../MakeOp.h"
#include "TakeApart.h"

#include "apc/IR/AttributeNames.h"
#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/IR/Ops/Indexing/Indexing.h"
#include "apc/IR/Ops/Movement/Movement.h"
#include "apc/IR/Ops/Reduction/Reduction.h"

#include "llvm/ADT/TypeSwitch.h"

#include <numeric>

namespace apc {

namespace {

/// The ops of one normalisation, named after it.
class OtherParts {
public:
  OtherParts(mlir::OpBuilder &builder, mlir::Operation *op) : builder(builder), op(op), name(placeName(op).str()) {}

  mlir::Operation *ofGroups(int64_t groups);
  mlir::Operation *ofDims(llvm::ArrayRef<int64_t> axes);
  mlir::Operation *byNorm(int64_t axis, bool isSquare);
  mlir::Operation *ofEmbeddings(EmbedLayerNormalizationOp embedding);

private:
  mlir::Value operand(unsigned index) const { return op->getOperand(index); }
  mlir::Value none() { return NoneOp::create(builder, op->getLoc()); }
  mlir::Value integers(llvm::ArrayRef<int64_t> values) {
    return ConstantOp::create(builder, op->getLoc(), builder.getI64TensorAttr(values));
  }
  /// A number in the element type of `like`, of one dim.
  mlir::Value number(double value, mlir::Value like) {
    Tensor tensor = zeros(mlir::RankedTensorType::get({1}, mlir::getElementTypeOrSelf(like)));
    setElement(tensor, 0, Number::of(value));
    return ConstantOp::create(builder, op->getLoc(), tensor.toAttribute());
  }
  mlir::NamedAttribute attribute(llvm::StringRef called, int64_t value) {
    return builder.getNamedAttr(called, builder.getI64IntegerAttr(value));
  }
  mlir::Value reshaped(llvm::StringRef part, mlir::Value value, llvm::ArrayRef<int64_t> dims) {
    return dimsOf(value) == dims
               ? value
               : makeOp<ReshapeOp>(builder, name + part, {value, integers(dims)}, attribute("allowzero", 1));
  }
  mlir::Value transposed(llvm::StringRef part, mlir::Value value, llvm::ArrayRef<int64_t> perm) {
    return llvm::is_sorted(perm)
               ? value
               : makeOp<TransposeOp>(builder, name + part, {value},
                                     builder.getNamedAttr("perm", builder.getDenseI64ArrayAttr(perm)));
  }
  mlir::Value cast(llvm::StringRef part, mlir::Value value, mlir::Type element) {
    return mlir::getElementTypeOrSelf(value) == element
               ? value
               : makeOp<CastOp>(builder, name + part, {value}, attribute("to", dataType(element)));
  }
  mlir::Value rows(llvm::StringRef part, mlir::Value table, mlir::Value ids) {
    return makeOp<GatherOp>(builder, name + part, {table, ids});
  }
  mlir::FloatAttr epsilon() const { return op->getAttrOfType<mlir::FloatAttr>("epsilon"); }
  /// `made` takes the place of result `index`.
  mlir::Operation *replace(unsigned index, mlir::Value made);

  mlir::OpBuilder &builder;
  mlir::Operation *op;
  std::string name;
};

mlir::Operation *OtherParts::replace(unsigned index, mlir::Value made) {
  mlir::Operation *maker = made.getDefiningOp();
  unsigned own = llvm::cast<mlir::OpResult>(made).getResultNumber();
  llvm::SmallVector<mlir::Attribute, 2> names;
  for (unsigned result = 0; result < maker->getNumResults(); ++result)
    names.push_back(result == own ? valueName(op, index) : valueName(maker, result));
  maker->setAttr(valuesAttribute, builder.getArrayAttr(names));
  op->getResult(index).replaceAllUsesWith(made);
  return maker;
}

// [N, C, D1, D2] is seen as [N, groups, C / groups, D1, D2], normalised from dim 2 on; one channel for each group is
// not seen apart. Parameters [C] are [groups, C / groups, 1, 1], those of groups [groups, 1, 1, 1].
mlir::Operation *OtherParts::ofGroups(int64_t groups) {
  mlir::Value x = operand(0);
  llvm::SmallVector<int64_t, 5> whole(dimsOf(x)), apart = whole;
  int64_t channels = whole[1], inGroup = channels / groups;
  if (inGroup > 1) {
    apart[1] = inGroup;
    apart.insert(apart.begin() + 1, groups);
  }
  if (apart.size() == 2) // no space
    apart.push_back(1);
  auto parameter = [&](llvm::StringRef part, mlir::Value value) {
    llvm::SmallVector<int64_t, 5> dims(apart.size() - 1, 1);
    dims[0] = groups;
    if (inGroup > 1 && dimsOf(value)[0] == channels)
      dims[1] = inGroup;
    return reshaped(part, value, dims);
  };
  LayerParts parts{reshaped(".groups", x, apart), parameter(".scale", operand(1)), parameter(".bias", operand(2)),
                   none(), none()};
  parts.axis = 2;
  parts.epsilon = epsilon();
  mlir::Value normal = createLayerParts(builder, name, parts)->getResult(0);
  return replace(0, reshaped(".shaped", normal, whole));
}

// Deviations of 0 count as 1e-9, as they do in ONNX's function.
mlir::Operation *OtherParts::ofDims(llvm::ArrayRef<int64_t> axes) {
  mlir::Value x = operand(0);
  auto numDims = static_cast<int64_t>(dimsOf(x).size());
  llvm::SmallVector<int64_t, 5> perm(numDims), back(numDims);
  std::iota(perm.begin(), perm.end(), 0);
  auto isReduced = [&](int64_t dim) {
    return llvm::is_contained(axes, dim) || llvm::is_contained(axes, dim - numDims);
  };
  auto first = std::stable_partition(perm.begin(), perm.end(), [&](int64_t dim) { return !isReduced(dim); });
  for (auto [to, from] : llvm::enumerate(perm))
    back[from] = static_cast<int64_t>(to);
  LayerParts parts{transposed(".rows", x, perm), number(1, x), none(), none(), none()};
  parts.axis = first - perm.begin();
  parts.epsilon = builder.getF32FloatAttr(1e-18F);
  mlir::Value normal = createLayerParts(builder, name, parts)->getResult(0);
  return replace(0, transposed(".turned", normal, back));
}

// A vector of norm 0 is divided by 1.
mlir::Operation *OtherParts::byNorm(int64_t axis, bool isSquare) {
  mlir::Type element = mlir::getElementTypeOrSelf(operand(0));
  mlir::Value x = cast(".precise", operand(0), preciseElement(op)), axes = integers({axis});
  mlir::Value sum = isSquare ? makeOp<ReduceSumSquareOp>(builder, name + ".statistics", {x, axes})
                             : makeOp<ReduceL1Op>(builder, name + ".statistics", {x, axes});
  mlir::Value isZero = makeOp<EqualOp>(builder, name + ".zero", {sum, number(0, x)});
  mlir::Value norm = makeOp<WhereOp>(builder, name + ".divisor", {isZero, number(1, x), sum});
  if (isSquare)
    norm = makeOp<SqrtOp>(builder, name + ".norm", {norm});
  return replace(0, cast(".rounded", makeOp<DivOp>(builder, name, {x, norm}), element));
}

mlir::Operation *OtherParts::ofEmbeddings(EmbedLayerNormalizationOp embedding) {
  mlir::Value ids = embedding.getInputIds(), positions = embedding.getPositionIds(), mask = embedding.getMask();
  if (isAbsent(positions)) {
    llvm::SmallVector<int64_t, 16> all(dimsOf(ids)[1]);
    std::iota(all.begin(), all.end(), 0);
    positions = integers(all);
  }
  bool hasSegments = !isAbsent(embedding.getSegmentIds()) && !isAbsent(embedding.getSegmentEmbedding());
  LayerParts parts{rows(".words", embedding.getWordEmbedding(), ids), embedding.getGamma(), embedding.getBeta(),
                   rows(".positions", embedding.getPositionEmbedding(), positions),
                   hasSegments ? rows(".segments", embedding.getSegmentEmbedding(), embedding.getSegmentIds())
                               : none()};
  parts.epsilon = epsilon();
  parts.givesSum = !isAbsent(embedding.getEmbeddingSum());
  mlir::Operation *made = createLayerParts(builder, name, parts);
  replace(0, made->getResult(0));
  if (parts.givesSum)
    replace(2, made->getResult(1));
  if (isAbsent(embedding.getMaskIndex()))
    return made;
  auto lengths = llvm::cast<mlir::RankedTensorType>(embedding.getMaskIndex().getType());
  if (isAbsent(mask)) {
    mlir::Value zero = ConstantOp::create(builder, op->getLoc(), zeros(lengths).toAttribute());
    embedding.getMaskIndex().replaceAllUsesWith(zero);
    return made;
  }
  mlir::Value counts = makeOp<EqualOp>(builder, name + ".counts", {mask, number(1, mask)});
  replace(1, makeOp<ReduceSumOp>(builder, name + ".lengths",
                                 {cast(".ones", counts, lengths.getElementType()), integers({1})},
                                 attribute("keepdims", 0)));
  return made;
}

} // namespace

bool isOtherNormalization(mlir::Operation *op) {
  if (auto dims = llvm::dyn_cast<MeanVarianceNormalizationOp>(op))
    return !dims.getAxes().empty();
  return llvm::isa<InstanceNormalizationOp, GroupNormalizationOp, LpNormalizationOp, EmbedLayerNormalizationOp>(op);
}

bool isTrainedApart(mlir::Operation *op) {
  return llvm::isa<MeanVarianceNormalizationOp, LpNormalizationOp, EmbedLayerNormalizationOp>(op);
}

mlir::Operation *takeOtherApart(mlir::OpBuilder &builder, mlir::Operation *op) {
  OtherParts parts(builder, op);
  return llvm::TypeSwitch<mlir::Operation *, mlir::Operation *>(op)
      .Case([&](InstanceNormalizationOp) { return parts.ofGroups(dimsOf(op->getOperand(0))[1]); })
      .Case([&](GroupNormalizationOp groups) { return parts.ofGroups(static_cast<int64_t>(groups.getNumGroups())); })
      .Case([&](MeanVarianceNormalizationOp dims) { return parts.ofDims(dims.getAxes()); })
      .Case(
          [&](LpNormalizationOp norm) { return parts.byNorm(static_cast<int64_t>(norm.getAxis()), norm.getP() == 2); })
      .Case([&](EmbedLayerNormalizationOp embedding) { return parts.ofEmbeddings(embedding); })
      .Default([](mlir::Operation *) { return static_cast<mlir::Operation *>(nullptr); });
}

} // namespace apc
