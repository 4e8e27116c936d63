// Placements of PyTorch's DTensor, as Python.
#include "../BoundOps.h"
#include "../PythonText.h"
#include "../Targets.h"
#include "Placements.h"
#include "ValueRules.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace apc {

std::vector<ValuePlacement> placementsOf(const PlanMesh &mesh, const NamedSharding &sharding) {
  std::vector<ValuePlacement> placements;
  for (const PlanAxis &axis : mesh.axes) {
    ValuePlacement placement;
    for (auto [dim, axes] : llvm::enumerate(sharding.dims))
      if (llvm::is_contained(axes, axis.name))
        placement.dim = static_cast<int64_t>(dim);
    if (llvm::is_contained(sharding.partial, axis.name))
      placement.partial = sharding.combiner;
    placements.push_back(placement);
  }
  return placements;
}

void addPlacementReasons(const PlanMesh &mesh, const PlanSharding &sharding, GroupedReasons &reasons) {
  auto indexOf = [&](const std::string &name) {
    return llvm::find_if(mesh.axes, [&](const PlanAxis &axis) { return axis.name == name; }) - mesh.axes.begin();
  };
  for (auto [dim, axes] : llvm::enumerate(sharding.sharding.dims))
    if (!llvm::is_sorted(axes, [&](const std::string &a, const std::string &b) { return indexOf(a) < indexOf(b); }))
      reasons.add(sharding.value, llvm::formatv("dim {0} is cut over axes in another order than the mesh's: placements "
                                                "follow the mesh",
                                                dim));
  if (llvm::any_of(sharding.sharding.parts, [](const auto &parts) { return !parts.empty(); }))
    reasons.add(sharding.value, "a dim is cut inside of its parts: Shard cuts a dim as one run");
}

/// "[Replicate(), Shard(0)]".
static std::string textOf(llvm::ArrayRef<ValuePlacement> placements) {
  std::string text;
  for (const ValuePlacement &placement : placements) {
    text += text.empty() ? "" : ", ";
    if (placement.dim)
      text += "Shard(" + std::to_string(*placement.dim) + ")";
    else if (placement.partial)
      text += "Partial(" + pythonText(combinerName(*placement.partial)) + ")";
    else
      text += "Replicate()";
  }
  return "[" + text + "]";
}

llvm::Expected<Exported> writeDTensor(const ExportSource &source, const ParallelDegrees &) {
  GroupedReasons reasons;
  ValueRules rules = valueRules(source, [&](const StagePlan &stage, const PlanSharding &sharding) {
    addPlacementReasons(stage.mesh, sharding, reasons);
    return textOf(placementsOf(stage.mesh, sharding.sharding));
  });
  std::string text =
      "\"\"\"The placements of a plan of apc, for PyTorch's DTensor: for each value the first rule of its mesh whose "
      "expression "
      "matches all of its name.\"\"\"\n\nfrom torch.distributed.tensor import Partial, Replicate, Shard\n\n" +
      pythonRules(source, rules, "DeviceMesh's dims");
  return exportedRules(source, "dtensor_placements.py", std::move(text), "placements", reasons.take());
}

} // namespace apc
