// Protobuf's wire format, as far as traces need it.
#include "ChakraNodes.h"

#include <cmath>

namespace apc {

/// A message under construction.
class ChakraTrace::Message {
public:
  void number(uint32_t field, uint64_t value) {
    varint(field << 3);
    varint(value);
  }
  void text(uint32_t field, llvm::StringRef content) {
    varint(field << 3 | 2);
    varint(content.size());
    bytes += content;
  }
  void message(uint32_t field, const Message &content) { text(field, content.bytes); }
  void varint(uint64_t value) {
    for (; value >= 128; value >>= 7)
      bytes += static_cast<char>(value % 128 + 128);
    bytes += static_cast<char>(value);
  }

  /// Attributes of a node: the field of the value decides its type.
  void attribute(llvm::StringRef name, uint32_t field, uint64_t value) {
    Message own;
    own.text(1, name);
    own.number(field, value);
    message(10, own);
  }
  void attribute(llvm::StringRef name, llvm::StringRef value) {
    Message own;
    own.text(1, name);
    own.text(29, value);
    message(10, own);
  }

  std::string bytes;
};

namespace {

constexpr uint32_t int32Field = 7, int64Field = 9, boolField = 27;

} // namespace

ChakraTrace::ChakraTrace() {
  Message metadata, framed;
  metadata.text(1, "0.0.4");
  framed.varint(metadata.bytes.size());
  bytes = framed.bytes + metadata.bytes;
}

ChakraTrace::Message ChakraTrace::begin(llvm::StringRef name, ChakraNode type) {
  Message node;
  node.number(1, next);
  node.text(2, name);
  node.number(3, static_cast<uint64_t>(type));
  if (last) {
    Message packed;
    packed.varint(*last);
    node.text(5, packed.bytes);
  }
  node.attribute("is_cpu_op", boolField, 0);
  return node;
}

uint64_t ChakraTrace::finish(Message node) {
  Message framed;
  framed.varint(node.bytes.size());
  bytes += framed.bytes + node.bytes;
  last = next;
  return next++;
}

uint64_t ChakraTrace::compute(llvm::StringRef name, double seconds, llvm::ArrayRef<uint64_t> others) {
  Message node = begin(name, ChakraNode::Compute);
  Message packed;
  for (uint64_t other : others)
    packed.varint(other);
  if (!others.empty())
    node.text(5, packed.bytes);
  node.number(7, static_cast<uint64_t>(std::ceil(seconds * 1e6)));
  return finish(std::move(node));
}

uint64_t ChakraTrace::collective(llvm::StringRef name, ChakraCollective kind, int64_t size, llvm::StringRef group) {
  Message node = begin(name, ChakraNode::Collective);
  node.attribute("comm_type", int64Field, static_cast<uint64_t>(kind));
  node.attribute("comm_size", int64Field, static_cast<uint64_t>(size));
  node.attribute("pg_name", group);
  return finish(std::move(node));
}

uint64_t ChakraTrace::message(llvm::StringRef name, ChakraNode type, int64_t size, int64_t from, int64_t to,
                              int64_t tag) {
  Message node = begin(name, type);
  node.attribute("comm_size", int64Field, static_cast<uint64_t>(size));
  node.attribute("comm_src", int32Field, static_cast<uint64_t>(from));
  node.attribute("comm_dst", int32Field, static_cast<uint64_t>(to));
  node.attribute("comm_tag", int32Field, static_cast<uint64_t>(tag));
  return finish(std::move(node));
}

uint64_t ChakraTrace::send(llvm::StringRef name, int64_t size, int64_t from, int64_t to, int64_t tag) {
  return message(name, ChakraNode::Send, size, from, to, tag);
}

uint64_t ChakraTrace::receive(llvm::StringRef name, int64_t size, int64_t from, int64_t to, int64_t tag) {
  return message(name, ChakraNode::Receive, size, from, to, tag);
}

} // namespace apc
