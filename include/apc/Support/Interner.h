// Dense ids for values: equal values get the same id.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

namespace apc {

/// Ids count up from 0 in the order in which values first appear. `Ids` is the map that finds a value again: ordered by
/// default, or hashed (`HashInterner`).
/// Example: `Interner<std::string> names; names.idOf("a") == 0; names.idOf("b") == 1; names.idOf("a") == 0;
/// names[1] == "b"`.
template <typename Value, typename Ids = std::map<Value, uint32_t>>
class Interner {
public:
  Interner() = default;
  Interner(Interner &&) noexcept = default;
  Interner &operator=(Interner &&) noexcept = default;

  uint32_t idOf(Value value) {
    auto [entry, isNew] = ids.try_emplace(std::move(value), static_cast<uint32_t>(values.size()));
    if (isNew)
      values.push_back(&entry->first);
    return entry->second;
  }
  const Value &operator[](uint32_t id) const { return *values[id]; }
  size_t size() const { return values.size(); }

  /// The values in the order of their ids; the interner is empty afterwards.
  std::vector<Value> take() {
    std::vector<Value> result;
    result.reserve(values.size());
    for (const Value *value : values)
      result.push_back(std::move(ids.extract(*value).key()));
    values.clear();
    return result;
  }

private:
  Ids ids;
  std::vector<const Value *> values; ///< by id: keys of `ids`, which never move
};

/// \p Hash returns a size_t for a value; \p Equal decides.
template <typename Value, typename Hash, typename Equal = std::equal_to<Value>>
using HashInterner = Interner<Value, std::unordered_map<Value, uint32_t, Hash, Equal>>;

} // namespace apc
