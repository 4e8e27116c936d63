// Mixtures of experts in one operator: com.microsoft's MoE and QMoE.
#include "apc/IR/Ops/Attention/Attention.h"

#include "../Attributes.h"
#include "Experts.h"
#include "apc/IR/Ops/Spmd/Spmd.h"
#include "apc/IR/RuleBuilder.h"

namespace apc {

bool isExpertShard(mlir::Operation *op) { return op->hasAttr("is_shard"); }

ExpertOperands expertOperands(mlir::Operation *op) {
  if (llvm::isa<QMoEOp, QMoEShardOp>(op))
    return {2, 5, 8, 3};
  return {};
}

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
  std::optional<int64_t> tokens = checkedProduct(sizes.tokens);
  if (!tokens || mlir::failed(checkDims(op, which.first, {-1, -1, -1})) ||
      mlir::failed(checkDims(op, which.second, {first[0], isExpertShard(op) ? -1 : sizes.hidden, -1})) ||
      mlir::failed(checkDims(op, 1, {*tokens, isExpertShard(op) ? -1 : first[0]})))
    return mlir::failure();
  sizes.experts = first[0];
  sizes.results = dimsOf(op->getOperand(which.second))[1];
  sizes.chosen = intAttribute(op, "k", 1);
  if (sizes.chosen < 1 || sizes.chosen > std::max<int64_t>(1, dimsOf(op->getOperand(1))[1]))
    return op->emitOpError() << "'k' is " << sizes.chosen << "; 1 to the " << dimsOf(op->getOperand(1))[1]
                             << " experts is needed",
           mlir::failure();
  bool gated = stringAttribute(op, "activation_type", "relu") == "swiglu" && intAttribute(op, "swiglu_fusion", 0) != 0;
  sizes.fused = gated ? 2 : 1;
  auto inner = divide(op, first[1], sizes.fused, "the number of fused layers");
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
  if (mlir::failed(checkDims(op, 2, {sizes.experts, rows, sizes.hidden})) ||
      mlir::failed(checkDims(op, 3, {sizes.experts, rows})) ||
      mlir::failed(checkDims(op, 4, {sizes.experts, sizes.results, sizes.inner})) ||
      mlir::failed(checkDims(op, 5, {sizes.experts, sizes.results})) ||
      mlir::failed(checkDims(op, 6, {sizes.experts, sizes.inner, sizes.hidden})))
    return mlir::failure();
  return checkDims(op, 7, {sizes.experts, sizes.inner});
}

} // namespace

mlir::LogicalResult inferExperts(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types) {
  auto sizes = readExperts(op);
  if (mlir::failed(sizes) || mlir::failed(checkLayers(op, *sizes)))
    return mlir::failure();
  llvm::SmallVector<int64_t, 3> dims(sizes->tokens.begin(), sizes->tokens.end());
  dims.push_back(sizes->results);
  return addType(op, dims, operandElement(op, 0), types);
}

mlir::FailureOr<FactorRule> ruleExperts(mlir::Operation *op) {
  auto sizes = readExperts(op);
  if (mlir::failed(sizes) || mlir::failed(checkLayers(op, *sizes)))
    return mlir::failure();
  FactorRuleBuilder builder;
  TokenFactors tokens = addTokens(builder, *sizes, /*wholeResult=*/false);
  const DimFactors &hidden = tokens.input.back(), &result = tokens.result.back();
  DimFactors experts = {builder.addReduction("e", sizes->experts, Combiner::Sum)};
  // Gate and value that stand one behind the other are no run of inner elements when cut.
  bool blocks = sizes->fused == 2 && intAttribute(op, "swiglu_fusion", 0) == 2;
  DimFactors inner = {blocks ? builder.addWhole("f", sizes->inner)
                             : builder.addReduction("f", sizes->inner, Combiner::Sum)};
  DimFactors rows = inner;
  if (sizes->fused == 2) {
    FactorId pair = builder.addWhole("pair", 2);
    rows = blocks ? DimFactors{pair, inner[0]} : DimFactors{inner[0], pair};
  }
  const std::array<llvm::SmallVector<DimFactors, 4>, 8> dims = {{tokens.input,
                                                                 tokens.router,
                                                                 {experts, rows, hidden},
                                                                 {experts, rows},
                                                                 {experts, result, inner},
                                                                 {experts, result},
                                                                 {experts, inner, hidden},
                                                                 {experts, inner}}};
  for (unsigned i = 0; i < dims.size(); ++i)
    addOperand(builder, op->getOperand(i), dims[i]);
  addResult(builder, op->getResult(0), tokens.result);
  builder.setWork(Work::Contraction);
  FactorRule rule = builder.take();
  setFlops(rule, expertFlops(*sizes));
  return rule;
}

mlir::LogicalResult inferQuantizedExperts(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types) {
  if (mlir::failed(readExperts(op)))
    return mlir::failure();
  types.push_back(op->getOperand(0).getType());
  return mlir::success();
}

mlir::FailureOr<FactorRule> ruleQuantizedExperts(mlir::Operation *op) {
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

} // namespace

void localizeExperts(LocalOp &local, llvm::StringRef shard) {
  ExpertOperands which = expertOperands(local.original);
  bool hasBias = !isAbsent(local.original->getOperand(which.bias(which.second)));
  bool cutsExperts = !axesOf(local, "e").first.empty(), cutsInner = !axesOf(local, "f").first.empty();
  bool cutsResults = !axesOf(local, "n").first.empty();
  if (!cutsExperts && !cutsResults && !(cutsInner && hasBias))
    return;
  local.operands.push_back(firstOf(local, "e"));
  local.operands.push_back(firstOf(local, "f"));
  local.attributes.set("is_shard", local.builder.getUnitAttr());
  local.name = shard.str();
}

} // namespace apc
