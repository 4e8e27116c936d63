// The roles of values, and the category of memory that each role is counted under.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <array>
#include <cstdint>
#include <optional>

namespace apc {

/// The purpose of a value. Gradients and optimizer states belong to training.
enum class ValueRole : uint8_t { Input, Parameter, Activation, Gradient, OptimizerState, Output };

/// The lines of a memory table. Workspace is scratch memory of ops, communication the buffers of collectives, runtime
/// what the runtime takes beside them: fragments of its allocator.
enum class MemoryCategory : uint8_t {
  Parameters,
  Gradients,
  Optimizer,
  Activations,
  Workspace,
  Communication,
  Runtime
};
constexpr size_t numMemoryCategories = 7;

/// One row of the table of roles: `{Parameter, "parameter", Parameters, true}`.
struct RoleTraits {
  ValueRole role;
  llvm::StringLiteral name;
  MemoryCategory category;
  bool staysForStep; ///< held from the first op to the last, whoever uses it
};

/// The row of a role.
const RoleTraits &traitsOf(ValueRole role);

llvm::StringRef valueRoleName(ValueRole role);                 ///< "input", "parameter", ...
std::optional<ValueRole> parseValueRole(llvm::StringRef name); ///< empty for unknown names
llvm::StringRef memoryCategoryName(MemoryCategory category);   ///< "parameters", "gradients", ...
llvm::ArrayRef<llvm::StringLiteral> memoryCategoryNames();     ///< by number
llvm::ArrayRef<MemoryCategory> allMemoryCategories();          ///< in the order in which tables are printed

/// Bytes on one device by category: 6 GiB of parameters and 1 GiB of activations make a total of 7 GiB.
struct MemoryTable {
  std::array<int64_t, numMemoryCategories> bytes = {};
  int64_t hostBytes = 0; ///< of the same storages, those that rest in the host's memory; no part of the total

  int64_t &operator[](MemoryCategory category) { return bytes[static_cast<size_t>(category)]; }
  int64_t operator[](MemoryCategory category) const { return bytes[static_cast<size_t>(category)]; }
  /// The sum of all categories, which is what a limit is for; saturates at the largest int64.
  int64_t total() const;

  /// The two tables line by line, the host's bytes among them; saturates at the largest int64.
  MemoryTable &operator+=(const MemoryTable &other);

  friend bool operator==(const MemoryTable &, const MemoryTable &) = default;
};

} // namespace apc
