// Whole files in, whole files out.
#include "apc/Support/File.h"

#include "apc/Support/Error.h"
#include "apc/Support/MadeFolders.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"

#include <vector>

namespace apc {

namespace {

bool isDevice(llvm::StringRef path) {
  llvm::sys::fs::file_status status;
  return !llvm::sys::fs::status(path, status) && (status.type() == llvm::sys::fs::file_type::character_file ||
                                                  status.type() == llvm::sys::fs::file_type::block_file);
}

/// Writes and closes; the error of either.
std::error_code writeTo(int descriptor, llvm::StringRef content) {
  llvm::raw_fd_ostream os(descriptor, /*shouldClose=*/true);
  os << content;
  os.close();
  std::error_code code = os.error();
  os.clear_error();
  return code;
}

} // namespace

llvm::Expected<std::string> readFile(llvm::StringRef path) {
  if (llvm::sys::fs::is_directory(path))
    return inputError("{0}: is a folder; a file is expected", path);
  if (isDevice(path))
    return inputError("{0}: is a device; a file is expected", path);
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return inputError("{0}: cannot be read: {1}", path, buffer.getError().message());
  return (*buffer)->getBuffer().str();
}

llvm::Error writeFileAtomically(llvm::StringRef path, llvm::StringRef content) {
  auto failure = [&](llvm::StringRef doing, const std::error_code &code) {
    return inputError("{0}: cannot {1}: {2}", path, doing, code.message());
  };
  llvm::StringRef parent = llvm::sys::path::parent_path(path);
  MadeFolders folders;
  if (!parent.empty())
    if (std::error_code code = folders.make(parent))
      return failure("make its folder", code);

  int descriptor = -1;
  // A device must not be replaced by a file.
  if (isDevice(path)) {
    std::error_code code = llvm::sys::fs::openFileForWrite(path, descriptor, llvm::sys::fs::CD_OpenExisting);
    if (!code)
      code = writeTo(descriptor, content);
    return code ? failure("be written", code) : llvm::Error::success();
  }
  llvm::SmallString<128> beside;
  if (std::error_code code = llvm::sys::fs::createUniqueFile(path + ".%%%%%%%%", descriptor, beside))
    return failure("be written", code);
  std::error_code code = writeTo(descriptor, content);
  if (!code)
    code = llvm::sys::fs::rename(beside, path);
  if (!code) {
    folders.keep();
    return llvm::Error::success();
  }
  (void)llvm::sys::fs::remove(beside);
  return failure("be written", code);
}

llvm::Error checkWritable(llvm::StringRef folder) {
  // The nearest folder that exists is the one that must take what is made.
  llvm::StringRef existing = folder;
  while (!existing.empty() && !llvm::sys::fs::exists(existing))
    existing = llvm::sys::path::parent_path(existing);
  if (existing.empty())
    existing = ".";
  if (!llvm::sys::fs::is_directory(existing))
    return inputError("{0}: cannot be the folder to write to: {1} is no folder", folder, existing);
  if (std::error_code code = llvm::sys::fs::access(existing, llvm::sys::fs::AccessMode::Write))
    return inputError("{0}: cannot be the folder to write to: {1}: {2}", folder, existing, code.message());
  return llvm::Error::success();
}

std::string sha256Hex(llvm::StringRef content) {
  llvm::SHA256 hash;
  hash.update(content);
  return llvm::toHex(hash.final(), /*LowerCase=*/true);
}

} // namespace apc
