// A plan: everything decided for one model on one cluster, and why. Values only; named by op and value.
#pragma once

#include "apc/Graph/RecomputedNames.h"
#include "apc/Graph/Roles.h"
#include "apc/Plan/PlanRequest.h"
#include "apc/Plan/TriedPoint.h"
#include "apc/Sharding/NamedStrategy.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace apc {

/// One axis of a stage's mesh: `{"node.a", 4, "node", 0}`.
struct PlanAxis {
  std::string name; ///< by its place: the level's word, "device"; with a letter where a level has several, "node.b"
  int64_t size = 1;
  std::string level; ///< "node", "device": the cluster's name of the level
  unsigned levelIndex = 0;
};

/// The devices of a stage as a mesh, outermost (slowest link) first.
struct PlanMesh {
  std::vector<PlanAxis> axes;

  static PlanMesh of(const Mesh &mesh, llvm::ArrayRef<std::string> levelNames);
  /// "node.a=4 node.b=2 device=8", with the level behind a name that does not say it, "data=8 (node)"; "one device"
  /// without axes.
  std::string str() const;
  int64_t numDevices() const;
  /// Errors (input): an axis without name or with the name of another; a size below 1; more than `mostDevices` in all.
  llvm::Expected<Mesh> bind(int64_t mostDevices) const;
};

/// A change of one figure of the cluster beyond which an alternative is the better one, the collectives staying as they
/// are: {"level.node.bytes_per_second", 1.5, 37.5e9}.
struct TurningPoint {
  std::string figure; ///< as in `--cluster-set`
  double scale = 1;
  std::optional<double> value; ///< the figure then; none where it has several values (peaks by number format)
};

/// An alternative to a choice and its extra cost, everything else staying as it is.
struct RunnerUp {
  NamedStrategy strategy;
  double extraSeconds = 0;
  std::vector<TurningPoint> winsIf = {}; ///< nearest first; figures that matter within a factor of 16
};

/// Whether a factor of an op is cut, and the cheapest strategy that does the other thing: none where there is no other.
/// Experts of a mixture: `{"e", 8, true, false, {g:data n:model, 0.0012}}`: leaving them whole would cost 1.2 ms more.
struct FactorChoice {
  std::string factor;
  int64_t size = 1;
  bool isCut = false;
  bool mustBeWhole = false; ///< by the operator's rule
  std::optional<RunnerUp> other = std::nullopt;
};

/// A choice that was not the search's.
struct PinnedChoice {
  std::string by; ///< the pins and their sources: "pin 'fc_in/MatMul: n=8' (pins.json, pin 2)"
  /// The cheapest strategy that is offered without pins, everything else staying as it is. Its extra seconds
  /// are negative where it is faster than the pinned one. None where there is no other.
  std::optional<RunnerUp> free = std::nullopt;
};

/// The decision for one op.
struct PlanChoice {
  std::string op;           ///< ONNX node name
  std::string operatorName; ///< "matmul"
  NamedStrategy strategy;
  double seconds = 0;              ///< of the op on one device
  double communicationSeconds = 0; ///< of the redistributions of its operands, shared ones at their first user
  int64_t bytes = 0;               ///< of its results on one device
  std::optional<RunnerUp> runnerUp = std::nullopt;
  unsigned rejections = 0;                ///< index into StagePlan::rejections
  std::vector<FactorChoice> factors = {}; ///< those of more than one element; none of ops that move nothing
  std::optional<PinnedChoice> pinned = std::nullopt;
  std::vector<std::string> merged = {}; ///< ops of the model that this one does as well: the Softmax of an attention
  bool isMemoryBound = false;           ///< its bytes take longer than its arithmetic

  /// Does the op make a value of the forward pass again, for the backward pass?
  bool runsAgain() const { return llvm::StringRef(op).ends_with(recomputedSuffix); }
};

/// Why strategies of an operator were not offered: the same for all ops with one rule.
struct PlanRejections {
  std::string rule;     ///< the bound rule
  unsigned offered = 0; ///< strategies that were candidates
  struct Reason {
    std::string reason;
    unsigned count = 0;
    std::string example; ///< one strategy that it ruled out
  };
  std::vector<Reason> reasons;
};

/// The sharding of one value.
struct PlanSharding {
  std::string value;
  std::string producer; ///< op
  ValueRole role = ValueRole::Activation;
  std::vector<int64_t> shape;
  std::vector<int64_t> localShape; ///< padded piece of one device
  NamedSharding sharding;
  unsigned elementBits = 32;
  std::vector<std::string> users = {}; ///< the ops that read it, here or where it was moved to
  std::string storage = {};            ///< of a parameter: `storageName`; empty for others, and where it is not known
};

/// A redistribution of the emitted program: values that are brought to one sharding together. Example: 'x' to '[-, -]'
/// for three ops, and from that copy to '[-, model]' for one of them.
struct PlanMove {
  std::vector<std::string> values;
  std::string source;                   ///< the target of the move whose copy it starts from; empty: the producer's
  NamedSharding target;                 ///< the sharding that they end in
  std::vector<std::string> users;       ///< ops; also of the moves that start from this copy
  std::vector<std::string> collectives; ///< in order: "AllReduce{model}"
  double seconds = 0;
  std::string before = {}; ///< the op in front of which the copy is made; empty: the first of the users
};

/// Moves that are taken together: each step of all of them is one collective of the program, on one buffer. Example:
/// moves 4, 7 and 9, each AllReduce{device}, of 61 MiB together.
struct PlanBucket {
  std::vector<unsigned> moves;          ///< indices into the stage's moves, in the order in which values are ready
  std::vector<std::string> collectives; ///< kind and ranks: "AllReduce{device}"
  int64_t bytes = 0;                    ///< of the largest buffer
  int64_t limitBytes = 0;               ///< that a buffer may have
  double seconds = 0;                   ///< of all of them; those of a move are its share by bytes
};

/// All collectives of one kind over the same levels, in one step: {"AllGather", "device", 192, 0.034, 6e9}.
struct PlanCollectives {
  std::string collective; ///< "AllGather"
  std::string levels;     ///< that their groups span, outermost first: "node", "node + device"
  unsigned count = 0;
  double seconds = 0;
  int64_t receivedBytes = 0; ///< by one device
};

/// Values that live where the memory is largest, those of repeated layers together: 48 values "/h.*/Gelu.out", 3 GiB of
/// activations.
struct PlanPeakValues {
  std::string pattern; ///< the name of one value, or of several with `*` for their numbers
  int64_t count = 1;
  MemoryCategory category = MemoryCategory::Activations;
  bool areCopies = false; ///< moved copies of values that rest elsewhere: a gathered parameter
  int64_t bytes = 0;      ///< of all of them on one device
};

/// The seconds of a stage: of its parts for one micro-batch, and of the update once a step. {0.11, 0.12, 0.1, 0.05}.
struct PlanStageSeconds {
  double forward = 0, backward = 0, weights = 0; ///< gradients of inputs; gradients of weights
  double update = 0;

  double ofMicroBatch() const { return forward + backward + weights; }
};

/// One pipeline stage: a part of the model on a part of the devices. A plan without pipeline has one.
struct StagePlan {
  int64_t firstRank = 0;
  PlanMesh mesh;
  double computeSeconds = 0;
  double communicationSeconds = 0;
  double exposedCommunicationSeconds = 0; ///< what the step takes beyond its ops; all in inference
  double hostSeconds = 0;                 ///< in which the device waits for launches of a slower host
  double flopsPerDevice = 0;
  MemoryTable memory;                                ///< of one device
  std::map<std::string, int64_t> communicationBytes; ///< by collective
  std::vector<PlanChoice> choices;
  std::vector<PlanRejections> rejections;
  std::vector<PlanSharding> shardings;
  std::vector<PlanMove> moves;
  std::vector<PlanBucket> buckets;          ///< of moves that are taken together, each in one at most
  std::vector<PlanCollectives> collectives; ///< of the moves; the longest first
  std::string fullestOp;                    ///< the op at which the memory is largest
  std::vector<PlanPeakValues> peakValues;   ///< that live there, the largest first; the smallest are left out
  int64_t lossBytes = 0;                    ///< of the activations there, those of logits, loss and their gradients
  std::optional<PlanStageSeconds> parts = std::nullopt; ///< of a pipeline
  /// Micro-batches whose activations the stage holds at once, at most.
  int64_t inFlight = 1;
  /// Of a worker with several stages: the memory while it needs most with all of them.
  std::optional<MemoryTable> memoryTogether = std::nullopt;

  /// The part of the stage in the memory of its worker.
  const MemoryTable &memoryOfWorker() const { return memoryTogether ? *memoryTogether : memory; }

  double seconds() const { return computeSeconds + exposedCommunicationSeconds + hostSeconds; }
  /// Ranks of the stage: all devices of the mesh, some of which may do nothing of their own.
  int64_t numRanks() const { return mesh.numDevices(); }
};

/// A value that one stage makes and another reads, once in each micro-batch or in a step.
struct PlanTransfer {
  std::string value;
  int64_t from = 0;        ///< stage
  std::vector<int64_t> to; ///< one stage
  std::string time;        ///< "forward", "backward": with every micro-batch; "step": once
  int64_t bytes = 0;       ///< of the whole value
  double seconds = 0;      ///< on its way between two workers; 0 on the same
};

/// The stages of a plan as a pipeline. Stage k is the k-th part of the model, and one of the chunks of the worker whose
/// ranks it has.
struct PlanPipeline {
  std::string schedule;          ///< "1f1b"
  int64_t workers = 1;           ///< groups of ranks that hold stages of their own
  int64_t chunks = 1;            ///< stages of a worker
  std::vector<std::string> cuts; ///< the first op of the forward pass behind each cut
  std::vector<PlanTransfer> transfers;
  std::vector<int64_t> workerDevices = {}; ///< of each worker; empty where they have equally many
  int64_t copies = 1;                      ///< of a micro-batch; written as training says

  int64_t numStages() const { return workers * chunks; }
  /// The workers as a request names them.
  PipelineChoice choice() const { return {workers, workerDevices}; }
};

/// A plan that an engineer would try first, costed for comparison.
struct Reference {
  std::string name;
  std::optional<double> stepSeconds;
  std::optional<int64_t> memoryBytes;
  bool feasible = false;
  std::string reason; ///< why infeasible, or the part of the cluster that it could not use
};

/// Why what needs so many bytes does not fit: "needs 74.2 GiB on a device, the limit is 70.8 GiB".
std::string shortageText(int64_t bytes, int64_t limitBytes);

/// The same program without one kind of parallelism: {"tensor parallel", 41.2, 3e11}. The kind saves what these are
/// more than those of the plan; communication that it costs may make the seconds fewer.
struct PlanContribution {
  std::string kind;        ///< "data parallel", "tensor parallel", "cut storage"
  double stepSeconds = 0;  ///< without it
  int64_t memoryBytes = 0; ///< of one device without it
};

struct PlanTiming {
  double importSeconds = 0, problemSeconds = 0, searchSeconds = 0, totalSeconds = 0;
};

/// The batch of a training step, as it is planned: 64 samples in 8 micro-batches of 8, in 2 copies of 4 samples each.
/// Everything else that decides the step is in the request.
struct PlanTraining {
  std::string loss;         ///< as in --loss; "" for the only output of one number
  std::string optimizer;    ///< "adamw"
  std::string precision;    ///< "model", "fp32", "bf16", "fp16"
  std::string zero;         ///< as in --zero: "auto", "0", "1", "2", "3"
  std::string recompute;    ///< "none", "norms", "attention", "mlp", "branches", "full", "full:26" or "full:26,norms"
  int64_t globalBatch = 1;  ///< samples
  int64_t microBatch = 1;   ///< samples, on all devices together
  int64_t microBatches = 1; ///< in one step
  int64_t copies = 1;       ///< of a micro-batch: parts that run in turn
};

/// The plan that is found when one figure of the cluster is another.
struct PlanSensitivity {
  std::string figure;
  double scale = 1;                  ///< 0.8: a fifth less
  std::optional<double> stepSeconds; ///< none when nothing fits then
  unsigned changedOps = 0;           ///< ops with another strategy than in this plan
  std::string mesh;                  ///< "node=8 device=8"
  std::string reason;                ///< why nothing fits
};

/// How much is proven of a plan. Optimal: no plan of the space is faster; Feasible: it fits.
enum class PlanStatus : uint8_t { Optimal, Feasible };

llvm::StringRef planStatusName(PlanStatus status); ///< "optimal", "feasible"

/// The version of this program.
constexpr llvm::StringLiteral programVersion = "0.1.0";

struct Plan {
  static constexpr int version = 2;

  std::string producer = programVersion.str(); ///< the version of the program that made the plan
  PlanRequest request;                         ///< enough to plan again
  std::string modelSha256;                     ///< of the ONNX file; empty for a model that came as a module
  std::string cluster;                         ///< the cluster's name
  int64_t devicesUsed = 0;                     ///< devices that do something of their own
  std::string search;                          ///< the search, reference, layout or pins that the plan comes from
  PlanStatus status = PlanStatus::Feasible;
  double stepSeconds = 0;
  double computeSeconds = 0;                ///< of a device; of a pipeline the mean of its workers
  double communicationSeconds = 0;          ///< likewise
  double exposedCommunicationSeconds = 0;   ///< of it, what no op hides
  double hostSeconds = 0;                   ///< in which a device waits for launches of a slower host
  std::optional<double> overlappedSeconds;  ///< a step of training in turn, if collectives ran beside its ops
  double bubbleSeconds = 0;                 ///< in which the mean worker of a pipeline waits for others
  double lowerBoundSeconds = 0;             ///< no plan of the space is faster; 0 where nothing was proven
  double unlimitedBoundSeconds = 0;         ///< the same for plans that may need any memory; not written to files
  bool isByMemory = false;                  ///< more memory might make it faster; not written to files
  double unsharedSeconds = 0;               ///< that no search has seen: buckets not full; not written to files
  double gap = 0;                           ///< share of the step time above the bound
  std::optional<double> samplesPerSecond;   ///< none where no input has a batch
  std::optional<double> shareOfPeak;        ///< FLOPs of the model alone, of what the devices could do
  std::vector<std::string> peakFormats;     ///< at whose peak they could, that of most FLOPs first: "bf16"
  double flopsPerDevice = 0;                ///< of the device with the most
  MemoryTable memory;                       ///< of a device of the fullest stage
  int64_t lossBytes = 0;                    ///< of its activations, those of logits, loss and their gradients
  int64_t memoryLimitBytes = 0;             ///< of one device
  std::optional<int64_t> deviceMemoryBytes; ///< all that a device has
  std::map<std::string, int64_t> communicationBytes; ///< by collective, of one device of each stage
  std::vector<StagePlan> stages;
  std::optional<PlanPipeline> pipeline; ///< none where there is one stage
  std::vector<Reference> references;
  std::vector<TriedPoint> tried;             ///< around the step: the best of them, the best first
  int64_t numTried = 0;                      ///< points that were tried in all
  std::optional<PlanTraining> training;      ///< none for inference
  std::vector<PlanContribution> parallelism; ///< of a training step: its kinds, each left out once
  std::vector<PlanSensitivity> sensitivity;  ///< when it was asked for
  std::vector<std::string> notes;
  PlanTiming timing;

  int64_t numRanks() const;     ///< of all stages
  size_t numChoices() const;    ///< ops with a choice in all stages
  std::string meshText() const; ///< the meshes of all stages: "node=8 | node=4"
  /// "1f1b on 2 workers, cut before '/h.1/MatMul'" and further ops; of several chunks "interleaved on 2 workers with 2
  /// chunks each, ..."; "one" without a pipeline.
  std::string pipelineText() const;
};

/// `plan` with its figures taken together from its stages. Without a pipeline they are those of its stage. With one,
/// seconds are means over its workers, memory and FLOPs those of the fullest worker, and the step stays: what it takes
/// beyond the mean worker's own seconds is the bubble.
Plan withTotals(Plan plan);

} // namespace apc
