// The text of an error that must be there, for tests of every room.
#pragma once

#include "apc/Support/Error.h"

#include <catch2/catch.hpp>

#include <string>

namespace apc {

/// The text of `error`, or "(no error)".
inline std::string errorOf(llvm::Error error) {
  return error ? takeMessage(std::move(error)).second : (llvm::consumeError(std::move(error)), "(no error)");
}

/// The text of the error that stands for a value, or "(no error)".
template <typename T>
std::string errorOf(llvm::Expected<T> result) {
  return errorOf(result ? llvm::Error::success() : result.takeError());
}

/// The same of an error that must be one of the input.
inline std::string inputErrorOf(llvm::Error error) {
  if (!error)
    return errorOf(std::move(error));
  auto [fault, text] = takeMessage(std::move(error));
  CHECK(fault == Fault::Input);
  return text;
}

template <typename T>
std::string inputErrorOf(llvm::Expected<T> result) {
  return inputErrorOf(result ? llvm::Error::success() : result.takeError());
}

} // namespace apc
