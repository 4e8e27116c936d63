// Files of problems of stages, and their faults.
#include "ValueOf.h"

#include "apc/Planning/Stages/StageProblemJson.h"

using namespace apc;

namespace {

/// A file of one problem; `change` replaces a part of its text.
std::string fileWith(llvm::StringRef from = "", llvm::StringRef to = "") {
  std::string text = R"({"layers": {"forward_seconds": {"1": [4, 2, 3]}, "backward_input_seconds": {"1": [4, 2, 3]},
"backward_weight_seconds": {"1": [1, 1, 1]}, "activation_bytes": {"1": [5, 5, 5]}, "boundary_bytes": [8, 6]},
"skips": [{"from": 0, "to": 2, "bytes": 3}], "link": {"mode": "link", "latency_seconds": 1, "bytes_per_second": null},
"micro_batches": 4, "memory_limit_bytes": null, "tail": {"overlap": true, "tied": {"layers": [0, 2], "seconds": 2}},
"space": {"workers": [2], "schedules": [{"name": "1f1b", "warmup_factor": 2}], "recompute": true}})";
  size_t place = text.find(from.str());
  REQUIRE(place != std::string::npos);
  return from.empty() ? text : text.replace(place, from.size(), to.str());
}

std::string faultOf(llvm::StringRef from, llvm::StringRef to) {
  llvm::Expected<StageProblemFile> file = parseStageProblems(fileWith(from, to), "s.json");
  return file ? "accepted" : takeMessage(file.takeError()).second;
}

} // namespace

TEST_CASE("a problem of stages is read") {
  StageProblemFile file = valueOf(parseStageProblems(fileWith(), "s.json"));
  REQUIRE(file.problems.size() == 1);
  CHECK(!file.isList);
  const StageProblem &problem = file.problems[0];
  CHECK(problem.numLayers() == 3);
  CHECK(problem.byWidth[0].layers[1].forwardSeconds == 2);
  CHECK(problem.byWidth[0].layers[2].activationBytes == 5);
  CHECK(problem.byWidth[0].layers[2].staticBytes == 0);
  CHECK(problem.link.mode == LinkMode::Link);
  CHECK(!problem.link.bytesPerSecond);
  CHECK(problem.tail->overlap);
  CHECK(problem.tail->tied->second == 2);
  CHECK(problem.space.schedules[0].warmUpFactor == 2U);
  CHECK(problem.space.recompute);
  CHECK(isStageProblem(fileWith()));
  CHECK(!isStageProblem("{\"nodes\": []}"));
  CHECK(!isStageProblem("nothing"));
  StageProblemFile list = valueOf(parseStageProblems("{\"instances\": [" + fileWith() + "]}", "s.json"));
  CHECK(list.isList);
  CHECK(list.problems.size() == 1);
}

TEST_CASE("faults of a problem of stages name the place and what is accepted") {
  CHECK(faultOf("\"layers\"", "\"layer\"").find("s.json:1: layer: unknown key") == 0);
  CHECK(faultOf("\"forward_seconds\"", "\"forwards\"").find("layers.forwards: unknown key") != std::string::npos);
  CHECK(faultOf("{\"1\": [1, 1, 1]}", "{\"1\": [1, 1]}")
            .find("s.json:2: layers.backward_weight_seconds.1: 2 numbers are given "
                  "for 3 layers") == 0);
  CHECK(faultOf("{\"1\": [1, 1, 1]}", "{\"2\": [1, 1, 1]}").find("width 2 is not in the first table") !=
        std::string::npos);
  CHECK(faultOf("{\"1\": [4, 2, 3]}", "{\"one\": [4, 2, 3]}").find("'one' is no width") != std::string::npos);
  CHECK(faultOf("[8, 6]", "[8]") == "s.json: 3 layers have 2 boundaries, not 1");
  CHECK(faultOf("[4, 2, 3]", "[4, -2, 3]").find("layer 1 of width 1 has -2") != std::string::npos);
  CHECK(faultOf("\"to\": 2", "\"to\": 0").find("a skip goes from layer 0 to layer 0") != std::string::npos);
  CHECK(faultOf("\"mode\": \"link\"", "\"mode\": \"bus\"").find("'latency', 'link' or 'sender' is expected") !=
        std::string::npos);
  CHECK(faultOf("\"micro_batches\": 4", "\"micro_batches\": 0").find("from 1 to 1000000") != std::string::npos);
  CHECK(faultOf("[0, 2], \"seconds\"", "[0], \"seconds\"").find("a list of two layers") != std::string::npos);
  CHECK(faultOf("[0, 2], \"seconds\"", "[0, 3], \"seconds\"").find("there are 3 layers") != std::string::npos);
  CHECK(faultOf("\"1f1b\"", "\"2f2b\"").find("there is no schedule '2f2b'; there are: gpipe") != std::string::npos);
  CHECK(faultOf("\"1f1b\"", "\"gpipe\"").find("'gpipe' has no warm-up") != std::string::npos);
  CHECK(faultOf("\"name\": \"1f1b\", \"warmup_factor\": 2", "\"name\": \"chimera\"").find("two copies") !=
        std::string::npos);
  CHECK(faultOf("\"workers\": [2]", "\"workers\": [0]").find("each 1 or more") != std::string::npos);
  CHECK(
      faultOf("\"workers\": [2]", "\"workers\": [2], \"widths\": [2], \"devices\": 2").find("no figures for width 2") !=
      std::string::npos);
  CHECK(faultOf("\"workers\": [2]", "\"workers\": [2], \"widths\": [1]").find("'devices' with 'widths'") !=
        std::string::npos);
  CHECK(faultOf("[5, 5, 5]", "[5, 5, 9e18]").find("too many to add up") != std::string::npos);
  CHECK(faultOf("[4, 2, 3]", "[1e308, 1e308, 1e308]").find("seconds of all layers") != std::string::npos);
  CHECK(faultOf("[4, 2, 3]", "[1e299, 2, 3]").find("accepted") == 0);
  CHECK(faultOf("\"latency_seconds\": 1", "\"latency_seconds\": 1e300").find("too many to add up") !=
        std::string::npos);
  CHECK(faultOf("\"bytes_per_second\": null", "\"bytes_per_second\": 1e-305").find("too many to add up") !=
        std::string::npos);
  CHECK(faultOf("[0, 2], \"seconds\": 2", "[0, 2], \"seconds\": 1e301").find("too many to add up") !=
        std::string::npos);
  CHECK(faultOf("\"micro_batches\": 4", "\"micro_batches\": 1000000").find("accepted") == 0);
  CHECK(faultOf("\"workers\": [2]", "\"workers\": [" + llvm::join(std::vector<std::string>(700'000, "3"), ",") + "]")
            .find("more than can be searched at once") != std::string::npos);
  CHECK(faultOf("\"bytes_per_second\": null", "\"bytes_per_second\": 0").find("more than 0 are accepted") !=
        std::string::npos);
}

TEST_CASE("results of stages are printed with all keys") {
  StageProblemFile file = valueOf(parseStageProblems(fileWith(), "s.json"));
  StageResult result = valueOf(searchStages(file.problems[0], {}));
  std::string text = printStageResults(file, result, 0.5);
  for (const char *key : {"\"status\": \"optimal\"", "\"schedule\": 0", "\"schedule_name\": \"1f1b, warm-up factor 2\"",
                          "\"workers\": 2", "\"stage_sizes\": [", "\"widths\": [1,1]", "\"recompute\": [false,false]",
                          "\"finish_seconds\": [", "\"memory_bytes\": [", "\"search_seconds\": 0.5"})
    CHECK(text.find(key) != std::string::npos);
  file.problems[0].memoryLimitBytes = 0;
  result = valueOf(searchStages(file.problems[0], {}));
  text = printStageResults(file, result, 0.5);
  CHECK(text.find("\"status\": \"infeasible\",\n  \"seconds\": null") != std::string::npos);
  CHECK(text.find("\"reason\": \"every choice of stages needs at least") != std::string::npos);
}
