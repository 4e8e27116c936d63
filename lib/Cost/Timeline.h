// When the values and the moved copies of a program are needed.
#pragma once

#include "apc/Cost/GraphCost.h"

#include "llvm/ADT/DenseMap.h"

namespace apc {

/// The op positions until which the storage of each value and of each moved copy is needed.
struct StorageEnds {
  std::vector<size_t> values, moves;
};

/// (op, operand) -> the move whose copy it reads: the last one on its way.
using MoveOfUse = llvm::DenseMap<std::pair<uint32_t, uint32_t>, size_t>;

/// The moments of a program: positions in the order in which its ops run.
class Timeline {
public:
  Timeline(const OpGraph &graph, llvm::ArrayRef<GraphMove> moves, llvm::ArrayRef<MoveBucket> buckets);

  size_t at(OpId op) const { return program.at(op); }
  OpId opAt(size_t at) const { return program.order[at]; }
  size_t size() const { return program.order.size(); }
  size_t madeBefore(size_t move) const { return at(moves[move].before); }
  bool isMoved(OpId user, unsigned operand) const { return byUse.count({user.index(), operand}) > 0; }
  StorageEnds storageEnds() const;

private:
  /// Until when the user of a value needs it: outputs are handed over together, at the end; a value that goes to
  /// another stage is sent at once.
  size_t neededBy(OpId user) const {
    bool isOutput = graph.op(user).results.empty() && !graph.op(user).isTransfer;
    return isOutput ? graph.ops.size() - 1 : at(user);
  }
  std::vector<size_t> copyEnds() const;

  const OpGraph &graph;
  llvm::ArrayRef<GraphMove> moves;
  MoveOfUse byUse;
  ProgramPlaces program;
};

} // namespace apc
