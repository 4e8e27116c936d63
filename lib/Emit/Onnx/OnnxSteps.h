// The program of a rank in order: ONNX models to run, and the steps between them.
#pragma once

#include "OnnxSegment.h"

#include "apc/Support/Json/JsonWriter.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace apc {

/// Replaces the ops of `module` that ONNX has not by their forms (`createOnnxForm`), all ranks alike. Errors (input)
/// name the op that has none.
llvm::Error makeOnnxForms(mlir::ModuleOp module);

/// A step of a function: a segment, or one op that is no part of any.
struct OnnxStep {
  OnnxSegment segment;
  std::string file;              ///< of the segment: "segments/main-0003.onnx"
  mlir::Operation *op = nullptr; ///< in place of a segment
};

/// One function of a program of which no op is without a form.
struct OnnxFunction {
  mlir::func::FuncOp function;
  llvm::DenseMap<mlir::Value, std::string> names;
  std::vector<OnnxStep> steps;
};

/// Cuts a function where ranks exchange data, at calls, and at the ends of its parts. A collective that needs nothing
/// of the segment before it goes first, so that segments are long.
OnnxFunction cutIntoSteps(mlir::func::FuncOp function);

/// The member of `functions` in steps.json.
void writeSteps(JsonWriter &json, JsonObjectWriter &functions, const OnnxFunction &function);

} // namespace apc
