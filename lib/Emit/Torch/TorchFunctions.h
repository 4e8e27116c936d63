// The functions of the operators in PyTorch, read from apc/IR/TorchOps.h.
#pragma once

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace apc {

struct TorchParameter {
  std::string name;
  std::string annotation; ///< "ints", "number" or ""
  std::string standard;   ///< what it is where calls do not say, "None"; "" where they must
};

/// The result of a function under a condition on arguments that are literals: `C is None and not transA`.
struct TorchCase {
  std::string condition; ///< "" of the last case
  std::string expression;
};

struct TorchFunction {
  std::string name;
  std::vector<TorchParameter> parameters;
  std::vector<TorchCase> cases; ///< of a function that has nothing but `if ...: return ...` and `return ...`
  std::string text;             ///< all of it, from `def` to its last line
};

/// All functions, by name.
class TorchFunctions {
public:
  /// Reads the embedded files; an internal error where one is not as apc/IR/TorchOps.h says.
  static llvm::Expected<TorchFunctions> read();

  /// The function of an operator's mnemonic; null where there is none.
  const TorchFunction *find(llvm::StringRef mnemonic) const;
  /// `expression` with the functions that it calls called as those of the module `ops`, which are added to `used`.
  std::string callThroughModule(llvm::StringRef expression, std::set<std::string> &used) const;
  /// All names in expressions of cases that are neither parameters nor members: `torch`, `float`, `scaled_product`.
  std::set<std::string> freeNames() const;
  /// A module of the functions with these names and all that they call, in the order of the files.
  std::string printModule(const std::set<std::string> &names) const;

private:
  std::vector<TorchFunction> functions;
  llvm::StringMap<size_t> byName;
};

/// The expression of a function for arguments, by parameter: that of the first case whose condition holds. None where a
/// condition is reached that the arguments do not decide.
std::optional<std::string> expressionFor(const TorchFunction &function, const llvm::StringMap<std::string> &arguments);

/// `expression` with every identifier that `replaced` names in the place of a value replaced: not behind a dot, and no
/// name of an argument (`dim=`).
std::string replaceNames(llvm::StringRef expression, const llvm::StringMap<std::string> &replaced);

} // namespace apc
