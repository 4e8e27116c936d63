// Defaults of frameworks and of their recipes, where the row of a step time says nothing.
#include "Rows.h"

using namespace apc;

TEST_CASE("sums of gradients run beside the backward pass where the framework or the row says so") {
  auto overlaps = [](const char *notes) {
    return readRows({throughputCells({{"notes", notes}, {"zero_stage", "1"}})})[0].overlaps;
  };
  for (const char *notes : {"NeMo 2 recipe", "dgxc", "PyTorch DDP", "Megatron-LM, --overlap-grad-reduce"})
    CHECK(overlaps(notes));
  for (const char *notes : {"NeMo, overlap_grad_reduce=False", "Megatron-LM", "mcore, no overlap-grad-reduce",
                            "DeepSpeed", "SC'21, DDP-impl torch for <=18B", "alpa"})
    CHECK(!overlaps(notes));
  CHECK(!readRows({throughputCells({{"notes", "NeMo"}, {"tp", "2"}, {"dp", "1"}})})[0].overlaps);
}

TEST_CASE("blank cells of a recipe's rows are what the recipe sets") {
  auto rowOf = [](const char *family, const char *notes) {
    return readRows({throughputCells({{"recompute", ""},
                                      {"seq_parallel", ""},
                                      {"zero_stage", ""},
                                      {"tp", "2"},
                                      {"num_devices", "4"},
                                      {"dp", "2"},
                                      {"model_family", family},
                                      {"notes", notes}})})[0];
  };
  Measurement row = rowOf("Llama3.1-70B", "BF16; NeMo 2 recipe; recompute/SP/ZeRO not printed");
  CHECK(row.leftOut.empty());
  CHECK(row.layout.recompute->str() == "none");
  CHECK(row.layout.cutsSequences);
  CHECK(row.layout.zero == 1);
  CHECK(rowOf("Llama3.1-70B", "NeMo").leftOut == "recompute is not stated");
  CHECK(rowOf("Llama2-70B", "NeMo 2 recipe").leftOut == "recompute is not stated");
}
