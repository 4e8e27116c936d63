// Volumes that the ranks of a layout send in a training step of transformer layers, held against the volumes of papers:
// ring exchanges, ZeRO (Rajbhandari et al. 2020, section 7), Megatron-LM's tensor parallelism (Shoeybi et al. 2019,
// section 3) and sequence parallelism (Korthikanti et al. 2022, section 4.2). Collectives are those of the emitted
// program.
#include "../ValueOf.h"
#include "GptSteps.h"

#include "apc/Partition/Partition.h"
#include "apc/Partition/VerifyProgram.h"
#include "apc/Planning/BuildProblem.h"
#include "apc/Planning/Planning.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// Collectives of one layer of a program by kind, and the bytes that one rank receives through them.
struct LayerVolumes {
  std::map<std::string, int64_t> count; ///< those of tensors of the size b s h
  std::map<std::string, int64_t> bytes; ///< all
};

void add(LayerVolumes &sum, const GptSizes &sizes, const Plan &plan, int sign) {
  const StagePlan &stage = plan.stages.front();
  std::map<std::string, int64_t> elements;
  for (const PlanSharding &value : stage.shardings) {
    elements[value.value] = 1;
    for (int64_t size : value.shape)
      elements[value.value] *= size;
  }
  for (const PlanMove &move : stage.moves)
    for (const std::string &value : move.values)
      if (elements.at(value) == sizes.batch * sizes.length * sizes.hidden)
        for (const std::string &collective : move.collectives)
          sum.count[collective.substr(0, collective.find('{'))] += sign;
  for (const PlanCollectives &row : stage.collectives)
    sum.bytes[row.collective] += sign * row.receivedBytes;
}

/// Of the fourth layer, among others like it. The program has as many collectives as the plan says.
LayerVolumes volumesOfLayer(GptSizes sizes, StepOf how, const ParallelDegrees &layout) {
  LayerVolumes volumes;
  for (int64_t more : {0, 1}) {
    sizes.layers = 3 + more;
    how.isFused = true;
    GptStep built(sizes, how);
    PlanRequest request = trainingOn(layout.numDevices(), "dgx-a100-80gb");
    request.fusionBytes = 0;
    Plan plan = valueOf(evaluateLayout(built.graph, request, valueOf(readTarget(request)), layout, {}));
    Program program = valueOf(partition(*built.step->module, plan));
    unsigned inPlan = 0;
    for (const PlanMove &move : plan.stages.front().moves)
      for (const std::string &collective : move.collectives)
        inPlan += !llvm::StringRef(collective).starts_with("Slice");
    CHECK(valueOf(verifyProgram(*built.step->module, program, plan)).numCollectives == inPlan);
    add(volumes, sizes, plan, more == 0 ? -1 : 1);
  }
  std::erase_if(volumes.count, [](const auto &entry) { return entry.second == 0; });
  return volumes;
}

using Counts = std::map<std::string, int64_t>;

} // namespace

TEST_CASE("Data parallel ranks receive the rings' shares of gradients, parameters and new parameters") {
  GptSizes sizes{64, 8, 256, 4, 1, 0, "f32"};
  constexpr double parameters = 12.0 * 256 * 256 + 4 * 256;
  for (int64_t ranks : {2, 4, 8})
    for (int zero : {0, 1, 2, 3})
      for (int64_t microBatches : {1, 4}) {
        INFO("zero=" << zero << " on " << ranks << " ranks, " << microBatches << " micro-batches");
        LayerVolumes found =
            volumesOfLayer(sizes, {.precision = Precision::Bf16, .microBatches = microBatches}, {ranks, 1, zero});
        double each = parameters * double(ranks - 1) / double(ranks);
        // Gradients have 2 bytes, their sums over micro-batches 4. ZeRO 2 and 3 add up over the ranks each time.
        double sums = microBatches == 1 ? 2 : zero <= 1 ? 4 : 2.0 * double(microBatches);
        // New parameters of 2 bytes; with ZeRO 3 parameters, for each pass of each micro-batch. The backward pass reads
        // no biases of norms.
        double gathered = zero == 0 ? 0 : zero < 3 ? 2 : 2.0 * double(microBatches) * (2 - 2 * 256 / parameters);
        CHECK(double(found.bytes["AllReduce"]) == Approx(zero == 0 ? 2 * sums * each : 0));
        CHECK(double(found.bytes["ReduceScatter"]) == Approx(zero == 0 ? 0 : sums * each));
        CHECK(double(found.bytes["AllGather"]) == Approx(gathered * each));
      }
}

// Queries, keys and values are three products here, as most exporters write them: their gradients for the norm in front
// are added up before they are reduced.
TEST_CASE("A layer under tensor parallelism has 4 all-reduces of s b h, 2 in each pass") {
  GptSizes sizes{4, 1024, 1024, 16};
  constexpr double bytes = 2.0 * 4 * 1024 * 1024, ways = 4;
  LayerVolumes found = volumesOfLayer(sizes, {}, {1, 4});
  CHECK(found.count == Counts{{"AllReduce", 4}});
  CHECK(double(found.bytes["AllReduce"]) == Approx(4 * 2 * (ways - 1) / ways * bytes));
}

// The paper counts 6: it repeats the forward pass of a layer whole. The last product's sum is the next layer's input,
// which is kept, and no gradient of its own reads it, so that neither is repeated here.
TEST_CASE("A layer that is recomputed repeats the all-reduce of its attention and not that of its last product") {
  GptSizes sizes{4, 1024, 1024, 16};
  CHECK(volumesOfLayer(sizes, {.recompute = RecomputePolicy::Full}, {1, 4}).count == Counts{{"AllReduce", 5}});
}

// The paper keeps pieces of what is gathered for the forward pass, and gathers 2 of them again for gradients of
// weights. Here the gathered tensors stay, as the memory has them.
TEST_CASE("A layer whose norms are cut along the sequence has 4 all-gathers and 4 reduce-scatters of the same bytes") {
  GptSizes sizes{4, 2048, 6144, 64};
  constexpr double bytes = 2.0 * 4 * 2048 * 6144, ways = 4;
  LayerVolumes found = volumesOfLayer(sizes, {}, {1, 4});
  CHECK(found.count == Counts{{"AllGather", 4}, {"ReduceScatter", 4}});
  CHECK(double(found.bytes["AllGather"]) == Approx(4 * (ways - 1) / ways * bytes));
  CHECK(double(found.bytes["ReduceScatter"]) == Approx(4 * (ways - 1) / ways * bytes));
  // Norms that are made again from what is kept of them are gathered again: the paper's two more.
  CHECK(volumesOfLayer(sizes, {.recompute = RecomputePolicy::Norms}, {1, 4}).count ==
        Counts{{"AllGather", 6}, {"ReduceScatter", 4}});
  Counts recomputed = volumesOfLayer(sizes, {.recompute = RecomputePolicy::Full}, {1, 4}).count;
  CHECK(recomputed == Counts{{"AllGather", 6}, {"ReduceScatter", 5}});
}

TEST_CASE("The least sum of a training step is what its program takes, ops that share a copy among its gradients") {
  GptSizes sizes{4, 64, 64, 4, 2};
  GptStep built(sizes, {.isFused = true});
  Mesh mesh = valueOf(Mesh::parse("[tensor=4]"));
  Cluster cluster = valueOf(withDevices(valueOf(loadCluster("dgx-a100-80gb")), 4));
  CostModel model(cluster.pool, mesh);
  PlanningProblem planning = buildProblem(built.graph, model);
  SearchResult result = valueOf(searchDp(planning.problem, {}));
  REQUIRE(result.status == SearchStatus::Optimal);
  GraphCost cost = valueOf(
      costOfGraph(built.graph, planning.decode(result.assignment), model, planning.decodeHubs(result.assignment)));
  CHECK(cost.seconds() == Approx(result.seconds).epsilon(1e-12));
}
