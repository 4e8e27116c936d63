// `dp` under a binding memory limit: the lists of seconds against bytes.
#pragma once

#include <cstdint>
#include <vector>

namespace apc::dp {

/// A partial assignment: all nodes that are eliminated into one table, for one cell of the table.
struct Entry {
  double seconds;
  double excess; ///< weighted sum above the minimum of this cell
  int64_t bytes;
  uint32_t trace;
};

/// The entries of one cell. Example: {(1 s, 8 B), (2 s, 4 B)}.
struct Frontier : std::vector<Entry> {
  using std::vector<Entry>::vector;
  double share = 0; ///< of all nodes, in the entries
  /// Seconds lost by rounding: for each assignment that was dropped in favour of another, an entry needs as few bytes
  /// and takes at most so many seconds more.
  double error = 0;
};

/// Keeps the entries that no other entry equals or beats in seconds and bytes, in ascending order of bytes.
void keepBest(Frontier &entries);

/// Thins out a list in that order when it has more than 64 entries: those go that are faster than an entry of fewer
/// bytes by no more than \p allowedSeconds. Adds to `error` what that loses. Example, with 0.5 s and without the 64: (3
/// s, 1 B), (2.6 s, 2 B), (1 s, 3 B) becomes (3 s, 1 B), (1 s, 3 B), and the error 0.4 s.
void round(Frontier &entries, double allowedSeconds);

} // namespace apc::dp
