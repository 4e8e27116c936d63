// Sizes that carry the batch, at another one.
#include "apc/Graph/Batch.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"

#include <unordered_map>

namespace apc {

namespace {

/// Rules by what most of them differ in.
size_t hashOf(const FactorRule &rule) {
  llvm::hash_code hash(rule.operands.size());
  for (const Factor &factor : rule.factors)
    hash = llvm::hash_combine(hash, factor.size, llvm::StringRef(factor.name));
  return hash;
}

/// Each rule once, in the order in which ops first have it.
void uniteRules(OpGraph &graph) {
  std::vector<FactorRule> rules;
  std::unordered_map<size_t, llvm::SmallVector<RuleId, 1>> byHash;
  std::vector<std::optional<RuleId>> united(graph.rules.size());
  for (GraphOp &op : graph.ops) {
    std::optional<RuleId> &known = united[op.rule.index()];
    FactorRule &rule = graph.rules[op.rule.index()];
    if (!known) {
      llvm::SmallVector<RuleId, 1> &alike = byHash[hashOf(rule)];
      const auto *equal = llvm::find_if(alike, [&](RuleId id) { return rules[id.index()] == rule; });
      if (equal == alike.end()) {
        alike.emplace_back(rules.size());
        rules.push_back(std::move(rule));
        equal = &alike.back();
      }
      known = *equal;
    }
    op.rule = *known;
  }
  graph.rules = std::move(rules);
}

} // namespace

OpGraph atBatch(OpGraph graph, int64_t batch) {
  auto change = [&](int64_t &size) {
    if (size % anyBatch == 0)
      size = size / anyBatch * batch;
  };
  for (FactorRule &rule : graph.rules)
    for (Factor &factor : rule.factors)
      change(factor.size);
  for (GraphValue &value : graph.values)
    llvm::for_each(value.shape.dims, change);
  uniteRules(graph);
  return graph;
}

} // namespace apc
