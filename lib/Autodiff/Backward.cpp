// Reverse accumulation: ops in reverse order, each given the sum of what arrives at its results.
#include "Backward.h"

#include "apc/IR/AttributeNames.h"
#include "apc/IR/Differentiate.h"
#include "apc/IR/ElementTypes.h"
#include "apc/IR/Gradient.h"
#include "apc/IR/Opaque.h"
#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/Support/Error.h"

#include "llvm/ADT/StringExtras.h"

namespace apc {

namespace {

using Contributions = llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value, 2>>;

/// The gradient of a loss for itself.
mlir::Value oneOf(mlir::Value loss, mlir::OpBuilder &builder) {
  Tensor one = zeros(loss.getType());
  one.floats.assign(one.floats.size(), 1);
  return ConstantOp::create(builder, loss.getLoc(), one.toAttribute());
}

/// Does a product read numbers that are no floats, as weights in 8 bits? Its gradients would multiply by them, too.
bool multipliesIntegers(mlir::Operation *op) {
  auto isInteger = [](mlir::Value operand) {
    auto type = llvm::dyn_cast<mlir::ShapedType>(operand.getType());
    return type && type.getElementType().isInteger();
  };
  auto product = llvm::dyn_cast<OperatorInterface>(op);
  if (!product || llvm::none_of(op->getOperands(), isInteger))
    return false;
  mlir::FailureOr<FactorRule> rule = product.getRule();
  return mlir::succeeded(rule) && rule->work == Work::Contraction && !rule->attention;
}

/// A parameter, or one seen through ops that move its elements alone and compute nothing: its transpose, but not its
/// concatenation with an activation.
bool isParameterSeen(mlir::Value value) {
  mlir::Operation *op = value.getDefiningOp();
  while (op && !llvm::isa<ParameterOp>(op) && op->getNumOperands() > 0) {
    auto operation = llvm::dyn_cast<OperatorInterface>(op);
    mlir::FailureOr<FactorRule> rule = operation ? operation.getRule() : mlir::FailureOr<FactorRule>();
    bool movesOnly = mlir::succeeded(rule) && rule->flopsPerPoint == 0 && rule->linear.size() == 1 &&
                     mlir::getElementTypeOrSelf(op->getOperand(0)) == mlir::getElementTypeOrSelf(op->getResult(0)) &&
                     llvm::all_of(llvm::drop_begin(op->getOperands()), isPlanConstant);
    if (!movesOnly)
      return false;
    op = op->getOperand(0).getDefiningOp();
  }
  return llvm::isa_and_present<ParameterOp>(op);
}

class BackwardBuilder {
public:
  BackwardBuilder(mlir::func::FuncOp main, const PlanNames &names, llvm::DenseSet<mlir::Value> dependents, bool widens)
      : main(main), names(names), dependents(std::move(dependents)), widens(widens), builder(main.getContext()) {}

  llvm::Expected<Contributions> build(mlir::Value loss, mlir::Value seed);

private:
  void differentiate(mlir::Operation *op);
  mlir::Value sumOf(mlir::Value value);
  void nameGradient(mlir::Value gradient, mlir::Value value);
  /// Marks what was created since `last` as gradients of `op`.
  void tieNew(mlir::Operation *op, mlir::Operation *last);

  mlir::func::FuncOp main;
  const PlanNames &names;
  llvm::DenseSet<mlir::Value> dependents;
  bool widens;
  mlir::OpBuilder builder;
  Contributions contributions;
  std::vector<std::string> missing; ///< ops without a gradient
};

void BackwardBuilder::tieNew(mlir::Operation *op, mlir::Operation *last) {
  llvm::StringRef leader = names.ops.find(op)->second;
  auto location = mlir::NameLoc::get(builder.getStringAttr(leader + ".grad"));
  for (mlir::Operation *created = last->getNextNode(); created && created != &main.front().back();
       created = created->getNextNode()) {
    created->setLoc(location);
    if (!llvm::isa<ConstantOp, NoneOp>(created))
      created->setAttr(tieAttribute, builder.getStringAttr(leader));
  }
}

/// Names the gradient of `value` after it, unless it is the gradient of another value, too.
void BackwardBuilder::nameGradient(mlir::Value gradient, mlir::Value value) {
  mlir::Operation *maker = gradient.getDefiningOp();
  if (maker && maker->getNumResults() == 1 && maker->hasAttr(tieAttribute) && !maker->hasAttr(valuesAttribute))
    maker->setAttr(valuesAttribute, builder.getStrArrayAttr({names.values.lookup(value) + ".grad"}));
}

/// The sum of all contributions to a value, decided together with the op that makes it.
mlir::Value BackwardBuilder::sumOf(mlir::Value value) {
  auto found = contributions.find(value);
  if (found == contributions.end())
    return {};
  if (found->second.size() == 1) {
    nameGradient(found->second.front(), value);
    return found->second.front();
  }
  mlir::Operation *op = value.getDefiningOp(), *last = main.front().back().getPrevNode();
  llvm::SmallVector<mlir::Value, 2> arriving(op->getNumResults());
  arriving[llvm::cast<mlir::OpResult>(value).getResultNumber()] = found->second.front();
  GradientBuilder gradient(builder, op, arriving, llvm::SmallVector<bool>(op->getNumOperands(), false));
  mlir::Value sum = gradient.make<SumOp>(found->second);
  tieNew(op, last);
  nameGradient(sum, value);
  return sum;
}

void BackwardBuilder::differentiate(mlir::Operation *op) {
  llvm::SmallVector<mlir::Value, 2> arriving;
  for (mlir::Value result : op->getResults())
    arriving.push_back(sumOf(result));
  llvm::SmallVector<bool, 4> wanted;
  for (mlir::OpOperand &operand : op->getOpOperands())
    wanted.push_back(dependents.contains(operand.get()) && takesGradient(operand));
  if (llvm::none_of(arriving, [](mlir::Value value) { return !!value; }) || !llvm::is_contained(wanted, true))
    return;
  mlir::Operation *last = main.front().back().getPrevNode();
  GradientBuilder gradient(builder, op, arriving, wanted);
  auto widened = [&](mlir::Value given, mlir::Value operand) {
    if (!widens || mlir::getElementTypeOrSelf(given).getIntOrFloatBitWidth() >= 32 || !isParameterSeen(operand))
      return given;
    return gradient.make<CastOp>(given, gradient.attribute("to", dataType(builder.getF32Type())));
  };
  const bool isOfIntegers = multipliesIntegers(op);
  if (isOfIntegers || !apc::differentiate(gradient)) {
    const llvm::StringRef refusal = isOfIntegers ? "it multiplies by integers" : gradient.getRefusal();
    std::string reason = refusal.empty() ? "" : ": " + refusal.str();
    missing.push_back("'" + names.ops.find(op)->second + "' (" + operatorNameOf(op).str() + reason + ")");
    for (auto [operand, isWanted] : llvm::zip_equal(op->getOperands(), wanted)) // so that the ops before are asked, too
      if (isWanted)
        contributions[operand].push_back(operand);
    return;
  }
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    if (mlir::Value given = gradient.given(static_cast<unsigned>(index)))
      contributions[operand].push_back(widened(given, operand));
  tieNew(op, last);
}

llvm::Expected<Contributions> BackwardBuilder::build(mlir::Value loss, mlir::Value seed) {
  std::vector<mlir::Operation *> forward;
  for (mlir::Operation &op : main.front().without_terminator())
    if (names.ops.contains(&op))
      forward.push_back(&op);
  builder.setInsertionPoint(main.front().getTerminator());
  contributions[loss].push_back(seed ? seed : oneOf(loss, builder));
  for (mlir::Operation *op : llvm::reverse(forward))
    differentiate(op);
  if (!missing.empty())
    return inputError("the loss depends on trained parameters through ops that have no gradient: {0}",
                      llvm::join(missing, ", "));
  return std::move(contributions);
}

} // namespace

llvm::DenseSet<mlir::Value> dependentsOf(mlir::func::FuncOp main, const llvm::DenseSet<mlir::Value> &trained) {
  llvm::DenseSet<mlir::Value> dependents = trained;
  for (mlir::Operation &op : main.front().without_terminator())
    if (llvm::any_of(op.getOperands(), [&](mlir::Value operand) { return dependents.contains(operand); }))
      for (mlir::Value result : op.getResults())
        if (mayHaveGradient(result))
          dependents.insert(result);
  return dependents;
}

llvm::Expected<Contributions> buildBackward(mlir::func::FuncOp main, const PlanNames &names, mlir::Value loss,
                                            const llvm::DenseSet<mlir::Value> &trained,
                                            const BackwardOptions &options) {
  return BackwardBuilder(main, names, dependentsOf(main, trained), options.widens).build(loss, options.seed);
}

} // namespace apc
