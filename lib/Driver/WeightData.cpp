// Where the data of each parameter of a program lies.
#include "WeightData.h"

#include "apc/IR/Apc.h"
#include "apc/IR/AttributeNames.h"
#include "apc/Import/WeightFiles.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"

namespace apc {

namespace {

/// Why a parameter of this source that the file does not hold has no data.
std::string whyAbsent(llvm::StringRef source) {
  if (source == "input")
    return "an input of the graph: whoever runs the model gives it";
  if (source == "fill")
    return "filled with one value by the model";
  if (source == "initializer")
    return "computed from other constants when the model is read";
  return "the main graph does not hold it";
}

/// The value with which a state of the optimizer begins; empty for weights.
std::string beginningOf(ParameterOp parameter) {
  if (parameter.getSource() == masterSource)
    return ("copy of " + parameter.getName().drop_back(masterSuffix.size())).str();
  return parameter.getSource() == zerosSource ? "zeros" : "";
}

/// Notes the type of the data where the step computes in another, and returns the bytes that the data have.
int64_t noteStored(ParameterOp parameter, ParameterData &entry) {
  TensorShape shape = *shapeOf(parameter.getOutput());
  if (auto stored = parameter->getAttrOfType<mlir::TypeAttr>(storedAttribute)) {
    entry.storedBits = shape.elementBits = stored.getValue().getIntOrFloatBitWidth();
    llvm::raw_string_ostream(entry.storedType) << stored.getValue();
  }
  return shape.bytes();
}

/// The elements row-major and little-endian, as ONNX stores them; empty for types smaller than a byte.
std::string bytesOf(mlir::DenseElementsAttr data) {
  unsigned width = data.getElementType().getIntOrFloatBitWidth();
  llvm::ArrayRef<char> raw = data.getRawData();
  if (width % 8 != 0)
    return "";
  if (!data.isSplat())
    return std::string(raw.begin(), raw.end());
  std::string bytes;
  for (int64_t i = 0; i < data.getNumElements(); ++i)
    bytes.append(raw.begin(), raw.begin() + width / 8);
  return bytes;
}

} // namespace

llvm::Expected<llvm::StringMap<ParameterData>> findWeightData(mlir::ModuleOp model, llvm::StringRef modelPath,
                                                              const FoldedWeights &folded) {
  auto located = locateWeights(modelPath);
  if (!located)
    return located.takeError();
  llvm::StringMap<ParameterData> data;
  model.walk([&](ParameterOp parameter) {
    ParameterData &entry = data[parameter.getName()];
    entry.begins = beginningOf(parameter);
    if (!entry.begins.empty())
      return;
    int64_t bytes = noteStored(parameter, entry);
    auto found = located->find(parameter.getName());
    if (found == located->end() || parameter.getSource() == "fill") {
      entry.absent = whyAbsent(parameter.getSource());
      if (auto data = folded.find(parameter.getName().str()); data != folded.end())
        entry.bytes = bytesOf(data->second);
      return;
    }
    const WeightLocation &location = found->second;
    llvm::SmallString<128> path(llvm::sys::path::parent_path(modelPath));
    llvm::sys::path::append(path, location.file);
    entry.file = location.file;
    entry.path = path.str().str();
    entry.offset = location.offset;
    entry.length = location.length.value_or(bytes);
    entry.absent = location.absent;
    entry.isVarints = location.isVarints;
  });
  return data;
}

} // namespace apc
