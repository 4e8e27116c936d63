// Mixtures of experts in one operator: com.microsoft's MoE and QMoE.
#include "apc/IR/Ops/Attention/Attention.h"

#include "../../Attributes.h"
#include "Experts.h"
#include "apc/IR/Ops/Spmd/Spmd.h"
#include "apc/IR/RuleBuilder.h"

namespace apc {

ExpertOperands expertOperands(mlir::Operation *op) {
  if (llvm::isa<QMoEOp>(op))
    return {2, 5, 8, 3};
  return {};
}

namespace {

using LayerDims = std::array<int64_t, 3>;

/// The order of the dims of all weights of an op, before they are packed: 0 is [experts, outputs, inputs], 1 is
/// [experts, inputs, outputs].
class WeightOrder {
public:
  WeightOrder(mlir::Operation *op, int64_t hidden, int64_t fused)
      : op(op), which(expertOperands(op)), hidden(hidden), fused(fused) {}

  /// True for order 1, false for order 0, also where both fit; an error at the op where neither does.
  mlir::FailureOr<bool> areInputsFirst() const {
    llvm::SmallVector<unsigned, 2> orders = {0, 1};
    for (unsigned weights : {which.first, which.second, which.third}) {
      llvm::SmallVector<unsigned, 2> before = orders;
      llvm::erase_if(orders, [&](unsigned order) { return !fits(weights, order); });
      if (orders.empty())
        return misfit(weights, before);
    }
    return orders.front() == 1;
  }
  /// An error at the op that names the shapes that the weights may have.
  mlir::FailureOr<bool> misfit(unsigned weights, llvm::ArrayRef<unsigned> orders) const {
    mlir::InFlightDiagnostic error = op->emitOpError() << "operand '" << operandName(op, weights) << "' has shape "
                                                       << printDims(dimsOf(op->getOperand(weights))) << " where ";
    for (unsigned order : orders)
      error << (order == orders.front() ? "" : " or ") << printDims(expected(weights, order))
            << (order == 0 ? " ([experts, outputs, inputs])" : " ([experts, inputs, outputs])");
    return error << " is needed (-1 is any" << (fused == 2 ? " even size)" : " size)"), mlir::failure();
  }

private:
  /// The dims of a layer's weights; the inner size is that of the first layer, -1 where that has none.
  LayerDims expected(unsigned weights, unsigned order) const {
    llvm::ArrayRef<int64_t> first = dimsOf(op->getOperand(which.first));
    int64_t rows = first[order + 1], inner = rows % fused == 0 ? rows / fused : -1;
    int64_t outputs = weights == which.first ? -1 : weights == which.second ? hidden : inner;
    int64_t inputs = weights == which.second ? inner : hidden;
    return order == 0 ? LayerDims{first[0], outputs, inputs} : LayerDims{first[0], inputs, outputs};
  }
  bool fits(unsigned weights, unsigned order) const {
    mlir::Value value = op->getOperand(weights);
    if (isAbsent(value))
      return true;
    llvm::ArrayRef<int64_t> dims = dimsOf(value);
    LayerDims wanted = expected(weights, order);
    auto isOfSize = [](int64_t dim, int64_t size) { return size < 0 || dim == size; };
    return std::equal(dims.begin(), dims.end(), wanted.begin(), wanted.end(), isOfSize) &&
           (weights != which.first || dims[order + 1] % fused == 0);
  }

  mlir::Operation *op;
  ExpertOperands which;
  int64_t hidden, fused;
};

/// Elements of quantised weights in a byte.
int64_t packedElements(QMoEOp op) {
  int64_t bits = op.getExpertWeightBits();
  return bits > 0 && 8 % bits == 0 ? 8 / bits : 1;
}

/// Quantised weights are packed along their last dim, in forms of which some are not known: they are [experts, inputs,
/// outputs] only where the first two layers fit that order and not the other.
mlir::FailureOr<bool> arePackedInputsFirst(QMoEOp op, int64_t hidden, int64_t fused) {
  ExpertOperands which = expertOperands(op);
  int64_t packed = packedElements(op);
  llvm::ArrayRef<int64_t> first = dimsOf(op->getOperand(which.first)), second = dimsOf(op->getOperand(which.second));
  bool outputsFirst = first[2] * packed == hidden && second[1] == hidden && first[1] == fused * second[2] * packed;
  bool inputsFirst = first[1] == hidden && second[2] * packed == hidden && first[2] * packed == fused * second[1];
  if (inputsFirst || second[1] == hidden)
    return inputsFirst && !outputsFirst;
  return op->emitOpError() << "operand '" << operandName(op, which.second) << "' has shape " << printDims(second)
                           << " where " << printDims({first[0], hidden, -1}) << " ([experts, outputs, inputs]) or "
                           << printDims({first[0], first[2] * packed / fused, hidden / packed})
                           << " ([experts, inputs, outputs]) is needed (-1 is any size)",
         mlir::failure();
}

/// The order of the weights' dims. Pieces of weights may fit both, so an op on pieces says it.
mlir::FailureOr<bool> areInputsFirst(mlir::Operation *op, int64_t hidden, int64_t fused) {
  bool isSaid = op->hasAttr("inputs_first");
  if (isSaid || isOnPiece(op))
    return isSaid;
  if (auto quantized = llvm::dyn_cast<QMoEOp>(op))
    return arePackedInputsFirst(quantized, hidden, fused);
  return WeightOrder(op, hidden, fused).areInputsFirst();
}

} // namespace

mlir::FailureOr<ExpertSizes> readExperts(mlir::Operation *op) {
  ExpertOperands which = expertOperands(op);
  llvm::ArrayRef<int64_t> input = dimsOf(op->getOperand(0)), first = dimsOf(op->getOperand(which.first));
  if (input.size() < 2 || input.size() > 3)
    return op->emitOpError() << "operand 'input' has " << input.size()
                             << " dims; [tokens, hidden] or [batch, positions, hidden] is needed",
           mlir::failure();
  if (mlir::failed(checkExtents(op)))
    return mlir::failure();
  ExpertSizes sizes;
  sizes.tokens.assign(input.begin(), input.end() - 1);
  sizes.hidden = input.back();
  bool gated = stringAttribute(op, "activation_type", "relu") == "swiglu" && intAttribute(op, "swiglu_fusion", 0) != 0;
  sizes.fused = gated ? 2 : 1;
  std::optional<int64_t> tokens = checkedProduct(sizes.tokens);
  if (!tokens || mlir::failed(checkDims(op, which.first, {-1, -1, -1})) ||
      mlir::failed(checkDims(op, which.second, {first[0], -1, -1})) ||
      mlir::failed(checkDims(op, 1, {*tokens, isOnPiece(op) ? -1 : first[0]})))
    return mlir::failure();
  sizes.experts = first[0];
  sizes.chosen = intAttribute(op, "k", 1);
  if (sizes.chosen < 1 || sizes.chosen > std::max<int64_t>(1, dimsOf(op->getOperand(1))[1]))
    return op->emitOpError() << "'k' is " << sizes.chosen << "; 1 to the " << dimsOf(op->getOperand(1))[1]
                             << " experts is needed",
           mlir::failure();
  auto inputsFirst = areInputsFirst(op, sizes.hidden, sizes.fused);
  if (mlir::failed(inputsFirst))
    return mlir::failure();
  sizes.inputsFirst = *inputsFirst;
  unsigned outputs = sizes.inputsFirst ? 2 : 1;
  auto quantized = llvm::dyn_cast<QMoEOp>(op);
  int64_t packed = sizes.inputsFirst && quantized ? packedElements(quantized) : 1;
  sizes.results = dimsOf(op->getOperand(which.second))[outputs] * packed;
  auto inner = divide(op, first[outputs] * packed, sizes.fused, "the number of fused layers");
  if (mlir::failed(inner))
    return mlir::failure();
  sizes.inner = *inner;
  sizes.third = !isAbsent(op->getOperand(which.third));
  return sizes;
}

namespace {

/// Rows of weights: 2 FLOPs for each weight and token that visits its expert.
double expertFlops(const ExpertSizes &sizes) {
  double layers = double(sizes.fused) + 1 + (sizes.third ? 1 : 0);
  return 2.0 * sizes.numTokens() * double(sizes.chosen) * layers * double(sizes.inner) * double(sizes.hidden);
}

/// The factors of input, router and result; the router picks among all experts, so its row is whole.
struct TokenFactors {
  llvm::SmallVector<DimFactors, 4> input, router, result;
};

TokenFactors addTokens(FactorRuleBuilder &builder, const ExpertSizes &sizes, bool wholeResult) {
  TokenFactors factors;
  DimFactors all;
  for (auto [index, size] : llvm::enumerate(sizes.tokens)) {
    FactorId token = builder.addFactor(numbered("t", index), size);
    factors.input.push_back({token});
    all.push_back(token);
  }
  factors.result = factors.input;
  factors.input.push_back({builder.addWhole("d", sizes.hidden)});
  factors.result.push_back({wholeResult ? builder.addWhole("n", sizes.hidden) : builder.addFactor("n", sizes.hidden)});
  factors.router = {all, {builder.addWhole("r", sizes.experts)}};
  return factors;
}

mlir::LogicalResult checkLayers(mlir::Operation *op, const ExpertSizes &sizes) {
  int64_t rows = sizes.fused * sizes.inner;
  auto checkWeights = [&](unsigned operand, int64_t outputs, int64_t inputs) {
    return checkDims(op, operand,
                     sizes.inputsFirst ? LayerDims{sizes.experts, inputs, outputs}
                                       : LayerDims{sizes.experts, outputs, inputs});
  };
  if (mlir::failed(checkWeights(2, rows, sizes.hidden)) || mlir::failed(checkDims(op, 3, {sizes.experts, rows})) ||
      mlir::failed(checkWeights(4, sizes.results, sizes.inner)) ||
      mlir::failed(checkDims(op, 5, {sizes.experts, sizes.results})) ||
      mlir::failed(checkWeights(6, sizes.inner, sizes.hidden)))
    return mlir::failure();
  return checkDims(op, 7, {sizes.experts, sizes.inner});
}

} // namespace

mlir::LogicalResult MoEOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  MoEOp op = *this;
  auto sizes = readExperts(op);
  if (mlir::failed(sizes) || mlir::failed(checkLayers(op, *sizes)))
    return mlir::failure();
  llvm::SmallVector<int64_t, 3> dims(sizes->tokens.begin(), sizes->tokens.end());
  dims.push_back(sizes->results);
  return addType(op, dims, operandElement(op, 0), types);
}

// `b s !d, (b s) !r, e f !d, e f, e n f, e n -> b s n`, or `e !d f` and `e f n`: experts e and their inner size f are
// summed over. FLOPs of the k experts that a token visits.
mlir::FailureOr<FactorRule> MoEOp::getRule() {
  MoEOp op = *this;
  auto sizes = readExperts(op);
  if (mlir::failed(sizes) || mlir::failed(checkLayers(op, *sizes)))
    return mlir::failure();
  FactorRuleBuilder builder;
  TokenFactors tokens = addTokens(builder, *sizes, /*wholeResult=*/false);
  const DimFactors &hidden = tokens.input.back(), &result = tokens.result.back();
  DimFactors experts = {builder.addReduction("e", sizes->experts, Combiner::Sum)};
  // Gate and value that stand one behind the other are no run of inner elements when cut.
  bool blocks = sizes->fused == 2 && getSwigluFusion() == 2;
  DimFactors inner = {blocks ? builder.addWhole("f", sizes->inner)
                             : builder.addReduction("f", sizes->inner, Combiner::Sum)};
  DimFactors rows = inner;
  if (sizes->fused == 2) {
    FactorId pair = builder.addWhole("pair", 2);
    rows = blocks ? DimFactors{pair, inner[0]} : DimFactors{inner[0], pair};
  }
  auto weights = [&](const DimFactors &outputs, const DimFactors &inputs) {
    return sizes->inputsFirst ? llvm::SmallVector<DimFactors, 4>{experts, inputs, outputs}
                              : llvm::SmallVector<DimFactors, 4>{experts, outputs, inputs};
  };
  const std::array<llvm::SmallVector<DimFactors, 4>, 8> dims = {{tokens.input,
                                                                 tokens.router,
                                                                 weights(rows, hidden),
                                                                 {experts, rows},
                                                                 weights(result, inner),
                                                                 {experts, result},
                                                                 weights(inner, hidden),
                                                                 {experts, inner}}};
  for (unsigned i = 0; i < dims.size(); ++i)
    addOperand(builder, op->getOperand(i), dims[i]);
  addResult(builder, op->getResult(0), tokens.result);
  builder.setWork(Work::Contraction);
  FactorRule rule = builder.take();
  setFlops(rule, expertFlops(*sizes));
  return rule;
}

mlir::LogicalResult QMoEOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  auto sizes = readExperts(*this);
  if (mlir::failed(sizes))
    return mlir::failure();
  // Weights, scales, biases and zero points of all layers begin with the expert.
  constexpr unsigned firstSide = 3, endOfSides = 14;
  for (unsigned index = firstSide; index < endOfSides; ++index) {
    llvm::ArrayRef<int64_t> dims = dimsOf(getOperand(index));
    if (!isAbsent(getOperand(index)) && (dims.empty() || dims[0] != sizes->experts))
      return emitOpError() << "operand '" << operandName(*this, index) << "' has shape " << printDims(dims)
                           << "; its first dim must be that of the " << sizes->experts << " experts";
  }
  types.push_back(getInput().getType());
  return mlir::success();
}

// Packed weights are cut by experts only.
mlir::FailureOr<FactorRule> QMoEOp::getRule() {
  QMoEOp op = *this;
  auto sizes = readExperts(op);
  if (mlir::failed(sizes))
    return mlir::failure();
  FactorRuleBuilder builder;
  TokenFactors tokens = addTokens(builder, *sizes, /*wholeResult=*/true);
  DimFactors experts = {builder.addReduction("e", sizes->experts, Combiner::Sum)};
  constexpr unsigned routerWeights = 14;
  for (auto [index, value] : llvm::enumerate(op->getOperands())) {
    auto shape = shapeOf(value);
    if (index == 0) {
      addOperand(builder, value, tokens.input);
    } else if (index == 1 || (index == routerWeights && shape && shape->numDims() == 2)) {
      addOperand(builder, value, tokens.router);
    } else if (!shape || shape->dims.empty() || shape->dims[0] != sizes->experts) {
      addReplicated(builder, value);
    } else {
      llvm::SmallVector<DimFactors, 4> dims = {experts};
      for (auto [dim, size] : llvm::drop_begin(llvm::enumerate(shape->dims)))
        dims.push_back({builder.addWhole(numbered(("w" + llvm::Twine(index) + "_").str(), dim), size)});
      builder.addOperand(std::move(dims), shape->elementBits);
    }
  }
  addResult(builder, op->getResult(0), tokens.result);
  builder.setWork(Work::Contraction);
  FactorRule rule = builder.take();
  setFlops(rule, expertFlops(*sizes));
  return rule;
}

namespace {

/// The axes that cut the factor called `name`, with its size.
std::pair<AxisList, int64_t> axesOf(const LocalOp &local, llvm::StringRef name) {
  for (auto [index, factor] : llvm::enumerate(local.rule.factors))
    if (factor.name == name)
      return {local.strategy.axes[index], factor.size};
  return {{}, 1};
}

mlir::Value firstOf(LocalOp &local, llvm::StringRef factor) {
  auto [axes, size] = axesOf(local, factor);
  auto cut = AxesAttr::get(MeshAttr::get(local.builder.getContext(), local.mesh), axes);
  auto type = mlir::RankedTensorType::get({}, local.builder.getI64Type());
  return ShardOffsetOp::create(local.builder, local.original->getLoc(), type, cut, size);
}

/// Says the order of weights that are cut, and on some of the experts or of their elements the place of the piece.
void localizeExperts(LocalOp &local) {
  ExpertOperands which = expertOperands(local.original);
  bool hasBias = !isAbsent(local.original->getOperand(which.bias(which.second)));
  bool cutsExperts = !axesOf(local, "e").first.empty(), cutsInner = !axesOf(local, "f").first.empty();
  bool cutsResults = !axesOf(local, "n").first.empty();
  auto sizes = readExperts(local.original);
  if (mlir::succeeded(sizes) && sizes->inputsFirst && (cutsExperts || cutsInner || cutsResults))
    local.attributes.set("inputs_first", local.builder.getUnitAttr());
  if (!cutsExperts && !cutsResults && !(cutsInner && hasBias))
    return;
  local.operands.push_back(firstOf(local, "e"));
  local.operands.push_back(firstOf(local, "f"));
}

} // namespace

void MoEOp::localize(LocalOp &local) { localizeExperts(local); }
void QMoEOp::localize(LocalOp &local) { localizeExperts(local); }

} // namespace apc
