// Shortest paths from pins.
#include "PinPaths.h"

#include "apc/Support/Units.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <deque>
#include <map>
#include <queue>
#include <tuple>

namespace apc {

namespace {

/// "'a' -> 'b' -> 'c'"; a long path is shortened to its ends.
std::string pathText(const Problem &problem, llvm::ArrayRef<uint32_t> path) {
  constexpr size_t ends = 3;
  std::vector<std::string> words;
  for (auto [index, node] : llvm::enumerate(path)) {
    if (path.size() > 2 * ends + 1 && index == ends)
      words.push_back(llvm::formatv("({0} more)", path.size() - 2 * ends).str());
    if (path.size() <= 2 * ends + 1 || index < ends || index >= path.size() - ends)
      words.push_back("'" + problem.nodes[node].name + "'");
  }
  return llvm::join(words, " -> ");
}

/// For every node: the pinned node that it follows, and the neighbour before it on the path from there.
struct PinOrigins {
  std::vector<uint32_t> pinned, via;
};

/// Shortest paths from all pins at once: Dijkstra 1959.
PinOrigins originsOf(const Problem &problem, const Assignment &assignment, const Domains &edges) {
  size_t numNodes = problem.nodes.size();
  PinOrigins origins{std::vector<uint32_t>(numNodes, nobody), std::vector<uint32_t>(numNodes, nobody)};
  using Path = std::tuple<double, unsigned, uint32_t, uint32_t>; // seconds, edges, node, the node before it
  std::priority_queue<Path, std::vector<Path>, std::greater<>> paths;
  for (uint32_t node = 0; node < numNodes; ++node)
    if (!problem.nodes[node].pin.empty())
      paths.emplace(0, 0, node, nobody);
  while (!paths.empty()) {
    auto [seconds, length, node, before] = paths.top();
    paths.pop();
    if (origins.pinned[node] != nobody)
      continue;
    origins.via[node] = before;
    origins.pinned[node] = before == nobody ? node : origins.pinned[before];
    for (const Incidence &end : edges.incidences(node)) {
      double step = end.at(assignment.strategies[node], assignment.strategies[end.other]).value_or(0);
      if (origins.pinned[end.other] == nobody)
        paths.emplace(seconds + step, length + 1, end.other, node);
    }
  }
  return origins;
}

/// From the pinned node to `node`.
std::vector<uint32_t> pathTo(uint32_t node, llvm::ArrayRef<uint32_t> via) {
  std::vector<uint32_t> path;
  for (; node != nobody; node = via[node])
    path.push_back(node);
  std::reverse(path.begin(), path.end());
  return path;
}

/// The places where two pins meet: the slowest edge, and the sum over all.
struct Meeting {
  const Edge *slowest = nullptr;
  double slowestSeconds = 0, seconds = 0;
  unsigned count = 0;
};

std::string meetingText(const Problem &problem, const Meeting &meeting, const PinOrigins &origins) {
  uint32_t from = meeting.slowest->from.value, to = meeting.slowest->to.value;
  std::string others;
  if (meeting.count > 1)
    others = llvm::formatv("; {0} such places take {1}", meeting.count, formatSeconds(meeting.seconds)).str();
  return llvm::formatv(
             "pins meet at a cost where '{0}' hands over to '{1}', which takes {2}: {3} comes by {4}, and {5} by "
             "{6}{7}",
             problem.nodes[from].name, problem.nodes[to].name, formatSeconds(meeting.slowestSeconds),
             problem.nodes[origins.pinned[from]].pin, pathText(problem, pathTo(from, origins.via)),
             problem.nodes[origins.pinned[to]].pin, pathText(problem, pathTo(to, origins.via)), others)
      .str();
}

} // namespace

std::vector<std::string> disagreements(const Problem &problem, const Assignment &assignment, const Domains &edges) {
  PinOrigins origins = originsOf(problem, assignment, edges);
  std::map<std::pair<std::string, std::string>, Meeting> meetings;
  for (const Edge &edge : problem.edges) {
    uint32_t from = origins.pinned[edge.from.index()], to = origins.pinned[edge.to.index()];
    if (from == nobody || to == nobody || problem.nodes[from].pin == problem.nodes[to].pin)
      continue;
    double seconds = problem.tableOf(edge).at(assignment[edge.from], assignment[edge.to]).value_or(0);
    if (seconds == 0)
      continue;
    Meeting &meeting = meetings[std::minmax(problem.nodes[from].pin, problem.nodes[to].pin)];
    meeting.seconds += seconds;
    ++meeting.count;
    if (!meeting.slowest || seconds > meeting.slowestSeconds) {
      meeting.slowest = &edge;
      meeting.slowestSeconds = seconds;
    }
  }
  std::vector<Meeting> sorted;
  for (const auto &entry : meetings)
    sorted.push_back(entry.second);
  llvm::stable_sort(sorted, [](const Meeting &a, const Meeting &b) { return a.seconds > b.seconds; });
  std::vector<std::string> notes;
  for (const Meeting &meeting : sorted)
    notes.push_back(meetingText(problem, meeting, origins));
  return notes;
}

std::string contradiction(const Problem &problem, const Domains &domains, uint32_t node) {
  std::vector<uint32_t> towards(problem.nodes.size(), nobody);
  std::vector<bool> seen(problem.nodes.size());
  std::deque<uint32_t> queue{node};
  seen[node] = true;
  std::vector<std::string> paths;
  while (!queue.empty() && paths.size() < 2) {
    uint32_t current = queue.front();
    queue.pop_front();
    if (!problem.nodes[current].pin.empty()) {
      std::vector<uint32_t> path = pathTo(current, towards);
      std::reverse(path.begin(), path.end());
      paths.push_back(problem.nodes[current].pin + " by " + pathText(problem, path));
      if (current != node)
        continue; // nodes behind a pin are reached through it
    }
    for (const Incidence &end : domains.incidences(current)) {
      if (seen[end.other])
        continue;
      seen[end.other] = true;
      towards[end.other] = current;
      queue.push_back(end.other);
    }
  }
  if (paths.size() < 2)
    return {};
  return llvm::formatv("'{0}' has no strategy that meets {1} and {2}", problem.nodes[node].name, paths[0], paths[1])
      .str();
}

} // namespace apc
