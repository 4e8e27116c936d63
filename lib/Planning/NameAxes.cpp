// Names axes by their levels, and counts the devices of those that are used.
#include "NameAxes.h"

#include "apc/Cluster/LevelWord.h"
#include "apc/Plan/Plan.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

namespace apc {

namespace {

/// "a", ..., "z", "a1", ...
std::string letterOf(unsigned index) {
  constexpr unsigned letters = 26;
  std::string letter(1, static_cast<char>('a' + index % letters));
  return index < letters ? letter : letter + std::to_string(index / letters);
}

/// By op: it reads something, or makes what an op reads. How a source without users is cut says nothing.
std::vector<bool> opsAtWork(const OpGraph &graph) {
  std::vector<bool> areAtWork(graph.ops.size());
  for (auto [index, op] : llvm::enumerate(graph.ops)) {
    areAtWork[index] = !op.operands.empty();
    for (std::optional<ValueId> operand : op.operands)
      if (operand)
        areAtWork[graph.value(*operand).producer.index()] = true;
  }
  return areAtWork;
}

/// Is some op at work cut over the axis? A source may be the only one: an input that arrives in pieces.
bool isUsed(const std::vector<bool> &areAtWork, const Candidate &candidate, AxisId axis) {
  for (auto [index, strategy] : llvm::enumerate(candidate.strategies))
    if (areAtWork[index] &&
        llvm::any_of(strategy.axes, [&](const AxisList &axes) { return llvm::is_contained(axes, axis); }))
      return true;
  return false;
}

} // namespace

Mesh withAxesNamed(const Mesh &mesh, const Pool &pool) {
  std::vector<MeshAxis> axes(mesh.getAxes());
  std::map<std::string, unsigned> counts, used;
  for (const MeshAxis &axis : axes)
    ++counts[levelWord(pool.levels[axis.level].name)];
  for (MeshAxis &axis : axes) {
    axis.name = levelWord(pool.levels[axis.level].name);
    if (counts[axis.name] > 1)
      axis.name += "." + letterOf(used[axis.name]++);
  }
  return Mesh(std::move(axes));
}

int64_t devicesUsed(const OpGraph &graph, const Candidate &candidate) {
  const std::vector<bool> areAtWork = opsAtWork(graph);
  int64_t devices = 1;
  for (auto [index, axis] : llvm::enumerate(candidate.mesh.getAxes()))
    if (isUsed(areAtWork, candidate, AxisId(index)))
      devices *= axis.size;
  return devices;
}

} // namespace apc
