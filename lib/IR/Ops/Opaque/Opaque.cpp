// Operators that nobody knows: generated code, registration, types and rules.
#include "apc/IR/Ops/Opaque/Opaque.h"

#include "apc/IR/RuleBuilder.h"
#include "apc/Support/Error.h"
#include "apc/Support/Units.h"

#include <map>

#define GET_OP_CLASSES
#include "apc/IR/Ops/Opaque/Opaque.cpp.inc"

namespace apc {

template <>
void ApcDialect::registerFamily<families::Opaque>() {
  addOperations<
#define GET_OP_LIST
#include "apc/IR/Ops/Opaque/Opaque.cpp.inc"
      >();
}

namespace {

/// The rule's text where it has as many tensors as the op; errors at the op.
mlir::FailureOr<std::string> ruleOf(OpaqueOp op) {
  std::string text = op.getFactorRule()->str();
  auto parsed = RuleText::parse(text);
  if (!parsed)
    return op.emitOpError() << "factor rule '" << text << "': " << takeMessage(parsed.takeError()).second,
           mlir::failure();
  if (parsed->numOperands() == op->getNumOperands() && parsed->numResults() == op->getNumResults())
    return text;
  return op.emitOpError() << "has " << op->getNumOperands() << " inputs and " << op->getNumResults()
                          << " outputs, but its factor rule '" << text << "' has " << parsed->numOperands() << " and "
                          << parsed->numResults(),
         mlir::failure();
}

} // namespace

mlir::LogicalResult OpaqueOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  llvm::append_range(types, (*this)->getResultTypes());
  if (!getFactorRule())
    return mlir::success();
  mlir::FailureOr<std::string> text = ruleOf(*this);
  llvm::SmallVector<mlir::Type, 2> elements, inferred;
  for (mlir::Type type : types) {
    auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
    elements.push_back(tensor ? tensor.getElementType() : boolElement(*this)); // of an absent result: none reads it
  }
  if (mlir::failed(text) || mlir::failed(inferTypesFromRule(*this, *text, elements, inferred)))
    return mlir::failure();
  for (auto [type, own] : llvm::zip_equal(types, inferred))
    type = llvm::isa<mlir::NoneType>(type) ? type : own;
  return mlir::success();
}

mlir::FailureOr<FactorRule> OpaqueOp::getRule() {
  if (!getFactorRule())
    return RuleBuilder(*this).take(Work::Stream);
  mlir::FailureOr<std::string> text = ruleOf(*this);
  if (mlir::failed(text))
    return mlir::failure();
  double flops = getFlopsPerPoint() ? getFlopsPerPoint()->convertToDouble() : 0;
  mlir::FailureOr<FactorRule> rule = bindRule(*this, *text, RuleTraits{Work::Stream, flops, {}, {}});
  if (mlir::failed(rule))
    return mlir::failure();
  // Sums of products are the work of the matrix units.
  for (unsigned factor = 0; factor < rule->numFactors(); ++factor)
    if (rule->isReduction(FactorId(factor)) && rule->factors[factor].combiner == Combiner::Sum && flops >= 2)
      rule->work = Work::Contraction;
  return rule;
}

llvm::StringRef opaqueName(mlir::Operation *op) {
  auto opaque = llvm::dyn_cast<OpaqueOp>(op);
  return opaque ? opaque.getOperatorName() : llvm::StringRef();
}

llvm::StringRef operatorNameOf(mlir::Operation *op) {
  llvm::StringRef name = opaqueName(op);
  return name.empty() ? op->getName().stripDialect() : name;
}

std::vector<std::string> listOpaque(mlir::Operation *root) {
  std::map<std::string, std::vector<std::string>> nodes;
  root->walk([&](OpaqueOp op) {
    auto name = llvm::dyn_cast<mlir::NameLoc>(op.getLoc());
    nodes[op.getOperatorName().str()].push_back(name ? name.getName().str() : std::string());
  });
  std::vector<std::string> lines;
  for (const auto &[name, ops] : nodes)
    lines.push_back(llvm::formatv("{0} ({1}, the first is '{2}')", name,
                                  counted(static_cast<int64_t>(ops.size()), "node"), ops.front()));
  return lines;
}

} // namespace apc
