// The strategies of planned stages for others of the same model.
#pragma once

#include "apc/Cost/GraphCost.h"
#include "apc/Graph/OpGraph.h"

#include "llvm/ADT/StringMap.h"

#include <map>
#include <memory>

namespace apc {

struct StageAnswer;

/// The known part of a program for the ops of a stage.
struct SameProgram {
  std::vector<std::optional<Strategy>> strategies; ///< by op
  std::vector<ValueHub> hubs;

  /// Has every op a strategy?
  bool isWhole() const;
};

/// Answers of stages, on one mesh for each number of devices, whose strategies other stages take over: what is found
/// for the embedding in one cut is known in all others.
class StagePatterns {
public:
  using Answer = std::shared_ptr<const StageAnswer>;

  /// The first answer of all; null before it.
  Answer first() const { return firstAnswer; }
  /// The answer that others on so many devices follow; null before the first.
  Answer front(int64_t devices) const;
  /// Behind the others; left out where its mesh is another one, or where all its ops are known.
  void add(Answer answer);

  /// By op of \p graph, the strategy of the op of an answer that stands at its place among the layers; the last layer
  /// of a stage is the last of the answer. Of the first answer that has such an op, of the same kind and tied to the
  /// same ops.
  SameProgram programFor(const OpGraph &graph, int64_t devices) const;

private:
  /// Ops by the pattern of their names, in the order of their layers.
  using OpsByPattern = llvm::StringMap<std::vector<OpId>>;
  struct Known {
    Answer answer;
    OpsByPattern ops;
    std::vector<TiedOps> ties; ///< by leader

    /// By op of \p graph, the one of the answer that its strategy is taken from.
    std::vector<std::optional<OpId>> opsFor(const OpGraph &graph, const OpsByPattern &byPattern) const;
  };
  static OpsByPattern byPatternOf(const OpGraph &graph);

  Answer firstAnswer;
  std::map<int64_t, std::vector<Known>> answers; ///< by number of devices
};

} // namespace apc
