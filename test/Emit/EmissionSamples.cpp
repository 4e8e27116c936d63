// Plans and manifests.
#include "EmissionSamples.h"

#include "Import/ModelText.h"

#include "apc/Driver/PlanFile.h"
#include "apc/Support/File.h"

namespace apc::test {

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
                     const std::string &cluster, const std::vector<Pin> &pins) {
  PlanRequest request;
  request.mode = StepMode::Infer;
  request.pins = pins;
  request.modelPath = modelPath;
  request.devices = devices;
  request.cluster = cluster;
  return valueOf(savePlan(valueOf(planModel(request, {})), folder));
}

ReadManifest::ReadManifest(const std::string &folder)
    : json(Json::parse(contentOf(folder + "/manifest.json"), nullptr, /*allow_exceptions=*/false)), folder(folder) {
  REQUIRE(json.is_object());
}

/// The ranges of a rank's piece, one for each part, and the box of the piece that each fills.
std::vector<ReadManifest::Box> ReadManifest::boxesOf(const Json &parameter, int64_t rank) const {
  const Json &layout = json["layouts"][parameter["layout"].get<size_t>()];
  auto shard = layout["shard_of_rank"][static_cast<size_t>(rank)].get<size_t>();
  auto local = parameter["local_shape"].get<std::vector<size_t>>();
  std::vector<std::vector<size_t>> parts;
  for (size_t size : local)
    parts.push_back({size});
  if (layout.contains("local_parts"))
    parts = layout["local_parts"].get<std::vector<std::vector<size_t>>>();
  std::vector<Box> boxes = {{{}, {}, {}}};
  for (size_t dim = 0; dim < local.size(); ++dim) {
    std::vector<Box> further;
    for (const Box &box : boxes) {
      size_t begin = 0;
      for (size_t size : parts[dim]) {
        further.push_back(box);
        further.back().begin.push_back(begin);
        further.back().size.push_back(size);
        begin += size;
      }
    }
    boxes = std::move(further);
  }
  bool isParted = layout.contains("shards_by_part");
  for (size_t index = 0; index < boxes.size(); ++index) {
    boxes[index].range = isParted ? layout["shards_by_part"][shard][index] : layout["shards"][shard];
    if (layout.contains("padding") && !isParted)
      for (size_t dim = 0; dim < local.size(); ++dim)
        boxes[index].size[dim] -= layout["padding"][shard][dim].get<size_t>();
  }
  return boxes;
}

std::string ReadManifest::readRanges(const Json &parameter, int64_t rank, const std::string &data) const {
  std::string text;
  for (const Box &box : boxesOf(parameter, rank))
    text += readRange(parameter, box.range, data);
  return text;
}

std::string ReadManifest::readRange(const Json &parameter, const Json &range, const std::string &data) const {
  const Json &layout = json["layouts"][parameter["layout"].get<size_t>()];
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

bool ReadManifest::holds(const Json &parameter, int64_t rank, const std::string &source) const {
  auto name = parameter["name"].get<std::string>();
  auto fileOf = [&](const Json &index) {
    return ReadTensors(folder + "/" + json["weights"]["files"][index.get<size_t>()].get<std::string>());
  };
  if (parameter.contains("whole_in_file"))
    return fileOf(parameter["whole_in_file"]).bytesOf(name) ==
           source.substr(parameter["offset"].get<size_t>(), parameter["length"].get<size_t>());
  const Json &layout = json["layouts"][parameter["layout"].get<size_t>()];
  auto shard = layout["shard_of_rank"][static_cast<size_t>(rank)].get<size_t>();
  std::string wanted = readRanges(parameter, rank, source);
  const Json &place = parameter["file_of_shard"][shard];
  if (place.get<int64_t>() < 0)
    return wanted.empty();
  ReadTensors file = fileOf(place);
  // The first byte of the piece follows from where the piece begins.
  auto shape = parameter["shape"].get<std::vector<size_t>>();
  std::vector<size_t> begin = file.beginOf(name);
  size_t numElements = 1, first = 0;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    numElements *= shape[dim];
    first = first * shape[dim] + begin.at(dim);
  }
  size_t element = parameter["length"].get<size_t>() / std::max<size_t>(numElements, 1);
  return file.bytesOf(name) == wanted && first * element == layout["shards"][shard][0].get<size_t>();
}

ReadTensors::ReadTensors(const std::string &path) {
  std::string text = contentOf(path);
  REQUIRE(text.size() >= 8);
  size_t length = 0;
  for (size_t byte = 8; byte-- > 0;)
    length = length << 8 | static_cast<unsigned char>(text[byte]);
  REQUIRE(text.size() >= 8 + length);
  CHECK(length % 8 == 0);
  header = Json::parse(text.substr(8, length));
  data = text.substr(8 + length);
  // No holes, no overlap: each tensor begins where the one before it ends, and the last ends with the file.
  std::map<size_t, size_t> spans;
  for (const auto &[name, entry] : header.items())
    if (name != "__metadata__")
      spans[entry["data_offsets"][0].get<size_t>()] =
          std::max(spans[entry["data_offsets"][0].get<size_t>()], entry["data_offsets"][1].get<size_t>());
  size_t end = 0;
  for (auto [from, to] : spans) {
    CHECK(from == end);
    end = to;
  }
  CHECK(end == data.size());
}

std::string ReadTensors::bytesOf(const std::string &name) const {
  auto offsets = header.at(name)["data_offsets"].get<std::vector<size_t>>();
  return data.substr(offsets[0], offsets[1] - offsets[0]);
}

std::vector<size_t> ReadTensors::beginOf(const std::string &name) const {
  Json pieces = Json::parse(header.at("__metadata__")["DCP_SHARDING_INFO"].get<std::string>());
  return pieces.at(name)["saved_offsets"].get<std::vector<size_t>>();
}

} // namespace apc::test
