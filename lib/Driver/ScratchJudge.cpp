// local scratch
#include "ConformanceCase.h"
#include "apc/Driver/PlanStrategies.h"
#include "apc/Interpret/Grid.h"
#include "apc/Interpret/Compare.h"
#include "apc/Interpret/Run.h"
#include "apc/IR/Apc.h"
#include "apc/Partition/Partition.h"
#include "apc/Partition/VerifyProgram.h"
#include "apc/Transforms/BuildGraph.h"
#include "apc/Cluster/Cluster.h"
#include "llvm/Support/FormatVariadic.h"

namespace apc {

static Strategy replicatedFor(const FactorRule &rule) {
  Strategy s;
  s.axes.resize(rule.factors.size());
  s.passing.resize(rule.linear.size());
  return s;
}

std::vector<std::string> judgeStrategies(const CaseData &data, llvm::ArrayRef<Tensor> expected, unsigned &count) {
  std::vector<std::string> problems;
  auto graph = buildGraph(*data.module);
  if (mlir::failed(graph)) return {"no graph"};
  size_t real = 0;
  for (auto &op : graph->ops) real += op.operatorName != "input" && op.operatorName != "parameter" && op.operatorName != "output";
  auto source = [&](ParameterOp parameter) { return parameterTensor(data, parameter); };
  for (const char *meshText : {"[2]", "[3]", "[2, 2]", "[2, 3]"}) {
    Mesh mesh = llvm::cantFail(Mesh::parse(meshText));
    Cluster cluster = llvm::cantFail(withDevices(llvm::cantFail(loadCluster("cpu-local")), mesh.numDevices()));
    std::vector<std::vector<Strategy>> candidates;
    if (real <= 2) {
      for (size_t at = 0; at < graph->ops.size(); ++at) {
        auto &op = graph->ops[at];
        if (op.operatorName == "input" || op.operatorName == "parameter" || op.operatorName == "output") continue;
        auto all = enumerateStrategies(graph->ruleOf(OpId(at)), mesh);
        size_t step = std::max<size_t>(1, all.size() / 60);
        for (size_t k = 0; k < all.size(); k += step) {
          const Strategy &s = all[k];
          if (llvm::any_of(s.passing, [](const AxisList &l) { return !l.empty(); })) continue;
          std::vector<Strategy> chosen;
          for (size_t i = 0; i < graph->ops.size(); ++i) chosen.push_back(replicatedFor(graph->ruleOf(OpId(i))));
          chosen[at] = s;
          for (auto [index, value] : llvm::enumerate(op.operands)) {
            if (!value) continue;
            OpId producer = graph->value(*value).producer;
            if (!graph->op(producer).operands.empty()) continue;
            Sharding wanted = operandSharding(graph->ruleOf(OpId(at)), s, index);
            for (auto &t : enumerateStrategies(graph->ruleOf(producer), mesh))
              if (resultSharding(graph->ruleOf(producer), t, 0) == wanted) { chosen[producer.index()] = t; break; }
          }
          candidates.push_back(chosen);
        }
      }
    } else {
      for (uint64_t seed = 0; seed < 4; ++seed) candidates.push_back(drawStrategies(*graph, mesh, seed));
    }
    for (auto &chosen : candidates) {
      ++count;
      std::string what = meshText;
      for (size_t i = 0; i < chosen.size(); ++i)
        if (real <= 2 && graph->ops[i].operatorName != "input" && graph->ops[i].operatorName != "output") what += " " + graph->ops[i].operatorName + ":" + chosen[i].str(graph->ruleOf(OpId(i)), mesh);
      auto plan = planStrategies(*graph, cluster, mesh, chosen);
      if (!plan) { problems.push_back(what + " PLAN " + takeMessage(plan.takeError()).second); continue; }
      auto program = partition(*data.module, *plan);
      if (!program) { problems.push_back(what + " PARTITION " + takeMessage(program.takeError()).second); continue; }
      auto proof = verifyProgram(*data.module, **program, *plan);
      if (!proof) { auto m = takeMessage(proof.takeError()).second; if (m.find("bytes of parameters") == std::string::npos) problems.push_back(what + " PROOF " + m); }
      auto results = runGrid(**program, data.arguments, source);
      if (!results) { problems.push_back(what + " RUN " + takeMessage(results.takeError()).second); continue; }
      for (size_t i = 0; i < results->size(); ++i) {
        Tolerance tolerance = onnxTolerance(expected[i].element);
        tolerance.absolute *= 20;
        if (auto difference = findDifference((*results)[i], expected[i], tolerance)) { problems.push_back(what + " RESULT " + std::to_string(i) + " " + *difference); break; }
      }
    }
  }
  return problems;
}

} // namespace apc
