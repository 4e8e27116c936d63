// From a plan to files: loads, imports, partitions, finds the weights, emits.
#include "apc/Driver/EmitPlan.h"

#include "apc/Driver/PlanFile.h"
#include "apc/Driver/PlannedProgram.h"
#include "apc/IR/Apc.h"
#include "apc/Import/WeightFiles.h"
#include "apc/Support/Error.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"

#include <set>

namespace apc {

namespace {

llvm::Expected<std::vector<int64_t>> readRanks(llvm::StringRef text, int64_t numDevices) {
  std::set<int64_t> ranks;
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, ',', -1, /*KeepEmpty=*/text.contains(','));
  for (llvm::StringRef part : parts) {
    int64_t rank = 0;
    if (part == "all") {
      for (int64_t each = 0; each < numDevices; ++each)
        ranks.insert(each);
      continue;
    }
    if (part.trim().getAsInteger(10, rank))
      return inputError("--rank {0}: '{1}' is no rank; accepted are numbers from 0 to {2}, as 0,8,16, or all", text,
                        part, numDevices - 1);
    ranks.insert(rank);
  }
  return std::vector<int64_t>(ranks.begin(), ranks.end());
}

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

llvm::Expected<llvm::StringMap<ParameterData>> dataOf(mlir::ModuleOp model, llvm::StringRef modelPath,
                                                      const FoldedWeights &folded) {
  auto located = locateWeights(modelPath);
  if (!located)
    return located.takeError();
  llvm::StringMap<ParameterData> data;
  model.walk([&](ParameterOp parameter) {
    ParameterData &entry = data[parameter.getName()];
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
    entry = {location.file,   path.str().str(),
             location.offset, location.length.value_or(shapeOf(parameter.getOutput())->bytes()),
             location.absent, location.isVarints};
  });
  return data;
}

} // namespace

llvm::Expected<Emission> emitPlan(const EmitPlanOptions &options) {
  if (auto emitter = findEmitter(options.format); !emitter)
    return emitter.takeError();
  llvm::Expected<Plan> plan = loadPlan(options.planPath);
  if (!plan)
    return plan.takeError();
  llvm::Expected<std::vector<int64_t>> ranks = readRanks(options.ranks, plan->numRanks());
  if (!ranks)
    return ranks.takeError();
  llvm::Expected<std::string> model = findModel(*plan, options.planPath, options.modelPath);
  if (!model)
    return model.takeError();
  llvm::Expected<PlannedProgram> built = buildProgram(*plan, *model);
  if (!built)
    return built.takeError();
  auto data = dataOf(*built->original, built->modelPath, built->folded);
  if (!data)
    return data.takeError();
  EmitOptions emitOptions{std::move(*ranks), options.weights, built->modelPath, std::move(*data)};
  return emit(built->program, *plan, options.format, options.folder, emitOptions);
}

} // namespace apc
