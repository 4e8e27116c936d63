// Shared by all tests of this room: parsing that must succeed, and the text of errors that must come.
#pragma once

#include "apc/Sharding/Redistribution.h"
#include "apc/Sharding/Strategy.h"
#include "apc/Support/Error.h"

#include <catch2/catch.hpp>

namespace apc::test {

/// The value, or a failed test with the error's text.
template <typename T>
T need(llvm::Expected<T> value) {
  if (value)
    return std::move(*value);
  FAIL(takeMessage(value.takeError()).second);
  std::abort();
}

/// The text of an error that must be there.
template <typename T>
std::string errorOf(llvm::Expected<T> value) {
  if (value)
    return "(no error)";
  return takeMessage(value.takeError()).second;
}

inline std::string errorOf(llvm::Error error) {
  return error ? takeMessage(std::move(error)).second : (llvm::consumeError(std::move(error)), "(no error)");
}

inline Mesh mesh(llvm::StringRef text) { return need(Mesh::parse(text)); }

inline Sharding sharding(llvm::StringRef text, const Mesh &on) { return need(Sharding::parse(text, on)); }

inline TensorShape shape(std::initializer_list<int64_t> dims, unsigned elementBits = 32) {
  TensorShape result;
  result.dims.assign(dims.begin(), dims.end());
  result.elementBits = elementBits;
  return result;
}

/// The rule of a text for operands and results of these shapes.
inline FactorRule bound(llvm::StringRef text, std::initializer_list<RuleText::BoundShape> operands,
                        std::initializer_list<RuleText::BoundShape> results, double flops = 0) {
  return need(need(RuleText::parse(text)).bind(operands, results, flops));
}

/// The cheapest collectives of one pair.
inline std::optional<Redistribution> redistribute(const Sharding &from, const Sharding &to, const TensorShape &shape,
                                                  const Mesh &mesh, SecondsOfCollective cost) {
  return Redistributor(shape, mesh, std::move(cost)).collectives(from, to);
}

using Dims = llvm::SmallVector<int64_t, 4>;

inline bool mentions(const std::string &text, llvm::StringRef word) { return llvm::StringRef(text).contains(word); }

} // namespace apc::test
