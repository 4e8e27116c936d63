// Shape inference and rules from rule text, and the questions of definitions about operands.
#include "apc/IR/Operator.h"

#include "apc/IR/Apc.h"
#include "apc/IR/RuleBuilder.h"
#include "apc/Support/Error.h"

#include "mlir/IR/TypeUtilities.h"

#include "llvm/ADT/StringExtras.h"

namespace apc {

std::optional<TensorShape> shapeOf(mlir::Type type) {
  auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
  if (!tensor)
    return std::nullopt;
  TensorShape shape;
  shape.dims.assign(tensor.getShape().begin(), tensor.getShape().end());
  mlir::Type element = tensor.getElementType();
  // ONNX stores a bool in a byte.
  shape.elementBits = element.isInteger(1) ? 8 : element.getIntOrFloatBitWidth();
  return shape;
}

llvm::ArrayRef<int64_t> dimsOf(mlir::Value value) {
  auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
  return tensor ? tensor.getShape() : llvm::ArrayRef<int64_t>();
}

bool isAbsent(mlir::Value value) { return llvm::isa<mlir::NoneType>(value.getType()); }

mlir::Type operandElement(mlir::Operation *op, unsigned index) {
  for (; index < op->getNumOperands(); ++index)
    if (auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(op->getOperand(index).getType()))
      return tensor.getElementType();
  return mlir::NoneType::get(op->getContext());
}

mlir::Type boolElement(mlir::Operation *op) { return mlir::IntegerType::get(op->getContext(), 1); }

mlir::Type indexElement(mlir::Operation *op) { return mlir::IntegerType::get(op->getContext(), 64); }

mlir::Type preciseElement(mlir::Operation *op) {
  mlir::Type element = operandElement(op, 0);
  return element.isF64() ? element : mlir::Float32Type::get(op->getContext());
}

std::string operandName(mlir::Operation *op, unsigned index) {
  auto interface = llvm::dyn_cast<OperatorInterface>(op);
  if (interface && index < interface.getNumDeclaredOperands())
    return interface.getArgumentNames()[index].str();
  return llvm::formatv("#{0}", index).str();
}

namespace {

llvm::SmallVector<RuleText::BoundShape, 4> boundShapes(mlir::ValueRange values) {
  llvm::SmallVector<RuleText::BoundShape, 4> shapes;
  for (mlir::Value value : values)
    shapes.push_back(shapeOf(value));
  return shapes;
}

/// The rule's text with an entry for each further operand. A variadic operator repeats its last operand: "... -> ..."
/// over three operands becomes "..., ..., ... -> ...". The offsets of an op on pieces are whole: `_`.
std::string expandOperands(mlir::Operation *op, llvm::StringRef rule) {
  auto interface = llvm::cast<OperatorInterface>(op);
  if (!interface.hasVariadicOperands() && op->getNumOperands() <= interface.getNumDeclaredOperands())
    return rule.str();
  auto [operands, results] = rule.split("->");
  llvm::SmallVector<llvm::StringRef> tensors;
  operands.split(tensors, ',');
  std::string further = interface.hasVariadicOperands() ? tensors.back().str() : " _";
  std::string text = operands.str();
  for (size_t i = tensors.size(); i < op->getNumOperands(); ++i)
    text += "," + further;
  return text + "->" + results.str();
}

template <typename T>
mlir::FailureOr<T> emit(mlir::Operation *op, llvm::Expected<T> expected) {
  if (expected)
    return std::move(*expected);
  return op->emitOpError(takeMessage(expected.takeError()).second), mlir::failure();
}

/// The results' dims; an error at `op` when the rule does not fit the operands.
mlir::FailureOr<llvm::SmallVector<llvm::SmallVector<int64_t, 4>, 2>> inferDims(mlir::Operation *op,
                                                                               const RuleSource &rule) {
  if (mlir::failed(rule.text))
    return mlir::failure();
  auto text = emit(op, RuleText::parse(expandOperands(op, *rule.text)));
  if (mlir::failed(text))
    return mlir::failure();
  auto results = emit(op, text->inferResults(boundShapes(op->getOperands())));
  if (mlir::failed(results))
    return mlir::failure();
  return std::move(*results);
}

mlir::LogicalResult appendTypes(mlir::Operation *op, llvm::ArrayRef<llvm::SmallVector<int64_t, 4>> dims,
                                llvm::ArrayRef<mlir::Type> elements, llvm::SmallVectorImpl<mlir::Type> &types) {
  for (auto [extents, element] : llvm::zip_equal(dims, elements)) {
    if (!element || !element.isIntOrFloat())
      return op->emitOpError(
          "does not tell the element type of a result: an operand is missing, or an attribute names no "
          "numeric type");
    if (mlir::failed(addType(op, extents, element, types)))
      return mlir::failure();
  }
  return mlir::success();
}

} // namespace

mlir::LogicalResult inferTypesFromRule(mlir::Operation *op, const RuleSource &rule, mlir::Type element,
                                       llvm::SmallVectorImpl<mlir::Type> &types) {
  auto results = inferDims(op, rule);
  if (mlir::failed(results))
    return mlir::failure();
  return appendTypes(op, *results, llvm::SmallVector<mlir::Type>(results->size(), element), types);
}

mlir::LogicalResult inferTypesFromRule(mlir::Operation *op, const RuleSource &rule, llvm::ArrayRef<mlir::Type> elements,
                                       llvm::SmallVectorImpl<mlir::Type> &types) {
  auto results = inferDims(op, rule);
  if (mlir::failed(results))
    return mlir::failure();
  return appendTypes(op, *results, elements, types);
}

mlir::FailureOr<FactorRule> bindRule(mlir::Operation *op, const RuleSource &rule, const RuleTraits &traits) {
  if (mlir::failed(rule.text))
    return mlir::failure();
  auto text = emit(op, RuleText::parse(expandOperands(op, *rule.text)));
  if (mlir::failed(text))
    return mlir::failure();
  auto bound =
      emit(op, text->bind(boundShapes(op->getOperands()), boundShapes(op->getResults()), traits.flopsPerPoint));
  if (mlir::failed(bound))
    return mlir::failure();
  bound->work = traits.work;
  bound->linear = traits.linear;
  for (unsigned operand : traits.sparse)
    bound->operands[operand].sparse = true;
  return bound;
}

/// The misfit among operands that the operator declares; offsets of pieces stand behind them.
static std::optional<OperandTypes::Misfit> findMisfit(OperatorInterface op, llvm::ArrayRef<mlir::Type> elements) {
  if (!op.hasVariadicOperands())
    elements = elements.take_front(std::min<size_t>(elements.size(), op.getNumDeclaredOperands()));
  return op.getOperandTypes().findMisfit(elements);
}

mlir::LogicalResult checkOperandTypes(mlir::Operation *op) {
  auto interface = llvm::cast<OperatorInterface>(op);
  llvm::SmallVector<mlir::Type, 4> elements;
  for (mlir::Value operand : op->getOperands())
    elements.push_back(isAbsent(operand) ? mlir::Type() : mlir::getElementTypeOrSelf(operand));
  auto misfit = findMisfit(interface, elements);
  if (!misfit)
    return mlir::success();
  mlir::InFlightDiagnostic error = op->emitOpError() << "operand '" << operandName(op, misfit->operand) << "' holds "
                                                     << elements[misfit->operand];
  if (misfit->differsFrom)
    return error << ", but '" << operandName(op, *misfit->differsFrom) << "' holds " << elements[*misfit->differsFrom]
                 << "; the types must be equal";
  return error << "; accepted are " << interface.getOperandTypes().accepted(misfit->operand);
}

bool areTaken(mlir::Operation *op, Operands operands) {
  llvm::SmallVector<mlir::Type, 4> elements;
  for (const Tensor *operand : operands) {
    elements.push_back(operand ? operand->element : mlir::Type());
    if (operand && (!operand->element ||
                    static_cast<int64_t>(operand->isFloat() ? operand->floats.size() : operand->ints.size()) !=
                        operand->numElements()))
      return false;
  }
  return !findMisfit(llvm::cast<OperatorInterface>(op), elements);
}

mlir::LogicalResult verifyOperator(mlir::Operation *op) {
  llvm::SmallVector<mlir::Type, 2> types;
  if (mlir::failed(checkOperandTypes(op)) || mlir::failed(llvm::cast<OperatorInterface>(op).inferTypes(types)))
    return mlir::failure();
  if (types.size() != op->getNumResults())
    return op->emitOpError() << "has " << op->getNumResults() << " results, but " << types.size() << " follow";
  for (auto [index, type] : llvm::enumerate(types)) {
    mlir::Type declared = op->getResult(index).getType();
    if (declared != type && !llvm::isa<mlir::NoneType>(declared))
      return op->emitOpError() << "result " << index << " has type " << declared << ", but " << type << " follows";
  }
  return mlir::success();
}

mlir::FailureOr<unsigned> normalizeAxis(mlir::Operation *op, int64_t axis, size_t numDims, llvm::StringRef what) {
  auto count = static_cast<int64_t>(numDims);
  if (axis < -count || axis >= count)
    return op->emitOpError() << what << " " << axis << " is outside [" << -count << ", " << count - 1 << "]",
           mlir::failure();
  return static_cast<unsigned>(axis < 0 ? axis + count : axis);
}

mlir::FailureOr<llvm::SmallVector<int64_t, 4>> broadcastDims(mlir::Operation *op, llvm::ArrayRef<int64_t> a,
                                                             llvm::ArrayRef<int64_t> b) {
  size_t numDims = std::max(a.size(), b.size());
  llvm::SmallVector<int64_t, 4> dims(numDims, 1);
  for (size_t i = 0; i < numDims; ++i) {
    int64_t fromA = i < a.size() ? a[a.size() - 1 - i] : 1;
    int64_t fromB = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (fromA != fromB && fromA != 1 && fromB != 1)
      return op->emitOpError() << "shapes ["
                               << llvm::join(llvm::map_range(a, [](int64_t d) { return std::to_string(d); }), ", ")
                               << "] and ["
                               << llvm::join(llvm::map_range(b, [](int64_t d) { return std::to_string(d); }), ", ")
                               << "] do not broadcast",
             mlir::failure();
    dims[numDims - 1 - i] = fromA == 1 ? fromB : fromA;
  }
  return dims;
}

} // namespace apc
