// A plan as a terminal may show it.
#pragma once

#include "apc/Plan/Plan.h"

namespace apc {

/// `plan` with every name and text of others as `visibleText` has it: what people read is made from this. A node that
/// is called "two\nlines" is "two\\x0alines".
Plan visiblePlan(Plan plan);

} // namespace apc
