// Base-128 numbers, 7 bits in each byte, the lowest first; all bytes of a number but the last have bit 7.
#include "DecodeVarints.h"

#include "apc/Checkpoint/WeightSource.h"
#include "apc/Support/Error.h"

namespace apc {

namespace {

class VarintDecoder {
public:
  VarintDecoder(const ManifestParameter &parameter, const TensorShape &shape, OutputFile &out)
      : data(parameter.data), name(parameter.name), out(out), numBytes(shape.bytes()),
        valueBytes(std::max<int64_t>(1, shape.elementBits / 8)) {}

  llvm::Error run(OutputFolder &folder) {
    WeightSource source;
    if (llvm::Error error = source.open(data.path))
      return error;
    for (int64_t at = 0; at < data.length; at += WeightSource::windowBytes) {
      if (llvm::Error error = folder.checkInterrupt())
        return error;
      auto text = source.read(data.offset + at, std::min(WeightSource::windowBytes, data.length - at), 0);
      if (!text)
        return text.takeError();
      for (unsigned char byte : text->bytes())
        if (llvm::Error error = take(byte))
          return error;
    }
    if (shift != 0 || numValues * valueBytes != numBytes)
      return inputError("{0}: parameter '{1}' has {2} values{3}, its shape needs {4}", data.file, name, numValues,
                        shift == 0 ? "" : " and a part of one", numBytes / valueBytes);
    return out.close();
  }

private:
  llvm::Error take(unsigned char byte) {
    constexpr unsigned bits = 64;
    if (shift < bits)
      value |= static_cast<uint64_t>(byte & 0x7F) << shift;
    shift += 7;
    if (byte & 0x80)
      return llvm::Error::success();
    char little[sizeof value];
    for (size_t i = 0; i < sizeof value; ++i)
      little[i] = static_cast<char>(value >> (8 * i));
    value = 0;
    shift = 0;
    ++numValues;
    return out.write({little, static_cast<size_t>(valueBytes)});
  }

  const ParameterData &data;
  const std::string &name;
  OutputFile &out;
  int64_t numBytes, valueBytes;
  int64_t numValues = 0;
  uint64_t value = 0;
  unsigned shift = 0; ///< above 0 within a number
};

} // namespace

static llvm::Error writeBytes(const ManifestParameter &parameter, const TensorShape &shape, OutputFile &out) {
  if (static_cast<int64_t>(parameter.data.bytes.size()) != shape.bytes())
    return internalError("parameter '{0}' was computed to {1} bytes, its shape needs {2}", parameter.name,
                         parameter.data.bytes.size(), shape.bytes());
  if (llvm::Error error = out.write(parameter.data.bytes))
    return error;
  return out.close();
}

llvm::Expected<Manifest> decodeAll(const Manifest &manifest, OutputFolder &out) {
  Manifest decoded = manifest;
  for (auto [index, parameter] : llvm::enumerate(decoded.parameters)) {
    if (!parameter.data.isVarints && parameter.data.bytes.empty())
      continue;
    const TensorShape &shape = decoded.layouts[parameter.layout].shape;
    std::string name = llvm::formatv("{0}/{1}", decodedFolder, index).str();
    auto file = out.open(name);
    if (!file)
      return file.takeError();
    if (llvm::Error error = parameter.data.isVarints ? VarintDecoder(parameter, shape, **file).run(out)
                                                     : writeBytes(parameter, shape, **file))
      return error;
    parameter.data.path = out.placeOf(name);
    parameter.data.offset = 0;
    parameter.data.length = shape.bytes();
    parameter.data.isVarints = false;
    parameter.data.bytes.clear();
  }
  return decoded;
}

} // namespace apc
