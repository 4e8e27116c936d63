// Values that are kept against all sets of values from which a backward pass could make what it reads.
#include "../ValueOf.h"
#include "RecomputedSteps.h"

#include "apc/IR/AttributeNames.h"
#include "apc/IR/MainFunction.h"
#include "apc/IR/Operator.h"
#include "apc/IR/Program/PlanNames.h"

#include <catch2/catch.hpp>

#include <limits>
#include <random>

using namespace apc;

namespace {

using Names = std::set<std::string>;

/// A forward pass of ops with one result each, seen from what gradients read of it when nothing is recomputed.
struct ForwardOps {
  explicit ForwardOps(const std::string &text) {
    Recomputing step(text, RecomputePolicy::None);
    PlanNames names = namePlan(mainOf(*step.step.module));
    for (mlir::Operation &op : mainOf(*step.step.module).front())
      if (auto name = names.ops.find(&op); name != names.ops.end() && !op.hasAttr(tieAttribute)) {
        Op own{name->second, op.getName().stripDialect().str(), shapeOf(op.getResult(0))->bytes(), {}};
        for (mlir::Value operand : op.getOperands())
          if (auto known = numbers.find(operand.getDefiningOp()); known != numbers.end())
            own.reads |= 1U << known->second;
        numbers[&op] = ops.size();
        isRead |= step.kept.count(own.name) != 0 ? 1U << ops.size() : 0;
        ops.push_back(own);
      }
  }

  int64_t bytesOf(const Names &kept) const {
    int64_t sum = 0;
    for (const Op &op : ops)
      sum += kept.count(op.name) != 0 ? op.bytes : 0;
    return sum;
  }

  /// Of all sets of values from which what gradients read can be made without products.
  int64_t fewestBytes() const {
    int64_t fewest = std::numeric_limits<int64_t>::max();
    for (unsigned kept = 0; kept < 1U << ops.size(); ++kept) {
      unsigned made = kept;
      int64_t bytes = 0;
      for (size_t index = 0; index < ops.size(); ++index) {
        bool isMade = ops[index].kind != "matmul" && (ops[index].reads & ~made) == 0;
        made |= isMade ? 1U << index : 0;
        bytes += (kept >> index & 1) != 0 ? ops[index].bytes : 0;
      }
      if ((isRead & ~made) == 0)
        fewest = std::min(fewest, bytes);
    }
    return fewest;
  }

private:
  struct Op {
    std::string name, kind;
    int64_t bytes;
    unsigned reads; ///< ops
  };

  std::vector<Op> ops;
  std::map<mlir::Operation *, size_t> numbers;
  unsigned isRead = 0; ///< ops
};

/// Cheap ops behind products, of which few join two values.
std::string drawModel(std::mt19937 &random) {
  ModelText model;
  std::vector<std::string> values{model.product("first", "x")};
  unsigned joins = 2;
  auto drawn = [&] { return values[random() % values.size()]; };
  auto named = [&](const char *kind) { return kind + std::to_string(values.size()); };
  for (unsigned count = 3 + random() % 7; count > 0; --count) {
    std::string value = drawn(), type = model.typeOf(value), other = drawn();
    switch (random() % 5) {
    case 0:
      if (type == activation) {
        values.push_back(model.product(named("product"), value));
        continue;
      }
      [[fallthrough]];
    case 1:
      values.push_back(model.cast(named("cast"), value, random() % 2 == 0 ? "f64" : "bf16"));
      continue;
    case 2:
      if (joins > 0 && other != value && model.typeOf(other) == type) {
        values.push_back(model.op(random() % 2 == 0 ? "add" : "mul", named("join"), {value, other}, "", type));
        --joins;
        continue;
      }
      [[fallthrough]];
    default:
      values.push_back(model.op(random() % 2 == 0 ? "gelu" : "tanh", named("active"), {value}, "", type));
    }
  }
  return model.finish(model.product("last", model.cast("wide", values.back(), "f64")));
}

} // namespace

TEST_CASE("The values that norms keeps have the fewest bytes of all that the backward pass can be made from") {
  std::mt19937 random(2);
  unsigned fewer = 0, further = 0;
  for (unsigned round = 0; round < 200; ++round) {
    std::string text = drawModel(random);
    INFO("graph " << round << "\n" << text);
    ForwardOps forward(text);
    Recomputing none(text, RecomputePolicy::None), norms(text, RecomputePolicy::Norms);
    CHECK(forward.bytesOf(norms.kept) == forward.fewestBytes());
    fewer += forward.bytesOf(norms.kept) < forward.bytesOf(none.kept) ? 1 : 0;
    for (const std::string &name : norms.kept)
      further += none.kept.count(name) == 0 ? 1 : 0;
  }
  CHECK(fewer > 20);
  CHECK(further > 5); // values that no gradient reads
}

TEST_CASE("A cast to fewer bytes in the middle of a chain is kept instead of its ends") {
  ModelText model;
  std::string narrow = model.cast("narrow", model.product("first", "x"), "bf16");
  std::string wide = model.cast("wide", narrow, "f64");
  std::string text = model.finish(model.product("last", wide));
  CHECK(Recomputing(text, RecomputePolicy::None).kept == Names{"wide"});
  Recomputing step(text, RecomputePolicy::Norms);
  CHECK(step.kept == Names{"narrow"});
  CHECK(step.copies == Names{"wide"});
}

TEST_CASE("A mask is kept instead of the floats that are made from it") {
  ModelText model;
  std::string mask = model.cast("mask", model.product("score", "x"), "i1");
  std::string gate = model.cast("gate", mask, "f64");
  std::string text = model.finish(model.op("mul", "gated", {model.product("first", "x"), gate}));
  CHECK(Recomputing(text, RecomputePolicy::None).kept == Names{"gate"});
  Recomputing step(text, RecomputePolicy::Norms);
  CHECK(step.kept == Names{"mask"});
  CHECK(step.copies == Names{"gate"});
}

TEST_CASE("Of values of equal bytes the nearest to the gradients is kept") {
  ModelText model;
  std::string turned = model.op("tanh", "second", {model.op("neg", "minus", {model.product("first", "x")})});
  Recomputing step(model.finish(model.product("last", turned)), RecomputePolicy::Norms);
  CHECK(step.kept == Names{"second"});
  CHECK(step.copies.empty());
}
