// Names by what they are for.
#include "ModuleNames.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace apc {

namespace {

constexpr llvm::StringLiteral keywords[] = {
    "and",  "as",     "assert", "async", "await",    "break",  "class", "continue", "def",   "del",  "elif", "else",
    "for",  "except", "False",  "from",  "finally",  "global", "if",    "import",   "in",    "is",   "not",  "lambda",
    "None", "or",     "pass",   "raise", "nonlocal", "return", "True",  "try",      "while", "with", "yield"};

/// Modules that are imported, as far as they are used.
constexpr llvm::StringLiteral modules[] = {"torch", "F", "ops", "math", "Path", "read_tensors"};

/// Names of statements: parameters of functions, tables, counters of loops, and Python's own.
constexpr llvm::StringLiteral words[] = {"rank", "weights", "sums",  "kept",   "name",          "gradient",
                                         "i",    "range",   "float", "Tables", "make_constants"};

constexpr llvm::StringLiteral collectives[] = {"all_gather", "all_reduce",   "all_to_all", "keep_on_first",
                                               "keep_part",  "mask_padding", "permute",    "reduce_scatter"};

constexpr llvm::StringLiteral parts[] = {"forward", "backward", "weight_gradients", "update"};

} // namespace

llvm::ArrayRef<llvm::StringLiteral> collectiveNames() { return collectives; }

llvm::ArrayRef<llvm::StringLiteral> partFunctionNames() { return parts; }

std::set<std::string> reservedNames(mlir::ModuleOp program, const TorchFunctions &functions) {
  std::set<std::string> names = functions.freeNames();
  for (llvm::ArrayRef<llvm::StringLiteral> list : {llvm::ArrayRef(keywords), llvm::ArrayRef(modules),
                                                   llvm::ArrayRef(words), collectiveNames(), partFunctionNames()})
    for (llvm::StringRef name : list)
      names.insert(name.str());
  for (auto function : program.getOps<mlir::func::FuncOp>())
    names.insert(function.getName().str());
  return names;
}

} // namespace apc
