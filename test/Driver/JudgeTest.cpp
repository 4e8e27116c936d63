// The judge: tiny models as PyTorch runs them, on one device and as programs of many ranks.
#include "../ValueOf.h"
#include "Samples.h"

#include "apc/Driver/ExecuteProgram.h"
#include "apc/Driver/PlanModel.h"
#include "apc/Driver/PlannedProgram.h"
#include "apc/Partition/Partition.h"
#include "apc/Partition/VerifyProgram.h"
#include "apc/Planning/PlanStrategies.h"
#include "apc/Transforms/BuildGraph.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Regex.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// A tiny model with the inputs and outputs that PyTorch wrote.
struct TinyModel {
  explicit TinyModel(const std::string &name)
      : folder(std::string(APC_MODELS) + "/tiny/" + name), data(valueOf(ModelData::open(folder + "/model.onnx"))),
        context(mlir::MLIRContext::Threading::DISABLED) {
    ImportedModel model = valueOf(importOnnx(folder + "/model.onnx", {}, context));
    module = std::move(model.module);
    graph = valueOf(graphOfModel(*module, name));
    inputs = tensors("input");
    outputs = tensors("output");
    for (size_t index = 0; index < outputs.size(); ++index)
      names.push_back("output " + std::to_string(index));
  }

  /// Every output is PyTorch's, but for the rounding of f32.
  void check(llvm::ArrayRef<Tensor> results) {
    REQUIRE(results.size() == outputs.size());
    for (const OutputError &error : outputErrors(names, results, outputs)) {
      INFO(error.name << " differs by " << error.absolute << ", relative to its largest element " << error.relative);
      CHECK(error.agrees());
    }
  }

  /// Partitions, proves and runs.
  void judge(const Plan &plan) {
    auto program = valueOf(partition(*module, plan));
    valueOf(verifyProgram(*module, program, plan));
    check(valueOf(runGrid(program, inputs, parametersOf(data))));
  }

  /// An op in the middle of the graph, other than its ends.
  std::string middleOp() const {
    for (size_t index = graph.ops.size() / 2;; ++index)
      if (!graph.ops[index].operands.empty() && !graph.ops[index].results.empty())
        return graph.ops[index].name;
  }

  std::string folder;
  ModelData data;
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  OpGraph graph;
  std::vector<Tensor> inputs, outputs;
  std::vector<std::string> names;

private:
  std::vector<Tensor> tensors(const std::string &kind) {
    std::vector<Tensor> found;
    for (size_t index = 0;; ++index) {
      std::string path = folder + "/test_data_set_0/" + kind + "_" + std::to_string(index) + ".pb";
      if (!llvm::sys::fs::exists(path))
        return found;
      found.push_back(valueOf(readTensorFile(path, context)));
    }
  }
};

} // namespace

TEST_CASE("Tiny models give the results of PyTorch on one device") {
  const char *name = GENERATE(from_range(std::begin(tinyModels), std::end(tinyModels)));
  INFO(name);
  TinyModel model(name);
  model.check(valueOf(run(*model.module, model.inputs, parametersOf(model.data))));
}

TEST_CASE("Programs are held against the model as the file has it") {
  PlannedProgram planned = valueOf(buildProgram(planOf({.model = "tiny/bert/model.onnx", .devices = 2})));
  auto composites = [](mlir::ModuleOp module) {
    unsigned count = 0;
    module.walk([&](mlir::Operation *op) { count += op->getName().getStringRef() == "apc.softmax_attention"; });
    return count;
  };
  CHECK(composites(*planned.imported) == 0);
  CHECK(composites(*planned.original) > 0);
}

TEST_CASE("Every search's programs of tiny models give the results of PyTorch") {
  const char *name = GENERATE(from_range(std::begin(tinyModels), std::end(tinyModels)));
  TinyModel model(name);
  for (const Search &search : allSearches())
    for (int64_t devices : {1, 2, 4, 6, 8}) {
      if (search.name == "exhaustive")
        continue; // for problems of a few nodes
      INFO(name << " " << search.name.str() << " " << devices);
      PlanRequest request;
      request.mode = StepMode::Infer;
      request.modelPath = model.folder + "/model.onnx";
      request.cluster = "cpu-local";
      request.devices = devices;
      request.search = search.name.str();
      if (search.name == "ilp" && devices == 8)
        request.meshAxes = 1;           // on two and three axes the certificate takes minutes
      if (search.name == "propagation") // from the middle outwards; without a pin it is dp
        request.pins = {{"^" + llvm::Regex::escape(model.middleOp()) + "$", {}, true, "test"}};
      model.judge(valueOf(planModule(*model.module, request, {})));
    }
}

TEST_CASE("Programs of tiny models under random strategies give the results of PyTorch") {
  const char *name = GENERATE(from_range(std::begin(tinyModels), std::end(tinyModels)));
  TinyModel model(name);
  for (const char *meshText : {"[2]", "[2, 2]", "[2, 3]"}) {
    Mesh mesh = valueOf(Mesh::parse(meshText));
    Cluster cluster = valueOf(withDevices(valueOf(loadCluster("cpu-local")), mesh.numDevices()));
    for (uint64_t seed = 0; seed < 4; ++seed) {
      INFO(name << " " << meshText << " seed " << seed);
      model.judge(valueOf(planStrategies(model.graph, cluster, mesh, drawStrategies(model.graph, mesh, seed))));
    }
  }
}
