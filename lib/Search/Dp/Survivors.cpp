// Top-down pass: the cost outside a table is its parent's cost minus the table's own.
#include "Survivors.h"

#include "llvm/ADT/STLExtras.h"

namespace apc::dp {

llvm::SmallVector<uint32_t, 6> statesOfCell(const Product &product, uint64_t cell) {
  llvm::SmallVector<uint32_t, 6> states(product.sizes.size(), 0);
  for (size_t variable = product.sizes.size(); variable-- > 1;) {
    states[variable] = cell % product.sizes[variable];
    cell /= product.sizes[variable];
  }
  return states;
}

namespace {

class Descent {
public:
  Descent(const EliminationOrder &order, const Elimination &elimination, double threshold)
      : order(order), elimination(elimination), threshold(threshold), survivors(order.steps.size()) {
    for (auto [step, result] : llvm::zip(order.steps, survivors))
      for (auto [operand, producer] : llvm::enumerate(step.producers))
        if (producer) {
          result.producers.push_back(*producer);
          result.producerOperands.push_back(operand);
        }
  }

  /// Each component starts with the minimum of all other components.
  void addRoots() {
    double total = *elimination.total();
    for (auto [index, step] : llvm::enumerate(order.steps))
      if (step.neighbours.empty())
        offer(index, 0, total - elimination.result(step.product).front());
  }

  /// Returns the number of choices that survive at this step.
  size_t visit(size_t index) {
    const EliminationStep &step = order.steps[index];
    const Product &product = order.products[step.product];
    StepSurvivors &here = survivors[index];
    llvm::SmallVector<OperandView, 4> views = elimination.operands(step.product);
    llvm::SmallVector<const double *, 4> cells(views.size());
    for (SurvivingCell &cell : here.cells) {
      llvm::SmallVector<uint32_t, 6> states = statesOfCell(product, cell.cell);
      for (auto [view, start] : llvm::zip(views, cells))
        start = view.cells + view.offset(states);
      cell.begin = here.choices.size();
      for (uint32_t v = 0; v < product.sizes[0]; ++v) {
        double value = cell.outside + elimination.unary(*product.unary)[v];
        for (auto [view, start] : llvm::zip(views, cells))
          value += start[v * view.strides[0]];
        if (!(value <= threshold))
          continue;
        here.choices.push_back({v, value});
        for (auto [producer, operand] : llvm::zip(here.producers, here.producerOperands)) {
          const double *own = cells[operand] + v * views[operand].strides[0];
          here.operandCells.push_back(offer(producer, own - views[operand].cells, value - *own));
        }
      }
      cell.end = here.choices.size();
    }
    return here.choices.size();
  }

  std::vector<StepSurvivors> take() { return std::move(survivors); }

private:
  /// The index of `cell` among the surviving cells of `step`.
  uint32_t offer(uint32_t step, uint64_t cell, double outside) {
    StepSurvivors &there = survivors[step];
    auto [entry, isNew] = there.indexOfCell.try_emplace(cell, there.cells.size());
    if (isNew)
      there.cells.push_back({cell, outside});
    SurvivingCell &known = there.cells[entry->second];
    known.outside = std::min(known.outside, outside);
    return entry->second;
  }

  const EliminationOrder &order;
  const Elimination &elimination;
  double threshold;
  std::vector<StepSurvivors> survivors;
};

} // namespace

std::optional<std::vector<StepSurvivors>> findSurvivors(const ReducedProblem &reduced, const EliminationOrder &order,
                                                        const Elimination &elimination, double threshold,
                                                        size_t maxChoices) {
  Descent descent(order, elimination, threshold);
  descent.addRoots();
  size_t numChoices = 0;
  for (size_t index = order.steps.size(); index-- > 0;) {
    numChoices += descent.visit(index);
    if (numChoices > maxChoices)
      return std::nullopt;
  }
  return descent.take();
}

} // namespace apc::dp
