// Local minima of the bytes that cross, and repetitions among the runs of ops between them.
#include "apc/Graph/LayerCuts.h"

#include "StageParts.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

namespace apc {

namespace {

/// By op of the forward pass: the contractions before it. The last entry counts all. Contractions of parameters and
/// constants alone do not count: they go with their readers, wherever they stand.
std::vector<size_t> contractionsBefore(const OpGraph &graph, llvm::ArrayRef<OpId> forward) {
  const std::vector<bool> isFixed = valuesOfStep(graph);
  std::vector<size_t> before = {0};
  for (OpId op : forward) {
    const bool counts = graph.ruleOf(op).work == Work::Contraction && !isFixed[graph.op(op).results.front()->index()];
    before.push_back(before.back() + (counts ? 1 : 0));
  }
  return before;
}

/// Those before the last contraction: what comes behind it, such as a loss, is no layer.
std::vector<CutPosition> beforeLast(std::vector<CutPosition> all, llvm::ArrayRef<size_t> contractions) {
  llvm::erase_if(all, [&](const CutPosition &place) { return contractions[place.position] == contractions.back(); });
  return all;
}

/// Places where no fewer bytes cross on either side, once between two contractions.
std::vector<CutPosition> narrowPlaces(std::vector<CutPosition> all, llvm::ArrayRef<size_t> contractions) {
  std::vector<CutPosition> narrow;
  for (size_t begin = 0, end = 0; begin < all.size(); begin = end) {
    for (end = begin; end < all.size() && all[end].bytes == all[begin].bytes;)
      ++end;
    bool isLow = (begin == 0 || all[begin - 1].bytes > all[begin].bytes) &&
                 (end == all.size() || all[end].bytes > all[begin].bytes);
    std::optional<size_t> last; // contractions before the last place of this plateau
    for (size_t place = begin; isLow && place < end; ++place) {
      size_t before = contractions[all[place].position];
      if (last == before)
        continue;
      last = before;
      narrow.push_back(std::move(all[place]));
    }
  }
  return narrow;
}

/// Between each two contractions the place where the fewest bytes cross.
std::vector<CutPosition> narrowestBetween(std::vector<CutPosition> all, llvm::ArrayRef<size_t> contractions) {
  std::vector<CutPosition> narrowest;
  for (CutPosition &place : all) {
    if (contractions[place.position] == 0)
      continue;
    bool isFirst = narrowest.empty() || contractions[narrowest.back().position] != contractions[place.position];
    if (isFirst)
      narrowest.push_back(std::move(place));
    else if (place.bytes < narrowest.back().bytes)
      narrowest.back() = std::move(place);
  }
  return narrowest;
}

/// Leaves out places where more bytes cross than at the places beside them, as long as there are such.
std::vector<CutPosition> withoutPeaks(std::vector<CutPosition> places) {
  std::vector<CutPosition> left;
  auto endsInPeak = [&](const CutPosition &next) {
    return left.size() > 1 && left.back().bytes > left[left.size() - 2].bytes && left.back().bytes > next.bytes;
  };
  for (CutPosition &place : places) {
    while (endsInPeak(place))
      left.pop_back();
    left.push_back(std::move(place));
  }
  return left;
}

/// A number for each run of ops between one place and the next (or the end), equal for runs of equal rules.
std::vector<size_t> kindsOfRuns(const OpGraph &graph, llvm::ArrayRef<OpId> forward, llvm::ArrayRef<CutPosition> cuts) {
  std::map<std::vector<RuleId>, size_t> numbers;
  std::vector<size_t> kinds;
  for (size_t cut = 0; cut < cuts.size(); ++cut) {
    size_t end = cut + 1 < cuts.size() ? cuts[cut + 1].position : forward.size();
    std::vector<RuleId> rules;
    for (OpId op : forward.slice(cuts[cut].position, end - cuts[cut].position))
      rules.push_back(graph.op(op).rule);
    kinds.push_back(numbers.try_emplace(std::move(rules), numbers.size()).first->second);
  }
  return kinds;
}

/// Runs that repeat up to a place: 2 0 1 0 1 0 1 ends with a period of 2 and a length of 6.
struct Repetition {
  size_t period = 1;
  size_t length = 1;
};

/// The longest one that ends before `end`, and among equally long ones that of the shortest period. Models end with
/// whole layers more often than they begin with them, for the first layer may make what all read.
Repetition longestRepetition(llvm::ArrayRef<size_t> kinds, size_t end) {
  Repetition longest;
  for (size_t period = 1; 2 * period <= end; ++period) {
    size_t equal = 0;
    while (period + equal < end && kinds[end - 1 - equal] == kinds[end - 1 - equal - period])
      ++equal;
    size_t length = (equal / period + 1) * period;
    if (equal >= period && length > longest.length)
      longest = {period, length};
  }
  return longest;
}

} // namespace

std::vector<CutPosition> layerCuts(const OpGraph &graph) {
  std::vector<OpId> forward = forwardOps(graph);
  std::vector<size_t> contractions = contractionsBefore(graph, forward);
  std::vector<CutPosition> all = beforeLast(cutPositions(graph, forward), contractions);
  std::vector<CutPosition> narrow = withoutPeaks(narrowPlaces(all, contractions));
  auto isBehindFirst = [&](const CutPosition &place) { return contractions[place.position] > 0; };
  if (llvm::count_if(narrow, isBehindFirst) < 2) // layers that become ever wider or narrower
    narrow = withoutPeaks(narrowestBetween(std::move(all), contractions));
  std::vector<size_t> kinds = kindsOfRuns(graph, forward, narrow);
  std::vector<CutPosition> cuts;
  for (size_t end = narrow.size(); end > 0;) {
    Repetition found = longestRepetition(kinds, end);
    size_t begin = end - found.length;
    auto first = narrow.begin() + static_cast<std::ptrdiff_t>(begin);
    auto least = std::min_element(first, first + static_cast<std::ptrdiff_t>(found.period),
                                  [](const CutPosition &a, const CutPosition &b) { return a.bytes < b.bytes; });
    for (auto place = static_cast<size_t>(least - narrow.begin()); place < end; place += found.period)
      cuts.push_back(narrow[place]);
    end = begin;
  }
  llvm::sort(cuts, [](const CutPosition &a, const CutPosition &b) { return a.position < b.position; });
  llvm::erase_if(cuts, std::not_fn(isBehindFirst));
  return cuts;
}

} // namespace apc
