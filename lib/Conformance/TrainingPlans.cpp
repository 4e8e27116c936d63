// Requests and layouts planned, partitioned, proven and run.
#include "TrainingPlans.h"

#include "apc/Interpret/Grid.h"
#include "apc/Partition/Partition.h"
#include "apc/Partition/VerifyProgram.h"
#include "apc/Planning/Planning.h"
#include "apc/Search/Algorithms.h"
#include "apc/Support/Error.h"
#include "apc/Transforms/BuildGraph.h"

#include "llvm/ADT/StringExtras.h"

namespace apc {

TrainingFault at(const std::string &place, TrainingFault fault) {
  if (!fault)
    return place + takeMessage(fault.takeError()).second;
  if (*fault)
    return place + **fault;
  return std::nullopt;
}

namespace {

/// Everything of a stage that its program follows from.
std::string textOf(const StagePlan &stage) {
  std::string text = stage.mesh.str();
  for (const PlanChoice &choice : stage.choices)
    text += "\n" + choice.op + " " + choice.strategy.str();
  for (const PlanSharding &sharding : stage.shardings)
    text += "\n" + sharding.value + " " + sharding.sharding.str();
  for (const PlanMove &move : stage.moves)
    text += "\n" + llvm::join(move.values, " ") + ": " + move.source + " > " + move.target.str() + " before " +
            move.before + " for " + llvm::join(move.users, " ") + " by " + llvm::join(move.collectives, " ");
  for (const PlanBucket &bucket : stage.buckets) {
    text += "\n" + llvm::join(bucket.collectives, " ");
    for (unsigned move : bucket.moves)
      text += " " + std::to_string(move);
  }
  return text;
}

} // namespace

PlanRequest TrainingPlans::requestOn(int64_t devices) const {
  PlanRequest request;
  request.modelPath = own.modelPath;
  request.mode = StepMode::Train;
  request.cluster = "cpu-local";
  request.devices = devices;
  return request;
}

TrainingFault TrainingPlans::carryOut(mlir::ModuleOp built, const Plan &plan, Known &known) {
  ++plans;
  if (!known.insert(textOf(plan.stages.front())).second)
    return std::nullopt;
  auto program = partition(built, plan);
  if (!program)
    return program.takeError();
  auto proof = verifyProgram(built, *program, plan);
  if (!proof)
    return proof.takeError();
  ++programs;
  return judgeTraining(built, own, initial, [&](llvm::ArrayRef<Tensor> arguments, const ParameterSource &source) {
    return runGrid(*program, arguments, source);
  });
}

TrainingFault TrainingPlans::judgeRequest(mlir::ModuleOp built, const PlanRequest &request, Known &known) {
  auto graph = graphOfModel(built, own.modelPath);
  if (!graph)
    return graph.takeError();
  auto target = readTarget(request);
  if (!target)
    return target.takeError();
  auto plan = planGraph(*graph, request, *target, {}, {});
  if (plan)
    return carryOut(built, *plan, known);
  if (llvm::Error error = refuse(plan.takeError(), request.search, request.devices))
    return error;
  return std::nullopt;
}

TrainingFault TrainingPlans::judgePlan(mlir::ModuleOp built, int64_t devices, llvm::StringRef search) {
  PlanRequest request = requestOn(devices);
  if (!search.empty())
    request.search = search.str();
  Known known;
  return judgeRequest(built, request, known);
}

TrainingFault TrainingPlans::judgeLayout(mlir::ModuleOp built, int64_t devices, int zero, Known &known) {
  auto graph = graphOfModel(built, own.modelPath);
  if (!graph)
    return graph.takeError();
  PlanRequest request = requestOn(devices);
  auto target = readTarget(request);
  if (!target)
    return target.takeError();
  for (int64_t ways = devices; ways >= 1; --ways) {
    if (devices % ways != 0)
      continue;
    ParallelDegrees layout{ways, devices / ways, zero};
    auto plan = evaluateLayout(*graph, request, *target, layout, {});
    if (plan)
      return at("layout " + layout.str() + ": ", carryOut(built, *plan, known));
    auto [fault, message] = takeMessage(plan.takeError());
    if (fault != Fault::Input || ways == 1) // the batch may be too small
      return "layout " + layout.str() + ": " + message;
  }
  return std::nullopt;
}

TrainingFault TrainingPlans::judgeBuckets(mlir::ModuleOp built, const std::string &place, int64_t devices) {
  Known known;
  constexpr int64_t few = 2048; // bytes: some gradients fit together, others do not
  for (std::optional<int64_t> bytes : {std::optional<int64_t>(), std::optional<int64_t>(0), std::optional(few)}) {
    PlanRequest request = requestOn(devices);
    request.parallel = ParallelMode::Data;
    request.fusionBytes = bytes;
    std::string size = bytes ? std::to_string(*bytes) + " bytes" : "as many bytes as the links want";
    auto fault = at(llvm::formatv("{0}data parallel on {1} devices, in buckets of {2}: ", place, devices, size),
                    judgeRequest(built, request, known));
    if (!fault || *fault)
      return fault;
  }
  return std::nullopt;
}

llvm::Error TrainingPlans::refuse(llvm::Error error, llvm::StringRef search, int64_t devices) {
  auto [fault, message] = takeMessage(std::move(error));
  if (fault != Fault::Input || search == defaultSearch)
    return llvm::make_error<PlannerError>(fault, message);
  refused.insert(llvm::formatv("{0} on {1} devices", search, devices));
  return llvm::Error::success();
}

bool TrainingPlans::isWanted(llvm::StringRef search) const {
  return options.searches.empty() ? search != "exhaustive" // too many assignments
                                  : llvm::is_contained(options.searches, search);
}

TrainingFault TrainingPlans::judgeAll(mlir::ModuleOp built, const std::string &place) {
  Known known;
  std::vector<ZeroChoice> stages = options.zeroStages;
  if (stages.empty())
    stages.push_back(ZeroChoice::Auto);
  for (int64_t devices : options.deviceCounts)
    for (ZeroChoice zero : stages) {
      std::string here = llvm::formatv("{0} on {1} devices", place, devices);
      std::optional<int64_t> stage = zeroStage(zero);
      if (stage)
        here += llvm::formatv(" with ZeRO {0}", *stage);
      for (const Search &search : allSearches()) {
        if (!isWanted(search.name))
          continue;
        PlanRequest request = requestOn(devices);
        request.search = search.name.str();
        request.zero = zero;
        auto fault = at(llvm::formatv("{0} by search {1}: ", here, search.name), judgeRequest(built, request, known));
        if (!fault || *fault)
          return fault;
      }
      if (!stage)
        continue;
      auto fault = at(here + " by ", judgeLayout(built, devices, static_cast<int>(*stage), known));
      if (!fault || *fault)
        return fault;
    }
  return std::nullopt;
}

std::string TrainingPlans::countsText() const { return llvm::formatv("{0} plans, {1} programs", plans, programs); }

} // namespace apc
