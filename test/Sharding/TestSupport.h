// Shared by all tests of this room: meshes, shardings and rules from text.
#pragma once

#include "../ErrorOf.h"
#include "../ValueOf.h"

#include "apc/Sharding/Redistribution.h"
#include "apc/Sharding/Strategy.h"
#include "apc/Support/Error.h"

#include <catch2/catch.hpp>

namespace apc::test {

inline Mesh mesh(llvm::StringRef text) { return valueOf(Mesh::parse(text)); }

inline Sharding sharding(llvm::StringRef text, const Mesh &on) { return valueOf(Sharding::parse(text, on)); }

inline TensorShape shape(std::initializer_list<int64_t> dims, unsigned elementBits = 32) {
  TensorShape result;
  result.dims.assign(dims.begin(), dims.end());
  result.elementBits = elementBits;
  return result;
}

/// The rule of a text for operands and results of these shapes.
inline FactorRule bound(llvm::StringRef text, std::initializer_list<RuleText::BoundShape> operands,
                        std::initializer_list<RuleText::BoundShape> results, double flops = 0) {
  return valueOf(valueOf(RuleText::parse(text)).bind(operands, results, flops));
}

/// The cheapest collectives of one pair.
inline std::optional<Redistribution> redistribute(const Sharding &from, const Sharding &to, const TensorShape &shape,
                                                  const Mesh &mesh, SecondsOfCollective cost) {
  return Redistributor(shape, mesh, std::move(cost)).collectives(from, to);
}

using Dims = llvm::SmallVector<int64_t, 4>;

inline bool mentions(const std::string &text, llvm::StringRef word) { return llvm::StringRef(text).contains(word); }

} // namespace apc::test
