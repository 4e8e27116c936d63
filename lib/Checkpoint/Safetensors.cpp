// Headers of safetensors, written and read.
#include "apc/Checkpoint/Safetensors.h"

#include "apc/Support/Error.h"
#include "apc/Support/Json/JsonWriter.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

namespace apc {

namespace {

constexpr uint64_t lengthBytes = 8;
constexpr uint64_t maxHeaderBytes = 100'000'000; // the format's own limit

void readEntry(JsonReader entry, int64_t dataBegin, uint64_t fileBytes, FoundTensor &found) {
  std::vector<int64_t> offsets;
  entry.at("dtype").into(found.type);
  entry.at("shape").into(found.shape);
  entry.at("data_offsets").into(offsets);
  if (entry.hasFailed())
    return;
  if (offsets.size() != 2 || offsets[0] < 0 || offsets[1] < offsets[0])
    return entry.at("data_offsets").failExpecting("[begin, end]");
  if (static_cast<uint64_t>(offsets[1]) > fileBytes - static_cast<uint64_t>(dataBegin))
    entry.fail("the file ends before this tensor does; it has " + llvm::Twine(fileBytes) + " bytes");
  found.offset = dataBegin + offsets[0];
  found.bytes = offsets[1] - offsets[0];
}

/// `length` bytes at `offset`.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> readSlice(llvm::StringRef path, uint64_t length, int64_t offset) {
  auto slice = llvm::MemoryBuffer::getFileSlice(path, length, offset, /*IsVolatile=*/true);
  if (!slice)
    return inputError("{0}: cannot be read: {1}", path, slice.getError().message());
  return std::move(*slice);
}

} // namespace

std::string safetensorsType(llvm::StringRef element) {
  if (element == "i1")
    return "BOOL";
  if (element == "f8E4M3FN" || element == "f8E5M2")
    return element == "f8E5M2" ? "F8_E5M2" : "F8_E4M3";
  llvm::StringRef bits = element.drop_while([](char c) { return llvm::isAlpha(c); });
  if (bits != "8" && bits != "16" && bits != "32" && bits != "64")
    return "";
  llvm::StringRef kind = element.drop_back(bits.size());
  if (kind == "bf")
    return bits == "16" ? "BF16" : "";
  if (kind == "f")
    return bits == "8" ? "" : ("F" + bits).str();
  return ((kind == "ui" ? "U" : "I") + bits).str();
}

std::string safetensorsHeader(llvm::ArrayRef<SafetensorsEntry> entries,
                              llvm::ArrayRef<std::pair<std::string, std::string>> metadata) {
  JsonWriter json(0);
  json.object([&](JsonObjectWriter &object) {
    if (!metadata.empty())
      object.object("__metadata__", [&](JsonObjectWriter &texts) {
        for (const auto &[name, text] : metadata)
          texts(name, text);
      });
    int64_t begin = 0;
    for (const SafetensorsEntry &entry : entries) {
      object.object(entry.name, [&](JsonObjectWriter &tensor) {
        tensor("dtype", entry.type);
        tensor("shape", llvm::ArrayRef<int64_t>(entry.shape));
        tensor("data_offsets", std::vector<int64_t>{begin, begin + entry.bytes});
      });
      begin += entry.bytes;
    }
  });
  std::string text = json.take();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string header;
  for (unsigned byte = 0; byte < lengthBytes; ++byte)
    header += static_cast<char>(text.size() >> (8 * byte));
  return header + text;
}

llvm::Expected<llvm::StringMap<FoundTensor>> readSafetensorsHeader(llvm::StringRef path) {
  uint64_t fileBytes = 0;
  if (std::error_code code = llvm::sys::fs::file_size(path, fileBytes))
    return inputError("{0}: cannot be read: {1}", path, code.message());
  uint64_t length = 0;
  if (fileBytes >= lengthBytes) {
    auto bytes = readSlice(path, lengthBytes, 0);
    if (!bytes)
      return bytes.takeError();
    length = llvm::support::endian::read64le((*bytes)->getBufferStart());
  }
  if (length < 2 || length > maxHeaderBytes || length > fileBytes - lengthBytes)
    return inputError("{0}: is no file of safetensors: its {1} bytes do not begin with the length of a header", path,
                      fileBytes);
  auto dataBegin = static_cast<int64_t>(lengthBytes + length);
  auto text = readSlice(path, length, lengthBytes);
  if (!text)
    return text.takeError();
  auto document = JsonDocument::parse((*text)->getBuffer(), path);
  if (!document)
    return document.takeError();
  llvm::StringMap<FoundTensor> tensors;
  document->root().forEachMember([&](llvm::StringRef name, JsonReader entry) {
    if (name != "__metadata__")
      readEntry(entry, dataBegin, fileBytes, tensors[name]);
  });
  if (llvm::Error error = document->takeError())
    return error;
  return tensors;
}

} // namespace apc
