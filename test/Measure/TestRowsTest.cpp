// Rows of tests of a training program as measurements, and the reasons to leave them out.
#include "Rows.h"

using namespace apc;

static std::string reasonOfTest(const Cells &changes) { return readRows({testCells(changes)}).front().leftOut; }

TEST_CASE("a row of a test is read") {
  Measurement row = readRows({testCells({{"sharding", "zero1"}, {"overlap", "grad_reduce+param_gather"}})}).front();
  CHECK(row.leftOut.empty());
  CHECK(row.source == "tests of Megatron-LM");
  CHECK(row.layout.str() == "dp=1,tp=1,pp=2,sp=0,zero=1,mb=2,recompute=none");
  CHECK(row.overlaps);
  CHECK(row.cluster == "dgx-h100");
  CHECK(!row.seconds); // `time_use` is none
  CHECK(*row.memoryBytes == 1e9);
  CHECK(row.memoryOf == MeasuredDevice::LastStage);
  CHECK(*readRows({testCells({{"time_use", "good"}})})[0].seconds == 0.2);
}

TEST_CASE("attention of a test decides its runtime") {
  auto runtimeOf = [](const char *backend) {
    return readRows({testCells({{"attention_backend", backend}, {"transformer_impl", "transformer_engine"}})})[0]
        .runtime;
  };
  for (const char *backend : {"unfused", "unfused;fused=0", "auto;fused=0;flash=0"})
    CHECK(runtimeOf(backend) == "megatron-2023-unfused");
  for (const char *backend : {"flash", "auto", "auto;fused=1", "auto;fused=0"})
    CHECK(runtimeOf(backend) == "megatron-2023");
}

TEST_CASE("libraries of a test hold memory beside its program") {
  constexpr int64_t mebi = 1 << 20;
  auto besideOf = [](Cells cells) {
    cells.insert({"transformer_impl", "transformer_engine"});
    return readRows({testCells(cells)}).front().besideBytes;
  };
  const int64_t betweenStages = 2 * 2 * 128 * 256 * 2; // micro-batches of 2, 128 positions of 256 numbers of 2 bytes
  CHECK(besideOf({}) == 64 * mebi + 32 * mebi + betweenStages);
  CHECK(besideOf({{"pp", "1"}, {"dp", "2"}}) == 64 * mebi + 32 * mebi);
  CHECK(besideOf({{"hardware", "A100"}}) == 65 * mebi / 4 + 4 * mebi + betweenStages);
  CHECK(besideOf({{"hardware", "A100"}, {"notes", "args: CUBLAS_WORKSPACE_CONFIG=:4096:8, x"}}) ==
        64 * mebi + 4 * mebi + betweenStages);
  CHECK(besideOf({{"hardware", "A100"}, {"notes", "args: moe-grouped-gemm"}}) ==
        65 * mebi / 4 + 20 * mebi + betweenStages);
  CHECK(besideOf({{"hardware", "H200"}}) == 64 * mebi + 32 * mebi + betweenStages);
  CHECK(besideOf({{"hardware", "GB200"}}) == 65 * mebi / 4 + 32 * mebi + betweenStages);
  const int64_t scores = 2 * 4 * 128 * 128 * 2; // of 4 heads
  const int64_t mask = 128 * 128;               // in bytes, once
  CHECK(besideOf({{"transformer_impl", "local"}}) == 64 * mebi + scores + mask + betweenStages);
  CHECK(besideOf({{"attention_backend", "unfused"}}) == 64 * mebi + 32 * mebi + mask + betweenStages);
  CHECK(besideOf({{"vp", "2"}, {"layers", "4"}}) == 64 * mebi + 32 * mebi + 2 * betweenStages);
}

TEST_CASE("states of an optimizer fill blocks of 2 MiB of which no more than 1 MiB would be left") {
  constexpr int64_t mebi = 1 << 20;
  auto besideOf = [](Cells cells) {
    cells.insert({{"transformer_impl", "transformer_engine"}, {"pp", "1"}, {"dp", "2"}, {"layers", "2"}});
    cells.insert({{"hidden", "512"}, {"heads", "8"}, {"kv_heads", "8"}, {"head_dim", "64"}, {"ffn", "2048"}});
    return readRows({testCells(cells)}).front().besideBytes;
  };
  // Of 3 MiB for queries, keys and values; of 1 MiB, which are small, and of 4 MiB nothing is left over.
  CHECK(besideOf({}) == 96 * mebi + 2 * 2 * mebi);
  CHECK(besideOf({{"sharding", "zero1"}}) == 96 * mebi); // one buffer has all of them
}

TEST_CASE("what is alive between steps is known of models without decoders beside encoders") {
  auto boundaryOf = [](Cells cells) {
    cells.insert({"mem_allocated_bytes", "5e8"});
    return readRows({testCells(cells)}).front().boundaryBytes;
  };
  CHECK(*boundaryOf({}) == 5e8);
  CHECK(!boundaryOf({{"mem_allocated_bytes", ""}}));
  CHECK(*boundaryOf({{"experts", "4"}, {"topk", "2"}, {"moe_ffn", "512"}}) == 5e8);
  const Cells decoder = {{"model_family", "t5"}, {"decoder_layers", "2"}, {"decoder_seq", "64"}};
  CHECK(!boundaryOf(decoder));
  Cells bare = decoder;
  bare.insert({{"mem_max_before_save_bytes", ""}, {"mem_allocated_bytes", "5e8"}});
  CHECK(reasonOfTest(bare) == "memory between steps alone, which is not known of encoders beside decoders");
}

TEST_CASE("tp cuts experts as it cuts the rest, or not at all") {
  auto rowOf = [](const char *ofExperts, const char *parts = "yes") {
    return readRows({testCells({{"experts", "4"},
                                {"topk", "2"},
                                {"moe_ffn", "512"},
                                {"tp", "2"},
                                {"pp", "1"},
                                {"sequence_parallel", parts},
                                {"etp", ofExperts}})})
        .front();
  };
  for (const char *ofExperts : {"2", ""}) {
    CHECK(rowOf(ofExperts).leftOut.empty());
    CHECK(!rowOf(ofExperts).layout.hasWholeExperts());
    CHECK(rowOf(ofExperts).model.routedParts == 1);
  }
  CHECK(rowOf("1").leftOut.empty());
  CHECK(rowOf("1").layout.hasWholeExperts());
  CHECK(rowOf("1").model.routedParts == 2);
  CHECK(rowOf("1", "no").leftOut == "whole experts beside tp without parts of sequences");
  CHECK(rowOf("4").leftOut == "tp of experts is neither 1 nor that of the rest");
  CHECK(reasonOfTest({{"etp", "0"}}).empty()); // no experts
}

TEST_CASE("a test recomputes the first layers of a block alone") {
  auto rowOf = [](Cells cells) {
    cells.insert({{"recompute_granularity", "full"}, {"layers", "8"}});
    return readRows({testCells(cells)}).front();
  };
  const Cells uniform = {{"recompute_method", "uniform"}, {"recompute_layers", "1"}};
  CHECK(rowOf(uniform).layout.recompute->str() == "full");
  CHECK(rowOf({{"recompute_method", "block"}, {"recompute_layers", "3"}, {"pp", "1"}}).layout.recompute->str() ==
        "full:3");
  CHECK(rowOf({{"recompute_method", "block"}, {"recompute_layers", "4"}}).layout.recompute->str() == "full");
  CHECK(rowOf({{"recompute_method", "block"}, {"recompute_layers", "3"}}).leftOut ==
        "the first layers of each of several stages are recomputed");
  CHECK(rowOf({{"recompute_method", "uniform"}, {"recompute_layers", "2"}}).leftOut ==
        "recompute unknown: full uniform 2");
}

TEST_CASE("tests that cannot be used have a reason") {
  CHECK(reasonOfTest({{"mode", "inference"}}) == "mode inference");
  CHECK(reasonOfTest({{"optimizer", "muon"}}) == "optimizer unknown: muon");
  CHECK(reasonOfTest({{"model_family", "hybrid"}}) == "model family unknown: hybrid");
  CHECK(reasonOfTest({{"model_family", "moe"}}) == "no experts");
  CHECK(reasonOfTest({{"layer_pattern", "moe ([0]*1+[1]*15)"}}) == "layers follow a pattern");
  CHECK(reasonOfTest({{"position_embedding", "alibi"}}) == "position_embedding unknown: alibi");
  CHECK(reasonOfTest({{"position_embedding", ""}}).empty());
  CHECK(reasonOfTest({{"normalization", "groupnorm"}}) == "normalization unknown: groupnorm");
  CHECK(reasonOfTest({{"num_devices", ""}}) == "no num_devices");
  CHECK(reasonOfTest({{"notes", "args: multi-latent-attention, x"}}) ==
        "argument beyond the columns: multi-latent-attention");
  CHECK(reasonOfTest({{"notes", "args: decoder-first-pipeline-num-layers=2"}}) ==
        "argument beyond the columns: pipeline-num-layers");
  CHECK(reasonOfTest({{"notes", "LABEL DOUBTFUL: the same numbers"}}) == "hardware is doubtful");
  CHECK(reasonOfTest({{"recompute_granularity", "selective"}, {"recompute_modules", "moe_act"}}) ==
        "recompute unknown: selective moe_act");
  CHECK(reasonOfTest({{"tp", "0"}}) == "tp is below 1");
  CHECK(reasonOfTest({{"kv_heads", "-4"}}) == "kv_heads is below 1");
  CHECK(reasonOfTest({{"bias", "maybe"}}) == "bias 'maybe' is neither yes nor no");
  CHECK(reasonOfTest({{"time_use", "good"}, {"iteration_time_s", "0"}}) == "iteration_time_s '0' is not above 0");
  CHECK(reasonOfTest({{"mem_max_before_save_bytes", "-5"}}) == "mem_max_before_save_bytes '-5' is not above 0");
  CHECK(reasonOfTest({{"mem_allocated_bytes", "0"}}) == "mem_allocated_bytes '0' is not above 0");
}
