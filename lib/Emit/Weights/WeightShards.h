// The shards themselves, copied from the model's files.
#pragma once

#include "../Manifest.h"

namespace apc {

/// Everything that can be said before anything is written. Errors (input): parameters without data (all are named), a
/// file that is absent or ends before a parameter does (file, parameter, bytes needed and found).
llvm::Error checkWeights(const Manifest &manifest);

/// Writes `weights/NNNN.bin` below `prefix` ("stage-0003/" or ""), one for each distinct set of shards: the pieces in
/// the order of the parameters, each from a multiple of 64 bytes on, row-major, padding as zeros. Memory is that of two
/// buffers of about 4 MiB; varints are first decoded into files of their own, which do not stay.
llvm::Error writeWeights(const Manifest &planned, llvm::StringRef prefix, OutputFolder &out,
                         std::vector<EmittedFile> &files);

} // namespace apc
