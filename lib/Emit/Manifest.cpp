// Parameters of a program with their shards.
#include "Manifest.h"

#include "ProgramMesh.h"

#include "apc/IR/MainFunction.h"
#include "apc/IR/NumberInputs.h"
#include "apc/IR/Ops/Spmd/Spmd.h"
#include "apc/Support/Error.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>

namespace apc {

namespace {

class ManifestBuilder {
public:
  ManifestBuilder(const EmitRequest &request, Manifest &manifest) : request(request), manifest(manifest) {}

  llvm::Error add(ParameterOp parameter);
  void assignFiles();
  llvm::Error addValues(mlir::func::FuncOp main);
  llvm::Error addTransfers(mlir::func::FuncOp main);

private:
  /// None for a value that has no name, shape or sharding: programs written by hand may leave them out.
  llvm::Expected<std::optional<ManifestValue>> valueOf(mlir::Type type, mlir::DictionaryAttr attributes);
  llvm::Expected<std::optional<ManifestValue>> valueOf(mlir::StringAttr name, mlir::Type type,
                                                       mlir::DictionaryAttr attributes);
  size_t layoutIndex(const TensorShape &shape, const Sharding &sharding);

  const EmitRequest &request;
  Manifest &manifest;
  std::map<std::pair<std::vector<int64_t>, Sharding>, size_t> known;
};

size_t ManifestBuilder::layoutIndex(const TensorShape &shape, const Sharding &sharding) {
  std::vector<int64_t> key(shape.dims.begin(), shape.dims.end());
  key.push_back(shape.elementBits);
  auto [entry, isNew] = known.try_emplace({std::move(key), sharding}, manifest.layouts.size());
  if (isNew)
    manifest.layouts.push_back(layoutOf(shape, sharding, manifest.mesh));
  return entry->second;
}

llvm::Error ManifestBuilder::add(ParameterOp parameter) {
  TensorShape shape = *shapeOf(parameter.getOutput());
  auto dims = parameter->getAttrOfType<mlir::DenseI64ArrayAttr>(shapeAttribute);
  auto sharding = parameter->getAttrOfType<ShardingAttr>(shardingAttribute);
  if (!dims || !sharding)
    return internalError("parameter '{0}' of the program has no shape or no sharding", parameter.getName());
  shape.dims.assign(dims.asArrayRef().begin(), dims.asArrayRef().end());
  if (llvm::Error error = check(sharding.getValue(), shape, manifest.mesh))
    return error;
  ManifestParameter entry;
  entry.name = parameter.getName().str();
  llvm::raw_string_ostream(entry.elementType)
      << llvm::cast<mlir::RankedTensorType>(parameter.getType()).getElementType();
  auto data = request.options.data.find(entry.name);
  if (data == request.options.data.end())
    entry.data.absent = "the model does not say where it is";
  else
    entry.data = data->second;
  if (entry.data.storedBits != 0)
    shape.elementBits = entry.data.storedBits; // ranges are those of the file
  entry.layout = layoutIndex(shape, sharding.getValue());
  if (!entry.data.begins.empty()) {
    manifest.parameters.push_back(std::move(entry));
    return llvm::Error::success();
  }
  if (entry.data.absent.empty() && entry.data.length == 0 && shape.bytes() > 0)
    entry.data.absent = "its data has been taken out";
  // The number of values in a run of varints is known when the run is read.
  if (entry.data.absent.empty() && !entry.data.isVarints && entry.data.length != shape.bytes())
    return inputError("{0}: parameter '{1}' has {2} bytes of data, its shape needs {3}", entry.data.file, entry.name,
                      entry.data.length, shape.bytes());
  entry.shardBytes = manifest.layouts[entry.layout].localShape.bytes();
  manifest.parameters.push_back(std::move(entry));
  return llvm::Error::success();
}

void ManifestBuilder::assignFiles() {
  std::vector<PlacedTensor> placed;
  for (ManifestParameter &parameter : manifest.parameters) {
    const ByteLayout &layout = manifest.layouts[parameter.layout];
    llvm::StringRef type = parameter.data.storedType.empty() ? parameter.elementType : parameter.data.storedType;
    parameter.isStoredWhole = !isStoredInPieces(layout, layout.shape.elementBits, type);
    placed.push_back({parameter.layout, parameter.isStoredWhole, parameter.data.begins.empty()});
  }
  PieceFiles assigned = assignPieces(placed, manifest.layouts, manifest.mesh.numDevices());
  for (auto [parameter, files] : llvm::zip_equal(manifest.parameters, assigned.fileOfShard))
    parameter.fileOfShard = std::move(files);
  manifest.weightFiles = std::move(assigned.files);
}

llvm::Expected<std::optional<ManifestValue>> ManifestBuilder::valueOf(mlir::Type type,
                                                                      mlir::DictionaryAttr attributes) {
  return valueOf(attributes ? attributes.getAs<mlir::StringAttr>(nameAttribute) : mlir::StringAttr(), type, attributes);
}

llvm::Expected<std::optional<ManifestValue>> ManifestBuilder::valueOf(mlir::StringAttr name, mlir::Type type,
                                                                      mlir::DictionaryAttr attributes) {
  auto dims = attributes ? attributes.getAs<mlir::DenseI64ArrayAttr>(shapeAttribute) : mlir::DenseI64ArrayAttr();
  auto sharding = attributes ? attributes.getAs<ShardingAttr>(shardingAttribute) : ShardingAttr();
  std::optional<TensorShape> shape = shapeOf(type);
  if (!name || !dims || !sharding || !shape)
    return std::optional<ManifestValue>();
  shape->dims.assign(dims.asArrayRef().begin(), dims.asArrayRef().end());
  if (llvm::Error error = check(sharding.getValue(), *shape, manifest.mesh))
    return error;
  ManifestValue value{name.str(), "", layoutIndex(*shape, sharding.getValue())};
  if (auto dim = attributes.getAs<mlir::IntegerAttr>(batchDimAttribute))
    value.batchDim = dim.getInt();
  if (auto number = attributes.getAs<mlir::StringAttr>(numberAttribute))
    value.number = number.str();
  llvm::raw_string_ostream(value.elementType) << llvm::cast<mlir::RankedTensorType>(type).getElementType();
  return value;
}

llvm::Error ManifestBuilder::addValues(mlir::func::FuncOp main) {
  auto add = [&](std::vector<ManifestValue> &values, mlir::Type type, mlir::DictionaryAttr attributes) -> llvm::Error {
    llvm::Expected<std::optional<ManifestValue>> value = valueOf(type, attributes);
    if (!value)
      return value.takeError();
    if (*value)
      values.push_back(std::move(**value));
    return llvm::Error::success();
  };
  manifest.microBatches = microBatchesOf(main);
  manifest.copies = copiesOf(main);
  for (mlir::BlockArgument argument : main.getArguments())
    if (llvm::Error error = add(manifest.inputs, argument.getType(), main.getArgAttrDict(argument.getArgNumber())))
      return error;
  for (unsigned index = 0; index < main.getNumResults(); ++index)
    if (llvm::Error error = add(manifest.outputs, main.getResultTypes()[index], main.getResultAttrDict(index)))
      return error;
  return llvm::Error::success();
}

llvm::Error ManifestBuilder::addTransfers(mlir::func::FuncOp main) {
  auto add = [&](std::vector<ManifestTransfer> &transfers, auto op, mlir::Type type) -> llvm::Error {
    auto value = valueOf(op.getValueAttr(), type, op->getAttrDictionary());
    if (!value)
      return value.takeError();
    if (*value)
      transfers.push_back({std::move(**value), op.isOfStep()});
    return llvm::Error::success();
  };
  for (ReceiveOp op : main.getOps<ReceiveOp>())
    if (llvm::Error error = add(manifest.receives, op, op.getType()))
      return error;
  for (SendOp op : main.getOps<SendOp>())
    if (llvm::Error error = add(manifest.sends, op, op.getInput().getType()))
      return error;
  return llvm::Error::success();
}

} // namespace

llvm::Expected<Manifest> makeManifest(const EmitRequest &request) {
  mlir::ModuleOp program = *request.stage.module;
  auto main = mainOf(program);
  llvm::Expected<Mesh> mesh = meshOfProgram(program);
  if (!mesh)
    return mesh.takeError();
  if (!main)
    return internalError("the program has no function 'main'");
  Manifest manifest;
  manifest.mesh = std::move(*mesh);
  ManifestBuilder builder(request, manifest);
  for (auto parameter : main.getOps<ParameterOp>())
    if (llvm::Error error = builder.add(parameter))
      return error;
  builder.assignFiles();
  if (llvm::Error error = builder.addValues(main))
    return error;
  if (llvm::Error error = builder.addTransfers(main))
    return error;
  return manifest;
}

} // namespace apc
