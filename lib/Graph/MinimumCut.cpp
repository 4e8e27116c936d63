// Boost.Graph's maximum flow on nodes that have two halves.
#include "apc/Graph/MinimumCut.h"

#include "llvm/ADT/STLExtras.h"

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>

#include <numeric>

namespace apc {

namespace {

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;

struct Pipe {
  int64_t capacity = 0, left = 0;
  Traits::edge_descriptor reverse;
};
struct Half {
  boost::default_color_type color = boost::white_color;
  Traits::edge_descriptor predecessor;
  int64_t distance = 0;
};
using Flow = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, Half, Pipe>;

/// Flow runs from the targets to the sources, against the edges: what it then still reaches from its start is as little
/// as there is, so that the cut is the nearest to the targets.
class FlowGraph {
public:
  explicit FlowGraph(const CutGraph &graph)
      : numNodes(graph.weights.size()), flow(2 * numNodes + 2),
        most(std::accumulate(graph.weights.begin(), graph.weights.end(), int64_t(1))) {
    for (auto [node, weight] : llvm::enumerate(graph.weights))
      add(entry(node), exit(node), weight);
    for (auto [from, to] : graph.edges)
      add(exit(to), entry(from), most);
    for (size_t target : graph.targets)
      add(start(), entry(target), most);
    for (size_t source : graph.sources)
      add(exit(source), end(), most);
  }

  std::vector<size_t> cut() {
    boost::boykov_kolmogorov_max_flow(flow, boost::get(&Pipe::capacity, flow), boost::get(&Pipe::left, flow),
                                      boost::get(&Pipe::reverse, flow), boost::get(&Half::predecessor, flow),
                                      boost::get(&Half::color, flow), boost::get(&Half::distance, flow),
                                      boost::get(boost::vertex_index, flow), start(), end());
    std::vector<size_t> nodes;
    for (size_t node = 0; node < numNodes; ++node)
      if (isReached(entry(node)) && !isReached(exit(node)))
        nodes.push_back(node);
    return nodes;
  }

private:
  size_t entry(size_t node) const { return 2 * node; }
  size_t exit(size_t node) const { return 2 * node + 1; }
  size_t start() const { return 2 * numNodes; }
  size_t end() const { return 2 * numNodes + 1; }
  bool isReached(size_t half) const { return flow[half].color == boost::black_color; }

  void add(size_t from, size_t to, int64_t capacity) {
    auto there = boost::add_edge(from, to, Pipe{capacity, 0, {}}, flow).first;
    auto back = boost::add_edge(to, from, Pipe{0, 0, there}, flow).first;
    flow[there].reverse = back;
  }

  size_t numNodes;
  Flow flow;
  int64_t most; ///< more than all nodes weigh together
};

} // namespace

std::vector<size_t> minimumNodeCut(const CutGraph &graph) { return FlowGraph(graph).cut(); }

} // namespace apc
