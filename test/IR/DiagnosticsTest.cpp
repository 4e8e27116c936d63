// Diagnostics as text: collected, not printed, handed out once.
#include "apc/IR/Diagnostics.h"

#include "mlir/IR/Location.h"
#include "mlir/IR/MLIRContext.h"

#include <catch2/catch.hpp>

using namespace apc;

TEST_CASE("Captured diagnostics are handed out once, joined in their order") {
  mlir::MLIRContext context;
  mlir::Location location = mlir::UnknownLoc::get(&context);
  DiagnosticCapture diagnostics(&context);
  CHECK(diagnostics.take().empty());
  mlir::emitWarning(location, "first");
  mlir::emitError(location, "second");
  mlir::emitError(location, "third");
  CHECK(diagnostics.take() == "first; second; third");
  CHECK(diagnostics.take().empty());
  CHECK(diagnostics.takeFirstError().empty());
}

TEST_CASE("The first error is neither a warning nor a later error") {
  mlir::MLIRContext context;
  mlir::Location location = mlir::UnknownLoc::get(&context);
  DiagnosticCapture diagnostics(&context);
  mlir::emitWarning(location, "warning");
  mlir::emitError(location, "first");
  mlir::emitError(location, "second");
  CHECK(diagnostics.takeFirstError() == "first");
  CHECK(diagnostics.takeFirstError().empty());
  CHECK(diagnostics.take().empty());
}

TEST_CASE("An inner capture keeps diagnostics from the outer one") {
  mlir::MLIRContext context;
  mlir::Location location = mlir::UnknownLoc::get(&context);
  DiagnosticCapture outer(&context);
  {
    DiagnosticCapture inner(&context);
    mlir::emitError(location, "inner");
    CHECK(inner.take() == "inner");
  }
  mlir::emitError(location, "outer");
  CHECK(outer.take() == "outer");
}
