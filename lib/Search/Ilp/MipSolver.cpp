// The adapter to CBC, and the only file that includes its headers.
#include "MipSolver.h"
#include "../Deadline.h"

#include <coin/CbcEventHandler.hpp>
#include <coin/CbcModel.hpp>
#include <coin/ClpEventHandler.hpp>
#include <coin/ClpSimplex.hpp>
#include <coin/CoinError.hpp>
#include <coin/CoinPackedMatrix.hpp>
#include <coin/OsiClpSolverInterface.hpp>

#include <algorithm>
#include <exception>

namespace apc {

namespace {

/// Ends a linear program in the middle when the time is over.
class StopLinearProgram : public ClpEventHandler {
public:
  explicit StopLinearProgram(const Deadline &deadline) : deadline(deadline) {}
  int event(Event) override { return deadline.expired() ? 1 : -1; }
  ClpEventHandler *clone() const override { return new StopLinearProgram(*this); }

private:
  const Deadline &deadline;
};

/// Ends branch and bound when the time is over, and keeps the bound from before: CBC takes a node whose linear program
/// was cut short for a node without a solution.
class StopBranchAndBound : public CbcEventHandler {
public:
  StopBranchAndBound(const Deadline &deadline, std::optional<double> &bound) : deadline(deadline), bound(bound) {}
  CbcAction event(CbcEvent) override {
    if (deadline.expired())
      return CbcEventHandler::stop;
    bound = std::max(bound.value(), getModel()->getBestPossibleObjValue());
    return noAction;
  }
  CbcEventHandler *clone() const override { return new StopBranchAndBound(*this); }

private:
  const Deadline &deadline;
  std::optional<double> &bound;
};

void load(const MixedIntegerProgram &program, OsiClpSolverInterface &solver) {
  std::vector<double> lower, upper, coefficients;
  std::vector<int> columns, lengths;
  std::vector<CoinBigIndex> starts;
  for (const MixedIntegerProgram::Row &row : program.rows) {
    starts.push_back(static_cast<CoinBigIndex>(columns.size()));
    lengths.push_back(static_cast<int>(row.columns.size()));
    columns.insert(columns.end(), row.columns.begin(), row.columns.end());
    coefficients.insert(coefficients.end(), row.coefficients.begin(), row.coefficients.end());
    lower.push_back(row.lower);
    upper.push_back(row.upper);
  }
  starts.push_back(static_cast<CoinBigIndex>(columns.size()));
  // All rows at once: adding single rows copies the matrix each time.
  CoinPackedMatrix matrix(/*colordered=*/false, static_cast<int>(program.cost.size()),
                          static_cast<int>(program.rows.size()), static_cast<CoinBigIndex>(columns.size()),
                          coefficients.data(), columns.data(), starts.data(), lengths.data());
  std::vector<double> zeros(program.cost.size(), 0);
  solver.loadProblem(matrix, zeros.data(), program.upper.data(), program.cost.data(), lower.data(), upper.data());
  for (int column : program.integerColumns)
    solver.setInteger(column);
}

MipAnswer branchAndBound(const MixedIntegerProgram &program, const MipLimits &limits) {
  Deadline deadline(limits.seconds, limits.stop);
  OsiClpSolverInterface solver;
  solver.messageHandler()->setLogLevel(0);
  solver.setHintParam(OsiDoReducePrint, true, OsiHintDo);
  solver.setHintParam(OsiDoPresolveInInitial, false,
                      OsiHintDo); // presolve does not call the handler that checks the time
  load(program, solver);
  StopLinearProgram lpHandler(deadline);
  solver.getModelPtr()->passInEventHandler(&lpHandler);
  CbcModel model(solver);
  model.setLogLevel(0);
  model.messageHandler()->setLogLevel(0);
  model.solver()->messageHandler()->setLogLevel(0);
  model.setUseElapsedTime(true);
  model.setMaximumSeconds(deadline.remaining());
  model.setAllowableFractionGap(limits.gap);
  model.setAllowableGap(0);
  model.setIntegerTolerance(1e-9);
  if (limits.cutoff)
    model.setCutoff(*limits.cutoff);
  // No cut generators: on 1 of 2,000 random problems CglKnapsackCover cut off the optimum.
  model.initialSolve();
  MipAnswer answer;
  if (deadline.expired())
    return answer;
  if (model.solver()->isProvenPrimalInfeasible()) {
    answer.isComplete = true;
    return answer;
  }
  if (!model.solver()->isProvenOptimal())
    return answer;
  answer.bound = model.solver()->getObjValue();
  StopBranchAndBound handler(deadline, answer.bound);
  model.passInEventHandler(&handler);
  model.branchAndBound();
  answer.isComplete = model.status() == 0 && !deadline.expired();
  if (!deadline.expired())
    answer.bound = model.getBestPossibleObjValue();
  if (model.bestSolution())
    answer.solution.emplace(model.bestSolution(), model.bestSolution() + program.cost.size());
  return answer;
}

} // namespace

int MixedIntegerProgram::addColumn(double columnCost, double columnUpper) {
  cost.push_back(columnCost);
  upper.push_back(columnUpper);
  return static_cast<int>(cost.size()) - 1;
}

MipAnswer solveMip(const MixedIntegerProgram &program, const MipLimits &limits) {
  MipAnswer answer;
  try {
    return branchAndBound(program, limits);
  } catch (const CoinError &error) {
    answer.failure = error.className() + "::" + error.methodName() + ": " + error.message();
  } catch (const std::exception &error) {
    answer.failure = error.what();
  }
  return answer;
}

} // namespace apc
