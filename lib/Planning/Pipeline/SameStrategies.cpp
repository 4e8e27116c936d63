// Ops are found by the patterns of their names and their place among those of one pattern.
#include "SameStrategies.h"

#include "StageAnswers.h"

#include "apc/Planning/Planning.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace apc {

namespace {

/// "/h.12/MatMul_3" in two parts: "/h.*/MatMul_3" and 12, the number of the layer; the name and 0 where there is none.
std::pair<std::string, uint64_t> splitName(llvm::StringRef name) {
  size_t begin = std::min(name.find_first_of("0123456789"), name.size());
  llvm::StringRef digits = name.substr(begin).take_while([](char letter) { return llvm::isDigit(letter); });
  uint64_t number = 0;
  if (digits.empty() || digits.getAsInteger(10, number))
    return {name.str(), 0};
  return {(name.take_front(begin) + "*" + name.substr(begin + digits.size())).str(), number};
}

/// By op, the ops that it leads; empty for all others.
std::vector<TiedOps> tiesByLeader(const OpGraph &graph) {
  std::vector<TiedOps> ties(graph.ops.size());
  for (const TiedOps &tie : graph.ties)
    ties[tie.front().index()] = tie;
  return ties;
}

/// The first of `ops` is the first of all, the last the last.
OpId atPlace(llvm::ArrayRef<OpId> ops, size_t place, size_t count) {
  if (place + 1 == count || ops.size() == 1)
    return ops.back();
  return ops[std::min(place, ops.size() - 2)];
}

bool areSame(const OpGraph &a, OpId inA, const OpGraph &b, OpId inB) {
  return a.op(inA).operatorName == b.op(inB).operatorName && a.ruleOf(inA) == b.ruleOf(inB);
}

/// The op of `others` that has the name of `op` in another layer; none where there is none or several.
std::optional<OpId> namesake(const OpGraph &graph, OpId op, const OpGraph &other, llvm::ArrayRef<OpId> others) {
  std::optional<OpId> found;
  std::string name = splitName(graph.op(op).name).first;
  for (OpId own : others) {
    if (splitName(other.op(own).name).first != name || !areSame(graph, op, other, own))
      continue;
    if (found)
      return std::nullopt;
    found = own;
  }
  return found;
}

} // namespace

std::shared_ptr<StagePatterns> makeStagePatterns() { return std::make_shared<StagePatterns>(); }

bool SameProgram::isWhole() const {
  return llvm::all_of(strategies, [](const std::optional<Strategy> &own) { return own.has_value(); });
}

StagePatterns::OpsByPattern StagePatterns::byPatternOf(const OpGraph &graph) {
  llvm::StringMap<std::vector<std::pair<uint64_t, OpId>>> layers;
  for (size_t op = 0; op < graph.ops.size(); ++op) {
    auto [pattern, layer] = splitName(graph.ops[op].name);
    layers[pattern].emplace_back(layer, OpId(op));
  }
  OpsByPattern ops;
  for (auto &entry : layers) {
    llvm::sort(entry.second);
    for (const auto &[layer, op] : entry.second)
      ops[entry.first()].push_back(op);
  }
  return ops;
}

std::vector<std::optional<OpId>> StagePatterns::Known::opsFor(const OpGraph &graph,
                                                              const OpsByPattern &byPattern) const {
  const OpGraph &other = answer->graph;
  const std::vector<TiedOps> ownTies = tiesByLeader(graph);
  std::vector<bool> isTied(graph.ops.size());
  for (const TiedOps &tie : graph.ties)
    for (OpId op : llvm::ArrayRef<OpId>(tie).drop_front())
      isTied[op.index()] = true;
  std::vector<std::optional<OpId>> found(graph.ops.size());
  for (const auto &entry : byPattern) {
    auto known = ops.find(entry.first());
    if (known == ops.end())
      continue;
    for (auto [place, op] : llvm::enumerate(entry.second)) {
      OpId same = atPlace(known->second, place, entry.second.size());
      const TiedOps &own = ownTies[op.index()], &others = ties[same.index()];
      if (isTied[op.index()] || !areSame(graph, op, other, same) || own.size() != others.size())
        continue;
      std::vector<std::optional<OpId>> all;
      for (OpId tied : own)
        all.push_back(tied == op ? same : namesake(graph, tied, other, others));
      if (llvm::any_of(all, [](std::optional<OpId> each) { return !each.has_value(); }))
        continue;
      found[op.index()] = same;
      for (auto [tied, each] : llvm::zip_equal(own, all))
        found[tied.index()] = each;
    }
  }
  return found;
}

StagePatterns::Answer StagePatterns::front(int64_t devices) const {
  auto own = answers.find(devices);
  return own == answers.end() ? nullptr : own->second.front().answer;
}

void StagePatterns::add(Answer answer) {
  const int64_t devices = answer->candidate->mesh.numDevices();
  Answer known = front(devices);
  bool isOfMesh = !known || answer->candidate->mesh == known->candidate->mesh;
  if (!isOfMesh || programFor(answer->graph, devices).isWhole())
    return;
  firstAnswer = firstAnswer ? firstAnswer : answer;
  answers[devices].push_back({answer, byPatternOf(answer->graph), tiesByLeader(answer->graph)});
}

SameProgram StagePatterns::programFor(const OpGraph &graph, int64_t devices) const {
  SameProgram program;
  program.strategies.resize(graph.ops.size());
  auto own = answers.find(devices);
  if (own == answers.end())
    return program;
  const OpsByPattern byPattern = byPatternOf(graph);
  for (const Known &known : own->second) {
    const StageAnswer &answer = *known.answer;
    std::vector<const ValueHub *> hubs(answer.graph.values.size());
    for (const ValueHub &hub : answer.candidate->hubs)
      hubs[hub.value.index()] = &hub;
    for (auto [op, same] : llvm::enumerate(known.opsFor(graph, byPattern))) {
      if (!same || program.strategies[op])
        continue;
      program.strategies[op] = answer.candidate->strategies[same->index()];
      for (auto [own, other] : llvm::zip(graph.ops[op].results, answer.graph.op(*same).results))
        if (own && other && hubs[other->index()])
          program.hubs.push_back({*own, hubs[other->index()]->target, hubs[other->index()]->again});
    }
  }
  return program;
}

} // namespace apc
