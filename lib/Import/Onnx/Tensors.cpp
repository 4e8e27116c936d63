// TensorProto -> element type, dims, constant.
#include "Tensors.h"

#include "apc/IR/Operator.h"
#include "apc/Support/Error.h"

#include "mlir/IR/BuiltinTypes.h"

#include "llvm/Support/Endian.h"

#include <limits>

namespace apc::onnx {

mlir::Type elementType(int32_t dataType, mlir::MLIRContext *context) {
  auto integer = [&](unsigned width) -> mlir::Type { return mlir::IntegerType::get(context, width); };
  auto unsignedInteger = [&](unsigned width) -> mlir::Type {
    return mlir::IntegerType::get(context, width, mlir::IntegerType::Unsigned);
  };
  switch (dataType) {
  case 1:
    return mlir::Float32Type::get(context);
  case 2:
    return unsignedInteger(8);
  case 3:
    return integer(8);
  case 4:
    return unsignedInteger(16);
  case 5:
    return integer(16);
  case 6:
    return integer(32);
  case 7:
    return integer(64);
  case 9:
    return integer(1);
  case 10:
    return mlir::Float16Type::get(context);
  case 11:
    return mlir::Float64Type::get(context);
  case 12:
    return unsignedInteger(32);
  case 13:
    return unsignedInteger(64);
  case 16:
    return mlir::BFloat16Type::get(context);
  case 17:
    return mlir::Float8E4M3FNType::get(context);
  case 18:
    return mlir::Float8E4M3FNUZType::get(context);
  case 19:
    return mlir::Float8E5M2Type::get(context);
  case 20:
    return mlir::Float8E5M2FNUZType::get(context);
  case 21:
    return unsignedInteger(4);
  case 22:
    return integer(4);
  case 23:
    return mlir::Float4E2M1FNType::get(context);
  case 24:
    return mlir::Float8E8M0FNUType::get(context);
  case 25:
    return unsignedInteger(2);
  case 26:
    return integer(2);
  default:
    return {};
  }
}

std::string dataTypeName(int32_t dataType) {
  switch (dataType) {
  case 8:
    return "STRING";
  case 14:
    return "COMPLEX64";
  case 15:
    return "COMPLEX128";
  default:
    return llvm::formatv("data type {0}", dataType);
  }
}

std::string refusedType(int32_t dataType) {
  return "has element type " + dataTypeName(dataType) + "; supported are the integer, float and bool types of ONNX";
}

std::optional<int64_t> countElements(llvm::ArrayRef<int64_t> dims) {
  constexpr int64_t limit = int64_t(1) << 60;
  int64_t count = 1;
  bool empty = false;
  for (int64_t dim : dims) {
    if (dim < 0 || dim > limit)
      return std::nullopt;
    if (dim == 0) {
      empty = true;
      continue;
    }
    if (count > limit / dim)
      return std::nullopt;
    count *= dim;
  }
  return empty ? 0 : count;
}

namespace {

bool hasData(const TensorProto &tensor) {
  return !tensor.raw_data().empty() || tensor.float_data_size() > 0 || tensor.int32_data_size() > 0 ||
         tensor.int64_data_size() > 0 || tensor.double_data_size() > 0 || tensor.uint64_data_size() > 0 ||
         tensor.string_data_size() > 0;
}

llvm::Expected<TensorHeader> makeHeader(llvm::ArrayRef<int64_t> dims, int32_t dataType, llvm::StringRef what,
                                        mlir::MLIRContext *context) {
  TensorHeader header;
  mlir::Type element = elementType(dataType, context);
  if (!element)
    return inputError("{0} {1}", what, refusedType(dataType));
  std::optional<int64_t> count = countElements(dims);
  if (!count)
    return inputError("{0} has dims [{1}]: dims must not be negative, and their product must stay below 2^60", what,
                      llvm::formatv("{0:$[, ]}", llvm::make_range(dims.begin(), dims.end())).str());
  header.type = mlir::RankedTensorType::get(dims, element);
  header.numElements = *count;
  return header;
}

llvm::Error sizeError(llvm::StringRef what, const TensorHeader &header, size_t given, llvm::StringRef unit) {
  return inputError("{0} has {1} elements of {2} bits by its dims, but {3} {4} of data", what, header.numElements,
                    header.type.getElementTypeBitWidth(), given, unit);
}

/// Integers of any width up to 32 that share `int32_data`, one value to each entry; floats of 16 and 8 bits as bit
/// patterns.
mlir::DenseElementsAttr fromBits(mlir::RankedTensorType type, llvm::ArrayRef<uint64_t> values) {
  mlir::Type element = type.getElementType();
  unsigned width = element.getIntOrFloatBitWidth();
  if (element.isInteger(1)) {
    llvm::SmallVector<bool> bools;
    for (uint64_t value : values)
      bools.push_back(value != 0);
    return mlir::DenseElementsAttr::get(type, bools);
  }
  if (auto floating = llvm::dyn_cast<mlir::FloatType>(element)) {
    std::vector<llvm::APFloat> floats;
    floats.reserve(values.size());
    for (uint64_t value : values)
      floats.emplace_back(floating.getFloatSemantics(), llvm::APInt(width, value, false, /*implicitTrunc=*/true));
    return mlir::DenseElementsAttr::get(type, floats);
  }
  std::vector<llvm::APInt> integers;
  integers.reserve(values.size());
  for (uint64_t value : values)
    integers.emplace_back(width, value, false, /*implicitTrunc=*/true);
  return mlir::DenseElementsAttr::get(type, integers);
}

/// Elements of 2 and 4 bits are packed in bytes, lowest bits first.
std::vector<uint64_t> unpack(llvm::ArrayRef<uint8_t> bytes, unsigned width, int64_t count) {
  std::vector<uint64_t> values;
  values.reserve(static_cast<size_t>(count));
  unsigned perByte = 8 / width;
  for (int64_t i = 0; i < count; ++i)
    values.push_back((bytes[static_cast<size_t>(i / perByte)] >> (width * (i % perByte))) & ((1u << width) - 1));
  return values;
}

llvm::Expected<mlir::DenseElementsAttr> readRaw(llvm::StringRef raw, const TensorHeader &header, llvm::StringRef what) {
  unsigned width = header.type.getElementTypeBitWidth();
  bool isBool = header.type.getElementType().isInteger(1);
  auto count = static_cast<uint64_t>(header.numElements);
  uint64_t expected = isBool ? count : width < 8 ? (count * width + 7) / 8 : count * (width / 8);
  if (raw.size() != expected)
    return sizeError(what, header, raw.size(), "bytes");
  auto bytes = llvm::ArrayRef(reinterpret_cast<const uint8_t *>(raw.data()), raw.size());
  if (isBool)
    return fromBits(header.type, std::vector<uint64_t>(bytes.begin(), bytes.end()));
  if (width < 8)
    return fromBits(header.type, unpack(bytes, width, header.numElements));
  return mlir::DenseElementsAttr::getFromRawBuffer(header.type, llvm::ArrayRef(raw.data(), raw.size()));
}

template <typename Values>
llvm::Expected<mlir::DenseElementsAttr> readList(const Values &values, const TensorHeader &header,
                                                 llvm::StringRef what) {
  unsigned width = header.type.getElementTypeBitWidth();
  bool packed = width < 8 && !header.type.getElementType().isInteger(1);
  int64_t perEntry = packed ? 8 / width : 1;
  if (static_cast<int64_t>(values.size()) != (header.numElements + perEntry - 1) / perEntry)
    return sizeError(what, header, static_cast<size_t>(values.size()), "entries");
  if (packed) {
    std::vector<uint8_t> bytes;
    for (auto value : values)
      bytes.push_back(static_cast<uint8_t>(value));
    return fromBits(header.type, unpack(bytes, width, header.numElements));
  }
  std::vector<uint64_t> bits;
  bits.reserve(static_cast<size_t>(values.size()));
  for (auto value : values)
    bits.push_back(static_cast<uint64_t>(static_cast<int64_t>(value)));
  return fromBits(header.type, bits);
}

/// Writes the values of a sparse tensor to their positions.
llvm::Expected<mlir::DenseElementsAttr> scatter(const Tensor &source, const Tensor &positions,
                                                const TensorHeader &header, llvm::StringRef what) {
  Tensor dense{llvm::SmallVector<int64_t, 4>(header.type.getShape()), header.type.getElementType(), {}, {}};
  if (dense.isFloat())
    dense.floats.resize(static_cast<size_t>(header.numElements));
  else
    dense.ints.resize(static_cast<size_t>(header.numElements));
  auto numValues = static_cast<size_t>(source.numElements());
  size_t width = numValues == 0 ? 0 : positions.ints.size() / numValues;
  if (positions.isFloat() || positions.ints.size() != width * numValues ||
      (numValues > 0 && width != 1 && width != dense.dims.size()))
    return inputError(
        "{0}: indices of a sparse tensor are one position, or one coordinate for each dim, for each value", what);
  for (size_t i = 0; i < numValues; ++i) {
    int64_t flat = 0;
    bool inside = true;
    for (size_t d = 0; d < width; ++d) {
      int64_t extent = width == 1 ? header.numElements : dense.dims[d], at = positions.ints[i * width + d];
      inside &= at >= 0 && at < extent;
      flat = flat * extent + (inside ? at : 0);
    }
    if (!inside)
      return inputError("{0}: entry {1} of a sparse tensor lies outside its dims", what, i);
    if (dense.isFloat())
      dense.floats[static_cast<size_t>(flat)] = source.floats[i];
    else
      dense.ints[static_cast<size_t>(flat)] = source.ints[i];
  }
  return dense.toAttribute();
}

} // namespace

std::optional<Progression> positionsIn(llvm::StringRef rawData) {
  constexpr int64_t width = sizeof(int64_t);
  auto bytes = static_cast<int64_t>(rawData.size());
  if (bytes % width != 0 || bytes > mostPositionBytes)
    return std::nullopt;
  return progressionAmong(bytes / width, [&](int64_t i) {
    return llvm::support::endian::read<int64_t, llvm::endianness::little>(rawData.data() + width * i);
  });
}

std::optional<Progression> positionsIn(const TensorProto &tensor, const TensorHeader &header) {
  constexpr int64_t width = sizeof(int64_t);
  bool isRow = llvm::is_contained(header.type.getShape(), header.numElements);
  if (!isRow || !header.type.getElementType().isSignlessInteger(64))
    return std::nullopt;
  llvm::StringRef rawData = tensor.raw_data();
  if (static_cast<int64_t>(rawData.size()) == header.numElements * width)
    return positionsIn(rawData);
  bool isList = rawData.empty() && tensor.int64_data_size() == header.numElements;
  return isList && header.numElements <= mostPositionBytes / width
             ? progressionAmong(header.numElements, [&](int64_t i) { return tensor.int64_data(static_cast<int>(i)); })
             : std::nullopt;
}

llvm::Expected<TensorHeader> readHeader(const TensorProto &tensor, llvm::StringRef what, mlir::MLIRContext *context) {
  auto header = makeHeader(llvm::ArrayRef(tensor.dims().data(), static_cast<size_t>(tensor.dims_size())),
                           tensor.data_type(), what, context);
  if (!header)
    return header;
  if (tensor.data_location() == 1)
    header->place = DataPlace::External;
  else
    header->place = hasData(tensor) || header->numElements == 0 || tensor.data_location() == dataLeftOut
                        ? DataPlace::Inline
                        : DataPlace::Absent;
  return header;
}

llvm::Expected<mlir::DenseElementsAttr> readData(const TensorProto &tensor, const TensorHeader &header,
                                                 llvm::StringRef what) {
  if (header.numElements == 0)
    return fromBits(header.type, {});
  if (!tensor.raw_data().empty())
    return readRaw(tensor.raw_data(), header, what);
  mlir::Type element = header.type.getElementType();
  if (element.isF32() || element.isF64()) {
    size_t count = static_cast<size_t>(element.isF32() ? tensor.float_data_size() : tensor.double_data_size());
    if (count != static_cast<size_t>(header.numElements))
      return sizeError(what, header, count, "entries");
    return element.isF32()
               ? mlir::DenseElementsAttr::get(header.type, llvm::ArrayRef(tensor.float_data().data(), count))
               : mlir::DenseElementsAttr::get(header.type, llvm::ArrayRef(tensor.double_data().data(), count));
  }
  if (element.isInteger(64) && !element.isUnsignedInteger())
    return readList(tensor.int64_data(), header, what);
  if (element.isUnsignedInteger(64) || element.isUnsignedInteger(32))
    return readList(tensor.uint64_data(), header, what);
  return readList(tensor.int32_data(), header, what);
}

llvm::Expected<TensorHeader> readSparseHeader(const SparseTensorProto &tensor, llvm::StringRef what,
                                              mlir::MLIRContext *context) {
  auto header = makeHeader(llvm::ArrayRef(tensor.dims().data(), static_cast<size_t>(tensor.dims_size())),
                           tensor.values().data_type(), what, context);
  if (header)
    header->place = tensor.values().data_location() == 1 || tensor.indices().data_location() == 1 ? DataPlace::External
                                                                                                  : DataPlace::Inline;
  return header;
}

llvm::Expected<mlir::DenseElementsAttr> readSparse(const SparseTensorProto &tensor, const TensorHeader &header,
                                                   llvm::StringRef what) {
  mlir::MLIRContext *context = header.type.getContext();
  auto valueHeader = readHeader(tensor.values(), what, context);
  if (!valueHeader)
    return valueHeader.takeError();
  auto indexHeader = readHeader(tensor.indices(), what, context);
  if (!indexHeader)
    return indexHeader.takeError();
  auto values = readData(tensor.values(), *valueHeader, what);
  if (!values)
    return values.takeError();
  auto indices = readData(tensor.indices(), *indexHeader, what);
  if (!indices)
    return indices.takeError();
  return scatter(Tensor::read(*values), Tensor::read(*indices), header, what);
}

ExternalData externalData(const TensorProto &tensor) {
  ExternalData data;
  for (const StringStringEntryProto &entry : tensor.external_data())
    data.add(entry.key(), entry.value());
  return data;
}

} // namespace apc::onnx
