// Levels as words.
#include "apc/Cluster/LevelWord.h"

#include "llvm/ADT/StringExtras.h"

namespace apc {

std::string levelWord(llvm::StringRef level) {
  std::string word = level.str();
  for (char &letter : word)
    if (!llvm::isAlnum(letter) && letter != '_')
      letter = '-';
  return word;
}

} // namespace apc
