// Checks, construction and evaluation of the ops of the program of one device.
#include "apc/IR/Ops/Spmd/Spmd.h"

#include "apc/IR/Kernels/Evaluate.h"
#include "apc/IR/Kernels/IndexLoops.h"
#include "apc/IR/RuleBuilder.h"

#include "mlir/IR/TypeUtilities.h"

#include <limits>
#include <numeric>

namespace apc {

mlir::FailureOr<MeshAttr> meshOf(mlir::Operation *op) {
  auto module = llvm::dyn_cast<mlir::ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<mlir::ModuleOp>();
  if (!module)
    return op->emitOpError("stands in no module"), mlir::failure();
  if (auto mesh = module->getAttrOfType<MeshAttr>(meshAttribute))
    return mesh;
  return module.emitError() << "the module has no attribute '" << meshAttribute
                            << "', such as #apc.mesh<[data=8 | model=4]>",
         mlir::failure();
}

/// An attribute of `op` that is for `mesh` is for the mesh of the module.
static mlir::LogicalResult verifyMesh(mlir::Operation *op, MeshAttr mesh) {
  mlir::FailureOr<MeshAttr> known = meshOf(op);
  if (mlir::failed(known))
    return mlir::failure();
  if (mesh != *known)
    return op->emitOpError() << "is for the mesh " << mesh.getValue().str() << ", the module for "
                             << known->getValue().str();
  return mlir::success();
}

/// The type of `value` is that of its piece under `sharding`.
static mlir::LogicalResult verifyPiece(mlir::Operation *op, mlir::Value value, const TensorShape &shape,
                                       const Sharding &sharding, const Mesh &mesh) {
  TensorShape local = localShape(shape, sharding, mesh);
  if (dimsOf(value) == llvm::ArrayRef<int64_t>(local.dims))
    return mlir::success();
  return op->emitOpError() << "a piece of " << printDims(shape.dims) << " under " << sharding.str(mesh) << " is "
                           << printDims(local.dims) << ", not " << printDims(dimsOf(value));
}

mlir::LogicalResult verifyCollective(CollectiveInterface op) {
  CollectiveAttr attribute = op.getCollective();
  const Mesh &mesh = attribute.getMesh().getValue();
  const CoalescedCollective &collective = attribute.getValue();
  if (mlir::failed(verifyMesh(op, attribute.getMesh())))
    return mlir::failure();
  if (collective.kind != op.getKind())
    return op->emitOpError() << "carries out " << collectiveName(op.getKind()) << ", not "
                             << collectiveName(collective.kind);
  size_t count = collective.values.size();
  if (op->getNumOperands() != count || op->getNumResults() != count)
    return op->emitOpError() << "has " << op->getNumOperands() << " operands and " << op->getNumResults()
                             << " results for " << count << " values";
  for (auto [value, input, output] : llvm::zip_equal(collective.values, op->getOperands(), op->getResults())) {
    TensorShape shape{value.dims};
    if (mlir::failed(verifyPiece(op, input, shape, value.from, mesh)) ||
        mlir::failed(verifyPiece(op, output, shape, value.to, mesh)))
      return mlir::failure();
    if (mlir::getElementTypeOrSelf(input) != mlir::getElementTypeOrSelf(output))
      return op->emitOpError("changes the element type");
    // Values lie in one buffer.
    mlir::Type first = mlir::getElementTypeOrSelf(op->getOperand(0)), own = mlir::getElementTypeOrSelf(input);
    if (own != first && collective.kind != CollectiveKind::Slice)
      return op->emitOpError() << "exchanges elements of " << first << " and " << own << " together";
  }
  return mlir::success();
}

mlir::LogicalResult MaskPaddingOp::verify() {
  if (getDim() >= dimsOf(getInput()).size())
    return emitOpError() << "has dim " << getDim() << ", its operand " << dimsOf(getInput()).size() << " dims";
  llvm::SmallVector<int64_t, 4> parts = getPartSizes();
  if (std::accumulate(parts.begin(), parts.end(), int64_t(0)) != static_cast<int64_t>(getSize()))
    return emitOpError() << "has parts " << printDims(parts) << ", which do not make up its dim of " << getSize();
  return verifyMesh(*this, getAxes().getMesh());
}

llvm::SmallVector<int64_t, 4> MaskPaddingOp::getPartSizes() {
  if (std::optional<llvm::ArrayRef<int64_t>> parts = getParts())
    return llvm::SmallVector<int64_t, 4>(*parts);
  return {static_cast<int64_t>(getSize())};
}

llvm::SmallVector<DimRun, 1> MaskPaddingOp::getRuns(const Mesh &mesh, int64_t rank) {
  Sharding sharding = Sharding::replicated(1);
  sharding.dims[0] = getAxes().getValue();
  apc::setParts(sharding.parted, 0, getPartSizes());
  return dimRuns(static_cast<int64_t>(getSize()), sharding, 0, mesh, rank);
}

mlir::LogicalResult KeepOnFirstOp::verify() { return verifyMesh(*this, getAxes().getMesh()); }

mlir::LogicalResult ShardOffsetOp::verify() { return verifyMesh(*this, getAxes().getMesh()); }

static llvm::StringRef opNameOf(CollectiveKind kind) {
  static constexpr llvm::StringLiteral names[] = {AllGatherOp::getOperationName(), ShardSliceOp::getOperationName(),
                                                  AllToAllOp::getOperationName(),  ReduceScatterOp::getOperationName(),
                                                  AllReduceOp::getOperationName(), PermuteOp::getOperationName()};
  return names[static_cast<size_t>(kind)];
}

CollectiveInterface createCollective(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange inputs,
                                     CollectiveAttr collective) {
  llvm::SmallVector<mlir::Type, 1> types;
  for (auto [value, input] : llvm::zip_equal(collective.getValue().values, inputs)) {
    TensorShape local = localShape(TensorShape{value.dims}, value.to, collective.getMesh().getValue());
    types.push_back(mlir::RankedTensorType::get(local.dims, mlir::getElementTypeOrSelf(input)));
  }
  mlir::OperationState state(loc, opNameOf(collective.getValue().kind), inputs, types,
                             {builder.getNamedAttr("collective", collective)});
  return llvm::cast<CollectiveInterface>(builder.create(state));
}

namespace {

/// The neutral element of a combiner: what padding must be so that it changes nothing.
Number neutralElement(Combiner combiner, mlir::Type element) {
  bool isFloat = llvm::isa<mlir::FloatType>(element);
  if (combiner == Combiner::Max || combiner == Combiner::Min || combiner == Combiner::LogSumExp) {
    double infinity = std::numeric_limits<double>::infinity();
    if (isFloat)
      return Number::of(combiner == Combiner::Min ? infinity : -infinity);
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
  Tensor result = *operands[0];
  llvm::SmallVector<DimRun, 1> runs = getRuns(mesh, rank);
  Number fill = neutralElement(getCombiner().getValue(), result.element);
  int64_t position = 0;
  forEachIndex(result.dims, [&](llvm::ArrayRef<int64_t> index) {
    int64_t at = index[getDim()];
    if (llvm::none_of(runs, [&](const DimRun &run) { return run.at <= at && at < run.at + run.count; }))
      setElement(result, position, fill);
    ++position;
  });
  return evaluatedAs(std::move(result));
}

Evaluated KeepOnFirstOp::evaluateOnRank(Operands operands, const Mesh &mesh, int64_t rank) {
  return evaluatedAs(mesh.indexInGroup(rank, getAxes().getValue()) == 0 ? *operands[0] : zeros(getOutput().getType()));
}

Evaluated ShardOffsetOp::evaluateOnRank(Operands operands, const Mesh &mesh, int64_t rank) {
  Tensor result = zeros(getOutput().getType());
  DimSlice slice = dimSlice(static_cast<int64_t>(getSize()), getAxes().getValue(), mesh, rank);
  result.ints = {slice.begin};
  if (result.numElements() == 2)
    result.ints.push_back(slice.begin + slice.count);
  return evaluatedAs(std::move(result));
}

} // namespace apc
