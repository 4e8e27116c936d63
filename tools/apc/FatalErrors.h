// The end of a process that cannot go on.
#pragma once

namespace apc {

/// From here on a process that gets no more memory says so and ends with exit code 2; where LLVM gives up, it is our
/// fault (3). A file that grows beyond the system's limit ends no process. LLVM's own words would send users to LLVM.
void installFatalErrors();

} // namespace apc
