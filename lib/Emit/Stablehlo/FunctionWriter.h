// Functions of a program in StableHLO.
#pragma once

#include "apc/IR/Hlo/HloWriter.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

namespace apc {

/// A run of ops of `main`, which one StableHLO program holds.
struct HloPart {
  std::string name; ///< "forward"
  std::vector<mlir::Operation *> ops;
};

/// An argument or a result of a part: a tensor that the rank holds, a piece of an input or output, a sum over
/// micro-batches, a value kept for a later part, or one that goes to another stage.
struct HloValue {
  std::string kind; ///< "parameter", "input", "output", "sum", "kept", "received" or "sent"
  std::string name;
  mlir::Type type;
};

/// One part in text, with what goes in and out, in order.
struct HloProgram {
  std::string name, text;
  std::vector<HloValue> arguments, results;
};

/// The parts of `main`: up to each `part_end`, up to `micro_batch_end`, and behind it. An update that sends values to
/// other stages and then receives some is cut in front of these.
std::vector<HloPart> hloPartsOf(mlir::func::FuncOp main);

/// Each part as a module of its own, whose `main` it is; the layers that it calls stand beside it. Errors (input): ops
/// without a form in StableHLO, by operator and place.
llvm::Expected<std::vector<HloProgram>> writeHloPrograms(mlir::ModuleOp program, const Mesh &mesh);

} // namespace apc
