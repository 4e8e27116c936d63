// ONNX name -> registered op. Built from the ops themselves: this room knows no operator by name.
#pragma once

#include "apc/IR/Apc.h"

#include "llvm/ADT/StringMap.h"

#include <vector>

namespace apc::onnx {

/// One operator of the dialect with its declaration.
struct OperatorEntry {
  mlir::RegisteredOperationName name;
  std::vector<std::string> operands; ///< declared names in order; the last may be variadic
  std::vector<bool> optional;        ///< for each operand, whether it may be absent
  llvm::StringMap<mlir::StringAttr> attributes;
  bool namesValues = false; ///< texts among the attributes are names of values, which become operands
  bool variadicOperands = false;
  bool variadicResults = false;
  unsigned numResults = 0; ///< declared; variadic results count as one
};

/// All ops of the dialect that have ONNX names.
class OperatorTable {
public:
  /// The dialect must be loaded.
  explicit OperatorTable(mlir::MLIRContext &context);

  /// The entry for "MatMul" or "com.microsoft.FusedMatMul"; null when no op has that name.
  const OperatorEntry *find(llvm::StringRef onnxName) const;
  size_t size() const { return byName.size(); }
  /// Every ONNX name, sorted.
  std::vector<std::string> names() const;

private:
  std::vector<std::unique_ptr<OperatorEntry>> entries;
  llvm::StringMap<const OperatorEntry *> byName;
};

} // namespace apc::onnx
