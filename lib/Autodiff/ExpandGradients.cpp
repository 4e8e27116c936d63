// ONNX's Gradient: a slice of the forward pass, and its reversal.
#include "apc/Autodiff/ExpandGradients.h"

#include "apc/IR/Apc.h"
#include "apc/IR/AttributeNames.h"
#include "apc/IR/Differentiate.h"
#include "apc/IR/Gradient.h"
#include "apc/IR/Ops/Movement/Movement.h"
#include "apc/Support/Error.h"

#include "mlir/IR/IRMapping.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringExtras.h"

namespace apc {

namespace {

std::string nameOf(mlir::Operation *op, llvm::StringRef reason = "") {
  auto location = llvm::dyn_cast<mlir::NameLoc>(op->getLoc());
  std::string remark = reason.empty() ? "" : ": " + reason.str();
  return (location ? location.getName().str() : std::string("?")) + "' (" + op->getName().stripDialect().str() +
         remark + ")";
}

class Expansion {
public:
  explicit Expansion(GradientOp op)
      : op(op), builder(op), numXs(op.getXs().size()), numGiven(numXs + (op.getZs() ? op.getZs()->size() : 0)) {}

  llvm::Error run();

private:
  mlir::Value given(size_t index) { return op.getInputs()[index]; }
  mlir::Value named(size_t index) { return op.getInputs()[numGiven + index + (index < numXs ? 0 : 1)]; }
  mlir::Value target() { return op.getInputs()[numGiven + numXs]; }
  std::vector<mlir::Operation *> slice();
  /// The ops of the slice made again from the given values; the slice where they are the named ones.
  std::vector<mlir::Operation *> atGiven(std::vector<mlir::Operation *> ops, mlir::Value &last);
  void add(mlir::Operation *forward, mlir::Value value, mlir::Value gradient);
  void reverse(mlir::Operation *forward);
  mlir::Value filled(mlir::Value like, double value);
  void findPoint();

  GradientOp op;
  mlir::OpBuilder builder;
  size_t numXs, numGiven;
  bool isSame = true;                     ///< the values that are given are the named ones
  llvm::SmallVector<mlir::Value> points;  ///< the values at which the gradients are taken, each of its own
  llvm::DenseSet<mlir::Value> dependents; ///< of xs
  llvm::DenseMap<mlir::Value, mlir::Value> arriving;
  std::vector<std::string> missing; ///< ops without a gradient
};

/// The ops that lead from the named values to y, in their order.
std::vector<mlir::Operation *> Expansion::slice() {
  llvm::DenseSet<mlir::Value> reached, ends;
  for (size_t index = 0; index < numGiven; ++index)
    reached.insert(named(index));
  ends = reached;
  std::vector<mlir::Operation *> forward, needed;
  for (mlir::Operation &each : *op->getBlock()) {
    if (&each == op)
      break;
    if (llvm::none_of(each.getOperands(), [&](mlir::Value operand) { return reached.contains(operand); }))
      continue;
    forward.push_back(&each);
    reached.insert(each.result_begin(), each.result_end());
  }
  llvm::DenseSet<mlir::Value> wanted = {target()};
  for (mlir::Operation *each : llvm::reverse(forward))
    if (llvm::any_of(each->getResults(),
                     [&](mlir::Value result) { return wanted.contains(result) && !ends.contains(result); })) {
      wanted.insert(each->operand_begin(), each->operand_end());
      needed.insert(needed.begin(), each);
    }
  return needed;
}

/// One value may be given for two names, or be read between them and y as well: its gradients are apart.
void Expansion::findPoint() {
  for (size_t index = 0; index < numGiven; ++index)
    isSame &= named(index) == given(index);
  for (size_t index = 0; index < numGiven; ++index)
    points.push_back(isSame ? given(index)
                            : IdentityOp::create(builder, op.getLoc(), given(index).getType(), given(index)));
}

std::vector<mlir::Operation *> Expansion::atGiven(std::vector<mlir::Operation *> ops, mlir::Value &last) {
  mlir::IRMapping mapping;
  for (size_t index = 0; index < numGiven; ++index)
    mapping.map(named(index), points[index]);
  last = mapping.lookupOrDefault(target());
  if (isSame)
    return ops;
  for (mlir::Operation *&each : ops) {
    mlir::Operation *copy = builder.clone(*each, mapping);
    copy->removeAttr(valuesAttribute);
    copy->setLoc(op.getLoc());
    for (size_t index = 0; index < numGiven; ++index)
      mapping.map(named(index), points[index]); // a named value may be made by an op of the slice
    each = copy;
  }
  last = mapping.lookupOrDefault(target());
  return ops;
}

mlir::Value Expansion::filled(mlir::Value like, double value) {
  Tensor tensor = zeros(like.getType());
  tensor.floats.assign(tensor.floats.size(), value);
  return ConstantOp::create(builder, op.getLoc(), tensor.toAttribute());
}

void Expansion::add(mlir::Operation *forward, mlir::Value value, mlir::Value gradient) {
  auto [known, isFirst] = arriving.try_emplace(value, gradient);
  if (isFirst)
    return;
  GradientBuilder sum(builder, forward, llvm::SmallVector<mlir::Value>(forward->getNumResults()),
                      llvm::SmallVector<bool>(forward->getNumOperands(), false));
  known->second = sum.add(known->second, gradient);
}

void Expansion::reverse(mlir::Operation *forward) {
  llvm::SmallVector<mlir::Value, 2> incoming;
  for (mlir::Value result : forward->getResults())
    incoming.push_back(arriving.lookup(result));
  llvm::SmallVector<bool, 4> wanted;
  for (mlir::OpOperand &operand : forward->getOpOperands())
    wanted.push_back(dependents.contains(operand.get()) && takesGradient(operand));
  if (llvm::none_of(incoming, [](mlir::Value value) { return !!value; }) || !llvm::is_contained(wanted, true))
    return;
  GradientBuilder gradient(builder, forward, incoming, wanted);
  if (!differentiate(gradient)) {
    missing.push_back("'" + nameOf(forward, gradient.getRefusal()));
    for (auto [operand, isWanted] :
         llvm::zip_equal(forward->getOperands(), wanted)) // so that the ops before are asked, too
      if (isWanted)
        add(forward, operand, operand);
    return;
  }
  for (auto [index, operand] : llvm::enumerate(forward->getOperands()))
    if (mlir::Value made = gradient.given(static_cast<unsigned>(index)))
      add(forward, operand, made);
}

llvm::Error Expansion::run() {
  if (!isFloat(target()))
    return inputError("'{0}: the value that 'y' names holds no floats", nameOf(op));
  mlir::Operation *before = op->getPrevNode();
  mlir::Value last;
  findPoint();
  std::vector<mlir::Operation *> forward = atGiven(slice(), last);
  for (size_t index = 0; index < numXs; ++index)
    dependents.insert(points[index]);
  for (mlir::Operation *each : forward)
    if (llvm::any_of(each->getOperands(), [&](mlir::Value operand) { return dependents.contains(operand); }))
      for (mlir::Value result : each->getResults())
        if (mayHaveGradient(result))
          dependents.insert(result);
  arriving[last] = filled(last, 1);
  for (mlir::Operation *each : llvm::reverse(forward))
    reverse(each);
  if (!missing.empty())
    return inputError("'{0} asks for a gradient through ops that have none: {1}", nameOf(op),
                      llvm::join(missing, ", "));
  for (size_t index = 0; index < numXs; ++index) {
    mlir::Value gradient = arriving.lookup(points[index]);
    op.getGradients()[index].replaceAllUsesWith(gradient ? gradient : filled(given(index), 0));
  }
  for (mlir::Operation *each = before ? before->getNextNode() : &op->getBlock()->front(); each != op;
       each = each->getNextNode()) { // they stand for themselves, and are tied to nothing
    each->setLoc(op.getLoc());
    each->removeAttr(factorsAttribute);
    each->removeAttr(partsAttribute);
  }
  op->erase();
  return llvm::Error::success();
}

void eraseUnused(mlir::func::FuncOp main) {
  for (mlir::Operation &op : llvm::make_early_inc_range(llvm::reverse(main.front())))
    if (op.use_empty() && llvm::isa<OperatorInterface>(op))
      op.erase();
}

} // namespace

llvm::Error expandGradients(mlir::func::FuncOp main) {
  llvm::SmallVector<GradientOp> all(main.getOps<GradientOp>());
  for (GradientOp op : all)
    if (llvm::Error error = Expansion(op).run())
      return error;
  if (!all.empty())
    eraseUnused(main);
  return llvm::Error::success();
}

} // namespace apc
