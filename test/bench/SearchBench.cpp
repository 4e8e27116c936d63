// How long a search takes, how much memory, and whether it proves its answer: chains of many kinds and sizes, up to
// 100,000 nodes, and problems with the repetition of a transformer. Each row runs in a process of its own, so that its
// peak memory is its own.
#include "OwnProcess.h"

#include "apc/Search/Algorithms.h"
#include "apc/Support/Error.h"
#include "apc/Support/TextTable.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>

using namespace apc;

namespace {

class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  uint64_t next() {
    uint64_t mixed = state += 0x9e3779b97f4a7c15ULL;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
    return mixed ^ (mixed >> 31);
  }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

private:
  uint64_t state;
};

/// The work that a row of the table runs.
struct Case {
  enum class Kind { Chain, Residual, Ladder, Transformer } kind;
  size_t numNodes;
  size_t numStrategies;
  size_t numDistinct; ///< tables in turn; numNodes: all different
  bool limited;       ///< a memory limit half-way between the least and the fastest's
  unsigned seed = 1;
};

NodeTableId addRandomNodeTable(Problem &problem, size_t size, Random &random) {
  NodeTable table;
  for (size_t strategy = 0; strategy < size; ++strategy) {
    table.names.push_back("s" + std::to_string(strategy));
    table.costs.push_back(
        {random.unit(), static_cast<int64_t>(random.unit() * 1e9), static_cast<int64_t>(random.unit() * 1e9)});
  }
  return problem.addNodeTable(std::move(table));
}

PairTableId addRandomPairTable(Problem &problem, size_t size, Random &random) {
  PairTable table(size, size);
  for (size_t row = 0; row < size; ++row)
    for (size_t column = 0; column < size; ++column)
      table.set(row, column, row == column ? 0 : random.unit());
  return problem.addPairTable(std::move(table));
}

/// Distances of the nodes that a node reads from, by position in its layer.
std::vector<std::vector<size_t>> pattern(Case::Kind kind) {
  switch (kind) {
  case Case::Kind::Chain:
    return {{1}};
  case Case::Kind::Residual:
    return {{1, 2}};
  case Case::Kind::Ladder:
    return {{1, 3}};
  case Case::Kind::Transformer:
    // norm, q, k, v, scores, softmax, context, projection, add, norm, up, activation, down, add; the residual stream is
    // position 13 of the layer before, then position 8.
    return {{1}, {1}, {2}, {3}, {3, 2}, {1}, {1, 3}, {1}, {1, 9}, {1}, {1}, {1}, {1}, {1, 5}};
  }
  llvm_unreachable("every kind has a pattern");
}

Problem build(const Case &c) {
  Random random(c.seed);
  std::vector<std::vector<size_t>> reads = pattern(c.kind);
  Problem problem;
  std::vector<NodeTableId> nodeTables;
  std::vector<PairTableId> pairTables;
  for (size_t table = 0; table < c.numDistinct; ++table) {
    nodeTables.push_back(addRandomNodeTable(problem, c.numStrategies, random));
    for (size_t edge = 0; edge < 2; ++edge)
      pairTables.push_back(addRandomPairTable(problem, c.numStrategies, random));
  }
  for (size_t node = 0; node < c.numNodes; ++node) {
    problem.addNode("n" + std::to_string(node), nodeTables[node % c.numDistinct]);
    for (auto [index, distance] : llvm::enumerate(reads[node % reads.size()]))
      if (distance <= node)
        problem.addEdge(NodeId(node - distance), NodeId(node), pairTables[node % c.numDistinct * 2 + index]);
  }
  return problem;
}

/// Half-way between the persistent bytes of the fastest assignment and the least there are, beside the transient bytes
/// of the fastest.
void setBindingLimit(Problem &problem) {
  Evaluation fastest = evaluate(problem, llvm::cantFail(searchDp(problem, {})).assignment);
  int64_t least = 0;
  for (size_t node = 0; node < problem.nodes.size(); ++node) {
    llvm::ArrayRef<StrategyCost> costs = problem.tableOf(NodeId(node)).costs;
    least += llvm::min_element(costs, [](const StrategyCost &a, const StrategyCost &b) {
               return a.persistentBytes < b.persistentBytes;
             })->persistentBytes;
  }
  problem.memoryLimitBytes = (fastest.persistentBytes + least) / 2 + fastest.transientBytes;
}

llvm::StringRef kindName(Case::Kind kind) {
  switch (kind) {
  case Case::Kind::Chain:
    return "chain";
  case Case::Kind::Residual:
    return "residual chain";
  case Case::Kind::Ladder:
    return "ladder";
  case Case::Kind::Transformer:
    return "transformer";
  }
  llvm_unreachable("every kind has a name");
}

/// Runs one case and writes the cells that depend on its outcome.
std::vector<std::string> measure(const Search &search, const Case &c, const SearchOptions &options) {
  Problem problem = build(c);
  if (c.limited)
    setBindingLimit(problem);
  auto start = std::chrono::steady_clock::now();
  double startOfWork = processorSeconds();
  llvm::Expected<SearchResult> result = search.run(problem, options);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  double work = processorSeconds() - startOfWork;
  if (!result)
    return {formatSeconds(seconds), formatSeconds(work), "error", takeMessage(result.takeError()).second, "", ""};
  return {formatSeconds(seconds),
          formatSeconds(work),
          searchStatusName(result->status).str(),
          llvm::formatv("{0:e2}", result->gap()).str(),
          llvm::formatv("{0:f6}", result->seconds).str(),
          peakMemory()};
}

std::vector<Case> cases(bool limited) {
  using Kind = Case::Kind;
  std::vector<Case> result;
  for (Kind kind : {Kind::Chain, Kind::Residual, Kind::Ladder})
    for (size_t numNodes : {100, 400, 1000})
      for (size_t numStrategies : {8, 32})
        for (size_t numDistinct : {size_t(1), numNodes})
          result.push_back({kind, numNodes, numStrategies, numDistinct, limited});
  for (size_t numLayers : {12, 24, 48, 96})
    for (size_t numStrategies : {32, 125})
      result.push_back({Kind::Transformer, 14 * numLayers, numStrategies, 14, limited});
  result.push_back({Kind::Transformer, 14 * 200, 125, 14, limited});
  for (size_t numDistinct : {size_t(4), size_t(100'000)})
    result.push_back({Kind::Chain, 100'000, 8, numDistinct, limited});
  return result;
}

} // namespace

/// `bench-SearchBench [limited] [SEARCH [GAP]]`: all rows, with `dp` or the search that is named, to the optimum or to
/// a gap, as 0.001; `limited`: with a binding memory limit.
int main(int argc, char **argv) {
  bool limited = argc > 1 && llvm::StringRef(argv[1]) == "limited";
  llvm::Expected<Search> search = findSearch(argc > 1 + limited ? argv[1 + limited] : "dp");
  if (!search) {
    llvm::errs() << "bench: " << takeMessage(search.takeError()).second << "\n";
    return 1;
  }
  SearchOptions options;
  if (argc > 2 + limited)
    options.gapTolerance = std::atof(argv[2 + limited]);
  TextTable table;
  table.addColumn("problem");
  for (const char *title : {"nodes", "strategies", "distinct tables", "time", "processor time"})
    table.addColumn(title, TextTable::Align::Right);
  table.addColumn("status");
  for (const char *title : {"gap", "seconds of the answer", "peak memory"})
    table.addColumn(title, TextTable::Align::Right);
  for (const Case &c : cases(limited)) {
    std::vector<std::string> row = {kindName(c.kind).str(), std::to_string(c.numNodes), std::to_string(c.numStrategies),
                                    std::to_string(c.numDistinct)};
    llvm::append_range(row, inOwnProcess([&] { return measure(*search, c, options); }));
    table.addRow(std::move(row));
    std::fputs(".", stderr);
  }
  std::fputs("\n", stderr);
  table.print(llvm::outs());
  return 0;
}
