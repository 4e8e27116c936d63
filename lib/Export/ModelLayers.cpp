// Layers by the numbers in names.
#include "ModelLayers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <map>
#include <set>

namespace apc {

namespace {

/// "/model/h.12/ln_1/Add": {"/model/h.", 12, "/ln_1/Add"}.
struct NumberedName {
  llvm::StringRef front, rest;
  int64_t number;
};

std::optional<NumberedName> splitAtNumber(llvm::StringRef name) {
  llvm::StringRef front = name.take_until(llvm::isDigit), rest = name.drop_front(front.size());
  NumberedName split{front, {}, 0};
  if (rest.consumeInteger(10, split.number) || (!rest.starts_with("/") && !rest.starts_with(".")))
    return std::nullopt;
  split.rest = rest;
  return split;
}

/// The ops of one layer, and the stages that they are in.
struct Layer {
  std::set<std::string> ops;
  std::set<size_t> stages;
};
using Layers = std::map<int64_t, Layer>;

/// Layers with ops of the same names, at most.
size_t mostAlike(const Layers &layers) {
  std::map<std::set<std::string>, size_t> kinds;
  size_t most = 0;
  for (const auto &[number, layer] : layers)
    most = std::max(most, ++kinds[layer.ops]);
  return most;
}

} // namespace

llvm::StringSet<> leadingOps(const OpGraph &graph) {
  llvm::StringSet<> names;
  for (auto [op, follows] : llvm::zip_equal(graph.ops, graph.followers()))
    if (!follows && !op.operands.empty() && !op.results.empty())
      names.insert(op.name);
  return names;
}

bool ModelLayers::isEven() const { return splits.empty() && llvm::all_equal(ofStage); }

std::optional<ModelLayers> modelLayers(const ExportSource &source) {
  const Plan &plan = source.plan;
  llvm::StringSet<> forward = leadingOps(source.graph);
  std::map<std::string, Layers> byFront;
  std::map<std::string, double> seconds;
  for (auto [index, stage] : llvm::enumerate(plan.stages))
    for (const PlanChoice &choice : stage.choices)
      if (auto split = splitAtNumber(choice.op); split && forward.contains(choice.op)) {
        Layer &layer = byFront[split->front.str()][split->number];
        layer.ops.insert(split->rest.str());
        layer.stages.insert(index);
        seconds[split->front.str()] += choice.seconds;
      }
  const std::string *front = nullptr;
  for (const auto &[name, layers] : byFront)
    if (mostAlike(layers) >= 2 && (!front || seconds[name] > seconds[*front]))
      front = &name;
  if (!front)
    return std::nullopt;
  ModelLayers found{
      *front + "*", static_cast<int64_t>(byFront[*front].size()), std::vector<int64_t>(plan.stages.size()), {}};
  for (const auto &[number, layer] : byFront[*front]) {
    ++found.ofStage[*layer.stages.begin()];
    for (size_t stage : llvm::drop_begin(layer.stages))
      found.splits.emplace_back(stage, number);
  }
  return found;
}

std::string halfFormat(const Plan &plan) {
  if (plan.request.precision == PrecisionChoice::Fp8)
    return "bf16";
  llvm::StringRef format = plan.peakFormats.empty() ? llvm::StringRef() : plan.peakFormats.front();
  return format == "bf16" ? "bf16" : format == "f16" ? "fp16" : "";
}

std::optional<int64_t> tokensPerSample(const OpGraph &graph) {
  for (const GraphValue &value : graph.values)
    if (value.role == ValueRole::Input && value.shape.numDims() >= 2)
      return value.shape.dims[1];
  return std::nullopt;
}

} // namespace apc
