// Numbers with units, read from and written for people.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>

namespace apc {

/// Reads "1024", "76GiB", "80GB", "512 MiB" (binary and decimal prefixes); the error names `what` and the accepted
/// forms.
llvm::Expected<int64_t> parseBytes(llvm::StringRef text, llvm::StringRef what);

/// Reads "25GB/s", "25e9" (bytes) and "200Gb/s", "200Gbit/s", "200Gbps" (bits, 8 of them a byte) as bytes per second;
/// the error names `what` and the accepted forms. "200gb/s" could be either and is refused.
llvm::Expected<double> parseBytesPerSecond(llvm::StringRef text, llvm::StringRef what);

/// 81604378624 -> "76.0 GiB"; three significant digits.
std::string formatBytes(double bytes);

/// 25e9 -> "25.0 GB/s", in decimal units as makers of links do; three significant digits.
std::string formatBytesPerSecond(double bytesPerSecond);

/// 0.00123 -> "1.23 ms"; units s, ms, us, ns; three significant digits.
std::string formatSeconds(double seconds);

/// 2.94e15 -> "2.94 PFLOP"; three significant digits.
std::string formatFlops(double flops);

/// 174604000000 -> "174.6 B"; four significant digits, suffixes K, M, B, T.
std::string formatCount(double count);

/// "1 node", "3 nodes", "2 processes".
std::string counted(int64_t number, llvm::StringRef noun);

} // namespace apc
