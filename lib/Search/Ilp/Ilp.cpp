// The search `ilp`: the problem as a mixed-integer program, the certificate beside `dp`.
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

/// Relative error of what the solver says about costs.
constexpr double solverRounding = 1e-7;

class Formulation {
public:
  Formulation(const Problem &problem, const Landscape &landscape)
      : problem(problem), landscape(landscape), scale(largestCost()) {
    addNodes();
    for (size_t node = 0; node < landscape.numNodes(); ++node)
      for (const Incidence &incidence : landscape.incidences(node))
        if (incidence.other < node)
          addEdge(incidence, node);
    if (problem.memoryLimitBytes)
      addMemory();
  }

  const MixedIntegerProgram &getProgram() const { return program; }
  /// Seconds for a cost of 1.
  double secondsPerCost() const { return scale; }

  std::vector<uint32_t> decode(llvm::ArrayRef<double> solution) const {
    std::vector<uint32_t> chosen;
    for (size_t node = 0; node < landscape.numNodes(); ++node) {
      llvm::ArrayRef<double> x = solution.slice(firstColumn[node], landscape.numStrategies(node));
      chosen.push_back(std::max_element(x.begin(), x.end()) - x.begin());
    }
    return chosen;
  }

private:
  /// Costs are scaled to at most 1000, whatever the seconds are.
  double largestCost() const {
    double largest = 0;
    auto see = [&](double seconds) { largest = seconds > largest ? seconds : largest; };
    for (size_t node = 0; node < landscape.numNodes(); ++node)
      llvm::for_each(landscape.own(node), see);
    for (const dp::DenseTable &leaf : landscape.getReduction().leaves)
      llvm::for_each(leaf.cells, see);
    return largest > 0 ? largest / 1000 : 1;
  }

  void addNodes() {
    for (size_t node = 0; node < landscape.numNodes(); ++node) {
      firstColumn.push_back(static_cast<int>(program.cost.size()));
      MixedIntegerProgram::Row one{1, 1, {}, {}};
      for (double seconds : landscape.own(node)) {
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
  void addEdge(const Incidence &incidence, size_t node) {
    size_t rows = landscape.numStrategies(incidence.other), columns = landscape.numStrategies(node);
    std::vector<MixedIntegerProgram::Row> sums(rows + columns, {0, 0, {}, {}});
    for (size_t i = 0; i < rows; ++i)
      for (size_t j = 0; j < columns; ++j) {
        double seconds = landscape.pairs(incidence, i)[j];
        if (std::isnan(seconds))
          continue;
        int column = program.addColumn(seconds / scale, 1);
        for (auto *row : {&sums[i], &sums[rows + j]}) {
          row->columns.push_back(column);
          row->coefficients.push_back(1);
        }
      }
    for (auto [index, row] : llvm::enumerate(sums)) {
      row.columns.push_back(index < rows ? firstColumn[incidence.other] + static_cast<int>(index)
                                         : firstColumn[node] + static_cast<int>(index - rows));
      row.coefficients.push_back(-1);
      program.rows.push_back(std::move(row));
    }
  }

  /// Sum of persistent bytes + t <= limit, where t is at least every node's transient bytes; in units of the limit. The
  /// limit is a little looser here, so that rounding cuts nothing off; an answer beyond it does not pass `verify`.
  void addMemory() {
    constexpr double halfByte = 0.5;
    double unit = std::max<double>(1, static_cast<double>(*problem.memoryLimitBytes));
    double limit = (static_cast<double>(*problem.memoryLimitBytes) + halfByte) / unit + solverRounding;
    int largest = program.addColumn(0, limit);
    MixedIntegerProgram::Row total{0, limit, {largest}, {1}};
    for (size_t node = 0; node < landscape.numNodes(); ++node) {
      const dp::UnaryTable &unary = landscape.unary(node);
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
  const Landscape &landscape;
  double scale;
  MixedIntegerProgram program;
  std::vector<int> firstColumn;
};

/// Pairs of strategies over all edges, each a variable.
uint64_t numPairs(const Landscape &landscape) {
  uint64_t pairs = 0;
  for (size_t node = 0; node < landscape.numNodes(); ++node)
    for (const Incidence &incidence : landscape.incidences(node))
      if (incidence.other < node)
        pairs += landscape.numStrategies(node) * landscape.numStrategies(incidence.other);
  return pairs;
}

llvm::Expected<SearchResult> solveReduced(const Problem &problem, const SearchOptions &options,
                                          const dp::Reduction &reduction, const Deadline &deadline,
                                          Incumbent &incumbent) {
  Landscape landscape(reduction);
  landscape.weigh({0, problem.memoryLimitBytes.value_or(std::numeric_limits<int64_t>::max())});
  constexpr uint64_t maxPairs = 4'000'000;
  if (uint64_t pairs = numPairs(landscape); pairs > maxPairs)
    return inputError("ilp: the problem has {0} pairs of strategies, each a variable, and at most {1} are tried; use "
                      "the search 'dp'",
                      pairs, maxPairs);
  Formulation formulation(problem, landscape);
  MipLimits limits{deadline.remaining(), options.gapTolerance, std::nullopt, options.stop};
  double constant = reduction.constantSeconds, scale = formulation.secondsPerCost();
  if (incumbent.exists())
    limits.cutoff = (incumbent.seconds() - constant) / scale * (1 + solverRounding) + solverRounding;
  MipAnswer answer = solveMip(formulation.getProgram(), limits);
  if (!answer.failure.empty())
    return internalError("ilp: the solver failed: {0}", answer.failure);
  bool passes = true;
  if (answer.solution) {
    Assignment assignment = reduction.expand(formulation.decode(*answer.solution));
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
  Deadline deadline(options.timeLimitSeconds, options.stop);
  llvm::Expected<SearchResult> start = searchRecursive(problem, options);
  Incumbent incumbent(problem);
  if (start && start->status != SearchStatus::Feasible)
    return start;
  if (start)
    incumbent.offer(start->assignment);
  else if (auto [fault, message] = takeMessage(start.takeError()); fault != Fault::NoPlan)
    return inputError("{0}", message);
  auto dominance = problem.memoryLimitBytes ? dp::Dominance::SecondsAndBytes : dp::Dominance::Seconds;
  std::variant<dp::Reduction, dp::Impossible> reduced = dp::reduce(problem, dominance);
  if (const dp::Impossible *impossible = std::get_if<dp::Impossible>(&reduced))
    return infeasible(impossible->reason);
  return solveReduced(problem, options, std::get<dp::Reduction>(reduced), deadline, incumbent);
}

} // namespace apc
