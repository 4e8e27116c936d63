// Rows are costed as `apc evaluate --layout` costs their models.
#include "Rows.h"

#include "apc/Driver/PlanModel.h"
#include "apc/Measure/Prediction.h"
#include "apc/Support/File.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace apc;

namespace {

/// A file that goes with its owner.
struct ModelFile {
  llvm::SmallString<128> path;

  explicit ModelFile(const TransformerShape &shape) {
    REQUIRE(!llvm::sys::fs::createTemporaryFile("made", "onnx", path));
    REQUIRE(!writeFileAtomically(path, writeTransformer(shape)));
  }
  ~ModelFile() { llvm::sys::fs::remove(path); }
};

std::vector<Cells> severalRows() {
  Cells staged = {{"pp", "2"}, {"dp", "1"}, {"recompute", "full"}};
  return {throughputCells(),
          throughputCells({{"tp", "2"}, {"dp", "1"}, {"seq_parallel", "yes"}}),
          throughputCells({{"zero_stage", "3"}, {"precision", "fp16"}}),
          throughputCells(staged),
          throughputCells({{"model_family", "Mixtral"}, {"experts/topk", "4/2"}, {"ffn", "256"}, {"ep", "2"}}),
          throughputCells({{"trust", "C"}}),
          throughputCells({{"model_family", "BERT"}, {"recompute", "selective"}})};
}

/// The layout of a row on its exported model.
Plan planOf(const Measurement &row) {
  ModelFile file(row.model);
  return valueOf(evaluateModel(requestOf(row, file.path), row.layout, PlanningControl()));
}

/// The choices for all ops of an operator; a failed test where there are none.
std::vector<PlanChoice> choicesOf(const Measurement &row, llvm::StringRef operatorName) {
  std::vector<PlanChoice> choices = planOf(row).stages.front().choices;
  llvm::erase_if(choices, [&](const PlanChoice &choice) { return choice.operatorName != operatorName; });
  CHECK(!choices.empty());
  return choices;
}

/// Each row costs the same beside the others.
void checkCostedAsAlone(const std::vector<Measurement> &rows) {
  std::vector<Prediction> together = predictAll(rows, /*numThreads=*/1);
  for (size_t index = 0; index < rows.size(); ++index) {
    CAPTURE(index, rows[index].layout.str(), together[index].failure);
    REQUIRE(together[index].isCosted());
    Prediction alone = predictAll(rows[index], /*numThreads=*/1).front();
    CHECK(together[index].seconds == alone.seconds);
    CHECK(together[index].computeSeconds == alone.computeSeconds);
    CHECK(together[index].memoryBytes == alone.memoryBytes);
  }
}

} // namespace

TEST_CASE("the prediction of a row is the evaluation of its layout on its exported model") {
  std::vector<Measurement> rows = readRows(severalRows());
  std::vector<Prediction> predictions = predictAll(rows, /*numThreads=*/2);
  for (size_t index = 0; index < rows.size(); ++index) {
    CAPTURE(index, predictions[index].failure);
    if (!rows[index].leftOut.empty())
      continue;
    Plan plan = planOf(rows[index]);
    REQUIRE(predictions[index].isCosted());
    CHECK(predictions[index].seconds == plan.stepSeconds);
    CHECK(predictions[index].memoryBytes == plan.memory.total());
    CHECK(predictions[index].memoryLimitBytes == plan.memoryLimitBytes);
    CHECK(predictions[index].seconds > 0);
  }
  CHECK(predictions[5].failure == "trust C");
}

TEST_CASE("rows that differ in micro-batches, runtime or overlap share a graph and nothing of its cost") {
  std::vector<Cells> cells;
  for (const char *batch : {"4", "8", "12", "32"})
    for (const char *notes : {"", "MaxText"}) {
      cells.push_back(throughputCells({{"global_batch", batch}, {"notes", notes}}));
      cells.push_back(throughputCells({{"global_batch", batch}, {"notes", notes}, {"zero_stage", "3"}}));
      cells.push_back(throughputCells({{"global_batch", batch}, {"notes", notes}, {"pp", "2"}, {"dp", "1"}}));
    }
  std::vector<Measurement> rows = readRows(cells);
  std::vector<Prediction> together = predictAll(rows, /*numThreads=*/1);
  for (size_t index = 0; index < rows.size(); ++index) {
    CAPTURE(index, together[index].failure);
    REQUIRE(together[index].isCosted());
    Prediction alone = predictAll(rows[index], /*numThreads=*/1).front();
    CHECK(together[index].seconds == alone.seconds);
    CHECK(together[index].memoryBytes == alone.memoryBytes);
    CHECK(together[index].communicationSeconds == alone.communicationSeconds);
  }
}

TEST_CASE("rows that differ in the size of micro-batches share a graph, which has the sizes of each") {
  std::vector<Cells> cells;
  for (const char *batch : {"1", "2", "3", "4", "64"})
    for (const char *recompute : {"none", "selective", "full"}) {
      Cells own = {{"micro_batch", batch}, {"recompute", recompute}, {"global_batch", "384"}};
      cells.push_back(throughputCells(own));
      own["notes"] = "Megatron-LM";
      cells.push_back(throughputCells(own));
      own["model_family"] = "LLaMA";
      cells.push_back(throughputCells(own));
      own["pp"] = "2", own["dp"] = "1";
      cells.push_back(throughputCells(own));
    }
  checkCostedAsAlone(readRows(cells));
}

TEST_CASE("rows of few tokens and of long sequences are costed as they are alone") {
  const Cells few = {{"hidden", "8192"}, {"heads", "64"},        {"seq", "1024"},       {"vocab", "1024"},
                     {"tp", "4"},        {"seq_parallel", "no"}, {"recompute", "full"}, {"global_batch", "96"}};
  const Cells longer = {
      {"seq", "131072"}, {"vocab", "1024"}, {"notes", "Megatron-Core, flash attention"}, {"recompute", "full"}};
  std::vector<Cells> cells;
  auto add = [&](Cells own, const char *data, const char *context, const char *devices) {
    own["dp"] = data, own["cp"] = context, own["num_devices"] = devices, own["micro_batch"] = "1";
    cells.push_back(throughputCells(own));
  };
  add(few, "2", "", "8");
  add(few, "4", "", "16");
  add(few, "16", "", "64");
  add(longer, "2", "8", "16");
  add(longer, "8", "2", "16");
  checkCostedAsAlone(readRows(cells));
}

TEST_CASE("sums of gradients have the type of the trainer that ran the step, and in a plan that of its program") {
  Cells cells = {{"precision", "fp16"}, {"global_batch", "32"}, {"notes", "Megatron-Core"}, {"hidden", "8192"}};
  Measurement row = readRows({throughputCells(cells)}).front();
  REQUIRE(row.runtime == "megatron-2023");
  Prediction replayed = predictAll(row, /*numThreads=*/1).front();
  Plan plan = planOf(row);
  REQUIRE(replayed.isCosted());
  CHECK(replayed.seconds < plan.stepSeconds);
  CHECK(replayed.communicationSeconds < plan.communicationSeconds);
}

TEST_CASE("tensor parallelism cuts the heads of attentions, with sequences cut or not") {
  for (const char *sequences : {"yes", "no"}) {
    Measurement row = readRows({throughputCells({{"tp", "2"}, {"dp", "1"}, {"seq_parallel", sequences}})}).front();
    for (const PlanChoice &choice : choicesOf(row, "softmax_attention")) {
      CAPTURE(sequences, choice.op);
      REQUIRE(choice.strategy.cuts.size() == 1);
      CHECK(choice.strategy.cuts.front().factor == "kv");
    }
  }
}

TEST_CASE("where logits are gathered, each rank of tensor parallelism takes the loss over all classes") {
  for (const char *notes : {"Megatron-LM", "kernel=flash_attention2"}) {
    Cells cells = {{"tp", "2"}, {"dp", "1"}, {"vocab", "65536"}, {"seq", "1024"}, {"notes", notes}};
    Measurement row = readRows({throughputCells(cells)}).front();
    for (const PlanChoice &choice : choicesOf(row, "log_sum_exp")) {
      CAPTURE(notes, choice.op);
      CHECK(choice.strategy.cuts.empty() == (row.runtime == "megatron-flash-2"));
    }
  }
}

TEST_CASE("threads do not change predictions") {
  std::vector<Measurement> rows = readRows(severalRows());
  std::vector<Prediction> one = predictAll(rows, 1), three = predictAll(rows, 3);
  for (size_t index = 0; index < rows.size(); ++index) {
    CHECK(one[index].seconds == three[index].seconds);
    CHECK(one[index].memoryBytes == three[index].memoryBytes);
  }
}

TEST_CASE("progress is told in rising numbers, whatever the threads") {
  std::vector<Measurement> rows = readRows(severalRows());
  std::vector<size_t> told;
  predictAll(rows, 3, [&](size_t done) { told.push_back(done); });
  CHECK(std::is_sorted(told.begin(), told.end()));
  REQUIRE(!told.empty());
  CHECK(told.back() + 1 == rows.size()); // one is left out
}

TEST_CASE("a layout that the model does not allow is a failure of its row") {
  std::vector<Measurement> rows = readRows({throughputCells({{"num_devices", "64"}, {"dp", "1"}, {"pp", "64"}})});
  std::vector<Prediction> predictions = predictAll(rows, 1);
  CHECK(!predictions[0].isCosted());
  CHECK(predictions[0].failure ==
        "layout " + rows[0].layout.str() +
            ": a pipeline of 64 stages: the model can be cut at 2 places, into 3 stages at most");
}

TEST_CASE("the last stage of a pipeline is one of its workers") {
  std::vector<Measurement> rows = readRows({testCells(), testCells({{"vp", "2"}, {"layers", "4"}})});
  std::vector<Prediction> predictions = predictAll(rows, 2);
  for (const Prediction &own : predictions) {
    REQUIRE(own.isCosted());
    CHECK(own.lastStageBytes > 0);
    CHECK(own.lastStageBytes <= own.memoryBytes);
    CHECK(own.boundaryBytes > 0);
    CHECK(own.boundaryBytes < own.lastStageBytes);
  }
}

TEST_CASE("parameters, gradients and states are alive between steps, and what libraries hold") {
  // Embedding and head of 1,000 rows of 256 numbers; a layer of 4 heads and 2 of keys and values, gated, without
  // biases; two weights of normalisations and one behind the last layer.
  const int64_t layer = 256 * (2 * 256 + 2 * 128) + 3 * 256 * 1024 + 2 * 256;
  const int64_t parameters = 2 * 1000 * 256 + 2 * layer + 256;
  auto predictedOf = [](const char *precision, const char *sharding) {
    std::vector<Measurement> rows =
        readRows({testCells({{"pp", "1"}, {"precision", precision}, {"sharding", sharding}})});
    return predictAll(rows, 1).front().boundaryBytes - rows.front().besideBytes;
  };
  // 2 bytes of a parameter, 4 of its gradient, 4 of its master and 8 of its states; the latter two may be cut. In fp16
  // 2 bytes of a gradient and a copy of 4.
  constexpr double rounding = 1e-3; // numbers of the step itself
  CHECK(static_cast<double>(predictedOf("bf16", "none")) == Approx(18.0 * parameters).epsilon(rounding));
  CHECK(static_cast<double>(predictedOf("bf16", "zero1")) == Approx(12.0 * parameters).epsilon(rounding));
  CHECK(static_cast<double>(predictedOf("fp16", "none")) == Approx(20.0 * parameters).epsilon(rounding));
}

TEST_CASE("gradients stay between steps where the runtime keeps them, and ZeRO 2 and 3 cut them") {
  auto boundaryOf = [](const char *notes, const char *zero) {
    Cells cells = {{"notes", notes}, {"zero_stage", zero}, {"num_devices", "8"}, {"dp", "8"}, {"global_batch", "32"}};
    Prediction own = predictAll(readRows({throughputCells(cells)}), 1).front();
    CHECK(own.boundaryBytes <= own.lastStageBytes);
    return static_cast<double>(own.boundaryBytes);
  };
  // Bytes of a parameter: 2 of its own, 4 of its gradient, 12 of states.
  const double parameter = boundaryOf("MaxText", "0") / 14;
  constexpr double whole = 0.02; // weights that 8 devices do not divide
  CHECK(boundaryOf("Megatron-LM", "0") == Approx(18 * parameter).epsilon(whole));
  CHECK(boundaryOf("Megatron-LM", "1") == Approx((6 + 12.0 / 8) * parameter).epsilon(whole));
  CHECK(boundaryOf("Megatron-LM", "2") == Approx((2 + 16.0 / 8) * parameter).epsilon(whole));
  CHECK(boundaryOf("Megatron-LM", "3") == Approx(18.0 / 8 * parameter).epsilon(whole));
  CHECK(boundaryOf("MaxText", "2") == Approx((2 + 12.0 / 8) * parameter).epsilon(whole));
}

TEST_CASE("the command of a row holds its layout and its figures") {
  Measurement row = readRows({throughputCells({{"hardware", "V100-16GB"}, {"zero_stage", "3"}})}).front();
  CHECK(commandOf(row, "net.onnx") ==
        "apc evaluate 'net.onnx' --layout dp=2,tp=1,sp=0,zero=3,mb=2,recompute=none --devices 2 --cluster "
        "dgx1-v100-32gb --cluster-set device.memory_bytes=15.78GiB --runtime torch-compiled --mode train --loss "
        "cross-entropy "
        "--global-batch 8 --overlap --precision bf16 --fp32-gradients");
}

TEST_CASE("half of the layers take about half of the time to recompute as a block") {
  auto secondsOf = [](const char *recompute) {
    const Measurement row = readRows({throughputCells({{"layers", "8"},
                                                       {"hidden", "2048"},
                                                       {"heads", "16"},
                                                       {"kv_heads", "16"},
                                                       {"ffn", "8192"},
                                                       {"seq", "2048"},
                                                       {"recompute", recompute},
                                                       {"notes", "Megatron-LM"}})})[0];
    return predictAll(row, /*numThreads=*/1).front().computeSeconds;
  };
  const double none = secondsOf("none"), half = secondsOf("block 4"), full = secondsOf("full");
  CHECK(half > none + (full - none) / 3);
  CHECK(half < full - (full - none) / 3);
}
