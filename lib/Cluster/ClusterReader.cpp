// The JSON schema of clusters (README.md): the objects that hold the figures, and what figures say of each other.
#include "ClusterReader.h"
#include "ReadFigure.h"
#include "apc/Cluster/LevelWord.h"
#include "apc/Support/Error.h"
#include "apc/Support/Json/JsonWriter.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace llvm;

namespace apc {

namespace {

constexpr size_t maxLevels = 8;

template <typename Owner>
SmallVector<StringRef> keysOf() {
  return map_to_vector(figureRows<Owner>(), [](const FigureRow<Owner> &row) -> StringRef { return row.key; });
}

JsonValue objectOf(StringRef key, JsonValue value) {
  JsonValue object;
  object.content = std::vector{JsonMember{key.str(), std::move(value)}};
  return object;
}

} // namespace

template <typename Owner>
void ClusterReader::readSection(JsonReader object, FigurePlace place, Owner &owner) {
  if (!object.expectKeys(keysOf<Owner>()))
    return;
  for (const auto &[index, row] : enumerate(figureRows<Owner>())) {
    std::optional<JsonReader> figure = object.find(row.key);
    if (!figure && row.isRequired)
      return object.fail("'" + row.key + "' is missing (" + row.unit.name + " expected)");
    if (!figure)
      continue;
    SourcedFigure sourced(*figure);
    if (!object.hasFailed())
      readFigure(sourced.value, row, owner);
    if (object.hasFailed())
      return;
    place.row = index;
    if (!row.isName())
      given[place] = {sourced.value.value(), sourced.source};
  }
}

void ClusterReader::readLevels(JsonReader levels) {
  const JsonValue &list = levels.value();
  if (!list.isList() || list.list().empty() || list.list().size() > maxLevels)
    return levels.fail("a list of 1 to " + Twine(maxLevels) + " levels is expected, outermost first, not " +
                       levels.quote());
  levels.forEach([&](JsonReader level) {
    FigurePlace place{FigurePlace::Section::Level, cluster.pool.levels.size()};
    readSection(level, place, cluster.pool.levels.emplace_back());
  });
}

void ClusterReader::readDocument(JsonReader document) {
  document.object([&](JsonObjectReader &object) {
    object("name", cluster.name);
    object.optional("description", cluster.description);
    if (std::optional<JsonReader> device = object.required("device"))
      readSection(*device, {FigurePlace::Section::Device}, cluster.pool.device);
    if (std::optional<JsonReader> levels = object.required("levels"))
      readLevels(*levels);
    if (std::optional<JsonReader> host = object.find("host"))
      readSection(*host, {FigurePlace::Section::Host}, cluster.pool.host);
  });
  if (!document.hasFailed() && cluster.name.empty())
    document.at("name").failExpecting("a text");
  if (document.hasFailed())
    return;
  if (std::optional<Contradiction> contradiction = complete())
    tell(*contradiction, document);
}

void ClusterReader::tell(const Contradiction &contradiction, JsonReader document) const {
  if (!contradiction.deviceKey.empty())
    return document.at("device").at(contradiction.deviceKey).fail(contradiction.message);
  size_t index = 0;
  document.at("levels").forEach([&](JsonReader level) {
    if (index++ == contradiction.level)
      level.fail(contradiction.message);
  });
}

template <typename Owner>
void ClusterReader::completeSection(Owner &owner, FigurePlace place) const {
  for (const auto &[index, row] : enumerate(figureRows<Owner>())) {
    place.row = index;
    if (row.standIn && !given.count(place))
      owner.*std::get<double Owner::*>(row.member) = owner.*row.standIn;
  }
}

std::optional<ClusterReader::Contradiction> ClusterReader::complete() {
  Device &device = cluster.pool.device;
  completeSection(device, {FigurePlace::Section::Device});
  if (!device.peakVectorFlopsPerSecond.count(NumberFormat::F32))
    return {{"peak_vector_flops_per_second", 0, "'f32' is missing: it stands in for the other formats"}};
  if (device.tf32ForF32 && !device.peakFlopsPerSecond.count(NumberFormat::TF32))
    return {{"tf32_for_f32", 0, "'peak_flops_per_second' has no 'tf32'"}};
  if (device.bf16ForF32 && !device.peakFlopsPerSecond.count(NumberFormat::BF16))
    return {{"bf16_for_f32", 0, "'peak_flops_per_second' has no 'bf16'"}};
  double devices = 1;
  StringMap<std::string> names; // by word
  for (auto [index, level] : enumerate(cluster.pool.levels)) {
    std::string word = levelWord(level.name);
    if (auto [known, isNew] = names.try_emplace(word, level.name); !isNew)
      return {{"", index,
               known->second == level.name
                   ? "two levels are called '" + level.name + "'; pins and --cluster-set could not tell them apart"
                   : "two levels, '" + known->second + "' and '" + level.name + "', are both '" + word +
                         "' in pins and in the names of axes, where only letters, digits and _ stay as they are"}};
    completeSection(level, {FigurePlace::Section::Level, index});
    level.peers = level.topology == Topology::Mesh ? level.size - 1 : 0;
    devices *= static_cast<double>(level.size);
    if (devices > countUnit.maximum)
      return {{"", index,
               formatv("the sizes multiply to {0} devices; at most {1} are expected", shortText(devices),
                       shortText(countUnit.maximum))
                   .str()}};
  }
  return std::nullopt;
}

template <typename Owner>
Error ClusterReader::applyTo(Owner &owner, FigurePlace place, const Override &setting) {
  JsonValue value = setting.part.empty() ? setting.value : objectOf(setting.part, setting.value);
  JsonDocument document = JsonDocument::made(objectOf(setting.key, value), setting.flag);
  JsonReader root = document.root();
  if (!root.expectKeys(keysOf<Owner>()))
    return document.takeError();
  const FigureRow<Owner> *row =
      find_if(figureRows<Owner>(), [&](const FigureRow<Owner> &row) { return row.key == setting.key; });
  if (!setting.part.empty() && !std::holds_alternative<Peaks Owner::*>(row->member))
    return inputError("{0}: '{1}' has no parts such as '{2}'", setting.flag, setting.key, setting.part);
  readFigure(root.at(setting.key), *row, owner);
  if (Error error = document.takeError())
    return error;
  place.row = static_cast<size_t>(row - figureRows<Owner>().begin());
  if (!row->isName())
    setGiven(place, setting);
  if (std::optional<Contradiction> contradiction = complete())
    return inputError("{0}: {1}", setting.flag, contradiction->message);
  return Error::success();
}

void ClusterReader::setGiven(FigurePlace place, const Override &setting) {
  constexpr StringLiteral source = "--cluster-set";
  Given &figure = given[place];
  if (setting.part.empty()) {
    figure = {setting.value, source.str()};
    return;
  }
  auto &parts = std::get<std::vector<JsonMember>>(figure.value.content);
  auto part = find_if(parts, [&](const JsonMember &member) { return member.key == setting.part; });
  if (part != parts.end())
    part->value = setting.value;
  else
    parts.push_back({setting.part, setting.value});
  figure.source += (figure.source.empty() ? "" : "; ") + setting.part + ": " + source.str();
}

Error ClusterReader::apply(const Override &setting) {
  FigurePlace place{setting.section, setting.level};
  switch (setting.section) {
  case FigurePlace::Section::Device:
    return applyTo(cluster.pool.device, place, setting);
  case FigurePlace::Section::Level:
    return applyTo(cluster.pool.levels[setting.level], place, setting);
  case FigurePlace::Section::Host:
    return applyTo(cluster.pool.host, place, setting);
  }
  llvm_unreachable("a section without figures");
}

Cluster ClusterReader::take() {
  for (auto &[place, figure] : given)
    cluster.figures.push_back({figureName(place, cluster.pool), printJson(figure.value, 0), figure.source});
  return std::move(cluster);
}

} // namespace apc
