// Fields, varints and a window onto the file.
#include "WireReader.h"

#include "apc/Support/Error.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace apc::onnx {

llvm::Expected<WireReader> WireReader::open(llvm::StringRef path) {
  int descriptor = ::open(path.str().c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status{};
  if (descriptor < 0 || fstat(descriptor, &status) != 0) {
    int code = errno;
    if (descriptor >= 0)
      close(descriptor);
    return inputError("{0}: cannot be read: {1}", path, std::error_code(code, std::generic_category()).message());
  }
  return WireReader(descriptor, path.str(), status.st_size);
}

WireReader::WireReader(WireReader &&other) noexcept
    : descriptor(std::exchange(other.descriptor, -1)), path(std::move(other.path)), size(other.size) {}

WireReader::~WireReader() {
  if (descriptor >= 0)
    close(descriptor);
}

bool WireReader::fail(int64_t at, llvm::StringRef what) {
  if (problem.empty())
    problem = llvm::formatv("{0}: the model is damaged at byte {1}: {2}", path, at, what).str();
  return false;
}

llvm::Error WireReader::takeError() const {
  return problem.empty() ? llvm::Error::success() : inputError("{0}", problem);
}

int WireReader::byteAt(int64_t at) {
  if (at < bufferStart || at >= bufferStart + static_cast<int64_t>(buffer.size())) {
    constexpr size_t bufferBytes = 64 << 10;
    buffer.resize(bufferBytes);
    bufferStart = at;
    ssize_t count = pread(descriptor, buffer.data(), buffer.size(), at);
    buffer.resize(count < 0 ? 0 : static_cast<size_t>(count));
    if (buffer.empty())
      return -1;
  }
  return static_cast<unsigned char>(buffer[static_cast<size_t>(at - bufferStart)]);
}

bool WireReader::readVarint(int64_t &at, int64_t end, uint64_t &value) {
  value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    int byte = at < end ? byteAt(at) : -1;
    if (byte < 0)
      return fail(at, "a number is cut off");
    ++at;
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80)
      return true;
  }
  return fail(at, "a number is too long");
}

bool WireReader::readField(int64_t &at, int64_t end, Field &field) {
  uint64_t tag = 0;
  if (!readVarint(at, end, tag))
    return false;
  field.number = static_cast<unsigned>(tag >> 3);
  field.wire = static_cast<Wire>(tag & 7);
  field.value = 0;
  field.offset = at;
  int64_t fixed = field.wire == Wire::Fixed64 ? 8 : field.wire == Wire::Fixed32 ? 4 : 0;
  if (fixed > 0) {
    for (int64_t i = 0; i < fixed && at + fixed <= end; ++i)
      field.value |= static_cast<uint64_t>(byteAt(at + i) & 0xff) << (8 * i);
    at += fixed;
    return at <= end || fail(field.offset, "a number is cut off");
  }
  if (field.wire != Wire::Varint && field.wire != Wire::Bytes)
    return fail(at, "a field of a kind that ONNX does not use");
  if (!readVarint(at, end, field.value))
    return false;
  field.offset = at;
  if (field.wire == Wire::Varint)
    return true;
  if (field.value > static_cast<uint64_t>(end - at))
    return fail(at, "a field is longer than what it is in");
  at += static_cast<int64_t>(field.value);
  return true;
}

bool WireReader::walk(int64_t begin, int64_t end, Visit visit) {
  Field field;
  while (begin < end) {
    field.start = begin;
    if (!readField(begin, end, field))
      return false;
    field.next = begin;
    if (!visit(field))
      return false;
  }
  return true;
}

bool WireReader::copy(int64_t begin, int64_t end, std::string &to) {
  size_t filled = to.size();
  to.resize(filled + static_cast<size_t>(end - begin));
  while (begin < end) {
    ssize_t count = pread(descriptor, to.data() + filled, static_cast<size_t>(end - begin), begin);
    if (count == 0 || (count < 0 && errno != EINTR))
      return fail(begin, "it ends there");
    begin += std::max<ssize_t>(count, 0);
    filled += static_cast<size_t>(std::max<ssize_t>(count, 0));
  }
  return true;
}

bool WireReader::readText(const Field &field, std::string &text) {
  constexpr uint64_t maxText = 1 << 20;
  if (field.value > maxText)
    return fail(field.offset, "a name is longer than 1 MiB");
  text.clear();
  for (int64_t at = field.offset; at < field.end(); ++at)
    text.push_back(static_cast<char>(byteAt(at)));
  return true;
}

} // namespace apc::onnx
