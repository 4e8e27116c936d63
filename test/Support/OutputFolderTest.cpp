// Folders appear whole or not at all.
#include "../ErrorOf.h"
#include "../ValueOf.h"

#include "apc/Support/OutputFolder.h"

#include "apc/Support/Error.h"
#include "apc/Support/File.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"

#include <catch2/catch.hpp>

#include <csignal>
#include <sys/resource.h>
#include <sys/stat.h>

using namespace apc;

namespace {

struct TemporaryFolder {
  TemporaryFolder() { REQUIRE_FALSE(llvm::sys::fs::createUniqueDirectory("apc-output", path)); }
  ~TemporaryFolder() { (void)llvm::sys::fs::remove_directories(path); }
  std::string operator/(llvm::StringRef name) const { return (path + "/" + name).str(); }
  /// Names of the entries, in order.
  std::vector<std::string> entries() const {
    std::vector<std::string> names;
    std::error_code code;
    for (llvm::sys::fs::directory_iterator it(path, code), end; !code && it != end; it.increment(code))
      names.push_back(llvm::StringRef(it->path()).rsplit('/').second.str());
    llvm::sort(names);
    return names;
  }

  llvm::SmallString<128> path;
};

OutputFolder::Entry judge(llvm::StringRef name) {
  return name == "kept"     ? OutputFolder::Entry::Kept
         : name == "theirs" ? OutputFolder::Entry::Foreign
                            : OutputFolder::Entry::Replaced;
}

OutputFolder begin(const std::string &path) { return valueOf(OutputFolder::create(path, judge, "an empty folder")); }

std::string contentOf(const std::string &path) {
  auto text = readFile(path);
  if (text)
    return *text;
  llvm::consumeError(text.takeError());
  return "(absent)";
}

} // namespace

TEST_CASE("nothing is seen before commit, and nothing is left without it") {
  TemporaryFolder at;
  {
    OutputFolder out = begin(at / "very/deep/out");
    require(out.write("a", "1"));
    CHECK(contentOf(at / "very/deep/out/a") == "(absent)");
  }
  CHECK(at.entries().empty()); // the folders above it are gone too
  require(llvm::errorCodeToError(llvm::sys::fs::create_directory(at / "deep")));
  {
    OutputFolder out = begin(at / "deep/er/out");
  }
  CHECK(at.entries() == std::vector<std::string>{"deep"}); // what was there before stays
  OutputFolder out = begin(at / "out/");
  require(out.write("sub/a", "2"));
  require(out.commit());
  CHECK(contentOf(at / "out/sub/a") == "2");
  {
    OutputFolder below = begin(at / "new/out");
    require(below.commit());
  }
  CHECK(llvm::sys::fs::exists(at / "new/out"));
  require(llvm::errorCodeToError(llvm::sys::fs::remove_directories(at / "new")));
  CHECK(at.entries() == std::vector<std::string>{"deep", "out"});
}

TEST_CASE("a folder is replaced, with what is to be kept") {
  TemporaryFolder at;
  require(writeFileAtomically(at / "out/old", "1"));
  require(writeFileAtomically(at / "out/kept", "plan"));
  {
    OutputFolder out = begin(at / "out");
    require(out.write("new", "2"));
    CHECK(contentOf(at / "out/old") == "1");
    require(out.commit());
  }
  CHECK(contentOf(at / "out/old") == "(absent)");
  CHECK(contentOf(at / "out/new") == "2");
  CHECK(contentOf(at / "out/kept") == "plan");
  CHECK(at.entries() == std::vector<std::string>{"out"});
  // An empty folder is replaced, too.
  REQUIRE_FALSE(llvm::sys::fs::create_directory(at / "empty"));
  OutputFolder out = begin(at / "empty");
  require(out.write("new", "3"));
  require(out.commit());
  CHECK(contentOf(at / "empty/new") == "3");
}

TEST_CASE("what would be lost is named") {
  TemporaryFolder at;
  require(writeFileAtomically(at / "out/theirs", "1"));
  std::string text = inputErrorOf(OutputFolder::create(at / "out", judge, "an empty folder").takeError());
  CHECK(text.find("holds 'theirs', which would be lost; an empty folder is accepted") != std::string::npos);
  require(writeFileAtomically(at / "file", "1"));
  text = inputErrorOf(OutputFolder::create(at / "file", judge, "an empty folder").takeError());
  CHECK(text.find("is a file") != std::string::npos);
  text = inputErrorOf(OutputFolder::create(at / "file/below", judge, "an empty folder").takeError());
  CHECK(text.find("Not a directory") != std::string::npos);
}

TEST_CASE("what would be lost is looked for in folders, too") {
  TemporaryFolder at;
  require(writeFileAtomically(at / "out/ours/deep/ours", "1"));
  require(writeFileAtomically(at / "elsewhere/theirs", "1"));
  REQUIRE_FALSE(llvm::sys::fs::create_link(at / "elsewhere", at / "out/ours/link"));
  std::vector<std::string> asked;
  auto judgeAll = [&](llvm::StringRef name) {
    asked.push_back(name.str());
    return name.contains("theirs") ? OutputFolder::Entry::Foreign : OutputFolder::Entry::Replaced;
  };
  {
    OutputFolder out = valueOf(OutputFolder::create(at / "out", judgeAll, "an empty folder"));
    CHECK(asked == std::vector<std::string>{"ours/", "ours/deep/", "ours/deep/ours", "ours/link"});
  }
  require(writeFileAtomically(at / "out/ours/deep/theirs", "2"));
  std::string text = inputErrorOf(OutputFolder::create(at / "out", judgeAll, "an empty folder").takeError());
  CHECK(text.find("out: holds 'ours/deep/theirs', which would be lost; an empty folder is acc") != std::string::npos);
  CHECK(contentOf(at / "out/ours/deep/ours") == "1");
  CHECK(contentOf(at / "out/ours/deep/theirs") == "2");
  CHECK(at.entries() == std::vector<std::string>{"elsewhere", "out"});
}

TEST_CASE("a file that cannot grow is an error, and nothing is left") {
  TemporaryFolder at;
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  auto handler = std::signal(SIGXFSZ, SIG_IGN);
  {
    OutputFolder out = begin(at / "out");
    rlimit small = before;
    small.rlim_cur = 2 << 20;
    REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
    std::string text = inputErrorOf(out.write("large", std::string(5 << 20, 'x')));
    REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
    CHECK(text.find("out/large: cannot be written: File too large") != std::string::npos);
  }
  std::signal(SIGXFSZ, handler);
  CHECK(at.entries().empty());
}

TEST_CASE("an interrupt gives the work up") {
  TemporaryFolder at;
  {
    OutputFolder out = begin(at / "out");
    require(out.write("a", "1"));
    REQUIRE(std::raise(SIGINT) == 0);
    // No bad input: the exit codes of a command that such a signal ends.
    CHECK(takeMessage(out.checkInterrupt()) ==
          std::pair(static_cast<Fault>(130), std::string("interrupted by Ctrl-C; nothing was written")));
    require(out.checkInterrupt());
    REQUIRE(std::raise(SIGTERM) == 0);
    CHECK(takeMessage(out.commit()) ==
          std::pair(static_cast<Fault>(143), std::string("interrupted by SIGTERM; nothing was written")));
  }
  CHECK(at.entries().empty());
}

TEST_CASE("blocks of zeros take no room, and sizes are right") {
  TemporaryFolder at;
  constexpr int64_t size = (9 << 20) + 3;
  {
    OutputFolder out = begin(at / "out");
    auto file = out.open("sparse");
    if (!file)
      FAIL(takeMessage(file.takeError()).second);
    require((*file)->write("x"));
    require((*file)->writeZeros(size - 3));
    require((*file)->write("yz"));
    CHECK((*file)->size() == size);
    require((*file)->close());
    require(out.commit());
  }
  std::string text = contentOf(at / "out/sparse");
  REQUIRE(text.size() == static_cast<size_t>(size));
  CHECK(text.front() == 'x');
  CHECK(text.substr(text.size() - 2) == "yz");
  CHECK(llvm::StringRef(text).count('\0') == text.size() - 3);
  struct stat status{};
  REQUIRE(stat((at / "out/sparse").c_str(), &status) == 0);
  CHECK(status.st_blocks * 512 < 5 << 20);
}
