// The redistributions of one value: the way from its producer to each of its users.
#include "apc/Cost/GraphCost.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

namespace apc {

namespace {

/// A sharding that users want of a value, with the uses that want it, in order.
struct Wanted {
  Sharding sharding;
  std::vector<OpGraph::Use> users;

  /// An op that reads the value twice reads one copy.
  size_t numOps() const {
    size_t count = 0;
    for (size_t index = 0; index < users.size(); ++index)
      count += index == 0 || users[index].op != users[index - 1].op;
    return count;
  }
};

/// The shardings that the users of a value want, each once.
std::vector<Wanted> wantedBy(const OpGraph &graph, StrategyOf strategyOf, llvm::ArrayRef<OpGraph::Use> users) {
  std::vector<Wanted> wanted;
  for (OpGraph::Use use : users) {
    Sharding sharding = operandSharding(graph.ruleOf(use.op), strategyOf(use.op), use.operand);
    auto known = llvm::find_if(wanted, [&](const Wanted &want) { return want.sharding == sharding; });
    if (known == wanted.end())
      wanted.push_back({std::move(sharding), {use}});
    else
      known->users.push_back(use);
  }
  return wanted;
}

/// Chooses the hub of one value and lists its moves.
class ValueMoves {
public:
  ValueMoves(ValueId id, Sharding produced, std::vector<Wanted> wanted, int64_t repeats, size_t first,
             Redistributor &redistributor)
      : id(id), produced(std::move(produced)), wanted(std::move(wanted)), repeats(repeats), first(first),
        redistributor(redistributor) {}

  std::optional<std::vector<GraphMove>> run(const ValueHub *suggested) {
    if (!secondsBy(produced))
      return std::nullopt;
    const Sharding *given = suggested && suggested->target ? &*suggested->target : nullptr;
    const Sharding &hub = given && isUsed(*given) ? *given : cheapestHub();
    if (!(hub == produced))
      add(std::nullopt, produced, hub, {});
    for (const Wanted &want : wanted)
      if (isBrought(hub, want))
        bring(hub, want);
    if (!moves.empty() && !(hub == produced))
      llvm::sort(moves.front().users,
                 [](OpGraph::Use a, OpGraph::Use b) { return std::tie(a.op, a.operand) < std::tie(b.op, b.operand); });
    for (GraphMove &move : moves)
      move.before = move.users.front().op;
    return std::move(moves);
  }

private:
  /// Does a user continue from the hub? One that wants what is produced does, as a problem's edges have it, so that the
  /// piece need not live until then; where that takes no time it reads the piece itself.
  bool isBrought(const Sharding &hub, const Wanted &want) {
    return !(want.sharding == produced) || *redistributor.seconds(hub, produced) > 0;
  }
  bool isUsed(const Sharding &hub) {
    return secondsBy(hub) && llvm::any_of(wanted, [&](const Wanted &want) { return isBrought(hub, want); });
  }

  /// All redistributions together; none when one of them is impossible.
  std::optional<double> secondsBy(const Sharding &hub) {
    std::optional<double> sum = redistributor.seconds(produced, hub);
    for (const Wanted &want : wanted) {
      std::optional<double> seconds = redistributor.seconds(hub, want.sharding);
      sum = sum && seconds ? std::optional(*sum + static_cast<double>(want.numOps()) * *seconds) : std::nullopt;
    }
    return sum;
  }

  /// The sharding that is produced, unless another that users want is faster.
  const Sharding &cheapestHub() {
    const Sharding *best = &produced;
    double least = *secondsBy(produced);
    auto consider = [&](const Sharding &hub) {
      if (std::optional<double> seconds = secondsBy(hub); seconds && *seconds < least) {
        least = *seconds;
        best = &hub;
      }
    };
    // One user gains nothing from a hub on its way.
    if (wanted.size() > 1 || (!wanted.empty() && wanted.front().users.size() > 1))
      for (const Wanted &want : wanted)
        consider(want.sharding);
    return *best;
  }

  void add(std::optional<size_t> source, const Sharding &from, const Sharding &to, std::vector<OpGraph::Use> users) {
    moves.push_back({{id}, source, to, std::move(users), *redistributor.collectives(from, to), repeats});
    moves.back().redistribution.seconds *= static_cast<double>(repeats);
  }

  /// One move for all users where it takes no time, else one for each op.
  void addFor(std::optional<size_t> source, const Sharding &from, const Wanted &want) {
    size_t before = moves.size();
    for (OpGraph::Use use : want.users)
      if (moves.size() == before || (moves.back().redistribution.seconds > 0 && moves.back().users.back().op != use.op))
        add(source, from, want.sharding, {use});
      else
        moves.back().users.push_back(use);
  }

  /// From the hub, which lists the users of all moves that start there.
  void bring(const Sharding &hub, const Wanted &want) {
    bool isCopy = !(hub == produced);
    if (isCopy)
      llvm::append_range(moves.front().users, want.users);
    if (!(want.sharding == hub))
      addFor(isCopy ? std::optional(first) : std::nullopt, hub, want);
  }

  ValueId id;
  Sharding produced;
  std::vector<Wanted> wanted;
  int64_t repeats; ///< of all users
  size_t first;
  Redistributor &redistributor;
  std::vector<GraphMove> moves;
};

} // namespace

std::optional<std::vector<GraphMove>> movesOf(const OpGraph &graph, ValueId value, llvm::ArrayRef<OpGraph::Use> users,
                                              StrategyOf strategyOf, Redistributor &redistributor,
                                              const ValueHub *suggested, size_t first) {
  const GraphValue &known = graph.value(value);
  Sharding produced = resultSharding(graph.ruleOf(known.producer), strategyOf(known.producer), known.resultIndex);
  auto wantsProduced = [&](OpGraph::Use use) {
    return operandSharding(graph.ruleOf(use.op), strategyOf(use.op), use.operand) == produced;
  };
  const bool isOnWay = suggested && suggested->target && !(*suggested->target == produced);
  if (!isOnWay && llvm::all_of(users, wantsProduced))
    return std::vector<GraphMove>();
  // Users of every micro-batch share a hub; those that run once share one where there are no others.
  std::vector<OpGraph::Use> often;
  std::map<OpId, std::vector<OpGraph::Use>> once; // an op that reads the value twice reads one copy
  int64_t most = mostRepeats(graph, users);
  for (OpGraph::Use use : users)
    (graph.op(use.op).repeats == most ? often : once[use.op]).push_back(use);
  auto moves =
      ValueMoves(value, produced, wantedBy(graph, strategyOf, often), most, first, redistributor).run(suggested);
  for (const auto &[op, own] : once) {
    if (!moves)
      return std::nullopt;
    auto further = ValueMoves(value, produced, wantedBy(graph, strategyOf, own), graph.op(op).repeats,
                              first + moves->size(), redistributor)
                       .run(nullptr);
    if (!further)
      return std::nullopt;
    llvm::append_range(*moves, *further);
  }
  return moves;
}

std::optional<std::vector<GraphMove>> movesByPass(const OpGraph &graph, const PassUses &passes,
                                                  llvm::ArrayRef<OpGraph::Use> users, StrategyOf strategyOf,
                                                  Redistributor &redistributor, const ValueHub &suggested,
                                                  size_t first) {
  ValueHub kept{suggested.value, suggested.target};
  auto moves = movesOf(graph, suggested.value, users, strategyOf, redistributor, &kept, first);
  auto takesTime = [](const GraphMove &move) { return move.redistribution.seconds > 0; };
  if (!moves || !suggested.again || llvm::none_of(*moves, takesTime))
    return moves;
  PassUses::Split split = passes.split(users);
  moves = movesOf(graph, suggested.value, split.forward, strategyOf, redistributor, &suggested, first);
  auto again = moves ? movesOf(graph, suggested.value, split.backward, strategyOf, redistributor, &suggested,
                               first + moves->size())
                     : std::nullopt;
  if (!again)
    return std::nullopt;
  llvm::append_range(*moves, *again);
  return moves;
}

} // namespace apc
