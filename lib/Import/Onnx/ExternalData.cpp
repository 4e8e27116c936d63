// Entries of `external_data`: a number that cannot be read would be taken for another place, and so for other weights.
#include "ExternalData.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

namespace apc::onnx {

void ExternalData::add(llvm::StringRef key, llvm::StringRef value) {
  if (key == "location")
    location = value.str();
  if (key != "offset" && key != "length")
    return;
  int64_t number = 0;
  if (!value.getAsInteger(10, number) && number >= 0)
    (key == "offset" ? offset : length) = number;
  else if (fault.empty())
    fault = llvm::formatv("the {0} of its external data is '{1}': a whole number of bytes from 0 to 2^63 - 1 is "
                          "expected, in decimal digits alone",
                          key, value);
}

bool ExternalData::leavesFolder() const {
  namespace path = llvm::sys::path;
  return path::is_absolute(location) ||
         llvm::is_contained(llvm::make_range(path::begin(location), path::end(location)), llvm::StringRef(".."));
}

} // namespace apc::onnx
