// The table of operators that ops of the dialect stand for together.
#include "Parts.h"

#include "apc/IR/Ops/Movement/Movement.h"
#include "apc/Support/Error.h"

namespace apc {

namespace {

const CompositeEntry *find(llvm::StringRef onnxName) {
  for (llvm::ArrayRef<CompositeEntry> entries :
       {featureComposites(), linearComposites(), supportComposites(), treeComposites(), convolutionComposites()})
    for (const CompositeEntry &entry : entries)
      if (entry.name == onnxName)
        return &entry;
  return nullptr;
}

llvm::Error checkCounts(const CompositeEntry &entry, const CompositeNode &node) {
  size_t given = node.operands.size();
  if (given < entry.fewest || given > entry.most)
    return inputError("has {0} inputs; {1} to {2} are accepted", given, entry.fewest, entry.most);
  for (auto [i, operand] : llvm::enumerate(llvm::ArrayRef(node.operands).take_front(entry.fewest)))
    if (isAbsent(operand))
      return inputError("input {0} is missing, it is required", i);
  if (node.numResults > entry.numResults)
    return inputError("has {0} outputs, at most {1} are accepted", node.numResults, entry.numResults);
  return llvm::Error::success();
}

} // namespace

bool isComposite(llvm::StringRef onnxName) { return find(onnxName) != nullptr; }

llvm::Expected<CompositeResults> createComposite(mlir::OpBuilder &builder, const CompositeNode &node) {
  const CompositeEntry &entry = *find(node.onnxName);
  if (llvm::Error error = checkCounts(entry, node))
    return error;
  Parts parts(builder, node);
  PartValues values = entry.make(parts);
  if (parts.hasFailed())
    return inputError("{0}", parts.getFailure());
  // An operator that changes nothing has a value of its own all the same.
  for (mlir::Value &value : values)
    if (llvm::is_contained(node.operands, value))
      value = parts.make<IdentityOp>(value);
  values.front().getDefiningOp()->setLoc(mlir::NameLoc::get(builder.getStringAttr(node.name)));
  return CompositeResults{std::move(values), parts.unknownAttributes()};
}

} // namespace apc
