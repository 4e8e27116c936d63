// MindSpore's strategy file in its JSON form: cuts of each op's operands, layouts of parameters.
#include "../BoundOps.h"
#include "../ModelLayers.h"
#include "../Targets.h"

#include "apc/Support/Json/JsonWriter.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"

namespace apc {

namespace {

/// The ways in which each dim of an operand is cut.
std::vector<int64_t> waysOf(const Sharding &sharding, const Mesh &mesh) {
  std::vector<int64_t> ways;
  for (const AxisList &axes : sharding.dims)
    ways.push_back(mesh.size(axes));
  return ways;
}

/// Reasons why the cuts of an op say less than its strategy.
class CutReasons {
public:
  CutReasons(const FactorRule &rule, const Strategy &strategy, const Mesh &mesh)
      : rule(rule), strategy(strategy), mesh(mesh) {}

  std::vector<std::string> find() const {
    std::vector<std::string> found;
    if (llvm::any_of(strategy.partialInputs, [](const AxisList &axes) { return !axes.empty(); }))
      found.push_back("operands come in as parts of a sum: MindSpore adds sums up where they are made");
    for (auto [index, axes] : llvm::enumerate(strategy.axes))
      if (rule.factors[index].size % mesh.size(axes) != 0)
        found.push_back(llvm::formatv("{0}={1} is cut {2} ways, which does not divide it: MindSpore cuts evenly",
                                      rule.factors[index].name, rule.factors[index].size, mesh.size(axes)));
    for (unsigned operand = 0; operand < rule.operands.size(); ++operand)
      if (!operandSharding(rule, strategy, operand).parted.empty()) {
        found.push_back("a dim is cut inside of its parts: MindSpore cuts a dim as one run");
        break;
      }
    if (!isInOrder())
      found.push_back("its cuts lie on devices in another order than its dims: MindSpore lays them out in the order of "
                      "the dims, over neighbouring devices");
    return found;
  }

private:
  /// MindSpore's device matrix has a dim for each factor, in the order of the operands, the largest first; devices that
  /// are left repeat the op, in front of all dims or behind them.
  bool isInOrder() const {
    std::vector<const RuleTensor *> operands;
    for (const RuleTensor &tensor : rule.operands)
      operands.push_back(&tensor);
    llvm::stable_sort(operands, [](auto *a, auto *b) { return a->dims.size() > b->dims.size(); });
    std::vector<AxisId> axes;
    std::vector<bool> seen(rule.numFactors());
    for (const RuleTensor *tensor : operands)
      for (const DimFactors &dim : tensor->dims)
        for (FactorId factor : dim)
          if (!seen[factor.index()]) {
            seen[factor.index()] = true;
            llvm::append_range(axes, strategy.axes[factor.index()]);
          }
    auto beginsAt = [&](size_t first) {
      for (auto [index, axis] : llvm::enumerate(axes))
        if (axis.index() != first + index)
          return false;
      return true;
    };
    return beginsAt(0) || beginsAt(mesh.numAxes() - axes.size());
  }

  const FactorRule &rule;
  const Strategy &strategy;
  const Mesh &mesh;
};

/// A parameter's layout: {"dev_matrix": [2, 4], "tensor_map": [-1, 0], ...}. Axes of the matrix count from the right.
struct ParameterLayout {
  std::vector<int64_t> matrix, map, localShape;
  int64_t shardStep = 0, shardSize = 0;
};

class LayoutMaker {
public:
  LayoutMaker(const StagePlan &stage, GroupedReasons &reasons) : stage(stage), reasons(reasons) {
    for (const PlanSharding &sharding : stage.shardings)
      if (sharding.role == ValueRole::OptimizerState)
        states.try_emplace(llvm::StringRef(sharding.value).rsplit('.').first, &sharding);
  }

  ParameterLayout make(const PlanSharding &parameter) {
    ParameterLayout layout;
    for (const PlanAxis &axis : stage.mesh.axes)
      layout.matrix.push_back(axis.size);
    for (const AxisNames &axes : parameter.sharding.dims)
      layout.map.push_back(mapOf(parameter.value, axes));
    layout.localShape = parameter.localShape;
    if (!parameter.sharding.parts.empty() &&
        llvm::any_of(parameter.sharding.parts, [](const auto &parts) { return !parts.empty(); }))
      reasons.add(parameter.value, "a dim is cut inside of its parts: MindSpore cuts a dim as one run");
    addShard(parameter, layout);
    return layout;
  }

private:
  size_t indexOf(llvm::StringRef name) const {
    return static_cast<size_t>(llvm::find_if(stage.mesh.axes, [&](const PlanAxis &axis) { return axis.name == name; }) -
                               stage.mesh.axes.begin());
  }
  int64_t fromRight(llvm::StringRef name) const {
    return static_cast<int64_t>(stage.mesh.axes.size() - 1 - indexOf(name));
  }
  int64_t mapOf(llvm::StringRef value, const AxisNames &axes) {
    if (axes.size() > 1)
      reasons.add(value, "a dim is cut over several axes of the mesh: MindSpore's tensor_map has one for each dim, and "
                         "the outermost is said");
    return axes.empty() ? -1 : fromRight(axes.front());
  }
  /// The further cut of the states, which MindSpore's parallel optimizer has along the first dim.
  void addShard(const PlanSharding &parameter, ParameterLayout &layout) {
    auto state = states.find(parameter.value);
    if (state == states.end())
      return;
    AxisNames own, further;
    for (const AxisNames &axes : parameter.sharding.dims)
      own.insert(own.end(), axes.begin(), axes.end());
    for (auto [dim, axes] : llvm::enumerate(state->second->sharding.dims))
      for (const std::string &axis : axes)
        if (!llvm::is_contained(own, axis)) {
          further.push_back(axis);
          if (dim > 0 && parameter.shape.size() > 1)
            reasons.add(parameter.value, "states are cut further along another dim than the first: MindSpore's "
                                         "parallel optimizer cuts the first");
        }
    if (further.empty())
      return;
    layout.shardSize = 1;
    for (const std::string &axis : further)
      layout.shardSize *= stage.mesh.axes[indexOf(axis)].size;
    layout.shardStep = 1;
    for (size_t inner = indexOf(further.back()) + 1; inner < stage.mesh.axes.size(); ++inner)
      layout.shardStep *= stage.mesh.axes[inner].size;
  }

  const StagePlan &stage;
  GroupedReasons &reasons;
  llvm::StringMap<const PlanSharding *> states; ///< by parameter
};

void writeStrategies(const ExportSource &source, const BoundPlan &bound, JsonWriter &json, JsonObjectWriter &items,
                     GroupedReasons &reasons) {
  for (const BoundOp &own : bound.ops) {
    const FactorRule &rule = source.graph.ruleOf(own.op);
    const Mesh &mesh = bound.meshes[own.stage];
    for (const std::string &reason : CutReasons(rule, own.strategy, mesh).find())
      reasons.add(own.choice->op, reason);
    items.object(own.choice->op, [&](JsonObjectWriter &item) {
      item("stage", own.stage);
      item.key("parallel_strategy");
      json.oneLine([&] {
        json.list([&] {
          for (unsigned operand = 0; operand < rule.operands.size(); ++operand)
            json.value(waysOf(operandSharding(rule, own.strategy, operand), mesh));
        });
      });
    });
  }
}

/// Sums that are left in parts: MindSpore's redistributions begin behind an AllReduce.
void addScatteredSums(const ExportSource &source, GroupedReasons &reasons) {
  llvm::StringSet<> leading = leadingOps(source.graph);
  for (const StagePlan &stage : source.plan.stages) {
    llvm::StringMap<const PlanSharding *> shardings;
    for (const PlanSharding &sharding : stage.shardings)
      shardings[sharding.value] = &sharding;
    for (const PlanMove &move : stage.moves) {
      const PlanSharding *moved = shardings.lookup(move.values.front());
      bool scatters =
          llvm::any_of(move.collectives, [](llvm::StringRef text) { return text.starts_with("ReduceScatter"); });
      if (moved && scatters && moved->role == ValueRole::Activation && leading.contains(moved->producer))
        reasons.add(move.values.front(),
                    "its sum is made in parts (ReduceScatter): MindSpore makes all of it everywhere "
                    "(AllReduce) and cuts it then");
    }
  }
}

void writeLayouts(const ExportSource &source, JsonWriter &json, JsonObjectWriter &items, GroupedReasons &reasons) {
  for (auto [index, stage] : llvm::enumerate(source.plan.stages)) {
    LayoutMaker maker(stage, reasons);
    for (const PlanSharding &parameter : stage.shardings) {
      if (parameter.role != ValueRole::Parameter || parameter.producer != parameter.value)
        continue;
      ParameterLayout layout = maker.make(parameter);
      std::string name = (source.plan.pipeline ? std::to_string(index) + "-" : "") + parameter.value;
      items.key(name);
      json.oneLine([&] {
        json.object([&](JsonObjectWriter &item) {
          item("dev_matrix", layout.matrix);
          item("tensor_map", layout.map);
          item("tensor_shape", layout.localShape);
          item("field", 0);
          item("opt_weight_shard_step", layout.shardStep);
          item("opt_weight_shard_size", layout.shardSize);
        });
      });
    }
  }
}

} // namespace

llvm::Expected<Exported> writeMindSpore(const ExportSource &source, const ParallelDegrees &) {
  llvm::Expected<BoundPlan> bound = boundPlan(source);
  if (!bound)
    return bound.takeError();
  GroupedReasons reasons;
  JsonWriter json;
  json.object([&](JsonObjectWriter &object) {
    object("current_stage", 0);
    object.object("parallel_strategy_item",
                  [&](JsonObjectWriter &items) { writeStrategies(source, *bound, json, items, reasons); });
    object.object("parallel_layout_item", [&](JsonObjectWriter &items) { writeLayouts(source, json, items, reasons); });
  });
  addScatteredSums(source, reasons);
  Exported exported{{{"mindspore.json", json.take() + "\n"}}, {}};
  if (source.plan.pipeline)
    exported.unsaid.push_back("schedule " + source.plan.pipeline->schedule + ": the strategy file says stages alone");
  if (source.plan.training && source.plan.training->recompute != "none")
    exported.unsaid.push_back("recompute " + source.plan.training->recompute + ": the strategy file does not say it");
  llvm::append_range(exported.unsaid, reasons.take());
  return exported;
}

} // namespace apc
