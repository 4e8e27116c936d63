// Files of tensors as the safetensors format has them: a header of JSON, then the bytes of all tensors.
// https://huggingface.co/docs/safetensors: 8 bytes of the header's length (little-endian), the header, row-major data.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <utility>
#include <vector>

namespace apc {

/// A tensor of a file: "F32", [24, 96], and its bytes, row-major and little-endian.
struct SafetensorsEntry {
  std::string name;
  std::string type;
  llvm::SmallVector<int64_t> shape;
  int64_t bytes = 0;
};

/// The format's name of an element type as the program writes it: "f32" -> "F32", "bf16" -> "BF16", "ui8" -> "U8",
/// "i1" -> "BOOL"; "" for a type that it does not have.
std::string safetensorsType(llvm::StringRef element);

/// The beginning of a file with these tensors one behind the other: everything before the data. `metadata` are texts by
/// name.
std::string safetensorsHeader(llvm::ArrayRef<SafetensorsEntry> entries,
                              llvm::ArrayRef<std::pair<std::string, std::string>> metadata = {});

/// A tensor of a file that was read, and where its bytes begin in the file.
struct FoundTensor {
  std::string type;
  llvm::SmallVector<int64_t> shape;
  int64_t offset = 0;
  int64_t bytes = 0;
};

/// The tensors of the file at `path`, by name; their data is not read. Errors (input) name the file: it cannot be read,
/// is no file of safetensors, or ends before its data does.
llvm::Expected<llvm::StringMap<FoundTensor>> readSafetensorsHeader(llvm::StringRef path);

} // namespace apc
