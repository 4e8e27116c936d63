// Plans and manifests.
#include "EmissionSamples.h"

#include "Import/ModelText.h"

#include "apc/Driver/PlanFile.h"
#include "apc/Support/File.h"

namespace apc::test {

void require(llvm::Error error) {
  if (error)
    FAIL(takeMessage(std::move(error)).second);
}

std::string contentOf(const std::string &path) { return valueOf(readFile(path)); }

std::string writeExternalModel(const std::string &folder, int64_t rows, int64_t columns) {
  std::string row = std::to_string(rows), column = std::to_string(columns);
  auto weight = [](const std::string &name, const std::string &dims, int64_t offset, int64_t length) {
    return "initializer { name: \"" + name + "\" data_type: 1 " + dims +
           " data_location: 1 external_data { key: \"location\" value: \"weights.bin\" } external_data { key: "
           "\"offset\" value: \"" +
           std::to_string(offset) + "\" } external_data { key: \"length\" value: \"" + std::to_string(length) +
           "\" } }\n";
  };
  std::string graph = input("x", {"8", row}) + weight("w", "dims: " + row + " dims: " + column, 0, 4 * rows * columns) +
                      weight("b", "dims: " + column, 4 * rows * columns, 4 * columns) +
                      node("MatMul", {"x", "w"}, {"h"}) + node("Add", {"h", "b"}, {"y"}) + output("y");
  require(writeFileAtomically(folder + "/model.onnx", serialize(graph)));
  return folder + "/model.onnx";
}

std::string planFile(const std::string &modelPath, int64_t devices, const std::string &folder,
                     const std::string &cluster) {
  PlanRequest request;
  request.modelPath = modelPath;
  request.devices = devices;
  request.cluster = cluster;
  return valueOf(savePlan(valueOf(planModel(request, {})), folder));
}

ReadManifest::ReadManifest(const std::string &folder)
    : json(Json::parse(contentOf(folder + "/manifest.json"), nullptr, /*allow_exceptions=*/false)) {
  REQUIRE(json.is_object());
}

std::string ReadManifest::readRanges(const Json &parameter, int64_t rank, const std::string &data) const {
  const Json &layout = json["layouts"][parameter["layout"].get<size_t>()];
  const Json &range = layout["shards"][layout["shard_of_rank"][static_cast<size_t>(rank)].get<size_t>()];
  bool isOfBits = layout["unit"] == "bit";
  std::string text;
  if (range.empty())
    return text;
  auto start = parameter["offset"].get<size_t>(), length = range[1].get<size_t>();
  std::vector<size_t> offsets = {range[0].get<size_t>()};
  for (size_t at = 2; at < range.size(); at += 2) {
    std::vector<size_t> further;
    for (size_t offset : offsets)
      for (size_t i = 0; i < range[at + 1].get<size_t>(); ++i)
        further.push_back(offset + i * range[at].get<size_t>());
    offsets = std::move(further);
  }
  for (size_t offset : offsets)
    if (isOfBits)
      for (size_t bit = offset; bit < offset + length; ++bit)
        text += (data.at(start + bit / 8) >> (bit % 8)) & 1 ? '1' : '0';
    else
      text += data.substr(start + offset, length);
  return text;
}

std::string ReadManifest::piece(const Json &parameter, int64_t rank, const std::string &data) const {
  const Json &layout = json["layouts"][parameter["layout"].get<size_t>()];
  auto shard = layout["shard_of_rank"][static_cast<size_t>(rank)].get<size_t>();
  auto local = parameter["local_shape"].get<std::vector<size_t>>();
  std::vector<size_t> held = local;
  size_t numLocal = 1, numHeld = 1;
  for (size_t dim = 0; dim < local.size(); ++dim) {
    held[dim] -= layout.contains("padding") ? layout["padding"][shard][dim].get<size_t>() : 0;
    numLocal *= local[dim];
    numHeld *= held[dim];
  }
  std::string read = readRanges(parameter, rank, data);
  if (numHeld == 0)
    return std::string(parameter["weights_length"].get<size_t>(), '\0');
  size_t element = read.size() / numHeld;
  std::string padded(numLocal * element, '\0');
  for (size_t index = 0; index < numHeld; ++index) {
    size_t rest = index, place = 0, stride = 1;
    for (size_t dim = local.size(); dim-- > 0;) {
      place += rest % held[dim] * stride;
      rest /= held[dim];
      stride *= local[dim];
    }
    padded.replace(place * element, element, read, index * element, element);
  }
  return padded;
}

} // namespace apc::test
