// Rows of the table of settings about precision and optimizers.
#pragma once

#include "apc/Plan/Settings.h"

#include <vector>

namespace apc {

std::vector<Setting> optimizerRows();

} // namespace apc
