// The one description of plan.json: writer, reader and schema walk the same fields. A description says what a key
// means; the limits beside it are for the schema.
#pragma once

#include "apc/Plan/Plan.h"
#include "apc/Support/Json/JsonWriter.h"

#include <limits>

namespace apc {

/// The meaning of a key, and the numbers between which its value lies. Readers and writers see the text alone.
struct Described {
  llvm::StringRef text;
  std::optional<double> least = std::nullopt, most = std::nullopt;
  bool notEmpty = false; ///< of texts

  operator llvm::StringRef() const { return text; }
};

/// Numbers of at least `least`.
constexpr Described from(double least, llvm::StringRef text) { return {text, least}; }
constexpr Described within(double least, double most, llvm::StringRef text) { return {text, least, most}; }
constexpr Described notEmpty(llvm::StringRef text) { return {text, std::nullopt, std::nullopt, true}; }

inline llvm::ArrayRef<llvm::StringLiteral> enumNames(PlanStatus) {
  static constexpr llvm::StringLiteral names[] = {"optimal", "feasible"};
  return names;
}

inline llvm::ArrayRef<llvm::StringLiteral> enumNames(StepMode) {
  static constexpr llvm::StringLiteral names[] = {"infer", "train"};
  return names;
}

inline llvm::ArrayRef<llvm::StringLiteral> enumNames(ValueRole) {
  static constexpr llvm::StringLiteral names[] = {"input",    "parameter",       "activation",
                                                  "gradient", "optimizer_state", "output"};
  return names;
}

inline llvm::ArrayRef<llvm::StringLiteral> enumNames(MemoryCategory) { return memoryCategoryNames(); }

inline llvm::ArrayRef<llvm::StringLiteral> enumNames(Combiner) {
  static constexpr llvm::StringLiteral names[] = {"sum", "max", "min", "product", "and", "or", "log_sum_exp"};
  return names;
}

/// The line of a memory table that is no part of its sum.
constexpr llvm::StringLiteral hostMemoryKey = "host";
/// True for a category that earlier files leave out.
constexpr bool isLaterLine(MemoryCategory category) { return category == MemoryCategory::Runtime; }
/// A number for each category, their sum, `total`, and that of the host.
void readJson(JsonReader reader, MemoryTable &memory);
void writeJson(JsonWriter &json, const MemoryTable &memory);
/// As text: "b0:node n:(device.a device.b)".
void readJson(JsonReader reader, NamedStrategy &strategy);
void writeJson(JsonWriter &json, const NamedStrategy &strategy);
/// The table of settings, each under its key.
void readJson(JsonReader reader, PlanRequest &request);
void writeJson(JsonWriter &json, const PlanRequest &request);

template <typename Visitor>
void fields(Visitor &visit, PlanAxis &axis) {
  visit("name", axis.name, notEmpty("By its place: the level, device, or one of several of a level, node.b"));
  visit("size", axis.size, from(1, "Devices along it"));
  visit("level", axis.level, notEmpty("The level of the cluster that it lies on"));
  visit("level_index", axis.levelIndex, from(0, "0 is the outermost level"));
}

template <typename Visitor>
void fields(Visitor &visit, TurningPoint &point) {
  visit("figure", point.figure, notEmpty("As in --cluster-set"));
  visit("factor", point.scale, from(0, "Of the figure as it is"));
  visit("value", point.value, from(0, "The figure then; null where it has several values"));
}

template <typename Visitor>
void fields(Visitor &visit, RunnerUp &runnerUp) {
  visit("strategy", runnerUp.strategy, notEmpty("The alternative"));
  visit("extra_seconds", runnerUp.extraSeconds, Described{"Its cost beyond that of the choice, per step"});
  visit.optional("wins_if", runnerUp.winsIf,
                 Described{"Changes of one figure of the cluster beyond which it is the better one, nearest first"});
}

template <typename Visitor>
void fields(Visitor &visit, FactorChoice &choice) {
  visit("factor", choice.factor, notEmpty("A factor of the op's rule"));
  visit("size", choice.size, from(1, "Its elements"));
  visit("cut", choice.isCut, Described{"Whether the strategy cuts it"});
  visit("must_be_whole", choice.mustBeWhole, Described{"Whether the operator needs all of it on every device"});
  visit("other", choice.other, Described{"The cheapest strategy that does the other thing; null for none"});
}

template <typename Visitor>
void fields(Visitor &visit, PinnedChoice &pinned) {
  visit("by", pinned.by, notEmpty("The pins and their sources"));
  visit("free", pinned.free, Described{"The cheapest strategy without the pins; null for none"});
}

template <typename Visitor>
void fields(Visitor &visit, PlanChoice &choice) {
  visit("op", choice.op, notEmpty("The ONNX node's name"));
  visit("operator", choice.operatorName, notEmpty("The operator in apc's dialect"));
  visit("strategy", choice.strategy,
        notEmpty("Words factor:axes, as 'b0:node n:(device.a device.b)', 'passing0:device', or 'replicated'"));
  visit("seconds", choice.seconds, from(0, "Of the op on one device, per step"));
  visit("communication_seconds", choice.communicationSeconds,
        from(0, "Of the redistributions of its operands; shared ones at their first user"));
  visit("bytes", choice.bytes, from(0, "Of its results on one device"));
  visit("runner_up", choice.runnerUp,
        Described{"The next best strategy, everything else staying as it is; null for none"});
  visit("rejections", choice.rejections, from(0, "Index into the stage's rejections"));
  visit("factors", choice.factors, Described{"Factors of more than one element, and their other choice"});
  visit("pinned", choice.pinned, Described{"Whether pins decided; null where the search did"});
  visit.optional("merged", choice.merged, notEmpty("Nodes of the model that this op does as well"));
  visit.optional("memory_bound", choice.isMemoryBound, Described{"Its bytes take longer than its arithmetic"});
  bool runsAgain = choice.runsAgain();
  visit.optional("recompute", runsAgain, Described{"Whether it runs again, for the backward pass"});
}

template <typename Visitor>
void fields(Visitor &visit, PlanRejections::Reason &reason) {
  visit("reason", reason.reason, notEmpty("Why"));
  visit("count", reason.count, from(1, "Strategies that it ruled out"));
  visit("example", reason.example, notEmpty("One of them"));
}

template <typename Visitor>
void fields(Visitor &visit, PlanRejections &rejections) {
  visit("rule", rejections.rule, notEmpty("The bound rule"));
  visit("offered", rejections.offered, from(1, "Strategies that were candidates"));
  visit("reasons", rejections.reasons, Described{"Why others were not"});
}

template <typename Visitor>
void fields(Visitor &visit, PlanSharding &sharding) {
  visit("value", sharding.value, notEmpty("The value's name in the model"));
  visit("producer", sharding.producer, notEmpty("The op that makes it"));
  visit("role", sharding.role, Described{"The purpose of the value"});
  visit("shape", sharding.shape, from(0, "Elements by dim"));
  visit("local_shape", sharding.localShape, from(0, "Elements by dim of the padded piece on one device"));
  visit("dims", sharding.sharding.dims, Described{"Axes by dim, major first"});
  visit("partial", sharding.sharding.partial, Described{"Axes over which the value is the combination of its pieces"});
  visit("combiner", sharding.sharding.combiner, Described{"How partial pieces combine"});
  visit.optional("parts", sharding.sharding.parts,
                 Described{"By dim, the sizes of the parts that are each cut on their own; empty for one run"});
  visit("element_bits", sharding.elementBits, from(1, "Bits of one element"));
  visit.optional("users", sharding.users, notEmpty("The ops that read it, here or where it was moved to"));
  visit.optional(
      "storage", sharding.storage,
      Described{"Of a parameter: as used, gathered (for its use), gathered for each pass; empty for others"});
}

template <typename Visitor>
void fields(Visitor &visit, PlanMove &move) {
  std::string target = move.target.str();
  visit("values", move.values, notEmpty("The values that move together"));
  visit.optional("source", move.source,
                 Described{"The target of the move whose copy they start from; without it, from their producer"});
  visit("target", target, notEmpty("The sharding that they end in, for people: '[node, -]'"));
  visit("target_dims", move.target.dims, Described{"Axes by dim of that sharding"});
  visit("target_partial", move.target.partial, Described{"Axes over which it stays partial"});
  visit("target_combiner", move.target.combiner, Described{"How partial pieces combine"});
  visit.optional("target_parts", move.target.parts, Described{"By dim, the parts inside which that sharding cuts"});
  visit("users", move.users, notEmpty("The ops that read them there, or from there"));
  visit.optional("before", move.before,
                 Described{"The op in front of which the collectives stand; without it, the first of the users"});
  visit("collectives", move.collectives, notEmpty("In order, as 'AllReduce{device}'"));
  visit("seconds", move.seconds, from(0, "Of all of them, per step; in a bucket its share by bytes"));
}

template <typename Visitor>
void fields(Visitor &visit, PlanBucket &bucket) {
  visit("moves", bucket.moves, from(0, "Indices into the stage's moves, in the order in which their values are ready"));
  visit("collectives", bucket.collectives, notEmpty("Of all of them together, in order, as 'AllReduce{device}'"));
  visit("bytes", bucket.bytes, from(0, "Of the largest buffer on one device"));
  visit("limit_bytes", bucket.limitBytes, from(0, "That a buffer may have: --fusion-bytes, or by the link"));
  visit("seconds", bucket.seconds, from(0, "Of all of them, per step"));
}

template <typename Visitor>
void fields(Visitor &visit, PlanCollectives &collectives) {
  visit("collective", collectives.collective, notEmpty("The kind"));
  visit("levels", collectives.levels, notEmpty("Levels that their groups span, outermost first: 'node + device'"));
  visit("count", collectives.count, from(1, "How many there are"));
  visit("seconds", collectives.seconds, from(0, "Of all of them, per step"));
  visit("received_bytes", collectives.receivedBytes, from(0, "Bytes that one device receives, per step"));
}

template <typename Visitor>
void fields(Visitor &visit, PlanPeakValues &values) {
  visit("values", values.pattern, notEmpty("The name of a value, or of several with * for their numbers"));
  visit("count", values.count, from(1, "How many there are"));
  visit("category", values.category, Described{"The line of the memory table that counts them"});
  visit("copies", values.areCopies, Described{"Whether they are copies in another sharding, as gathered parameters"});
  visit("bytes", values.bytes, from(0, "Of all of them on one device"));
}

template <typename Visitor>
void fields(Visitor &visit, PlanStageSeconds &seconds) {
  visit("forward", seconds.forward, from(0, "Of the forward pass of one micro-batch"));
  visit("backward", seconds.backward, from(0, "Of the gradients of its inputs"));
  visit("weights", seconds.weights, from(0, "Of the gradients of its weights"));
  visit("update", seconds.update, from(0, "Of what runs once a step: reductions of sums, the optimizer"));
}

template <typename Visitor>
void fields(Visitor &visit, StagePlan &stage) {
  int64_t devices = stage.numRanks();
  visit("first_rank", stage.firstRank, from(0, "The first of the ranks that run the stage"));
  visit("devices", devices, from(1, "Devices of its mesh"));
  visit("mesh", stage.mesh.axes, Described{"The axes of the device mesh, outermost (slowest link) first"});
  visit("compute_seconds", stage.computeSeconds, from(0, "Of the ops of one device, per step"));
  visit("communication_seconds", stage.communicationSeconds, from(0, "Of the collectives, per step"));
  visit("exposed_communication_seconds", stage.exposedCommunicationSeconds,
        from(0, "Of the step, beyond its ops: collectives that no op hides, and ops that collectives slow"));
  visit.optional("host_seconds", stage.hostSeconds,
                 from(0, "Of the step, in which the device waits for launches of a slower host"));
  visit("flops_per_device", stage.flopsPerDevice, from(0, "Floating-point operations of one device, per step"));
  visit.optional("seconds", stage.parts, Described{"Of a stage of a pipeline, by part; null without a pipeline"});
  visit.optional("in_flight", stage.inFlight, from(1, "Micro-batches whose activations it holds at once, at most"));
  visit("memory_bytes", stage.memory, Described{"The peak of one device, by category"});
  visit.optional("memory_bytes_together", stage.memoryTogether,
                 Described{"The same while its worker needs most; null where a worker has one stage"});
  visit("communication_bytes", stage.communicationBytes, from(0, "Bytes of one device by collective"));
  visit("choices", stage.choices, Described{"The decision for each op, in the order of the model"});
  visit("rejections", stage.rejections, Described{"Strategies that were not offered, by rule"});
  visit("shardings", stage.shardings, Described{"The sharding of each value"});
  visit("moves", stage.moves, Described{"The redistributions of the emitted program"});
  visit.optional("buckets", stage.buckets, Described{"Moves that are taken together, in one exchange for each step"});
  visit.optional("collectives", stage.collectives, Described{"Their collectives by kind and levels, longest first"});
  visit.optional("memory_peak_op", stage.fullestOp, Described{"The op at which the memory is largest"});
  visit.optional("memory_peak_values", stage.peakValues,
                 Described{"The values that live there, by name, the largest first; the smallest are left out"});
  visit.optional("logits_and_loss_bytes", stage.lossBytes,
                 from(0, "Of the activations there: logits, loss, what lies between them, and their gradients"));
}

template <typename Visitor>
void fields(Visitor &visit, PlanTransfer &transfer) {
  visit("value", transfer.value, notEmpty("Its name in the stage that makes it"));
  visit("from", transfer.from, from(0, "That stage"));
  visit("to", transfer.to, from(0, "The stage that reads it, one for each transfer"));
  visit("time", transfer.time, notEmpty("forward, backward: with every micro-batch, in that pass; step: once"));
  visit("bytes", transfer.bytes, from(0, "Of the whole value"));
  visit("seconds", transfer.seconds, from(0, "On its way; 0 within a worker"));
}

template <typename Visitor>
void fields(Visitor &visit, PlanPipeline &pipeline) {
  visit("schedule", pipeline.schedule, notEmpty("The order in which stages act"));
  visit("workers", pipeline.workers, from(1, "Groups of ranks that hold stages of their own"));
  visit("chunks", pipeline.chunks, from(1, "Stages of a worker"));
  int64_t stages = pipeline.numStages();
  visit.optional("stages", stages, from(1, "Of all workers"));
  visit.optional("copies", pipeline.copies, from(1, "Of a micro-batch, as in training"));
  visit("cuts", pipeline.cuts, notEmpty("The first op of the forward pass behind each cut"));
  visit("transfers", pipeline.transfers, Described{"Values that run between stages"});
  visit("worker_devices", pipeline.workerDevices, from(1, "Of each worker; empty where they have equally many"));
}

template <typename Visitor>
void fields(Visitor &visit, Reference &reference) {
  visit("name", reference.name, notEmpty("single device, data parallel, tensor parallel, layout dp=N,tp=N"));
  visit("step_seconds", reference.stepSeconds, from(0, "null when it could not be costed"));
  visit("memory_bytes", reference.memoryBytes, from(0, "Of one device; null when it could not be costed"));
  visit("feasible", reference.feasible, Described{"Whether it fits"});
  visit("reason", reference.reason, Described{"Why it does not run, or the devices that it leaves unused"});
}

template <typename Visitor>
void fields(Visitor &visit, TriedPoint &point) {
  visit("workers", point.workers, from(1, "Of the pipeline; 1: no pipeline"));
  visit("schedule", point.schedule, Described{"The order in which stages act; empty where there was none"});
  visit("chunks", point.chunks, from(1, "Stages of a worker"));
  visit("micro_batches", point.microBatches, from(1, "Micro-batches of one step"));
  visit("micro_batch", point.microBatch, from(1, "Samples of one micro-batch; null where it was not read"));
  visit("copies", point.copies, from(1, "Of a micro-batch"));
  visit("recompute", point.recompute, notEmpty("As in the plan's training"));
  visit("zero", point.zero, notEmpty("As in --zero: auto, 0, 1, 2, 3"));
  visit("step_seconds", point.stepSeconds, from(0, "null where no plan of the point is known"));
  visit("memory_bytes", point.memoryBytes, from(0, "Of one device; null where no plan of the point is known"));
  visit("feasible", point.feasible, Described{"Whether it fits"});
  visit("reason", point.reason, Described{"Why it does not fit"});
  visit("is_quick", point.isQuick,
        Described{"Whether it was planned until a good answer alone, not until the gap or the time limit"});
}

template <typename Visitor>
void fields(Visitor &visit, PlanContribution &row) {
  visit("kind", row.kind, notEmpty("data parallel, tensor parallel, cut storage"));
  visit("step_seconds", row.stepSeconds, from(0, "Of the same program without it"));
  visit("memory_bytes", row.memoryBytes, from(0, "Of one device without it"));
}

template <typename Visitor>
void fields(Visitor &visit, PlanSensitivity &row) {
  visit("figure", row.figure, notEmpty("The figure of the cluster that is changed"));
  visit("factor", row.scale, from(0, "Of the figure as it is"));
  visit("step_seconds", row.stepSeconds, from(0, "Of the plan then; null when nothing fits"));
  visit("changed_ops", row.changedOps, from(0, "Ops with another strategy than in this plan"));
  visit("mesh", row.mesh, Described{"The mesh then"});
  visit("reason", row.reason, Described{"Why nothing fits then"});
}

template <typename Visitor>
void fields(Visitor &visit, PlanTiming &timing) {
  visit("import", timing.importSeconds, from(0, "Reading the model"));
  visit("problem", timing.problemSeconds, from(0, "Building the problems of all meshes"));
  visit("search", timing.searchSeconds, from(0, "Searching them"));
  visit("total", timing.totalSeconds, from(0, "The whole command"));
}

template <typename Visitor>
void fields(Visitor &visit, PlanTraining &training) {
  visit("loss", training.loss, Described{"As in --loss; empty for the only output of one number"});
  visit("optimizer", training.optimizer, notEmpty("Its name"));
  visit("precision", training.precision, notEmpty("Of weights and activations; model: as the file has them"));
  visit.optional("zero", training.zero, Described{"As in --zero: auto, 0, 1, 2, 3"});
  visit("recompute", training.recompute,
        notEmpty("The forward values that the backward pass makes again; behind a colon in so many layers, the first, "
                 "and behind a comma in the other layers"));
  visit("global_batch", training.globalBatch, from(1, "Samples of one step"));
  visit("micro_batch", training.microBatch, from(1, "Samples of one micro-batch on all devices together"));
  visit("micro_batches", training.microBatches, from(1, "Micro-batches of one step"));
  visit("copies", training.copies, from(1, "Parts of a micro-batch, which run in turn"));
}

/// Key `model`.
struct PlanModel {
  std::string &path, &sha256;
};

template <typename Visitor>
void fields(Visitor &visit, PlanModel &model) {
  visit("path", model.path, notEmpty("The ONNX file, as given"));
  visit("sha256", model.sha256, Described{"Of the ONNX file; empty where the model came as a module"});
}

/// The keys of a plan behind `version`.
template <typename Visitor>
void fields(Visitor &visit, Plan &plan) {
  PlanModel model{plan.request.modelPath, plan.modelSha256};
  visit("apc_version", plan.producer, Described{"The version of the program that made the plan"});
  visit("model", model, Described{"The model"});
  visit("request", plan.request, Described{"The settings: enough to plan again"});
  visit("cluster", plan.cluster, notEmpty("The cluster's name"));
  visit.optional("runtime", plan.request.runtime, Described{"The runtime's name, or its file"});
  visit("devices", plan.request.devices, from(1, "Devices that were offered"));
  visit("devices_used", plan.devicesUsed, from(1, "Devices that do something of their own"));
  visit("mode", plan.request.mode, Described{"The kind of step"});
  visit.optional("training", plan.training, Described{"The training step; null for inference"});
  visit("search", plan.search,
        notEmpty("The origin of the plan: a search, 'reference: NAME', 'layout dp=N,tp=N', 'data parallel' or 'pins'"));
  visit("status", plan.status, Described{"optimal: within the searched space and the cost model"});
  visit("step_seconds", plan.stepSeconds, from(0, "Of the emitted program: compute and exposed communication"));
  visit("compute_seconds", plan.computeSeconds, from(0, "Of one device; of a pipeline the mean of its workers"));
  visit("communication_seconds", plan.communicationSeconds, from(0, "Likewise"));
  visit("exposed_communication_seconds", plan.exposedCommunicationSeconds,
        from(0, "Of the step, what it takes beyond its ops; in inference, all communication"));
  visit.optional("host_seconds", plan.hostSeconds,
                 from(0, "Of the step, in which a device waits for launches of a slower host"));
  visit.optional("overlapped_seconds", plan.overlappedSeconds,
                 from(0, "Of a step of training without overlap: the same program, collectives beside its ops"));
  visit.optional("bubble_seconds", plan.bubbleSeconds,
                 from(0, "Of the step, what the mean worker of a pipeline waits for others"));
  visit("lower_bound_seconds", plan.lowerBoundSeconds,
        from(0, "No plan of the searched space is faster; 0 where nothing was proven"));
  visit("gap", plan.gap, within(0, 1, "Share of the time that the bound leaves open"));
  visit.optional("samples_per_second", plan.samplesPerSecond,
                 from(0, "The batch of the inputs by the step; null where no input has a batch"));
  visit.optional(
      "share_of_peak", plan.shareOfPeak,
      from(0, "FLOPs of the model's contractions, of those that all devices of the request could do at peak"));
  visit.optional("peak_formats", plan.peakFormats,
                 notEmpty("Number formats of that peak, that of most FLOPs first: bf16"));
  visit("flops_per_device", plan.flopsPerDevice, from(0, "Of the device with the most, per step"));
  visit("memory_bytes", plan.memory, Described{"The peak of a device of the fullest stage, by category"});
  visit.optional("logits_and_loss_bytes", plan.lossBytes,
                 from(0, "Of its activations: logits, loss, what lies between them, and their gradients"));
  visit("memory_limit_bytes", plan.memoryLimitBytes, from(0, "Memory that one device may use"));
  visit.optional("device_memory_bytes", plan.deviceMemoryBytes, from(0, "Memory that one device has"));
  visit("communication_bytes", plan.communicationBytes, from(0, "Bytes of one device of each stage, by collective"));
  visit("references", plan.references, Described{"Plans that an engineer would try first, on the same footing"});
  visit.optional("tried", plan.tried,
                 Described{"Workers, schedules, chunks, micro-batches and recomputation that were tried, the best "
                           "first; of many the best of each kind"});
  visit.optional("tried_count", plan.numTried, from(0, "Points that were tried in all"));
  visit.optional("parallelism", plan.parallelism,
                 Described{"Kinds of parallelism of a training step, and the same program without each"});
  visit.optional("pipeline", plan.pipeline, Described{"The order of the stages; null where there is one stage"});
  visit("stages", plan.stages, Described{"The pipeline stages; one where there is no pipeline"});
  visit.optional("sensitivity", plan.sensitivity, Described{"Planned again with one figure of the cluster changed"});
  visit("notes", plan.notes, Described{"Remarks on the model, the devices and the search"});
}

} // namespace apc
