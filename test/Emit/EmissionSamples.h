// Models planned and emitted for tests, and their manifests read back as a runtime would.
#pragma once

#include "../ErrorOf.h"
#include "../ValueOf.h"
#include "apc/Driver/EmitPlan.h"
#include "apc/Driver/PlanModel.h"
#include "apc/Support/Error.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"

#include <nlohmann/json.hpp>

#include <catch2/catch.hpp>

namespace apc::test {

using Json = nlohmann::json;

/// A folder that goes away with the test.
struct WorkFolder {
  WorkFolder() { REQUIRE_FALSE(llvm::sys::fs::createUniqueDirectory("apc-emit", path)); }
  ~WorkFolder() { (void)llvm::sys::fs::remove_directories(path); }
  std::string operator/(llvm::StringRef name) const { return (path + "/" + name).str(); }

  llvm::SmallString<128> path;
};

std::string contentOf(const std::string &path);

/// Writes a model `y = x . w + b` with x [8, rows], w [rows, columns], b [columns] of f32, whose weights are in
/// "weights.bin" beside it: w from 0, b after it. Returns its path.
std::string writeExternalModel(const std::string &folder, int64_t rows, int64_t columns);

/// Plans `modelPath` for `devices` of `cluster` and writes plan.json into `folder`; returns its path.
std::string planFile(const std::string &modelPath, int64_t devices, const std::string &folder,
                     const std::string &cluster = "cpu-local", const std::vector<Pin> &pins = {});

/// A file of safetensors, as its format says.
struct ReadTensors {
  explicit ReadTensors(const std::string &path);

  std::string bytesOf(const std::string &name) const;
  /// The first element of a tensor in the whole, as PyTorch's distributed checkpoint is told.
  std::vector<size_t> beginOf(const std::string &name) const;

  Json header;
  std::string data; ///< behind the header
};

/// manifest.json as a runtime reads it.
struct ReadManifest {
  explicit ReadManifest(const std::string &folder);

  /// The bytes of a parameter that a rank reads, run after run; `bits` are expanded to a byte each ('0', '1').
  std::string readRanges(const Json &parameter, int64_t rank, const std::string &data) const;
  /// Do the weights hold the bytes of a parameter that a rank reads, and say where they begin? `data` is the
  /// parameter's file. True as well where a rank holds padding alone and the weights hold nothing for it.
  bool holds(const Json &parameter, int64_t rank, const std::string &data) const;

  Json json;
  std::string folder;

private:
  /// A range, and the part of the piece that it fills.
  struct Box {
    Json range;
    std::vector<size_t> begin, size; ///< by dim
  };

  std::vector<Box> boxesOf(const Json &parameter, int64_t rank) const;
  std::string readRange(const Json &parameter, const Json &range, const std::string &data) const;
};

} // namespace apc::test
