// Every collective, even and uneven, moves elements in the shard dialect as it changes shardings.
#include "ShardMachine.h"

#include "Sharding/ElementGrid.h"

#include "apc/Emit/Emit.h"
#include "apc/IR/Ops/Spmd/Spmd.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"

using namespace apc;
using namespace apc::test;

namespace {

/// Padding: must never come out as an element.
constexpr int64_t poison = -1000003;

struct Case {
  Collective collective;
  Sharding from;
};

/// All collectives of every kind from `from`, over every ordered choice that the kind allows on this mesh.
/// Dims that become cut are so inside `parted`.
void addCollectives(const Sharding &from, const TensorShape &shape, const Mesh &mesh, std::vector<Case> &cases,
                    llvm::ArrayRef<PartedDim> parted = {}) {
  auto add = [&](CollectiveKind kind, const AxisList &axes, unsigned fromDim, unsigned toDim) {
    llvm::ArrayRef<int64_t> parts = from.dims[toDim].empty() ? partsOf(parted, toDim) : llvm::ArrayRef<int64_t>();
    auto to = applyCollective(kind, axes, fromDim, toDim, from, mesh, parts);
    if (to)
      cases.push_back({Collective{kind, axes, fromDim, toDim, *to, 0, 0}, from});
    else
      llvm::consumeError(to.takeError());
  };
  std::vector<AxisList> choices;
  for (unsigned i = 0; i < mesh.numAxes(); ++i) {
    choices.push_back({AxisId(i)});
    for (unsigned j = 0; j < mesh.numAxes(); ++j)
      if (i != j)
        choices.push_back({AxisId(i), AxisId(j)});
  }
  for (const AxisList &axes : choices)
    for (unsigned dim = 0; dim < shape.numDims(); ++dim) {
      add(CollectiveKind::AllGather, axes, dim, 0);
      add(CollectiveKind::Slice, axes, 0, dim);
      add(CollectiveKind::ReduceScatter, axes, 0, dim);
      for (unsigned other = 0; other < shape.numDims(); ++other)
        add(CollectiveKind::AllToAll, axes, dim, other);
      if (dim == 0)
        add(CollectiveKind::AllReduce, axes, 0, 0);
    }
}

/// The contribution of a rank to an element under a sharding that may be partial.
int64_t term(int64_t element, const AxisList &partial, const Mesh &mesh, int64_t rank) {
  int64_t value = element + 1;
  for (AxisId axis : partial)
    value += 1000 * static_cast<int64_t>(axis.index() + 1) * (mesh.coordinates(rank)[axis.index()] + 1);
  return value;
}

/// The piece of a rank; its elements are sums over the group along `settled` of terms over `partial` and `settled`.
IntTensor pieceOf(const TensorShape &shape, const Sharding &sharding, const AxisList &settled, const Mesh &mesh,
                  int64_t rank) {
  IntTensor piece = IntTensor::make(localShape(shape, sharding, mesh).dims, poison);
  AxisList all = sharding.partial;
  llvm::append_range(all, settled);
  forEachPlace(piece.dims, [&](llvm::ArrayRef<int64_t> place) {
    int64_t element = 0;
    for (unsigned dim = 0; dim < shape.numDims(); ++dim) {
      auto runs = dimRuns(shape.dims[dim], sharding, dim, mesh, rank);
      const auto *run = llvm::find_if(runs, [&](const DimRun &each) { return place[dim] < each.at + each.room; });
      if (place[dim] - run->at >= run->count)
        return;
      element = element * shape.dims[dim] + run->begin + place[dim] - run->at;
    }
    int64_t sum = 0;
    for (int64_t member : mesh.group(rank, settled))
      sum += term(element, all, mesh, member);
    piece.at(place) = sum;
  });
  return piece;
}

mlir::OwningOpRef<mlir::ModuleOp> convert(const Program &program) {
  std::string text;
  EmitOptions options;
  auto emitter = findEmitter("shard-mlir");
  REQUIRE(static_cast<bool>(emitter));
  llvm::Error error =
      (*emitter)->emit({program.onlyStage(), {}, options}, [&](llvm::StringRef, llvm::StringRef content) {
        text = content.str();
        return llvm::Error::success();
      });
  if (error)
    FAIL(takeMessage(std::move(error)).second);
  return mlir::parseSourceString<mlir::ModuleOp>(text, (*program.onlyStage().module).getContext());
}

void loadDialects(mlir::MLIRContext &context) {
  context.loadDialect<ApcDialect, mlir::func::FuncDialect, mlir::shard::ShardDialect, mlir::arith::ArithDialect,
                      mlir::math::MathDialect, mlir::tensor::TensorDialect>();
}

/// A function for each case that takes its collective.
Program programOf(llvm::ArrayRef<Case> cases, const TensorShape &shape, const Mesh &mesh, mlir::MLIRContext &context) {
  mlir::OpBuilder builder(&context);
  mlir::OwningOpRef<mlir::ModuleOp> program = mlir::ModuleOp::create(builder.getUnknownLoc());
  auto meshAttr = MeshAttr::get(&context, mesh);
  (*program)->setAttr(meshAttribute, meshAttr);
  auto type = [&](const Sharding &sharding) {
    return mlir::RankedTensorType::get(localShape(shape, sharding, mesh).dims, builder.getI64Type());
  };
  for (auto [index, each] : llvm::enumerate(cases)) {
    builder.setInsertionPointToEnd(program->getBody());
    auto function =
        mlir::func::FuncOp::create(builder, builder.getUnknownLoc(), "f" + std::to_string(index),
                                   builder.getFunctionType({type(each.from)}, {type(each.collective.result)}));
    mlir::Block *body = function.addEntryBlock();
    builder.setInsertionPointToStart(body);
    auto collective = CollectiveAttr::get(
        meshAttr, {each.collective.kind, each.collective.axes, {{each.from, each.collective.result, shape.dims}}});
    auto moved = createCollective(builder, function.getLoc(), body->getArguments(), collective);
    mlir::func::ReturnOp::create(builder, function.getLoc(), moved->getResults());
  }
  return Program::ofOneStage(std::move(program), mesh.numDevices());
}

void checkCases(llvm::ArrayRef<Case> cases, const TensorShape &shape, const Mesh &mesh) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  loadDialects(context);
  mlir::OwningOpRef<mlir::ModuleOp> converted = convert(programOf(cases, shape, mesh, context));
  REQUIRE(converted);
  for (auto [index, each] : llvm::enumerate(cases)) {
    INFO(each.from.str(mesh) << " " << each.collective.str(mesh) << " " << each.collective.result.str(mesh));
    AxisList settled;
    for (AxisId axis : each.from.partial)
      if (!llvm::is_contained(each.collective.result.partial, axis))
        settled.push_back(axis);
    std::vector<IntTensor> inputs;
    for (int64_t rank = 0; rank < mesh.numDevices(); ++rank)
      inputs.push_back(pieceOf(shape, each.from, {}, mesh, rank));
    auto function = converted->lookupSymbol<mlir::func::FuncOp>("f" + std::to_string(index));
    std::vector<IntTensor> found = runOnGrid(function, mesh, inputs);
    bool same = true;
    for (int64_t rank = 0; rank < mesh.numDevices(); ++rank) {
      IntTensor wanted = pieceOf(shape, each.collective.result, settled, mesh, rank);
      REQUIRE(wanted.dims == found[static_cast<size_t>(rank)].dims);
      for (auto [want, is] : llvm::zip_equal(wanted.values, found[static_cast<size_t>(rank)].values))
        same &= want == poison || want == is;
    }
    CHECK(same);
  }
}

} // namespace

TEST_CASE("collectives of every kind move each element to where it belongs, uneven dims too") {
  struct {
    const char *mesh;
    std::initializer_list<int64_t> dims;
  } settings[] = {{"[2, 3]", {6, 12}}, {"[2, 3]", {10, 7}}, {"[3 | 2, 2]", {17, 5}}};
  for (const auto &setting : settings) {
    Mesh mesh = test::mesh(setting.mesh);
    TensorShape shape = test::shape(setting.dims, 64);
    std::vector<Case> cases;
    for (const Sharding &from : allShardings(shape.numDims(), mesh, /*withPartial=*/true))
      addCollectives(from, shape, mesh, cases);
    CHECK(cases.size() > 80);
    // The larger mesh has thousands: every seventh will do.
    std::vector<Case> chosen;
    for (size_t at = 0; at < cases.size(); at += cases.size() > 2000 ? 7 : 1)
      chosen.push_back(cases[at]);
    checkCases(chosen, shape, mesh);
  }
}

TEST_CASE("collectives of dims that are cut inside parts move each element to where it belongs") {
  struct {
    const char *mesh;
    std::initializer_list<int64_t> dims;
    PartedDim parted;
  } settings[] = {
      {"[2, 2]", {4, 16}, {1, {8, 4, 4}}}, {"[2, 3]", {24, 5}, {0, {12, 12}}}, {"[2, 3]", {12}, {0, {7, 5}}}};
  for (const auto &setting : settings) {
    Mesh mesh = test::mesh(setting.mesh);
    TensorShape shape = test::shape(setting.dims, 64);
    std::vector<Case> cases;
    for (const Sharding &from : withParts(allShardings(shape.numDims(), mesh, /*withPartial=*/true), setting.parted))
      addCollectives(from, shape, mesh, cases, setting.parted);
    llvm::erase_if(cases, [](const Case &each) { return each.from.parted == each.collective.result.parted; });
    CHECK(cases.size() > 8);
    checkCases(cases, shape, mesh);
  }
}

TEST_CASE("permutes find their peers") {
  Mesh mesh = test::mesh("[2, 3 | 2]");
  TensorShape shape = test::shape({12, 24}, 64);
  std::vector<Case> cases;
  std::vector<Sharding> all = allShardings(2, mesh, /*withPartial=*/false);
  for (const Sharding &from : all)
    for (const Sharding &to : all) {
      Collective collective{CollectiveKind::Permute, {AxisId(0), AxisId(1), AxisId(2)}, 0, 0, to, 0, 0};
      bool isEven = llvm::all_of(llvm::zip_equal(shape.dims, from.dims),
                                 [&](auto pair) { return std::get<0>(pair) % mesh.size(std::get<1>(pair)) == 0; });
      if (!(from == to) && isEven &&
          errorOf(checkCollective(collective.kind, collective.axes, from, to, shape, mesh)) == "(no error)")
        cases.push_back({collective, from});
    }
  CHECK(cases.size() > 20);
  checkCases(cases, shape, mesh);
}

TEST_CASE("a collective of two values becomes an op for each") {
  Mesh mesh = test::mesh("[2, 3]");
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  loadDialects(context);
  auto program = mlir::parseSourceString<mlir::ModuleOp>(R"(
#mesh = #apc.mesh<[x0=2, x1=3]>
module attributes {apc.mesh = #mesh} {
  func.func @first(%x: tensor<3xi64>) -> tensor<1xi64> {
    %0, %1 = apc.reduce_scatter %x, %x <#mesh, ReduceScatter{x1}, [-] sum{x1} -> [x1] of [3], [x0] sum{x1} -> [(x0 x1)] of [6]>
        : (tensor<3xi64>, tensor<3xi64>) -> (tensor<1xi64>, tensor<1xi64>)
    return %0 : tensor<1xi64>
  }
  func.func @second(%x: tensor<3xi64>) -> tensor<3xi64> {
    %0, %1 = apc.all_reduce %x, %x <#mesh, AllReduce{x1}, [-] sum{x1} -> [-] of [3], [x0] sum{x1} -> [x0] of [6]>
        : (tensor<3xi64>, tensor<3xi64>) -> (tensor<3xi64>, tensor<3xi64>)
    return %1 : tensor<3xi64>
  }
})",
                                                         &context);
  REQUIRE(program);
  auto converted = convert(Program::ofOneStage(std::move(program), mesh.numDevices()));
  REQUIRE(converted);
  unsigned numScatters = 0;
  converted->walk([&](mlir::shard::ReduceScatterOp) { ++numScatters; });
  CHECK(numScatters == 2);
  std::vector<IntTensor> inputs;
  for (int64_t rank = 0; rank < 6; ++rank) {
    inputs.push_back(IntTensor::make({3}, 0));
    inputs.back().values = {rank, 10 + rank, 20 + rank};
  }
  auto values = [&](llvm::StringRef name, size_t rank) {
    return runOnGrid(converted->lookupSymbol<mlir::func::FuncOp>(name), mesh, inputs)[rank].values;
  };
  // Ranks 0, 1, 2 and ranks 3, 4, 5 are the groups along x1.
  CHECK(values("first", 1) == std::vector<int64_t>{33});
  CHECK(values("first", 5) == std::vector<int64_t>{72});
  CHECK(values("second", 0) == std::vector<int64_t>{3, 33, 63});
}

TEST_CASE("logarithms of sums are combined by the greatest, then by the sum below it") {
  Mesh mesh = test::mesh("[2, 3]");
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  loadDialects(context);
  auto program = mlir::parseSourceString<mlir::ModuleOp>(R"(
#mesh = #apc.mesh<[x0=2, x1=3]>
module attributes {apc.mesh = #mesh} {
  func.func @whole(%x: tensor<6xf32>) -> tensor<6xf32> {
    %0 = apc.all_reduce %x <#mesh, AllReduce{x1}, [-] log_sum_exp{x1} -> [-] of [6]> : (tensor<6xf32>) -> tensor<6xf32>
    return %0 : tensor<6xf32>
  }
  func.func @cut(%x: tensor<6xf32>) -> tensor<2xf32> {
    %0 = apc.reduce_scatter %x <#mesh, ReduceScatter{x1}, [-] log_sum_exp{x1} -> [x1] of [6]> : (tensor<6xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
})",
                                                         &context);
  REQUIRE(program);
  auto converted = convert(Program::ofOneStage(std::move(program), mesh.numDevices()));
  REQUIRE(converted);
  auto opsOf = [&](llvm::StringRef name) {
    std::vector<std::string> names;
    converted->lookupSymbol<mlir::func::FuncOp>(name).walk([&](mlir::Operation *op) {
      auto reduction = op->getAttrOfType<mlir::shard::ReductionKindAttr>("reduction");
      std::string kind = reduction ? " " + mlir::shard::stringifyReductionKind(reduction.getValue()).str() : "";
      if (!llvm::isa<mlir::func::FuncOp, mlir::func::ReturnOp, mlir::arith::ConstantOp>(op))
        names.push_back(op->getName().getStringRef().str() + kind);
    });
    return names;
  };
  CHECK(opsOf("whole") == std::vector<std::string>{"shard.all_reduce max", "arith.maximumf", "arith.subf", "math.exp",
                                                   "shard.all_reduce sum", "math.log", "arith.addf"});
  CHECK(opsOf("cut") == std::vector<std::string>{"shard.all_reduce max", "arith.maximumf", "arith.subf", "math.exp",
                                                 "shard.reduce_scatter sum", "shard.all_slice", "math.log",
                                                 "arith.addf"});
}

TEST_CASE("masks, kept addends and offsets follow the process's coordinates") {
  Mesh mesh = test::mesh("[2, 3]");
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  loadDialects(context);
  auto program = mlir::parseSourceString<mlir::ModuleOp>(R"(
#mesh = #apc.mesh<[x0=2, x1=3]>
module attributes {apc.mesh = #mesh} {
  func.func @mask(%x: tensor<2x2xi64>) -> tensor<2x2xi64> {
    %0 = apc.mask_padding %x dim 1 of 10 <#mesh, (x0 x1)> <product> : tensor<2x2xi64>
    return %0 : tensor<2x2xi64>
  }
  func.func @parts(%x: tensor<2x2xi64>) -> tensor<2x2xi64> {
    %0 = apc.mask_padding %x dim 1 of 5 <#mesh, (x1)> <product> {parts = array<i64: 2, 3>} : tensor<2x2xi64>
    return %0 : tensor<2x2xi64>
  }
  func.func @keep(%x: tensor<2x2xi64>) -> tensor<2x2xi64> {
    %0 = apc.keep_on_first %x <#mesh, (x1)> : tensor<2x2xi64>
    return %0 : tensor<2x2xi64>
  }
  func.func @offset(%x: tensor<2x2xi64>) -> tensor<i64> {
    %0 = apc.shard_offset <#mesh, (x0 x1)> of 10 : tensor<i64>
    return %0 : tensor<i64>
  }
  func.func @span(%x: tensor<2x2xi64>) -> tensor<2xi64> {
    %0 = apc.shard_offset <#mesh, (x0 x1)> of 7 : tensor<2xi64>
    return %0 : tensor<2xi64>
  }
})",
                                                         &context);
  REQUIRE(program);
  auto converted = convert(Program::ofOneStage(std::move(program), mesh.numDevices()));
  REQUIRE(converted);
  std::vector<IntTensor> inputs(6, IntTensor::make({2, 2}, 5));
  auto run = [&](llvm::StringRef name) {
    std::vector<std::vector<int64_t>> values;
    for (const IntTensor &tensor : runOnGrid(converted->lookupSymbol<mlir::func::FuncOp>(name), mesh, inputs))
      values.push_back(tensor.values);
    return values;
  };
  using Values = std::vector<std::vector<int64_t>>;
  std::vector<int64_t> all(4, 5), none(4, 0), half = {5, 1, 5, 1};
  // 10 over (2 3): 5 and 5; 2, 2 and 1 of each.
  CHECK(run("mask") == Values{all, all, half, all, all, half});
  // 2 over 3 is one, one and nothing; 3 is one each.
  std::vector<int64_t> second = {1, 5, 1, 5};
  CHECK(run("parts") == Values{all, all, second, all, all, second});
  CHECK(run("keep") == Values{all, none, none, all, none, none});
  CHECK(run("offset") == Values{{0}, {2}, {4}, {5}, {7}, {9}});
  // 7: 4 and 3; 2, 2 and none of 4, 2, 1 and none of 3. The third piece of each is empty, wherever it begins.
  Values spans = run("span");
  for (size_t rank : {0, 1, 3, 4})
    CHECK(spans[rank] == Values{{0, 2}, {2, 4}, {}, {4, 6}, {6, 7}}[rank]);
  for (size_t rank : {2, 5})
    CHECK(spans[rank][0] >= spans[rank][1]);
}
