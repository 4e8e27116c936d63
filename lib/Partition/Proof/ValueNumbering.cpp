// Value numbering of a model.
#include "ValueNumbering.h"

#include "apc/IR/Ops/Spmd/Spmd.h"

namespace apc {

mlir::DictionaryAttr meaningOf(mlir::Operation *op) {
  return meaningOf(mlir::NamedAttrList(op->getAttrDictionary()), op->getContext());
}

mlir::DictionaryAttr meaningOf(mlir::NamedAttrList attributes, mlir::MLIRContext *context) {
  for (llvm::StringRef name : {opAttribute, valuesAttribute, strategyAttribute, partsAttribute, tieAttribute})
    attributes.erase(name);
  return attributes.getDictionary(context);
}

ValueNumbering::ValueNumbering(mlir::func::FuncOp main) {
  unsigned next = 1;
  for (mlir::BlockArgument argument : main.getArguments())
    classes[argument] = next++;
  std::map<std::pair<std::vector<unsigned>, std::vector<const void *>>, unsigned> known;
  for (mlir::Operation &op : main.front().without_terminator()) {
    std::vector<unsigned> read, planned;
    for (mlir::Value operand : op.getOperands()) {
      read.push_back(classOf(operand));
      planned.push_back(isPlanConstant(operand) ? 0 : read.back());
    }
    if (!llvm::isa<ConstantOp, NoneOp, ParameterOp, MicroBatchEndOp>(op))
      byOperands[{op.getName().getStringRef().str(), planned}].push_back(&op);
    std::vector<const void *> meaning = {op.getName().getAsOpaquePointer(), meaningOf(&op).getAsOpaquePointer()};
    for (mlir::Type type : op.getResultTypes())
      meaning.push_back(type.getAsOpaquePointer());
    auto [entry, isNew] = known.try_emplace({std::move(read), std::move(meaning)}, next);
    if (isNew)
      next += op.getNumResults();
    for (mlir::OpResult result : op.getResults())
      classes[result] = entry->second + result.getResultNumber();
  }
}

llvm::ArrayRef<mlir::Operation *> ValueNumbering::readers(llvm::StringRef kind,
                                                          llvm::ArrayRef<unsigned> operands) const {
  auto found = byOperands.find({kind.str(), operands.vec()});
  return found == byOperands.end() ? llvm::ArrayRef<mlir::Operation *>() : llvm::ArrayRef(found->second);
}

} // namespace apc
