// Graphs of stages are planned like models of their own.
#include "../ValueOf.h"
#include "Samples.h"

#include "apc/Driver/ImportStep.h"
#include "apc/Driver/TrainModel.h"
#include "apc/Graph/LayerCuts.h"
#include "apc/Graph/StageGraph.h"
#include "apc/IR/Apc.h"
#include "apc/Planning/Planning.h"
#include "apc/Transforms/BuildGraph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <catch2/catch.hpp>

using namespace apc;

TEST_CASE("stages of a step are planned, and on one device take the seconds of the whole step together") {
  for (const char *model : {"gpt", "t5", "moe"})
    for (int64_t devices : {1, 2}) {
      INFO(model << " on " << devices << " devices");
      PlanRequest request = requestOf({std::string("tiny/") + model + "/model.onnx", devices, "cpu-local"});
      request.mode = StepMode::Train;
      request.loss = "cross-entropy";
      request.recompute = RecomputeChoice::None;
      mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
      context.loadDialect<ApcDialect, mlir::func::FuncDialect>();
      ImportedModel imported = valueOf(importForRequest(request, context));
      if (llvm::Error error = recognizeAndBuildStep(imported.module, request))
        FAIL(takeMessage(std::move(error)).second);
      OpGraph graph = valueOf(graphOfModel(*imported.module, request.modelPath));
      PlanningTarget target = valueOf(readTarget(request));
      Plan whole = valueOf(planGraph(graph, request, target, {}, controlOf()));
      std::vector<size_t> cuts;
      for (const CutPosition &cut : layerCuts(graph))
        cuts.push_back(cut.position);
      REQUIRE(!cuts.empty());
      StageSplit split = valueOf(splitStages(graph, {cuts[cuts.size() / 2]}));
      double seconds = 0;
      for (unsigned stage = 0; stage < split.numStages; ++stage) {
        StageGraph own = stageGraph(graph, split, stage);
        Plan plan = valueOf(planGraph(own.graph, request, target, {}, controlOf()));
        CHECK(plan.stepSeconds < whole.stepSeconds);
        seconds += plan.stepSeconds;
      }
      if (devices == 1)
        CHECK(seconds == Approx(whole.stepSeconds).epsilon(0.01));
      else
        CHECK(seconds >= whole.lowerBoundSeconds * 0.9); // stages arrange what arrives as they like
    }
}
