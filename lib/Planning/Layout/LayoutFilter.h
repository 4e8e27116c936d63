// The strategies that a layout of dp, tp and ZeRO leaves to each op.
#pragma once

#include "../Parts/StepParts.h"
#include "../Task.h"

#include "apc/Plan/ParallelDegrees.h"

#include <map>
#include <tuple>

namespace apc {

/// The mesh of a layout and which of its axes are dp's and tp's.
struct LayoutMesh {
  Mesh mesh;
  AxisList data, tensor;
};

/// Which strategies of each op a layout allows. ZeRO decides about the storage of a training step:
///
/// | zero | parameters | states | sums of gradients over micro-batches          |
/// | 0    | whole      | whole  | whole, added up over dp after the last        |
/// | 1    | whole      | cut    | whole, added up over dp after the last        |
/// | 2    | whole      | cut    | cut, added up over dp with every micro-batch  |
/// | 3    | cut        | cut    | cut, added up over dp with every micro-batch  |
///
/// With 3 parameters are gathered for the forward pass and again for the backward pass.
class LayoutFilter {
public:
  /// \p isStrict: sums that are to wait until after the last micro-batch have to. Those whose parts every rank of dp
  /// has whole cannot, and leave nothing to choose.
  LayoutFilter(const OpGraph &graph, const LayoutMesh &layout, int zero, bool isStrict);

  bool operator()(OpId op, const Strategy &strategy);

private:
  using Part = StepPart;

  /// How well a strategy is what the layout asks of the op; -1 when it contradicts it. The best there are stay: where a
  /// cut that is asked for cannot be, those without it.
  int score(OpId op, const Strategy &strategy) const;
  int scoreStorage(const Strategy &strategy) const;
  bool mayPass(OpId op, const Strategy &strategy) const;
  bool isAllOrNothing(const AxisList &axes, const AxisList &part) const;
  int best(OpId op);
  bool cutsStorage(OpId op) const;
  std::optional<unsigned> cutWeight(OpId op) const;

  const OpGraph &graph;
  const LayoutMesh &layout;
  int zero;
  bool isStrict;
  std::vector<std::optional<FactorId>> batch;
  std::vector<bool> isWeight;
  std::vector<Part> parts;   ///< by op
  std::vector<bool> follows; ///< by op: tied to another, which leads
  std::map<std::tuple<RuleId, std::optional<FactorId>, std::optional<unsigned>, Part, bool>, int> known;
};

} // namespace apc
