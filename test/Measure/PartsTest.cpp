// Parts of models that no column says, and remarks do.
#include "Rows.h"

using namespace apc;

namespace {

Measurement withExperts(const char *notes, Cells cells = {}) {
  cells.insert({{"model_family", "GPT-MoE"}, {"experts/topk", "8/2"}, {"notes", notes}});
  return readRows({throughputCells(cells)})[0];
}

} // namespace

TEST_CASE("shared experts are built where their size follows") {
  auto sizeOf = [](const char *notes) {
    const Measurement row = withExperts(notes); // experts of 1024
    INFO(notes);
    CHECK(row.leftOut.empty());
    return row.model.sharedInner;
  };
  for (const char *notes : {"1 shared expert", "one shared expert", "a shared expert", "a single shared expert",
                            "shared experts: 1", "n_shared_experts=1", "8 routed + 1 shared experts"})
    CHECK(sizeOf(notes) == 1024);
  for (const char *notes : {"2 shared experts", "two shared experts", "64 routed + 2 shared", "num_shared_experts = 2"})
    CHECK(sizeOf(notes) == 2048);
  for (const char *notes : {"shared_expert_intermediate_size=512", "moe-shared-expert-intermediate-size 512",
                            "shared expert of 512", "shared expert ffn 512", "shared_expert_ffn: 512"})
    CHECK(sizeOf(notes) == 512);
  CHECK(sizeOf("shared_expert_intermediate_size=5,632") == 5632);
  for (const char *notes : {"", "no shared experts", "0 shared experts", "without a shared expert",
                            "n_shared_experts=0", "unlike models with shared experts", "shared experts: none"})
    CHECK(sizeOf(notes) == 0);
  for (const char *notes : {"shared experts", "with shared experts", "shared-expert overlap on"})
    CHECK(withExperts(notes).leftOut == "shared experts whose size is not stated");
  for (const char *notes : {"99999999 shared experts", "shared expert of 999999999"})
    CHECK(withExperts(notes, {{"ffn", "1000000"}}).leftOut == "shared experts are larger than those of any model");
  CHECK(readRows({throughputCells({{"notes", "2 shared experts"}})})[0].model.sharedInner == 0); // of a dense model
}

TEST_CASE("dense layers among those with experts are a reason to leave the row out") {
  for (const char *notes :
       {"first_k_dense_replace=1", "first 3 layers dense", "first three layers are dense", "first layer is dense",
        "the first layer dense", "3 dense layers", "dense first layer", "moe_layer_freq=2",
        "moe-layer-freq ([0]*3+[1]*58)", "MoE every other layer", "experts in every second layer",
        "every other layer is MoE", "interleaved dense and MoE layers", "alternating dense/MoE layers",
        "interleave_moe_layer_step: 2"})
    CHECK(withExperts(notes).leftOut == "some layers are dense beside layers with experts");
  for (const char *notes :
       {"", "first_k_dense_replace=0", "no dense layers", "moe_layer_freq=1", "MoE in every layer", "0 dense layers",
        "first 0 layers dense", "interleave_moe_layer_step=1", "every other layer recomputed", "interleaved 1F1B, MoE"})
    CHECK(withExperts(notes).leftOut.empty());
  CHECK(reasonOf({{"notes", "3 dense layers"}}).empty()); // all of them
}

TEST_CASE("windows of attention are a reason where they are shorter than a sequence") {
  auto reasonFor = [](const char *notes, const char *family = "Mistral-7B") {
    return reasonOf({{"notes", notes}, {"model_family", family}}); // sequences of 128
  };
  const std::string reason = "attention in windows";
  for (const char *notes :
       {"sliding window 64", "sliding-window attention", "SWA", "sliding_window=64", "sliding window of 100 tokens",
        "64-token sliding window", "local attention", "alternating local and global attention",
        "sliding window size 64", "windowed attention", "sliding window attention, 4096 tokens per batch",
        "unlike models of sliding window 4096, sliding window 64"})
    CHECK(reasonFor(notes) == reason);
  CHECK(reasonFor("", "Mistral-7B (SWA)") == reason);
  for (const char *notes :
       {"", "sliding window 128", "sliding window 4k", "sliding window of 4,096", "sliding_window=4096",
        "4096-token sliding window", "no sliding window", "sliding_window=None", "SWA off", "sliding window disabled",
        "sliding_window = 4096", "sliding window (4096)", "sliding window attention (4k)", "unlike SWA",
        "median of a window of 10 steps"})
    CHECK(reasonFor(notes).empty());
}
