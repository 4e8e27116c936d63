// All strategies of a rule, all shardings of a tensor.
#include "StrategyCheck.h"

namespace apc {

namespace {

/// Gives each axis a choice, first axis slowest: 0 = idle, 1.. = the factors, then the linear groups.
class StrategyEnumerator {
public:
  StrategyEnumerator(const FactorRule &rule, const Mesh &mesh, const EnumerationOptions &options,
                     std::vector<RejectedStrategy> *rejected)
      : rule(rule), mesh(mesh), options(options), rejected(rejected), checker(rule, mesh), choices(mesh.numAxes()) {
    current.axes.resize(rule.numFactors());
    current.passing.resize(rule.linear.size());
  }

  std::vector<Strategy> run() {
    visit(0);
    return std::move(strategies);
  }

private:
  unsigned numChoices() const { return 1 + rule.numFactors() + static_cast<unsigned>(rule.linear.size()); }

  AxisList &listOf(unsigned choice) {
    unsigned index = choice - 1;
    return index < rule.numFactors() ? current.axes[index] : current.passing[index - rule.numFactors()];
  }

  void visit(unsigned axis) {
    if (axis == mesh.numAxes()) {
      finish();
      return;
    }
    for (unsigned choice = firstChoice(axis); choice < numChoices(); ++choice) {
      if (!rejected && !worthTrying(axis, choice))
        continue;
      choices[axis] = choice;
      if (choice != 0)
        listOf(choice).push_back(AxisId(axis));
      visit(axis + 1);
      if (choice != 0)
        listOf(choice).pop_back();
    }
  }

  /// Of strategies that differ by an exchange of equal axes, the one with ascending choices is kept.
  unsigned firstChoice(unsigned axis) const {
    if (!options.removeSymmetric)
      return 0;
    for (unsigned before = axis; before-- > 0;) {
      const MeshAxis &a = mesh.getAxes()[before], &b = mesh.getAxes()[axis];
      if (a.size == b.size && a.level == b.level)
        return choices[before];
    }
    return 0;
  }

  /// False where no strategy below can be legal.
  bool worthTrying(unsigned axis, unsigned choice) const {
    if (choice == 0 || choice > rule.numFactors())
      return true;
    const Factor &factor = rule.factors[choice - 1];
    return !factor.whole && mesh.size(current.axes[choice - 1]) * mesh.getAxes()[axis].size <= factor.size;
  }

  void finish() {
    unsigned idle = llvm::count(choices, 0u);
    if (idle > 0 && idle < mesh.numAxes() && !options.allowIdleAxes)
      return;
    Violation violation = checker.find(current);
    if (violation.kind == Violation::Kind::None)
      strategies.push_back(current);
    else if (rejected)
      rejected->push_back({current, checker.explain(violation, current)});
  }

  const FactorRule &rule;
  const Mesh &mesh;
  const EnumerationOptions &options;
  std::vector<RejectedStrategy> *rejected;
  StrategyChecker checker;
  std::vector<unsigned> choices;
  Strategy current;
  std::vector<Strategy> strategies;
};

void visitShardings(const TensorShape &shape, const Mesh &mesh, unsigned axis, Sharding &current,
                    std::vector<Sharding> &found) {
  if (axis == mesh.numAxes()) {
    found.push_back(current);
    return;
  }
  visitShardings(shape, mesh, axis + 1, current, found);
  for (unsigned dim = 0; dim < shape.numDims(); ++dim) {
    if (mesh.size(current.dims[dim]) * mesh.getAxes()[axis].size > shape.dims[dim])
      continue;
    current.dims[dim].push_back(AxisId(axis));
    visitShardings(shape, mesh, axis + 1, current, found);
    current.dims[dim].pop_back();
  }
}

} // namespace

std::vector<Strategy> enumerateStrategies(const FactorRule &rule, const Mesh &mesh, const EnumerationOptions &options,
                                          std::vector<RejectedStrategy> *rejected) {
  return StrategyEnumerator(rule, mesh, options, rejected).run();
}

std::vector<Sharding> enumerateShardings(const TensorShape &shape, const Mesh &mesh) {
  std::vector<Sharding> found;
  Sharding current = Sharding::replicated(shape.numDims());
  visitShardings(shape, mesh, 0, current, found);
  return found;
}

} // namespace apc
