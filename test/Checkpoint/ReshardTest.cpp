// Elements stay what they are, whatever the layouts; there and back gives the same bytes.
#include "SavedFolders.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace apc;
using namespace apc::test;

namespace {

using Random = std::mt19937;

int64_t draw(Random &random, int64_t least, int64_t most) {
  return std::uniform_int_distribution<int64_t>(least, most)(random);
}

/// Axes in any order on any dims, some on none; some cut dims have parts.
std::string drawSharding(Random &random, const std::vector<int64_t> &dims, size_t numAxes) {
  std::vector<std::vector<std::string>> axes(dims.size() + 1);
  std::vector<size_t> order(numAxes);
  for (size_t axis = 0; axis < numAxes; ++axis)
    order[axis] = axis;
  std::shuffle(order.begin(), order.end(), random);
  for (size_t axis : order)
    axes[static_cast<size_t>(draw(random, 0, static_cast<int64_t>(dims.size())))].push_back("x" + std::to_string(axis));
  std::vector<std::string> texts;
  for (size_t dim = 0; dim < dims.size(); ++dim) {
    std::string text = axes[dim].empty() ? "-" : llvm::join(axes[dim], " ");
    if (axes[dim].size() > 1)
      text = "(" + text + ")";
    int64_t first = draw(random, 1, std::max<int64_t>(1, dims[dim] - 1));
    if (!axes[dim].empty() && dims[dim] > 1 && draw(random, 0, 3) == 0)
      text += "{" + std::to_string(first) + " " + std::to_string(dims[dim] - first) + "}";
    texts.push_back(text);
  }
  return "[" + llvm::join(texts, ", ") + "]";
}

/// The same tensors, spread over stages and cut in any way.
std::vector<StageText> drawStages(Random &random, const std::vector<TensorText> &tensors) {
  std::vector<StageText> stages(static_cast<size_t>(draw(random, 1, 3)));
  for (StageText &stage : stages)
    for (int64_t axes = draw(random, 0, 3); axes > 0; --axes)
      stage.mesh.push_back(draw(random, 2, 4));
  for (TensorText tensor : tensors) {
    StageText &stage = stages[static_cast<size_t>(draw(random, 0, static_cast<int64_t>(stages.size()) - 1))];
    tensor.sharding = drawSharding(random, tensor.dims, stage.mesh.size());
    stage.tensors.push_back(tensor);
  }
  return stages;
}

std::vector<TensorText> drawTensors(Random &random) {
  const std::vector<std::string> types = {"f32", "bf16", "i64", "i1", "i4", "f8E4M3FN"};
  std::vector<TensorText> tensors;
  for (int number = 0; number < 6; ++number) {
    TensorText tensor{"t" + std::to_string(number), types[static_cast<size_t>(draw(random, 0, 5))], {}, ""};
    for (int64_t dims = draw(random, 0, 4); dims > 0; --dims)
      tensor.dims.push_back(draw(random, 1, 9));
    tensors.push_back(tensor);
    if (number % 2 == 0)
      tensors.push_back({tensor.name + ".first", "f32", tensor.dims, "", "zeros"});
  }
  return tensors;
}

} // namespace

TEST_CASE("any layout to any other: every element once, in its place; there and back the same bytes") {
  Random random(7);
  for (int round = 0; round < 80; ++round) {
    INFO("round " << round);
    WorkFolder work;
    std::vector<TensorText> tensors = drawTensors(random);
    std::vector<StageText> from = drawStages(random, tensors), to = drawStages(random, tensors);
    writeCheckpoint(work / "from", from, round);
    writeProgram(work / "to", to);
    checkElements(work / "from", from);
    reshard(work / "from", work / "to", work / "there");
    checkElements(work / "there", to);
    reshard(work / "there", work / "from", work / "back");
    CHECK(hashesOf(work / "back") == hashesOf(work / "from"));
    CHECK(valueOf(readSavedWeights(work / "back")).steps == round);
  }
}

TEST_CASE("rows cut in 3 to rows cut in 2: the boxes of the example") {
  WorkFolder work;
  writeCheckpoint(work / "from", {{{3}, {{"w", "f32", {6, 4}, "[x0, -]"}}}});
  writeProgram(work / "to", {{{2}, {{"w", "f32", {6, 4}, "[x0, -]"}}}});
  ReshardPlan plan = planOf(work / "from", work / "to");
  REQUIRE(plan.maps.size() == 1);
  std::vector<std::vector<int64_t>> runs;
  for (const PieceMap::Run &run : plan.maps[0].dims[0].runs)
    runs.push_back({run.to, run.from, run.begin, run.count});
  CHECK(runs == std::vector<std::vector<int64_t>>{{0, 0, 0, 2}, {0, 1, 2, 1}, {1, 1, 3, 1}, {1, 2, 4, 2}});
  std::vector<ReshardedFile> files = describeFiles(plan);
  REQUIRE(files.size() == 2);
  CHECK((files[0].bytes == 48 && files[0].boxes == 2 && files[0].pieces == 1));
}

TEST_CASE("pieces that are padding alone stand anywhere among the others") {
  // 4 over (2 3): halves of 2, thirds of 1: the third of each half is empty.
  WorkFolder work;
  writeCheckpoint(work / "from", {{{2, 3}, {{"w", "f32", {4, 3}, "[(x0 x1), -]"}}}});
  std::vector<StageText> to = {{{3, 2}, {{"w", "f32", {4, 3}, "[x0, x1]"}}}};
  writeProgram(work / "to", to);
  reshard(work / "from", work / "to", work / "there");
  checkElements(work / "there", to);
}

TEST_CASE("more pieces in a row than there are windows") {
  WorkFolder work;
  writeCheckpoint(work / "from", {{{128}, {{"w", "f32", {5, 1000}, "[-, x0]"}}}});
  std::vector<StageText> to = {{{2}, {{"w", "f32", {5, 1000}, "[x0, -]"}}}};
  writeProgram(work / "to", to);
  reshard(work / "from", work / "to", work / "there");
  checkElements(work / "there", to);
}

TEST_CASE("states follow their parameters, begin anew, or are left out") {
  WorkFolder work;
  TensorText weight{"w", "f32", {8}, "[x0]"}, first{"w.first", "f32", {8}, "[x0]", "zeros"};
  TensorText second{"w.second", "f32", {8}, "[x0]", "zeros"};
  writeCheckpoint(work / "sgd", {{{2}, {weight, first}}}, 3);
  writeProgram(work / "adam", {{{4}, {weight, first, second}}});
  ReshardPlan plan = planOf(work / "sgd", work / "adam");
  CHECK(plan.begun == std::vector<std::string>{"w.second"});
  reshard(work / "sgd", work / "adam", work / "there");
  checkElements(work / "there", {{{4}, {weight, first}}});
  SavedWeights there = valueOf(readSavedWeights(work / "there"));
  CHECK(there.steps == 3);
  CHECK(there.stages[0].tensors.size() == 2);
  writeProgram(work / "infer", {{{1}, {weight}}});
  CHECK(planOf(work / "there", work / "infer").leftOut == std::vector<std::string>{"w.first"});
}

TEST_CASE("a source without weights is planned as a checkpoint of it, and not written") {
  WorkFolder work;
  StageText stage{{2}, {{"w", "f32", {8}, "[x0]"}, {"w.first", "f32", {8}, "[x0]", "zeros"}}};
  writeProgram(work / "from", {stage});
  writeProgram(work / "to", {stage});
  ReshardPlan plan = planOf(work / "from", work / "to");
  CHECK(plan.isOfPlans);
  CHECK(describeFiles(plan).front().pieces == 2);
  auto [fault, text] = takeMessage(writeResharded(plan, work / "there"));
  CHECK(fault == Fault::Input);
  CHECK(llvm::StringRef(text).ends_with("from: has no weights; 'apc emit PLAN --weights' writes them, and a run of the "
                                        "program saves a checkpoint"));
  CHECK_FALSE(llvm::sys::fs::exists(work / "there"));
}
