// Checkpoints whose elements say which they are, written element by element and read back by the files' own metadata.
#pragma once

#include "../ErrorOf.h"
#include "../ValueOf.h"
#include "apc/Checkpoint/Reshard.h"
#include "apc/Support/File.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"

#include <catch2/catch.hpp>

#include <map>
#include <random>

namespace apc::test {

/// A folder that goes away with the test.
struct WorkFolder {
  WorkFolder() { REQUIRE_FALSE(llvm::sys::fs::createUniqueDirectory("apc-checkpoint", path)); }
  ~WorkFolder() { (void)llvm::sys::fs::remove_directories(path); }
  std::string operator/(llvm::StringRef name) const { return (path + "/" + name).str(); }

  llvm::SmallString<128> path;
};

struct TensorText {
  std::string name, type;
  std::vector<int64_t> dims;
  std::string sharding;
  std::string begins = {};
};

/// A mesh of axes x0, x1, ... and what its devices hold.
struct StageText {
  std::vector<int64_t> mesh;
  std::vector<TensorText> tensors;
};

/// manifest.json of a program without weights; several stages are a pipeline.
void writeProgram(const std::string &folder, const std::vector<StageText> &stages, const std::string &sha = "5ad0");
/// A checkpoint: the byte number b of tensor `name` as a whole is `byteOf(name, b)`.
void writeCheckpoint(const std::string &folder, const std::vector<StageText> &stages, int64_t steps = 0);
char byteOf(const std::string &name, int64_t number);

/// Checks that the files in `folder` hold each element of these tensors exactly once and as `byteOf` says, by the
/// metadata that PyTorch reads.
void checkElements(const std::string &folder, const std::vector<StageText> &stages);

/// SHA-256 of all files, by name.
std::map<std::string, std::string> hashesOf(const std::string &folder);

ReshardPlan planOf(const std::string &from, const std::string &to);
void reshard(const std::string &from, const std::string &to, const std::string &folder);

} // namespace apc::test
