// Products in order, and the way back to an assignment.
#include "Elimination.h"

#include "llvm/ADT/STLExtras.h"

namespace apc::dp {

Elimination::Elimination(const ReducedProblem &reduced, const EliminationOrder &order, unsigned numThreads,
                         const Deadline &deadline)
    : reduced(reduced), order(order), numThreads(numThreads), deadline(deadline), unaryCells(reduced.unaries.size()),
      largestUnary(reduced.unaries.size()), productCells(order.products.size()), largestProduct(order.products.size()) {
  for (const DenseTable &leaf : reduced.leaves) {
    double largest = 0;
    for (double cell : leaf.cells)
      largest = cell > largest ? cell : largest;
    largestLeaf.push_back(largest);
  }
}

llvm::ArrayRef<double> Elimination::cellsOf(uint32_t table) const {
  if (table >= order.numLeaves)
    return productCells[table - order.numLeaves];
  return leavesAreZero ? llvm::ArrayRef(zeroLeaves[table]) : reduced.leaves[table].cells;
}

double Elimination::largestOf(uint32_t table) const {
  return table < order.numLeaves ? largestLeaf[table] : largestProduct[table - order.numLeaves];
}

void Elimination::weighUnaries(bool withSeconds, const Weights &weights) {
  for (auto [table, cells, largest] : llvm::zip(reduced.unaries, unaryCells, largestUnary)) {
    cells.resize(table.size());
    largest = 0;
    for (size_t strategy = 0; strategy < table.size(); ++strategy) {
      double seconds = withSeconds ? table.seconds[strategy] : 0;
      double sum = seconds + weights.secondsPerByte * static_cast<double>(table.persistentBytes[strategy]);
      bool allowed = table.transientBytes[strategy] <= weights.maxTransientBytes;
      cells[strategy] = allowed ? sum : std::numeric_limits<double>::quiet_NaN();
      largest = std::max(largest, sum);
    }
  }
}

void Elimination::useLeaves(bool withSeconds) {
  leavesAreZero = !withSeconds;
  if (withSeconds || zeroLeaves.size() == reduced.leaves.size())
    return;
  for (const DenseTable &leaf : reduced.leaves) {
    zeroLeaves.emplace_back(leaf.cells.begin(), leaf.cells.end());
    for (double &cell : zeroLeaves.back())
      cell = cell == cell ? 0 : cell;
  }
}

llvm::SmallVector<OperandView, 4> Elimination::operands(uint32_t product) const {
  llvm::SmallVector<OperandView, 4> views;
  for (const TableOperand &operand : order.products[product].operands)
    views.push_back(viewOf(operand, order.products[product].sizes, cellsOf(operand.table).data()));
  return views;
}

bool Elimination::run(const Weights &weights) {
  weighUnaries(/*withSeconds=*/true, weights);
  useLeaves(/*withSeconds=*/true);
  constantSum = reduced.constantSeconds;
  return compute();
}

bool Elimination::runForBytes(int64_t maxTransientBytes) {
  weighUnaries(/*withSeconds=*/false, {.secondsPerByte = 1, .maxTransientBytes = maxTransientBytes});
  useLeaves(/*withSeconds=*/false);
  constantSum = 0;
  return compute();
}

bool Elimination::compute() {
  for (auto [index, product] : llvm::enumerate(order.products)) {
    if (deadline.expired())
      return false;
    double sumOfLargest = product.unary ? largestUnary[*product.unary] : 0;
    for (const TableOperand &operand : product.operands)
      sumOfLargest += largestOf(operand.table);
    llvm::SmallVector<OperandView, 4> views = operands(index);
    llvm::ArrayRef<double> unary;
    if (product.unary)
      unary = unaryCells[*product.unary];
    productCells[index].resize(product.cells());
    constexpr double perAddition = 0.12; // nanoseconds: several go together
    deadline.spend(perAddition * product.work());
    largestProduct[index] =
        computeProduct({unary, views, product.sizes, 2 * sumOfLargest + 1}, productCells[index], numThreads);
  }
  return true;
}

std::optional<double> Elimination::total() const {
  double sum = constantSum;
  for (const EliminationStep &step : order.steps)
    if (step.neighbours.empty())
      sum += productCells[step.product].front();
  if (sum != sum)
    return std::nullopt;
  return sum;
}

std::vector<uint32_t> Elimination::decode() const {
  std::vector<uint32_t> chosen(reduced.numNodes(), 0);
  std::vector<double> sums;
  // With a relaxed order, the steps of one node follow each other.
  for (size_t end = order.steps.size(); end > 0;) {
    uint32_t node = order.steps[end - 1].node;
    sums.assign(reduced.unary(node).size(), 0.0);
    for (; end > 0 && order.steps[end - 1].node == node; --end) {
      const EliminationStep &step = order.steps[end - 1];
      const Product &product = order.products[step.product];
      llvm::SmallVector<uint32_t, 6> states = {0};
      for (uint32_t neighbour : step.neighbours)
        states.push_back(chosen[neighbour]);
      for (size_t v = 0; v < sums.size() && product.unary; ++v)
        sums[v] += unaryCells[*product.unary][v];
      for (const OperandView &view : operands(step.product)) {
        const double *cells = view.cells + view.offset(states);
        for (size_t v = 0; v < sums.size(); ++v)
          sums[v] += cells[v * view.strides[0]];
      }
    }
    std::optional<double> least;
    for (auto [strategy, sum] : llvm::enumerate(sums))
      if (sum == sum && (!least || sum < *least)) {
        least = sum;
        chosen[node] = strategy;
      }
  }
  return chosen;
}

std::optional<uint32_t> Elimination::firstStuckNode() const {
  for (const EliminationStep &step : order.steps)
    if (llvm::all_of(productCells[step.product], [](double cell) { return cell != cell; }))
      return step.node;
  return std::nullopt;
}

} // namespace apc::dp
