// The attributes of meshes, shardings, strategies and collectives: registration, identity and checks.
#include "apc/IR/ShardingAttrs.h"

#include "apc/IR/Apc.h"
#include "apc/Support/Error.h"

#include "mlir/IR/DialectImplementation.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

#define GET_ATTRDEF_CLASSES
#include "apc/IR/ShardingAttrs.cpp.inc"

namespace apc {

llvm::hash_code hash_value(const AxisList &axes) {
  llvm::hash_code code = llvm::hash_value(axes.size());
  for (AxisId axis : axes)
    code = llvm::hash_combine(code, axis.value);
  return code;
}

static llvm::hash_code hashLists(llvm::ArrayRef<AxisList> lists) {
  llvm::hash_code code = llvm::hash_value(lists.size());
  for (const AxisList &axes : lists)
    code = llvm::hash_combine(code, hash_value(axes));
  return code;
}

llvm::hash_code hash_value(const Mesh &mesh) {
  llvm::hash_code code = llvm::hash_value(mesh.numAxes());
  for (const MeshAxis &axis : mesh.getAxes())
    code = llvm::hash_combine(code, axis.name, axis.size, axis.level);
  return code;
}

llvm::hash_code hash_value(const Sharding &sharding) {
  llvm::hash_code code = llvm::hash_combine(hashLists(sharding.dims), hash_value(sharding.partial), sharding.combiner);
  for (const PartedDim &entry : sharding.parted)
    code = llvm::hash_combine(code, entry.dim, llvm::ArrayRef(entry.sizes));
  return code;
}

llvm::hash_code hash_value(const FactorCuts &strategy) {
  llvm::hash_code code = hashLists(strategy.partialInputs);
  for (const FactorCuts::FactorAxes &factor : strategy.factors)
    code = llvm::hash_combine(code, factor.factor, hash_value(factor.axes));
  return code;
}

llvm::hash_code hash_value(const CoalescedCollective &collective) {
  llvm::hash_code code = llvm::hash_combine(collective.kind, hash_value(collective.axes));
  for (const CoalescedCollective::Value &value : collective.values)
    code = llvm::hash_combine(code, hash_value(value.from), hash_value(value.to), llvm::ArrayRef(value.dims));
  return code;
}

namespace {

mlir::LogicalResult verifyWith(llvm::function_ref<mlir::InFlightDiagnostic()> emitError, llvm::Error error) {
  if (!error)
    return mlir::success();
  return emitError() << takeMessage(std::move(error)).second;
}

/// Axes are in the mesh and none is there twice.
llvm::Error checkAxes(llvm::ArrayRef<AxisId> axes, const Mesh &mesh) {
  llvm::SmallVector<bool> isSeen(mesh.numAxes());
  for (AxisId axis : axes) {
    if (axis.index() >= mesh.numAxes())
      return inputError("axis number {0} is not in the mesh {1}", axis.index(), mesh.str());
    if (isSeen[axis.index()])
      return inputError("axis {0} is listed twice", mesh.axis(axis).name);
    isSeen[axis.index()] = true;
  }
  return llvm::Error::success();
}

/// Prints the mesh, which every other attribute refers to, once at the top of a file.
struct MeshAlias : mlir::OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;

  AliasResult getAlias(mlir::Attribute attribute, llvm::raw_ostream &os) const override {
    if (!llvm::isa<MeshAttr>(attribute))
      return AliasResult::NoAlias;
    os << "mesh";
    return AliasResult::FinalAlias;
  }
};

} // namespace

void ApcDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "apc/IR/ShardingAttrs.cpp.inc"
      >();
  addInterfaces<MeshAlias>();
}

mlir::LogicalResult MeshAttr::verify(llvm::function_ref<mlir::InFlightDiagnostic()> emitError, Mesh value) {
  llvm::StringSet<> names;
  int64_t devices = 1;
  for (const MeshAxis &axis : value.getAxes()) {
    if (axis.name.empty() || !names.insert(axis.name).second)
      return emitError() << "the axes of a mesh have names that differ, not '" << axis.name << "' twice";
    if (__builtin_mul_overflow(devices, axis.size, &devices))
      return emitError() << "the mesh has more devices than can be counted";
  }
  return mlir::success();
}

mlir::LogicalResult AxesAttr::verify(llvm::function_ref<mlir::InFlightDiagnostic()> emitError, MeshAttr mesh,
                                     AxisList value) {
  return verifyWith(emitError, checkAxes(value, mesh.getValue()));
}

mlir::LogicalResult ShardingAttr::verify(llvm::function_ref<mlir::InFlightDiagnostic()> emitError, MeshAttr mesh,
                                         Sharding value) {
  return verifyWith(emitError, check(value, value.anyShape(), mesh.getValue()));
}

StrategyAttr StrategyAttr::get(MeshAttr mesh, const Strategy &strategy, const FactorRule &rule) {
  FactorCuts named;
  for (auto [factor, axes] : llvm::zip_equal(rule.factors, strategy.axes))
    if (!axes.empty())
      named.factors.push_back({factor.name, axes});
  named.partialInputs.assign(strategy.partialInputs.begin(), strategy.partialInputs.end());
  while (!named.partialInputs.empty() && named.partialInputs.back().empty())
    named.partialInputs.pop_back();
  return get(mesh.getContext(), mesh, std::move(named));
}

llvm::Expected<Strategy> StrategyAttr::strategyFor(const FactorRule &rule) const {
  Strategy strategy;
  strategy.axes.resize(rule.numFactors());
  strategy.partialInputs.resize(rule.linear.size());
  for (const FactorCuts::FactorAxes &part : getValue().factors) {
    auto found = llvm::find_if(rule.factors, [&](const Factor &factor) { return factor.name == part.factor; });
    if (found == rule.factors.end())
      return inputError("strategy '{0}': '{1}' is no factor of {2}", str(), part.factor, rule.str());
    strategy.axes[static_cast<size_t>(found - rule.factors.begin())] = part.axes;
  }
  if (getValue().partialInputs.size() > rule.linear.size())
    return inputError("strategy '{0}': {1} has {2} linear groups", str(), rule.str(), rule.linear.size());
  llvm::copy(getValue().partialInputs, strategy.partialInputs.begin());
  if (llvm::Error error = check(rule, strategy, getMesh().getValue()))
    return error;
  return strategy;
}

mlir::LogicalResult StrategyAttr::verify(llvm::function_ref<mlir::InFlightDiagnostic()> emitError, MeshAttr mesh,
                                         FactorCuts value) {
  AxisList all;
  llvm::StringSet<> names;
  for (const FactorCuts::FactorAxes &part : value.factors) {
    if (part.axes.empty() || !names.insert(part.factor).second)
      return emitError() << "factor '" << part.factor << "' is listed twice or without axes";
    llvm::append_range(all, part.axes);
  }
  for (const AxisList &axes : value.partialInputs)
    llvm::append_range(all, axes);
  return verifyWith(emitError, checkAxes(all, mesh.getValue()));
}

mlir::LogicalResult CollectiveAttr::verify(llvm::function_ref<mlir::InFlightDiagnostic()> emitError, MeshAttr mesh,
                                           CoalescedCollective value) {
  if (value.values.empty())
    return emitError() << "a collective acts on one value or more";
  if (mlir::failed(verifyWith(emitError, checkAxes(value.axes, mesh.getValue()))))
    return mlir::failure();
  for (const CoalescedCollective::Value &each : value.values) {
    TensorShape shape{each.dims};
    for (const Sharding *sharding : {&each.from, &each.to})
      if (mlir::failed(verifyWith(emitError, check(*sharding, shape, mesh.getValue()))))
        return mlir::failure();
    if (isReduction(value.kind) && each.from.combiner != value.values.front().from.combiner)
      return emitError() << "a reduction combines all values alike, not by "
                         << combinerName(value.values.front().from.combiner) << " and by "
                         << combinerName(each.from.combiner);
    if (mlir::failed(
            verifyWith(emitError, checkCollective(value.kind, value.axes, each.from, each.to, shape, mesh.getValue()))))
      return mlir::failure();
  }
  return mlir::success();
}

} // namespace apc
