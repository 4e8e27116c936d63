// Who sends to whom when pieces change their holders.
#include "apc/Sharding/Redistribution.h"

#include <map>

namespace apc {

/// Which piece of the tensor a rank holds: its position along each dim, as one number.
static int64_t pieceOf(const Sharding &sharding, const Mesh &mesh, int64_t rank) {
  int64_t piece = 0;
  for (const AxisList &axes : sharding.dims)
    piece = piece * mesh.size(axes) + mesh.indexInGroup(rank, axes);
  return piece;
}

std::vector<PermutePeers> permutePeers(const AxisList &axes, const Sharding &from, const Sharding &to, const Mesh &mesh,
                                       int64_t rank) {
  std::vector<int64_t> group = mesh.group(rank, axes);
  struct Places {
    std::vector<size_t> holders, needers; ///< positions in the group
  };
  std::map<int64_t, Places> byPiece;
  for (auto [position, member] : llvm::enumerate(group)) {
    byPiece[pieceOf(from, mesh, member)].holders.push_back(position);
    byPiece[pieceOf(to, mesh, member)].needers.push_back(position);
  }
  std::vector<PermutePeers> peers(group.size());
  for (const auto &[piece, places] : byPiece)
    for (auto [holder, needer] : llvm::zip_equal(places.holders, places.needers)) {
      peers[holder].sendTo = group[needer];
      peers[needer].receiveFrom = group[holder];
    }
  return peers;
}

} // namespace apc
