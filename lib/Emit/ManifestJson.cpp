// manifest.json: the text form of a manifest.
#include "Manifest.h"

#include "apc/Support/Json/JsonWriter.h"

namespace apc {

namespace {

constexpr int manifestVersion = 1;

/// [offset, length], or [offset, length, stride, count, ...], outermost stride first; [] for nothing.
std::vector<int64_t> numbersOf(const ByteRange &range) {
  if (range.length == 0)
    return {};
  std::vector<int64_t> numbers = {range.offset, range.length};
  for (const ByteRange::Repeat &repeat : range.repeats)
    numbers.insert(numbers.end(), {repeat.stride, repeat.count});
  return numbers;
}

/// For each shard the list of its ranges, one for each part.
std::vector<std::vector<std::vector<int64_t>>> rangesOfParts(const ByteLayout &layout) {
  std::vector<std::vector<std::vector<int64_t>>> ranges;
  for (const Shard &shard : layout.shards) {
    ranges.push_back({numbersOf(shard.range)});
    for (const ByteRange &range : shard.furtherRanges)
      ranges.back().push_back(numbersOf(range));
  }
  return ranges;
}

/// By dim, the padded sizes of the parts in the piece, one behind the other; a dim of one run is one.
std::vector<std::vector<int64_t>> localPartsOf(const ByteLayout &layout) {
  std::vector<std::vector<int64_t>> sizes;
  for (const llvm::SmallVector<DimRun, 1> &runs : layout.shards.front().runs) {
    sizes.emplace_back();
    for (const DimRun &run : runs)
      sizes.back().push_back(run.room);
  }
  return sizes;
}

void write(JsonObjectWriter &object, const ByteLayout &layout) {
  std::vector<std::vector<int64_t>> ranges, padding;
  bool isPadded = false;
  for (const Shard &shard : layout.shards) {
    ranges.push_back(numbersOf(shard.range));
    padding.emplace_back();
    for (auto [count, local] : llvm::zip_equal(shard.count, layout.localShape.dims)) {
      padding.back().push_back(local - count);
      isPadded |= local != count;
    }
  }
  object("local_shape", layout.localShape.dims);
  object("unit", layout.unitBits == 8 ? "byte" : "bit");
  if (layout.sharding.parted.empty()) {
    object("shards", ranges);
  } else {
    object("local_parts", localPartsOf(layout));
    object("shards_by_part", rangesOfParts(layout));
  }
  if (isPadded)
    object("padding", padding);
  object("shard_of_rank", layout.shardOfRank);
}

void write(JsonObjectWriter &object, const Manifest &manifest, const ManifestParameter &parameter, bool hasWeights) {
  const ByteLayout &layout = manifest.layouts[parameter.layout];
  object("name", parameter.name);
  object("shape", layout.shape.dims);
  object("element_type", parameter.elementType);
  if (!parameter.data.storedType.empty())
    object("stored_type", parameter.data.storedType);
  object("sharding", layout.sharding.str(manifest.mesh));
  object("local_shape", layout.localShape.dims);
  object("layout", parameter.layout);
  if (!parameter.data.begins.empty())
    return object("begins", parameter.data.begins);
  if (parameter.data.absent.empty()) {
    object("file", parameter.data.file);
    object("offset", parameter.data.offset);
    object("length", parameter.data.length);
    if (parameter.data.isVarints)
      object("encoding", "varint");
  } else {
    object("absent", parameter.data.absent);
  }
  if (!hasWeights)
    return;
  if (parameter.isStoredWhole)
    return object("whole_in_file", *parameter.fileOfShard.front());
  std::vector<int64_t> files;
  for (std::optional<unsigned> file : parameter.fileOfShard)
    files.push_back(file ? static_cast<int64_t>(*file) : -1);
  object("file_of_shard", files);
}

void writeValue(JsonObjectWriter &object, const Manifest &manifest, const ManifestValue &value) {
  const ByteLayout &layout = manifest.layouts[value.layout];
  object("name", value.name);
  object("shape", layout.shape.dims);
  object("element_type", value.elementType);
  object("sharding", layout.sharding.str(manifest.mesh));
  object("local_shape", layout.localShape.dims);
  object("layout", value.layout);
  if (value.batchDim)
    object("batch_dim", *value.batchDim);
  if (!value.number.empty())
    object("number", value.number);
}

void writeAxes(JsonWriter &json, const Manifest &manifest, llvm::ArrayRef<PlanAxis> axes) {
  for (auto [index, axis] : llvm::enumerate(manifest.mesh.getAxes()))
    json.object([&](JsonObjectWriter &object) {
      object("name", axis.name);
      object("size", axis.size);
      object("level", index < axes.size() ? axes[index].level : std::string());
    });
}

void writeWeights(JsonObjectWriter &object, const Manifest &manifest) {
  std::vector<std::string> files;
  for (size_t file = 0; file < manifest.weightFiles.size(); ++file)
    files.push_back(weightFileName(file));
  object("files", files);
}

void writeTransfers(JsonWriter &json, JsonObjectWriter &object, const Manifest &manifest) {
  for (const auto &[key, transfers] :
       {std::pair("receives", &manifest.receives), std::pair("sends", &manifest.sends)}) {
    if (transfers->empty())
      continue;
    object.list(key, [&] {
      for (const ManifestTransfer &transfer : *transfers)
        json.oneLine([&] {
          json.object([&](JsonObjectWriter &entry) {
            writeValue(entry, manifest, transfer.value);
            entry("each", transfer.isOfStep ? "step" : "micro-batch");
          });
        });
    });
  }
}

} // namespace

void writeHead(JsonWriter &json, JsonObjectWriter &object, const ManifestHead &head) {
  object("version", manifestVersion);
  object("format", head.format);
  object.key("model");
  json.oneLine([&] {
    json.object([&](JsonObjectWriter &model) {
      model("path", head.modelPath);
      model("sha256", head.modelSha256);
    });
  });
}

std::string printManifest(const Manifest &manifest, const ManifestHead &head, llvm::ArrayRef<PlanAxis> axes,
                          bool hasWeights) {
  JsonWriter json;
  auto objectInOneLine = [&](llvm::function_ref<void(JsonObjectWriter &)> write) {
    json.oneLine([&] { json.object(write); });
  };
  json.object([&](JsonObjectWriter &object) {
    writeHead(json, object, head);
    object("devices", manifest.mesh.numDevices());
    object.key("mesh");
    json.oneLine([&] { json.list([&] { writeAxes(json, manifest, axes); }); });
    if (manifest.microBatches > 1)
      object("micro_batches", manifest.microBatches);
    if (manifest.copies > 1)
      object("copies", manifest.copies);
    if (hasWeights) {
      object.key("weights");
      objectInOneLine([&](JsonObjectWriter &weights) { writeWeights(weights, manifest); });
    }
    object.list("parameters", [&] {
      for (const ManifestParameter &parameter : manifest.parameters)
        objectInOneLine([&](JsonObjectWriter &entry) { write(entry, manifest, parameter, hasWeights); });
    });
    for (const auto &[key, values] : {std::pair("inputs", &manifest.inputs), std::pair("outputs", &manifest.outputs)})
      object.list(key, [&] {
        for (const ManifestValue &value : *values)
          objectInOneLine([&](JsonObjectWriter &entry) { writeValue(entry, manifest, value); });
      });
    writeTransfers(json, object, manifest);
    object.list("layouts", [&] {
      for (const ByteLayout &layout : manifest.layouts)
        objectInOneLine([&](JsonObjectWriter &entry) { write(entry, layout); });
    });
  });
  return json.take() + "\n";
}

} // namespace apc
