// The forms of all families, and what they are built with.
#include "OnnxForm.h"

#include "apc/IR/AttributeNames.h"
#include "apc/IR/ElementTypes.h"
#include "apc/IR/OnnxForms.h"
#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

namespace apc {

mlir::Value OnnxForm::operand(llvm::StringRef name) const {
  auto interface = llvm::cast<OperatorInterface>(op);
  llvm::ArrayRef<llvm::StringRef> names = interface.getArgumentNames();
  auto index = static_cast<unsigned>(llvm::find(names, name) - names.begin());
  assert(index < interface.getNumDeclaredOperands() && "a form names declared operands");
  mlir::Value value = index < op->getNumOperands() ? op->getOperand(index) : mlir::Value();
  return value && !isAbsent(value) ? value : mlir::Value();
}

mlir::ValueRange OnnxForm::offsets() const {
  unsigned declared = llvm::cast<OperatorInterface>(op).getNumDeclaredOperands();
  return op->getOperands().drop_front(std::min(declared, op->getNumOperands()));
}

int64_t OnnxForm::integer(llvm::StringRef attribute, int64_t otherwise) const {
  auto value = op->getAttrOfType<mlir::IntegerAttr>(attribute);
  return value ? value.getInt() : otherwise;
}

double OnnxForm::real(llvm::StringRef attribute, double otherwise) const {
  auto value = op->getAttrOfType<mlir::FloatAttr>(attribute);
  return value ? value.getValueAsDouble() : otherwise;
}

llvm::StringRef OnnxForm::text(llvm::StringRef attribute) const {
  auto value = op->getAttrOfType<mlir::StringAttr>(attribute);
  return value ? value.getValue() : "";
}

std::string OnnxForm::name() const {
  auto own = op->getAttrOfType<mlir::StringAttr>(opAttribute);
  return own ? own.str() : op->getName().stripDialect().str();
}

mlir::Value OnnxForm::scalar(double value, mlir::Value like) {
  Tensor tensor = apc::zeros(mlir::RankedTensorType::get({}, getElementTypeOrSelf(like.getType())));
  setElement(tensor, 0, Number::of(value));
  roundToElement(tensor);
  return ConstantOp::create(builder, op->getLoc(), tensor.toAttribute());
}

mlir::Value OnnxForm::integers(llvm::ArrayRef<int64_t> values) {
  Tensor tensor{{static_cast<int64_t>(values.size())}, builder.getI64Type(), {values.begin(), values.end()}, {}};
  return ConstantOp::create(builder, op->getLoc(), tensor.toAttribute());
}

mlir::Value OnnxForm::index(int64_t value) {
  Tensor tensor{{}, builder.getI64Type(), {value}, {}};
  return ConstantOp::create(builder, op->getLoc(), tensor.toAttribute());
}

mlir::Value OnnxForm::zeros(mlir::RankedTensorType type) {
  mlir::Attribute zero = builder.getZeroAttr(type.getElementType());
  return ConstantOp::create(builder, op->getLoc(), mlir::DenseElementsAttr::get(type, zero));
}

mlir::Value OnnxForm::absent() { return NoneOp::create(builder, op->getLoc()); }

mlir::Value OnnxForm::where(mlir::Value condition, mlir::Value a, mlir::Value b) {
  if (!getElementTypeOrSelf(a.getType()).isInteger(1))
    return make<WhereOp>({condition, a, b});
  return make<OrOp>({both(condition, a), both(make<NotOp>({condition}), b)});
}

mlir::Value OnnxForm::reshape(mlir::Value value, llvm::ArrayRef<int64_t> dims) {
  return dimsOf(value) == dims ? value : make<ReshapeOp>({value, integers(dims)}, attribute("allowzero", 1));
}

mlir::Value OnnxForm::transpose(mlir::Value value, llvm::ArrayRef<int64_t> perm) {
  return make<TransposeOp>({value}, builder.getNamedAttr("perm", builder.getDenseI64ArrayAttr(perm)));
}

mlir::Value OnnxForm::swapLast(mlir::Value value) {
  llvm::SmallVector<int64_t> perm(dimsOf(value).size());
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return transpose(value, perm);
}

mlir::Value OnnxForm::slice(mlir::Value value, unsigned dim, int64_t begin, int64_t end) {
  if (begin == 0 && end == dimsOf(value)[dim])
    return value;
  return make<SliceOp>({value, integers({begin}), integers({end}), integers({dim}), absent()});
}

mlir::Value OnnxForm::window(mlir::Value value, unsigned dim, mlir::Value begin, int64_t count) {
  llvm::SmallVector<int64_t> dims(dimsOf(value));
  dims[dim] = count;
  auto type = llvm::cast<mlir::RankedTensorType>(value.getType()).clone(dims);
  mlir::Value first = reshape(begin, {1});
  return SliceOp::create(builder, op->getLoc(), type, value, first, add(first, integers({count})), integers({dim}),
                         absent());
}

mlir::Value OnnxForm::concat(mlir::ValueRange values, unsigned dim) {
  return values.size() == 1 ? values.front() : make<ConcatOp>(values, attribute("axis", dim));
}

mlir::Value OnnxForm::padTo(mlir::Value value, unsigned dim, int64_t size) {
  int64_t missing = size - dimsOf(value)[dim];
  if (missing == 0)
    return value;
  llvm::SmallVector<int64_t> dims(dimsOf(value));
  dims[dim] = missing;
  auto type = llvm::cast<mlir::RankedTensorType>(value.getType()).clone(dims);
  return concat({value, zeros(type)}, dim);
}

mlir::Value OnnxForm::cast(mlir::Value value, mlir::Type element) {
  if (getElementTypeOrSelf(value.getType()) == element)
    return value;
  return make<CastOp>({value}, attribute("to", dataType(element)));
}

mlir::Value OnnxForm::precise(mlir::Value value) {
  bool isWide = getElementTypeOrSelf(value.getType()).getIntOrFloatBitWidth() >= 32;
  return isWide ? value : cast(value, builder.getF32Type());
}

mlir::Value OnnxForm::asResult(mlir::Value value, unsigned result) {
  return cast(value, getElementTypeOrSelf(op->getResult(result).getType()));
}

mlir::Value OnnxForm::sum(mlir::Value value, llvm::ArrayRef<int64_t> axes, bool keepdims) {
  return axes.empty()
             ? value
             : make<ReduceSumOp>({value, integers(axes)}, attribute("keepdims", static_cast<int64_t>(keepdims)));
}

mlir::Value OnnxForm::mean(mlir::Value value, llvm::ArrayRef<int64_t> axes) {
  return axes.empty() ? value : make<ReduceMeanOp>({value, integers(axes)});
}

mlir::Value OnnxForm::greatest(mlir::Value value, llvm::ArrayRef<int64_t> axes) {
  return make<ReduceMaxOp>({value, integers(axes)});
}

mlir::Value OnnxForm::sumTo(mlir::Value value, llvm::ArrayRef<int64_t> like) {
  llvm::ArrayRef<int64_t> from = dimsOf(value);
  llvm::SmallVector<int64_t> axes;
  size_t leading = from.size() - like.size();
  for (size_t dim = 0; dim < from.size(); ++dim)
    if (dim < leading || (like[dim - leading] == 1 && from[dim] != 1))
      axes.push_back(static_cast<int64_t>(dim));
  return reshape(sum(value, axes), like);
}

mlir::Value OnnxForm::at(mlir::Value list, int64_t place) {
  return dimsOf(list).empty() ? list : reshape(slice(list, 0, place, place + 1), {});
}

mlir::Value OnnxForm::begin(mlir::Value offset) { return at(offset, 0); }

mlir::Value OnnxForm::end(mlir::Value offset) { return dimsOf(offset).empty() ? mlir::Value() : at(offset, 1); }

mlir::Value OnnxForm::wrapped(mlir::Value indices, int64_t size) {
  mlir::Value places = cast(indices, builder.getI64Type());
  return where(less(places, index(0)), add(places, index(size)), places);
}

llvm::Expected<std::optional<llvm::SmallVector<mlir::Value, 1>>> createOnnxForm(mlir::OpBuilder &builder,
                                                                                mlir::Operation *op) {
  for (llvm::ArrayRef<OnnxFormEntry> forms :
       {attentionForms(), convolutionForms(), elementwiseForms(), indexingForms(), lossForms(), normalizationForms(),
        recurrentForms(), reductionForms(), spmdForms()})
    for (const OnnxFormEntry &entry : forms)
      if (entry.op == op->getName().getStringRef()) {
        OnnxForm form(builder, op);
        llvm::SmallVector<mlir::Value, 1> results = entry.make(form);
        if (!form.refusal().empty())
          return inputError("operator '{0}' has no form in ONNX: {1}", op->getName().stripDialect(), form.refusal());
        if (results.front().getDefiningOp() == op)
          return std::nullopt;
        return results;
      }
  auto interface = llvm::dyn_cast<OperatorInterface>(op);
  if (!interface)
    return std::nullopt;
  if (interface.getOnnxNames().empty())
    return inputError("operator '{0}' has no form in ONNX yet", op->getName().stripDialect());
  if (op->getNumOperands() > interface.getNumDeclaredOperands() && !interface.hasVariadicOperands())
    return inputError("operator '{0}' has no form in ONNX on a piece of a tensor yet", op->getName().stripDialect());
  return std::nullopt;
}

} // namespace apc
