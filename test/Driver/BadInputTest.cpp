// Requests that cannot be met: a clear reason and whose fault it is.
#include "Samples.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/StringExtras.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

std::pair<Fault, std::string> failure(const PlanRequest &request) {
  llvm::Expected<Plan> plan = planModel(request, controlOf());
  REQUIRE(!plan);
  return takeMessage(plan.takeError());
}

} // namespace

TEST_CASE("training without a loss is refused with the losses that are accepted") {
  PlanRequest request = requestOf({"resnet50.onnx", 8});
  request.mode = StepMode::Train;
  auto [fault, message] = failure(request);
  CHECK(fault == Fault::Input);
  CHECK_THAT(message, Catch::Contains(
                          "no output is one float: --loss cross-entropy:NAME, mse:NAME or sum:NAME makes a loss of the "
                          "output NAME, and --mode infer takes the forward pass alone"));
}

TEST_CASE("an unknown cluster lists the presets") {
  auto [fault, message] = failure(requestOf({"resnet50.onnx", 8, "dgx-z9"}));
  CHECK(fault == Fault::Input);
  CHECK_THAT(message, Catch::Contains("dgx-z9") && Catch::Contains("dgx-h100"));
}

TEST_CASE("absurd device counts are refused") {
  int64_t devices = GENERATE(int64_t(0), int64_t(-4), int64_t(1) << 40);
  auto [fault, message] = failure(requestOf({"resnet50.onnx", devices}));
  CHECK(fault == Fault::Input);
  CHECK_THAT(message, Catch::Contains(std::to_string(devices)));
}

TEST_CASE("unbound dims are all listed with the flag that binds them") {
  auto [fault, message] = failure(requestOf({"bert_large.onnx", 8}));
  CHECK(fault == Fault::Input);
  CHECK_THAT(message, Catch::Contains("--dim") && Catch::Contains("batch") && Catch::Contains("seq"));
}

TEST_CASE("an unknown search lists the searches") {
  PlanRequest request = requestOf({"resnet50.onnx", 8});
  request.search = "magic";
  auto [fault, message] = failure(request);
  CHECK(fault == Fault::Input);
  CHECK_THAT(message, Catch::Contains("magic") && Catch::Contains("dp"));
}

TEST_CASE("a model that no device can hold has no plan, and the message has the bytes that are missing") {
  PlanRequest request = requestOf({"resnet50.onnx", 2});
  request.memoryLimitBytes = 1 << 20;
  auto [fault, message] = failure(request);
  CHECK(fault == Fault::NoPlan);
  CHECK_THAT(message, Catch::Contains("single device") && Catch::Contains("MiB"));
}

TEST_CASE("a search that was stopped says so, and calls nothing infeasible") {
  std::atomic<bool> stop = true;
  PlanningControl control = controlOf();
  PlanRequest request = requestOf({"tiny/gpt/model.onnx", 4, "cpu-local"});
  control.stop = &stop;
  request.sensitivity = true;
  llvm::Expected<Plan> plan = planModel(request, control);
  REQUIRE(bool(plan)); // a reference at least
  CHECK(plan->sensitivity.empty());
  CHECK_THAT(llvm::join(plan->notes, "; "), Catch::Contains("the search was stopped: this is the best") &&
                                                Catch::Contains("stopped before the sensitivity"));
  // Where no reference fits either, there is no plan, but nobody has proven that there is none.
  request = requestOf({"tiny/gpt/model.onnx", 4, "cpu-local"});
  request.search = "recursive";
  request.memoryLimitBytes = 40 << 10;
  llvm::Expected<Plan> none = planModel(request, control);
  REQUIRE(!none);
  auto [fault, message] = takeMessage(none.takeError());
  CHECK(fault == Fault::NoPlan);
  CHECK_THAT(message, Catch::Contains("stopped before a plan was found that fits 4 devices") &&
                          !Catch::Contains("no plan fits"));
}

TEST_CASE("a memory limit above what a device has is noted") {
  PlanRequest request = requestOf({"tiny/gpt/model.onnx", 2, "cpu-local"});
  request.memoryLimitBytes = int64_t(8) << 30;
  llvm::Expected<Plan> plan = planModel(request, controlOf());
  REQUIRE(bool(plan));
  CHECK_THAT(llvm::join(plan->notes, "; "), Catch::Contains("the memory limit of 8.00 GiB is more than the 7.45 GiB"));
}

TEST_CASE("an infeasible request names the fewest causes and what would help") {
  PlanRequest request = requestOf({"resnet50.onnx", 2});
  request.memoryLimitBytes = 1 << 20;
  auto [fault, message] = failure(request);
  // 97.7 MiB of parameters do not fit into 2 x 1 MiB: no op is needed to say so.
  CHECK_THAT(message, Catch::Contains("the smallest set of causes; removing any one of them makes a plan possible") &&
                          Catch::Contains("- parameters: of 97.") && Catch::Contains("(--memory-limit)") &&
                          Catch::Contains("what would help: a limit above"));
  CHECK_THAT(message, !Catch::Contains("- activations"));
  // Enough for the parameters, not for the largest op as well.
  request.memoryLimitBytes = int64_t(52) << 20;
  message = failure(request).second;
  CHECK_THAT(message, Catch::Contains("- activations: operands and results of op"));
}
