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
