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
  for (const std::string cell : {"full (uniform, 4 layers)", "full (block, 1 layer)", "block 1", "full/4 layers",
                                 "partial", "moe_act", "selective (moe)", "remat: minimal"})
    CHECK(reasonOf({{"recompute", cell}}) == "recompute unknown: " + cell);
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

TEST_CASE("selective recomputation beside sequence parallelism says that sequences are cut") {
  auto isCut = [](const char *cut, const char *cell) {
    return readRows({throughputCells({{"recompute", cell}, {"seq_parallel", cut}, {"tp", "2"}, {"dp", "1"}})})[0]
        .layout.cutsSequences;
  };
  CHECK(isCut("", "selective+SP"));
  CHECK(!isCut("no", "selective+SP"));
  CHECK(!isCut("", "selective"));
}
