// Arc consistency with a trail, so that a decision can be taken back.
#include "Domains.h"

namespace apc {

Domains::Domains(const Problem &problem) : ends(incidencesOf(problem)) {
  for (size_t node = 0; node < problem.nodes.size(); ++node)
    alive.emplace_back(problem.tableOf(NodeId(node)).names.size(), true);
}

std::optional<uint32_t> Domains::makeConsistent() {
  for (uint32_t node = 0; node < alive.size(); ++node)
    changed.push_back(node);
  std::optional<uint32_t> empty = propagate();
  trail.clear();
  return empty;
}

bool Domains::decide(uint32_t node, uint32_t strategy) {
  trail.clear();
  for (unsigned other : alive[node].set_bits())
    if (other != strategy)
      trail.emplace_back(node, other);
  if (trail.empty())
    return true;
  for (auto [owner, other] : trail)
    alive[owner].reset(other);
  changed.push_back(node);
  if (!propagate())
    return true;
  changed.clear();
  for (auto [owner, other] : trail)
    alive[owner].set(other);
  return false;
}

void Domains::remove(uint32_t node, uint32_t strategy) {
  alive[node].reset(strategy);
  trail.emplace_back(node, strategy);
}

bool Domains::hasPartner(const Incidence &end, uint32_t strategy) const {
  for (unsigned other : alive[end.other].set_bits())
    if (end.possible(strategy, other))
      return true;
  return false;
}

std::optional<uint32_t> Domains::propagate() {
  while (!changed.empty()) {
    uint32_t source = changed.back();
    changed.pop_back();
    for (const Incidence &out : ends[source]) {
      Incidence back{source, out.tableId, out.table, !out.isProducer};
      size_t before = trail.size();
      for (unsigned strategy : alive[out.other].set_bits())
        if (!hasPartner(back, strategy))
          remove(out.other, strategy);
      if (trail.size() == before)
        continue;
      if (alive[out.other].none())
        return out.other;
      changed.push_back(out.other);
    }
  }
  return std::nullopt;
}

} // namespace apc
