// Weights that a model stores as varints are cut like all others, once decoded.
#include "EmissionSamples.h"

#include "../Import/ModelText.h"

#include "apc/Support/File.h"

using namespace apc;
using namespace apc::test;

namespace {

constexpr size_t rows = 12, columns = 10;

/// The 16 bits of w's element i: an f16 between 1 and 2, so that all are below 2^15; every fourth is negative.
unsigned element(size_t i) { return 0x3C00 + static_cast<unsigned>(i) * 7 + (i % 4 == 3 ? 0x8000 : 0); }

/// y = x . w of f16, with `numValues` values of w as int32_data.
std::string modelOfVarints(size_t numValues) {
  std::string values;
  for (size_t i = 0; i < numValues; ++i)
    values += " int32_data: " + std::to_string(element(i));
  return serialize("input { name: \"x\" type { tensor_type { elem_type: 10 shape { dim { dim_value: 8 } dim { "
                   "dim_value: 12 } } } } }"
                   "initializer { name: \"w\" data_type: 10 dims: 12 dims: 10" +
                   values + " }" + node("MatMul", {"x", "w"}, {"y"}) + output("y"));
}

/// The numbers of a run, as a runtime decodes them.
std::string decoded(const std::string &run) {
  std::string bytes;
  unsigned value = 0, shift = 0;
  for (char each : run) {
    auto byte = static_cast<unsigned char>(each);
    value |= (byte & 0x7FU) << shift;
    shift += 7;
    if (byte & 0x80U)
      continue;
    bytes += static_cast<char>(value & 0xFF);
    bytes += static_cast<char>(value >> 8 & 0xFF);
    value = shift = 0;
  }
  return bytes;
}

} // namespace

TEST_CASE("varints: the manifest says where they are, and the shards are their elements") {
  WorkFolder work;
  std::string model = work / "model.onnx";
  require(writeFileAtomically(model, modelOfVarints(rows * columns)));
  EmitPlanOptions options;
  options.planPath = planFile(model, 4, work / "plan");
  options.folder = work / "out";
  options.weights = true;
  valueOf(emitPlan(options));
  ReadManifest manifest(options.folder);
  REQUIRE(manifest.json["parameters"].size() == 1);
  Json parameter = manifest.json["parameters"][0];
  CHECK(parameter["encoding"] == "varint");
  CHECK_FALSE(parameter.contains("absent"));
  std::string elements =
      decoded(contentOf(model).substr(parameter["offset"].get<size_t>(), parameter["length"].get<size_t>()));
  REQUIRE(elements.size() == 2 * rows * columns);
  for (size_t i = 0; i < rows * columns; ++i)
    CHECK(static_cast<unsigned char>(elements[2 * i]) + 256U * static_cast<unsigned char>(elements[2 * i + 1]) ==
          element(i));
  parameter["offset"] = 0; // of the ranges: in the elements
  parameter["length"] = elements.size();
  for (int64_t rank = 0; rank < manifest.json["devices"].get<int64_t>(); ++rank)
    CHECK(manifest.holds(parameter, rank, elements));
  CHECK_FALSE(llvm::sys::fs::exists(options.folder + "/decoded"));
}

TEST_CASE("varints: another number of values than the shape needs is an error with both") {
  WorkFolder work;
  std::string model = work / "model.onnx";
  require(writeFileAtomically(model, modelOfVarints(rows * columns - 1)));
  PlanRequest planning;
  planning.mode = StepMode::Infer;
  planning.modelPath = model;
  planning.devices = 2;
  auto plan = planModel(planning, {});
  EmitPlanOptions options;
  if (!plan) {
    CHECK(takeMessage(plan.takeError()).second.find("119") != std::string::npos);
    return;
  }
  options.planPath = planFile(model, 2, work / "plan");
  options.folder = work / "out";
  options.weights = true;
  std::string text = inputErrorOf(emitPlan(options));
  INFO(text);
  CHECK(text.find("parameter 'w' has 119 values, its shape needs 120") != std::string::npos);
  CHECK_FALSE(llvm::sys::fs::exists(options.folder));
}
