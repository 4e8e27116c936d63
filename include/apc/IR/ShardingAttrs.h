// Meshes, shardings, strategies and collectives as attributes of the dialect: `attribute.getValue()` is the value of
// apc/Sharding, with no text between.
#pragma once

#include "apc/Sharding/Redistribution.h"
#include "apc/Sharding/Strategy.h"

#include "mlir/IR/Attributes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpImplementation.h"

namespace apc {

/// The cuts of a strategy by the names of factors, readable without the rule. `{b0: data, k: model}`; factors that no
/// axis cuts are left out, and so are empty lists at the end of `partialInputs`.
struct FactorCuts {
  struct FactorAxes {
    std::string factor;
    AxisList axes;
    friend bool operator==(const FactorAxes &, const FactorAxes &) = default;
  };
  llvm::SmallVector<FactorAxes, 4> factors;
  llvm::SmallVector<AxisList, 2> partialInputs;

  friend bool operator==(const FactorCuts &, const FactorCuts &) = default;
};

/// One collective of a redistribution for a list of values, which all take it together: the members of a group meet
/// once. Values may differ in shape and sharding; kind and group are the same for all.
///
///   AllReduce{model} of two values: [data, -] sum{model} -> [data, -] of [8, 512], [-] sum{model} -> [-] of [512]
struct CoalescedCollective {
  struct Value {
    Sharding from, to;
    llvm::SmallVector<int64_t, 4> dims; ///< of the whole tensor
    friend bool operator==(const Value &, const Value &) = default;
  };
  CollectiveKind kind = CollectiveKind::Slice;
  AxisList axes; ///< the group: all ranks that differ along these axes only
  llvm::SmallVector<Value, 1> values;

  friend bool operator==(const CoalescedCollective &, const CoalescedCollective &) = default;
};

llvm::hash_code hash_value(const AxisList &axes);
llvm::hash_code hash_value(const Mesh &mesh);
llvm::hash_code hash_value(const Sharding &sharding);
llvm::hash_code hash_value(const FactorCuts &strategy);
llvm::hash_code hash_value(const CoalescedCollective &collective);

} // namespace apc

#define GET_ATTRDEF_CLASSES
#include "apc/IR/ShardingAttrs.h.inc"
