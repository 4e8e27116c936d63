// A layout as the plan, where the search has a slower one or none.
#pragma once

#include "LayoutReferences.h"

#include "apc/Search/SearchEnd.h"

namespace apc {

/// The layout in place of the plan of the search, which is slower.
Plan inPlaceOf(const Plan &searched, Plan layout);

/// The best of \p layouts where the search, which came to such an \p end, has no plan; any other error stays.
llvm::Expected<Plan> inPlaceOf(llvm::Error error, LayoutReferences &layouts, const PlanRequest &request, SearchEnd end);

} // namespace apc
