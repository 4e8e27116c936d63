// Columns of element types: what they accept, and that every operator has one.
#include "apc/IR/Apc.h"

#include "mlir/IR/Builders.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

struct Types {
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::Builder builder{&context};
  mlir::Type f32 = builder.getF32Type(), f16 = builder.getF16Type(), i64 = builder.getI64Type(),
             i32 = builder.getI32Type(), i1 = builder.getI1Type(), i8 = builder.getI8Type(),
             ui8 = builder.getIntegerType(8, false), i4 = builder.getIntegerType(4),
             f8 = mlir::Float8E4M3FNType::get(&context);
};

} // namespace

TEST_CASE("operands have types of their sets, and those of one name the same") {
  Types t;
  OperandTypes types("T: float|i32, T, index, bool");
  REQUIRE(types.getError().empty());
  CHECK(types.size() == 4);
  CHECK_FALSE(types.findMisfit({t.f32, t.f32, t.i64, t.i1}));
  CHECK_FALSE(types.findMisfit({t.i32, mlir::Type(), t.i32, mlir::Type()}));
  CHECK(types.findMisfit({t.i64})->operand == 0);
  CHECK(types.findMisfit({t.f32, t.f32, t.f32})->operand == 2);
  auto differs = types.findMisfit({t.f32, t.f16});
  REQUIRE(differs);
  CHECK(differs->operand == 1);
  CHECK(differs->differsFrom == 0U);
  CHECK(types.findMisfit({mlir::Type(), t.f16, t.i64, t.i8})->operand == 3);
  CHECK(types.accepted(1) == "i32, f16, bf16, f32, f64");
  OperandTypes beside("T: float, T|byte, T");
  CHECK_FALSE(beside.findMisfit({t.f32, t.i8, t.f32}));
  CHECK_FALSE(beside.findMisfit({t.f32, t.f32, t.f32}));
  CHECK(beside.findMisfit({t.f32, t.f16})->operand == 1);
  CHECK(beside.findMisfit({t.f32, t.i8, t.i8})->operand == 2);
}

TEST_CASE("the last entry stands for all further operands") {
  Types t;
  CHECK_FALSE(OperandTypes("T: any").findMisfit({t.f8, t.f8, t.f8}));
  CHECK(OperandTypes("T: any").findMisfit({t.i4, t.i4, t.i8})->operand == 2);
  CHECK_FALSE(OperandTypes("float, i64, float").findMisfit({t.f32, t.i64, t.f32, t.f16}));
}

TEST_CASE("sets hold what their names say") {
  Types t;
  auto takes = [](llvm::StringRef set, mlir::Type type) { return !OperandTypes(set).findMisfit({type}); };
  CHECK((takes("byte", t.i8) && takes("byte", t.ui8) && !takes("byte", t.i32)));
  CHECK((takes("number", t.i8) && takes("number", t.f16) && !takes("number", t.i1) && !takes("number", t.f8)));
  CHECK((takes("wide", t.i32) && !takes("wide", t.i8)));
  CHECK((takes("signed", t.i8) && !takes("signed", t.ui8) && takes("unsigned", t.ui8)));
  CHECK((takes("float8", t.f8) && takes("int4", t.i4) && takes("any", t.i1)));
  CHECK(OperandTypes("T: float, real").getError() == "real");
}

TEST_CASE("every operator has a column with an entry for each operand") {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<ApcDialect>();
  unsigned numChecked = 0;
  for (mlir::RegisteredOperationName name : context.getRegisteredOperations()) {
    auto *declaration = name.getInterface<OperatorInterface>();
    if (!declaration)
      continue;
    unsigned numOperands = declaration->getNumDeclaredOperands();
    INFO(name.getStringRef().str());
    CHECK(declaration->getOperandTypes().size() == numOperands);
    CHECK(declaration->getOperandTypes().getError() == "");
    ++numChecked;
  }
  CHECK(numChecked > 200);
}
