// Collectives as TensorRT has them: on the first dim, in equal pieces, one tensor at a time.
#include "Spans.h"

#include "apc/IR/CollectivePlaces.h"
#include "apc/IR/OnnxForms.h"
#include "apc/IR/Ops/Opaque/Opaque.h"
#include "apc/IR/Ops/Spmd/Spmd.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

namespace {

using Dims = llvm::SmallVector<int64_t>;

/// The order of dims in which `dim` comes first; and the way back.
Dims orderToFront(size_t numDims, unsigned dim) {
  Dims order = {dim};
  for (unsigned other = 0; other < numDims; ++other)
    if (other != dim)
      order.push_back(other);
  return order;
}

Dims orderFromFront(size_t numDims, unsigned dim) {
  Dims order(numDims);
  for (auto [from, to] : llvm::enumerate(orderToFront(numDims, dim)))
    order[static_cast<size_t>(to)] = static_cast<int64_t>(from);
  return order;
}

/// The forms of one collective. Pieces stand along a dim of their own, the first, while they are cut and joined.
class DistForm {
public:
  DistForm(OnnxForm &form, CollectiveInterface op)
      : form(form), attribute(op.getCollective()), mesh(attribute.getMesh().getValue()),
        group(mesh.size(attribute.getValue().axes)) {
    for (AxisId axis : attribute.getValue().axes)
      ways.push_back(mesh.size(axis));
  }

  mlir::Value make(const CoalescedCollective::Value &value, mlir::Value input) {
    Combiner combiner = value.from.combiner;
    switch (attribute.getValue().kind) {
    case CollectiveKind::AllGather:
      return allGather(input, joinedPlace(value, mesh));
    case CollectiveKind::AllReduce:
      return reduce(input, combiner, [&](mlir::Value own, llvm::StringRef by) { return allReduce(own, by); });
    case CollectiveKind::ReduceScatter:
      return reduce(input, combiner,
                    [&](mlir::Value own, llvm::StringRef by) { return reduceScatter(own, cutPlace(value, mesh), by); });
    case CollectiveKind::AllToAll:
      return allToAll(input, cutPlace(value, mesh), joinedPlace(value, mesh));
    case CollectiveKind::Permute:
      return permute(input, permuteTargets(attribute.getValue(), value, mesh));
    case CollectiveKind::Slice:
      break;
    }
    llvm_unreachable("a slice needs no other rank");
  }

private:
  using Reduction = llvm::function_ref<mlir::Value(mlir::Value, llvm::StringRef)>;

  mlir::Value node(mlir::Value input, llvm::StringRef operation, llvm::StringRef reduction, Dims dims) {
    mlir::Builder &builder = form.getBuilder();
    mlir::OperationState state(form.getOp()->getLoc(), OpaqueOp::getOperationName());
    state.addOperands(input);
    state.addTypes(mlir::RankedTensorType::get(dims, getElementTypeOrSelf(input.getType())));
    state.addAttribute("operator_name", builder.getStringAttr("DistCollective"));
    state.addAttribute(nodeAttributes,
                       builder.getDictionaryAttr({
                           builder.getNamedAttr("collective_operation", builder.getStringAttr(operation)),
                           builder.getNamedAttr("group_size", builder.getI64IntegerAttr(group)),
                           builder.getNamedAttr("nb_rank", builder.getI64IntegerAttr(group)),
                           builder.getNamedAttr("reduce_op", builder.getStringAttr(reduction)),
                           builder.getNamedAttr("root", builder.getI64IntegerAttr(-1)),
                       }));
    state.addAttribute(groupAxes, AxesAttr::get(attribute.getMesh(), attribute.getValue().axes));
    return form.create(state)->getResult(0);
  }

  mlir::Value toFront(mlir::Value value, unsigned dim) {
    return dim == 0 ? value : form.transpose(value, orderToFront(dimsOf(value).size(), dim));
  }
  mlir::Value fromFront(mlir::Value value, unsigned dim) {
    return dim == 0 ? value : form.transpose(value, orderFromFront(dimsOf(value).size(), dim));
  }

  /// [size, ...] -> [group, held, ...].
  mlir::Value cut(mlir::Value value, llvm::ArrayRef<int64_t> parts) {
    llvm::SmallVector<mlir::Value> pieces;
    int64_t at = 0;
    for (int64_t size : parts) {
      mlir::Value part = form.slice(value, 0, at, at + size);
      Dims dims(dimsOf(part));
      dims.insert(dims.begin(), 1);
      part = form.reshape(part, dims);
      for (int64_t way : ways) {
        dims[1] = llvm::divideCeil(dims[1], way);
        part = form.padTo(part, 1, dims[1] * way);
        dims[0] *= way;
        part = form.reshape(part, dims);
      }
      pieces.push_back(part);
      at += size;
    }
    return form.concat(pieces, 1);
  }

  /// [group, held, ...] -> [size, ...].
  mlir::Value join(mlir::Value value, llvm::ArrayRef<int64_t> parts) {
    llvm::SmallVector<mlir::Value> joined;
    int64_t at = 0;
    for (int64_t size : parts) {
      Dims sizes = {size};
      for (int64_t way : ways)
        sizes.push_back(llvm::divideCeil(sizes.back(), way));
      mlir::Value part = form.slice(value, 1, at, at + sizes.back());
      at += sizes.back();
      Dims dims(dimsOf(part));
      for (size_t level = ways.size(); level-- > 0;) {
        dims[0] /= ways[level];
        dims[1] *= ways[level];
        part = form.slice(form.reshape(part, dims), 1, 0, sizes[level]);
        dims[1] = sizes[level];
      }
      joined.push_back(form.reshape(part, llvm::ArrayRef(dims).drop_front()));
    }
    return form.concat(joined, 0);
  }

  /// [group, held, ...] -> [group * held, ...] and back.
  mlir::Value flat(mlir::Value value) {
    Dims dims(llvm::ArrayRef<int64_t>(dimsOf(value)).drop_front());
    dims[0] *= group;
    return form.reshape(value, dims);
  }
  mlir::Value apart(mlir::Value value) {
    Dims dims(dimsOf(value));
    dims[0] /= group;
    dims.insert(dims.begin(), group);
    return form.reshape(value, dims);
  }

  mlir::Value allGather(mlir::Value input, const CollectivePlace &place) {
    mlir::Value front = toFront(input, place.dim);
    Dims dims(dimsOf(front));
    dims[0] *= group;
    return fromFront(join(apart(node(front, "ALL_GATHER", "NONE", dims)), place.parts), place.dim);
  }

  mlir::Value allReduce(mlir::Value input, llvm::StringRef by) {
    return node(input, "ALL_REDUCE", by, Dims(dimsOf(input)));
  }

  mlir::Value reduceScatter(mlir::Value input, const CollectivePlace &place, llvm::StringRef by) {
    mlir::Value pieces = flat(cut(toFront(input, place.dim), place.parts));
    Dims dims(dimsOf(pieces));
    dims[0] /= group;
    return fromFront(node(pieces, "REDUCE_SCATTER", by, dims), place.dim);
  }

  mlir::Value allToAll(mlir::Value input, const CollectivePlace &from, const CollectivePlace &to) {
    mlir::Value sent = flat(cut(toFront(input, from.dim), from.parts));
    mlir::Value received = apart(node(sent, "ALL_TO_ALL", "NONE", Dims(dimsOf(sent))));
    Dims order = {0}; // [group, held, ...]: dims as they were, then the joined one behind the group
    size_t numDims = dimsOf(input).size();
    Dims back = orderFromFront(numDims, from.dim);
    for (int64_t dim : orderToFront(numDims, to.dim))
      order.push_back(back[static_cast<size_t>(dim)] + 1);
    return fromFront(join(form.transpose(received, order), to.parts), to.dim);
  }

  /// TensorRT sends nothing to one rank alone: the pieces of the group are gathered, and this rank's is taken out.
  mlir::Value permute(mlir::Value input, llvm::ArrayRef<int64_t> to) {
    Dims dims(dimsOf(input));
    dims.insert(dims.begin(), 1);
    mlir::Value piece = form.reshape(input, dims);
    dims[0] = group;
    mlir::Value pieces = node(piece, "ALL_GATHER", "NONE", dims);
    Dims from(to.size());
    for (auto [sender, receiver] : llvm::enumerate(to))
      from[static_cast<size_t>(receiver)] = static_cast<int64_t>(sender);
    AxesAttr axes = AxesAttr::get(attribute.getMesh(), attribute.getValue().axes);
    mlir::Value sender = form.make<GatherOp>({form.integers(from), form.begin(spanOf(form, axes, group))});
    return form.reshape(form.window(pieces, 0, sender, 1), dimsOf(input));
  }

  /// Bools are combined as numbers, logarithms of sums by the greatest and the sum of the rest.
  mlir::Value reduce(mlir::Value input, Combiner combiner, Reduction run) {
    if (combiner == Combiner::LogSumExp)
      return reduceLogSums(input, run);
    mlir::Type element = getElementTypeOrSelf(input.getType());
    if (!element.isInteger(1))
      return run(input, reductionOf(combiner));
    return form.cast(run(form.cast(input, form.getBuilder().getI32Type()), reductionOf(combiner)), element);
  }

  static llvm::StringRef reductionOf(Combiner combiner) {
    switch (combiner) {
    case Combiner::Product:
      return "PROD";
    case Combiner::Max:
    case Combiner::Or:
      return "MAX";
    case Combiner::Min:
    case Combiner::And:
      return "MIN";
    case Combiner::Sum:
    case Combiner::LogSumExp:
      break;
    }
    return "SUM";
  }

  /// log(sum of exp(x - m)) + m, where m is finite though all x of a place may be -inf.
  mlir::Value reduceLogSums(mlir::Value input, Reduction run) {
    auto finite = [&](mlir::Value value) {
      auto element = llvm::cast<mlir::FloatType>(getElementTypeOrSelf(value.getType()));
      llvm::APFloat least = llvm::APFloat::getLargest(element.getFloatSemantics(), /*Negative=*/true);
      return form.make<MaxOp>({value, form.scalar(least.convertToDouble(), value)});
    };
    mlir::Value everywhere = finite(allReduce(input, "MAX")), here = finite(run(input, "MAX"));
    return form.add(here, form.log(run(form.exp(form.sub(input, everywhere)), "SUM")));
  }

  OnnxForm &form;
  CollectiveAttr attribute;
  const Mesh &mesh;
  int64_t group;
  Dims ways;
};

} // namespace

llvm::SmallVector<mlir::Value, 1> createDistCollectives(mlir::OpBuilder &builder, mlir::Operation *op) {
  auto collective = llvm::cast<CollectiveInterface>(op);
  OnnxForm form(builder, op);
  DistForm dist(form, collective);
  llvm::SmallVector<mlir::Value, 1> results;
  for (auto [value, input] : llvm::zip_equal(collective.getCollective().getValue().values, op->getOperands()))
    results.push_back(dist.make(value, input));
  return results;
}

} // namespace apc
