// The table of formats, and the parts that all of them share: the folder, the manifest, the shards.
#include "Formats.h"
#include "Manifest.h"
#include "Weights/WeightShards.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Regex.h"

namespace apc {

namespace {

constexpr Emitter emitters[] = {
    {"mlir", "the program of one device in the apc dialect, for all ranks and, with --rank, for single ones",
     /*takesRanks=*/true, emitMlir},
    {"shard-mlir", "the same program in upstream's shard dialect, as mlir-opt reads it", /*takesRanks=*/false,
     emitShardMlir},
};

constexpr llvm::StringLiteral acceptedFolder =
    "a folder that does not exist, is empty, or holds nothing but an earlier emission (a plan.json in it is kept)";

OutputFolder::Entry judgeEntry(llvm::StringRef name) {
  if (name == "plan.json")
    return OutputFolder::Entry::Kept;
  bool isOurs = name == "manifest.json" || name == "program.mlir" || name == "weights" ||
                llvm::Regex("^rank-[0-9]+\\.mlir$").match(name);
  return isOurs ? OutputFolder::Entry::Replaced : OutputFolder::Entry::Foreign;
}

llvm::Error checkRanks(const Emitter &emitter, const EmitOptions &options, const Mesh &mesh) {
  if (!options.ranks.empty() && !emitter.takesRanks)
    return inputError("format '{0}' has no programs of single ranks; accepted with them is 'mlir'", emitter.name);
  for (int64_t rank : options.ranks)
    if (rank < 0 || rank >= mesh.numDevices())
      return inputError("rank {0} is not in the mesh {1}; ranks are 0 to {2}", rank, mesh.str(), mesh.numDevices() - 1);
  return llvm::Error::success();
}

Emission describe(const Manifest &manifest, llvm::StringRef folder, bool hasWeights) {
  Emission emission;
  emission.folder = folder.str();
  emission.numParameters = manifest.parameters.size();
  for (const ManifestParameter &parameter : manifest.parameters) {
    emission.parameterBytesPerRank += parameter.shardBytes;
    if (!parameter.data.absent.empty() && (!hasWeights || parameter.data.bytes.empty()))
      emission.absent.push_back(parameter.name);
  }
  return emission;
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
  EmitRequest request{program, plan, options};
  auto manifest = makeManifest(request, format);
  if (!manifest)
    return manifest.takeError();
  if (llvm::Error error = checkRanks(**emitter, options, manifest->mesh))
    return error;
  if (options.weights)
    if (llvm::Error error = checkWeights(*manifest))
      return error;
  auto out = OutputFolder::create(folder, judgeEntry, acceptedFolder);
  if (!out)
    return out.takeError();
  Emission emission = describe(*manifest, folder, options.weights);
  auto addFile = [&](llvm::StringRef name, llvm::StringRef content) {
    emission.files.push_back({name.str(), static_cast<int64_t>(content.size())});
    return out->write(name, content);
  };
  if (llvm::Error error = (*emitter)->emit(request, addFile))
    return error;
  if (llvm::Error error = addFile("manifest.json", printManifest(*manifest, request)))
    return error;
  if (options.weights)
    if (llvm::Error error = writeWeights(*manifest, *out, emission.files))
      return error;
  if (llvm::Error error = out->commit())
    return error;
  return emission;
}

} // namespace apc
