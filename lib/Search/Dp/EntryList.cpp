// Dominance and rounding of lists of seconds against bytes.
#include "EntryList.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <tuple>

namespace apc::dp {

void keepBest(Frontier &entries) {
  llvm::sort(entries, [](const Entry &a, const Entry &b) {
    return std::tie(a.bytes, a.seconds, a.trace) < std::tie(b.bytes, b.seconds, b.trace);
  });
  size_t kept = 0;
  for (const Entry &entry : entries)
    if (kept == 0 || entry.seconds < entries[kept - 1].seconds)
      entries[kept++] = entry;
  entries.resize(kept);
}

void round(Frontier &entries, double allowedSeconds) {
  constexpr size_t fewEntries = 64;
  if (entries.size() <= fewEntries || allowedSeconds <= 0)
    return;
  size_t kept = 0;
  double lost = 0;
  for (const Entry &entry : entries)
    if (kept == 0 || entry.seconds < entries[kept - 1].seconds - allowedSeconds)
      entries[kept++] = entry;
    else
      lost = std::max(lost, entries[kept - 1].seconds - entry.seconds);
  entries.resize(kept);
  entries.error += lost;
}

} // namespace apc::dp
