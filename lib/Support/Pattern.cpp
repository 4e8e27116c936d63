// Patterns by RE2.
#include "apc/Support/Pattern.h"

#include "llvm/Support/ErrorHandling.h"

#include <re2/re2.h>

namespace apc {

static re2::StringPiece pieceOf(llvm::StringRef text) { return {text.data(), text.size()}; }

Pattern::Pattern(llvm::StringRef text, Letters letters) {
  re2::RE2::Options options;
  options.set_posix_syntax(true);
  options.set_one_line(true);
  options.set_dot_nl(true);
  options.set_longest_match(true);
  options.set_encoding(re2::RE2::Options::EncodingLatin1);
  options.set_case_sensitive(letters == Letters::AsWritten);
  options.set_log_errors(false);
  compiled = std::make_shared<const re2::RE2>(pieceOf(text), options);
  if (!compiled->ok())
    llvm::report_fatal_error(llvm::Twine("pattern '") + text + "': " + compiled->error());
}

bool Pattern::match(llvm::StringRef text) const { return re2::RE2::PartialMatch(pieceOf(text), *compiled); }

bool Pattern::match(llvm::StringRef text, llvm::SmallVectorImpl<llvm::StringRef> &groups) const {
  llvm::SmallVector<re2::StringPiece, 16> pieces(static_cast<size_t>(compiled->NumberOfCapturingGroups()) + 1);
  if (!compiled->Match(pieceOf(text), 0, text.size(), re2::RE2::UNANCHORED, pieces.data(),
                       static_cast<int>(pieces.size())))
    return false;
  groups.clear();
  for (const re2::StringPiece &piece : pieces)
    groups.emplace_back(piece.data(), piece.size());
  return true;
}

std::string Pattern::replaceFirst(llvm::StringRef with, llvm::StringRef text) const {
  std::string replaced = text.str();
  re2::RE2::Replace(&replaced, *compiled, pieceOf(with));
  return replaced;
}

std::string Pattern::replaceAll(llvm::StringRef with, llvm::StringRef text) const {
  std::string replaced = text.str();
  int count = 1;
  while (count > 0)
    count = re2::RE2::GlobalReplace(&replaced, *compiled, pieceOf(with));
  return replaced;
}

} // namespace apc
