// Meshes of four axes: searched without being asked for, as long as that is not too much work.
#include "../ValueOf.h"
#include "GraphMaker.h"

#include "apc/Planning/Planning.h"

#include "llvm/ADT/StringExtras.h"

using namespace apc;
using Catch::Matchers::Contains;

namespace {

/// On 2 nodes of 8 devices: prime axes [2 | 2, 2, 2], so that one mesh has four axes and two have three.
Plan planOn16(const OpGraph &graph, std::optional<int64_t> meshAxes, std::vector<Pin> pins = {}) {
  PlanRequest request;
  request.mode = StepMode::Infer;
  request.devices = 16;
  request.meshAxes = meshAxes;
  request.pins = std::move(pins);
  PlanningTarget target = valueOf(readTarget(request));
  target.fewer.clear();
  return valueOf(planGraph(graph, request, target, {}, {}));
}

/// 16 rows, two in each of four dims.
OpGraph sixteenRows() {
  GraphMaker maker;
  maker.sink(maker.alongRows("rows", maker.source("x", {2, 2, 2, 2, int64_t(1) << 30}, ValueRole::Input)));
  return maker.graph;
}

/// Elementwise ops, each with factors of its own.
OpGraph manyRules(size_t count) {
  constexpr size_t numDims = 6;
  GraphMaker maker;
  ValueId value = maker.source("x", llvm::SmallVector<int64_t, 4>(numDims, 16), ValueRole::Input);
  for (size_t op = 0; op < count; ++op) {
    std::vector<std::string> texts;
    for (size_t dim = 0; dim < numDims; ++dim)
      texts.push_back("f" + std::to_string(op) + "_" + std::to_string(dim));
    std::vector<const char *> names;
    llvm::transform(texts, std::back_inserter(names), [](const std::string &text) { return text.c_str(); });
    value = maker.named("op" + std::to_string(op), value, names);
  }
  maker.sink(value);
  return maker.graph;
}

} // namespace

TEST_CASE("a mesh of four axes is found where it is best, and no pin gives a faster plan") {
  OpGraph graph = sixteenRows();
  // An axis cuts one dim, and an axis of 4 is too many ways for a dim of two. So [2 | 2, 4] leaves each device four of
  // the rows, and [2 | 2, 2, 2] one, which takes a quarter: what an op takes beside its bytes is below a hundredth.
  Plan free = planOn16(graph, std::nullopt), three = planOn16(graph, 3), four = planOn16(graph, 4);
  CHECK(free.stages.front().mesh.axes.size() == 4);
  CHECK(three.stepSeconds / free.stepSeconds == Approx(4).epsilon(0.01));
  CHECK(free.stepSeconds == four.stepSeconds);
  CHECK(free.status == PlanStatus::Optimal);
  CHECK(three.lowerBoundSeconds == three.stepSeconds); // the bound of the space that was asked for
  Plan pinned = planOn16(graph, std::nullopt, {valueOf(parsePin("rows: b0=2, b1=2, b2=2, b3=2", "test"))});
  CHECK(pinned.stepSeconds == free.stepSeconds);
}

TEST_CASE("meshes of four axes that would be too much work are left out, and the plan says so") {
  // An op over six dims has (6 + 1) ^ 3 = 343 strategies on three axes: 343 ^ 2 pairs an edge. Four axes multiply them
  // by 30 or so, and 64 million are too many: those of 25 edges are more, those of 3 are not.
  std::string notes = llvm::join(planOn16(manyRules(25), std::nullopt).notes, "\n");
  CHECK_THAT(notes, Contains("1 of 1 meshes of 4 axes were not searched, for their problems are large") &&
                        Contains("--mesh-axes 4 searches all"));
  CHECK_THAT(llvm::join(planOn16(manyRules(3), 3).notes, "\n"), !Contains("not searched")); // as was asked for
  CHECK_THAT(llvm::join(planOn16(manyRules(3), std::nullopt).notes, "\n"), !Contains("not searched"));
}
