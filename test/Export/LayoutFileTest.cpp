// Files of other planners, by hand.
#include "apc/Export/LayoutFile.h"

#include "../ValueOf.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

std::string refusalOf(llvm::StringRef text) {
  llvm::Expected<LayoutFile> file = parseLayoutFile(text, "a.json");
  REQUIRE(!file);
  return takeMessage(file.takeError()).second;
}

} // namespace

TEST_CASE("Galvatron's degrees") {
  LayoutFile file = valueOf(parseLayoutFile(
      R"({"pp_deg": 2, "tp_sizes_enc": "4,4,4", "tp_consecutive_flags": "1,1,1", "dp_types_enc": "0,0,0", "use_sp": "0,0,0",
          "checkpoint": "1,1,0", "global_bsz": 64, "chunks": 8, "pp_division": "2,1", "pipeline_type": "gpipe",
          "default_dp_type": "zero2", "vtp": 4, "vsp": 0, "embed_sdp": 0, "world_size": 16})",
      "a.json"));
  REQUIRE(file.layout);
  // 16 ranks of which 2 x 4 are one replica leave dp=2; 64 samples in 8 micro-batches on 2 ranks are 4 each.
  CHECK(file.layout->str() == "dp=2,tp=4,pp=2,zero=2,mb=4,schedule=gpipe,recompute=full:2");
  CHECK(file.globalBatch == 64);
  CHECK(file.devices == 16);
}

TEST_CASE("degrees that no layout has") {
  CHECK(refusalOf(R"({"pp_deg": 1, "tp_sizes_enc": "2,2", "dp_types_enc": "0,1", "global_bsz": 8, "chunks": 1,
                      "world_size": 4})")
            .find("dp_types_enc: layers differ") != std::string::npos);
  CHECK(refusalOf(R"({"pp_deg": 1, "tp_sizes_enc": "3", "dp_types_enc": "0", "global_bsz": 8, "chunks": 1,
                      "world_size": 4})")
            .find("world_size: a multiple of the layout's pp, tp and cp, 3, is expected") != std::string::npos);
  CHECK(refusalOf(R"({"pp_deg": 1, "tp_sizes_enc": "1,1", "dp_types_enc": "0,0", "checkpoint": "0,1", "global_bsz": 8,
                      "chunks": 1, "world_size": 4})")
            .find("checkpoint: layers behind others") != std::string::npos);
}

TEST_CASE("MindSpore's cuts of operands, and its parallel optimizer") {
  LayoutFile file = valueOf(parseLayoutFile(
      R"({"current_stage": 0,
          "parallel_strategy_item": {"MatMul-op0": {"stage": 0, "parallel_strategy": [[2, 1], [1, 4]]}},
          "parallel_layout_item": {"w": {"dev_matrix": [2, 4], "tensor_map": [-1, 0], "tensor_shape": [1024, 256],
                                         "field": 0, "opt_weight_shard_step": 4, "opt_weight_shard_size": 2}}})",
      "a.json"));
  REQUIRE(file.ops.size() == 1);
  CHECK(file.ops[0].op == "MatMul-op0");
  CHECK(file.ops[0].operands == std::vector<std::vector<int64_t>>{{2, 1}, {1, 4}});
  CHECK(file.devices == 8);
  CHECK(file.cutsStates);
  CHECK(refusalOf(R"({"parallel_strategy_item": {"a": {"stage": 1, "parallel_strategy": []}}})")
            .find("of another stage than 0") != std::string::npos);
}

TEST_CASE("AutoParallel's placements, axis by axis") {
  LayoutFile file = valueOf(parseLayoutFile(
      R"json({"mesh": {"shape": [2, 4, 3], "dim_names": ["a", "b", "c"]},
              "nodes": [{"name": "mm", "inputs": [{"dst_placement": "S(0)S(0)R"}, {"dst_placement": "RP(sum)S(1)"}]}]})json",
      "a.json"));
  REQUIRE(file.ops.size() == 1);
  CHECK(file.ops[0].operands == std::vector<std::vector<int64_t>>{{8}, {1, 3}});
  CHECK(file.devices == 24);
}
