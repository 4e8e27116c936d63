// Lists of (seconds, bytes) from the first eliminated node to the last, over the surviving choices.
#include "Frontier.h"

#include "EntryList.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace apc::dp {

namespace {

constexpr uint32_t joinMark = ~0u;
/// A trace takes 8 bytes.
constexpr size_t maxTraces = size_t(1) << 23;

/// The origin of an entry: a choice for a node on top of the entries below, or two entries side by side.
struct Trace {
  uint32_t first;  ///< choice: the strategy; join: a trace
  uint32_t second; ///< choice: the trace below, or joinMark for none; join: a trace
};

class FrontierSearch {
public:
  FrontierSearch(const ReducedProblem &reduced, const EliminationOrder &order, const Elimination &elimination,
                 const FrontierQuery &query, const Deadline &deadline, std::vector<ProductSurvivors> survivors)
      : reduced(reduced), order(order), elimination(elimination), query(query), deadline(deadline),
        survivors(std::move(survivors)), frontiers(order.products.size()), shares(order.products.size()),
        lastUsers(order.products.size()) {
    for (auto [index, here] : llvm::enumerate(this->survivors)) {
      shares[index] = 1.0 / static_cast<double>(order.steps.size());
      lastUsers[index] = order.products.size();
      for (uint32_t maker : here.makers) {
        shares[index] += shares[maker];
        lastUsers[maker] = index;
      }
    }
    for (const EliminationStep &step : order.steps)
      if (step.neighbours.empty())
        lastUsers[step.product] = order.products.size();
  }

  FrontierAnswer run() {
    for (size_t product = 0; product < order.products.size(); ++product) {
      if (deadline.expired() || traces.size() > maxTraces)
        return {std::nullopt, false};
      visit(product);
    }
    return answer(joinRoots());
  }

private:
  /// How far the sum of a part may exceed its minimum.
  double slackOf(double value) const { return query.threshold - value; }

  void visit(size_t index) {
    ProductSurvivors &here = survivors[index];
    for (const SurvivingCell &cell : here.cells) {
      Frontier collected;
      for (size_t choice = cell.begin; choice < cell.end; ++choice)
        append(collected, index, cell, choice);
      constexpr double perEntry = 50; // nanoseconds
      deadline.spend(perEntry * static_cast<double>(collected.size()));
      // A cell's minimum is the minimum of its choices, excluding the cost outside the table.
      collected.share = shares[index];
      prune(collected);
      for (Entry &entry : collected)
        entry.trace = remember(pending[entry.trace]);
      pending.clear();
      frontiers[index].push_back(std::move(collected));
    }
    for (uint32_t maker : here.makers)
      if (lastUsers[maker] == index)
        std::vector<Frontier>().swap(frontiers[maker]);
    here = {};
  }

  /// Adds the entries of one choice of a cell.
  void append(Frontier &collected, size_t index, const SurvivingCell &cell, size_t choiceIndex) {
    const ProductSurvivors &here = survivors[index];
    const SurvivingChoice &choice = here.choices[choiceIndex];
    const Product &product = order.products[index];
    Frontier below = {{0, 0, 0, joinMark}};
    for (size_t maker = 0; maker < here.makers.size(); ++maker) {
      uint32_t operandCell = here.operandCells[choiceIndex * here.makers.size() + maker];
      below = join(below, frontiers[here.makers[maker]][operandCell], slackOf(choice.value));
    }
    const UnaryTable &unary = reduced.unaries[*product.unary];
    double seconds = unary.seconds[choice.strategy] + leafSeconds(product, cell.cell, choice.strategy);
    double aboveLeast = choice.value - cell.outside - elimination.result(index)[cell.cell];
    collected.error = std::max(collected.error, below.error);
    for (const Entry &entry : below) {
      pending.push_back({choice.strategy, entry.trace});
      collected.push_back({entry.seconds + seconds, entry.excess + aboveLeast,
                           entry.bytes + unary.persistentBytes[choice.strategy],
                           static_cast<uint32_t>(pending.size() - 1)});
    }
  }

  /// The seconds of the pairs that this choice decides.
  double leafSeconds(const Product &product, uint64_t cell, uint32_t strategy) const {
    llvm::SmallVector<uint32_t, 6> states = statesOfCell(product, cell);
    states[0] = strategy;
    double sum = 0;
    for (const TableOperand &operand : product.operands)
      if (operand.table < order.numLeaves) {
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
    result.error = a.error + b.error;
    result.share = a.share + b.share;
    std::vector<Trace> joined;
    for (const Entry &left : a)
      for (const Entry &right : b) {
        double excess = left.excess + right.excess;
        if (excess > slack)
          break;
        joined.push_back({left.trace, right.trace});
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
    Frontier result(all.begin(), beyond);
    result.error = all.error;
    result.share = all.share;
    return result;
  }

  static std::vector<Trace> renumber(Frontier &entries, llvm::ArrayRef<Trace> traces) {
    std::vector<Trace> kept;
    for (Entry &entry : entries) {
      kept.push_back(traces[entry.trace]);
      entry.trace = kept.size() - 1;
    }
    return kept;
  }

  /// Keeps the entries that no other entry equals or beats, rounded, the nearest to the bound first.
  void prune(Frontier &entries) {
    keepBest(entries);
    round(entries, query.maxError * entries.share - entries.error);
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
      if (frontiers[step.product].empty() || frontiers[step.product].front().empty())
        return nothing();
      const Frontier &root = frontiers[step.product].front();
      if (root.size() > 1) {
        joinedRoots.push_back(index);
        all = joinKeepingConstant(all, root, slack);
        if (all.empty())
          return nothing();
        continue;
      }
      fixed.push_back({static_cast<uint32_t>(index), root.front().trace});
      all.error += root.error;
      all.share += root.share;
      for (Entry &entry : all) {
        entry.seconds += root.front().seconds;
        entry.bytes += root.front().bytes;
        entry.excess += root.front().excess;
      }
    }
    return all;
  }

  Frontier nothing() const {
    Frontier none;
    none.error = query.maxError;
    return none;
  }

  /// Like `join`, where the only entry of `a` may have a cost but no trace.
  Frontier joinKeepingConstant(const Frontier &a, const Frontier &b, double slack) {
    if (a.front().trace != joinMark)
      return join(a, b, slack);
    Frontier result = b;
    result.error += a.error;
    result.share += a.share;
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
      return {std::nullopt, isComplete, all.error};
    std::vector<uint32_t> chosen(reduced.numNodes(), 0);
    std::vector<StepTrace> open = fixed;
    part(fastest->trace, joinedRoots, open);
    while (!open.empty()) {
      auto [step, id] = open.back();
      open.pop_back();
      chosen[order.steps[step].node] = traces[id].first;
      llvm::SmallVector<uint32_t, 4> producers;
      for (std::optional<uint32_t> producer : order.steps[step].producers)
        if (producer)
          producers.push_back(*producer);
      part(traces[id].second, producers, open);
    }
    return {std::move(chosen), isComplete, all.error};
  }

  /// The entry of a table, and the step that it stands for there: steps with one product share their lists.
  struct StepTrace {
    uint32_t step, trace;
  };

  /// The traces that were joined, in order, into one: one for each step.
  void part(uint32_t trace, llvm::ArrayRef<uint32_t> steps, std::vector<StepTrace> &open) const {
    for (; steps.size() > 1; steps = steps.drop_back()) {
      open.push_back({steps.back(), traces[trace].second});
      trace = traces[trace].first;
    }
    if (!steps.empty())
      open.push_back({steps.front(), trace});
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
  std::vector<ProductSurvivors> survivors;
  std::vector<std::vector<Frontier>> frontiers; ///< for each product, for each surviving cell
  std::vector<double> shares;                   ///< by product: of the nodes that are eliminated into its table
  std::vector<size_t> lastUsers;                ///< by product: the last product that reads its lists
  std::vector<Trace> traces;
  std::vector<Trace> pending; ///< of the entries being collected for one cell
  std::vector<StepTrace> fixed;
  std::vector<uint32_t> joinedRoots; ///< steps
  size_t numJoined = 0;
  bool isComplete = true;
};

} // namespace

FrontierAnswer searchFrontier(const ReducedProblem &reduced, const EliminationOrder &order,
                              const Elimination &elimination, const FrontierQuery &query, const Deadline &deadline) {
  constexpr size_t maxChoices = size_t(1) << 21;
  std::optional<std::vector<ProductSurvivors>> survivors =
      findSurvivors(order, elimination, query.threshold, maxChoices);
  if (!survivors)
    return {std::nullopt, false};
  return FrontierSearch(reduced, order, elimination, query, deadline, std::move(*survivors)).run();
}

} // namespace apc::dp
