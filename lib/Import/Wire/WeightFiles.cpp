// Initializers and Constant nodes found in the wire format. Field numbers are those of OnnxModel.proto.
#include "apc/Import/WeightFiles.h"

#include "../Onnx/ExternalData.h"
#include "WireReader.h"

#include "apc/Support/Error.h"

#include "llvm/Support/Path.h"

namespace apc {

namespace {

using onnx::WireReader;
using Field = WireReader::Field;
using Wire = WireReader::Wire;

namespace model {
constexpr unsigned graph = 7;
} // namespace model
namespace graph {
constexpr unsigned node = 1, initializer = 5, sparseInitializer = 15;
} // namespace graph
namespace node {
constexpr unsigned output = 2, attribute = 5;
} // namespace node
namespace attribute {
constexpr unsigned name = 1, tensor = 5, sparseTensor = 22;
} // namespace attribute
namespace sparse {
constexpr unsigned values = 1;
} // namespace sparse
namespace tensor {
constexpr unsigned floatData = 4, int32Data = 5, int64Data = 7, name = 8, rawData = 9, doubleData = 10, uint64Data = 11,
                   externalData = 13, dataLocation = 14;
} // namespace tensor

/// Fields whose entries have no fixed width.
bool isOfVarints(unsigned number) {
  return number == tensor::int32Data || number == tensor::int64Data || number == tensor::uint64Data;
}

class WeightFinder {
public:
  WeightFinder(WireReader &reader, llvm::StringRef path)
      : reader(reader), ownFile(llvm::sys::path::filename(path).str()) {}

  bool run() {
    return reader.walkFile([&](const Field &field) {
      if (field.number != model::graph || field.wire != Wire::Bytes)
        return true;
      return reader.walk(field.offset, field.end(), [&](const Field &inner) { return addGraphField(inner); });
    });
  }

  llvm::StringMap<WeightLocation> found;
  std::string problem; ///< of a tensor whose place cannot be read

private:
  struct Entry {
    std::string name;
    WeightLocation location;
    std::string fault; ///< of its external data
  };

  bool addGraphField(const Field &field) {
    if (field.wire != Wire::Bytes)
      return true;
    if (field.number == graph::node)
      return addNode(field);
    Entry entry;
    if (field.number == graph::initializer)
      return readTensor(field, entry) && add(std::move(entry));
    if (field.number == graph::sparseInitializer)
      return readSparse(field, entry) && add(std::move(entry));
    return true;
  }

  bool add(Entry entry) {
    if (!entry.name.empty())
      found.try_emplace(entry.name, std::move(entry.location));
    if (!entry.fault.empty())
      problem = "tensor '" + entry.name + "': " + entry.fault;
    return problem.empty();
  }

  /// A node with an attribute `value` (or `sparse_value`) that is a tensor and a single output is a Constant.
  bool addNode(const Field &nodeField) {
    Entry entry;
    std::string output;
    unsigned numOutputs = 0;
    bool isConstant = false;
    bool read = reader.walk(nodeField.offset, nodeField.end(), [&](const Field &field) {
      if (field.wire != Wire::Bytes)
        return true;
      if (field.number == node::output)
        return ++numOutputs > 1 || reader.readText(field, output);
      return field.number != node::attribute || readAttribute(field, entry, isConstant);
    });
    if (!read || !isConstant || numOutputs != 1)
      return read;
    entry.name = std::move(output);
    return add(std::move(entry));
  }

  bool readAttribute(const Field &attributeField, Entry &entry, bool &isConstant) {
    std::string name;
    Field value;
    if (!reader.walk(attributeField.offset, attributeField.end(), [&](const Field &field) {
          if (field.wire != Wire::Bytes)
            return true;
          if (field.number == attribute::tensor || field.number == attribute::sparseTensor)
            value = field;
          return field.number != attribute::name || reader.readText(field, name);
        }))
      return false;
    bool isSparse = value.number == attribute::sparseTensor;
    if (value.number == 0 || name != (isSparse ? "sparse_value" : "value"))
      return true;
    isConstant = true;
    return isSparse ? readSparse(value, entry) : readTensor(value, entry);
  }

  bool readSparse(const Field &sparseField, Entry &entry) {
    bool read = reader.walk(sparseField.offset, sparseField.end(), [&](const Field &field) {
      return field.number != sparse::values || field.wire != Wire::Bytes || readTensor(field, entry);
    });
    entry.location = {ownFile, 0, std::nullopt, "stored as a sparse tensor"};
    return read;
  }

  bool readTensor(const Field &tensorField, Entry &entry) {
    WeightLocation &location = entry.location;
    location = {ownFile, 0, std::nullopt, "declared without data"};
    bool isExternal = false;
    onnx::ExternalData external;
    bool read = reader.walk(tensorField.offset, tensorField.end(), [&](const Field &field) {
      if (field.number == tensor::name && field.wire == Wire::Bytes)
        return reader.readText(field, entry.name);
      if (field.number == tensor::dataLocation && field.wire == Wire::Varint)
        isExternal = field.value == 1;
      else if (field.number == tensor::externalData && field.wire == Wire::Bytes)
        return readExternal(field, external);
      else
        addData(field, location);
      return true;
    });
    if (!isExternal)
      return read;
    location = {external.location, external.offset.value_or(0), external.length, ""};
    if (external.location.empty())
      location.absent = "external, without a location";
    else if (external.leavesFolder())
      location.absent = "its location '" + location.file + "' leaves the model's folder";
    entry.fault = std::move(external.fault);
    return read;
  }

  static void addData(const Field &field, WeightLocation &location) {
    bool isRange =
        field.number == tensor::rawData || field.number == tensor::floatData || field.number == tensor::doubleData;
    if (!isRange && !isOfVarints(field.number))
      return;
    if (location.length || field.wire != Wire::Bytes)
      location.absent = "its values are stored in several runs";
    else if (field.value > 0 || field.number == tensor::rawData)
      location = {location.file, field.offset, static_cast<int64_t>(field.value), "", isOfVarints(field.number)};
  }

  bool readExternal(const Field &entryField, onnx::ExternalData &external) {
    constexpr unsigned keyField = 1, valueField = 2;
    std::string key, value;
    if (!reader.walk(entryField.offset, entryField.end(), [&](const Field &field) {
          if (field.wire != Wire::Bytes || (field.number != keyField && field.number != valueField))
            return true;
          return reader.readText(field, field.number == keyField ? key : value);
        }))
      return false;
    external.add(key, value);
    return true;
  }

  WireReader &reader;
  std::string ownFile;
};

} // namespace

llvm::Expected<llvm::StringMap<WeightLocation>> locateWeights(llvm::StringRef path) {
  auto reader = WireReader::open(path);
  if (!reader)
    return reader.takeError();
  WeightFinder finder(*reader, path);
  if (!finder.run())
    return finder.problem.empty() ? reader->takeError() : inputError("{0}: {1}", path, finder.problem);
  return std::move(finder.found);
}

} // namespace apc
