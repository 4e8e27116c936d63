// Small random graphs, and all the programs that they have on a mesh.
#pragma once

#include "GraphMaker.h"

#include "apc/Planning/BuildProblem.h"

#include <random>

namespace apc {

/// Every choice of strategies of a graph on a mesh, one op after the other.
class Programs {
public:
  Programs(const OpGraph &graph, const Mesh &mesh) {
    for (size_t op = 0; op < graph.ops.size(); ++op)
      offered.push_back(enumerateStrategies(graph.ruleOf(OpId(op)), mesh));
    digits.resize(offered.size());
  }

  double count() const {
    double product = 1;
    for (const std::vector<Strategy> &strategies : offered)
      product *= static_cast<double>(strategies.size());
    return product;
  }
  std::vector<Strategy> current() const {
    std::vector<Strategy> strategies;
    for (auto [list, digit] : llvm::zip_equal(offered, digits))
      strategies.push_back(list[digit]);
    return strategies;
  }
  bool advance() {
    for (size_t op = 0; op < digits.size(); ++op) {
      if (++digits[op] < offered[op].size())
        return true;
      digits[op] = 0;
    }
    return false;
  }

private:
  std::vector<std::vector<Strategy>> offered;
  std::vector<size_t> digits;
};

/// At most \p maxOps MatMuls, Relus, views and products of values that are shared, beside sources and outputs; the
/// weight is shared too, and sometimes transposed first.
OpGraph randomGraph(std::mt19937_64 &random, size_t maxOps = 5);

/// A training step of at most \p maxLayers MatMuls and Relus: forward, backward, and the new weights, which take the
/// place of the old ones. Ops and their gradients are tied; a weight may serve several MatMuls.
OpGraph randomTrainingStep(std::mt19937_64 &random, size_t maxLayers);

/// Such a step with a mask, a product of frozen parameters, by which each Relu is replaced.
OpGraph maskedTrainingStep(std::mt19937_64 &random, size_t maxLayers);

/// Such a step in which all but the new weights is made for each of `microBatches`.
OpGraph stepInMicroBatches(std::mt19937_64 &random, size_t maxLayers, int64_t microBatches);

/// A strategy for each op, by lot.
std::vector<Strategy> drawStrategies(const OpGraph &graph, const Mesh &mesh, std::mt19937_64 &random);

/// A choice for each node of a problem, by lot.
std::vector<Strategy> drawTied(const PlanningProblem &planning, std::mt19937_64 &random);

/// A pool of two nodes of two devices whose ops keep `share` of their speed beside collectives, and these as much.
Pool pairOfPairs(double share);

/// Each value is in one of two groups, or moves alone, by lot.
Fusion drawFusion(const OpGraph &graph, std::mt19937_64 &random);

/// The problem in which each op has this strategy alone; hubs are left to choose.
PlanningProblem problemOfStrategies(const OpGraph &graph, const CostModel &model, llvm::ArrayRef<Strategy> strategies,
                                    const Fusion &fusion = {});

/// The numbers of programs that were checked, and of hubs in them.
struct SumsChecked {
  size_t numPrograms = 0, numHubs = 0;
};

/// Checks for 400 graphs under strategies by lot, on 8 and 4 devices in turn, that the least sum of their problem is
/// what their program takes. Graphs in which a value would have to become partial are passed over.
SumsChecked checkLeastSums(std::mt19937_64 &random, llvm::function_ref<OpGraph()> draw);

} // namespace apc
