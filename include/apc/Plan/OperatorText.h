// Factor rules that a user gives to operators that the planner does not know.
#pragma once

#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace apc {

/// One operator: `com.acme.Mix: b s d, d -> b s d; flops=8`, the ONNX name, the factor rule (see the page of the
/// Sharding room), and the floating-point operations for each point of the rule's loop nest, 0 where they are left out.
struct OperatorText {
  std::string name;
  std::string rule;
  double flopsPerPoint = 0;

  std::string str() const;
};

/// Reads the form above. Errors (input) begin with `source` and say what is accepted.
llvm::Expected<OperatorText> parseOperatorText(llvm::StringRef text, llvm::StringRef source);

/// A line for each operator; blank lines and lines that begin with `#` are left out. Errors name file and line.
llvm::Expected<std::vector<OperatorText>> parseOperatorFile(llvm::StringRef text, llvm::StringRef file);

} // namespace apc
