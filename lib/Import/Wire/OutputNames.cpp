// Outputs by the wire format: field 12 of the graph, which is field 7 of the model.
#include "apc/Import/OutputNames.h"

#include "WireReader.h"

namespace apc {

llvm::Expected<int64_t> countOutputs(llvm::StringRef path) {
  constexpr unsigned graphOfModel = 7, outputOfGraph = 12;
  auto reader = onnx::WireReader::open(path);
  if (!reader)
    return reader.takeError();
  int64_t count = 0;
  auto countOutput = [&](const onnx::WireReader::Field &field) {
    count += field.number == outputOfGraph;
    return true;
  };
  bool isRead = reader->walkFile([&](const onnx::WireReader::Field &field) {
    bool isGraph = field.number == graphOfModel && field.wire == onnx::WireReader::Wire::Bytes;
    return !isGraph || reader->walk(field.offset, field.end(), countOutput);
  });
  if (!isRead)
    return reader->takeError();
  return count;
}

} // namespace apc
