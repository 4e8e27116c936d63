// Parameters that are stored as varints or in no file, made into elements in files that can be cut.
#pragma once

#include "../Manifest.h"

namespace apc {

/// Below the folder under construction; the caller discards it.
inline constexpr llvm::StringLiteral decodedFolder = "decoded";

/// The manifest with the data of those parameters in files of `decodedFolder`, element by element. Errors (input): a
/// file that cannot be read; another number of values than the shape needs; a varint that the run ends in.
llvm::Expected<Manifest> decodeAll(const Manifest &manifest, OutputFolder &out);

} // namespace apc
