// The cost of a whole program: every op under its strategy, and the redistributions between them.
#pragma once

#include "apc/Cost/Fusion.h"
#include "apc/Graph/Memory.h"
#include "apc/Graph/OpGraph.h"
#include "apc/Graph/PassUses.h"
#include "apc/Support/Error.h"

#include <map>

namespace apc {

/// One redistribution of the program: values of one shape and sharding -> another sharding.
struct GraphMove {
  std::vector<ValueId> values;  ///< moved by the same collectives
  std::optional<size_t> source; ///< the move whose copy it starts from; none: what the producer gives
  Sharding target;
  std::vector<OpGraph::Use> users;   ///< in order; also of the moves that start from this copy
  Redistribution redistribution;     ///< `seconds` are those of all repeats
  int64_t repeats = 1;               ///< in one step: once for each micro-batch, or once
  OpId before = {};                  ///< the op in front of which the program makes the copy (`placeMoves`)
  std::optional<size_t> bucket = {}; ///< the index of the bucket that it is taken with; `seconds` are its share then
};

/// Moves whose collectives are taken together: each step of all of them is one exchange of one buffer. It takes place
/// in front of one op for all of them; ops that read one of the copies wait until all values have been made. Example:
/// AllReduce of 400 KiB and of 24 KiB over [data] is one AllReduce of 424 KiB.
struct MoveBucket {
  std::vector<size_t> moves;           ///< indices, in the order in which the values are ready
  std::vector<Collective> collectives; ///< of all together: bytes are those of the shared buffer; `result` is empty
  double seconds = 0;                  ///< of all repeats
  int64_t limitBytes = 0;              ///< of the largest buffer
};

/// The hub of a value: the sharding to which it is brought once for several of its users, which continue from there.
/// Example: a value kept as [data, -] that three ops want as [-, -] has the hub [-, -]; a fourth, which wants [-,
/// data], cuts its piece out of it.
///
/// A value that is read in both passes (`PassUses`) may come `again`: once for the users of the forward pass and once
/// for those of the backward pass, each time by way of the hub. Its copy is then not kept between the passes.
struct ValueHub {
  ValueId value;
  std::optional<Sharding> target; ///< none: the fastest that is wanted
  bool again = false;
};

/// The cost of a program on one device, in seconds and bytes.
struct GraphCost {
  double computeSeconds = 0;                            ///< all ops
  double communicationSeconds = 0;                      ///< all moves
  double besideSeconds = 0;                             ///< of these, what products hide (`secondsBeside`)
  std::vector<OpCost> ops;                              ///< by op
  std::vector<GraphMove> moves;                         ///< those with at least one collective, in order of value
  std::vector<MoveBucket> buckets;                      ///< of moves that are taken together
  std::vector<ValueId> comeAgain;                       ///< moved for each pass apart, and not for nothing; ascending
  std::map<CollectiveKind, int64_t> communicationBytes; ///< sent and received buffer bytes of one device, by collective
  MemoryTable memory;
  OpId fullestOp{0}; ///< the op at which the memory is largest
  double flopsPerDevice = 0;

  double seconds() const { return computeSeconds + communicationSeconds - besideSeconds; }
  /// Hubs to cost the same strategies with on another mesh or cluster, so that the same values come again.
  std::vector<ValueHub> hubsOfComeAgain() const;
  /// Of all moves; a Slice communicates nothing and does not count, and what is taken together counts once.
  int64_t numCollectives() const;
};

/// Calls \p take with each collective of the program, Slices apart, and its repeats: those of a bucket once, with the
/// bytes of all its moves.
void forEachCollective(const GraphCost &cost, llvm::function_ref<void(const Collective &, int64_t)> take);

/// The cost of one op of a graph under a strategy in one step: that of its rule, as often as it runs, and none where it
/// runs at load, nor where it takes statistics of whole rows (`GraphOp::inPass`), which their readers have in hand.
OpCost costOfOp(const OpGraph &graph, OpId op, const Strategy &strategy, const CostModel &model);

/// Seconds that the contractions of `graph` take at least on a pool, however they are cut: their FLOPs on all devices
/// at the top of the device's efficiency. No attentions, of which runtimes leave out parts. It takes no search and no
/// mesh: 2 * 4096^3 FLOPs in f16 on 8 A100s, 312 TFLOP/s at 0.83, take 66 us or more.
double leastComputeSeconds(const OpGraph &graph, const Pool &pool);
/// Seconds that the host of a pool takes at least to launch the ops of `graph`, however they are cut: 800 ops under a
/// runtime that launches one in 5 us take 4 ms or more. Ops that are free where rows are whole are left out.
double leastHostSeconds(const OpGraph &graph, const Pool &pool);

/// Strategies, each of which is legal, that leave a value whole where a user takes it partial: no redistribution does
/// so. Example: a MatMul that is cut over its columns, before an addition that takes sums over k.
class IncompatibleStrategies : public llvm::ErrorInfo<IncompatibleStrategies, PlannerError> {
public:
  static char ID;
  explicit IncompatibleStrategies(std::string message) : ErrorInfo(Fault::Internal, std::move(message)) {}
};

/// Costs `graph` under one strategy for each op. A value goes from its producer to its users directly, or by way of one
/// hub: then all users continue from it, and what is left to do is done for each user apart; those that want what was
/// produced read the producer's piece where the way back takes no time. The hub is that of \p hubs, where a user
/// continues from there, otherwise the fastest of the shardings that users want; users that run once in a step have
/// none where others run with every micro-batch. Values that \p fusion lists are taken together (`takeTogether`), and
/// their ways chosen as if each were in a full bucket. Errors (ours): a strategy is illegal; `IncompatibleStrategies`.
llvm::Expected<GraphCost> costOfGraph(const OpGraph &graph, llvm::ArrayRef<Strategy> strategies, const CostModel &model,
                                      llvm::ArrayRef<ValueHub> hubs = {}, const Fusion &fusion = {});

/// Forms the buckets of a program anew and costs it: moves and memory are those of the new buckets. Moves are taken
/// together when their values are of one group, the steps of all are of the same kinds over the same ranks, they run
/// equally often, and none depends on another; in the order in which the values are ready (of parameters: wanted), as
/// long as a buffer stays below its limit times \p share. A move that stays alone takes its own fastest way.
void takeTogether(const OpGraph &graph, llvm::ArrayRef<Strategy> strategies, const CostModel &model,
                  const Fusion &fusion, double share, GraphCost &cost);

/// Seconds of a program that products hide under a runtime that gathers inputs again: those of gathers for the backward
/// pass (`PassUses::productsBeside`), each beside the products that it may run with, at the rates at which a device
/// computes and communicates at once. None where collectives run beside ops in any case: there the step is simulated.
double secondsBeside(const OpGraph &graph, const GraphCost &cost, const CostModel &model);
/// The least share of the seconds of such a gather that products do not hide: they run slower beside it.
double leastExposedShare(const Device &device);

/// The seconds of a bucket, and of each of its moves the share by bytes, as `moves` and `buckets` have them; the rest
/// is left as it is.
void costBucket(const CostModel &model, llvm::MutableArrayRef<GraphMove> moves, MoveBucket &bucket);

/// The collectives of moves taken together; none where their steps differ in kind, ranks, combiner or number.
std::optional<std::vector<Collective>> mergedCollectives(llvm::ArrayRef<GraphMove> moves,
                                                         llvm::ArrayRef<size_t> together);

/// The ops in the order in which a program with these buckets runs them: that of the graph, but for ops that wait for
/// a bucket. Fewer than the graph has where ops wait for themselves, which `takeTogether` never asks for.
std::vector<OpId> programOrder(const OpGraph &graph, llvm::ArrayRef<GraphMove> moves,
                               llvm::ArrayRef<MoveBucket> buckets);

/// The order of a program, and where each op stands in it.
struct ProgramPlaces {
  std::vector<OpId> order;
  std::vector<size_t> places; ///< by op

  ProgramPlaces(const OpGraph &graph, llvm::ArrayRef<GraphMove> moves, llvm::ArrayRef<MoveBucket> buckets);

  size_t at(OpId op) const { return places[op.index()]; }
  /// The first op that reads the copy of a move, or of any move of a bucket.
  OpId firstUser(const GraphMove &move) const;
  OpId firstUser(llvm::ArrayRef<GraphMove> moves, const MoveBucket &bucket) const;
};

/// For each move the first op that reads its copy, or another copy of its bucket: the place of all that are not made
/// earlier.
std::vector<OpId> firstUsers(const ProgramPlaces &program, llvm::ArrayRef<GraphMove> moves,
                             llvm::ArrayRef<MoveBucket> buckets);

using StrategyOf = llvm::function_ref<const Strategy &(OpId)>;

/// The moves of one value to all that use it, as `costOfGraph` has them; `GraphMove::source` counts from \p first, the
/// number of moves before these. Empty when the value would have to become partial.
/// \p suggested: a hub to take where a user continues from there: a faster one may need more memory.
///
/// Example: [data] is wanted as [-] by two users and as [data, model] by a third: AllGather{data} is paid once, and its
/// copy serves both users.
std::optional<std::vector<GraphMove>> movesOf(const OpGraph &graph, ValueId value, llvm::ArrayRef<OpGraph::Use> users,
                                              StrategyOf strategyOf, Redistributor &redistributor,
                                              const ValueHub *suggested = nullptr, size_t first = 0);

/// The same for each pass apart where \p suggested brings the value twice and a move takes time.
std::optional<std::vector<GraphMove>> movesByPass(const OpGraph &graph, const PassUses &passes,
                                                  llvm::ArrayRef<OpGraph::Use> users, StrategyOf strategyOf,
                                                  Redistributor &redistributor, const ValueHub &suggested,
                                                  size_t first);

/// Puts every move, and the moves of a bucket together, in front of the first op of the program that reads one of the
/// copies; in a training step some in front of earlier ones, where they free memory, or where other work can hide them
/// and little memory is taken for it:
///
/// - A copy that is no larger than what it is made of (a reduced gradient) is made as soon as nothing else reads that:
///   right behind its producer, mostly, so that the larger buffer is free early. Of a bucket: behind the last producer.
/// - A parameter gathered after its update, which nothing reads before the next step, is gathered right behind it.
/// - Where collectives may run beside ops, a larger copy (a gathered parameter) is made ahead of its first user, as
/// long as the copies that wait for their
///   first users are together no larger than the largest copy. Gathers of equal size: while the one before is in use.
/// - Copies of copies, and of sums over micro-batches, are made for their first users.
void placeMoves(const OpGraph &graph, llvm::MutableArrayRef<GraphMove> moves, llvm::ArrayRef<MoveBucket> buckets);

/// The memory of one device while the ops of `graph` run in the order of their program. A value lives from its producer
/// to its last user, or until the copy is made that its last user reads; a copy from where it is made
/// (`GraphMove::before`) to its last user; inputs from the start, outputs to the end. Views share the storage of what
/// they read. Contractions need workspace, moves of several steps buffers.
StepPeak graphMemory(const OpGraph &graph, llvm::ArrayRef<Strategy> strategies, const CostModel &model,
                     llvm::ArrayRef<GraphMove> moves, llvm::ArrayRef<MoveBucket> buckets = {});

/// Of that, what stays from one step to the next: parameters and states.
MemoryTable memoryBetweenSteps(const OpGraph &graph, llvm::ArrayRef<Strategy> strategies, const CostModel &model);

/// A value, or a moved copy of one, that lives where the memory is largest.
struct PeakValue {
  ValueId value;
  int64_t bytes = 0; ///< on one device
  MemoryCategory category = MemoryCategory::Activations;
  bool isCopy = false;
};

/// The values that live at the op of `graphMemory`, those that stay for the step first. Their bytes are those of the
/// peak but for workspace and buffers of collectives: of a peak of 10 GiB, 6 GiB of `wte` and 4 GiB of `logits`.
std::vector<PeakValue> valuesAtPeak(const OpGraph &graph, llvm::ArrayRef<Strategy> strategies, const CostModel &model,
                                    llvm::ArrayRef<GraphMove> moves, llvm::ArrayRef<MoveBucket> buckets = {});

} // namespace apc
