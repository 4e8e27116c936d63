// The table of roles, and the names of memory categories.
#include "apc/Graph/Roles.h"

#include "apc/Support/Saturating.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

namespace {

constexpr RoleTraits roles[] = {
    {ValueRole::Input, "input", MemoryCategory::Activations, false},
    {ValueRole::Parameter, "parameter", MemoryCategory::Parameters, true},
    {ValueRole::Activation, "activation", MemoryCategory::Activations, false},
    {ValueRole::Gradient, "gradient", MemoryCategory::Gradients, false},
    {ValueRole::OptimizerState, "optimizer_state", MemoryCategory::Optimizer, true},
    {ValueRole::Output, "output", MemoryCategory::Activations, false},
};

constexpr MemoryCategory categories[] = {
    MemoryCategory::Parameters, MemoryCategory::Gradients,     MemoryCategory::Optimizer, MemoryCategory::Activations,
    MemoryCategory::Workspace,  MemoryCategory::Communication, MemoryCategory::Runtime};
constexpr llvm::StringLiteral categoryNames[] = {"parameters", "gradients",     "optimizer", "activations",
                                                 "workspace",  "communication", "runtime"};
static_assert(std::size(categories) == numMemoryCategories && std::size(categoryNames) == numMemoryCategories);

} // namespace

const RoleTraits &traitsOf(ValueRole role) {
  const RoleTraits &traits = roles[static_cast<size_t>(role)];
  assert(traits.role == role && "the table of roles is in the order of the enumeration");
  return traits;
}

llvm::StringRef valueRoleName(ValueRole role) { return traitsOf(role).name; }

std::optional<ValueRole> parseValueRole(llvm::StringRef name) {
  const auto *found = llvm::find_if(roles, [&](const RoleTraits &traits) { return traits.name == name; });
  return found == std::end(roles) ? std::nullopt : std::optional(found->role);
}

llvm::StringRef memoryCategoryName(MemoryCategory category) { return categoryNames[static_cast<size_t>(category)]; }

llvm::ArrayRef<llvm::StringLiteral> memoryCategoryNames() { return categoryNames; }

llvm::ArrayRef<MemoryCategory> allMemoryCategories() { return categories; }

MemoryTable &MemoryTable::operator+=(const MemoryTable &other) {
  for (size_t category = 0; category < numMemoryCategories; ++category)
    bytes[category] = addSaturating(bytes[category], other.bytes[category]);
  hostBytes = addSaturating(hostBytes, other.hostBytes);
  return *this;
}

int64_t MemoryTable::total() const {
  int64_t sum = 0;
  for (int64_t part : bytes)
    sum = addSaturating(sum, part);
  return sum;
}

} // namespace apc
