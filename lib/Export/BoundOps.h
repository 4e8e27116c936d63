// The ops of a plan with their strategies, bound to rules and meshes.
#pragma once

#include "apc/Export/Export.h"

namespace apc {

/// One op that is decided by itself, in its stage.
struct BoundOp {
  OpId op;
  size_t stage = 0;
  const PlanChoice *choice = nullptr;
  Strategy strategy;
};

/// The ops of a plan and the meshes of its stages.
struct BoundPlan {
  std::vector<Mesh> meshes; ///< by stage
  std::vector<BoundOp> ops; ///< in the order of the plan, those that the graph has and that are decided by themselves
};

/// Errors (input): strategies that the rules or meshes cannot take.
llvm::Expected<BoundPlan> boundPlan(const ExportSource &source);

/// The parameter that an operand is made of, through transposes, casts and the like; none for other values.
std::optional<ValueId> parameterOf(const OpGraph &graph, ValueId value);

/// Sentences about things of which repeated layers have one each: "/h.*/c_fc/MatMul (12 times): ...".
class GroupedReasons {
public:
  void add(llvm::StringRef name, const llvm::Twine &reason);
  std::vector<std::string> take() const;

private:
  std::vector<std::pair<std::string, std::string>> order; ///< pattern, reason
  std::vector<std::pair<std::string, unsigned>> first;    ///< first name, count
};

} // namespace apc
