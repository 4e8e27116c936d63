// Layers as the longest repetition among the runs of ops between places to cut.
#include "LayerwiseCuts.h"

#include "apc/Graph/LayerCuts.h"
#include "apc/Graph/StageSplit.h"
#include "apc/Planning/ExpertLayouts.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

namespace {

/// The ops between two places: their rules, and how many of them are contractions.
struct Run {
  std::vector<RuleId> rules;
  size_t contractions = 0;
};

Run runBetween(const OpGraph &graph, llvm::ArrayRef<OpId> forward, size_t begin, size_t end) {
  Run run;
  for (OpId op : forward.slice(begin, end - begin)) {
    run.rules.push_back(graph.op(op).rule);
    run.contractions += graph.ruleOf(op).work == Work::Contraction ? 1 : 0;
  }
  return run;
}

/// The places [first, last) of the longest repetition of one run.
std::pair<size_t, size_t> longestRepetition(llvm::ArrayRef<Run> runs) {
  std::pair<size_t, size_t> longest(0, 0);
  for (size_t begin = 0, end = 0; begin < runs.size(); begin = end) {
    for (end = begin; end < runs.size() && runs[end].rules == runs[begin].rules;)
      ++end;
    if (end - begin > longest.second - longest.first)
      longest = {begin, end};
  }
  return longest;
}

} // namespace

std::vector<size_t> layerStarts(const OpGraph &graph) {
  std::vector<OpId> forward = forwardOps(graph);
  std::vector<size_t> places;
  for (const CutPosition &cut : layerCuts(graph))
    places.push_back(cut.position);
  std::vector<Run> runs;
  for (size_t place = 0; place < places.size(); ++place)
    runs.push_back(
        runBetween(graph, forward, places[place], place + 1 < places.size() ? places[place + 1] : forward.size()));
  auto [first, last] = longestRepetition(runs);
  if (last - first < 2)
    return {};
  auto isLayer = [&](size_t begin, size_t end) {
    return runBetween(graph, forward, begin, end).contractions >= runs[first].contractions;
  };
  std::vector<size_t> starts(places.begin() + static_cast<std::ptrdiff_t>(first),
                             places.begin() + static_cast<std::ptrdiff_t>(last));
  if (isLayer(0, starts.front()))
    starts.insert(starts.begin(), 0);
  if (last < places.size() && isLayer(places[last], forward.size()))
    starts.push_back(places[last]);
  return starts;
}

int64_t numLayers(const OpGraph &graph) { return static_cast<int64_t>(layerStarts(graph).size()); }

int64_t mostStages(const OpGraph &graph) { return static_cast<int64_t>(layerCuts(graph).size()) + 1; }

std::vector<size_t> layerwiseCuts(const OpGraph &graph, size_t numStages) {
  std::vector<size_t> starts = layerStarts(graph), cuts;
  if (starts.empty() || starts.size() % numStages != 0)
    return {};
  for (size_t stage = 1; stage < numStages; ++stage)
    cuts.push_back(starts[stage * starts.size() / numStages]);
  return cuts;
}

} // namespace apc
