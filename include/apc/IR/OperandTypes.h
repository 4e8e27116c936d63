// The element types that an operator takes, operand by operand: the column `types` of its definition.
#pragma once

#include "mlir/IR/Types.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

#include <cstdint>
#include <optional>
#include <string>

namespace apc {

/// Read from text with an entry for each declared operand. An entry is a set of types joined by `|`, to which it may
/// give a name. Such a name stands for the type of the operands of that entry, and may be joined by further types. The
/// last entry of a variadic operator stands for all further operands.
///
///   "T: any, i64, T, index"   Pad's data and its constant are of one type
///   "T: float, T|i8"          the second operand has the type of the first, or is of i8
///
/// Sets: float (f16, bf16, f32, f64), signed, unsigned, integer (8 to 64 bits), number (float, integer), wide (float
/// and integers of 32 and 64 bits), index (i32, i64), byte (i8, ui8), bool, float8 (8 bits or fewer), int4 (2 and 4
/// bits), any, and single types such as f32 and ui8.
class OperandTypes {
public:
  explicit OperandTypes(llvm::StringRef text);

  /// Empty, or the part of the text that is none of the above.
  llvm::StringRef getError() const { return error; }
  size_t size() const { return entries.size(); }

  /// The first operand whose type does not fit, and the operand whose type it must have, when that is the reason.
  struct Misfit {
    unsigned operand = 0;
    std::optional<unsigned> differsFrom = {};
  };
  /// `elements` by operand, null for operands that are absent or not known.
  std::optional<Misfit> findMisfit(llvm::ArrayRef<mlir::Type> elements) const;
  /// "f16, bf16, f32, f64".
  std::string accepted(unsigned operand) const;

private:
  struct Entry {
    uint32_t accepted = 0;
    std::optional<unsigned> group = {}; ///< entries of one name
    uint32_t beside = 0;                ///< types that need not be those of the group
  };
  Entry parseEntry(llvm::StringRef text, llvm::StringMap<unsigned> &groups);
  const Entry &entryOf(unsigned operand) const { return entries[std::min<size_t>(operand, entries.size() - 1)]; }

  llvm::SmallVector<Entry, 4> entries;
  std::string error;
};

} // namespace apc
