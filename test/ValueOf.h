// The value of a result that must be there, for tests of every room.
#pragma once

#include "apc/Support/Error.h"

#include <catch2/catch.hpp>

namespace apc {

/// The value, or a failed test with the error's text.
template <typename T>
T valueOf(llvm::Expected<T> result) {
  if (!result)
    FAIL(takeMessage(result.takeError()).second);
  return std::move(*result);
}

/// A failed test with the text of `error`, if there is one.
inline void require(llvm::Error error) {
  if (error)
    FAIL(takeMessage(std::move(error)).second);
}

} // namespace apc
