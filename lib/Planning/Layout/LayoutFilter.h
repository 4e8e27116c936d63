// The strategies that the degrees of a layout and ZeRO leave to each op.
#pragma once

#include "../Parts/ExpertFactors.h"
#include "../Parts/InputFactors.h"
#include "../Parts/StepParts.h"
#include "../Task.h"
#include "LayoutMesh.h"

#include "apc/Support/Interner.h"

#include <tuple>

namespace apc {

/// How long sums of gradients that are whole wait for the ranks of dp and cp: until after the last micro-batch, for all
/// of them; there for some, for a rank of cp may have a part of a sum alone, as it has of a table of positions; or as
/// can be.
enum class SumsWait : uint8_t { ForAll, ForSome, Free };

/// Which strategies of each op a layout allows. ZeRO decides about the storage of a training step:
///
/// | zero | parameters | states | sums of gradients over micro-batches          |
/// | 0    | whole      | whole  | whole, added up over dp after the last        |
/// | 1    | whole      | cut    | whole, added up over dp after the last        |
/// | 2    | whole      | cut    | cut, added up over dp with every micro-batch  |
/// | 3    | cut        | cut    | cut, added up over dp with every micro-batch  |
///
/// With 3 parameters are gathered for the forward pass and again for the backward pass. With cp, dp means the ranks of
/// both: they have the same parameters. Experts are cut over the ranks of ep, which have no copies of them; in place of
/// those the batch is cut over the other ranks of dp while experts compute. Where experts are whole (etp=1), ranks of
/// tp are such ranks of ep, or have parts of sequences, which come to the experts and go back.
class LayoutFilter {
public:
  /// \p sums: of ZeRO 0 and 1. Sums whose parts every rank of dp has whole cannot wait, and leave nothing to choose.
  /// \p gathersLogits: tp cuts nothing behind the logits (`Runtime`).
  LayoutFilter(const OpGraph &graph, const LayoutMesh &mesh, const ParallelDegrees &layout, SumsWait sums,
               bool gathersLogits);

  bool operator()(OpId op, const Strategy &strategy);
  /// Ops of one number have one rule, and the same strategies are left to them.
  uint32_t kindOf(OpId op);

private:
  using Part = StepPart;

  /// How well a strategy is what the layout asks of the op; -1 when it contradicts it. The best there are stay: where a
  /// cut that is asked for cannot be, those without it.
  int score(OpId op, const Strategy &strategy) const;
  int scoreStorage(OpId op, const Strategy &strategy) const;
  bool mayPass(OpId op, const Strategy &strategy) const;
  bool mayWait(OpId op, const AxisList &passing) const;
  /// The points of a computation whose factor is cut over \p axes; none where the layout does not cut it so. Of a table
  /// the rows are cut, as Megatron cuts the vocabulary: a head that shares it has the same part.
  std::optional<int> scoreFactor(OpId op, FactorId factor, const AxisList &axes) const;
  std::optional<int> scoreOfWhole(OpId op, FactorId factor, const AxisList &axes) const;
  /// The axes over which what the op works on has copies.
  const AxisList &replicasOf(OpId op) const { return experts[op.index()] ? replicasOfExperts : replicas; }
  int best(OpId op);
  bool cutsStorage(OpId op) const;
  bool sumsRows(OpId op, FactorId factor) const;
  std::optional<unsigned> passStatistics(OpId op) const;
  bool passesOverRows(OpId op, FactorId factor) const;
  bool readsLogits(OpId op) const;
  bool cutsGatheredLogits(OpId op, const Strategy &strategy) const;

  const OpGraph &graph;
  const LayoutMesh &mesh;
  AxisList replicas;            ///< axes of dp and cp
  AxisList ofSequences;         ///< axes of cp and tp
  AxisList replicasOfExperts;   ///< axes of dp and cp, and of tp where experts are whole, without ep's
  AxisList batchOfExperts;      ///< dp's axes without ep's
  AxisList sequencesOfExperts;  ///< axes of cp and tp without ep's
  std::vector<AxisList> groups; ///< axes of which an op passes sums over all or none
  int zero;
  SumsWait sums;
  bool gathersLogits, cutsSequences, hasWholeExperts;
  InputFactors inputs;
  std::vector<std::optional<FactorId>> experts;
  std::vector<bool> isWeight;
  std::vector<bool> isOfConstants; ///< by op: every device can make any part of its results by itself
  std::vector<bool> isOfLoss;      ///< by value: logits and what is made of them
  std::vector<Part> parts;         ///< by op
  std::vector<bool> follows;       ///< by op: tied to another, which leads
  /// All that the verdict on a strategy follows from: the rule, the factors of batch, sequence and experts, the operand
  /// that is a weight, the part, whether the op accumulates, reads logits, follows, and reads constants alone, and the
  /// operand with statistics of its pass.
  using Kind = std::tuple<RuleId, std::optional<FactorId>, std::optional<FactorId>, std::optional<FactorId>,
                          std::optional<unsigned>, Part, bool, bool, bool, bool, std::optional<unsigned>>;
  Interner<Kind> kinds;
  std::vector<std::optional<uint32_t>> kindsOfOps;
  std::vector<std::optional<int>> bestOf; ///< by kind: the best score
};

} // namespace apc
