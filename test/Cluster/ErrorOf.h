// Errors that must come.
#pragma once

#include "apc/Support/Error.h"

#include <catch2/catch.hpp>

#include <string>

namespace apc {

/// The message of the input error that stands for a value.
template <typename T>
std::string errorOf(llvm::Expected<T> value) {
  REQUIRE_FALSE(static_cast<bool>(value));
  auto [fault, message] = takeMessage(value.takeError());
  CHECK(fault == Fault::Input);
  return message;
}

} // namespace apc
