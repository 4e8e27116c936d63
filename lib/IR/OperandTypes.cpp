// Sets of element types as bits.
#include "apc/IR/OperandTypes.h"

#include "mlir/IR/BuiltinTypes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>

namespace apc {

namespace {

/// The single types, in the order of their bits.
constexpr llvm::StringLiteral singles[] = {"bool", "i8",  "i16",  "i32", "i64", "ui8",  "ui16",   "ui32",
                                           "ui64", "f16", "bf16", "f32", "f64", "int4", "float8", "others"};

constexpr uint32_t bits(unsigned first, unsigned count) { return ((uint32_t(1) << count) - 1) << first; }

struct NamedSet {
  llvm::StringLiteral name;
  uint32_t types;
};
constexpr NamedSet sets[] = {{"float", bits(9, 4)},    {"signed", bits(1, 4)},
                             {"unsigned", bits(5, 4)}, {"integer", bits(1, 8)},
                             {"number", bits(1, 12)},  {"wide", bits(9, 4) | bits(3, 2) | bits(7, 2)},
                             {"index", bits(3, 2)},    {"byte", bits(1, 1) | bits(5, 1)},
                             {"any", bits(0, 16)}};

uint32_t bitOf(llvm::StringRef single) {
  const auto *found = llvm::find(singles, single);
  return found == std::end(singles) ? 0 : uint32_t(1) << (found - std::begin(singles));
}

uint32_t typesOf(llvm::StringRef word) {
  for (const NamedSet &set : sets)
    if (set.name == word)
      return set.types;
  return bitOf(word);
}

/// The bits of the integer types that have a name of their own: by width and sign.
uint32_t bitOf(mlir::IntegerType type) {
  unsigned width = type.getWidth();
  if (width == 1)
    return bits(0, 1);
  if (width == 2 || width == 4)
    return bitOf("int4");
  for (unsigned index = 0; index < 4; ++index)
    if (width == 8U << index)
      return bits((type.isUnsigned() ? 5 : 1) + index, 1);
  return bitOf("others");
}

uint32_t bitOf(mlir::Type element) {
  if (auto integer = llvm::dyn_cast<mlir::IntegerType>(element))
    return bitOf(integer);
  if (element.isF16())
    return bitOf("f16");
  if (element.isBF16())
    return bitOf("bf16");
  if (element.isF32())
    return bitOf("f32");
  if (element.isF64())
    return bitOf("f64");
  return bitOf(llvm::isa<mlir::FloatType>(element) && element.getIntOrFloatBitWidth() <= 8 ? "float8" : "others");
}

} // namespace

OperandTypes::Entry OperandTypes::parseEntry(llvm::StringRef text, llvm::StringMap<unsigned> &groups) {
  auto [name, set] = text.split(':');
  Entry entry;
  if (set.empty())
    set = name;
  else
    entry.group = groups.try_emplace(name.trim(), groups.size()).first->second;
  for (llvm::StringRef word : llvm::split(set.trim(), '|')) {
    uint32_t types = typesOf(word);
    if (auto known = groups.find(word); known != groups.end()) {
      entry.group = known->second;
      entry.accepted |=
          llvm::find_if(entries, [&](const Entry &other) { return other.group == entry.group; })->accepted;
    } else if (types == 0) {
      error = word.str();
    }
    entry.beside |= types;
  }
  entry.accepted |= entry.beside;
  if (text.contains(':'))
    entry.beside = 0;
  return entry;
}

OperandTypes::OperandTypes(llvm::StringRef text) {
  llvm::StringMap<unsigned> groups;
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef part : parts)
    entries.push_back(parseEntry(part, groups));
}

std::optional<OperandTypes::Misfit> OperandTypes::findMisfit(llvm::ArrayRef<mlir::Type> elements) const {
  llvm::SmallVector<std::optional<unsigned>, 4> firstOfGroup(entries.size());
  for (unsigned operand = 0; operand < elements.size() && !entries.empty(); ++operand) {
    if (!elements[operand])
      continue;
    const Entry &entry = entryOf(operand);
    uint32_t bit = bitOf(elements[operand]);
    if ((entry.accepted & bit) == 0)
      return Misfit{operand};
    if (!entry.group || (entry.beside & bit) != 0)
      continue;
    std::optional<unsigned> &first = firstOfGroup[*entry.group];
    if (first && elements[*first] != elements[operand])
      return Misfit{operand, first};
    if (!first)
      first = operand;
  }
  return std::nullopt;
}

std::string OperandTypes::accepted(unsigned operand) const {
  llvm::SmallVector<llvm::StringRef> names;
  for (auto [index, name] : llvm::enumerate(singles))
    if (entryOf(operand).accepted & uint32_t(1) << index)
      names.push_back(name);
  return llvm::join(names, ", ");
}

} // namespace apc
