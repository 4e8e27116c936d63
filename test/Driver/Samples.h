// Plans of the models in models/, for tests.
#pragma once

#include "apc/Driver/PlanModel.h"

namespace apc {

/// The few facts that tests ask plans with; `model` is a file name in models/.
struct Sample {
  std::string model;
  int64_t devices = 1;
  std::string cluster = "dgx-a100-80gb";
  std::map<std::string, int64_t> dims = {};
  unsigned threads = 2;
};

PlanRequest requestOf(const Sample &sample);
PlanningControl controlOf(const Sample &sample = {});
/// The models in models/tiny.
inline constexpr const char *tinyModels[] = {"gpt",  "llama", "bert", "t5",    "vit", "resnet",
                                             "unet", "dlrm",  "moe",  "mixer", "tts"};
/// Fails the test when there is no plan.
Plan planOf(const Sample &sample);

/// The message of a layout that is refused.
std::string refusal(const PlanRequest &request, llvm::StringRef layout);

/// The one stage of a plan without pipeline; fails the test when there are several.
const StagePlan &stageOf(const Plan &plan);

/// Axes of the plan's mesh on the innermost level, by name.
std::vector<std::string> innerAxes(const Plan &plan);

/// The plan is not slower than any feasible reference, within its memory limit, and its bound is below its time.
void checkSound(const Plan &plan);

/// Runs a step of momentum on the tiny GPT in a layout, with what \p change asks for; fails the test where an output
/// differs from that of one device.
void checkTinyGptStep(llvm::StringRef layout, llvm::function_ref<void(PlanRequest &)> change);

} // namespace apc
