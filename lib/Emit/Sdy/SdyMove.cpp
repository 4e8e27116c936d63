// Collectives as ops of Shardy on whole tensors.
#include "SdyMove.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace apc {

namespace {

/// The axes of a collective for each dim: `[{}, {"device"}]`, those that `longer` has behind those of `shorter`.
std::string movedAxes(const Sharding &longer, const Sharding &shorter, const Mesh &mesh) {
  std::string text;
  for (auto [more, less] : llvm::zip_equal(longer.dims, shorter.dims)) {
    llvm::ArrayRef<AxisId> all = more;
    text += (text.empty() ? "" : ", ") + sdyAxes(all.drop_front(std::min(less.size(), all.size())), mesh);
  }
  return "[" + text + "]";
}

/// Summands that are no sums are gathered, or spread over a dim, by the dim that they have in front.
SdyMove summandsMoved(const CoalescedCollective::Value &value, const Mesh &mesh) {
  SdyMove move{"", sdyHeld(value.from), true};
  AxisList settled(value.from.partial), &front = move.after.dims.front();
  llvm::erase_if(settled, [&](AxisId axis) { return llvm::is_contained(value.to.partial, axis); });
  if (llvm::ArrayRef(front).take_back(settled.size()) != llvm::ArrayRef(settled))
    return move; // not the innermost ones
  front.truncate(front.size() - settled.size());
  for (auto [dim, axes] : llvm::enumerate(value.to.dims)) {
    llvm::ArrayRef<AxisId> added = llvm::ArrayRef(axes).drop_front(value.from.dims[dim].size());
    if (added.empty())
      continue;
    if (added != llvm::ArrayRef(settled))
      return move;
    move.after.dims[dim + 1] = axes;
    move.text = llvm::formatv("sdy.all_to_all [{0}: 0->{1}]", sdyAxes(settled, mesh), dim + 1);
  }
  if (move.text.empty())
    move.text = "sdy.all_gather " + movedAxes(sdyHeld(value.from), move.after, mesh);
  return move;
}

} // namespace

SdyMove sdyMove(CollectiveKind kind, const CoalescedCollective::Value &value, const Mesh &mesh) {
  Sharding from = sdyHeld(value.from), to = sdyHeld(value.to);
  if (hasDimOfSummands(value.from) && value.from.partial != value.to.partial)
    return summandsMoved(value, mesh);
  switch (kind) {
  case CollectiveKind::AllGather:
    return {"sdy.all_gather " + movedAxes(from, to, mesh), to};
  case CollectiveKind::Slice:
    return {"sdy.all_slice " + movedAxes(to, from, mesh), to};
  case CollectiveKind::ReduceScatter:
    return {"sdy.reduce_scatter " + movedAxes(to, from, mesh), to};
  case CollectiveKind::AllReduce: {
    AxisList settled(value.from.partial);
    llvm::erase_if(settled, [&](AxisId axis) { return llvm::is_contained(value.to.partial, axis); });
    return {"sdy.all_reduce " + sdyAxes(settled, mesh), to};
  }
  case CollectiveKind::AllToAll: {
    unsigned source = dimWithMore(from, to), target = dimWithMore(to, from);
    llvm::ArrayRef<AxisId> moved = llvm::ArrayRef(from.dims[source]).drop_front(to.dims[source].size());
    return {llvm::formatv("sdy.all_to_all [{0}: {1}->{2}]", sdyAxes(moved, mesh), source, target), to};
  }
  case CollectiveKind::Permute:
    return {"sdy.collective_permute", to};
  }
  llvm_unreachable("no other kinds");
}

std::string sdyPartsRefusal(const Sharding &from, const Sharding &to) {
  PartedDims all = from.parted;
  for (const PartedDim &parted : to.parted)
    if (from.partsOf(parted.dim).empty())
      all.push_back(parted);
    else if (from.partsOf(parted.dim) != llvm::ArrayRef(parted.sizes))
      return llvm::formatv("a move between different parts of dim {0}", parted.dim);
  for (const PartedDim &parted : all)
    for (const Sharding *side : {&from, &to})
      if (side->partsOf(parted.dim).empty() && !side->dims[parted.dim].empty())
        return llvm::formatv("a move between parts and one run of dim {0}", parted.dim);
  return all.size() > 1 && from.parted != to.parted ? "a move between parts of two dims" : "";
}

} // namespace apc
