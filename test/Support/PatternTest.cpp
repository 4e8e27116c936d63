// Patterns match as POSIX says: the leftmost match, and there the longest.
#include "apc/Support/Pattern.h"

#include <catch2/catch.hpp>

#include <thread>

using namespace apc;

namespace {

/// The match and its groups.
std::vector<std::string> groupsOf(const Pattern &pattern, llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef, 4> groups;
  std::vector<std::string> all;
  if (pattern.match(text, groups))
    for (llvm::StringRef group : groups)
      all.push_back(group.str());
  return all;
}

} // namespace

TEST_CASE("The first match is the leftmost, and there the longest") {
  CHECK(groupsOf(Pattern("(a|ab)(c|bcd)?"), "xabcd ab") == std::vector<std::string>{"abcd", "a", "bcd"});
  CHECK(groupsOf(Pattern("fsdp|fsdp2"), "FSDP2") == std::vector<std::string>{"FSDP2"});
  CHECK(groupsOf(Pattern("(x)|(y)"), "y") == std::vector<std::string>{"y", "", "y"});
  CHECK(groupsOf(Pattern("z"), "y").empty());
}

TEST_CASE("Letters stand for both cases unless they are taken as written") {
  CHECK(Pattern("zero-[0-9]").match("ZeRO-3"));
  CHECK_FALSE(Pattern("zero-[0-9]", Letters::AsWritten).match("ZeRO-3"));
  CHECK(Pattern("[^a-z]b").match("a B"));
  CHECK_FALSE(Pattern("[^a-z]b").match("AB"));
}

TEST_CASE("Matches are replaced once, or until there are none") {
  const Pattern pattern("(^|,)x[0-9]");
  CHECK(pattern.replaceFirst("\\1", "x1,x2,y") == ",x2,y");
  CHECK(pattern.replaceAll("\\1", "x1,x2,y") == ",,y");
  CHECK(Pattern("ab").replaceAll("", "aabb") == ""); // a match that comes about so
  CHECK(pattern.replaceFirst("z", "none") == "none");
}

TEST_CASE("Text may be long, and of bytes that are no characters") {
  const std::string words(size_t(1) << 20, 'a');
  CHECK_FALSE(Pattern("((a|aa)+ )*offload").match(words));
  CHECK(Pattern("(^|[^0-9a-z])x($|[^0-9a-z])").match("\xff\xfex\x80"));
  CHECK(groupsOf(Pattern("a+"), words) == std::vector<std::string>{words});
}

TEST_CASE("The ends of a pattern are those of the text, whatever its lines") {
  CHECK_FALSE(Pattern("^b$").match("a\nb\nc"));
  CHECK_FALSE(Pattern("no $").match("no \nFSDP "));
  CHECK(Pattern("^a[^/]+c$").match("a\nb\nc"));
  CHECK(Pattern("^a.b").match("a\nb"));
}

TEST_CASE("A pattern is for several threads") {
  const Pattern pattern("(b|c)+d");
  bool found[4] = {};
  std::vector<std::thread> threads;
  for (bool &own : found)
    threads.emplace_back([&] { own = pattern.match("abcbcd"); });
  for (std::thread &thread : threads)
    thread.join();
  CHECK((found[0] && found[1] && found[2] && found[3]));
}
