// The software that runs a program, as data: what it fuses, what its launches cost, what it keeps.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace apc {

/// The figures of one runtime. Without a document, every op is a kernel at the figures of its device, and attention is
/// one kernel, too.
///
///   Runtime runtime = *loadRuntime("megatron-2021");
///   runtime.fusesAttention == false;   runtime.scoreForwardBytes == 9
struct Runtime {
  std::string name, description;
  bool fusesAttention = true;      ///< scores never leave the device's fast memory
  bool tunesAttention = false;     ///< its attention has kernels written for the device, where there are any
  double attentionShare = 1;       ///< the speed of its kernels beside the device's attention efficiency
  bool skipsMaskedKeys = true;     ///< under a causal mask half of the scores are not computed
  double scoreForwardBytes = 0;    ///< streamed for each score between the products of an attention in parts
  double scoreBackwardBytes = 0;   ///< the same for its gradients
  double scoreKeptBytes = 0;       ///< for each score of an attention in parts, from it to its gradients
  double scoreWorkBytes = 0;       ///< more than that while the attention or a gradient of it runs
  bool readsTransposed = false;    ///< contractions, gathers and attentions read and write dims in any order
  bool fullF32Products = false;    ///< products of f32 are not narrowed to tf32; convolutions and their gradients are
  bool fusesElementwise = false;   ///< chains of elementwise ops are one kernel
  bool fusesSums = false;          ///< products add gradients of weights to their sums over micro-batches
  double normalizationPasses = 1;  ///< runs over its data that a normalisation takes beside those of one kernel
  double normalizationKernels = 1; ///< that are launched for one of those
  double lossPasses = 1;           ///< the same of a loss over classes and its gradient
  bool fusesLoss = false;          ///< makes no wider copy of the scores of classes, and their gradient in their place
  bool overwritesScores = false;   ///< the gradient of the scores of a loss is made in their place
  double attentionKeptBytes = 0;   ///< for each element that an attention of one sequence makes, until its gradients
  double batchedKeptBytes = 0;     ///< the same of an attention of several sequences
  double rotationKeptBytes = 0;    ///< for each position and element of one head of an attention, until its gradients
  double stayingScoreBytes = 0;    ///< for each score of a class, until the second micro-batch from there makes its own
  double lossBytes = 0; ///< held for each score of a class until the gradient is made, beside scores and gradient
  double normalizationKeptBytes = 0; ///< for each element that a normalisation makes, as long as that is needed
  double allocatorShare = 1;         ///< of the memory that is taken for activations, the part that they fill
  bool cachesBlocks = false;         ///< freed memory stays in blocks, which are cut and joined (`BlockReplay.h`)
  int64_t gradientSumBytes = 0;      ///< of an element of a gradient's sum, for `narrowSums`; 0: as in the program
  int64_t gradientExchangeBytes = 0; ///< of such an element where devices add sums up; 0: as it is held
  int64_t fp16GradientSumBytes = 0;  ///< the same where gradients have the format fp16
  int64_t fp16GradientHeldBytes = 0; ///< of memory for such an element, with the copies that updates make; 0: no more
  bool keepsGradients = false;       ///< gradients of parameters have a place of their own from step to step
  bool exchangesGradientsTogether = false; ///< by one collective behind the last, until which all of them are held
  bool gathersLogits = false; ///< before the loss, which each rank of tensor parallelism then takes over all classes
  bool gathersInputsAgain = false; ///< of products: what is gathered for them is not kept, and comes beside a product
  bool recomputesLastProducts = false; ///< of layers: full recomputation runs them whole
  bool recomputesLogits = false;       ///< full recomputation runs their product again, as it does the layers before it
  double collectiveShare = 1;          ///< the speed of collectives inside its steps beside that of the same alone
  double dispatchSeconds = 0;          ///< of the host, for each kernel that it launches one by one
  bool waitsForTransfers = false;      ///< a stage of a pipeline computes nothing while it sends
  bool keepsSentValues = false;        ///< until the stage's backward pass of their micro-batch has ended
  bool keepsReceiveBuffers = false;    ///< one for each value that a stage receives, where a gradient stays
  bool waitsForKernels = false; ///< the host launches a kernel when the one before has ended, not ahead of the device

  bool keepsScores() const { return !fusesAttention && (scoreKeptBytes > 0 || scoreWorkBytes > 0); }
};

/// Names of the embedded runtimes, sorted.
std::vector<std::string> runtimeNames();
/// A runtime by name, or a file by path (anything with a '/' or that ends in .json). An unknown name lists the
/// runtimes.
llvm::Expected<Runtime> loadRuntime(llvm::StringRef nameOrPath);
/// Reads the JSON schema described in lib/Cluster/README.md; errors name `source`, key, line and the unit expected.
llvm::Expected<Runtime> parseRuntime(llvm::StringRef text, llvm::StringRef source);

} // namespace apc
