// Indexing on pieces in ONNX: indices of elements that other devices hold are masked.
#include "../OnnxForm.h"
#include "apc/IR/Kernels/Evaluate.h"

namespace apc {

namespace {

using Results = llvm::SmallVector<mlir::Value, 1>;

/// Dims of `shape` before `axis`, those of the indices, and those behind `axis`.
llvm::SmallVector<int64_t> withIndices(llvm::ArrayRef<int64_t> shape, size_t axis, llvm::ArrayRef<int64_t> indices) {
  llvm::SmallVector<int64_t> dims(shape.take_front(axis));
  llvm::append_range(dims, indices);
  llvm::append_range(dims, shape.drop_front(axis + 1));
  return dims;
}

struct LocalIndices {
  mlir::Value places; ///< in the piece, some place of it where another device holds the element
  mlir::Value here;   ///< whether this device holds it; null where it holds all
};

LocalIndices localIndices(OnnxForm &form, int64_t held) {
  LocalIndices local{form.wrapped(form.operand("indices"), form.integer("size", held)), {}};
  if (form.offsets().empty())
    return local;
  local.places = form.sub(local.places, form.begin(form.offsets().front()));
  mlir::Value zero = form.index(0), last = form.index(held - 1);
  local.here =
      form.both(form.make<GreaterOrEqualOp>({local.places, zero}), form.make<LessOrEqualOp>({local.places, last}));
  local.places = form.where(local.here, local.places, zero);
  return local;
}

/// `here` with dims of one element, so that it stands beside dims of slices.
mlir::Value besideSlices(OnnxForm &form, mlir::Value here, size_t axis, size_t numDims) {
  llvm::SmallVector<int64_t> dims(numDims, 1);
  return form.reshape(here, withIndices(dims, axis, dimsOf(here)));
}

Results gather(OnnxForm &form) {
  mlir::Value data = form.operand("data");
  llvm::ArrayRef<int64_t> shape = dimsOf(data);
  auto numDims = static_cast<int64_t>(shape.size());
  auto axis = static_cast<size_t>((form.integer("axis") + numDims) % numDims);
  if (form.offsets().empty() && form.integer("size", shape[axis]) == shape[axis])
    return {form.getOp()->getResult(0)};
  LocalIndices local = localIndices(form, shape[axis]);
  mlir::Value rows = form.make<GatherOp>({data, local.places}, form.attribute("axis", static_cast<int64_t>(axis)));
  if (!local.here)
    return {rows};
  return {form.where(besideSlices(form, local.here, axis, shape.size()), rows)};
}

/// Slices are added to rows of zeros: dim `axis` goes to the front, where ScatterND counts.
Results gatherGradient(OnnxForm &form) {
  mlir::Value dY = form.operand("dY");
  llvm::SmallVector<int64_t> shape(dimsOf(form.getOp()->getResult(0)));
  auto numDims = static_cast<int64_t>(shape.size());
  auto axis = static_cast<size_t>((form.integer("axis") + numDims) % numDims);
  LocalIndices local = localIndices(form, shape[axis]);
  if (local.here)
    dY = form.where(besideSlices(form, local.here, axis, shape.size()), dY);
  int64_t count = 1;
  for (int64_t dim : dimsOf(local.places))
    count *= dim;
  mlir::Value slices = form.reshape(dY, withIndices(shape, axis, {count}));
  llvm::SmallVector<int64_t> perm = {static_cast<int64_t>(axis)}, back(shape.size()), dims = {shape[axis]};
  for (int64_t dim = 0; dim < numDims; ++dim)
    if (dim != static_cast<int64_t>(axis)) {
      perm.push_back(dim);
      dims.push_back(shape[static_cast<size_t>(dim)]);
    }
  for (auto [to, from] : llvm::enumerate(perm))
    back[static_cast<size_t>(from)] = static_cast<int64_t>(to);
  auto type = llvm::cast<mlir::RankedTensorType>(dY.getType()).clone(dims);
  auto &builder = form.getBuilder();
  mlir::Value zeros = form.zeros(type);
  mlir::Value sums = form.make<ScatterNDOp>(
      {zeros, form.reshape(local.places, {count, 1}), axis == 0 ? slices : form.transpose(slices, perm)},
      builder.getNamedAttr("reduction", builder.getStringAttr("add")));
  return {axis == 0 ? sums : form.transpose(sums, back)};
}

/// The trees whose leaves have one of the targets and weights each: the one at `place` of each leaf, 0 where it has
/// less.
mlir::Value treesOfPlace(OnnxForm &form, llvm::ArrayRef<int64_t> begins, int64_t place) {
  auto op = llvm::cast<TreeEnsembleOp>(form.getOp());
  Tensor weights = Tensor::read(llvm::cast<mlir::DenseElementsAttr>(op.getLeafWeights()));
  Tensor taken = zeros(mlir::RankedTensorType::get({static_cast<int64_t>(begins.size()) - 1}, weights.element));
  llvm::SmallVector<int64_t> targets(begins.size() - 1, 0);
  for (size_t leaf = 0; leaf + 1 < begins.size(); ++leaf)
    if (int64_t at = begins[leaf] + place; at < begins[leaf + 1]) {
      targets[leaf] = op.getLeafTargetids()[static_cast<size_t>(at)];
      setElement(taken, static_cast<int64_t>(leaf), getElement(weights, at));
    }
  mlir::NamedAttrList attributes(op->getAttrs());
  attributes.erase("leaf_begins");
  attributes.set("leaf_targetids", form.getBuilder().getDenseI64ArrayAttr(targets));
  attributes.set("leaf_weights", taken.toAttribute());
  return form.make<TreeEnsembleOp>({op.getX()}, attributes.getAttrs());
}

/// Leaves have one target in ONNX: sums and means are those over copies of the trees.
Results treeEnsemble(OnnxForm &form) {
  auto op = llvm::cast<TreeEnsembleOp>(form.getOp());
  if (!op.getLeafBegins())
    return {op.getResult()};
  if (op.getAggregateFunction() > 1 || op.getPostTransform() != 0)
    return form.refuse("its leaves have several targets, of which it takes the least or greatest weights");
  llvm::SmallVector<int64_t> begins(*op.getLeafBegins());
  begins.push_back(static_cast<int64_t>(op.getLeafTargetids().size()));
  int64_t most = 1;
  for (size_t leaf = 0; leaf + 1 < begins.size(); ++leaf)
    most = std::max(most, begins[leaf + 1] - begins[leaf]);
  mlir::Value sum = treesOfPlace(form, begins, 0);
  for (int64_t place = 1; place < most; ++place)
    sum = form.add(sum, treesOfPlace(form, begins, place));
  return {sum};
}

constexpr OnnxFormEntry forms[] = {
    {TreeEnsembleOp::getOperationName(), treeEnsemble},
    {GatherOp::getOperationName(), gather},
    {GatherGradOp::getOperationName(), gatherGradient},
};

} // namespace

llvm::ArrayRef<OnnxFormEntry> indexingForms() { return forms; }

} // namespace apc
