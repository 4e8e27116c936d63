// Checks ops of a module against the results that they should evaluate to.
#pragma once

#include "apc/IR/Apc.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include "llvm/Support/raw_ostream.h"

#include <catch2/catch.hpp>

inline std::string print(mlir::Attribute attribute) {
  std::string text;
  llvm::raw_string_ostream(text) << attribute;
  return text;
}

/// Every op of `body` that has the attribute `expected` evaluates to it; a unit attribute means that the op does
/// not evaluate, and in a list that a result is absent.
inline void checkEvaluation(llvm::StringRef body) {
  mlir::MLIRContext context;
  context.loadDialect<apc::ApcDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(body, &context);
  REQUIRE(module);
  unsigned numChecked = 0;
  module->walk([&](apc::OperatorInterface op) {
    mlir::Attribute expected = op->getAttr("expected");
    if (!expected)
      return;
    ++numChecked;
    llvm::SmallVector<mlir::DenseElementsAttr> operands;
    for (mlir::Value operand : op->getOperands())
      operands.push_back(apc::constantOf(operand));
    auto results = apc::foldConstants(op, operands);
    llvm::SmallVector<mlir::Attribute> attributes;
    for (mlir::DenseElementsAttr result : results.value_or(llvm::SmallVector<mlir::DenseElementsAttr, 1>()))
      attributes.push_back(result ? mlir::Attribute(result) : mlir::Attribute(mlir::UnitAttr::get(&context)));
    mlir::Attribute found = results ? mlir::Attribute(mlir::ArrayAttr::get(&context, attributes))
                                    : mlir::Attribute(mlir::UnitAttr::get(&context));
    INFO(op->getName().getStringRef().str());
    CHECK(print(found) == print(expected));
  });
  CHECK(numChecked > 0);
}
