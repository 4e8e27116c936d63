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
      : order(order), elimination(elimination), threshold(threshold), survivors(order.products.size()) {
    for (auto [product, result] : llvm::zip_equal(order.products, survivors))
      for (auto [index, operand] : llvm::enumerate(product.operands))
        if (operand.table >= order.numLeaves) {
          result.makers.push_back(operand.table - order.numLeaves);
          result.makerOperands.push_back(index);
        }
  }

  /// Each component starts with the minimum of all other components.
  void addRoots() {
    double total = *elimination.total();
    for (const EliminationStep &step : order.steps)
      if (step.neighbours.empty())
        offer(step.product, 0, total - elimination.result(step.product).front());
  }

  /// Returns the number of choices that survive at this product.
  size_t visit(size_t index) {
    const Product &product = order.products[index];
    ProductSurvivors &here = survivors[index];
    llvm::SmallVector<OperandView, 4> views = elimination.operands(index);
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
        for (auto [maker, operand] : llvm::zip(here.makers, here.makerOperands)) {
          const double *own = cells[operand] + v * views[operand].strides[0];
          here.operandCells.push_back(offer(maker, own - views[operand].cells, value - *own));
        }
      }
      cell.end = here.choices.size();
    }
    return here.choices.size();
  }

  std::vector<ProductSurvivors> take() { return std::move(survivors); }

private:
  /// The index of `cell` among the surviving cells of `product`.
  uint32_t offer(uint32_t product, uint64_t cell, double outside) {
    ProductSurvivors &there = survivors[product];
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
  std::vector<ProductSurvivors> survivors;
};

} // namespace

std::optional<std::vector<ProductSurvivors>>
findSurvivors(const EliminationOrder &order, const Elimination &elimination, double threshold, size_t maxChoices) {
  Descent descent(order, elimination, threshold);
  descent.addRoots();
  size_t numChoices = 0;
  for (size_t index = order.products.size(); index-- > 0;) {
    numChoices += descent.visit(index);
    if (numChoices > maxChoices)
      return std::nullopt;
  }
  return descent.take();
}

} // namespace apc::dp
