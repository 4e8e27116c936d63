// The table of formats, and the parts that all of them share: the folder, the manifest, the shards.
#include "EarlierEmission.h"
#include "Formats.h"
#include "Manifest.h"
#include "Weights/WeightShards.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/StringExtras.h"

#include <map>

namespace apc {

namespace {

constexpr Emitter emitters[] = {
    {"mlir", "the program of one device in the apc dialect, for all ranks and, with --rank, for single ones",
     /*takesRanks=*/true, emitMlir},
    {"shard-mlir", "the same program in upstream's shard dialect, as mlir-opt reads it", /*takesRanks=*/false,
     emitShardMlir},
    {"stablehlo", "StableHLO for XLA: modules of the pieces of a rank, collectives in place", /*takesRanks=*/false,
     emitStablehlo},
    {"sdy", "the program on whole tensors for Shardy: its mesh, shardings, and redistributions as explicit collectives",
     /*takesRanks=*/false, emitSdy},
    {"torch",
     "Python for PyTorch 1.13 and later, run by torchrun: plain ops on the pieces of a rank, collectives in place",
     /*takesRanks=*/false, emitTorch, emitTorchRuntime},
    {"onnx", "ONNX models of what ranks run between collectives, with the steps and a runner for ONNX Runtime",
     /*takesRanks=*/false, emitOnnx, emitOnnxRuntime},
    {"tensorrt", "an ONNX model for each rank, whose collectives are TensorRT's DistCollective (from 11.0 on)",
     /*takesRanks=*/true, emitTensorRt, emitTensorRtRuntime},
};

constexpr llvm::StringLiteral acceptedFolder =
    "a folder that does not exist, is empty, or holds nothing but an earlier emission, as its manifest.json says (a "
    "plan.json in it is kept)";

llvm::Error checkRequest(const Emitter &emitter, const Program &program, const EmitOptions &options) {
  if (!options.ranks.empty() && !emitter.takesRanks)
    return inputError("format '{0}' has no programs of single ranks; accepted with them are 'mlir' and 'tensorrt'",
                      emitter.name);
  int64_t numRanks = 0;
  for (const StageProgram &stage : program.stages)
    numRanks = std::max(numRanks, stage.firstRank + stage.numRanks);
  for (int64_t rank : options.ranks)
    if (rank < 0 || rank >= numRanks)
      return inputError("rank {0} is not in the program; ranks are 0 to {1}", rank, numRanks - 1);
  return llvm::Error::success();
}

/// A stage on its way to its files.
struct StageEmission {
  std::string prefix; ///< of its files: "stage-0003/", "" for the only stage
  std::vector<int64_t> ranks;
  const StageProgram &stage;
  Manifest manifest;
};

llvm::Expected<std::vector<StageEmission>> planEmission(const Program &program, const EmitOptions &options) {
  std::vector<StageEmission> stages;
  for (auto [number, stage] : llvm::enumerate(program.stages)) {
    std::string prefix = program.stages.size() > 1 ? stageFolderName(number) + "/" : "";
    StageEmission &own = stages.emplace_back(StageEmission{std::move(prefix), {}, stage, {}});
    for (int64_t rank : options.ranks)
      if (stage.firstRank <= rank && rank < stage.firstRank + stage.numRanks)
        own.ranks.push_back(rank - stage.firstRank);
    auto manifest = makeManifest({stage, own.ranks, options});
    if (!manifest)
      return manifest.takeError();
    own.manifest = std::move(*manifest);
    if (llvm::Error error = options.weights ? checkWeights(own.manifest) : llvm::Error::success())
      return error;
  }
  return stages;
}

/// The numbers of a summary; those of a rank are those of the ranks with the most.
Emission describe(llvm::ArrayRef<StageEmission> stages, llvm::StringRef folder, bool hasWeights) {
  Emission emission;
  emission.folder = folder.str();
  std::map<int64_t, int64_t> bytes; // by first rank of stages
  for (const StageEmission &own : stages) {
    emission.numParameters += own.manifest.parameters.size();
    for (const ManifestParameter &parameter : own.manifest.parameters) {
      bytes[own.stage.firstRank] += parameter.shardBytes;
      if (!parameter.data.absent.empty() && (!hasWeights || parameter.data.bytes.empty()))
        emission.absent.push_back(parameter.name);
    }
  }
  for (auto [rank, held] : bytes)
    emission.parameterBytesPerRank = std::max(emission.parameterBytesPerRank, held);
  return emission;
}

llvm::Error emitStage(const StageEmission &own, const Emitter &emitter, const ManifestHead &head, const StagePlan &plan,
                      const EmitOptions &options, OutputFolder &out, Emission &emission) {
  auto addFile = [&](llvm::StringRef name, llvm::StringRef content) {
    emission.files.push_back({own.prefix + name.str(), static_cast<int64_t>(content.size())});
    return out.write(emission.files.back().name, content);
  };
  if (llvm::Error error = emitter.emit({own.stage, own.ranks, options, &plan}, addFile))
    return error;
  if (llvm::Error error = addFile("manifest.json", printManifest(own.manifest, head, plan.mesh.axes, options.weights)))
    return error;
  return options.weights ? writeWeights(own.manifest, own.prefix, out, emission.files) : llvm::Error::success();
}

} // namespace

llvm::ArrayRef<Emitter> allEmitters() { return emitters; }

llvm::Expected<const Emitter *> findEmitter(llvm::StringRef name) {
  for (const Emitter &emitter : emitters)
    if (emitter.name == name)
      return &emitter;
  std::string names =
      llvm::join(llvm::map_range(emitters, [](const Emitter &emitter) { return emitter.name.str(); }), ", ");
  return inputError("--format {0}: no such format; accepted are {1}", name, names);
}

llvm::Expected<Emission> emit(const Program &program, const Plan &plan, llvm::StringRef format, llvm::StringRef folder,
                              const EmitOptions &options) {
  auto emitter = findEmitter(format);
  if (!emitter)
    return emitter.takeError();
  if (llvm::Error error = checkRequest(**emitter, program, options))
    return error;
  if (program.stages.size() != plan.stages.size())
    return internalError("the program has {0} stages, the plan {1}", program.stages.size(), plan.stages.size());
  auto stages = planEmission(program, options);
  if (!stages)
    return stages.takeError();
  const EarlierEmission earlier(folder);
  auto judge = [&](llvm::StringRef name) {
    return name == "plan.json"   ? OutputFolder::Entry::Kept
           : earlier.holds(name) ? OutputFolder::Entry::Replaced
                                 : OutputFolder::Entry::Foreign;
  };
  auto out = OutputFolder::create(folder, judge, acceptedFolder);
  if (!out)
    return out.takeError();
  Emission emission = describe(*stages, folder, options.weights);
  ManifestHead head{format.str(), options.modelPath, plan.modelSha256};
  if (stages->size() > 1) {
    std::string text = printPipeline(program, head);
    emission.files.push_back({"manifest.json", static_cast<int64_t>(text.size())});
    if (llvm::Error error = out->write("manifest.json", text))
      return error;
  }
  auto addShared = [&](llvm::StringRef name, llvm::StringRef content) {
    emission.files.push_back({name.str(), static_cast<int64_t>(content.size())});
    return out->write(name, content);
  };
  if (llvm::Error error = (*emitter)->emitShared ? (*emitter)->emitShared(options, addShared) : llvm::Error::success())
    return error;
  for (auto [own, stagePlan] : llvm::zip_equal(*stages, plan.stages))
    if (llvm::Error error = emitStage(own, **emitter, head, stagePlan, options, *out, emission))
      return error;
  if (llvm::Error error = out->commit())
    return error;
  return emission;
}

} // namespace apc
