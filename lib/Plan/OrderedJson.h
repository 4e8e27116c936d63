// JSON documents as plans are written in: keys stay in the order in which they are put. JSON comes into this room here.
#pragma once

#include <nlohmann/json.hpp>

namespace apc {

using OrderedJson = nlohmann::ordered_json;

} // namespace apc
