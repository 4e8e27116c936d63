// The texts of the programs of single ranks.
#pragma once

#include "apc/IR/Ops/Spmd/Spmd.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <map>
#include <string>
#include <vector>

namespace apc {

/// Prints `program` as it is on one rank: ops that depend on the rank are resolved, collectives name their groups.
/// Ranks differ in some numbers only, so a text is made, verified and printed once for all ranks of one structure, with
/// a mark in the place of each number; of 1,024 ranks of GPT-3, whose programs have 1,400 lines, some 60 numbers
/// differ.
class RankPrograms {
public:
  RankPrograms(mlir::ModuleOp program, const Mesh &mesh);

  /// A failure, with diagnostics, when the program does not verify.
  mlir::FailureOr<std::string> print(int64_t rank);

private:
  /// Numbers and lists of numbers in the order of the ops that have them.
  using Numbers = std::vector<std::string>;
  /// The text between the numbers, and which number follows each part.
  struct Template {
    std::vector<std::string> parts;
    std::vector<size_t> numbers;
  };
  /// A collective's group on some rank.
  struct Group {
    std::string ranks;                            ///< "0, 8, 16"
    std::vector<std::vector<PermutePeers>> peers; ///< of a permute, for each value
  };

  mlir::FailureOr<std::string> resolve(int64_t rank, Numbers &numbers);
  mlir::FailureOr<Template> makeTemplate(int64_t rank);
  void addGroup(CollectiveInterface op, int64_t rank, Numbers &numbers);

  mlir::ModuleOp program;
  const Mesh &mesh;
  mlir::OwningOpRef<mlir::ModuleOp> skeleton; ///< the ops that depend on the rank, alone
  std::map<std::string, Template> templates;  ///< by structure
  /// By collective and first rank of the group.
  std::map<std::pair<const void *, int64_t>, Group> groups;
};

} // namespace apc
