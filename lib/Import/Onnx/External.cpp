// Bytes of external data.
#include "External.h"

#include "apc/Import/ModelData.h"
#include "apc/Support/Error.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

namespace apc::onnx {

llvm::Expected<TensorProto> readExternal(TensorProto tensor, const TensorHeader &header, llvm::StringRef modelPath,
                                         llvm::StringRef what) {
  ExternalData data = externalData(tensor);
  if (!data.fault.empty())
    return inputError("{0}: {1}", what, data.fault);
  if (data.location.empty() || data.leavesFolder())
    return llvm::make_error<AbsentData>(
        llvm::formatv("{0}: external data at '{1}', which is no file in the model's folder", what, data.location));
  llvm::SmallString<256> file = llvm::sys::path::parent_path(modelPath);
  llvm::sys::path::append(file, data.location);
  uint64_t size = 0;
  if (std::error_code code = llvm::sys::fs::file_size(file, size)) {
    std::string message = llvm::formatv("{0}: its external data {1} cannot be read: {2}", what, file, code.message());
    if (code == std::errc::no_such_file_or_directory)
      return llvm::make_error<AbsentData>(std::move(message));
    return llvm::make_error<PlannerError>(Fault::Input, std::move(message));
  }
  int64_t offset = data.offset.value_or(0), available = static_cast<int64_t>(size) - offset;
  int64_t wanted = (header.numElements * static_cast<int64_t>(header.type.getElementTypeBitWidth()) + 7) / 8;
  if (header.type.getElementType().isInteger(1))
    wanted = header.numElements;
  int64_t length = data.length.value_or(wanted);
  if (offset < 0 || length < 0 || length > available)
    return inputError("{0}: {1} bytes at {2} of external data are wanted, {3} has {4}", what, length, offset, file,
                      size);
  auto buffer = llvm::MemoryBuffer::getFileSlice(file, static_cast<uint64_t>(length), static_cast<uint64_t>(offset));
  if (!buffer)
    return inputError("{0}: {1} cannot be read: {2}", what, file, buffer.getError().message());
  tensor.set_raw_data((*buffer)->getBufferStart(), (*buffer)->getBufferSize());
  tensor.clear_data_location();
  return tensor;
}

} // namespace apc::onnx
