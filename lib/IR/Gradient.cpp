// Ops that gradients are built from, and their ties to the op that is differentiated.
#include "apc/IR/Gradient.h"

#include "apc/IR/AttributeNames.h"
#include "apc/IR/Diagnostics.h"
#include "apc/IR/Differentiate.h"
#include "apc/IR/ElementTypes.h"
#include "apc/IR/Ops/Contraction/Contraction.h"
#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/IR/Ops/Movement/Movement.h"
#include "apc/IR/Ops/Reduction/Reduction.h"
#include "apc/IR/Program/Parts.h"

namespace apc {

GradientBuilder::GradientBuilder(mlir::OpBuilder &builder, mlir::Operation *forward,
                                 llvm::ArrayRef<mlir::Value> incoming, llvm::ArrayRef<bool> wanted)
    : builder(builder), forward(forward), arriving(incoming), wanted(wanted), gradients(forward->getNumOperands()) {
  DiagnosticCapture diagnostics(getContext()); // `differentiate` says why there is no rule
  mlir::FailureOr<FactorRule> bound = llvm::cast<OperatorInterface>(forward).getRule();
  if (mlir::failed(bound))
    return;
  rule = std::move(*bound);
  cutInsideParts(forward, *rule);
  LeadingFactors same;
  for (unsigned index = 0; index < rule->numFactors(); ++index)
    same.emplace_back(FactorId(index));
  auto known = [&](mlir::Value value, const RuleTensor &tensor) {
    if (value && !isAbsent(value))
      traced.try_emplace(value, tracedDims(*rule, tensor, same));
  };
  for (auto [index, tensor] : llvm::enumerate(rule->results)) {
    known(forward->getResult(index), tensor);
    known(arriving[index], tensor);
  }
  for (auto [index, tensor] : llvm::enumerate(rule->operands))
    known(forward->getOperand(index), tensor);
}

void GradientBuilder::give(unsigned operand, mlir::Value gradient) {
  assert(gradient.getType() == forward->getOperand(operand).getType() && "a gradient has the type of its operand");
  if (!wanted[operand])
    return;
  gradients[operand] = gradient;
  if (!llvm::is_contained(arriving, gradient) && traced.contains(gradient))
    traceTo(operand, gradient);
}

bool GradientBuilder::refuse(const llvm::Twine &reason) {
  refusal = reason.str();
  return false;
}

bool differentiate(GradientBuilder &gradient) {
  mlir::Operation *op = gradient.getForward();
  DiagnosticCapture diagnostics(gradient.getContext());
  // An op that a recogniser or a change of sizes made was not checked before.
  if (mlir::failed(verifyOperator(op)))
    return gradient.refuse(diagnostics.takeFirstError());
  return llvm::cast<OperatorInterface>(op).differentiate(gradient) && gradient.getRefusal().empty();
}

/// Cuts a factor of `op` inside parts where that may be done.
static void cutLike(llvm::ArrayRef<int64_t> parts, mlir::Operation *op, FactorRule &own, FactorId factor) {
  if (parts.empty() || !mayCutInsideParts(op, own, factor))
    return;
  markParts(op, own.factor(factor).name, parts);
  cutInsideParts(own, factor, parts);
}

/// The forward op's factors of these names; none for empty ones.
GradientBuilder::LeadingFactors GradientBuilder::namedFactors(llvm::ArrayRef<mlir::Attribute> names) const {
  LeadingFactors leading(names.size());
  for (auto [lead, name] : llvm::zip_equal(leading, names))
    for (unsigned factor = 0; factor < rule->numFactors(); ++factor)
      if (rule->factor(FactorId(factor)).name == llvm::cast<mlir::StringAttr>(name).getValue())
        lead = FactorId(factor);
  return leading;
}

/// The dims of a gradient are those of its operand, also where they come from no operand of the op that makes it: the
/// rows of a gathered table, the copies of an expanded dim.
void GradientBuilder::traceTo(unsigned operand, mlir::Value gradient) {
  mlir::Operation *op = gradient.getDefiningOp();
  auto names = op ? op->getAttrOfType<mlir::ArrayAttr>(factorsAttribute) : mlir::ArrayAttr();
  if (!names)
    return;
  mlir::FailureOr<FactorRule> own = llvm::cast<OperatorInterface>(op).getRule();
  if (mlir::failed(own))
    return;
  cutInsideParts(op, *own);
  llvm::SmallVector<mlir::Attribute, 6> filled(names.begin(), names.end());
  unsigned result = llvm::cast<mlir::OpResult>(gradient).getResultNumber();
  const RuleTensor &like = rule->operands[operand];
  llvm::SmallVector<DimFactors, 4> dims(own->results[result].dims);
  for (auto [index, dim, leading] : llvm::enumerate(dims, like.dims))
    if (dim.size() == leading.size())
      for (auto [factor, lead] : llvm::zip_equal(dim, leading)) {
        auto name = builder.getStringAttr(rule->factor(lead).name);
        bool isFree = llvm::cast<mlir::StringAttr>(filled[factor.index()]).empty() && !llvm::is_contained(filled, name);
        if (!isFree || own->factor(factor).size != rule->factor(lead).size)
          continue;
        filled[factor.index()] = name;
        cutLike(partsOf(like.parted, static_cast<unsigned>(index)), op, *own, factor);
      }
  op->setAttr(factorsAttribute, builder.getArrayAttr(filled));
  traced[gradient] = tracedDims(*own, own->results[result], namedFactors(filled));
}

mlir::Operation *GradientBuilder::createNamed(llvm::StringRef name, mlir::ValueRange operands,
                                              llvm::ArrayRef<mlir::NamedAttribute> attributes) {
  mlir::OperationState state(forward->getLoc(), name);
  state.addOperands(operands);
  state.addAttributes(attributes);
  auto declared = *mlir::RegisteredOperationName::lookup(name, getContext());
  auto *interface = declared.getInterface<OperatorInterface>();
  unsigned numResults = interface->getNumDeclaredResults();
  // A type that every result takes, until the real ones are inferred.
  state.addTypes(llvm::SmallVector<mlir::Type>(numResults, mlir::RankedTensorType::get({}, builder.getF32Type())));
  mlir::Operation *op = builder.create(state);
  llvm::SmallVector<mlir::Type, 2> types;
  DiagnosticCapture diagnostics(getContext());
  bool inferred = mlir::succeeded(llvm::cast<OperatorInterface>(op).inferTypes(types));
  if (!inferred && refusal.empty())
    refuse(diagnostics.takeFirstError());
  if (!inferred) // what follows is built on a type of as many dims, and then dropped
    types.assign(numResults, forward->getResult(0).getType());
  for (auto [result, type] : llvm::zip_equal(op->getResults(), types))
    result.setType(type);
  if (inferred && !llvm::isa<ConstantOp>(op))
    trace(op);
  return op;
}

/// The factors that are not of size 1.
static DimFactors manyOf(const FactorRule &rule, const DimFactors &factors) {
  DimFactors many;
  llvm::copy_if(factors, std::back_inserter(many), [&](FactorId factor) { return rule.factor(factor).size != 1; });
  return many;
}

/// A dim of one factor takes the name of the one that it is in the forward op; a dim of several, that of each in turn
/// where their sizes are alike. Where one has more than the other, those of size 1 do not count: 96 channels are 96
/// groups of one.
GradientBuilder::LeadingFactors GradientBuilder::leadingFactors(mlir::Operation *op, FactorRule &own) const {
  LeadingFactors leading(own.numFactors());
  for (unsigned operand = 0; operand < op->getNumOperands(); ++operand) {
    auto known = traced.find(op->getOperand(operand));
    if (known == traced.end())
      continue;
    for (auto [dim, factors] : llvm::zip_equal(known->second, own.operands[operand].dims)) {
      if (!dim.factors)
        continue;
      bool isAlike = dim.factors->size() == factors.size();
      DimFactors leads = isAlike ? *dim.factors : manyOf(*rule, *dim.factors),
                 owns = isAlike ? factors : manyOf(own, factors);
      if (leads.size() != owns.size())
        continue;
      for (auto [lead, factor] : llvm::zip_equal(leads, owns))
        if (!leading[factor.index()] && rule->factor(lead).size == own.factor(factor).size)
          leading[factor.index()] = lead;
      if (leads.size() == 1 && leading[owns.front().index()] == leads.front())
        cutLike(dim.parts, op, own, owns.front());
    }
  }
  return leading;
}

GradientBuilder::TracedDims GradientBuilder::tracedDims(const FactorRule &own, const RuleTensor &tensor,
                                                        const LeadingFactors &leading) {
  TracedDims dims;
  for (auto [index, factors] : llvm::enumerate(tensor.dims)) {
    TracedDim &dim = dims.emplace_back(TracedDim{DimFactors(), {}});
    llvm::append_range(dim.parts, partsOf(tensor.parted, static_cast<unsigned>(index)));
    for (FactorId factor : factors)
      if (dim.factors && leading[factor.index()])
        dim.factors->push_back(*leading[factor.index()]);
      else if (factors.size() == 1 || own.factor(factor).size != 1)
        dim.factors.reset();
  }
  return dims;
}

/// The rule of `op` in factors of the forward op.
void GradientBuilder::trace(mlir::Operation *op) {
  mlir::FailureOr<FactorRule> own = llvm::cast<OperatorInterface>(op).getRule();
  if (!rule || mlir::failed(own))
    return;
  cutInsideParts(op, *own);
  LeadingFactors leading = leadingFactors(op, *own);
  llvm::SmallVector<mlir::Attribute, 6> names;
  for (std::optional<FactorId> lead : leading)
    names.push_back(builder.getStringAttr(lead ? rule->factor(*lead).name : ""));
  op->setAttr(factorsAttribute, builder.getArrayAttr(names));
  for (auto [result, tensor] : llvm::zip_equal(op->getResults(), own->results))
    traced[result] = tracedDims(*own, tensor, leading);
}

mlir::NamedAttribute GradientBuilder::attribute(llvm::StringRef name, int64_t value) const {
  return attribute(name, builder.getI64IntegerAttr(value));
}

mlir::NamedAttribute GradientBuilder::attribute(llvm::StringRef name, llvm::StringRef value) const {
  return attribute(name, builder.getStringAttr(value));
}

mlir::NamedAttribute GradientBuilder::attribute(llvm::StringRef name, llvm::ArrayRef<int64_t> values) const {
  return attribute(name, builder.getDenseI64ArrayAttr(values));
}

mlir::NamedAttribute GradientBuilder::attribute(llvm::StringRef name, mlir::Attribute value) const {
  return builder.getNamedAttr(name, value);
}

mlir::Value GradientBuilder::scalar(double value, mlir::Value like) {
  mlir::Type element = mlir::getElementTypeOrSelf(like);
  Tensor tensor = zeros(mlir::RankedTensorType::get({}, element));
  setElement(tensor, 0, Number::of(value));
  roundToElement(tensor);
  return ConstantOp::create(builder, forward->getLoc(), tensor.toAttribute());
}

mlir::Value GradientBuilder::integers(llvm::ArrayRef<int64_t> values) {
  Tensor tensor{{static_cast<int64_t>(values.size())}, builder.getI64Type(), {values.begin(), values.end()}, {}};
  return ConstantOp::create(builder, forward->getLoc(), tensor.toAttribute());
}

mlir::Value GradientBuilder::absent() { return NoneOp::create(builder, forward->getLoc()); }

mlir::Value GradientBuilder::add(mlir::Value a, mlir::Value b) { return make<AddOp>({a, b}); }
mlir::Value GradientBuilder::sub(mlir::Value a, mlir::Value b) { return make<SubOp>({a, b}); }
mlir::Value GradientBuilder::mul(mlir::Value a, mlir::Value b) { return make<MulOp>({a, b}); }
mlir::Value GradientBuilder::div(mlir::Value a, mlir::Value b) { return make<DivOp>({a, b}); }
mlir::Value GradientBuilder::neg(mlir::Value a) { return make<NegOp>({a}); }

mlir::Value GradientBuilder::where(mlir::Value condition, mlir::Value a) {
  return make<WhereOp>({condition, a, scalar(0, a)});
}

mlir::Value GradientBuilder::einsum(llvm::StringRef equation, mlir::ValueRange operands) {
  return make<EinsumOp>(operands, attribute("equation", equation));
}

mlir::Value GradientBuilder::sumTo(mlir::Value value, mlir::Value like) {
  llvm::ArrayRef<int64_t> from = dimsOf(value), to = dimsOf(like);
  assert(from.size() >= to.size() && "only leading dims are added by broadcasting");
  size_t leading = from.size() - to.size();
  llvm::SmallVector<int64_t, 4> axes, inner;
  for (size_t dim = 0; dim < from.size(); ++dim) {
    if (dim >= leading && to[dim - leading] == from[dim])
      continue;
    axes.push_back(static_cast<int64_t>(dim));
    if (dim >= leading)
      inner.push_back(static_cast<int64_t>(dim));
  }
  if (axes.empty())
    return castTo(value, like);
  bool keeps = leading == 0;
  mlir::Value sum = make<ReduceSumOp>({value, integers(axes)}, attribute("keepdims", static_cast<int64_t>(keeps)));
  return castTo(keeps || inner.empty() ? sum : reshapeTo(sum, like), like);
}

mlir::Value GradientBuilder::reshapeTo(mlir::Value value, mlir::Value like) {
  if (dimsOf(value) == dimsOf(like))
    return value;
  return make<ReshapeOp>({value, integers(dimsOf(like))}, attribute("allowzero", 1));
}

mlir::Value GradientBuilder::castTo(mlir::Value value, mlir::Value like) {
  mlir::Type element = mlir::getElementTypeOrSelf(like);
  if (mlir::getElementTypeOrSelf(value) == element)
    return value;
  // CastLike would read `like`, and so need all of it.
  return make<CastOp>({value}, attribute("to", dataType(element)));
}

} // namespace apc
