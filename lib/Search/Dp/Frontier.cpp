// Lists of (seconds, bytes) from the first eliminated node to the last, over the surviving choices.
#include "Frontier.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace apc::dp {

namespace {

constexpr uint32_t joinMark = ~0u;
/// A trace takes 12 bytes.
constexpr size_t maxTraces = size_t(1) << 23;

/// The origin of an entry: a choice at a step on top of the entries below, or two entries side by side.
struct Trace {
  uint32_t step;   ///< or joinMark
  uint32_t first;  ///< choice: the strategy; join: a trace
  uint32_t second; ///< choice: the trace below, or joinMark for none; join: a trace
};

/// A partial assignment: all nodes that are eliminated into one table, for one cell of the table.
struct Entry {
  double seconds;
  double excess; ///< weighted sum above the minimum of this cell
  int64_t bytes;
  uint32_t trace;
};

/// Entries in ascending order of excess.
using Frontier = std::vector<Entry>;

class FrontierSearch {
public:
  FrontierSearch(const ReducedProblem &reduced, const EliminationOrder &order, const Elimination &elimination,
                 const FrontierQuery &query, const Deadline &deadline, std::vector<StepSurvivors> survivors)
      : reduced(reduced), order(order), elimination(elimination), query(query), deadline(deadline),
        survivors(std::move(survivors)), frontiers(order.steps.size()) {}

  FrontierAnswer run() {
    for (size_t step = 0; step < order.steps.size(); ++step) {
      if (deadline.expired() || traces.size() > maxTraces)
        return {std::nullopt, false};
      visit(step);
    }
    return answer(joinRoots());
  }

private:
  /// How far the sum of a part may exceed its minimum.
  double slackOf(double value) const { return query.threshold - value; }

  void visit(size_t index) {
    StepSurvivors &here = survivors[index];
    for (size_t cell = 0; cell < here.cells.size(); ++cell) {
      Frontier collected;
      for (size_t choice = here.cells[cell].begin; choice < here.cells[cell].end; ++choice)
        append(collected, index, here.cells[cell], choice);
      // A cell's minimum is the minimum of its choices, excluding the cost outside the table.
      prune(collected);
      for (Entry &entry : collected)
        entry.trace = remember({static_cast<uint32_t>(index), pending[entry.trace].first, pending[entry.trace].second});
      pending.clear();
      frontiers[index].push_back(std::move(collected));
    }
    for (uint32_t producer : here.producers)
      std::vector<Frontier>().swap(frontiers[producer]);
    StepSurvivors empty;
    empty.producers = here.producers;
    here = std::move(empty);
  }

  /// Adds the entries of one choice of a cell.
  void append(Frontier &collected, size_t index, const SurvivingCell &cell, size_t choiceIndex) {
    const StepSurvivors &here = survivors[index];
    const SurvivingChoice &choice = here.choices[choiceIndex];
    const EliminationStep &step = order.steps[index];
    const Product &product = order.products[step.product];
    Frontier below = {{0, 0, 0, joinMark}};
    for (size_t producer = 0; producer < here.producers.size(); ++producer) {
      uint32_t operandCell = here.operandCells[choiceIndex * here.producers.size() + producer];
      below = join(below, frontiers[here.producers[producer]][operandCell], slackOf(choice.value));
    }
    const UnaryTable &unary = reduced.unaries[*product.unary];
    double seconds = unary.seconds[choice.strategy] + leafSeconds(step, cell.cell, choice.strategy);
    double aboveLeast = choice.value - cell.outside - elimination.result(step.product)[cell.cell];
    for (const Entry &entry : below) {
      pending.push_back({0, choice.strategy, entry.trace});
      collected.push_back({entry.seconds + seconds, entry.excess + aboveLeast,
                           entry.bytes + unary.persistentBytes[choice.strategy],
                           static_cast<uint32_t>(pending.size() - 1)});
    }
  }

  /// The seconds of the pairs that this choice decides.
  double leafSeconds(const EliminationStep &step, uint64_t cell, uint32_t strategy) const {
    const Product &product = order.products[step.product];
    llvm::SmallVector<uint32_t, 6> states = statesOfCell(product, cell);
    states[0] = strategy;
    double sum = 0;
    for (auto [operand, producer] : llvm::zip(product.operands, step.producers))
      if (!producer) {
        const DenseTable &leaf = reduced.leaves[operand.table];
        sum += leaf.cells[viewOf(operand, product.sizes, nullptr).offset(states)];
      }
    return sum;
  }

  /// Every entry of `a` with every entry of `b`, up to the slack.
  Frontier join(const Frontier &a, const Frontier &b, double slack) {
    if (a.size() == 1 && a.front().trace == joinMark)
      return within(b, slack);
    Frontier result;
    std::vector<Trace> joined;
    for (const Entry &left : a)
      for (const Entry &right : b) {
        double excess = left.excess + right.excess;
        if (excess > slack)
          break;
        joined.push_back({joinMark, left.trace, right.trace});
        result.push_back(
            {left.seconds + right.seconds, excess, left.bytes + right.bytes, static_cast<uint32_t>(joined.size() - 1)});
        if (++numJoined > maxJoined()) {
          isComplete = false;
          break;
        }
        if (result.size() >= compactAt()) {
          prune(result);
          joined = renumber(result, joined);
        }
      }
    prune(result);
    for (Entry &entry : result)
      entry.trace = remember(joined[entry.trace]);
    return result;
  }

  static Frontier within(const Frontier &all, double slack) {
    auto beyond = llvm::find_if(all, [&](const Entry &entry) { return entry.excess > slack; });
    return Frontier(all.begin(), beyond);
  }

  static std::vector<Trace> renumber(Frontier &entries, llvm::ArrayRef<Trace> traces) {
    std::vector<Trace> kept;
    for (Entry &entry : entries) {
      kept.push_back(traces[entry.trace]);
      entry.trace = kept.size() - 1;
    }
    return kept;
  }

  /// Keeps the entries that no other entry equals or beats in seconds and bytes, the nearest to the bound first.
  void prune(Frontier &entries) {
    llvm::sort(entries, [](const Entry &a, const Entry &b) {
      return std::tie(a.bytes, a.seconds, a.trace) < std::tie(b.bytes, b.seconds, b.trace);
    });
    size_t kept = 0;
    for (const Entry &entry : entries)
      if (kept == 0 || entry.seconds < entries[kept - 1].seconds)
        entries[kept++] = entry;
    entries.resize(kept);
    llvm::sort(entries, [](const Entry &a, const Entry &b) {
      return std::tie(a.excess, a.bytes) < std::tie(b.excess, b.bytes);
    });
    if (entries.size() > query.maxFrontier) {
      entries.resize(query.maxFrontier);
      isComplete = false;
    }
  }

  /// Joins the parts that share no table. A part with one entry needs no list.
  Frontier joinRoots() {
    double slack = slackOf(*elimination.total());
    Frontier all = {{elimination.constant(), 0, 0, joinMark}};
    for (auto [index, step] : llvm::enumerate(order.steps)) {
      if (!step.neighbours.empty())
        continue;
      if (frontiers[index].empty() || frontiers[index].front().empty())
        return {};
      const Frontier &root = frontiers[index].front();
      if (root.size() > 1) {
        all = joinKeepingConstant(all, root, slack);
        if (all.empty())
          return {};
        continue;
      }
      fixed.push_back(root.front().trace);
      for (Entry &entry : all) {
        entry.seconds += root.front().seconds;
        entry.bytes += root.front().bytes;
        entry.excess += root.front().excess;
      }
    }
    return all;
  }

  /// Like `join`, where the only entry of `a` may have a cost but no trace.
  Frontier joinKeepingConstant(const Frontier &a, const Frontier &b, double slack) {
    if (a.front().trace != joinMark)
      return join(a, b, slack);
    Frontier result = b;
    for (Entry &entry : result) {
      entry.seconds += a.front().seconds;
      entry.bytes += a.front().bytes;
      entry.excess += a.front().excess;
    }
    return within(result, slack);
  }

  FrontierAnswer answer(const Frontier &all) const {
    const Entry *fastest = nullptr;
    for (const Entry &entry : all)
      if (entry.bytes <= query.maxPersistentBytes && (!fastest || entry.seconds < fastest->seconds))
        fastest = &entry;
    if (!fastest)
      return {std::nullopt, isComplete};
    std::vector<uint32_t> chosen(reduced.numNodes(), 0);
    std::vector<uint32_t> open = fixed;
    open.push_back(fastest->trace);
    while (!open.empty()) {
      uint32_t id = open.back();
      open.pop_back();
      if (id == joinMark)
        continue;
      const Trace &trace = traces[id];
      if (trace.step == joinMark)
        open.push_back(trace.first);
      else
        chosen[order.steps[trace.step].node] = trace.first;
      open.push_back(trace.second);
    }
    return {std::move(chosen), isComplete};
  }

  uint32_t remember(Trace trace) {
    traces.push_back(trace);
    return traces.size() - 1;
  }

  size_t compactAt() const { return 8 * query.maxFrontier + 1024; }
  /// The most pairs of entries that are joined; a fixed number, so that giving up does not depend on the machine.
  /// Twenty times as many hardly ever finish a search that this number does not.
  size_t maxJoined() const { return 1000 * query.maxFrontier; }

  const ReducedProblem &reduced;
  const EliminationOrder &order;
  const Elimination &elimination;
  const FrontierQuery &query;
  const Deadline &deadline;
  std::vector<StepSurvivors> survivors;
  std::vector<std::vector<Frontier>> frontiers; ///< for each step, for each surviving cell
  std::vector<Trace> traces;
  std::vector<Trace> pending; ///< of the entries being collected for one cell
  std::vector<uint32_t> fixed;
  size_t numJoined = 0;
  bool isComplete = true;
};

} // namespace

FrontierAnswer searchFrontier(const ReducedProblem &reduced, const EliminationOrder &order,
                              const Elimination &elimination, const FrontierQuery &query, const Deadline &deadline) {
  constexpr size_t maxChoices = size_t(1) << 21;
  std::optional<std::vector<StepSurvivors>> survivors =
      findSurvivors(reduced, order, elimination, query.threshold, maxChoices);
  if (!survivors)
    return {std::nullopt, false};
  return FrontierSearch(reduced, order, elimination, query, deadline, std::move(*survivors)).run();
}

} // namespace apc::dp
