// The workers of a pipeline, and their devices.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace apc {

/// "auto", 4 workers, or the devices of each: 4+2+2 are three workers, the first with half of 8 devices. Devices are
/// empty where workers have equally many, or as many as the planner says.
struct PipelineChoice {
  std::optional<int64_t> count = {};
  std::vector<int64_t> devices = {};

  /// May there be more than one worker?
  bool isOn() const { return count != 1; }
  /// May so many equal workers be what is chosen?
  bool allowsEqual(int64_t workers) const { return devices.empty() && (!count || count == workers); }
  /// One of the numbers of workers that this choice allows.
  PipelineChoice with(int64_t workers) const { return count == workers ? *this : PipelineChoice{workers}; }
  std::string str() const;
  friend bool operator==(const PipelineChoice &, const PipelineChoice &) = default;
};

/// Reads "auto", a whole number from 1 on, or several with + between them. Errors name `source` and what would be
/// accepted.
llvm::Expected<PipelineChoice> parsePipelineChoice(llvm::StringRef text, llvm::StringRef source);

} // namespace apc
