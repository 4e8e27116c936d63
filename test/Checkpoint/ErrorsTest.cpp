// Input that is refused, by messages that name the fault; nothing is left behind.
#include "SavedFolders.h"

#include "apc/Support/Error.h"

using namespace apc;
using namespace apc::test;

namespace {

const TensorText weight{"w", "f32", {8, 6}, "[x0, -]"};

std::string planError(const std::string &from, const std::string &to) {
  return inputErrorOf(planReshard(valueOf(readSavedWeights(from)), valueOf(readSavedWeights(to))));
}

bool contains(const std::string &text, llvm::StringRef part) {
  INFO(text);
  CHECK(llvm::StringRef(text).contains(part));
  return llvm::StringRef(text).contains(part);
}

/// A checkpoint on 2 devices in "from" and a program of 4 in "to".
struct Pair : WorkFolder {
  Pair() {
    writeCheckpoint(*this / "from", {{{2}, {weight}}});
    writeProgram(*this / "to", {{{4}, {weight}}});
  }
  std::string file(int number) const { return *this / "from" + "/" + weightFileName(static_cast<size_t>(number)); }
  std::string writeError() const {
    auto [fault, text] = takeMessage(writeResharded(planOf(*this / "from", *this / "to"), *this / "there"));
    CHECK(fault == Fault::Input);
    CHECK_FALSE(llvm::sys::fs::exists(*this / "there"));
    return text;
  }
};

} // namespace

TEST_CASE("other models, shapes, types and names") {
  Pair work;
  writeProgram(work / "model", {{{4}, {weight}}}, "ffff");
  contains(planError(work / "from", work / "model"), "is of another model than");
  writeProgram(work / "shape", {{{4}, {{"w", "f32", {8, 7}, "[x0, -]"}}}});
  contains(planError(work / "from", work / "shape"), "parameter 'w' is [8, 6] in");
  writeProgram(work / "type", {{{4}, {{"w", "bf16", {8, 6}, "[x0, -]"}}}});
  contains(planError(work / "from", work / "type"), "parameter 'w' is stored as f32 in");
  writeProgram(work / "names", {{{4}, {weight, {"v", "f32", {2}, "[-]"}}}});
  contains(planError(work / "from", work / "names"), "does not have 'v', which");
}

TEST_CASE("files that are absent, short, or of other tensors") {
  Pair work;
  std::string content = valueOf(readFile(work.file(1)));
  require(writeFileAtomically(work.file(1), llvm::StringRef(content).drop_back()));
  contains(work.writeError(), "w: the file ends before this tensor does");
  require(writeFileAtomically(work.file(1), "no header"));
  contains(work.writeError(), "is no file of safetensors: its 9 bytes do not begin with the length of a header");
  size_t at = content.find("[4,6]");
  REQUIRE(at != std::string::npos);
  std::string other = content;
  other.replace(at, 5, "[6,4]");
  require(writeFileAtomically(work.file(1), other));
  contains(work.writeError(), "tensor 'w' is F32 [6, 4], the piece of the manifest F32 [4, 6]");
  other = content;
  other.replace(other.find("\"w\":{\"dtype"), 3, "\"v\"");
  require(writeFileAtomically(work.file(1), other));
  contains(work.writeError(), "does not hold 'w', which the manifest says is in it");
  require(llvm::errorCodeToError(llvm::sys::fs::remove(work.file(1))));
  contains(work.writeError(), "cannot be read: No such file or directory");
}

TEST_CASE("a folder with files of others stays as it is") {
  Pair work;
  require(writeFileAtomically(work / "there/notes.txt", "mine"));
  auto [fault, text] = takeMessage(writeResharded(planOf(work / "from", work / "to"), work / "there"));
  CHECK(fault == Fault::Input);
  contains(text, "holds 'notes.txt', which would be lost");
  CHECK(hashesOf(work / "there").size() == 1);
}

TEST_CASE("files of a checkpoint's names are lost only where a manifest says that they are one") {
  Pair work;
  require(writeFileAtomically(work / "there/weights/mine.safetensors", "mine"));
  auto [fault, text] = takeMessage(writeResharded(planOf(work / "from", work / "to"), work / "there"));
  CHECK(fault == Fault::Input);
  contains(text, "holds 'weights', which would be lost");
  CHECK(hashesOf(work / "there").size() == 1);
  writeCheckpoint(work / "there", {{{2}, {weight}}});
  auto hashes = hashesOf(work / "there");
  std::string refused = inputErrorOf(writeResharded(planOf(work / "from", work / "to"), work / "there"));
  contains(refused, "holds 'weights/mine.safetensors', which would be lost; a folder that does not exist");
  CHECK(hashesOf(work / "there") == hashes);
  require(llvm::errorCodeToError(llvm::sys::fs::remove(work / "there/weights/mine.safetensors")));
  require(writeResharded(planOf(work / "from", work / "to"), work / "there"));
  CHECK(hashesOf(work / "there").size() == hashesOf(work / "to").size() + 4);
}

TEST_CASE("files of others in folders of stages are not lost") {
  Pair work;
  writeCheckpoint(work / "there", {{{2}, {weight}}, {{2}, {{"v", "f32", {2}, "[-]"}}}});
  for (const char *name : {"stage-0001/notes.txt", "stage-0000/weights/shard-00009-model-00001-of-00001.safetensors",
                           "weights/mine", "stage-0002/mine"}) {
    require(writeFileAtomically(work / "there/" + name, "mine"));
    std::string text = inputErrorOf(writeResharded(planOf(work / "from", work / "to"), work / "there"));
    llvm::StringRef shown = llvm::StringRef(name).ends_with("/mine") ? llvm::StringRef(name).drop_back(5) : name;
    contains(text, ("holds '" + shown + "', which would be lost").str());
    CHECK(valueOf(readFile(work / "there/" + name)) == "mine");
    require(llvm::errorCodeToError(llvm::sys::fs::remove(work / "there/" + name)));
    if (shown != name)
      (void)llvm::sys::fs::remove(work / "there/" + shown.str());
  }
  require(writeResharded(planOf(work / "from", work / "to"), work / "there"));
}

TEST_CASE("manifests that say what cannot be") {
  WorkFolder work;
  auto errorOf = [&](llvm::StringRef text) {
    require(writeFileAtomically(work / "bad/manifest.json", text));
    return inputErrorOf(readSavedWeights(work / "bad"));
  };
  contains(inputErrorOf(readSavedWeights(work / "nowhere")), "manifest.json");
  contains(errorOf(R"({"version": 9, "model": {"path": "m", "sha256": ""}, "mesh": [], "parameters": []})"),
           "version: version 1 is expected, not 9");
  std::string head = R"({"version": 1, "model": {"path": "m", "sha256": ""}, "mesh": [{"name": "x0", "size": 2}], )";
  auto parameter = [&](llvm::StringRef rest) {
    return errorOf(head + R"("weights": {"files": ["weights/a"]}, "parameters": [{"name": "w", "shape": [4], )" +
                   rest.str() + "}]}");
  };
  contains(parameter(R"("element_type": "f32", "sharding": "[x1]")"), "parameters[0].sharding");
  contains(parameter(R"("element_type": "f32", "sharding": "[-, -]")"), "parameters[0].sharding");
  contains(parameter(R"("element_type": "float", "sharding": "[-]")"), "'float' is no element type");
  contains(parameter(R"("element_type": "f32", "sharding": "[x0]", "file_of_shard": [0])"),
           "has 2 pieces, files are given for 1");
  contains(parameter(R"("element_type": "f32", "sharding": "[x0]", "file_of_shard": [0, 1])"), "there are 1 files");
  contains(parameter(R"("element_type": "f32", "sharding": "[x0]", "file_of_shard": [0, -1])"),
           "a piece that is not empty is in no file");
  contains(errorOf(head + R"("weights": {"files": ["../a"]}, "parameters": []})"),
           "is no file of the folder 'weights'");
  contains(
      errorOf(
          R"({"version": 1, "model": {"path": "m", "sha256": ""}, "stages": [{"folder": "../x", "first_rank": 0}]})"),
      "stage-0000 is expected");
}
