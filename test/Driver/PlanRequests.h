// Plans of the models in models/, for tests.
#pragma once

#include "apc/Driver/PlanModel.h"

namespace apc {

/// The request of a test; `model` is a file name in models/.
struct PlanRequest {
  std::string model;
  int64_t devices = 1;
  std::string cluster = "dgx-a100-80gb";
  std::map<std::string, int64_t> dims = {};
  unsigned threads = 2;
};

PlanOptions optionsOf(const PlanRequest &request);
/// The models in models/tiny.
inline constexpr const char *tinyModels[] = {"gpt",    "llama", "bert", "t5",  "vit",
                                             "resnet", "unet",  "dlrm", "moe", "mixer"};
/// Fails the test when there is no plan.
Plan planOf(const PlanRequest &request);

/// Axes of the plan's mesh on the innermost level, by name.
std::vector<std::string> innerAxes(const Plan &plan);

/// The plan is not slower than any feasible baseline, within its memory limit, and its bound is below its time.
void checkSound(const Plan &plan);

} // namespace apc
