// The same model under several runtimes.
#include "../ValueOf.h"
#include "Samples.h"

#include <catch2/catch.hpp>

using namespace apc;

/// The seconds of the kernels of a plan of \p sample.
static double computeSecondsOf(const Sample &sample, const char *runtime) {
  PlanRequest request = requestOf(sample);
  request.runtime = runtime;
  return valueOf(planModel(request, controlOf(sample))).computeSeconds;
}

TEST_CASE("PyTorch runs products of f32 in f32, and convolutions of any window in tf32") {
  const Sample images{"resnet50.onnx", 1, "dgx-a100-80gb"},
      text{"bert_large.onnx", 1, "dgx-a100-80gb", {{"batch", 8}, {"seq", 512}}};
  CHECK(computeSecondsOf(images, "torch-compiled") ==
        Approx(computeSecondsOf(images, "torch-compiled-tf32")).epsilon(0.02)); // one product at the end
  CHECK(computeSecondsOf(text, "torch-compiled") > 3 * computeSecondsOf(text, "torch-compiled-tf32"));
}
