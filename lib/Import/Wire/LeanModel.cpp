// Copies the wire format field by field, weights left out. Field numbers are those of OnnxModel.proto.
#include "LeanModel.h"

#include "../Onnx/Tensors.h"
#include "WireReader.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

#include <limits>

namespace apc::onnx {

namespace {

using Field = WireReader::Field;
using Wire = WireReader::Wire;

constexpr unsigned graphOfModel = 7, initializerOfGraph = 5, elementTypeOfTensor = 2, rawData = 9, dataLocation = 14;
constexpr uint64_t int64 = 7; ///< the element type

void addVarint(uint64_t value, std::string &to) {
  for (; value >= 0x80; value >>= 7)
    to.push_back(static_cast<char>(value | 0x80));
  to.push_back(static_cast<char>(value));
}

void addMessage(unsigned number, llvm::StringRef message, std::string &to) {
  addVarint(number << 3 | static_cast<unsigned>(Wire::Bytes), to);
  addVarint(message.size(), to);
  to += message;
}

class LeanCopy {
public:
  LeanCopy(WireReader &reader, int64_t minBytes) : reader(reader), minBytes(static_cast<uint64_t>(minBytes)) {}

  bool run(std::string &model) {
    return reader.walkFile([&](const Field &field) { return copyLean(field, graphOfModel, &LeanCopy::graph, model); });
  }

private:
  using CopyField = bool (LeanCopy::*)(const Field &field, std::string &to);

  /// Copies `field`; the fields of a message called `number` go through `inner`.
  bool copyLean(const Field &field, unsigned number, CopyField inner, std::string &to) {
    if (field.number != number || field.wire != Wire::Bytes || field.value < minBytes)
      return reader.copy(field.start, field.next, to);
    std::string message;
    bool copied =
        reader.walk(field.offset, field.end(), [&](const Field &part) { return (this->*inner)(part, message); });
    addMessage(number, message, to);
    return copied;
  }

  bool graph(const Field &field, std::string &to) {
    holdsIntegers = false;
    return copyLean(field, initializerOfGraph, &LeanCopy::initializer, to);
  }

  bool initializer(const Field &field, std::string &to) {
    if (field.number == elementTypeOfTensor)
      holdsIntegers = field.value == int64;
    if (field.number != rawData || field.wire != Wire::Bytes || field.value < minBytes)
      return reader.copy(field.start, field.next, to);
    if (std::string numbers; holdsIntegers && field.value <= static_cast<uint64_t>(mostPositionBytes)) {
      if (!reader.copy(field.offset, field.end(), numbers))
        return false;
      if (positionsIn(numbers)) {
        addMessage(rawData, numbers, to);
        return true;
      }
    }
    addVarint(dataLocation << 3, to);
    addVarint(dataLeftOut, to);
    return true;
  }

  WireReader &reader;
  uint64_t minBytes;
  bool holdsIntegers = false; ///< of 64 bits, in the initializer that is copied
};

std::optional<std::string> hashOf(WireReader &reader) {
  constexpr int64_t blockBytes = 1 << 20;
  llvm::SHA256 hash;
  std::string block;
  for (int64_t at = 0; at < reader.getSize(); at += blockBytes) {
    block.clear();
    if (!reader.copy(at, std::min(at + blockBytes, reader.getSize()), block))
      return std::nullopt;
    hash.update(block);
  }
  return llvm::toHex(hash.final(), /*LowerCase=*/true);
}

} // namespace

std::optional<LeanModel> readLeanModel(llvm::StringRef path, int64_t minBytes) {
  constexpr int64_t smallFile = 16 << 20;
  auto reader = WireReader::open(path);
  if (!reader) {
    llvm::consumeError(reader.takeError());
    return std::nullopt;
  }
  if (reader->getSize() < smallFile || reader->getSize() > std::numeric_limits<int>::max())
    return std::nullopt;
  LeanModel lean;
  if (!LeanCopy(*reader, minBytes).run(lean.bytes))
    return std::nullopt;
  auto hash = hashOf(*reader);
  if (!hash)
    return std::nullopt;
  lean.sha256 = std::move(*hash);
  return lean;
}

} // namespace apc::onnx
