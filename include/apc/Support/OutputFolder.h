// A folder of files that appears whole or not at all.
#pragma once

#include "apc/Support/MadeFolders.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace apc {

/// Holds back Ctrl-C and SIGTERM while it lives, so that work can be given up tidily: ask now and then.
class InterruptGate {
public:
  InterruptGate();
  ~InterruptGate();
  InterruptGate(const InterruptGate &) = delete;
  InterruptGate &operator=(const InterruptGate &) = delete;

  /// An error when a signal has come; the signal is then used up.
  llvm::Error check() const;

private:
  sigset_t held{}, before{};
};

/// One file under construction. Blocks of zeros are left out where the file system can (holes), so that shards of
/// sparse files are sparse again. Bytes are kept back up to `bufferBytes`.
class OutputFile {
public:
  ~OutputFile();
  OutputFile(const OutputFile &) = delete;
  OutputFile &operator=(const OutputFile &) = delete;

  llvm::Error write(llvm::StringRef bytes);
  llvm::Error writeZeros(int64_t count);
  /// Must be the last call: what was kept back is written, and the size is set.
  llvm::Error close();
  int64_t size() const { return flushed + static_cast<int64_t>(buffer.size()); }

private:
  friend class OutputFolder;
  OutputFile(int descriptor, std::string name) : descriptor(descriptor), name(std::move(name)) {}
  llvm::Error flush();
  llvm::Error failure(int code) const;

  static constexpr size_t bufferBytes = 1 << 20;
  int descriptor;
  std::string name; ///< for messages
  std::string buffer;
  int64_t flushed = 0; ///< where the buffer goes; `close` makes the file at least as long
};

/// Files are written to a folder beside the target; `commit` puts it into the target's place in one step. Without
/// `commit` nothing is left of it. A target that must stay, as a mount point, has that folder inside; `commit` then
/// moves the entries out of it, one by one.
///
///   auto out = OutputFolder::create("plans/gpt", [](StringRef name) { return name == "manifest.json"; }, "an
///   emission"); out->write("manifest.json", text);  out->commit();
class OutputFolder {
public:
  /// The fate of an entry that stands in the target already. Kept is for files of the target itself, not for those of
  /// folders in it.
  enum class Entry { Replaced, Kept, Foreign };
  /// Names go from the target, and those of folders end with a slash: "manifest.json", "weights/", "weights/a".
  using Judge = llvm::function_ref<Entry(llvm::StringRef name)>;

  /// `judge` is asked for each entry of a target that exists, a folder before what is in it; links are files, wherever
  /// they lead. Errors (input): the target is no folder; it holds an entry that is Foreign, which is named, and what
  /// would be accepted (`accepted`); a folder in it cannot be read; its parent cannot be written.
  static llvm::Expected<OutputFolder> create(llvm::StringRef target, Judge judge, llvm::StringRef accepted);
  OutputFolder(OutputFolder &&) = default;
  ~OutputFolder();

  llvm::Error write(llvm::StringRef name, llvm::StringRef content);
  /// `name` may be in a folder: "weights/a.safetensors".
  llvm::Expected<std::unique_ptr<OutputFile>> open(llvm::StringRef name);
  /// Where a file that has been written stands until `commit`, to read it again; `discard` takes it away, or a folder.
  std::string placeOf(llvm::StringRef name) const;
  void discard(llvm::StringRef name) const;
  /// An error when the run has been interrupted.
  llvm::Error checkInterrupt() const { return gate->check(); }
  /// Replaces the target. Entries judged Kept move along.
  llvm::Error commit();

  const std::string &getTarget() const { return target; }

private:
  OutputFolder() = default;
  /// Asks for the entries of `folder` ("" or "weights/") and below.
  llvm::Error judgeEntries(llvm::StringRef folder, Judge judge, llvm::StringRef accepted);
  llvm::Error keepEntries() const;
  /// The target and the folder beside it change places; false with `errno` when they cannot.
  bool exchange() const;
  llvm::Error moveInside();

  std::string target;
  std::string beside; ///< "" when there is nothing to clean up
  bool isInside = false;
  std::vector<std::string> kept;
  std::unique_ptr<InterruptGate> gate;
  MadeFolders parents; ///< after the gate: an interrupt waits for them to go
};

} // namespace apc
