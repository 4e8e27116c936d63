// Strategies and moves of a plan, read against its graph.
#include "StatedStrategies.h"

#include "apc/Plan/Statement.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

namespace apc {

namespace {

/// A failed check of what stands at `place`.
llvm::Error failedAt(const llvm::Twine &place, llvm::Error error) {
  return noPlanError("{0}: {1}", place.str(), takeMessage(std::move(error)).second);
}

/// A list of names, told apart at the first that differs.
llvm::Error expectSameNames(llvm::StringRef list, llvm::ArrayRef<std::string> stated,
                            llvm::ArrayRef<std::string> truth) {
  for (auto [index, name] : llvm::enumerate(truth)) {
    std::string place = (list + "[" + llvm::Twine(index) + "]").str();
    if (index >= stated.size())
      return noPlanError("{0} is missing, the model has '{1}'", place, name);
    if (stated[index] != name)
      return noPlanError("{0} is of '{1}', the model has '{2}' there", place, stated[index], name);
  }
  if (stated.size() > truth.size())
    return noPlanError("{0}[{1}] is of '{2}', the model has no more", list, truth.size(), stated[truth.size()]);
  return llvm::Error::success();
}

/// An input or parameter: a factor for each dim, cut as the value is.
llvm::Expected<Strategy> sourceStrategy(const FactorRule &rule, const PlanSharding &stated, const Mesh &mesh) {
  std::string place = "sharding of value '" + stated.value + "'";
  if (stated.sharding.dims.size() != rule.factors.size() || !stated.sharding.partial.empty())
    return noPlanError("{0} is {1}, the model has {2} dims there, and none is partial", place, stated.sharding.str(),
                       rule.factors.size());
  llvm::Expected<Sharding> sharding = stated.sharding.bind(mesh);
  if (!sharding)
    return failedAt(place, sharding.takeError());
  Strategy strategy;
  strategy.axes.assign(sharding->dims.begin(), sharding->dims.end());
  strategy.partialInputs.resize(rule.linear.size());
  if (llvm::Error error = check(rule, strategy, mesh))
    return failedAt(place, std::move(error));
  return strategy;
}

std::string placeOf(const PlanMove &move) {
  return "move of value '" + llvm::join(move.values, "', '") + "' to " + move.target.str();
}

class MoveReader {
public:
  MoveReader(const OpGraph &graph, llvm::ArrayRef<Strategy> strategies, const StagePlan &stage, const Mesh &mesh)
      : graph(graph), strategies(strategies), stage(stage), mesh(mesh) {
    for (auto [index, value] : llvm::enumerate(graph.values))
      values[value.name] = ValueId(index);
  }

  llvm::Expected<std::vector<GraphMove>> run() {
    for (const PlanMove &stated : stage.moves)
      if (llvm::Error error = read(stated))
        return error;
    for (size_t op = 0; op < graph.ops.size(); ++op)
      if (llvm::Error error = addUses(OpId(op)))
        return error;
    for (auto [move, stated] : llvm::zip_equal(moves, stage.moves)) {
      const std::vector<std::string> users = namesOfUsers(graph, move.users);
      if (llvm::Error error = expectSame(placeOf(stated) + ": users", stated.users, users, "the program has"))
        return error;
    }
    return std::move(moves);
  }

private:
  Sharding produced(ValueId id) const {
    const GraphValue &value = graph.value(id);
    return resultSharding(graph.ruleOf(value.producer), strategies[value.producer.index()], value.resultIndex);
  }

  llvm::Error read(const PlanMove &stated);
  llvm::Error addUses(OpId op);
  /// The move that ends as `wanted` for `op`; none: the producer's piece.
  std::optional<size_t> find(ValueId value, const Sharding &wanted, llvm::StringRef op) const;

  const OpGraph &graph;
  llvm::ArrayRef<Strategy> strategies;
  const StagePlan &stage;
  const Mesh &mesh;
  llvm::StringMap<ValueId> values;
  std::vector<GraphMove> moves;
};

llvm::Error MoveReader::read(const PlanMove &stated) {
  GraphMove move;
  for (const std::string &name : stated.values) {
    auto known = values.find(name);
    if (known == values.end())
      return noPlanError("{0}: the model has no value '{1}'", placeOf(stated), name);
    if (llvm::is_contained(move.values, known->second))
      return noPlanError("{0}: the value stands twice among those that move together", placeOf(stated));
    move.values.push_back(known->second);
  }
  if (move.values.empty())
    return noPlanError("{0}: values is [], a move has one at least", placeOf(stated));
  Sharding current = produced(move.values.front());
  for (size_t before = 0; before < moves.size() && !stated.source.empty(); ++before)
    if (stage.moves[before].target.str() == stated.source && moves[before].values == move.values)
      move.source = before;
  if (!stated.source.empty() && !move.source)
    return noPlanError("{0}: source is '{1}', to which no move before takes the value", placeOf(stated), stated.source);
  if (move.source)
    current = moves[*move.source].target;
  for (const std::string &text : stated.collectives) {
    auto collective = Collective::parse(text, current, graph.value(move.values.front()).shape, mesh);
    if (!collective)
      return failedAt(placeOf(stated), collective.takeError());
    current = collective->result;
    move.redistribution.collectives.push_back(std::move(*collective));
  }
  llvm::Expected<Sharding> target = stated.target.bind(mesh);
  if (!target)
    return failedAt(placeOf(stated), target.takeError());
  move.target = current;
  move.redistribution.seconds = stated.seconds;
  moves.push_back(std::move(move));
  return expectSame(placeOf(stated) + ": target", target->str(mesh), current.str(mesh), "its collectives lead to");
}

std::optional<size_t> MoveReader::find(ValueId value, const Sharding &wanted, llvm::StringRef op) const {
  for (auto [index, move] : llvm::enumerate(moves))
    if (move.target == wanted && llvm::is_contained(move.values, value) &&
        llvm::is_contained(stage.moves[index].users, op))
      return index;
  return std::nullopt;
}

llvm::Error MoveReader::addUses(OpId op) {
  const std::string &name = graph.op(op).name;
  for (auto [index, value] : llvm::enumerate(graph.op(op).operands)) {
    auto operand = static_cast<unsigned>(index);
    if (!value)
      continue;
    Sharding wanted = operandSharding(graph.ruleOf(op), strategies[op.index()], operand);
    std::optional<size_t> move = find(*value, wanted, name);
    if (!move && !(wanted == produced(*value)))
      return noPlanError("op '{0}' needs value '{1}' as {2}, but it is {3} and no move of the plan takes it there",
                         name, graph.value(*value).name, wanted.str(mesh), produced(*value).str(mesh));
    for (; move; move = moves[*move].source) {
      moves[*move].users.push_back({op, operand});
      moves[*move].repeats = std::max(moves[*move].repeats, graph.op(op).repeats);
    }
  }
  return llvm::Error::success();
}

} // namespace

std::vector<std::string> namesOfUsers(const OpGraph &graph, llvm::ArrayRef<OpGraph::Use> uses) {
  std::vector<std::string> users;
  for (OpGraph::Use use : uses)
    if (const std::string &user = graph.op(use.op).name; users.empty() || users.back() != user)
      users.push_back(user);
  return users;
}

llvm::Expected<std::vector<Strategy>> statedStrategies(const OpGraph &graph, const StagePlan &stage, const Mesh &mesh) {
  std::vector<std::string> ops, stated, values, statedValues;
  for (const GraphOp &op : graph.ops)
    if (!op.operands.empty())
      ops.push_back(op.name);
  for (const PlanChoice &choice : stage.choices)
    stated.push_back(choice.op);
  for (const GraphValue &value : graph.values)
    values.push_back(value.name);
  for (const PlanSharding &sharding : stage.shardings)
    statedValues.push_back(sharding.value);
  if (llvm::Error error = expectSameNames("choices", stated, ops))
    return error;
  if (llvm::Error error = expectSameNames("shardings", statedValues, values))
    return error;
  std::vector<Strategy> strategies;
  const PlanChoice *choice = stage.choices.data();
  for (const GraphOp &op : graph.ops) {
    const FactorRule &rule = graph.rules[op.rule.index()];
    llvm::Expected<Strategy> strategy = op.operands.empty()
                                            ? sourceStrategy(rule, stage.shardings[op.results[0]->index()], mesh)
                                            : choice->strategy.bind(rule, mesh);
    if (!strategy)
      return failedAt("plan: op '" + op.name + "'", strategy.takeError());
    if (!op.operands.empty())
      ++choice;
    strategies.push_back(std::move(*strategy));
  }
  return strategies;
}

llvm::Expected<std::vector<GraphMove>> statedMoves(const OpGraph &graph, llvm::ArrayRef<Strategy> strategies,
                                                   const StagePlan &stage, const Mesh &mesh) {
  return MoveReader(graph, strategies, stage, mesh).run();
}

llvm::Expected<std::vector<MoveBucket>> statedBuckets(const OpGraph &graph, const StagePlan &stage,
                                                      llvm::MutableArrayRef<GraphMove> moves) {
  std::vector<MoveBucket> buckets;
  for (auto [index, stated] : llvm::enumerate(stage.buckets)) {
    MoveBucket bucket{{stated.moves.begin(), stated.moves.end()}, {}, stated.seconds, stated.limitBytes};
    for (size_t move : bucket.moves) {
      moves[move].bucket = index;
      if (moves[move].source || moves[move].repeats != moves[bucket.moves.front()].repeats)
        return noPlanError("buckets[{0}]: the move of value '{1}' starts from another copy, or runs more or less often "
                           "than others of the bucket",
                           index, graph.value(moves[move].values.front()).name);
    }
    std::optional<std::vector<Collective>> merged = mergedCollectives(moves, bucket.moves);
    if (!merged)
      return noPlanError(
          "buckets[{0}]: the collectives of value '{1}' and of others are not of the same kinds over the "
          "same ranks",
          index, graph.value(moves[bucket.moves.front()].values.front()).name);
    bucket.collectives = std::move(*merged);
    buckets.push_back(std::move(bucket));
  }
  if (programOrder(graph, moves, buckets).size() != graph.ops.size())
    return noPlanError("buckets: an op that makes a value of a bucket waits for that bucket");
  return buckets;
}

namespace {

/// Puts moves where a stage says.
class MovePlaces {
public:
  MovePlaces(const OpGraph &graph, llvm::MutableArrayRef<GraphMove> moves, llvm::ArrayRef<MoveBucket> buckets)
      : graph(graph), moves(moves), program(graph, moves, buckets), first(firstUsers(program, moves, buckets)) {
    for (auto [index, op] : llvm::enumerate(graph.ops))
      if (!op.operands.empty()) // sources are there from the start
        ops[op.name] = OpId(index);
  }

  /// Behind what the move reads, and no later than its first user.
  llvm::Error place(size_t index, const PlanMove &stated) {
    GraphMove &move = moves[index];
    move.before = first[index];
    if (stated.before.empty())
      return llvm::Error::success();
    auto found = ops.find(stated.before);
    if (found == ops.end())
      return noPlanError("{0}: the model has no op '{1}' to stand before", placeOf(stated), stated.before);
    size_t earliest = move.source ? program.at(moves[*move.source].before) : 0;
    for (ValueId value : move.values)
      earliest = std::max(earliest, program.at(graph.value(value).producer) + 1);
    if (size_t own = program.at(found->second); own < earliest || program.at(first[index]) < own)
      return noPlanError(
          "{0}: before is '{1}', which does not stand between what the move reads and its first user '{2}'",
          placeOf(stated), stated.before, graph.op(first[index]).name);
    move.before = found->second;
    return llvm::Error::success();
  }

private:
  const OpGraph &graph;
  llvm::MutableArrayRef<GraphMove> moves;
  ProgramPlaces program;
  std::vector<OpId> first; ///< by move: the place where none is stated
  llvm::StringMap<OpId> ops;
};

} // namespace

llvm::Error placeAsStated(const OpGraph &graph, const StagePlan &stage, llvm::MutableArrayRef<GraphMove> moves,
                          llvm::ArrayRef<MoveBucket> buckets) {
  MovePlaces places(graph, moves, buckets);
  for (auto [index, stated] : llvm::enumerate(stage.moves))
    if (llvm::Error error = places.place(index, stated))
      return error;
  for (auto [index, bucket] : llvm::enumerate(buckets))
    for (size_t move : bucket.moves)
      if (moves[move].before != moves[bucket.moves.front()].before)
        return noPlanError("buckets[{0}]: the move of value '{1}' stands in front of another op than the first of the "
                           "bucket",
                           index, graph.value(moves[move].values.front()).name);
  return llvm::Error::success();
}

} // namespace apc
