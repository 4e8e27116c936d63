// The collectives of a program by kind and by the levels that they cross.
#include "DescribePlan.h"

#include "apc/Cost/CostModel.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <set>

namespace apc {

namespace {

/// "node + device".
std::string levelsText(const Collective &collective, const Mesh &mesh, const Pool &pool) {
  std::set<unsigned> levels;
  for (AxisId axis : collective.axes)
    levels.insert(mesh.axis(axis).level);
  std::string text;
  for (unsigned level : levels)
    text += (text.empty() ? "" : " + ") + pool.levels[level].name;
  return text;
}

/// Bytes that come from other devices. An all-reduce is a reduce-scatter and an all-gather.
int64_t receivedBytes(const Collective &collective, const Mesh &mesh) {
  double ways = static_cast<double>(mesh.size(collective.axes)), others = (ways - 1) / ways;
  double in = static_cast<double>(collective.inputBytes), out = static_cast<double>(collective.outputBytes);
  switch (collective.kind) {
  case CollectiveKind::AllGather:
    return std::llround(out * others);
  case CollectiveKind::ReduceScatter:
  case CollectiveKind::AllToAll:
    return std::llround(in * others);
  case CollectiveKind::AllReduce:
    return std::llround(2 * in * others);
  case CollectiveKind::Permute:
    return collective.outputBytes;
  case CollectiveKind::Slice:
    return 0;
  }
  llvm_unreachable("every kind of collective is counted");
}

} // namespace

std::vector<PlanCollectives> describeCollectives(const Pool &pool, const Candidate &candidate) {
  CostModel costs(pool, candidate.mesh);
  std::vector<PlanCollectives> sums;
  forEachCollective(candidate.cost, [&](const Collective &collective, int64_t repeats) {
    llvm::StringRef name = collectiveName(collective.kind);
    std::string levels = levelsText(collective, candidate.mesh, pool);
    auto sum = llvm::find_if(
        sums, [&](const PlanCollectives &known) { return known.collective == name && known.levels == levels; });
    if (sum == sums.end())
      sum = sums.insert(sums.end(), {name.str(), levels});
    int64_t exchanges = repeats * numExchanges(collective);
    sum->count += exchanges;
    sum->seconds += static_cast<double>(repeats) * costs.collectiveSeconds(collective);
    sum->receivedBytes += exchanges * receivedBytes(collective, candidate.mesh);
  });
  llvm::stable_sort(sums, [](const PlanCollectives &a, const PlanCollectives &b) { return a.seconds > b.seconds; });
  return sums;
}

} // namespace apc
