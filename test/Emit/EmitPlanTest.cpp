// Emission as a whole: folders that may be replaced, requests that are refused, runs that give the same bytes.
#include "EmissionSamples.h"

#include "apc/Support/File.h"

#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

#include <sys/resource.h>

using namespace apc;
using namespace apc::test;

namespace {

std::string tinyModel(const std::string &name) { return std::string(APC_MODELS) + "/tiny/" + name + "/model.onnx"; }

/// The files of a folder with their contents.
std::map<std::string, std::string> filesOf(const std::string &folder) {
  std::map<std::string, std::string> files;
  std::error_code code;
  for (llvm::sys::fs::recursive_directory_iterator it(folder, code), end; !code && it != end; it.increment(code))
    if (!llvm::sys::fs::is_directory(it->path()))
      files[it->path().substr(folder.size() + 1)] = contentOf(it->path());
  return files;
}

bool mentions(const std::string &text, llvm::StringRef words) {
  INFO(text);
  CHECK(llvm::StringRef(text).contains(words));
  return llvm::StringRef(text).contains(words);
}

} // namespace

TEST_CASE("the same plan gives the same bytes, and the folder is replaced") {
  WorkFolder work;
  EmitPlanOptions options;
  options.planPath = planFile(tinyModel("gpt"), 8, work / "out");
  options.folder = work / "out";
  options.weights = true;
  options.ranks = "7,0,3";
  Emission emission = valueOf(emitPlan(options));
  std::map<std::string, std::string> first = filesOf(options.folder);
  CHECK(first.contains("plan.json"));
  for (const EmittedFile &file : emission.files)
    CHECK(static_cast<int64_t>(first[file.name].size()) == file.bytes);
  CHECK(first.size() == emission.files.size() + 1);
  for (const char *name : {"program.mlir", "manifest.json", "rank-0000.mlir", "rank-0003.mlir", "rank-0007.mlir"})
    CHECK(first.contains(name));
  valueOf(emitPlan(options));
  CHECK(filesOf(options.folder) == first);
  options.ranks = "";
  options.weights = false;
  options.format = "shard-mlir";
  valueOf(emitPlan(options));
  CHECK(filesOf(options.folder).size() == 3);
}

TEST_CASE("every format of the table writes a program and the manifest") {
  WorkFolder work;
  EmitPlanOptions options;
  options.planPath = planFile(tinyModel("mixer"), 2, work / "plan");
  for (const Emitter &emitter : allEmitters()) {
    options.format = emitter.name.str();
    options.folder = work / emitter.name;
    valueOf(emitPlan(options));
    CHECK(ReadManifest(options.folder).json["format"] == emitter.name.str());
    options.ranks = "1";
    auto emission = emitPlan(options);
    CHECK(static_cast<bool>(emission) == emitter.takesRanks);
    if (!emission)
      mentions(inputErrorOf(std::move(emission)), "has no programs of single ranks");
    options.ranks = "";
  }
}

TEST_CASE("GPT-3 on 1,024 devices: every file stays below 5 MB") {
  WorkFolder work;
  EmitPlanOptions options;
  options.planPath = planFile(std::string(APC_MODELS) + "/gpt3_175b_loss.onnx", 1024, work / "plan", "dgx-a100-80gb");
  for (const Emitter &emitter : allEmitters()) {
    options.format = emitter.name.str();
    options.folder = work / emitter.name;
    options.ranks = emitter.takesRanks ? "0,1023" : "";
    if (emitter.name == "sdy") { // Shardy has no words for padding
      mentions(inputErrorOf(emitPlan(options)), "format 'sdy' cannot say dim 1 of 50257 over 16 devices");
      CHECK_FALSE(llvm::sys::fs::exists(options.folder));
      continue;
    }
    Emission emission = valueOf(emitPlan(options));
    CHECK(emission.absent.empty());
    for (const EmittedFile &file : emission.files)
      CHECK(file.bytes < 5000000);
    // Programs tell what 96 layers do in loops and lists.
    if (emitter.name == "torch")
      CHECK(llvm::StringRef(contentOf(work / "torch/program.py")).count('\n') < 3000);
    ReadManifest manifest(options.folder);
    CHECK(manifest.json["devices"] == 1024);
    CHECK(manifest.json["parameters"].size() == 1156);
    CHECK(manifest.json["parameters"][0]["file"] == "gpt3_175b_loss.onnx.data");
  }
}

TEST_CASE("a refused request is named with the accepted ones") {
  WorkFolder work;
  EmitPlanOptions options;
  options.planPath = planFile(tinyModel("dlrm"), 4, work / "plan");
  options.folder = work / "out";
  auto errorWith = [&](auto change) {
    EmitPlanOptions changed = options;
    change(changed);
    std::string text = inputErrorOf(emitPlan(changed));
    CHECK_FALSE(llvm::sys::fs::exists(work / "out"));
    return text;
  };
  mentions(errorWith([](EmitPlanOptions &to) { to.format = "hlo"; }), "no such format; accepted are mlir, shard-mlir");
  mentions(errorWith([](EmitPlanOptions &to) { to.ranks = "0,x"; }),
           "'x' is no rank; accepted are numbers from 0 to 3");
  mentions(errorWith([](EmitPlanOptions &to) { to.ranks = "4"; }), "rank 4 is not in the program; ranks are 0 to 3");
  mentions(errorWith([](EmitPlanOptions &to) { to.planPath = "absent.json"; }), "absent.json: cannot be read");
  mentions(errorWith([](EmitPlanOptions &to) { to.modelPath = tinyModel("gpt"); }), "has changed since it was planned");
  require(writeFileAtomically(work / "notes/thesis.txt", "x"));
  mentions(errorWith([&](EmitPlanOptions &to) { to.folder = work / "notes"; }),
           "holds 'thesis.txt', which would be lost");
  CHECK(contentOf(work / "notes/thesis.txt") == "x");
}

TEST_CASE("a folder is replaced only where its manifest says that it is an emission") {
  WorkFolder work;
  EmitPlanOptions options;
  options.planPath = planFile(tinyModel("mixer"), 4, work / "plan");
  auto isKept = [&](const std::string &folder, const std::string &named) {
    options.folder = work / folder;
    std::map<std::string, std::string> before = filesOf(options.folder);
    std::string text = inputErrorOf(emitPlan(options));
    mentions(text, options.folder + ": holds '" + named + "', which would be lost; a folder that does not exist");
    CHECK(filesOf(options.folder) == before);
  };
  require(writeFileAtomically(work / "mine/run.py", "print()"));
  isKept("mine", "run.py");
  require(writeFileAtomically(work / "checkpoint/manifest.json", R"({"version": 1, "format": "checkpoint"})"));
  isKept("checkpoint", "manifest.json");
  require(writeFileAtomically(work / "unknown/manifest.json", "no JSON"));
  isKept("unknown", "manifest.json");
  // Weights that the emission's manifest does not list are not of it.
  options.folder = work / "program";
  valueOf(emitPlan(options));
  require(writeFileAtomically(work / "program/weights/mine.safetensors", "x"));
  isKept("program", "weights");
  require(writeFileAtomically(work / "staged/manifest.json",
                              R"({"format": "mlir", "stages": [{"folder": "stage-0000"}]})"));
  require(writeFileAtomically(work / "staged/stage-0001/notes.txt", "x"));
  isKept("staged", "stage-0001");
}

TEST_CASE("a folder is replaced only where the folders in it hold nothing but what emissions write") {
  WorkFolder work;
  EmitPlanOptions options;
  options.weights = true;
  auto isKept = [&](const std::string &file) {
    require(writeFileAtomically(work / "out/" + file, "mine"));
    std::map<std::string, std::string> before = filesOf(options.folder);
    mentions(inputErrorOf(emitPlan(options)),
             options.folder + ": holds '" + file + "', which would be lost; a folder that does not exist");
    CHECK(filesOf(options.folder) == before);
    REQUIRE_FALSE(llvm::sys::fs::remove(work / "out/" + file));
  };
  options.folder = work / "out";
  options.planPath = planFile(tinyModel("mixer"), 4, work / "plan");
  for (const char *format : {"torch", "onnx"}) {
    options.format = format;
    valueOf(emitPlan(options));
    isKept("weights/mine.safetensors");
    isKept("weights/shard-00999-model-00001-of-00001.safetensors"); // of no manifest
  }
  isKept("segments/notes.txt");
  require(writeFileAtomically(work / "out/__pycache__/run.cpython-311.pyc", "x"));
  valueOf(emitPlan(options));
  isKept("__pycache__/notes.txt");
  require(writeFileAtomically(work / "out/plan.json/notes.txt", "mine")); // a folder of that name is not kept
  mentions(inputErrorOf(emitPlan(options)), "holds 'plan.json', which would be lost");
}

TEST_CASE("a plan edited into an illegal strategy is refused") {
  WorkFolder work;
  EmitPlanOptions options;
  options.planPath = planFile(tinyModel("mixer"), 4, work / "plan");
  options.folder = work / "out";
  Json plan = Json::parse(contentOf(options.planPath));
  plan["stages"][0]["choices"].back()["strategy"] = "b9:nowhere";
  require(writeFileAtomically(options.planPath, plan.dump()));
  mentions(inputErrorOf(emitPlan(options)), plan["stages"][0]["choices"].back()["op"].get<std::string>());
  CHECK_FALSE(llvm::sys::fs::exists(options.folder));
}

TEST_CASE("weights elsewhere: absent and short files are errors with the parameter and the bytes") {
  WorkFolder work;
  EmitPlanOptions options;
  options.planPath = planFile(writeExternalModel(work.path.str().str(), 64, 48), 4, work / "plan");
  options.folder = work / "out";
  valueOf(emitPlan(options));
  options.weights = true;
  mentions(inputErrorOf(emitPlan(options)), "weights.bin: the weights of parameter 'w'");
  require(writeFileAtomically(work / "weights.bin", std::string(12000, 'w')));
  mentions(inputErrorOf(emitPlan(options)), "is short: parameter 'w' needs 12288 bytes of it, found are 12000");
  // The emission without weights is still there, whole.
  CHECK(filesOf(options.folder).size() == 2);
  require(writeFileAtomically(work / "weights.bin", std::string(12288 + 192, 'w')));
  valueOf(emitPlan(options));
  CHECK(filesOf(options.folder).size() > 2);
}

TEST_CASE("the shards of 2 GiB take no memory to speak of") {
  WorkFolder work;
  constexpr int64_t rows = 16384, columns = 32768, bytes = 4 * (rows + 1) * columns;
  EmitPlanOptions options;
  options.planPath = planFile(writeExternalModel(work.path.str().str(), rows, columns), 8, work / "plan");
  options.folder = work / "out";
  options.weights = true;
  // 32 MiB of data, then nothing but a hole.
  require(writeFileAtomically(work / "weights.bin", ""));
  int descriptor = -1;
  REQUIRE_FALSE(llvm::sys::fs::openFileForWrite(work / "weights.bin", descriptor, llvm::sys::fs::CD_OpenExisting));
  {
    llvm::raw_fd_ostream os(descriptor, /*shouldClose=*/false);
    for (unsigned block = 0; block < 32; ++block)
      os << std::string(1 << 20, 'x');
  }
  REQUIRE_FALSE(llvm::sys::fs::resize_file(descriptor, bytes));
  llvm::sys::Process::SafelyCloseFileDescriptor(descriptor);
  rusage before{}, after{};
  REQUIRE(getrusage(RUSAGE_SELF, &before) == 0);
  Emission emission = valueOf(emitPlan(options));
  REQUIRE(getrusage(RUSAGE_SELF, &after) == 0);
  CHECK(after.ru_maxrss - before.ru_maxrss < 64 << 10); // KiB
  int64_t total = 0;
  for (const EmittedFile &file : emission.files)
    total += file.bytes;
  CHECK(total > bytes);
}
