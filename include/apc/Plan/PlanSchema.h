// The JSON Schema of plan.json.
#pragma once

#include <string>

namespace apc {

/// JSON Schema, draft 2020-12: every key with its unit and meaning.
std::string planSchema();

} // namespace apc
