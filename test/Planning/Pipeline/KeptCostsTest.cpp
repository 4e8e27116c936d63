// Costs of what a backward pass reads, against every choice of values to keep.
#include "../../../lib/Planning/Pipeline/Bound/KeptCosts.h"
#include "../../Rounding.h"
#include "../GraphMaker.h"

#include <catch2/catch.hpp>

#include <random>

using namespace apc;

namespace {

/// The backward pass: an op tied to the first of the forward pass reads \p value.
void readBackward(GraphMaker &maker, ValueId value) {
  const std::string name = "back" + std::to_string(maker.graph.ops.size());
  const ValueId gradient = maker.relu(name, value);
  maker.graph.ties.front().push_back(maker.graph.value(gradient).producer);
  maker.sink(gradient);
}

/// x -> y = x . W -> z = relu(y), the first op leads gradients.
struct ShortStep {
  GraphMaker maker;
  ValueId x = maker.source("x", {256, 256}, ValueRole::Input);
  ValueId w = maker.source("w", {256, 256}, ValueRole::Parameter);
  ValueId y = maker.matmul("y", x, w), z = maker.relu("z", y);

  ShortStep() { maker.graph.ties = {{maker.graph.value(y).producer}}; }

  /// By op: 1 s for y, 5 s for all others.
  std::vector<double> seconds() const {
    std::vector<double> all(maker.graph.ops.size(), 5);
    all[maker.graph.value(y).producer.index()] = 1;
    return all;
  }
};

constexpr double bytes = 256 * 256 * 2;

/// Of a value: kept, or made again; others are not needed.
enum class Place : uint8_t { Unneeded, Kept, Remade };

/// The least over all places of values, in which what is remade has what it is made of; sources are at hand.
double leastOfAll(const OpGraph &graph, llvm::ArrayRef<double> seconds, double secondsPerByte) {
  std::vector<size_t> made; // values of the forward pass
  const std::vector<bool> follows = graph.followers(), isKept = graph.keptForBackward();
  for (auto [index, value] : llvm::enumerate(graph.values))
    if (!graph.op(value.producer).operands.empty() && !follows[value.producer.index()])
      made.push_back(index);
  std::vector<Place> places(graph.values.size(), Place::Unneeded);
  auto isPossible = [&] {
    return llvm::all_of(made, [&](size_t value) {
      const GraphOp &op = graph.op(graph.values[value].producer);
      const bool hasOperands = llvm::all_of(op.operands, [&](std::optional<ValueId> operand) {
        return !llvm::is_contained(made, operand->index()) || places[operand->index()] != Place::Unneeded;
      });
      return (!isKept[value] || places[value] != Place::Unneeded) && (places[value] != Place::Remade || hasOperands);
    });
  };
  auto paid = [&] {
    double sum = 0;
    for (size_t value : made) {
      const OpId op = graph.values[value].producer;
      const bool isProduct = graph.ruleOf(op).work == Work::Contraction;
      sum += places[value] == Place::Kept ? secondsPerByte * static_cast<double>(graph.values[value].shape.bytes())
             : places[value] == Place::Remade && isProduct ? seconds[op.index()]
                                                           : 0;
    }
    return sum;
  };
  std::optional<double> least;
  auto place = [&](auto &self, size_t number) -> void {
    if (number == made.size()) {
      if (isPossible())
        least = std::min(least.value_or(paid()), paid());
      return;
    }
    for (Place own : {Place::Unneeded, Place::Kept, Place::Remade}) {
      places[made[number]] = own;
      self(self, number + 1);
    }
  };
  place(place, 0);
  return *least;
}

/// Products and Relus of values by lot, some of which the backward pass reads.
OpGraph drawForward(std::mt19937_64 &random) {
  GraphMaker maker;
  const ValueId w = maker.source("w", {64, 64}, ValueRole::Parameter);
  std::vector<ValueId> made{maker.source("x", {64, 64}, ValueRole::Input)};
  for (size_t number = 0; number < 7; ++number) {
    const ValueId from = made[random() % made.size()], other = made[random() % made.size()];
    const std::string name = "v" + std::to_string(number);
    const size_t kind = number == 0 ? 0 : random() % 3;
    made.push_back(kind == 0   ? maker.matmul(name, from, w)
                   : kind == 1 ? maker.matmul(name, from, other)
                               : maker.relu(name, from));
  }
  maker.graph.ties = {{maker.graph.value(made[1]).producer}};
  for (size_t number = 1; number < made.size(); ++number)
    if (random() % 2 || number + 1 == made.size())
      readBackward(maker, made[number]);
  return std::move(maker.graph);
}

} // namespace

TEST_CASE("A value is kept, or made again of what is kept") {
  ShortStep step;
  readBackward(step.maker, step.y);
  readBackward(step.maker, step.z);
  const std::vector<PaidAt> costs = keptCostsOf(step.maker.graph, step.seconds(), 1);
  for (double cost : {0.1 / bytes, 0.5 / bytes}) {
    const PaidLine line = lineBelow(costs, cost); // y alone, of which z is made in no time
    CHECK(line.seconds == Approx(0).margin(1e-9));
    CHECK(line.bytes == Approx(bytes));
  }
  CHECK(lineBelow(costs, 4 / bytes).paid(4 / bytes) == Approx(1)); // nothing
  CHECK(lineBelow(costs, 1e9).paid(1e9) == Approx(1));
  const std::vector<PaidAt> onFour = keptCostsOf(step.maker.graph, step.seconds(), 4);
  CHECK(lineBelow(onFour, 0.5 / bytes).bytes == Approx(bytes / 4));
}

TEST_CASE("Nothing is paid for values that the backward pass does not read, for parameters and for inputs") {
  ShortStep step;
  CHECK(keptCostsOf(step.maker.graph, step.seconds(), 1).empty());
  readBackward(step.maker, step.x);
  readBackward(step.maker, step.w);
  for (const PaidAt &cost : keptCostsOf(step.maker.graph, step.seconds(), 1))
    CHECK(cost.seconds == 0);
}

TEST_CASE("Kept values cost the least of all choices of them") {
  std::mt19937_64 random(61);
  size_t numTight = 0, numCosts = 0;
  for (size_t number = 0; number < 60; ++number) {
    const OpGraph graph = drawForward(random);
    std::vector<double> seconds;
    for (size_t op = 0; op < graph.ops.size(); ++op)
      seconds.push_back(static_cast<double>(1 + random() % 9));
    const std::vector<PaidAt> costs = keptCostsOf(graph, seconds, 1);
    for (double cost : {0.3, 1.0, 2.0, 4.0, 7.0, 30.0}) {
      cost /= 64 * 64 * 2;
      const double known = lineBelow(costs, cost).paid(cost), least = leastOfAll(graph, seconds, cost);
      CHECK(known <= least * (1 + rounding));
      numTight += known >= least * 0.999;
      ++numCosts;
    }
  }
  CHECK(numTight == numCosts);
}
