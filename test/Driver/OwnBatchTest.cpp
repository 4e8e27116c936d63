// The batch that a model was exported with, where it fits in no number of micro-batches.
#include "../../lib/Driver/Training/OwnBatch.h"

#include "Samples.h"

#include "apc/Planning/NothingFits.h"
#include "apc/Support/Error.h"

#include <catch2/catch.hpp>

using namespace apc;

TEST_CASE("Where no micro-batches fit, what is short of them is told, not what is short of the whole batch") {
  PlanRequest request = requestOf({"tiny/training/gpt/model.onnx", 2, "cpu-local"});
  request.mode = StepMode::Train;
  request.loss = "cross-entropy:logits";
  auto plan = [](const PlanRequest &own) -> llvm::Expected<Plan> {
    return llvm::make_error<NothingFits>("the whole batch holds too much", std::vector<TriedPoint>());
  };
  std::string ofCut = "a micro-batch of 1 holds too much";
  auto choose = [&](const PlanRequest &own) -> llvm::Expected<Plan> {
    if (!own.globalBatch)
      return plan(own);
    if (ofCut.empty())
      return inputError("the model allows no other batch");
    return llvm::make_error<NothingFits>(ofCut, std::vector<TriedPoint>());
  };
  const WorkClock clock(0);
  auto message = [&] { return takeMessage(planOwnBatch(request, clock, plan, choose).takeError()).second; };
  CHECK(message() == ofCut);
  ofCut.clear();
  CHECK(message() == "the whole batch holds too much");
}
