// Folders written beside their target and put into its place.
#include "apc/Support/OutputFolder.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace apc {

namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

namespace {

std::string textOf(int code) { return std::error_code(code, std::generic_category()).message(); }

std::string pathIn(llvm::StringRef folder, llvm::StringRef name) {
  llvm::SmallString<128> joined(folder);
  path::append(joined, name);
  return joined.str().str();
}

/// True for a folder that no other can take the place of: a mount point, as volumes of containers are, or one in a
/// folder that cannot be written.
bool mustStay(const std::string &folder) {
  struct statx found{};
  bool isMount = statx(AT_FDCWD, folder.c_str(), 0, STATX_TYPE, &found) == 0 &&
                 (found.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
  return isMount || access(path::parent_path(folder).str().c_str(), W_OK) != 0;
}

} // namespace

InterruptGate::InterruptGate() {
  sigemptyset(&held);
  sigaddset(&held, SIGINT);
  sigaddset(&held, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &held, &before);
}

InterruptGate::~InterruptGate() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }

llvm::Error InterruptGate::check() const {
  timespec atOnce{};
  int signal = sigtimedwait(&held, nullptr, &atOnce);
  if (signal < 0)
    return llvm::Error::success();
  constexpr int killed = 128; // POSIX shells: the exit code of a command that a signal ends is more than 128
  return llvm::make_error<PlannerError>(
      static_cast<Fault>(killed + signal),
      llvm::formatv("interrupted by {0}; nothing was written", signal == SIGINT ? "Ctrl-C" : "SIGTERM"));
}

OutputFile::~OutputFile() {
  if (descriptor >= 0)
    ::close(descriptor);
}

llvm::Error OutputFile::failure(int code) const {
  return inputError("{0}: cannot be written: {1} (after {2} bytes); nothing was kept", name, textOf(code), flushed);
}

llvm::Error OutputFile::flush() {
  bool empty =
      buffer.empty() || (buffer[0] == 0 && std::memcmp(buffer.data(), buffer.data() + 1, buffer.size() - 1) == 0);
  for (size_t done = 0; done < buffer.size() && !empty;) {
    ssize_t count =
        pwrite(descriptor, buffer.data() + done, buffer.size() - done, flushed + static_cast<int64_t>(done));
    if (count < 0 && errno != EINTR)
      return failure(errno);
    done += count < 0 ? 0 : static_cast<size_t>(count);
  }
  flushed += static_cast<int64_t>(buffer.size());
  buffer.clear();
  return llvm::Error::success();
}

llvm::Error OutputFile::write(llvm::StringRef bytes) {
  while (!bytes.empty()) {
    llvm::StringRef part = bytes.take_front(bufferBytes - buffer.size());
    buffer.append(part.data(), part.size());
    bytes = bytes.drop_front(part.size());
    if (buffer.size() == bufferBytes)
      if (llvm::Error error = flush())
        return error;
  }
  return llvm::Error::success();
}

llvm::Error OutputFile::writeZeros(int64_t count) {
  constexpr int64_t fewZeros = 4096;
  if (count <= fewZeros && !buffer.empty())
    return write(std::string(static_cast<size_t>(std::max<int64_t>(count, 0)), '\0'));
  if (llvm::Error error = flush())
    return error;
  flushed += count;
  return llvm::Error::success();
}

llvm::Error OutputFile::close() {
  if (llvm::Error error = flush())
    return error;
  if (ftruncate(descriptor, flushed) != 0)
    return failure(errno);
  int closing = std::exchange(descriptor, -1);
  if (::close(closing) != 0)
    return failure(errno);
  return llvm::Error::success();
}

llvm::Expected<OutputFolder> OutputFolder::create(llvm::StringRef target, Judge judge, llvm::StringRef accepted) {
  OutputFolder folder;
  llvm::SmallString<128> whole(target);
  if (std::error_code code = fs::make_absolute(whole))
    return inputError("{0}: is no path: {1}", target, code.message());
  path::remove_dots(whole, /*remove_dot_dot=*/true);
  while (whole.size() > 1 && path::is_separator(whole.back()))
    whole.pop_back();
  llvm::SmallString<128> real;
  folder.target = (fs::exists(whole) && !fs::real_path(whole, real) ? real : whole).str().str();
  if (fs::exists(folder.target) && !fs::is_directory(folder.target))
    return inputError("{0}: is a file; {1} is accepted", target, accepted);
  if (fs::exists(folder.target))
    if (llvm::Error error = folder.judgeEntries("", judge, accepted))
      return std::move(error);
  llvm::StringRef parent = path::parent_path(folder.target);
  folder.gate = std::make_unique<InterruptGate>();
  if (std::error_code failed = folder.parents.make(parent))
    return inputError("{0}: its parent folder cannot be made: {1}", target, failed.message());
  folder.isInside = fs::exists(folder.target) && mustStay(folder.target);
  std::string pattern = folder.isInside ? pathIn(folder.target, ".apc.XXXXXX") : folder.target + ".XXXXXX";
  if (!mkdtemp(pattern.data()))
    return inputError("{0}: cannot be written: {1}", target, textOf(errno));
  (void)fs::setPermissions(pattern, fs::perms(0777 & ~fs::getUmask()));
  folder.beside = pattern;
  return folder;
}

/// Some file systems do not say with the name what bears it. A link is no folder.
static bool isFolder(const fs::directory_entry &entry) {
  if (entry.type() != fs::file_type::type_unknown)
    return entry.type() == fs::file_type::directory_file;
  llvm::ErrorOr<fs::basic_file_status> status = entry.status();
  return status && status->type() == fs::file_type::directory_file;
}

llvm::Error OutputFolder::judgeEntries(llvm::StringRef folder, Judge judge, llvm::StringRef accepted) {
  std::vector<std::string> names;
  std::error_code code;
  for (fs::directory_iterator it(pathIn(target, folder), code, /*follow_symlinks=*/false), end; !code && it != end;
       it.increment(code))
    names.push_back((folder + path::filename(it->path())).str() + (isFolder(*it) ? "/" : ""));
  if (code)
    return inputError("{0}: cannot be read: {1}", pathIn(target, folder), code.message());
  llvm::sort(names);
  for (const std::string &name : names) {
    Entry entry = judge(name);
    if (entry == Entry::Foreign)
      return inputError("{0}: holds '{1}', which would be lost; {2} is accepted", target,
                        llvm::StringRef(name).rtrim('/'), accepted);
    if (entry == Entry::Kept)
      kept.push_back(name);
    else if (llvm::StringRef(name).ends_with("/"))
      if (llvm::Error error = judgeEntries(name, judge, accepted))
        return error;
  }
  return llvm::Error::success();
}

OutputFolder::~OutputFolder() {
  if (gate && !beside.empty()) // no gate: moved from
    (void)fs::remove_directories(beside);
}

llvm::Expected<std::unique_ptr<OutputFile>> OutputFolder::open(llvm::StringRef name) {
  if (llvm::Error error = checkInterrupt())
    return error;
  std::string shown = pathIn(target, name), place = pathIn(beside, name);
  if (std::error_code code = fs::create_directories(path::parent_path(place), true, fs::perms::all_all))
    return inputError("{0}: its folder cannot be made: {1}", shown, code.message());
  int descriptor = ::open(place.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0)
    return inputError("{0}: cannot be written: {1}", shown, textOf(errno));
  return std::unique_ptr<OutputFile>(new OutputFile(descriptor, shown));
}

llvm::Error OutputFolder::write(llvm::StringRef name, llvm::StringRef content) {
  auto file = open(name);
  if (!file)
    return file.takeError();
  if (llvm::Error error = (*file)->write(content))
    return error;
  return (*file)->close();
}

std::string OutputFolder::placeOf(llvm::StringRef name) const { return pathIn(beside, name); }

void OutputFolder::discard(llvm::StringRef name) const { (void)fs::remove_directories(placeOf(name)); }

llvm::Error OutputFolder::keepEntries() const {
  for (const std::string &name : kept)
    if (std::error_code code = fs::copy_file(pathIn(target, name), pathIn(beside, name)))
      return inputError("{0}: cannot be kept: {1}", pathIn(target, name), code.message());
  return llvm::Error::success();
}

llvm::Error OutputFolder::commit() {
  if (llvm::Error error = checkInterrupt())
    return error;
  if (isInside)
    return moveInside();
  if (llvm::Error error = keepEntries())
    return error;
  // An absent target and an empty one are replaced by rename; a filled one changes places with the new folder.
  if (rename(beside.c_str(), target.c_str()) == 0) {
    beside.clear();
    parents.keep();
    return llvm::Error::success();
  }
  if ((errno == ENOTEMPTY || errno == EEXIST) && exchange()) {
    (void)fs::remove_directories(beside);
    beside.clear();
    return llvm::Error::success();
  }
  return inputError("{0}: cannot be replaced: {1}", target, textOf(errno));
}

llvm::Error OutputFolder::moveInside() {
  auto namesIn = [](llvm::StringRef folder) {
    std::vector<std::string> names;
    std::error_code code;
    for (fs::directory_iterator it(folder, code), end; !code && it != end; it.increment(code))
      names.push_back(path::filename(it->path()).str());
    return names;
  };
  std::vector<std::string> made = namesIn(beside);
  for (const std::string &name : namesIn(target))
    if (name != path::filename(beside) && !llvm::is_contained(kept, name) && fs::remove(pathIn(target, name)))
      (void)fs::remove_directories(pathIn(target, name));
  for (const std::string &name : made)
    if (rename(pathIn(beside, name).c_str(), pathIn(target, name).c_str()) != 0)
      return inputError("{0}: cannot be written: {1}", pathIn(target, name), textOf(errno));
  (void)fs::remove(beside);
  beside.clear();
  return llvm::Error::success();
}

bool OutputFolder::exchange() const {
  if (renameat2(AT_FDCWD, beside.c_str(), AT_FDCWD, target.c_str(), RENAME_EXCHANGE) == 0)
    return true;
  if (errno != EINVAL && errno != ENOSYS)
    return false;
  // File systems that cannot exchange: two steps, the first undone when the second fails.
  std::string aside = beside + ".old";
  if (rename(target.c_str(), aside.c_str()) != 0)
    return false;
  bool placed = rename(beside.c_str(), target.c_str()) == 0;
  int code = errno;
  (void)rename(aside.c_str(), placed ? beside.c_str() : target.c_str());
  errno = code;
  return placed;
}

} // namespace apc
