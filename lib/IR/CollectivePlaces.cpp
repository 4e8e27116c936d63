// Dims and parts of collectives, read off the shardings before and after.
#include "apc/IR/CollectivePlaces.h"

namespace apc {

unsigned dimWithMore(const Sharding &longer, const Sharding &shorter) {
  for (unsigned dim = 0; dim < longer.numDims(); ++dim)
    if (longer.dims[dim].size() > shorter.dims[dim].size())
      return dim;
  return 0;
}

llvm::SmallVector<int64_t, 4> partsBetween(const CoalescedCollective::Value &value, Sharding held, const Sharding &cut,
                                           unsigned dim, const Mesh &mesh) {
  if (cut.partsOf(dim).empty())
    return {localSize(value.dims[dim], held.dims[dim], mesh)};
  setParts(held.parted, dim, cut.partsOf(dim));
  return localParts(value.dims[dim], held, dim, mesh);
}

CollectivePlace joinedPlace(const CoalescedCollective::Value &value, const Mesh &mesh) {
  unsigned dim = dimWithMore(value.from, value.to);
  return {dim, partsBetween(value, value.to, value.from, dim, mesh)};
}

CollectivePlace cutPlace(const CoalescedCollective::Value &value, const Mesh &mesh) {
  unsigned dim = dimWithMore(value.to, value.from);
  return {dim, partsBetween(value, value.from, value.to, dim, mesh)};
}

llvm::SmallVector<int64_t> permuteTargets(const CoalescedCollective &collective,
                                          const CoalescedCollective::Value &value, const Mesh &mesh) {
  llvm::SmallVector<int64_t> to;
  std::vector<int64_t> members = mesh.group(0, collective.axes);
  for (const PermutePeers &peers : permutePeers(collective.axes, value.from, value.to, mesh, 0))
    to.push_back(llvm::find(members, peers.sendTo) - members.begin());
  return to;
}

} // namespace apc
