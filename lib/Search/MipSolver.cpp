// The adapter to CBC. The only file that knows it.
#include "MipSolver.h"

#include <coin/CbcEventHandler.hpp>
#include <coin/CbcModel.hpp>
#include <coin/ClpSimplex.hpp>
#include <coin/CoinError.hpp>
#include <coin/CoinPackedMatrix.hpp>
#include <coin/OsiClpSolverInterface.hpp>

#include <algorithm>
#include <exception>

namespace apc {

namespace {

/// Ends the branch and bound when somebody asks for it.
class StopOnRequest : public CbcEventHandler {
public:
  explicit StopOnRequest(const std::atomic<bool> *stop) : stop(stop) {}
  CbcAction event(CbcEvent) override { return stop && stop->load() ? CbcEventHandler::stop : noAction; }
  CbcEventHandler *clone() const override { return new StopOnRequest(*this); }

private:
  const std::atomic<bool> *stop;
};

void load(const MixedIntegerProgram &program, OsiClpSolverInterface &solver) {
  CoinPackedMatrix matrix(/*colordered=*/false, 0, 0);
  matrix.setDimensions(0, static_cast<int>(program.cost.size()));
  std::vector<double> lower, upper;
  for (const MixedIntegerProgram::Row &row : program.rows) {
    matrix.appendRow(static_cast<int>(row.columns.size()), row.columns.data(), row.coefficients.data());
    lower.push_back(row.lower);
    upper.push_back(row.upper);
  }
  std::vector<double> zeros(program.cost.size(), 0);
  solver.loadProblem(matrix, zeros.data(), program.upper.data(), program.cost.data(), lower.data(), upper.data());
  for (int column : program.integerColumns)
    solver.setInteger(column);
}

MipAnswer branchAndBound(const MixedIntegerProgram &program, const MipLimits &limits) {
  OsiClpSolverInterface solver;
  solver.messageHandler()->setLogLevel(0);
  solver.setHintParam(OsiDoReducePrint, true, OsiHintDo);
  load(program, solver);
  solver.getModelPtr()->setMaximumSeconds(limits.seconds);
  CbcModel model(solver);
  model.setLogLevel(0);
  model.messageHandler()->setLogLevel(0);
  model.solver()->messageHandler()->setLogLevel(0);
  model.setUseElapsedTime(true);
  model.setMaximumSeconds(limits.seconds);
  model.setAllowableFractionGap(limits.gap);
  model.setAllowableGap(0);
  model.setIntegerTolerance(1e-9);
  if (limits.cutoff)
    model.setCutoff(*limits.cutoff);
  // No cut generators: on 1 of 2,000 random problems CglKnapsackCover cut the optimum off.
  StopOnRequest handler(limits.stop);
  model.passInEventHandler(&handler);
  model.initialSolve();
  MipAnswer answer;
  if (model.solver()->isProvenPrimalInfeasible()) {
    answer.isComplete = true;
    return answer;
  }
  if (!model.solver()->isProvenOptimal())
    return answer;
  model.branchAndBound();
  answer.isComplete = model.status() == 0;
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
