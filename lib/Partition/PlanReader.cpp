// Plans looked up by op and value.
#include "PlanReader.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/SmallVectorExtras.h"

namespace apc {

namespace {

std::string moveKey(llvm::StringRef value, llvm::StringRef target, llvm::StringRef user) {
  return (value + "\n" + target + "\n" + user).str();
}

/// The error of something that `plan` says, with the place in front.
llvm::Error at(const llvm::Twine &place, llvm::Error error) {
  auto [fault, text] = takeMessage(std::move(error));
  return inputError("{0}: {1}", place.str(), text);
}

} // namespace

llvm::Expected<Mesh> meshOfPlan(const Plan &plan) { return plan.stages.front().mesh.bind(plan.request.devices); }

PlanReader::PlanReader(const StagePlan &stage, const Mesh &mesh) : stage(stage), mesh(mesh) {
  for (const PlanChoice &choice : stage.choices)
    choices[choice.op] = &choice;
  for (const PlanSharding &sharding : stage.shardings)
    shardings[sharding.value] = &sharding;
  for (const PlanMove &move : stage.moves)
    if (!move.before.empty())
      early[move.before].push_back(&move);
  for (const PlanMove &move : stage.moves)
    for (const std::string &value : move.values)
      for (const std::string &user : move.users)
        moves[moveKey(value, move.target.str(), user)] = &move;
  for (const PlanBucket &bucket : stage.buckets)
    for (unsigned move : bucket.moves)
      buckets[&stage.moves[move]] = &bucket;
}

llvm::SmallVector<const PlanMove *> PlanReader::movesOf(const PlanBucket &bucket) const {
  return llvm::map_to_vector(bucket.moves, [&](unsigned move) { return &stage.moves[move]; });
}

std::string PlanReader::placeOf(const PlanBucket &bucket) const {
  return llvm::formatv("plan: buckets[{0}]", &bucket - stage.buckets.data()).str();
}

llvm::Expected<Strategy> PlanReader::strategyOf(llvm::StringRef op, const FactorRule &rule) const {
  auto found = choices.find(op);
  if (found == choices.end())
    return inputError("plan: no choice for op '{0}'; the plan was made for another model", op);
  llvm::Expected<Strategy> strategy = found->second->strategy.bind(rule, mesh);
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
  llvm::Expected<Sharding> sharding = entry.sharding.bind(mesh);
  if (!sharding)
    return at("plan: value '" + value + "'", sharding.takeError());
  if (llvm::Error error = check(*sharding, shape, mesh))
    return at("plan: value '" + value + "'", std::move(error));
  return sharding;
}

const PlanMove *PlanReader::moveOf(llvm::StringRef value, llvm::StringRef target, llvm::StringRef user) const {
  return moves.lookup(moveKey(value, target, user));
}

llvm::ArrayRef<const PlanMove *> PlanReader::movesBefore(llvm::StringRef op) const {
  auto found = early.find(op);
  return found == early.end() ? llvm::ArrayRef<const PlanMove *>() : llvm::ArrayRef(found->second);
}

llvm::Expected<std::vector<Collective>> PlanReader::collectivesOf(const PlanMove &move, const TensorShape &shape,
                                                                  const Sharding &from) const {
  std::string place = "plan: value '" + move.values.front() + "'";
  llvm::Expected<Sharding> target = move.target.bind(mesh);
  if (!target)
    return at(place, target.takeError());
  std::vector<Collective> collectives;
  Sharding current = from;
  for (const std::string &text : move.collectives) {
    llvm::Expected<Collective> collective = Collective::parse(text, current, shape, mesh);
    if (!collective)
      return at(place, collective.takeError());
    current = collective->result;
    collectives.push_back(std::move(*collective));
  }
  if (!(current == *target))
    return inputError("plan: the collectives of value '{0}' lead to {1}, not to {2}", move.values.front(),
                      current.str(mesh), target->str(mesh));
  return collectives;
}

} // namespace apc
