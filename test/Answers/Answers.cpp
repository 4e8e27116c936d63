// Decisions of the core, to the last bit: strategies, costs and the answers of every search for problems that are made
// here, printed with floats in hexadecimal. Two builds of this program that print the same bytes decide alike; ctest
// holds the release build against the one with sanitizers, assertions and another compiler.
//
//   APCAnswers [THREADS]
#include "Search/RandomProblems.h"
#include "apc/Cost/GraphCost.h"
#include "apc/Planning/BuildProblem.h"
#include "apc/Search/Algorithms.h"
#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace apc;

namespace {

/// Layers of a transformer by hand: a batch of 4 sequences, half precision.
class Transformer {
public:
  OpGraph take(unsigned layers) {
    ValueId x = source("x", {4, 2048, 4096}, ValueRole::Input);
    for (unsigned layer = 0; layer < layers; ++layer) {
      ValueId h = apply("... !k -> ... !k", {x}, Work::Stream, 8);
      h = apply("... m k, k n -> ... m n", {h, parameter({4096, 16384})}, Work::Contraction, 2);
      h = apply("... -> ...", {h}, Work::Stream, 10);
      h = apply("... m k, k n -> ... m n", {h, parameter({16384, 4096})}, Work::Contraction, 2);
      x = apply("..., ... -> ...", {x, h}, Work::Stream, 1);
    }
    GraphOp end{"end", "output", ruleOf("... ->", {x}, Work::View, 0), NumberFormat::F16, {x}, {}};
    graph.ops.push_back(std::move(end));
    return std::move(graph);
  }

private:
  static TensorShape shapeOf(llvm::ArrayRef<int64_t> dims) { return {{dims.begin(), dims.end()}, 16}; }

  ValueId parameter(llvm::ArrayRef<int64_t> dims) {
    return source("w" + std::to_string(graph.ops.size()), dims, ValueRole::Parameter);
  }

  ValueId source(const std::string &name, llvm::ArrayRef<int64_t> dims, ValueRole role) {
    FactorRuleBuilder rule;
    rule.addResult(rule.addFactors("d", dims), 16);
    rule.setWork(Work::View);
    graph.rules.push_back(rule.take());
    return add({name, "source", RuleId(graph.rules.size() - 1), NumberFormat::F16, {}, {}}, shapeOf(dims), role);
  }

  ValueId add(GraphOp op, TensorShape shape, ValueRole role) {
    ValueId result(graph.values.size());
    graph.values.push_back({op.name, std::move(shape), role, OpId(graph.ops.size()), 0});
    op.results = {result};
    graph.ops.push_back(std::move(op));
    return result;
  }

  /// Equal ops share their rule.
  RuleId ruleOf(llvm::StringRef text, llvm::ArrayRef<ValueId> operands, Work work, double flops) {
    RuleText parsed = llvm::cantFail(RuleText::parse(text));
    std::vector<RuleText::BoundShape> given, made;
    for (ValueId value : operands)
      given.emplace_back(graph.value(value).shape);
    for (const auto &dims : llvm::cantFail(parsed.inferResults(given)))
      made.emplace_back(shapeOf(dims));
    FactorRule rule = llvm::cantFail(parsed.bind(given, made, flops));
    rule.work = work;
    auto known = llvm::find(graph.rules, rule);
    if (known != graph.rules.end())
      return RuleId(known - graph.rules.begin());
    graph.rules.push_back(std::move(rule));
    return RuleId(graph.rules.size() - 1);
  }

  ValueId apply(llvm::StringRef text, llvm::ArrayRef<ValueId> operands, Work work, double flops) {
    RuleId rule = ruleOf(text, operands, work, flops);
    GraphOp op{"op" + std::to_string(graph.ops.size()), "op", rule, NumberFormat::F16, {}, {}};
    op.operands.assign(operands.begin(), operands.end());
    return add(std::move(op), graph.rules[rule.index()].resultShape(0), ValueRole::Activation);
  }

  OpGraph graph;
};

void print(const SearchResult &result, llvm::raw_ostream &os) {
  os << searchStatusName(result.status) << llvm::format(" %a s, bound %a s, ", result.seconds, result.lowerBoundSeconds)
     << result.bytes << " bytes:";
  for (uint32_t strategy : result.assignment.strategies)
    os << " " << strategy;
  os << " " << result.reason << "\n";
}

/// All searches but those that take too long on a problem of a model. No clock may end them.
std::optional<Assignment> solve(const Problem &problem, unsigned threads, bool isSmall, llvm::raw_ostream &os) {
  std::optional<Assignment> best;
  for (const Search &search : allSearches()) {
    if (!isSmall && (search.name == "exhaustive" || search.name == "ilp"))
      continue;
    llvm::Expected<SearchResult> result = search.run(problem, {.timeLimitSeconds = 3600, .numThreads = threads});
    os << "  " << search.name << " ";
    if (!result) {
      os << takeMessage(result.takeError()).second << "\n";
      continue;
    }
    print(*result, os);
    if (result->hasAnswer() && search.name == defaultSearch)
      best = result->assignment;
  }
  return best;
}

void printModel(int64_t devices, unsigned threads, llvm::raw_ostream &os) {
  OpGraph graph = Transformer().take(6);
  Cluster cluster = llvm::cantFail(withDevices(llvm::cantFail(loadCluster("dgx-a100-80gb")), devices));
  for (const Mesh &mesh : logicalMeshes(Mesh::fromLevels(cluster.pool.levelSizes()), 3)) {
    CostModel model(cluster.pool, mesh);
    PlanningProblem planning = buildProblem(graph, model);
    os << "transformer on " << mesh.str() << "\n";
    for (auto [index, table] : llvm::enumerate(planning.problem.nodeTables))
      for (const auto &[name, cost] : llvm::zip_equal(table.names, table.costs))
        os << "  table " << index << " " << name
           << llvm::format(" %a %lld %lld\n", cost.seconds, static_cast<long long>(cost.persistentBytes),
                           static_cast<long long>(cost.transientBytes));
    std::optional<Assignment> best = solve(planning.problem, threads, false, os);
    if (!best)
      continue;
    GraphCost cost = llvm::cantFail(costOfGraph(graph, planning.decode(*best), model));
    os << llvm::format("  program %a s, %a s of communication, ", cost.seconds(), cost.communicationSeconds)
       << cost.memory.total() << " bytes\n";
    // A limit that binds: three quarters of the bytes of the fastest.
    planning.problem.memoryLimitBytes = evaluate(planning.problem, *best).bytes() / 4 * 3;
    solve(planning.problem, threads, false, os);
  }
}

} // namespace

int main(int argc, char **argv) {
  unsigned threads = argc > 1 && llvm::StringRef(argv[1]) == "2" ? 2 : 1;
  llvm::raw_ostream &os = llvm::outs();
  test::Random random(20);
  for (size_t index = 0; index < 64; ++index) {
    os << "random problem " << index << "\n";
    solve(test::randomProblem(test::recipeOf(index, random), random), threads, true, os);
  }
  printModel(16, threads, os);
  printModel(48, threads, os);
  return 0;
}
