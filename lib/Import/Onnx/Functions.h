// The model's local functions: found by domain, name and overload, and checked before any is expanded.
#pragma once

#include "OnnxModel.pb.h"

#include "Attributes.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

namespace apc::onnx {

class FunctionTable {
public:
  /// Errors: two functions of the same domain, name and overload; functions that call themselves, directly or not (the
  /// path is named); calls nested deeper than 64; a graph of more than a million nodes after expansion.
  static llvm::Expected<FunctionTable> build(const ModelProto &model, llvm::StringRef source);

  /// The function that `node` calls, or null.
  const FunctionProto *find(const NodeProto &node) const;

  /// The number of nodes of an inner graph after expansion, those of graphs inside included; at most a million and one.
  int64_t expandedSize(const GraphProto &graph) const;

private:
  llvm::StringMap<const FunctionProto *> functions;
};

/// The attributes that references in the body of `function` find: the call's, then the function's defaults.
AttributeBindings bindAttributes(const FunctionProto &function, const AttributeList &call);

} // namespace apc::onnx
