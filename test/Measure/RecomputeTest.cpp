// Policies of recomputation as sources write them.
#include "Rows.h"

using namespace apc;

TEST_CASE("policies of recomputation have several names") {
  auto policyOf = [](const char *cell) {
    Measurement row = readRows({throughputCells({{"recompute", cell}, {"layers", "8"}})})[0];
    INFO(cell);
    CHECK(row.leftOut.empty());
    return row.layout.recompute.value_or(RecomputeChoice::Auto).str();
  };
  for (const char *cell :
       {"full", "Full", "full (uniform, 1 layer)", "full, uniform 1", "full recompute", "full AC", "full (all layers)",
        "remat full", "remat_policy=full", "full activation checkpointing", "activation checkpointing",
        "gradient checkpointing", "checkpoint-activations", "full (every layer)", "full + SP"})
    CHECK(policyOf(cell) == "full");
  for (const char *cell : {"selective", "selective (core attention)", "selective recompute", "selective AC",
                           "selective+SP", "core_attn", "core attention", "attn", "attention", "attention only"})
    CHECK(policyOf(cell) == "attention");
  for (const char *cell : {"none", "no", "no recompute", "without recomputation", "no activation checkpointing",
                           "disabled", "off", "False", "0"})
    CHECK(policyOf(cell) == "none");
}

TEST_CASE("a policy that is unclear or in parts is a reason to leave the row out") {
  for (const std::string cell : {"yes", "True", "on", "1"})
    CHECK(reasonOf({{"recompute", cell}}) == "recompute '" + cell + "' says neither full nor selective");
  for (const std::string cell : {"full (uniform, 4 layers)", "block", "block -1", "block of 1 or 2", "full/4 layers",
                                 "partial", "moe_act", "selective (moe)", "remat: minimal"})
    CHECK(reasonOf({{"recompute", cell}}) == "recompute unknown: " + cell);
}

TEST_CASE("a block recomputes the first layers of each stage") {
  auto rowOf = [](const char *cell, Cells cells = {}) {
    cells.insert({{"recompute", cell}, {"layers", "8"}});
    return readRows({throughputCells(cells)})[0];
  };
  auto policyOf = [](const Measurement &row) {
    CHECK(row.leftOut.empty());
    return row.layout.recompute.value_or(RecomputeChoice::Auto).str();
  };
  for (const char *cell :
       {"block 3", "block:3", "full (block, 3 layers)", "full, block 3", "full block (3 layers per stage)",
        "--recompute-granularity full --recompute-method block --recompute-num-layers 3",
        "recompute_method=block, recompute_num_layers=3", "block, first 3 layers"})
    CHECK(policyOf(rowOf(cell)) == "full:3");
  CHECK(policyOf(rowOf("full (block, 1 layer)")) == "full:1");
  CHECK(policyOf(rowOf("block 0")) == "none");
  for (const char *cell : {"block 8", "block 20", "block 9223372036854775807"}) // no stage has more
    CHECK(policyOf(rowOf(cell)) == "full");
  const Cells stages = {{"pp", "2"}, {"dp", "1"}};
  CHECK(policyOf(rowOf("block 4", stages)) == "full");
  CHECK(policyOf(rowOf("block 0", stages)) == "none");
  CHECK(rowOf("block 3", stages).leftOut == "the first layers of each of several stages are recomputed");
  const Cells chunks = {{"pp", "2"}, {"vp", "2"}, {"dp", "1"}};
  CHECK(policyOf(rowOf("block 2", chunks)) == "full");
  CHECK(rowOf("block 1", chunks).leftOut == "the first layers of each of several stages are recomputed");
}

TEST_CASE("words about attention mean the same in every framework, and selective does not") {
  auto policyOf = [](const char *cell) {
    return readRows({throughputCells({{"recompute", cell}, {"layers", "8"}, {"notes", "torchtitan"}})})[0]
        .layout.recompute.value_or(RecomputeChoice::Auto)
        .str();
  };
  CHECK(policyOf("selective AC") == "full:4,norms");
  CHECK(policyOf("core_attn") == "attention");
}

TEST_CASE("every second product of a layer is so many of its layers as have these products") {
  const Cells llama = {{"notes", "torchtitan"}, {"model_family", "LLaMA3"}, {"layers", "32"}, {"hidden", "4096"},
                       {"heads", "32"},         {"kv_heads", "8"},          {"ffn", "14336"}, {"params_b", "8.03"},
                       {"vocab", "128256"}};
  auto policyOf = [&](const char *notes) {
    Cells cells = llama;
    cells["recompute"] = "selective";
    cells["notes"] = notes;
    return readRows({throughputCells(cells)})[0].layout.recompute.value_or(RecomputeChoice::Auto).str();
  };
  CHECK(policyOf("torchtitan, selective op") == "full:12,norms"); // keys, output and one of three: 0.37
  CHECK(policyOf("torchtitan, selective layer") == "full:16");
}

TEST_CASE("selective recomputation beside sequence parallelism says that sequences are cut") {
  auto isCut = [](const char *cut, const char *cell) {
    return readRows({throughputCells({{"recompute", cell}, {"seq_parallel", cut}, {"tp", "2"}, {"dp", "1"}})})[0]
        .layout.cutsSequences;
  };
  CHECK(isCut("", "selective+SP"));
  CHECK(!isCut("no", "selective+SP"));
  CHECK(!isCut("", "selective"));
}
