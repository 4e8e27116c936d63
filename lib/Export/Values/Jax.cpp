// Meshes and PartitionSpecs of JAX, as Python.
#include "../BoundOps.h"
#include "../PythonText.h"
#include "../Targets.h"
#include "ValueRules.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace apc {

namespace {

/// "P(None, ("node", "device"))": for each dim its axes, major first; sums as `unreduced`.
std::string specOf(const NamedSharding &sharding) {
  std::string text = "P(";
  for (const AxisNames &axes : sharding.dims) {
    std::string entry = axes.empty() ? "None" : pythonText(axes.front());
    if (axes.size() > 1) {
      std::string list = pythonList(axes);
      entry = "(" + list.substr(1, list.size() - 2) + ")";
    }
    text += (text.back() == '(' ? "" : ", ") + entry;
  }
  if (sharding.partial.empty())
    return text + ")";
  std::string axes = pythonList(sharding.partial);
  return text + (text.back() == '(' ? "" : ", ") + "unreduced={" + axes.substr(1, axes.size() - 2) + "})";
}

void addReasons(const StagePlan &stage, const PlanSharding &sharding, GroupedReasons &reasons) {
  auto sizeOf = [&](const AxisNames &axes) {
    int64_t size = 1;
    for (const std::string &name : axes)
      for (const PlanAxis &axis : stage.mesh.axes)
        size *= axis.name == name ? axis.size : 1;
    return size;
  };
  for (auto [dim, axes] : llvm::enumerate(sharding.sharding.dims))
    if (sharding.shape[dim] % sizeOf(axes) != 0)
      reasons.add(sharding.value,
                  llvm::formatv("dim {0} of {1} is cut {2} ways, which does not divide it: JAX's shardings "
                                "have to divide",
                                dim, sharding.shape[dim], sizeOf(axes)));
  if (llvm::any_of(sharding.sharding.parts, [](const auto &parts) { return !parts.empty(); }))
    reasons.add(sharding.value, "a dim is cut inside of its parts: a PartitionSpec cuts a dim as one run");
  if (!sharding.sharding.partial.empty() && sharding.sharding.combiner != Combiner::Sum)
    reasons.add(sharding.value,
                "it is in parts of a " + combinerName(sharding.sharding.combiner) + ": `unreduced` means sums");
}

} // namespace

llvm::Expected<Exported> writeJax(const ExportSource &source, const ParallelDegrees &) {
  GroupedReasons reasons;
  ValueRules rules = valueRules(source, [&](const StagePlan &stage, const PlanSharding &sharding) {
    addReasons(stage, sharding, reasons);
    return specOf(sharding.sharding);
  });
  std::string text = "\"\"\"The shardings of a plan of apc, for JAX: for each value the first rule of its mesh whose "
                     "expression matches all of "
                     "its name.\"\"\"\n\nfrom jax.sharding import PartitionSpec as P\n\n" +
                     pythonRules(source, rules, "mesh's axes");
  return exportedRules(source, "jax_shardings.py", std::move(text), "shardings", reasons.take());
}

} // namespace apc
