// Runtimes as documents: presets with their sources, and what is refused.
#include "../ErrorOf.h"
#include "apc/Cluster/Cluster.h"

#include <catch2/catch.hpp>

using namespace apc;

TEST_CASE("a runtime without figures runs each op as a kernel") {
  Runtime runtime = llvm::cantFail(parseRuntime(R"({"name": "plain"})", "plain.json"));
  CHECK(runtime.name == "plain");
  CHECK(runtime.fusesAttention);
  CHECK(runtime.attentionShare == 1);
  CHECK(!runtime.readsTransposed);
  CHECK(!runtime.fusesElementwise);
  CHECK(runtime.dispatchSeconds == 0);
  CHECK(!runtime.waitsForKernels);
  CHECK(Pool().runtime.name.empty());
}

TEST_CASE("figures of runtimes are read with their sources") {
  Runtime runtime = llvm::cantFail(parseRuntime(R"({"name": "own", "fuses_attention": false,
      "score_forward_bytes": {"value": 9, "source": "counted"}, "dispatch_seconds": 4e-5,
      "normalization_kernels": 8, "score_kept_bytes": 6, "score_work_bytes": 8, "loss_bytes": 12, "fuses_loss": true,
      "attention_kept_bytes": 4, "staying_score_bytes": 2, "batched_attention_kept_bytes": 6, "rotation_kept_bytes": 8,
      "overwrites_scores": true, "keeps_gradients": true, "exchanges_gradients_together": true,
      "normalization_kept_bytes": 2, "allocator_share": 0.85, "caches_blocks": true, "gradient_sum_bytes": 2,
      "gradient_exchange_bytes": 8, "recomputes_logits": true, "gathers_inputs_again": true, "recomputes_last_products": true,
      "fp16_gradient_sum_bytes": 1, "fp16_gradient_held_bytes": 4, "waits_for_transfers": true, "waits_for_kernels": true,
      "keeps_sent_values": true, "keeps_receive_buffers": true})",
                                                "own.json"));
  CHECK(!runtime.fusesAttention);
  CHECK(runtime.scoreForwardBytes == 9);
  CHECK(runtime.dispatchSeconds == 4e-5);
  CHECK(runtime.normalizationKernels == 8);
  CHECK(runtime.scoreKeptBytes == 6);
  CHECK(runtime.scoreWorkBytes == 8);
  CHECK(runtime.lossBytes == 12);
  CHECK(runtime.attentionKeptBytes == 4);
  CHECK(runtime.stayingScoreBytes == 2);
  CHECK(runtime.batchedKeptBytes == 6);
  CHECK(runtime.rotationKeptBytes == 8);
  CHECK(runtime.fusesLoss);
  CHECK(runtime.overwritesScores);
  CHECK(runtime.keepsGradients);
  CHECK(runtime.exchangesGradientsTogether);
  CHECK(runtime.normalizationKeptBytes == 2);
  CHECK(runtime.allocatorShare == 0.85);
  CHECK(runtime.cachesBlocks);
  CHECK(runtime.gradientSumBytes == 2);
  CHECK(runtime.gradientExchangeBytes == 8);
  CHECK(runtime.recomputesLogits);
  CHECK(runtime.gathersInputsAgain);
  CHECK(runtime.recomputesLastProducts);
  CHECK(runtime.fp16GradientSumBytes == 1);
  CHECK(runtime.fp16GradientHeldBytes == 4);
  CHECK(runtime.waitsForTransfers);
  CHECK(runtime.keepsSentValues);
  CHECK(runtime.keepsReceiveBuffers);
  CHECK(runtime.waitsForKernels);
}

TEST_CASE("runtimes hold what the published code of their programs holds") {
  // Rows in 32 bits, of which the power and the product are taken, and the 16-bit rows that the weight multiplies.
  for (const char *name :
       {"megatron-flash-1", "megatron-flash-2", "megatron-fused-softmax", "megatron-attention-in-parts"})
    CHECK(llvm::cantFail(loadRuntime(name)).normalizationKeptBytes == 4 + 2);
  CHECK(llvm::cantFail(loadRuntime("megatron-flash-2-norms")).normalizationKeptBytes == 0);
  CHECK(llvm::cantFail(loadRuntime("xla-2022")).exchangesGradientsTogether);
  CHECK(llvm::cantFail(loadRuntime("torch-eager-rms")).normalizationKeptBytes == 4 + 2 - 2); // in place of 16-bit rows
  // The logarithms' gradient beside them and the gradient of the scores, unless all of it is compiled.
  for (const char *name : {"torch-eager", "torch-eager-tf32", "torch-eager-rms", "torch-compiled-layers"})
    CHECK(llvm::cantFail(loadRuntime(name)).lossBytes == 4);
  CHECK(llvm::cantFail(loadRuntime("torch-compiled")).lossBytes == 0);
}

TEST_CASE("the named runtimes are there") {
  for (const char *name : {"ideal", "megatron-2021", "megatron-2022", "megatron-2023", "mindspore", "torch-compiled",
                           "torch-eager", "xla"})
    CHECK(llvm::cantFail(loadRuntime(name)).name == name);
  for (const std::string &name : runtimeNames()) {
    Runtime runtime = llvm::cantFail(loadRuntime(name));
    CHECK(runtime.name == name);
    CHECK(!runtime.description.empty());
  }
}

TEST_CASE("wrong documents of runtimes are refused") {
  CHECK(inputErrorOf(parseRuntime(R"({"name": "x", "dispatch_seconds": -1})", "x.json")).find("dispatch_seconds") !=
        std::string::npos);
  CHECK(inputErrorOf(parseRuntime(R"({"name": "x", "speed": 1})", "x.json")).find("speed") != std::string::npos);
  CHECK(inputErrorOf(parseRuntime("{}", "x.json")).find("'name' is missing") != std::string::npos);
  CHECK(inputErrorOf(loadRuntime("nothing")).find("unknown runtime 'nothing': one of ideal, ") == 0);
}
