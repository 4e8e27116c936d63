// The ops that the format uses, one by one.
#include "ShardMachine.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <catch2/catch.hpp>

#include <functional>

namespace apc::test {

namespace shard = mlir::shard;
namespace tensor = mlir::tensor;
namespace arith = mlir::arith;

IntTensor IntTensor::make(llvm::ArrayRef<int64_t> dims, int64_t fill) {
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= dim;
  return {llvm::SmallVector<int64_t, 4>(dims), std::vector<int64_t>(static_cast<size_t>(count), fill)};
}

int64_t &IntTensor::at(llvm::ArrayRef<int64_t> index) {
  int64_t position = 0;
  for (auto [i, dim] : llvm::zip_equal(index, dims))
    position = position * dim + i;
  return values.at(static_cast<size_t>(position));
}

void forEachPlace(llvm::ArrayRef<int64_t> dims, llvm::function_ref<void(llvm::ArrayRef<int64_t>)> visit) {
  llvm::SmallVector<int64_t, 4> index(dims.size(), 0);
  if (llvm::is_contained(dims, 0))
    return;
  for (;;) {
    visit(index);
    size_t dim = dims.size();
    while (dim > 0 && ++index[dim - 1] == dims[dim - 1])
      index[--dim] = 0;
    if (dim == 0)
      return;
  }
}

namespace {

using PerRank = std::vector<IntTensor>;

class Machine {
public:
  Machine(const Mesh &mesh) : mesh(mesh) {}

  void set(mlir::Value value, PerRank tensors) { state[value] = std::move(tensors); }
  const PerRank &get(mlir::Value value) { return state.at(value); }
  void run(mlir::Operation &op);

private:
  struct ValueLess {
    bool operator()(mlir::Value a, mlir::Value b) const { return a.getAsOpaquePointer() < b.getAsOpaquePointer(); }
  };

  void runCollective(mlir::Operation &op);
  void runTensor(mlir::Operation &op);
  void runScalar(mlir::Operation &op);
  void setEach(mlir::Operation &op, const std::function<IntTensor(int64_t rank)> &make) {
    PerRank tensors;
    for (int64_t rank = 0; rank < mesh.numDevices(); ++rank)
      tensors.push_back(make(rank));
    state[op.getResult(0)] = std::move(tensors);
  }
  AxisList axesOf(mlir::Operation &op) const {
    AxisList axes;
    for (int16_t axis :
         op.getAttrOfType<mlir::DenseI16ArrayAttr>(llvm::isa<shard::ProcessMultiIndexOp>(op) ? "axes" : "grid_axes")
             .asArrayRef())
      axes.push_back(AxisId(static_cast<size_t>(axis)));
    return axes;
  }
  /// Part `index` of `ways` equal parts along a dim.
  static IntTensor part(const IntTensor &whole, unsigned dim, int64_t index, int64_t ways) {
    llvm::SmallVector<int64_t, 4> dims = whole.dims;
    REQUIRE(dims[dim] % ways == 0);
    dims[dim] /= ways;
    IntTensor result = IntTensor::make(dims);
    forEachPlace(dims, [&](llvm::ArrayRef<int64_t> place) {
      llvm::SmallVector<int64_t, 4> from(place);
      from[dim] += index * dims[dim];
      result.at(place) = whole.at(from);
    });
    return result;
  }
  static IntTensor join(llvm::ArrayRef<IntTensor> parts, unsigned dim) {
    llvm::SmallVector<int64_t, 4> dims = parts[0].dims;
    dims[dim] *= static_cast<int64_t>(parts.size());
    IntTensor result = IntTensor::make(dims);
    forEachPlace(dims, [&](llvm::ArrayRef<int64_t> place) {
      llvm::SmallVector<int64_t, 4> from(place);
      from[dim] %= parts[0].dims[dim];
      result.at(place) = parts[static_cast<size_t>(place[dim] / parts[0].dims[dim])].at(from);
    });
    return result;
  }
  static IntTensor add(llvm::ArrayRef<IntTensor> terms) {
    IntTensor sum = terms[0];
    for (const IntTensor &term : terms.drop_front())
      for (auto [into, value] : llvm::zip_equal(sum.values, term.values))
        into += value;
    return sum;
  }

  const Mesh &mesh;
  std::map<mlir::Value, PerRank, ValueLess> state;
};

void Machine::runCollective(mlir::Operation &op) {
  AxisList axes = axesOf(op);
  if (auto coordinates = llvm::dyn_cast<shard::ProcessMultiIndexOp>(op)) {
    for (auto [axis, result] : llvm::zip_equal(axes, coordinates.getResults())) {
      PerRank tensors;
      for (int64_t rank = 0; rank < mesh.numDevices(); ++rank)
        tensors.push_back(IntTensor::make({}, mesh.coordinates(rank)[axis.index()]));
      state[result] = std::move(tensors);
    }
    return;
  }
  PerRank input = get(op.getOperand(0));
  auto ofGroup = [&](int64_t rank) {
    PerRank members;
    for (int64_t member : mesh.group(rank, axes))
      members.push_back(input[static_cast<size_t>(member)]);
    return members;
  };
  int64_t ways = mesh.size(axes);
  setEach(op, [&](int64_t rank) -> IntTensor {
    int64_t place = mesh.indexInGroup(rank, axes);
    if (auto gather = llvm::dyn_cast<shard::AllGatherOp>(op))
      return join(ofGroup(rank), static_cast<unsigned>(gather.getGatherAxis().getZExtValue()));
    if (auto slice = llvm::dyn_cast<shard::AllSliceOp>(op))
      return part(input[static_cast<size_t>(rank)], static_cast<unsigned>(slice.getSliceAxis().getZExtValue()), place,
                  ways);
    if (llvm::isa<shard::AllReduceOp>(op))
      return add(ofGroup(rank));
    if (auto scatter = llvm::dyn_cast<shard::ReduceScatterOp>(op))
      return part(add(ofGroup(rank)), static_cast<unsigned>(scatter.getScatterAxis().getZExtValue()), place, ways);
    if (auto move = llvm::dyn_cast<shard::AllToAllOp>(op)) {
      PerRank parts;
      for (const IntTensor &member : ofGroup(rank))
        parts.push_back(part(member, static_cast<unsigned>(move.getSplitAxis().getZExtValue()), place, ways));
      return join(parts, static_cast<unsigned>(move.getConcatAxis().getZExtValue()));
    }
    if (llvm::isa<shard::SendOp>(op))
      return input[static_cast<size_t>(rank)];
    auto receive = llvm::cast<shard::RecvOp>(op);
    auto send = receive.getInput().getDefiningOp<shard::SendOp>();
    auto peer = [&](int64_t from, mlir::ValueRange coordinates) {
      llvm::SmallVector<int64_t, 4> where = mesh.coordinates(from);
      for (auto [axis, value] : llvm::zip_equal(axes, coordinates))
        where[axis.index()] = get(value)[static_cast<size_t>(from)].values[0];
      return mesh.rankOf(where);
    };
    int64_t source = peer(rank, receive.getSourceDynamic());
    REQUIRE(peer(source, send.getDestinationDynamic()) == rank);
    return input[static_cast<size_t>(source)];
  });
}

void Machine::runTensor(mlir::Operation &op) {
  auto operand = [&](unsigned index, int64_t rank) -> const IntTensor & {
    return get(op.getOperand(index))[static_cast<size_t>(rank)];
  };
  auto sizeOf = [&](mlir::OpFoldResult size, int64_t rank) {
    if (auto value = llvm::dyn_cast<mlir::Value>(size))
      return get(value)[static_cast<size_t>(rank)].values[0];
    return llvm::cast<mlir::IntegerAttr>(llvm::cast<mlir::Attribute>(size)).getInt();
  };
  setEach(op, [&](int64_t rank) -> IntTensor {
    if (auto extract = llvm::dyn_cast<tensor::ExtractOp>(op)) {
      llvm::SmallVector<int64_t, 4> place;
      for (mlir::Value index : extract.getIndices())
        place.push_back(get(index)[static_cast<size_t>(rank)].values[0]);
      return IntTensor::make({}, operand(0, rank).at(place));
    }
    if (auto slice = llvm::dyn_cast<tensor::ExtractSliceOp>(op)) {
      llvm::SmallVector<int64_t, 4> dims;
      for (mlir::OpFoldResult size : slice.getMixedSizes())
        dims.push_back(sizeOf(size, rank));
      IntTensor result = IntTensor::make(dims);
      llvm::SmallVector<int64_t, 4> from(dims.size());
      forEachPlace(dims, [&](llvm::ArrayRef<int64_t> place) {
        for (auto [dim, offset] : llvm::enumerate(slice.getMixedOffsets()))
          from[dim] = place[dim] + sizeOf(offset, rank);
        result.at(place) = operand(0, rank).at(from);
      });
      return result;
    }
    if (auto concat = llvm::dyn_cast<tensor::ConcatOp>(op)) {
      IntTensor result = IntTensor::make(concat.getResultType().getShape());
      int64_t begin = 0;
      for (unsigned index = 0; index < op.getNumOperands(); ++index) {
        const IntTensor &part = operand(index, rank);
        llvm::SmallVector<int64_t, 4> to;
        forEachPlace(part.dims, [&](llvm::ArrayRef<int64_t> place) {
          to.assign(place.begin(), place.end());
          to[concat.getDim()] += begin;
          result.at(to) = part.at(place);
        });
        begin += part.dims[concat.getDim()];
      }
      return result;
    }
    if (auto insert = llvm::dyn_cast<tensor::InsertSliceOp>(op)) {
      IntTensor result = operand(1, rank);
      llvm::SmallVector<int64_t, 4> to(result.dims.size());
      forEachPlace(operand(0, rank).dims, [&](llvm::ArrayRef<int64_t> place) {
        for (auto [dim, offset] : llvm::enumerate(insert.getMixedOffsets()))
          to[dim] = place[dim] + sizeOf(offset, rank);
        result.at(to) = operand(0, rank).at(place);
      });
      return result;
    }
    if (llvm::isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op)) {
      auto type = llvm::cast<mlir::RankedTensorType>(op.getResult(0).getType());
      return {llvm::SmallVector<int64_t, 4>(type.getShape()), operand(0, rank).values};
    }
    if (!llvm::isa<tensor::FromElementsOp>(op))
      FAIL("the machine does not know " << op.getName().getStringRef().str());
    auto type = llvm::cast<mlir::RankedTensorType>(op.getResult(0).getType());
    IntTensor elements{llvm::SmallVector<int64_t, 4>(type.getShape()), {}};
    for (unsigned index = 0; index < op.getNumOperands(); ++index)
      elements.values.push_back(operand(index, rank).values.front());
    return elements;
  });
}

void Machine::runScalar(mlir::Operation &op) {
  if (auto constant = llvm::dyn_cast<arith::ConstantOp>(op)) {
    IntTensor value;
    if (auto dense = llvm::dyn_cast<mlir::DenseElementsAttr>(constant.getValue())) {
      value.dims.assign(dense.getType().getShape().begin(), dense.getType().getShape().end());
      for (const llvm::APInt &element : dense.getValues<llvm::APInt>())
        value.values.push_back(element.getSExtValue());
    } else {
      value = IntTensor::make({}, llvm::cast<mlir::IntegerAttr>(constant.getValue()).getValue().getSExtValue());
    }
    setEach(op, [&](int64_t) { return value; });
    return;
  }
  auto operand = [&](unsigned index, int64_t rank) { return get(op.getOperand(index))[static_cast<size_t>(rank)]; };
  setEach(op, [&](int64_t rank) -> IntTensor {
    IntTensor first = operand(0, rank);
    if (llvm::isa<arith::SelectOp>(op))
      return first.values[0] != 0 ? operand(1, rank) : operand(2, rank);
    if (llvm::isa<arith::IndexCastOp>(op))
      return first;
    int64_t a = first.values[0], b = operand(1, rank).values[0];
    bool known = llvm::isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::MinSIOp, arith::MaxSIOp, arith::CmpIOp,
                           arith::AndIOp>(op);
    if (!known)
      FAIL("the machine does not know " << op.getName().getStringRef().str());
    int64_t value = llvm::isa<arith::AddIOp>(op)    ? a + b
                    : llvm::isa<arith::SubIOp>(op)  ? a - b
                    : llvm::isa<arith::MulIOp>(op)  ? a * b
                    : llvm::isa<arith::MinSIOp>(op) ? std::min(a, b)
                    : llvm::isa<arith::MaxSIOp>(op) ? std::max(a, b)
                    : llvm::isa<arith::CmpIOp>(op)  ? a == b
                                                    : a & b;
    return IntTensor::make({}, value);
  });
}

void Machine::run(mlir::Operation &op) {
  llvm::StringRef dialect = op.getName().getDialectNamespace();
  if (dialect == "shard")
    runCollective(op);
  else if (dialect == "tensor")
    runTensor(op);
  else
    runScalar(op);
}

} // namespace

std::vector<IntTensor> runOnGrid(mlir::func::FuncOp function, const Mesh &mesh, const std::vector<IntTensor> &inputs) {
  Machine machine(mesh);
  if (function.getNumArguments() > 0)
    machine.set(function.getArgument(0), inputs);
  for (mlir::Operation &op : function.front().without_terminator())
    machine.run(op);
  return machine.get(function.front().getTerminator()->getOperand(0));
}

} // namespace apc::test
