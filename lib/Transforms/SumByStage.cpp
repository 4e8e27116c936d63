// Writes the parts of shared sums, and their sums.
#include "apc/Transforms/SumByStage.h"

#include "apc/IR/AttributeNames.h"
#include "apc/IR/MainFunction.h"
#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/IR/Program/PlanNames.h"

#include "mlir/IR/Builders.h"

#include "llvm/ADT/StringMap.h"

namespace apc {

namespace {

/// An op of the type of `sum` with its attributes, called `name`.
template <typename Op>
Op createLike(mlir::OpBuilder &builder, mlir::Operation *sum, llvm::StringRef name, mlir::ValueRange operands) {
  mlir::OperationState state(mlir::NameLoc::get(builder.getStringAttr(name)), Op::getOperationName());
  state.addOperands(operands);
  state.addTypes(sum->getResult(0).getType());
  state.addAttributes(sum->getAttrs());
  auto op = llvm::cast<Op>(builder.create(state));
  op->setAttr(valuesAttribute, builder.getStrArrayAttr({name}));
  return op;
}

/// In front of the first op that reads `value`.
mlir::Operation *firstReader(mlir::Value value) {
  mlir::Operation *first = nullptr;
  for (mlir::Operation *user : value.getUsers())
    first = !first || user->isBeforeInBlock(first) ? user : first;
  return first;
}

} // namespace

mlir::OwningOpRef<mlir::ModuleOp> sumByStage(mlir::ModuleOp module, const OpGraph &graph,
                                             llvm::ArrayRef<SharedSum> sums) {
  mlir::OwningOpRef<mlir::ModuleOp> own = module.clone();
  llvm::StringMap<mlir::Operation *> byName;
  for (const auto &[op, name] : namePlan(mainOf(*own)).ops)
    byName[name] = op;
  for (const SharedSum &shared : sums) {
    const std::string &name = graph.op(shared.sum).name;
    mlir::Operation *sum = byName.at(name);
    mlir::OpBuilder builder(sum);
    llvm::SmallVector<mlir::Value> parts;
    for (const SharedSum::Part &part : shared.parts) {
      llvm::SmallVector<mlir::Value> terms;
      for (unsigned operand : part.operands)
        terms.push_back(sum->getOperand(operand));
      auto op = createLike<AccumulateOp>(builder, sum, nameOfPart(name, part.stage), terms);
      if (part.stage != shared.stage) {
        op->removeAttr(tieAttribute);
        op->removeAttr(factorsAttribute);
      }
      parts.push_back(op.getSum());
    }
    builder.setInsertionPoint(firstReader(sum->getResult(0)));
    auto all = createLike<SumOp>(builder, sum, name, parts);
    sum->getResult(0).replaceAllUsesWith(all->getResult(0));
    sum->erase();
  }
  return own;
}

} // namespace apc
