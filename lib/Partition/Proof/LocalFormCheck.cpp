// Makes the declared form in a block of its own and compares.
#include "LocalFormCheck.h"

#include "ValueNumbering.h"

#include "apc/IR/Apc.h"
#include "apc/IR/Localize.h"
#include "apc/Support/Error.h"

#include "mlir/IR/Block.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

namespace {

/// The first attribute in which two dictionaries differ, with both values.
std::string difference(mlir::DictionaryAttr found, mlir::DictionaryAttr expected) {
  auto text = [](mlir::Attribute attribute) {
    std::string printed;
    llvm::raw_string_ostream stream(printed);
    if (!attribute)
      return std::string("absent");
    attribute.print(stream);
    return printed;
  };
  for (mlir::NamedAttribute entry : expected)
    if (found.get(entry.getName()) != entry.getValue())
      return llvm::formatv("attribute '{0}' is {1}, on this piece it must be {2}", entry.getName().getValue(),
                           text(found.get(entry.getName())), text(entry.getValue()));
  for (mlir::NamedAttribute entry : found)
    if (!expected.get(entry.getName()))
      return llvm::formatv("attribute '{0}' does not belong there", entry.getName().getValue());
  return "";
}

/// True when `found` is the constant or offset that `localize` made.
bool isSame(mlir::Value found, mlir::Value made) {
  mlir::Operation *a = found.getDefiningOp(), *b = made.getDefiningOp();
  return a && a->getName() == b->getName() && meaningOf(a) == meaningOf(b) && found.getType() == made.getType();
}

} // namespace

llvm::Expected<llvm::SmallBitVector> checkLocalForm(mlir::Operation *op, mlir::Operation *original,
                                                    const FactorRule &rule, const Strategy &strategy,
                                                    const Mesh &mesh) {
  mlir::Block scratch;
  mlir::OpBuilder builder(op->getContext());
  builder.setInsertionPointToEnd(&scratch);
  LocalOp form(builder, original, rule, strategy, mesh);
  form.operands.assign(op->operand_begin(), op->operand_begin() + original->getNumOperands());
  llvm::cast<OperatorInterface>(original).localize(form);
  if (op->getName() != original->getName() || op->getNumOperands() != form.operands.size())
    return noPlanError("must be {0} of {1} operands on this piece", original->getName().getStringRef(),
                       form.operands.size());
  if (!llvm::equal(op->getResultTypes(), form.resultTypes))
    return noPlanError("its results are not those of this piece");
  std::string differs = difference(meaningOf(op), meaningOf(form.attributes, op->getContext()));
  if (!differs.empty())
    return noPlanError("{0}", differs);
  llvm::SmallBitVector made(op->getNumOperands());
  for (auto [index, operand] : llvm::enumerate(form.operands)) {
    mlir::Operation *creator = operand.getDefiningOp();
    if (!creator || creator->getBlock() != &scratch)
      continue;
    if (!isSame(op->getOperand(static_cast<unsigned>(index)), operand))
      return noPlanError("operand {0} says another size or place than this piece has", index);
    made.set(static_cast<unsigned>(index));
  }
  return made;
}

} // namespace apc
