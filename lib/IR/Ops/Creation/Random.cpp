// Random numbers: shapes, rules, pieces and the numbers themselves.
#include "Creation.h"

#include "../Draws.h"

#include "apc/IR/ElementTypes.h"
#include "apc/IR/Kernels/Evaluate.h"
#include "apc/IR/Kernels/IndexLoops.h"
#include "apc/IR/RuleBuilder.h"

#include <bit>
#include <cmath>
#include <numbers>

namespace apc {

mlir::Type randomElement(mlir::Operation *op, bool onlyFloats) {
  mlir::Type element = operandElement(op, 0);
  if (auto dtype = op->getAttrOfType<mlir::IntegerAttr>("dtype")) {
    auto asked = requireElementType(op, dtype.getInt(), "dtype");
    if (mlir::failed(asked))
      return {};
    element = *asked;
  }
  if (!onlyFloats || llvm::isa<mlir::FloatType>(element))
    return element;
  op->emitOpError() << "draws floats, but its result would hold " << element << "; dtype names another type";
  return {};
}

uint64_t streamOf(mlir::Operation *op) {
  if (auto stream = op->getAttrOfType<mlir::IntegerAttr>("stream"))
    return static_cast<uint64_t>(stream.getInt());
  if (auto seed = op->getAttrOfType<mlir::FloatAttr>("seed"))
    return std::bit_cast<uint32_t>(seed.getValue().convertToFloat());
  return seedOfName(op);
}

namespace {

template <typename Op>
void localizeRandom(Op op, LocalOp &local) {
  local.attributes.set("stream", local.builder.getI64IntegerAttr(static_cast<int64_t>(streamOf(op))));
  llvm::ArrayRef<int64_t> dims = dimsOf(op.getOutput());
  if (local.resultDims(0) == dims)
    return;
  local.attributes.set("whole", local.builder.getDenseI64ArrayAttr(dims));
  for (unsigned dim = 0; dim < dims.size(); ++dim)
    local.operands.push_back(local.resultOffsetOf(0, dim));
}

/// Numbers from [0, 1) for the elements of a result, as many for each as are asked for.
struct Draws {
  uint64_t seed;
  PlaceInWhole place;

  double at(llvm::ArrayRef<int64_t> index, int64_t which = 0, int64_t ofEach = 1) const {
    return drawAt(seed, place.positionOf(index) * ofEach + which);
  }
};

template <typename Op>
std::optional<Draws> drawsOf(Op op, Operands operands) {
  unsigned declared = Op::getNumDeclaredOperands();
  auto place = placeInWhole(dimsOf(op.getOutput()), operands.drop_front(declared), op.getWhole());
  auto seed = seedOfRun(streamOf(op), op.getDraw(), operands[declared - 1]);
  if (!place || !seed)
    return std::nullopt;
  return Draws{*seed, std::move(*place)};
}

/// A result whose element at an index is `number` of the draws there.
template <typename Op, typename Function>
Evaluated evaluateDraws(Op op, Operands operands, Function number) {
  std::optional<Draws> draws = drawsOf(op, operands);
  if (!draws)
    return std::nullopt;
  Tensor result = zeros(op.getOutput().getType());
  int64_t at = 0;
  forEachIndex(result.dims, [&](llvm::ArrayRef<int64_t> index) {
    double value = number(*draws, index, at);
    setElement(result, at++, result.isFloat() ? Number::of(value) : Number::of(static_cast<int64_t>(value)));
  });
  return evaluatedAs(std::move(result));
}

/// Box and Muller's normal number from two uniform ones.
template <typename Op>
Evaluated evaluateNormal(Op op, Operands operands) {
  double mean = op.getMean().convertToDouble(), scale = op.getScale().convertToDouble();
  return evaluateDraws(op, operands, [=](const Draws &draws, llvm::ArrayRef<int64_t> index, int64_t) {
    double radius = std::sqrt(-2 * std::log(1 - draws.at(index, 0, 2)));
    return mean + scale * radius * std::cos(2 * std::numbers::pi * draws.at(index, 1, 2));
  });
}

template <typename Op>
Evaluated evaluateUniform(Op op, Operands operands) {
  double low = op.getLow().convertToDouble(), high = op.getHigh().convertToDouble();
  return evaluateDraws(op, operands, [=](const Draws &draws, llvm::ArrayRef<int64_t> index, int64_t) {
    return low + (high - low) * draws.at(index);
  });
}

template <typename Op>
mlir::LogicalResult inferOfShape(Op op, llvm::SmallVectorImpl<mlir::Type> &types) {
  mlir::Type element = randomElement(op, /*onlyFloats=*/true);
  return element ? addType(op, op.getShape(), element, types) : mlir::failure();
}

template <typename Op>
FactorRule ruleOfShape(Op op) {
  FactorRule rule = sourceRule(op);
  rule.flopsPerPoint = 8;
  return rule;
}

} // namespace

// `dtype` of RandomNormal and RandomUniform always has a value.
mlir::LogicalResult RandomNormalOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  return inferOfShape(*this, types);
}
mlir::LogicalResult RandomUniformOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  return inferOfShape(*this, types);
}

mlir::FailureOr<FactorRule> RandomNormalOp::getRule() { return ruleOfShape(*this); }
mlir::FailureOr<FactorRule> RandomUniformOp::getRule() { return ruleOfShape(*this); }

void RandomNormalOp::localize(LocalOp &local) {
  local.attributes.set("shape", local.builder.getDenseI64ArrayAttr(local.resultDims(0)));
  localizeRandom(*this, local);
}
void RandomUniformOp::localize(LocalOp &local) {
  local.attributes.set("shape", local.builder.getDenseI64ArrayAttr(local.resultDims(0)));
  localizeRandom(*this, local);
}
void RandomNormalLikeOp::localize(LocalOp &local) { localizeRandom(*this, local); }
void RandomUniformLikeOp::localize(LocalOp &local) { localizeRandom(*this, local); }
void BernoulliOp::localize(LocalOp &local) { localizeRandom(*this, local); }
void MultinomialOp::localize(LocalOp &local) {
  local.setInt("sample_size", local.resultDims(0)[1]);
  localizeRandom(*this, local);
}

Evaluated RandomNormalOp::evaluate(Operands operands) { return evaluateNormal(*this, operands); }
Evaluated RandomUniformOp::evaluate(Operands operands) { return evaluateUniform(*this, operands); }
Evaluated RandomNormalLikeOp::evaluate(Operands operands) { return evaluateNormal(*this, operands); }
Evaluated RandomUniformLikeOp::evaluate(Operands operands) { return evaluateUniform(*this, operands); }

Evaluated BernoulliOp::evaluate(Operands operands) {
  if (!operands[0])
    return std::nullopt;
  return evaluateDraws(*this, operands, [&](const Draws &draws, llvm::ArrayRef<int64_t> index, int64_t at) {
    return draws.at(index) < getElement(*operands[0], at).asReal() ? 1.0 : 0.0;
  });
}

mlir::LogicalResult MultinomialOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  llvm::ArrayRef<int64_t> dims = dimsOf(getInput());
  if (dims.size() != 2)
    return emitOpError() << "takes log probabilities of shape [rows, classes], but its input is " << printDims(dims);
  auto element = requireElementType(*this, static_cast<int64_t>(getDtype()), "dtype");
  if (mlir::failed(element))
    return mlir::failure();
  if (!element->isInteger(32) && !element->isInteger(64))
    return emitOpError() << "gives indices of 32 or 64 bits, but dtype names " << *element;
  return addType(*this, {dims[0], static_cast<int64_t>(getSampleSize())}, *element, types);
}

mlir::FailureOr<FactorRule> MultinomialOp::getRule() {
  RuleBuilder rule(*this);
  llvm::ArrayRef<int64_t> from = dimsOf(getInput()), to = dimsOf(getOutput());
  DimFactors row = rule.parallel(from[0]), drawn = rule.parallel(to[1]);
  rule.setOperand(0, {row, rule.whole(from[1])});
  rule.setResult(0, {row, drawn});
  FactorRule built = rule.take(Work::Stream);
  built.flopsPerPoint = 4;
  return built;
}

/// The first class at which the sum of probabilities passes a number from [0, 1).
Evaluated MultinomialOp::evaluate(Operands operands) {
  if (!operands[0])
    return std::nullopt;
  const Tensor &logits = *operands[0];
  int64_t classes = logits.dims[1];
  return evaluateDraws(*this, operands, [&](const Draws &draws, llvm::ArrayRef<int64_t> index, int64_t) {
    auto row = llvm::ArrayRef(logits.floats).slice(static_cast<size_t>(index[0] * classes), classes);
    double largest = row.empty() ? 0 : *llvm::max_element(row), total = 0, sum = 0;
    for (double logit : row)
      total += std::exp(logit - largest);
    for (auto [place, logit] : llvm::enumerate(row)) {
      sum += std::exp(logit - largest);
      if (sum > draws.at(index) * total)
        return static_cast<double>(place);
    }
    return static_cast<double>(std::max<int64_t>(classes - 1, 0));
  });
}

} // namespace apc
