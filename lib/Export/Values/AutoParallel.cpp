// The JSON of PyTorch's AutoParallel: a node for each op, with its placement, those of its inputs, and costs.
#include "../ModelLayers.h"
#include "../Refusals.h"
#include "../Targets.h"
#include "Placements.h"

#include "apc/Support/Json/JsonWriter.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

namespace apc {

namespace {

/// "RS(0)": a letter for each axis of the mesh.
std::string placementText(const PlanMesh &mesh, const NamedSharding &sharding) {
  std::string text;
  for (const ValuePlacement &placement : placementsOf(mesh, sharding))
    text += placement.dim       ? "S(" + std::to_string(*placement.dim) + ")"
            : placement.partial ? "P(" + combinerName(*placement.partial).str() + ")"
                                : "R";
  return text;
}

class NodeWriter {
public:
  NodeWriter(const ExportSource &source, const BoundPlan &bound, GroupedReasons &reasons)
      : source(source), bound(bound), stage(source.plan.stages.front()), reasons(reasons) {
    for (const PlanSharding &sharding : stage.shardings)
      shardings[sharding.value] = &sharding;
  }

  void write(const BoundOp &own, JsonWriter &json) {
    const GraphOp &op = source.graph.op(own.op);
    const FactorRule &rule = source.graph.ruleOf(own.op);
    const Mesh &mesh = bound.meshes.front();
    json.object([&](JsonObjectWriter &node) {
      node("name", own.choice->op);
      node("op", own.choice->operatorName);
      node("phase", "forward");
      node("placement", placementText(stage.mesh, NamedSharding::of(resultSharding(rule, own.strategy, 0), mesh)));
      node.list("inputs", [&] {
        for (auto [index, value] : llvm::enumerate(op.operands))
          if (value)
            writeInput(source.graph.value(*value).name, own.choice->op,
                       NamedSharding::of(operandSharding(rule, own.strategy, static_cast<unsigned>(index)), mesh),
                       json);
      });
      node("compute_cost", own.choice->seconds);
      node("transition_cost", 0.0);
    });
    if (const PlanSharding *made = op.results[0] ? shardings.lookup(source.graph.value(*op.results[0]).name) : nullptr)
      addPlacementReasons(stage.mesh, *made, reasons);
  }

private:
  void writeInput(llvm::StringRef name, llvm::StringRef user, const NamedSharding &wanted, JsonWriter &json) {
    const PlanSharding *made = shardings.lookup(name);
    if (!made)
      return;
    json.object([&](JsonObjectWriter &input) {
      input("name", name);
      input("src_placement", placementText(stage.mesh, made->sharding));
      input("dst_placement", placementText(stage.mesh, wanted));
      input("comm_cost", secondsOfMoves(name, user));
      input("transition_cost", 0.0);
    });
  }
  double secondsOfMoves(llvm::StringRef value, llvm::StringRef user) const {
    double seconds = 0;
    for (const PlanMove &move : stage.moves)
      if (llvm::is_contained(move.values, value) && !move.users.empty() && move.users.front() == user)
        seconds += move.seconds / static_cast<double>(move.values.size());
    return seconds;
  }

  const ExportSource &source;
  const BoundPlan &bound;
  const StagePlan &stage;
  GroupedReasons &reasons;
  llvm::StringMap<const PlanSharding *> shardings;
};

} // namespace

llvm::Expected<Exported> writeAutoParallel(const ExportSource &source, const ParallelDegrees &) {
  Refusals refusals("AutoParallel");
  refusals.addIf(source.plan.pipeline.has_value(), "the plan has stages, and the file has one mesh");
  refusals.addIf(source.plan.training && source.plan.training->copies > 1,
                 "each micro-batch is cut into copies that run in turn, and a node runs once");
  if (llvm::Error error = refusals.take())
    return std::move(error);
  llvm::Expected<BoundPlan> bound = boundPlan(source);
  if (!bound)
    return bound.takeError();
  const PlanMesh &mesh = source.plan.stages.front().mesh;
  GroupedReasons reasons;
  NodeWriter nodes(source, *bound, reasons);
  JsonWriter json;
  json.object([&](JsonObjectWriter &object) {
    object.object("mesh", [&](JsonObjectWriter &own) {
      own.list("shape", [&] {
        for (const PlanAxis &axis : mesh.axes)
          json.value(axis.size);
      });
      own.list("dim_names", [&] {
        for (const PlanAxis &axis : mesh.axes)
          json.value(axis.name);
      });
    });
    object.list("nodes", [&] {
      for (const BoundOp &own : bound->ops)
        json.oneLine([&] { nodes.write(own, json); });
    });
    object.list("clusters", [] {});
    object.object("summary", [&](JsonObjectWriter &summary) {
      summary("total", source.plan.stepSeconds);
      summary("comm", source.plan.exposedCommunicationSeconds);
      summary("compute", source.plan.computeSeconds + source.plan.hostSeconds);
      summary("transition", 0.0);
    });
  });
  Exported exported{{{"autoparallel.json", json.take() + "\n"}}, {}};
  if (source.plan.training && source.plan.training->microBatches > 1)
    exported.unsaid.push_back("micro-batches: a node runs once in a step");
  if (source.plan.training && source.plan.training->recompute != "none")
    exported.unsaid.push_back("recompute " + source.plan.training->recompute +
                              ": nodes of the backward pass follow "
                              "those of the forward pass");
  llvm::append_range(exported.unsaid, reasons.take());
  return exported;
}

} // namespace apc
