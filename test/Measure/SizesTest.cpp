// Sizes of a row's model: experts, numbers, and the parameters that these have to give.
#include "Rows.h"

using namespace apc;

namespace {

/// A Llama 2 of 7 billion parameters, which has 6.7.
Cells sevenBillion(const Cells &changes) {
  Cells cells = {{"model_family", "LLaMA-2-7B"},
                 {"layers", "32"},
                 {"hidden", "4096"},
                 {"heads", "32"},
                 {"kv_heads", ""},
                 {"ffn", "11008"},
                 {"vocab", "32000"}};
  for (const auto &[column, cell] : changes)
    cells[column] = cell;
  return cells;
}

} // namespace

TEST_CASE("stated parameters far from those of the columns are a reason to leave the row out") {
  auto reasonFor = [](const Cells &changes) { return reasonOf(sevenBillion(changes)); };
  for (const char *stated : {"6.7", "7", "7B", "6.5", "6.7e9", "5", "8.7", "", "unknown"})
    CHECK(reasonFor({{"params_b", stated}}).empty());
  CHECK(reasonFor({{"params_b", "13"}}) ==
        "params_b states 13.0 billion parameters, and the model of the columns has 6.7");
  CHECK(reasonFor({{"params_b", "70B"}}) ==
        "params_b states 70.0 billion parameters, and the model of the columns has 6.7");
  CHECK(reasonFor({{"params_b", "6.7"}, {"layers", "2"}}) ==
        "params_b states 6.7 billion parameters, and the model of the columns has 0.7");
}

TEST_CASE("stated parameters of experts are all of them, or those that a token passes") {
  auto reasonFor = [](const char *stated) {
    return reasonOf(sevenBillion({{"model_family", "Mixtral 8x7B"},
                                  {"experts/topk", "8/2"},
                                  {"ffn", "14336"},
                                  {"kv_heads", "8"},
                                  {"params_b", stated}}));
  };
  CHECK(reasonFor("46.7").empty());
  CHECK(reasonFor("12.9").empty());
  CHECK(reasonFor("24") == "params_b states 24.0 billion parameters, and the model of the columns has 46.7");
  CHECK(reasonOf(sevenBillion({{"model_family", "Llama4-Maverick"},
                               {"experts/topk", "128/1"},
                               {"layers", "48"},
                               {"hidden", "5120"},
                               {"heads", "40"},
                               {"kv_heads", "8"},
                               {"ffn", "8192"},
                               {"vocab", "202048"},
                               {"params_b", "400"}})) ==
        "params_b states 400.0 billion parameters, and the model of the columns has 778.2");
}

TEST_CASE("stated parameters of small models may count the table of logits that the family ties") {
  const Cells small = {{"model_family", "GPT"}, {"layers", "6"},    {"hidden", "512"},
                       {"heads", "8"},          {"kv_heads", "8"},  {"ffn", "2048"},
                       {"seq", "2048"},         {"vocab", "50688"}, {"params_b", "0.07"}};
  CHECK(reasonOf(small).empty());
}

TEST_CASE("experts and their choice are written in several ways, and dense models have none") {
  auto shapeFor = [](const char *family, const char *cell) {
    Measurement row = readRows({throughputCells({{"model_family", family}, {"experts/topk", cell}})})[0];
    CHECK(row.leftOut.empty());
    return std::make_pair(row.model.experts, row.model.chosenExperts);
  };
  for (const char *cell : {"8/2", "8 / 2", "8x2", "8,2", "8, 2", "8 top-2", "8 (top 2)", "8 top2", "8 experts, top-2",
                           "8:2", "8 experts top2"})
    CHECK(shapeFor("Mixtral", cell) == std::make_pair<int64_t, int64_t>(8, 2));
  for (const char *cell : {"", "0", "0/0", "none", "Dense", "n/a", "-"})
    CHECK(shapeFor("GPT", cell) == std::make_pair<int64_t, int64_t>(0, 0));
  for (const char *cell : {"8", "2/8", "8x7B", "8 experts", "8 2"})
    CHECK(reasonOf({{"model_family", "Mixtral"}, {"experts/topk", cell}}) == "experts are not of the form 8/2");
  for (const char *cell : {"0", "none", "dense"})
    CHECK(reasonOf({{"model_family", "Mixtral"}, {"experts/topk", cell}}) == "no experts/topk of a model with experts");
}

TEST_CASE("degrees of none are single, and thousands may have commas") {
  Measurement row = readRows({throughputCells({{"pp", "none"},
                                               {"vp", "None"},
                                               {"cp", "none"},
                                               {"ep", "none"},
                                               {"vocab", "32,000"},
                                               {"global_batch", "1,024"}})})[0];
  CHECK(row.leftOut.empty());
  CHECK(row.layout.str() == "dp=2,tp=1,sp=0,mb=2,recompute=none");
  CHECK(row.model.vocabulary == 32000);
  CHECK(row.globalBatch == 1024);
  CHECK(readRows({throughputCells({{"vocab", "32,00"}}), throughputCells()})[0].leftOut == "vocab cannot be read");
  CHECK(readRows({throughputCells({{"layers", "none"}}), throughputCells()})[0].leftOut == "layers cannot be read");
}
