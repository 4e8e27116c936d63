// All strategies of a rule.
#include "StrategyCheck.h"

namespace apc {

namespace {

/// Gives each axis a choice, first axis slowest: 0 = idle, 1.. = the factors, then the linear groups.
class StrategyEnumerator {
public:
  StrategyEnumerator(const FactorRule &rule, const Mesh &mesh, std::vector<RejectedStrategy> *rejected)
      : rule(rule), mesh(mesh), rejected(rejected), checker(rule, mesh) {
    current.axes.resize(rule.numFactors());
    current.partialInputs.resize(rule.linear.size());
  }

  std::vector<Strategy> run() {
    visit(0);
    return std::move(strategies);
  }

private:
  unsigned numChoices() const { return 1 + rule.numFactors() + static_cast<unsigned>(rule.linear.size()); }

  AxisList &listOf(unsigned choice) {
    unsigned index = choice - 1;
    return index < rule.numFactors() ? current.axes[index] : current.partialInputs[index - rule.numFactors()];
  }

  void visit(unsigned axis) {
    if (axis == mesh.numAxes()) {
      finish();
      return;
    }
    for (unsigned choice = 0; choice < numChoices(); ++choice) {
      if (!rejected && !worthTrying(axis, choice))
        continue;
      if (choice != 0)
        listOf(choice).push_back(AxisId(axis));
      visit(axis + 1);
      if (choice != 0)
        listOf(choice).pop_back();
    }
  }

  /// False where no strategy below can be legal.
  bool worthTrying(unsigned axis, unsigned choice) const {
    if (choice == 0 || choice > rule.numFactors())
      return true;
    const Factor &factor = rule.factors[choice - 1];
    return !factor.whole && mesh.size(current.axes[choice - 1]) * mesh.getAxes()[axis].size <= factor.size;
  }

  void finish() {
    Violation violation = checker.find(current);
    if (violation.kind == Violation::Kind::None)
      strategies.push_back(current);
    else if (rejected)
      rejected->push_back({current, checker.explain(violation, current)});
  }

  const FactorRule &rule;
  const Mesh &mesh;
  std::vector<RejectedStrategy> *rejected;
  StrategyChecker checker;
  Strategy current;
  std::vector<Strategy> strategies;
};

} // namespace

std::vector<Strategy> enumerateStrategies(const FactorRule &rule, const Mesh &mesh,
                                          std::vector<RejectedStrategy> *rejected) {
  return StrategyEnumerator(rule, mesh, rejected).run();
}

} // namespace apc
