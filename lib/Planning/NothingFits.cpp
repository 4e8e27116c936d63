// Errors of points, and the points that they carry along.
#include "apc/Planning/NothingFits.h"

namespace apc {

char NothingFits::ID = 0;
char TooManyStages::ID = 0;

std::pair<llvm::Error, std::vector<TriedPoint>> triedBefore(llvm::Error error) {
  std::vector<TriedPoint> tried;
  llvm::Error same = llvm::handleErrors(std::move(error), [&](std::unique_ptr<NothingFits> own) {
    tried = own->tried();
    return llvm::Error(std::move(own));
  });
  return {std::move(same), std::move(tried)};
}

} // namespace apc
