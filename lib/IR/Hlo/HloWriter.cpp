// Ops of StableHLO as unregistered ops of MLIR, and the table of lowerings.
#include "apc/IR/Hlo/HloWriter.h"

#include "apc/IR/Apc.h"
#include "apc/IR/Operator.h"

#include "mlir/IR/BuiltinAttributes.h"

#include "llvm/ADT/StringMap.h"

namespace apc {

// One table a family: those of the folders lib/IR/Ops/<Family> that hold a Stablehlo.cpp.
#define APC_FAMILY(name) llvm::ArrayRef<HloLowering> hlo##name();
#include "apc/IR/HloFamilies.inc"

Hlo HloWriter::operator()(mlir::Value original) {
  if (isAbsent(original))
    return {};
  mlir::Value &written = values[original];
  auto source = written ? ConstantOp() : original.getDefiningOp<ConstantOp>();
  auto data = source ? llvm::dyn_cast<mlir::DenseElementsAttr>(source.getValue()) : mlir::DenseElementsAttr();
  if (data)
    written = constant(data).value;
  return {written, this};
}

mlir::OperationState HloWriter::stateOf(llvm::StringRef name, llvm::ArrayRef<Hlo> operands,
                                        llvm::ArrayRef<mlir::Type> results,
                                        llvm::ArrayRef<mlir::NamedAttribute> attributes) const {
  mlir::OperationState state(loc, name);
  for (Hlo operand : operands)
    state.addOperands(operand.value);
  state.addTypes(results);
  state.addAttributes(attributes);
  return state;
}

HloList HloWriter::create(const mlir::OperationState &state) {
  HloList list;
  for (mlir::Value result : builder.create(state)->getResults())
    list.push_back({result, this});
  return list;
}

Hlo HloWriter::add(llvm::StringRef name, llvm::ArrayRef<Hlo> operands, mlir::Type result,
                   llvm::ArrayRef<mlir::NamedAttribute> attributes) {
  return addMany(name, operands, {result}, attributes).front();
}

HloList HloWriter::addMany(llvm::StringRef name, llvm::ArrayRef<Hlo> operands, llvm::ArrayRef<mlir::Type> results,
                           llvm::ArrayRef<mlir::NamedAttribute> attributes) {
  return create(stateOf(name, operands, results, attributes));
}

Hlo HloWriter::addReduction(llvm::StringRef name, llvm::ArrayRef<Hlo> operands, mlir::Type result,
                            llvm::ArrayRef<mlir::NamedAttribute> attributes, llvm::StringRef combination,
                            mlir::Type element) {
  mlir::OperationState state = stateOf(name, operands, {result}, attributes);
  {
    mlir::OpBuilder::InsertionGuard guard(builder);
    auto scalar = mlir::RankedTensorType::get({}, element);
    mlir::Block *body = builder.createBlock(state.addRegion(), {}, {scalar, scalar}, {loc, loc});
    Hlo first{body->getArgument(0), this}, second{body->getArgument(1), this};
    Hlo combined = combination.empty() ? second : add(combination, {first, second}, scalar);
    create(stateOf("stablehlo.return", {combined}, {}, {}));
  }
  return create(state).front();
}

Hlo HloWriter::constant(mlir::DenseElementsAttr value) {
  return add("stablehlo.constant", {}, value.getType(), {named("value", value)});
}

Hlo HloWriter::ofRank(llvm::ArrayRef<int64_t> table) {
  auto scalar = mlir::RankedTensorType::get({}, i64());
  if (llvm::all_equal(table))
    return constant(mlir::DenseElementsAttr::get(scalar, table.front()));
  Hlo &known = tables[table.vec()];
  if (known)
    return known;
  if (!rank) {
    auto unsignedType = mlir::IntegerType::get(builder.getContext(), 32, mlir::IntegerType::Unsigned);
    rank = hlo::convert(add("stablehlo.replica_id", {}, mlir::RankedTensorType::get({}, unsignedType)), i64());
  }
  auto type = mlir::RankedTensorType::get({static_cast<int64_t>(table.size())}, i64());
  return known = hlo::reshape(hlo::dynamicSlice(constant(mlir::DenseElementsAttr::get(type, table)), 0, rank, 1), {});
}

mlir::NamedAttribute HloWriter::text(llvm::StringRef name, const llvm::Twine &value) const {
  return named(name, mlir::OpaqueAttr::get(builder.getStringAttr("stablehlo"), value.str(), builder.getNoneType()));
}

mlir::NamedAttribute HloWriter::table(llvm::StringRef name, llvm::ArrayRef<std::vector<int64_t>> rows) const {
  llvm::SmallVector<int64_t> flat;
  for (const std::vector<int64_t> &row : rows)
    llvm::append_range(flat, row);
  auto numRows = static_cast<int64_t>(rows.size()), length = static_cast<int64_t>(rows.front().size());
  auto type = mlir::RankedTensorType::get({numRows, length}, i64());
  return named(name, mlir::DenseElementsAttr::get(type, llvm::ArrayRef<int64_t>(flat)));
}

Hlo HloWriter::refuse(const llvm::Twine &reason) {
  if (refusal.empty())
    refusal = reason.str();
  return {};
}

std::vector<HloLowering> allHloLowerings() {
  std::vector<HloLowering> all;
#define APC_FAMILY(name) llvm::append_range(all, hlo##name());
#include "apc/IR/HloFamilies.inc"
  return all;
}

const HloLowering *findHloLowering(mlir::Operation *op) {
  static const llvm::StringMap<HloLowering> byName = [] {
    llvm::StringMap<HloLowering> map;
    for (const HloLowering &row : allHloLowerings())
      map.try_emplace(row.name, row);
    return map;
  }();
  auto found = byName.find(op->getName().getStringRef());
  return found == byName.end() ? nullptr : &found->second;
}

} // namespace apc
