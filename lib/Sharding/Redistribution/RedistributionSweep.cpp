// Seconds from many sources at once, by the algorithm of Bellman and Ford: shorter paths are looked for along all edges
// until there are none. Sixteen sources stand side by side, so that one look at an edge serves all of them.
#include "RedistributionSearch.h"

#include "llvm/Support/Compiler.h"

#include <algorithm>
#include <array>
#include <bit>

namespace apc {

namespace {

constexpr size_t numLanes = 16;
/// Seconds from each of the sources to one state.
using Lanes = std::array<double, numLanes>;

/// True when a path through `via`, `seconds` away, is shorter for some source. Two plain loops, and not inlined, so
/// that compilers make vector instructions of them. Labels are equal when their bits are: none is negative or no
/// number.
LLVM_ATTRIBUTE_NOINLINE bool shorten(Lanes &labels, const Lanes &via, double seconds) {
  Lanes best;
  for (size_t lane = 0; lane < numLanes; ++lane)
    best[lane] = std::min(labels[lane], via[lane] + seconds);
  uint64_t difference = 0;
  for (size_t lane = 0; lane < numLanes; ++lane)
    difference |= std::bit_cast<uint64_t>(best[lane]) ^ std::bit_cast<uint64_t>(labels[lane]);
  labels = best;
  return difference != 0;
}

} // namespace

void RedistributionSearch::sweep(llvm::ArrayRef<uint32_t> sources) {
  assert(sources.size() <= numLanes && "too many sources for one sweep");
  auto isWhole = [&](uint32_t source) { return source < graph.numWholeStates(); };
  size_t numStates = llvm::all_of(sources, isWhole) ? graph.numWholeStates() : graph.numStates();
  Lanes nowhere;
  nowhere.fill(notReached);
  std::vector<Lanes> labels(numStates, nowhere);
  std::vector<char> isDue(numStates, false);
  for (auto [lane, source] : llvm::enumerate(sources)) {
    labels[source][lane] = 0;
    isDue[source] = true;
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t state = 0; state < numStates; ++state) {
      if (!isDue[state])
        continue;
      isDue[state] = false;
      for (const CostedEdge &edge : costedEdges(state))
        if (shorten(labels[edge.target], labels[state], edge.seconds))
          isDue[edge.target] = changed = true;
    }
  }
  for (auto [lane, source] : llvm::enumerate(sources)) {
    std::vector<double> &seconds = swept[source];
    seconds.resize(numStates);
    for (size_t state = 0; state < numStates; ++state)
      seconds[state] = labels[state][lane];
  }
}

void RedistributionSearch::searchFrom(llvm::ArrayRef<std::optional<uint32_t>> sources) {
  std::vector<uint32_t> missing;
  for (std::optional<uint32_t> source : sources)
    if (source && !swept.contains(*source))
      missing.push_back(*source);
  llvm::sort(missing); // those that are not partial first
  missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  for (llvm::ArrayRef<uint32_t> rest = missing; !rest.empty(); rest = rest.drop_front(std::min(numLanes, rest.size())))
    sweep(rest.take_front(numLanes));
}

} // namespace apc
