// ONNX name -> registered op.
#include "OperatorTable.h"

#include "llvm/ADT/STLExtras.h"

namespace apc::onnx {

namespace {

std::unique_ptr<OperatorEntry> makeEntry(mlir::RegisteredOperationName name,
                                         const OperatorInterface::Concept &concept_) {
  auto entry = std::make_unique<OperatorEntry>(OperatorEntry{name, {}, {}, {}});
  entry->namesValues = name.hasTrait<NamesValues>();
  for (mlir::StringAttr attribute : name.getAttributeNames())
    if (llvm::is_contained(concept_.getArgumentNames(), attribute.getValue()))
      entry->attributes.try_emplace(attribute.getValue(), attribute);
  for (auto [argument, optional] : llvm::zip_equal(concept_.getArgumentNames(), concept_.getOptionalArguments())) {
    if (entry->attributes.contains(argument))
      continue;
    entry->operands.push_back(argument.str());
    entry->optional.push_back(optional);
  }
  entry->variadicOperands = concept_.hasVariadicOperands();
  entry->variadicResults = concept_.hasVariadicResults();
  entry->numResults = concept_.getNumDeclaredResults();
  return entry;
}

} // namespace

OperatorTable::OperatorTable(mlir::MLIRContext &context) {
  for (mlir::RegisteredOperationName name : context.getRegisteredOperations()) {
    if (name.getDialectNamespace() != ApcDialect::getDialectNamespace())
      continue;
    auto *declaration = name.getInterface<OperatorInterface>();
    if (!declaration || declaration->getOnnxNames().empty())
      continue;
    entries.push_back(makeEntry(name, *declaration));
    for (llvm::StringRef onnxName : declaration->getOnnxNames())
      byName.try_emplace(onnxName, entries.back().get());
  }
}

const OperatorEntry *OperatorTable::find(llvm::StringRef onnxName) const { return byName.lookup(onnxName); }

std::vector<std::string> OperatorTable::names() const {
  std::vector<std::string> names;
  for (const auto &entry : byName)
    names.push_back(entry.getKey().str());
  llvm::sort(names);
  return names;
}

} // namespace apc::onnx
