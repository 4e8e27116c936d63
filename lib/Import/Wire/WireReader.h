// The protobuf wire format, field by field, from a file that is never read whole.
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace apc::onnx {

/// Walks messages of one file. After a failure every answer is false; `takeError` has the reason.
class WireReader {
public:
  enum class Wire : unsigned { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

  /// One field. For Bytes, `value` is the length, and the contents start at `offset`; for other kinds it is the value.
  struct Field {
    unsigned number = 0;
    Wire wire = Wire::Varint;
    uint64_t value = 0;
    int64_t offset = 0;
    int64_t start = 0, next = 0; ///< of the whole field, tag included

    int64_t end() const { return offset + static_cast<int64_t>(value); }
  };
  using Visit = llvm::function_ref<bool(const Field &)>;

  static llvm::Expected<WireReader> open(llvm::StringRef path);
  WireReader(WireReader &&other) noexcept;
  WireReader &operator=(WireReader &&) = delete;
  ~WireReader();

  /// Calls `visit` with each field of the message at [begin, end) until it answers false.
  bool walk(int64_t begin, int64_t end, Visit visit);
  bool walkFile(Visit visit) { return walk(0, size, visit); }
  /// Appends the bytes [begin, end).
  bool copy(int64_t begin, int64_t end, std::string &to);
  int64_t getSize() const { return size; }
  /// The contents of a field of bytes; a failure beyond 1 MiB.
  bool readText(const Field &field, std::string &text);
  llvm::Error takeError() const;

private:
  WireReader(int descriptor, std::string path, int64_t size)
      : descriptor(descriptor), path(std::move(path)), size(size) {}
  bool readField(int64_t &at, int64_t end, Field &field);
  bool readVarint(int64_t &at, int64_t end, uint64_t &value);
  /// The byte at `at`; -1 at the end of the file.
  int byteAt(int64_t at);
  bool fail(int64_t at, llvm::StringRef what);

  int descriptor;
  std::string path;
  int64_t size;
  std::string buffer;
  int64_t bufferStart = 0;
  std::string problem;
};

} // namespace apc::onnx
