// Collectives by themselves: applied, checked, written as text and read back.
#include "apc/Sharding/Redistribution.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/StringExtras.h"

namespace apc {

namespace {

/// Removes `axes` from the end of a dim; false when they are not its minor axes.
bool dropMinor(Sharding &sharding, unsigned dim, llvm::ArrayRef<AxisId> axes) {
  AxisList &list = sharding.dims[dim];
  if (list.size() < axes.size() || llvm::ArrayRef(list).take_back(axes.size()) != axes)
    return false;
  list.truncate(list.size() - axes.size());
  if (list.empty())
    setParts(sharding.parted, dim, {});
  return true;
}

/// Adds minor axes to a dim, which gets `parts` when nothing cut it before; false when it is cut inside others.
bool addMinor(Sharding &sharding, unsigned dim, llvm::ArrayRef<AxisId> axes, llvm::ArrayRef<int64_t> parts) {
  if (sharding.dims[dim].empty())
    setParts(sharding.parted, dim, parts);
  else if (!parts.empty() && parts != sharding.partsOf(dim))
    return false;
  llvm::append_range(sharding.dims[dim], axes);
  return true;
}

/// Removes `axes` from the partial axes; false when one of them is not there.
bool settle(Sharding &sharding, llvm::ArrayRef<AxisId> axes) {
  for (AxisId axis : axes) {
    auto *found = llvm::find(sharding.partial, axis);
    if (found == sharding.partial.end())
      return false;
    sharding.partial.erase(found);
  }
  return true;
}

llvm::Error cannot(CollectiveKind kind, const AxisList &axes, const Sharding &from, const Mesh &mesh) {
  std::string names = llvm::join(llvm::map_range(axes, [&](AxisId axis) { return mesh.axis(axis).name; }), " ");
  return inputError("{0}{{{1}} cannot be taken from {2}", collectiveName(kind), names, from.str(mesh));
}

/// A permutation keeps the number of pieces of each dim and what is partial.
bool isPermutation(const Sharding &from, const Sharding &to, const Mesh &mesh) {
  if (from.partial != to.partial || from.numDims() != to.numDims() || from.parted != to.parted)
    return false;
  for (auto [a, b] : llvm::zip_equal(from.dims, to.dims))
    if (mesh.size(a) != mesh.size(b))
      return false;
  return true;
}

/// Reads `x0 x1` as axes; none for an unknown name.
std::optional<AxisList> parseAxes(llvm::StringRef text, const Mesh &mesh) {
  AxisList axes;
  llvm::SmallVector<llvm::StringRef> names;
  text.split(names, ' ', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef name : names) {
    auto found = llvm::find_if(mesh.getAxes(), [&](const MeshAxis &axis) { return axis.name == name; });
    if (found == mesh.getAxes().end())
      return std::nullopt;
    axes.push_back(AxisId(found - mesh.getAxes().begin()));
  }
  return axes;
}

/// Reads the dims that `Collective::str` writes for the kind: ` 0` of AllGather, ` ->1` of Slice and ReduceScatter, `
/// 0->1` of AllToAll, none of AllReduce. `{256 128 128}` behind them are the parts inside which the last dim is cut.
bool parseDims(llvm::StringRef text, Collective &collective, unsigned numDims, llvm::SmallVectorImpl<int64_t> &parts) {
  bool hasFrom = collective.kind == CollectiveKind::AllGather || collective.kind == CollectiveKind::AllToAll;
  bool hasTo = collective.kind == CollectiveKind::Slice || collective.kind == CollectiveKind::AllToAll ||
               collective.kind == CollectiveKind::ReduceScatter;
  if (!hasFrom && !hasTo)
    return text.empty();
  if (hasTo && text.consume_back("}")) {
    auto [dims, sizes] = text.split('{');
    std::optional<llvm::SmallVector<int64_t, 4>> read = parseParts(sizes);
    if (!read)
      return false;
    parts.assign(read->begin(), read->end());
    text = dims;
  }
  auto readDim = [&](unsigned &dim) { return !text.consumeInteger(10, dim) && dim < numDims; };
  return text.consume_front(" ") && (!hasFrom || readDim(collective.fromDim)) &&
         (!hasTo || (text.consume_front("->") && readDim(collective.toDim))) && text.empty();
}

} // namespace

llvm::StringRef collectiveName(CollectiveKind kind) {
  static constexpr llvm::StringLiteral names[] = {"AllGather",     "Slice",     "AllToAll",
                                                  "ReduceScatter", "AllReduce", "Permute"};
  return names[static_cast<size_t>(kind)];
}

unsigned numExchanges(const Collective &collective) {
  if (collective.kind == CollectiveKind::Slice)
    return 0;
  return collective.combiner == Combiner::LogSumExp ? 2 : 1;
}

std::string Collective::str(const Mesh &mesh) const {
  std::string text = collectiveName(kind).str() + "{";
  text += llvm::join(llvm::map_range(axes, [&](AxisId axis) { return mesh.axis(axis).name; }), " ") + "}";
  switch (kind) {
  case CollectiveKind::AllGather:
    return text + " " + std::to_string(fromDim);
  case CollectiveKind::Slice:
  case CollectiveKind::ReduceScatter:
    return text + " ->" + std::to_string(toDim) + partsText(result.partsOf(toDim));
  case CollectiveKind::AllToAll:
    return text + " " + std::to_string(fromDim) + "->" + std::to_string(toDim) + partsText(result.partsOf(toDim));
  case CollectiveKind::AllReduce:
    return text;
  case CollectiveKind::Permute:
    return text + " -> " + result.str(mesh);
  }
  llvm_unreachable("every kind of collective has a text");
}

llvm::Expected<Sharding> applyCollective(CollectiveKind kind, const AxisList &axes, unsigned fromDim, unsigned toDim,
                                         const Sharding &from, const Mesh &mesh, llvm::ArrayRef<int64_t> toParts) {
  Sharding to = from;
  bool fits = fromDim < std::max(1u, from.numDims()) && toDim < std::max(1u, from.numDims());
  switch (kind) {
  case CollectiveKind::AllGather:
    fits = fits && from.numDims() > 0 && dropMinor(to, fromDim, axes);
    break;
  case CollectiveKind::Slice: {
    AxisList used = from.usedAxes();
    fits = fits && from.numDims() > 0 && llvm::none_of(axes, [&](AxisId axis) {
             return llvm::is_contained(used, axis) || llvm::is_contained(from.partial, axis);
           });
    fits = fits && addMinor(to, toDim, axes, toParts);
    break;
  }
  case CollectiveKind::AllToAll:
    fits = fits && fromDim != toDim && dropMinor(to, fromDim, axes) && addMinor(to, toDim, axes, toParts);
    break;
  case CollectiveKind::ReduceScatter:
    fits = fits && from.numDims() > 0 && settle(to, axes) && addMinor(to, toDim, axes, toParts);
    break;
  case CollectiveKind::AllReduce:
    fits = settle(to, axes);
    break;
  case CollectiveKind::Permute:
    fits = false;
    break;
  }
  if (!fits || axes.empty())
    return cannot(kind, axes, from, mesh);
  if (to.partial.empty())
    to.combiner = Combiner::Sum;
  return to;
}

llvm::Error checkCollective(CollectiveKind kind, const AxisList &axes, const Sharding &from, const Sharding &to,
                            const TensorShape &shape, const Mesh &mesh) {
  if (kind == CollectiveKind::Permute) {
    if (isPermutation(from, to, mesh))
      return llvm::Error::success();
    return inputError("no permutation of pieces takes {0} to {1}", from.str(mesh), to.str(mesh));
  }
  for (unsigned fromDim = 0; fromDim < std::max(1u, from.numDims()); ++fromDim)
    for (unsigned toDim = 0; toDim < std::max(1u, from.numDims()); ++toDim) {
      llvm::Expected<Sharding> result = applyCollective(kind, axes, fromDim, toDim, from, mesh, to.partsOf(toDim));
      if (result && *result == to)
        return llvm::Error::success();
      llvm::consumeError(result.takeError());
    }
  std::string names = llvm::join(llvm::map_range(axes, [&](AxisId axis) { return mesh.axis(axis).name; }), " ");
  return inputError("{0}{{{1}} does not take {2} to {3}", collectiveName(kind), names, from.str(mesh), to.str(mesh));
}

llvm::Expected<Collective> Collective::parse(llvm::StringRef text, const Sharding &from, const TensorShape &shape,
                                             const Mesh &mesh) {
  auto wrong = [&] {
    return inputError("'{0}' is no collective; write for instance AllGather{{x1} 0, Slice{{x1} ->0, AllToAll{{x1} 0->1",
                      text);
  };
  auto [name, rest] = text.split('{');
  auto [names, dims] = rest.split('}');
  Collective collective;
  bool known = false;
  for (CollectiveKind kind : {CollectiveKind::AllGather, CollectiveKind::Slice, CollectiveKind::AllToAll,
                              CollectiveKind::ReduceScatter, CollectiveKind::AllReduce, CollectiveKind::Permute})
    if (name == collectiveName(kind)) {
      collective.kind = kind;
      known = true;
    }
  std::optional<AxisList> axes = parseAxes(names, mesh);
  if (!known || !axes)
    return wrong();
  collective.axes = *axes;
  if (collective.kind == CollectiveKind::Permute) {
    if (!dims.consume_front(" -> "))
      return wrong();
    auto result = Sharding::parse(dims, mesh);
    if (!result)
      return result.takeError();
    if (llvm::Error error = checkCollective(collective.kind, collective.axes, from, *result, shape, mesh))
      return error;
    collective.result = *result;
  } else {
    llvm::SmallVector<int64_t, 4> parts;
    if (!parseDims(dims, collective, from.numDims(), parts))
      return wrong();
    auto result =
        applyCollective(collective.kind, collective.axes, collective.fromDim, collective.toDim, from, mesh, parts);
    if (!result)
      return result.takeError();
    collective.result = *result;
  }
  collective.combiner = isReduction(collective.kind) ? from.combiner : Combiner::Sum;
  collective.inputBytes = localShape(shape, from, mesh).bytes();
  collective.outputBytes = localShape(shape, collective.result, mesh).bytes();
  collective.wholeBytes = shape.bytes();
  return collective;
}

} // namespace apc
