// Sets a figure in a cluster's document.
#pragma once

#include "JsonDocument.h"
#include "Override.h"

namespace apc {

/// Sets the figure in its document, as if the file said so; its source is `--cluster-set`. Objects on the way that are
/// not there are made. Errors start with `flag`.
llvm::Error setFigure(nlohmann::json &document, const Override &setting, llvm::StringRef flag);

} // namespace apc
