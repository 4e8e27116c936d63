// Attributes of a node, and ops that are made of it.
#include "Parts.h"

#include "apc/IR/AttributeNames.h"
#include "apc/IR/Diagnostics.h"
#include "apc/IR/ElementTypes.h"
#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/IR/Ops/Movement/Movement.h"
#include "apc/IR/RuleBuilder.h"

#include "mlir/IR/TypeUtilities.h"

#include "llvm/ADT/StringExtras.h"

namespace apc {

mlir::Value Parts::fail(const llvm::Twine &why) {
  if (failure.empty())
    failure = why.str();
  return {};
}

/// The attribute, null where it is absent; a failure for one of another kind.
template <typename Kind>
Kind Parts::read(llvm::StringRef attribute, llvm::StringRef needed) {
  known.insert(attribute);
  mlir::Attribute given = node.attributes.get(attribute);
  auto value = llvm::dyn_cast_if_present<Kind>(given);
  if (given && !value)
    fail("attribute '" + attribute + "' is of another kind; " + needed + " is needed");
  return value;
}

int64_t Parts::integer(llvm::StringRef attribute, int64_t otherwise) {
  auto value = read<mlir::IntegerAttr>(attribute, "an integer");
  return value ? value.getInt() : otherwise;
}

double Parts::real(llvm::StringRef attribute, double otherwise) {
  auto value = read<mlir::FloatAttr>(attribute, "a float");
  return value ? value.getValueAsDouble() : otherwise;
}

llvm::StringRef Parts::text(llvm::StringRef attribute, llvm::ArrayRef<llvm::StringRef> accepted) {
  auto value = read<mlir::StringAttr>(attribute, "a string");
  if (!value || llvm::is_contained(accepted, value.getValue()))
    return value ? value.getValue() : accepted.front();
  fail("attribute '" + attribute + "' is '" + value.getValue() + "'; " + llvm::join(accepted, ", ") + " are accepted");
  return accepted.front();
}

llvm::ArrayRef<int64_t> Parts::integers(llvm::StringRef attribute) {
  auto value = read<mlir::DenseI64ArrayAttr>(attribute, "a list of integers");
  return value ? value.asArrayRef() : llvm::ArrayRef<int64_t>();
}

std::vector<llvm::StringRef> Parts::texts(llvm::StringRef attribute) {
  std::vector<llvm::StringRef> list;
  auto strings = read<mlir::ArrayAttr>(attribute, "a list of strings");
  for (mlir::Attribute each : strings ? strings.getValue() : llvm::ArrayRef<mlir::Attribute>())
    list.push_back(llvm::cast<mlir::StringAttr>(each).getValue());
  return list;
}

std::vector<double> Parts::reals(llvm::StringRef attribute) {
  std::vector<double> list;
  if (auto floats = read<mlir::DenseF32ArrayAttr>(attribute, "a list of floats"))
    list.assign(floats.asArrayRef().begin(), floats.asArrayRef().end());
  if (auto tensor = read<mlir::DenseElementsAttr>((attribute + "_as_tensor").str(), "a tensor")) {
    Tensor numbers = Tensor::read(tensor);
    for (int64_t i = 0; i < numbers.numElements(); ++i)
      list.push_back(getElement(numbers, i).asReal());
  }
  return list;
}

void Parts::pass(llvm::StringRef attribute, mlir::NamedAttrList &to) {
  known.insert(attribute);
  if (mlir::Attribute value = node.attributes.get(attribute))
    to.set(attribute, value);
}

void Parts::refuseStrings(llvm::StringRef attribute, llvm::StringRef instead) {
  known.insert(attribute);
  if (auto strings = llvm::dyn_cast_if_present<mlir::ArrayAttr>(node.attributes.get(attribute));
      strings && !strings.empty())
    fail("attribute '" + attribute + "' holds strings; numbers in '" + instead + "' are accepted");
}

std::vector<std::string> Parts::unknownAttributes() const {
  std::vector<std::string> names;
  for (mlir::NamedAttribute attribute : node.attributes)
    if (!known.contains(attribute.getName()))
      names.push_back(attribute.getName().str());
  return names;
}

mlir::Location Parts::nextLocation(llvm::StringRef part) {
  unsigned count = numMade[part]++;
  std::string name = node.name + "/" + part.str() + (count == 0 ? "" : "." + std::to_string(count));
  return mlir::NameLoc::get(builder.getStringAttr(name));
}

mlir::Value Parts::make(llvm::StringRef op, mlir::ValueRange operands,
                        llvm::ArrayRef<mlir::NamedAttribute> attributes) {
  if (hasFailed() || llvm::is_contained(operands, mlir::Value()))
    return {};
  DiagnosticCapture diagnostics(builder.getContext());
  mlir::OperationState state(nextLocation(op.split('.').second), op);
  state.addOperands(operands);
  state.addAttributes(attributes);
  // A type that every result constraint accepts, until the real one is inferred.
  state.addTypes(mlir::RankedTensorType::get({}, builder.getF32Type()));
  mlir::Operation *made = builder.create(state);
  auto interface = llvm::cast<OperatorInterface>(made);
  llvm::SmallVector<mlir::Type, 1> types;
  if (mlir::succeeded(interface.verifyDeclaration()) && mlir::succeeded(interface.inferTypes(types))) {
    made->getResult(0).setType(types.front());
    return made->getResult(0);
  }
  std::string error = diagnostics.takeFirstError();
  made->erase();
  size_t words = llvm::StringRef(error).find("' op ");
  return fail(words == llvm::StringRef::npos ? error : error.substr(words + 5));
}

mlir::Value Parts::addConstant(const Tensor &tensor, llvm::StringRef weight) {
  auto location = llvm::cast<mlir::NameLoc>(nextLocation(weight.empty() ? "constant" : weight));
  auto op = ConstantOp::create(builder, location, tensor.toAttribute());
  if (!weight.empty())
    op->setAttr(valuesAttribute, builder.getStrArrayAttr({location.getName()}));
  return op.getOutput();
}

mlir::Value Parts::constantOf(llvm::ArrayRef<Number> values, llvm::ArrayRef<int64_t> dims, mlir::Value like,
                              llvm::StringRef weight) {
  if (hasFailed() || !like)
    return {};
  Tensor tensor = zeros(mlir::RankedTensorType::get(dims, mlir::getElementTypeOrSelf(like)));
  for (auto [i, value] : llvm::enumerate(values))
    setElement(tensor, static_cast<int64_t>(i), value);
  roundToElement(tensor);
  return addConstant(tensor, weight);
}

mlir::Value Parts::list(llvm::ArrayRef<int64_t> values) {
  return addConstant({{static_cast<int64_t>(values.size())}, builder.getI64Type(), values.vec(), {}});
}

mlir::Value Parts::index(int64_t value) { return addConstant({{}, builder.getI64Type(), {value}, {}}); }

mlir::Value Parts::absent() { return NoneOp::create(builder, nextLocation("none")); }

mlir::Value Parts::add(mlir::Value a, mlir::Value b) { return make<AddOp>({a, b}); }
mlir::Value Parts::sub(mlir::Value a, mlir::Value b) { return make<SubOp>({a, b}); }
mlir::Value Parts::mul(mlir::Value a, mlir::Value b) { return make<MulOp>({a, b}); }
mlir::Value Parts::div(mlir::Value a, mlir::Value b) { return make<DivOp>({a, b}); }
mlir::Value Parts::where(mlir::Value condition, mlir::Value a, mlir::Value b) {
  return make<WhereOp>({condition, a, b});
}
mlir::Value Parts::equal(mlir::Value a, mlir::Value b) { return make<EqualOp>({a, b}); }
mlir::Value Parts::greater(mlir::Value a, mlir::Value b) { return make<GreaterOp>({a, b}); }

mlir::Value Parts::reshape(mlir::Value value, llvm::ArrayRef<int64_t> dims) {
  if (!value || dimsOf(value) == dims)
    return value;
  return make<ReshapeOp>({value, list(dims)}, attribute("allowzero", 1));
}

mlir::Value Parts::concat(mlir::ValueRange values, int64_t axis) {
  return values.size() == 1 ? values.front() : make<ConcatOp>(values, attribute("axis", axis));
}

mlir::Value Parts::cast(mlir::Value value, mlir::Type element) {
  if (!value || mlir::getElementTypeOrSelf(value) == element)
    return value;
  return make<CastOp>({value}, attribute("to", dataType(element)));
}

bool Parts::holdsNumbers(size_t index) {
  mlir::Type element = mlir::getElementTypeOrSelf(operand(index));
  bool isNumber = element.isIntOrFloat() && !element.isInteger(1);
  if (!isNumber)
    fail("input " + llvm::Twine(index) + " holds no numbers; floats or integers are needed");
  return isNumber;
}

mlir::Value Parts::floats(size_t index) {
  if (!holdsNumbers(index))
    return {};
  mlir::Value value = operand(index);
  return mlir::getElementTypeOrSelf(value).isF64() ? value : toF32(value);
}

mlir::Value Parts::features(size_t index, bool keepsShape) {
  mlir::Value value = floats(index);
  if (!value)
    return value;
  llvm::ArrayRef<int64_t> dims = dimsOf(value);
  if (dims.empty() || dims.size() > 2)
    return fail("input " + llvm::Twine(index) + " has shape " + printDims(dims) +
                "; [features] or [rows, features] is needed");
  return dims.size() == 2 || keepsShape ? value : reshape(value, {1, dims[0]});
}

bool Parts::checkPerFeature(llvm::StringRef attribute, size_t count, mlir::Value x) {
  llvm::ArrayRef<int64_t> dims = dimsOf(x);
  bool fits = !dims.empty() && dims.size() <= 2 && static_cast<int64_t>(count) == dims.back();
  if (count != 1 && !fits)
    fail("attribute '" + attribute + "' has " + llvm::Twine(count) + " entries for an input of shape " +
         printDims(dims) + "; one, or one for each feature of [features] or [rows, features], is needed");
  return count == 1 || fits;
}

} // namespace apc
