// pread with a window.
#include "apc/Checkpoint/WeightSource.h"

#include "apc/Support/Error.h"

#include <cerrno>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>

namespace apc {

static llvm::Error cannotRead(llvm::StringRef path, int code) {
  return inputError("{0}: cannot be read: {1}", path, std::error_code(code, std::generic_category()).message());
}

WeightSource::~WeightSource() {
  if (descriptor >= 0)
    close(descriptor);
}

llvm::Error WeightSource::open(llvm::StringRef wanted) {
  if (descriptor >= 0 && wanted == path)
    return llvm::Error::success();
  if (descriptor >= 0)
    close(descriptor);
  path = wanted.str();
  window.clear();
  hole = data = {};
  descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  return descriptor < 0 ? cannotRead(path, errno) : llvm::Error::success();
}

bool WeightSource::isHole(int64_t offset, int64_t length) {
  if (offset >= data.begin && offset < data.end)
    return false;
  if (offset < hole.begin || offset >= hole.end) {
    int64_t next = lseek(descriptor, offset, SEEK_DATA);
    if (next < 0 && errno == ENXIO)
      next = lseek(descriptor, 0, SEEK_END); // nothing but a hole up to the end
    if (next <= offset) {
      data = {offset, lseek(descriptor, offset, SEEK_HOLE)};
      return false;
    }
    hole = {offset, next};
  }
  return offset + length <= hole.end;
}

llvm::Expected<llvm::StringRef> WeightSource::read(int64_t offset, int64_t length, int64_t gap) {
  auto held = static_cast<int64_t>(window.size());
  if (offset < windowStart || offset + length > windowStart + held) {
    // Reading a gap costs less than another call when it is short or not much longer than the run.
    constexpr int64_t shortGap = 64 << 10;
    bool ahead = gap <= shortGap || gap <= 4 * length;
    window.resize(static_cast<size_t>(ahead ? mostAhead : length));
    windowStart = offset;
    size_t filled = 0;
    while (filled < window.size()) {
      ssize_t count =
          pread(descriptor, window.data() + filled, window.size() - filled, offset + static_cast<int64_t>(filled));
      if (count < 0 && errno != EINTR)
        return cannotRead(path, errno);
      if (count == 0)
        break;
      filled += count < 0 ? 0 : static_cast<size_t>(count);
    }
    window.resize(filled);
    if (static_cast<int64_t>(filled) < length)
      return inputError("{0}: has become shorter: {1} bytes at {2} were expected, found are {3}", path, length, offset,
                        filled);
  }
  return llvm::StringRef(window).substr(static_cast<size_t>(offset - windowStart), static_cast<size_t>(length));
}

} // namespace apc
