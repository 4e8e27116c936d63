// Nodes of Chakra's execution traces, as protobuf messages (schema et_def.proto of MLCommons' Chakra).
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace apc {

/// The numbers of `NodeType` and of `CollectiveCommType`.
enum class ChakraNode : uint8_t { Compute = 4, Send = 5, Receive = 6, Collective = 7 };
enum class ChakraCollective : uint8_t { AllReduce = 0, AllGather = 2, AllToAll = 6, ReduceScatter = 7 };

/// One trace: each message with its length in front.
class ChakraTrace {
public:
  ChakraTrace();

  /// Adds a node behind the last one and behind `others`; returns its id. Times are whole microseconds, rounded up.
  uint64_t compute(llvm::StringRef name, double seconds, llvm::ArrayRef<uint64_t> others = {});
  uint64_t collective(llvm::StringRef name, ChakraCollective kind, int64_t bytes, llvm::StringRef group);
  /// A message between two ranks. Ends of one message have the same tag.
  uint64_t send(llvm::StringRef name, int64_t bytes, int64_t from, int64_t to, int64_t tag);
  uint64_t receive(llvm::StringRef name, int64_t bytes, int64_t from, int64_t to, int64_t tag);

  std::string take() { return std::move(bytes); }

private:
  class Message;
  uint64_t finish(Message node);
  Message begin(llvm::StringRef name, ChakraNode type);
  uint64_t message(llvm::StringRef name, ChakraNode type, int64_t size, int64_t from, int64_t to, int64_t tag);

  std::string bytes;
  uint64_t next = 1;
  std::optional<uint64_t> last;
};

} // namespace apc
