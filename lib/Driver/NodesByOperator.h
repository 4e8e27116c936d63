// Operators of a model with the nodes that use them, as `apc inspect` lists them.
#pragma once

#include "apc/Support/VisibleText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <map>
#include <string>
#include <vector>

namespace apc {

/// ONNX name -> node names.
using NodesByOperator = std::map<std::string, std::vector<std::string>>;

/// A line for each operator.
inline void printNodes(llvm::StringRef what, const NodesByOperator &operators, llvm::raw_ostream &os) {
  for (const auto &[name, nodes] : operators)
    os << what << ": " << visibleText(name) << " (" << nodes.size() << " x, first at '" << visibleText(nodes.front())
       << "')\n";
}

inline std::vector<std::string> namesOf(const NodesByOperator &operators) {
  auto names = llvm::make_first_range(operators);
  return {names.begin(), names.end()};
}

} // namespace apc
