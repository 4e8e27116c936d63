// Is a test built with AddressSanitizer? Rounds that repeat the same code are fewer there: each takes five times as
// long.
#pragma once

namespace apc {

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool isSanitized = true;
#else
inline constexpr bool isSanitized = false;
#endif
#else
inline constexpr bool isSanitized = false;
#endif

} // namespace apc
