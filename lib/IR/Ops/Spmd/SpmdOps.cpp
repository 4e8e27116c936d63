// Reading, checking and making the ops of the program of one device.
#include "apc/IR/Ops/Spmd/Spmd.h"

#include "apc/IR/Kernels/Evaluate.h"
#include "apc/IR/Kernels/IndexLoops.h"
#include "apc/IR/RuleBuilder.h"
#include "apc/Support/Error.h"

#include <limits>

namespace apc {

mlir::FailureOr<Mesh> meshOf(mlir::ModuleOp module) {
  auto text = module->getAttrOfType<mlir::StringAttr>(meshAttribute);
  if (!text)
    return module.emitError() << "the module has no attribute '" << meshAttribute
                              << "', such as \"[data=8 | model=4]\"",
           mlir::failure();
  llvm::Expected<Mesh> mesh = Mesh::parse(text.getValue());
  if (!mesh)
    return module.emitError(takeMessage(mesh.takeError()).second), mlir::failure();
  return *mesh;
}

mlir::FailureOr<Mesh> meshOf(mlir::Operation *op) {
  auto module = op->getParentOfType<mlir::ModuleOp>();
  if (!module)
    return op->emitOpError("stands in no module"), mlir::failure();
  return meshOf(module);
}

mlir::FailureOr<AxisList> readAxes(mlir::Operation *op, mlir::ArrayAttr names, const Mesh &mesh) {
  AxisList axes;
  for (auto name : names.getAsRange<mlir::StringAttr>()) {
    auto found = llvm::find_if(mesh.getAxes(), [&](const MeshAxis &axis) { return axis.name == name.getValue(); });
    if (found == mesh.getAxes().end())
      return op->emitOpError() << "axis '" << name.getValue() << "' is not in the mesh " << mesh.str(), mlir::failure();
    axes.push_back(AxisId(found - mesh.getAxes().begin()));
  }
  return axes;
}

mlir::FailureOr<ProgramStep> readStep(mlir::Operation *op, const Mesh &mesh) {
  ProgramStep step;
  step.kind = llvm::cast<StepInterface>(op).getKind();
  auto axes = readAxes(op, op->getAttrOfType<mlir::ArrayAttr>("axes"), mesh);
  if (mlir::failed(axes))
    return mlir::failure();
  step.axes = *axes;
  step.shape = *shapeOf(op->getOperand(0));
  llvm::ArrayRef<int64_t> dims = op->getAttrOfType<mlir::DenseI64ArrayAttr>("shape").asArrayRef();
  step.shape.dims.assign(dims.begin(), dims.end());
  for (auto [name, sharding] : {std::pair("from", &step.from), std::pair("to", &step.to)}) {
    auto parsed = Sharding::parse(op->getAttrOfType<mlir::StringAttr>(name).getValue(), mesh);
    if (!parsed)
      return op->emitOpError(takeMessage(parsed.takeError()).second), mlir::failure();
    if (llvm::Error error = check(*parsed, step.shape, mesh))
      return op->emitOpError(takeMessage(std::move(error)).second), mlir::failure();
    *sharding = *parsed;
  }
  return step;
}

mlir::LogicalResult verifyStep(mlir::Operation *op, StepKind kind) {
  auto mesh = meshOf(op);
  if (mlir::failed(mesh))
    return mlir::failure();
  auto step = readStep(op, *mesh);
  if (mlir::failed(step))
    return mlir::failure();
  if (llvm::Error error = checkStep(kind, step->axes, step->from, step->to, step->shape, *mesh))
    return op->emitOpError(takeMessage(std::move(error)).second);
  for (auto [value, sharding] :
       {std::pair(op->getOperand(0), step->from), std::pair(mlir::Value(op->getResult(0)), step->to)}) {
    TensorShape local = localShape(step->shape, sharding, *mesh);
    if (dimsOf(value) != llvm::ArrayRef<int64_t>(local.dims))
      return op->emitOpError() << "a piece of " << printDims(step->shape.dims) << " under " << sharding.str(*mesh)
                               << " is " << printDims(local.dims) << ", not " << printDims(dimsOf(value));
  }
  auto elementOf = [](mlir::Value value) {
    return llvm::cast<mlir::RankedTensorType>(value.getType()).getElementType();
  };
  if (elementOf(op->getOperand(0)) != elementOf(op->getResult(0)))
    return op->emitOpError("changes the element type");
  return mlir::success();
}

static llvm::StringRef opNameOf(StepKind kind) {
  static constexpr llvm::StringLiteral names[] = {AllGatherOp::getOperationName(), ShardSliceOp::getOperationName(),
                                                  AllToAllOp::getOperationName(),  ReduceScatterOp::getOperationName(),
                                                  AllReduceOp::getOperationName(), PermuteOp::getOperationName()};
  return names[static_cast<size_t>(kind)];
}

mlir::Value createStep(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value input, const Step &step,
                       const Sharding &from, const TensorShape &shape, const Mesh &mesh) {
  llvm::SmallVector<llvm::StringRef, 4> axes;
  for (AxisId axis : step.axes)
    axes.push_back(mesh.axis(axis).name);
  TensorShape local = localShape(shape, step.result, mesh);
  auto element = llvm::cast<mlir::RankedTensorType>(input.getType()).getElementType();
  mlir::OperationState state(loc, opNameOf(step.kind), input, mlir::RankedTensorType::get(local.dims, element),
                             {builder.getNamedAttr("axes", builder.getStrArrayAttr(axes)),
                              builder.getNamedAttr("from", builder.getStringAttr(from.str(mesh))),
                              builder.getNamedAttr("to", builder.getStringAttr(step.result.str(mesh))),
                              builder.getNamedAttr("shape", builder.getDenseI64ArrayAttr(shape.dims))});
  return builder.create(state)->getResult(0);
}

namespace {

/// The neutral element of a combiner: what padding must be so that it changes nothing.
Number neutralElement(Combiner combiner, mlir::Type element) {
  bool isFloat = llvm::isa<mlir::FloatType>(element);
  if (combiner == Combiner::Max || combiner == Combiner::Min) {
    double bound =
        combiner == Combiner::Max ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
    if (isFloat)
      return Number::of(bound);
    unsigned width = element.getIntOrFloatBitWidth();
    bool isUnsigned = element.isUnsignedInteger() || width == 1;
    uint64_t highest = isUnsigned ? ~uint64_t(0) >> (64 - width) : ~uint64_t(0) >> (65 - width);
    int64_t lowest = isUnsigned ? 0 : -static_cast<int64_t>(highest) - 1;
    return Number::of(combiner == Combiner::Max ? lowest : static_cast<int64_t>(highest));
  }
  int64_t value = combiner == Combiner::Product || combiner == Combiner::And;
  return isFloat ? Number::of(static_cast<double>(value)) : Number::of(value);
}

} // namespace

mlir::TypedAttr neutralAttribute(Combiner combiner, mlir::Type element) {
  Tensor one = zeros(mlir::RankedTensorType::get({1}, element));
  setElement(one, 0, neutralElement(combiner, element));
  roundToElement(one);
  return llvm::cast<mlir::TypedAttr>(*one.toAttribute().value_begin<mlir::Attribute>());
}

Evaluated MaskPaddingOp::evaluateOnRank(Operands operands, const Mesh &mesh, int64_t rank) {
  auto axes = readAxes(*this, getAxes(), mesh);
  auto combiner = parseCombiner(getCombiner());
  if (mlir::failed(axes) || !combiner)
    return std::nullopt;
  Tensor result = *operands[0];
  int64_t count = dimSlice(static_cast<int64_t>(getSize()), *axes, mesh, rank).count;
  Number fill = neutralElement(*combiner, result.element);
  int64_t position = 0;
  forEachIndex(result.dims, [&](llvm::ArrayRef<int64_t> index) {
    if (index[getDim()] >= count)
      setElement(result, position, fill);
    ++position;
  });
  return evaluatedAs(std::move(result));
}

Evaluated KeepOnFirstOp::evaluateOnRank(Operands operands, const Mesh &mesh, int64_t rank) {
  auto axes = readAxes(*this, getAxes(), mesh);
  if (mlir::failed(axes))
    return std::nullopt;
  return evaluatedAs(mesh.indexInGroup(rank, *axes) == 0 ? *operands[0] : zeros(getOutput().getType()));
}

Evaluated ShardOffsetOp::evaluateOnRank(Operands operands, const Mesh &mesh, int64_t rank) {
  auto axes = readAxes(*this, getAxes(), mesh);
  if (mlir::failed(axes))
    return std::nullopt;
  Tensor result = zeros(getOutput().getType());
  DimSlice slice = dimSlice(static_cast<int64_t>(getSize()), *axes, mesh, rank);
  result.ints = {slice.begin};
  if (result.numElements() == 2)
    result.ints.push_back(slice.begin + slice.count);
  return evaluatedAs(std::move(result));
}

} // namespace apc
