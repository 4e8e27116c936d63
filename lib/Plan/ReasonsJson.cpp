// Parts of a plan as documents.
#include "apc/Plan/ReasonsJson.h"

#include "PlanFields.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

namespace {

/// The entries of `all` for which `isOf` holds.
template <typename T>
std::vector<T> only(const std::vector<T> &all, llvm::function_ref<bool(const T &)> isOf) {
  std::vector<T> those;
  llvm::copy_if(all, std::back_inserter(those), isOf);
  return those;
}

void writeReasons(JsonObjectWriter &object, const StagePlan &stage, PlanChoice choice) {
  fields(object, choice);
  // The index says nothing without the table: what it points to is written beside it.
  PlanRejections rejections = stage.rejections[choice.rejections];
  object("rule", rejections.rule);
  object("offered", rejections.offered);
  object("rejected", rejections.reasons);
  object("shardings", only<PlanSharding>(stage.shardings,
                                         [&](const PlanSharding &sharding) { return sharding.producer == choice.op; }));
  object("moves",
         only<PlanMove>(stage.moves, [&](const PlanMove &move) { return llvm::is_contained(move.users, choice.op); }));
}

void writeValue(JsonObjectWriter &object, const StagePlan &stage, PlanSharding value) {
  fields(object, value);
  object("moves", only<PlanMove>(stage.moves,
                                 [&](const PlanMove &move) { return llvm::is_contained(move.values, value.value); }));
}

} // namespace

void writeTried(JsonObjectWriter &object, TriedPoint point) { fields(object, point); }

std::string printReasons(const Plan &plan, llvm::function_ref<bool(const PlanChoice &)> isAskedOp,
                         llvm::function_ref<bool(const PlanSharding &)> isAskedValue) {
  JsonWriter json(1);
  json.object([&](JsonObjectWriter &object) {
    object("model", plan.request.modelPath);
    object.list("ops", [&] {
      for (const StagePlan &stage : plan.stages)
        for (const PlanChoice &choice : stage.choices)
          if (isAskedOp(choice))
            json.object([&](JsonObjectWriter &entry) { writeReasons(entry, stage, choice); });
    });
    object.list("values", [&] {
      for (const StagePlan &stage : plan.stages)
        for (const PlanSharding &value : stage.shardings)
          if (isAskedValue(value))
            json.object([&](JsonObjectWriter &entry) { writeValue(entry, stage, value); });
    });
  });
  return json.take() + "\n";
}

std::string printSensitivityJson(const Plan &plan) {
  JsonWriter json(1);
  json.object([&](JsonObjectWriter &object) {
    object("model", plan.request.modelPath);
    object("step_seconds", plan.stepSeconds);
    object("sensitivity", plan.sensitivity);
  });
  return json.take() + "\n";
}

} // namespace apc
