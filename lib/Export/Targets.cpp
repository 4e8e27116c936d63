// The table of targets.
#include "Targets.h"

#include "apc/Support/Error.h"

namespace apc {

static constexpr ExportTarget targets[] = {
    {"megatron", "Megatron", "arguments of Megatron-LM's training script, one a line", nearestMegatron, writeMegatron,
     /*tellsOfNarrowProducts=*/true},
    {"torchtitan", "torchtitan", "a Python function that sets a Trainer.Config, and the pipeline's schedule as CSV",
     nearestTorchTitan, writeTorchTitan},
    {"deepspeed", "DeepSpeed", "DeepSpeed's JSON configuration", nearestDeepSpeed, writeDeepSpeed},
    {"hf", "Accelerate", "Accelerate's ParallelismConfig, a tp_plan of transformers and training arguments, as JSON",
     nearestHuggingFace, writeHuggingFace},
    {"galvatron", "Galvatron", "Galvatron's JSON of degrees for each layer", nearestGalvatron, writeGalvatron},
    {"mindspore", "MindSpore", "MindSpore's strategy file, as JSON: cuts of each op and layouts of parameters", nullptr,
     writeMindSpore},
    {"jax", "JAX", "meshes and PartitionSpecs of JAX, as Python", nullptr, writeJax},
    {"dtensor", "DTensor", "meshes and placements of PyTorch's DTensor, as Python", nullptr, writeDTensor},
    {"autoparallel", "AutoParallel", "the JSON of PyTorch's AutoParallel: placements and costs of each op", nullptr,
     writeAutoParallel},
    {"onnx", "ONNX", "the model itself with the shardings of its nodes, as ONNX IR 11 has them", nullptr, writeOnnx},
    {"dot", "GraphViz", "a picture for GraphViz: ops of layers that are alike as one box", nullptr, writeDot,
     /*tellsOfNarrowProducts=*/true},
    {"perfetto", "Perfetto", "a trace of the step for Perfetto and Chrome, as JSON", nullptr, writePerfetto,
     /*tellsOfNarrowProducts=*/true},
    {"chakra", "Chakra",
     "execution traces of MLCommons' Chakra, one for each rank, and the groups of their collectives", nullptr,
     writeChakra},
};

llvm::ArrayRef<ExportTarget> allExportTargets() { return targets; }

llvm::Expected<const ExportTarget *> findExportTarget(llvm::StringRef name) {
  std::string names;
  for (const ExportTarget &target : targets) {
    if (target.name == name)
      return &target;
    names += (names.empty() ? "" : ", ") + target.name.str();
  }
  return inputError("--to {0}: there is no such target; accepted are {1}", name, names);
}

} // namespace apc
