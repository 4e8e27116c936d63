// UTF-8 in the names of a graph.
#include "CheckNames.h"

#include "apc/Support/Error.h"
#include "apc/Support/VisibleText.h"

namespace apc {

static llvm::Error checkName(llvm::StringRef name, llvm::StringRef what, llvm::StringRef source) {
  if (isUtf8(name))
    return llvm::Error::success();
  return inputError("{0}: the name of {1} '{2}' is no UTF-8; the names of an ONNX model are", source, what,
                    visibleText(name));
}

llvm::Error checkNames(const OpGraph &graph, llvm::StringRef source) {
  for (const GraphOp &op : graph.ops)
    if (llvm::Error error = checkName(op.name, op.operands.empty() ? op.operatorName : "op", source))
      return error;
  for (const GraphValue &value : graph.values)
    if (llvm::Error error = checkName(value.name, "value", source))
      return error;
  return llvm::Error::success();
}

} // namespace apc
