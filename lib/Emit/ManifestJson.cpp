// manifest.json: the one file of the Emit room that knows JSON.
#include "Manifest.h"

#include <nlohmann/json.hpp>

namespace apc {

using Json = nlohmann::ordered_json;

namespace {

constexpr int manifestVersion = 1;

/// [offset, length], or [offset, length, stride, count, ...], outermost stride first; [] for nothing.
Json rangeJson(const ByteRange &range) {
  if (range.length == 0)
    return Json::array();
  Json json = {range.offset, range.length};
  for (const ByteRange::Repeat &repeat : range.repeats) {
    json.push_back(repeat.stride);
    json.push_back(repeat.count);
  }
  return json;
}

Json dimsJson(llvm::ArrayRef<int64_t> dims) { return std::vector<int64_t>(dims.begin(), dims.end()); }

Json layoutJson(const ByteLayout &layout) {
  Json ranges = Json::array(), padding = Json::array();
  bool isPadded = false;
  for (const Shard &shard : layout.shards) {
    ranges.push_back(rangeJson(shard.range));
    Json pads = Json::array();
    for (auto [count, local] : llvm::zip_equal(shard.count, layout.localShape.dims)) {
      pads.push_back(local - count);
      isPadded |= local != count;
    }
    padding.push_back(std::move(pads));
  }
  Json json = {{"local_shape", dimsJson(layout.localShape.dims)},
               {"unit", layout.unitBits == 8 ? "byte" : "bit"},
               {"shards", std::move(ranges)}};
  if (isPadded)
    json["padding"] = std::move(padding);
  json["shard_of_rank"] = layout.shardOfRank;
  return json;
}

Json parameterJson(const Manifest &manifest, const ManifestParameter &parameter, bool hasWeights) {
  const ByteLayout &layout = manifest.layouts[parameter.layout];
  Json json = {{"name", parameter.name},
               {"shape", dimsJson(layout.shape.dims)},
               {"element_type", parameter.elementType},
               {"sharding", layout.sharding.str(manifest.mesh)},
               {"local_shape", dimsJson(layout.localShape.dims)},
               {"layout", parameter.layout}};
  if (parameter.data.absent.empty()) {
    json["file"] = parameter.data.file;
    json["offset"] = parameter.data.offset;
    json["length"] = parameter.data.length;
    if (parameter.data.isVarints)
      json["encoding"] = "varint";
  } else {
    json["absent"] = parameter.data.absent;
  }
  if (hasWeights) {
    json["weights_offset"] = parameter.shardOffset;
    json["weights_length"] = parameter.shardBytes;
  }
  return json;
}

Json axesJson(const Manifest &manifest, const Plan &plan) {
  Json json = Json::array();
  for (auto [index, axis] : llvm::enumerate(manifest.mesh.getAxes()))
    json.push_back({{"name", axis.name},
                    {"size", axis.size},
                    {"level", index < plan.stages.front().mesh.axes.size() ? plan.stages.front().mesh.axes[index].level : std::string()}});
  return json;
}

Json weightsJson(const Manifest &manifest) {
  Json files = Json::array();
  for (size_t file = 0; file < manifest.rankOfFile.size(); ++file)
    files.push_back(weightFileName(file));
  return {{"files", std::move(files)}, {"bytes", manifest.fileBytes}, {"file_of_rank", manifest.fileOfRank}};
}

std::string compact(const Json &json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

/// An array with a line for each element.
template <typename List, typename F>
std::string lines(const List &list, F toJson) {
  std::string text = "[";
  for (auto [index, item] : llvm::enumerate(list))
    text += (index ? ",\n    " : "\n    ") + compact(toJson(item));
  return text + (list.empty() ? "]" : "\n  ]");
}

} // namespace

std::string printManifest(const Manifest &manifest, const EmitRequest &request) {
  bool hasWeights = request.options.weights;
  std::string text = "{\n";
  auto add = [&](llvm::StringRef key, const std::string &value) {
    text += (text.size() > 2 ? ",\n  \"" : "  \"") + key.str() + "\": " + value;
  };
  add("version", compact(manifestVersion));
  add("format", compact(manifest.format));
  add("model", compact({{"path", request.options.modelPath}, {"sha256", request.plan.modelSha256}}));
  add("devices", compact(manifest.mesh.numDevices()));
  add("mesh", compact(axesJson(manifest, request.plan)));
  if (hasWeights)
    add("weights", compact(weightsJson(manifest)));
  add("parameters", lines(manifest.parameters, [&](const ManifestParameter &parameter) {
        return parameterJson(manifest, parameter, hasWeights);
      }));
  add("layouts", lines(manifest.layouts, layoutJson));
  return text + "\n}\n";
}

} // namespace apc
