// Tables of numbers as aliases of attributes, which print once for the whole module.
#include "PrintHloModule.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"

#include "llvm/ADT/MapVector.h"

namespace apc {

namespace {

constexpr int64_t smallTable = 16; ///< elements that may stand again in each op
constexpr llvm::StringLiteral aliasPrefix = "#table";

using Occurrences = std::vector<std::pair<mlir::Operation *, mlir::StringAttr>>;

/// The large tables of the ops, by attribute, with the places where they stand.
llvm::MapVector<mlir::Attribute, Occurrences> tablesOf(mlir::ModuleOp module) {
  llvm::MapVector<mlir::Attribute, Occurrences> tables;
  module->walk([&](mlir::Operation *op) {
    for (mlir::NamedAttribute attribute : op->getAttrs())
      if (auto table = llvm::dyn_cast<mlir::DenseElementsAttr>(attribute.getValue()))
        if (!table.isSplat() && table.getNumElements() > smallTable)
          tables[table].push_back({op, attribute.getName()});
  });
  tables.remove_if([](const auto &entry) { return entry.second.size() < 2; });
  return tables;
}

/// `text` without the quotes around the names of aliases, which MLIR prints as strings.
std::string unquoteAliases(llvm::StringRef text) {
  std::string result;
  result.reserve(text.size());
  std::string quoted = ("\"" + aliasPrefix).str();
  while (true) {
    auto [before, rest] = text.split(quoted);
    result += before;
    if (before.size() == text.size())
      return result;
    auto [number, behind] = rest.split('"');
    result += (aliasPrefix + number).str();
    text = behind;
  }
}

} // namespace

std::string printHloModule(mlir::ModuleOp module) {
  std::string head, text;
  mlir::Builder builder(module.getContext());
  llvm::raw_string_ostream headStream(head), textStream(text);
  for (const auto &[index, entry] : llvm::enumerate(tablesOf(module))) {
    std::string name = aliasPrefix.str() + std::to_string(index);
    headStream << name << " = " << entry.first << "\n";
    for (auto [op, attribute] : entry.second)
      op->setAttr(attribute, builder.getStringAttr(name));
  }
  module->print(textStream, mlir::OpPrintingFlags().assumeVerified());
  return head + unquoteAliases(text) + "\n";
}

} // namespace apc
