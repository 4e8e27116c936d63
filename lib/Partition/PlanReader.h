// A plan read against the module it was made for: strategies, shardings and collectives as values.
#pragma once

#include "apc/IR/Program/PlanNames.h"
#include "apc/Partition/Partition.h"
#include "apc/Sharding/Redistribution.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace apc {

/// Looks up the entries of a plan by op and value; refers to the stage. Errors name op or value.
class PlanReader {
public:
  PlanReader(const StagePlan &stage, const Mesh &mesh);

  const Mesh &getMesh() const { return mesh; }
  /// The strategy of the op called `op`, checked against its rule.
  llvm::Expected<Strategy> strategyOf(llvm::StringRef op, const FactorRule &rule) const;
  /// The sharding of an argument or parameter, checked against its shape.
  llvm::Expected<Sharding> shardingOf(llvm::StringRef value, const TensorShape &shape) const;
  /// The move that brings `value` to `target`, as text, for `user`; null when the plan has none.
  const PlanMove *moveOf(llvm::StringRef value, llvm::StringRef target, llvm::StringRef user) const;
  /// The moves whose collectives stand in front of the op, earlier than their first users.
  llvm::ArrayRef<const PlanMove *> movesBefore(llvm::StringRef op) const;
  /// The collectives of a move that starts `from` a sharding; checked to end in its target.
  llvm::Expected<std::vector<Collective>> collectivesOf(const PlanMove &move, const TensorShape &shape,
                                                        const Sharding &from) const;

  /// The bucket that a move is taken with; null when it is taken alone.
  const PlanBucket *bucketOf(const PlanMove &move) const { return buckets.lookup(&move); }
  llvm::ArrayRef<PlanBucket> getBuckets() const { return stage.buckets; }
  /// The moves of a bucket, in its order.
  llvm::SmallVector<const PlanMove *> movesOf(const PlanBucket &bucket) const;
  /// "plan: buckets[2]"
  std::string placeOf(const PlanBucket &bucket) const;

private:
  const StagePlan &stage;
  Mesh mesh;
  llvm::StringMap<const PlanChoice *> choices;
  llvm::StringMap<const PlanSharding *> shardings;
  llvm::StringMap<const PlanMove *> moves;              ///< by value, target and user
  llvm::StringMap<std::vector<const PlanMove *>> early; ///< by the op in front of which they stand
  llvm::DenseMap<const PlanMove *, const PlanBucket *> buckets;
};

} // namespace apc
