// The shards themselves, copied from the model's files.
#pragma once

#include "../Manifest.h"

namespace apc {

/// Everything that can be said before anything is written. Errors (input): parameters without data (all are named), a
/// file that is absent or ends before a parameter does (file, parameter, bytes needed and found).
llvm::Error checkWeights(const Manifest &manifest);

/// Writes the files of weights (`weightFileName`) below `prefix` ("stage-0003/" or ""): safetensors, each distinct
/// piece once, without padding, in the file of the first rank that holds it. The metadata say where pieces begin
/// (`DCP_SHARDING_INFO`), so that PyTorch's distributed checkpoint (Hugging Face storage) puts them together;
/// parameters whose pieces are no boxes are whole. Memory is that of two buffers of about 4 MiB; varints are first
/// decoded into files of their own, which do not stay.
llvm::Error writeWeights(const Manifest &planned, llvm::StringRef prefix, OutputFolder &out,
                         std::vector<EmittedFile> &files);

} // namespace apc
