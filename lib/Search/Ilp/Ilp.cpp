// The search `ilp`: the problem as a mixed-integer program, as a certificate for `dp`.
#include "../Deadline.h"
#include "../Incumbent.h"
#include "../Reduce/WeightedProblem.h"
#include "MipSolver.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

namespace apc {

namespace {

/// Relative error of the solver's costs.
constexpr double solverRounding = 1e-7;

class Formulation {
public:
  Formulation(const Problem &problem, const WeightedProblem &weighted)
      : problem(problem), weighted(weighted), scale(scaleOfCosts()) {
    addNodes();
    for (size_t node = 0; node < weighted.numNodes(); ++node)
      for (const WeightedEnd &end : weighted.ends(node))
        if (end.other < node)
          addEdge(end, node);
    if (problem.memoryLimitBytes)
      addMemory();
  }

  const MixedIntegerProgram &getProgram() const { return program; }
  /// The seconds of a cost of 1.
  double secondsPerCost() const { return scale; }

  std::vector<uint32_t> decode(llvm::ArrayRef<double> solution) const {
    std::vector<uint32_t> chosen;
    for (size_t node = 0; node < weighted.numNodes(); ++node) {
      llvm::ArrayRef<double> x = solution.slice(firstColumn[node], weighted.numStrategies(node));
      chosen.push_back(std::max_element(x.begin(), x.end()) - x.begin());
    }
    return chosen;
  }

private:
  /// Costs are divided by this, so that they are at most 1000.
  double scaleOfCosts() const {
    double largest = 0;
    auto see = [&](double seconds) { largest = seconds > largest ? seconds : largest; };
    for (size_t node = 0; node < weighted.numNodes(); ++node)
      llvm::for_each(weighted.own(node), see);
    for (const DenseTable &leaf : weighted.getReduced().leaves)
      llvm::for_each(leaf.cells, see);
    return largest > 0 ? largest / 1000 : 1;
  }

  void addNodes() {
    for (size_t node = 0; node < weighted.numNodes(); ++node) {
      firstColumn.push_back(static_cast<int>(program.cost.size()));
      MixedIntegerProgram::Row one{1, 1, {}, {}};
      for (double seconds : weighted.own(node)) {
        int column = program.addColumn(std::isnan(seconds) ? 0 : seconds / scale, std::isnan(seconds) ? 0 : 1);
        program.integerColumns.push_back(column);
        one.columns.push_back(column);
        one.coefficients.push_back(1);
      }
      program.rows.push_back(std::move(one));
    }
  }

  /// y[i, j] for every possible pair; the sum over j is x[i] of one node, the sum over i is x[j] of the other: the
  /// local polytope. An impossible pair has no variable.
  void addEdge(const WeightedEnd &end, size_t node) {
    size_t rows = weighted.numStrategies(end.other), columns = weighted.numStrategies(node);
    std::vector<MixedIntegerProgram::Row> sums(rows + columns, {0, 0, {}, {}});
    for (size_t i = 0; i < rows; ++i)
      for (size_t j = 0; j < columns; ++j) {
        double seconds = weighted.pairs(end, i)[j];
        if (std::isnan(seconds))
          continue;
        int column = program.addColumn(seconds / scale, 1);
        for (auto *row : {&sums[i], &sums[rows + j]}) {
          row->columns.push_back(column);
          row->coefficients.push_back(1);
        }
      }
    for (auto [index, row] : llvm::enumerate(sums)) {
      row.columns.push_back(index < rows ? firstColumn[end.other] + static_cast<int>(index)
                                         : firstColumn[node] + static_cast<int>(index - rows));
      row.coefficients.push_back(-1);
      program.rows.push_back(std::move(row));
    }
  }

  /// Sum of persistent bytes + t <= limit, where t is at least the transient bytes of every node; in units of the
  /// limit. The limit is slightly looser here, so that rounding excludes no answer; an answer above it does not pass
  /// `verify`.
  void addMemory() {
    constexpr double halfByte = 0.5;
    double unit = std::max<double>(1, static_cast<double>(*problem.memoryLimitBytes));
    double limit = (static_cast<double>(*problem.memoryLimitBytes) + halfByte) / unit + solverRounding;
    int largest = program.addColumn(0, limit);
    MixedIntegerProgram::Row total{0, limit, {largest}, {1}};
    for (size_t node = 0; node < weighted.numNodes(); ++node) {
      const UnaryTable &unary = weighted.unary(node);
      MixedIntegerProgram::Row transient{0, 2, {largest}, {1}};
      for (size_t strategy = 0; strategy < unary.size(); ++strategy) {
        int column = firstColumn[node] + static_cast<int>(strategy);
        auto put = [&](MixedIntegerProgram::Row &row, double bytes) {
          row.columns.push_back(column);
          row.coefficients.push_back(bytes / unit);
        };
        put(total, static_cast<double>(unary.persistentBytes[strategy]));
        put(transient, -static_cast<double>(unary.transientBytes[strategy]));
      }
      program.rows.push_back(std::move(transient));
    }
    program.rows.push_back(std::move(total));
  }

  const Problem &problem;
  const WeightedProblem &weighted;
  double scale;
  MixedIntegerProgram program;
  std::vector<int> firstColumn;
};

/// The number of pairs of strategies over all edges; each pair is a variable.
uint64_t numPairs(const WeightedProblem &weighted) {
  uint64_t pairs = 0;
  for (size_t node = 0; node < weighted.numNodes(); ++node)
    for (const WeightedEnd &end : weighted.ends(node))
      if (end.other < node)
        pairs += weighted.numStrategies(node) * weighted.numStrategies(end.other);
  return pairs;
}

llvm::Expected<SearchResult> solveReduced(const Problem &problem, const SearchOptions &options,
                                          const ReducedProblem &reduced, const Deadline &deadline,
                                          Incumbent &incumbent) {
  WeightedProblem weighted(reduced);
  weighted.weigh({0, problem.memoryLimitBytes.value_or(std::numeric_limits<int64_t>::max())});
  constexpr uint64_t maxPairs = 4'000'000;
  if (uint64_t pairs = numPairs(weighted); pairs > maxPairs)
    return inputError("ilp: the problem has {0} pairs of strategies, each a variable, and at most {1} are tried; use "
                      "the search 'dp'",
                      pairs, maxPairs);
  Formulation formulation(problem, weighted);
  MipLimits limits{deadline.remaining(), options.gapTolerance, std::nullopt, options.stop};
  double constant = reduced.constantSeconds, scale = formulation.secondsPerCost();
  if (incumbent.exists())
    limits.cutoff = (incumbent.seconds() - constant) / scale * (1 + solverRounding) + solverRounding;
  constexpr double nanoseconds = 1e9; // of a second
  const WorkClock wall = WorkClock::ofWall();
  MipAnswer answer = solveMip(formulation.getProgram(), limits);
  deadline.spendMeasured(nanoseconds * wall.seconds());
  if (!answer.failure.empty())
    return internalError("ilp: the solver failed: {0}", answer.failure);
  bool passes = true;
  if (answer.solution) {
    Assignment assignment = reduced.expand(formulation.decode(*answer.solution));
    passes = !llvm::errorToBool(verify(problem, assignment));
    incumbent.offer(assignment);
  }
  double bound = trivialLowerBound(problem);
  if (answer.bound)
    bound = std::max(bound, constant + *answer.bound * scale * (1 - solverRounding));
  if (incumbent.exists())
    return incumbent.result(answer.isComplete && passes ? incumbent.seconds() : std::min(bound, incumbent.seconds()));
  if (answer.isComplete && !answer.solution)
    return infeasible("the linear program of all assignments has no integer solution: impossible pairs" +
                      std::string(problem.memoryLimitBytes ? " or the memory limit leave none" : " leave none"));
  return noPlanError("ilp: found no assignment within the time limit of {0} s, and no proof that there is none; allow "
                     "more time",
                     options.timeLimitSeconds);
}

} // namespace

llvm::Expected<SearchResult> searchIlp(const Problem &problem, const SearchOptions &options) {
  Deadline deadline(options);
  llvm::Expected<SearchResult> start = searchRecursive(problem, options);
  Incumbent incumbent(problem);
  if (start && start->status != SearchStatus::Feasible)
    return start;
  if (start)
    incumbent.offer(start->assignment);
  else if (auto [fault, message] = takeMessage(start.takeError()); fault != Fault::NoPlan)
    return inputError("{0}", message);
  auto dominance = problem.memoryLimitBytes ? Dominance::SecondsAndBytes : Dominance::Seconds;
  std::variant<ReducedProblem, Impossible> outcome = reduceProblem(problem, dominance);
  if (const Impossible *impossible = std::get_if<Impossible>(&outcome))
    return infeasible(impossible->reason);
  return solveReduced(problem, options, std::get<ReducedProblem>(outcome), deadline, incumbent);
}

} // namespace apc
