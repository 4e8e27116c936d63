// A number that a user fixes or leaves to the planner.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <optional>
#include <string>

namespace apc {

/// `--pipeline 8` is {8}; `--pipeline auto` has no count.
struct CountChoice {
  std::optional<int64_t> count = {};

  friend bool operator==(const CountChoice &, const CountChoice &) = default;
  std::string str() const { return count ? std::to_string(*count) : "auto"; }
};

/// Reads "auto" or a whole number from 1 on. Errors name `source` and what would be accepted.
llvm::Expected<CountChoice> parseCountChoice(llvm::StringRef text, llvm::StringRef source);

} // namespace apc
