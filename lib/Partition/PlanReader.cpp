// Plans looked up by op and value.
#include "PlanReader.h"

#include "apc/Support/Error.h"

namespace apc {

namespace {

std::string moveKey(llvm::StringRef value, llvm::StringRef target) { return (value + "\n" + target).str(); }

/// The error of something that `plan` says, with the place in front.
llvm::Error at(const llvm::Twine &place, llvm::Error error) {
  auto [fault, text] = takeMessage(std::move(error));
  return inputError("{0}: {1}", place.str(), text);
}

} // namespace

llvm::Expected<Mesh> meshOfPlan(const Plan &plan) {
  std::vector<MeshAxis> axes;
  int64_t devices = 1;
  for (const PlanAxis &axis : plan.mesh) {
    bool taken = llvm::any_of(axes, [&](const MeshAxis &known) { return known.name == axis.name; });
    if (axis.size < 1 || axis.size > plan.devices || axis.name.empty() || taken)
      return inputError("plan: mesh axis '{0}' of size {1}: names must differ, sizes lie in [1, {2}]", axis.name,
                        axis.size, plan.devices);
    axes.push_back({axis.name, axis.size, axis.levelIndex});
    devices *= axis.size;
  }
  if (devices > plan.devices)
    return inputError("plan: the mesh has {0} devices, the plan {1}", devices, plan.devices);
  return Mesh(std::move(axes));
}

PlanReader::PlanReader(const Plan &plan, const Mesh &mesh) : plan(plan), mesh(mesh) {
  for (const PlanChoice &choice : plan.choices)
    choices[choice.op] = &choice;
  for (const PlanSharding &sharding : plan.shardings)
    shardings[sharding.value] = &sharding;
  for (const PlanMove &move : plan.moves)
    moves[moveKey(move.value, move.target)] = &move;
}

llvm::Expected<Strategy> PlanReader::strategyOf(llvm::StringRef op, const FactorRule &rule) const {
  auto found = choices.find(op);
  if (found == choices.end())
    return inputError("plan: no choice for op '{0}'; the plan was made for another model", op);
  llvm::Expected<Strategy> strategy = Strategy::parse(found->second->strategy, rule, mesh);
  if (!strategy)
    return at("plan: op '" + op + "'", strategy.takeError());
  return strategy;
}

llvm::Expected<Sharding> PlanReader::shardingOf(llvm::StringRef value, const TensorShape &shape) const {
  auto found = shardings.find(value);
  if (found == shardings.end())
    return inputError("plan: no sharding for value '{0}'; the plan was made for another model", value);
  const PlanSharding &entry = *found->second;
  if (llvm::ArrayRef(entry.shape) != llvm::ArrayRef<int64_t>(shape.dims))
    return inputError("plan: value '{0}' has another shape in the model; the plan was made for other dims", value);
  Sharding sharding = Sharding::replicated(shape.numDims());
  for (auto [dim, names] : llvm::enumerate(entry.dims))
    for (const std::string &name : names) {
      auto axis = llvm::find_if(mesh.getAxes(), [&](const MeshAxis &known) { return known.name == name; });
      if (axis == mesh.getAxes().end())
        return inputError("plan: value '{0}': the mesh {1} has no axis '{2}'", value, mesh.str(), name);
      sharding.dims[dim].push_back(AxisId(axis - mesh.getAxes().begin()));
    }
  if (llvm::Error error = check(sharding, shape, mesh))
    return at("plan: value '" + value + "'", std::move(error));
  return sharding;
}

llvm::Expected<std::vector<Step>> PlanReader::stepsOf(llvm::StringRef value, llvm::StringRef user,
                                                      const TensorShape &shape, const Sharding &from,
                                                      const Sharding &to) const {
  auto found = moves.find(moveKey(value, to.str(mesh)));
  if (found == moves.end())
    return inputError("plan: op '{0}' needs value '{1}' as {2}, but it is {3} and no move of the plan takes it there",
                      user, value, to.str(mesh), from.str(mesh));
  std::vector<Step> steps;
  Sharding current = from;
  for (const std::string &text : found->second->steps) {
    llvm::Expected<Step> step = Step::parse(text, current, shape, mesh);
    if (!step)
      return at("plan: value '" + value + "'", step.takeError());
    current = step->result;
    steps.push_back(std::move(*step));
  }
  if (!(current == to))
    return inputError("plan: the steps of value '{0}' lead to {1}, not to {2}", value, current.str(mesh), to.str(mesh));
  return steps;
}

} // namespace apc
