// Files of other planners, read so that their plans are costed as ours are.
#pragma once

#include "apc/Plan/ParallelDegrees.h"

#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace apc {

/// The ways in which each dim of an op's operands is cut: {"fc_in/MatMul", {{2, 1, 1}, {1, 4}}}.
struct OperandCuts {
  std::string op;
  std::vector<std::vector<int64_t>> operands;
};

/// A plan of another planner: degrees of the whole model (Galvatron), or cuts of ops (MindSpore, AutoParallel).
struct LayoutFile {
  std::string format; ///< "galvatron", "mindspore", "autoparallel"
  std::optional<ParallelDegrees> layout;
  std::optional<int64_t> globalBatch; ///< samples
  std::vector<OperandCuts> ops;
  bool leavesConstantsOut = false; ///< operands are counted without constants
  std::optional<int64_t> devices;  ///< where the file says how many
  bool cutsStates = false;         ///< states of the optimizer rest cut over replicas
};

/// Reads Galvatron's JSON, MindSpore's strategy file in its JSON form, or AutoParallel's JSON, told apart by their
/// keys. Errors (input) name `source`, the key and what would be accepted: text of another format; layers of
/// Galvatron's that differ, which no layout has; ops of several stages.
llvm::Expected<LayoutFile> parseLayoutFile(llvm::StringRef text, llvm::StringRef source);

} // namespace apc
