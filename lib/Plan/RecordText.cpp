// The text form of a plan's record, one fact a line.
#include "apc/Plan/Record.h"

#include "apc/Plan/PlanJson.h"
#include "apc/Support/Error.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <array>
#include <charconv>
#include <cmath>
#include <set>

namespace apc {

namespace {

constexpr llvm::StringLiteral firstLine = "apc baseline";

/// The fewest digits that read back the same: 0.05.
std::string shortest(double number) {
  std::array<char, 32> digits; // -1.7976931348623157e+308 has 24
  auto [end, code] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  return {digits.data(), end};
}

void printSettings(const PlanRecord &record, llvm::raw_ostream &os) {
  auto line = [&](llvm::StringRef key, const auto &value) { os << "setting " << key << " " << value << "\n"; };
  line("cluster", record.settings.cluster);
  for (const std::string &setting : record.clusterOverrides)
    line("cluster-set", setting);
  for (const auto &[name, value] : record.conditions)
    line("condition", name + (value ? "=true" : "=false"));
  line("devices", record.devices);
  for (const auto &[name, size] : record.dims)
    line("dim", name + "=" + std::to_string(size));
  if (record.settings.gap)
    line("gap", shortest(*record.settings.gap));
  if (record.settings.ignoresModelShardings)
    line("ignore-model-shardings", "true");
  for (const std::string &layout : record.settings.layouts)
    line("layout", layout);
  if (record.settings.memoryLimitBytes)
    line("memory-limit", *record.settings.memoryLimitBytes);
  line("mode", record.mode);
  if (record.settings.parallel != "auto")
    line("parallel", record.settings.parallel);
  if (!record.parameters.empty())
    line("parameters", record.parameters);
  for (const std::string &pin : record.settings.pins)
    line("pin", pin);
  line("search", record.settings.search);
  if (record.settings.timeLimitSeconds)
    line("time-limit", shortest(*record.settings.timeLimitSeconds));
}

/// Reads lines into a record; each reader says false when it cannot take the line.
class RecordReader {
public:
  bool read(llvm::StringRef line) {
    auto [kind, rest] = line.split(' ');
    if (!isNew(kind, rest))
      return false;
    if (kind == "setting")
      return readSetting(rest);
    if (kind == "mesh")
      return readText(rest, record.mesh);
    if (kind == "seconds")
      return readSeconds(rest);
    if (kind == "bytes")
      return readBytes(rest);
    return kind == "op" && readStrategy(rest);
  }

  PlanRecord record;

private:
  /// False for a second word on the same fact, as a merge may leave it. Ops are told by their strategies as well, and
  /// settings that are lists come as often as they like.
  bool isNew(llvm::StringRef kind, llvm::StringRef rest) {
    llvm::StringRef name = kind == "setting" ? rest.split(' ').first : rest.rsplit(' ').first;
    if (kind == "mesh")
      name = "";
    if (kind == "setting" && (name == "dim" || name == "condition"))
      name = rest.rsplit('=').first;
    bool isList = kind == "setting" && (name == "cluster-set" || name == "layout" || name == "pin");
    return kind == "op" || isList || facts.insert((kind + " " + name).str()).second;
  }

  static bool readText(llvm::StringRef text, std::string &into) {
    into = text.str();
    return !text.empty();
  }

  bool readSetting(llvm::StringRef line) {
    auto [key, value] = line.split(' ');
    if (value.empty())
      return false;
    const std::pair<llvm::StringRef, std::vector<std::string> *> lists[] = {{"cluster-set", &record.clusterOverrides},
                                                                            {"layout", &record.settings.layouts},
                                                                            {"pin", &record.settings.pins}};
    for (auto [name, into] : lists)
      if (key == name) {
        into->push_back(value.str());
        return true;
      }
    if (key == "devices")
      return !value.getAsInteger(10, record.devices);
    if (key == "memory-limit")
      return !value.getAsInteger(10, record.settings.memoryLimitBytes.emplace());
    if (key == "dim" || key == "condition")
      return readBinding(key, value);
    if (key == "gap")
      return readNumber(value, record.settings.gap.emplace());
    if (key == "time-limit")
      return readNumber(value, record.settings.timeLimitSeconds.emplace());
    if (key == "ignore-model-shardings")
      return record.settings.ignoresModelShardings = value == "true";
    const std::pair<llvm::StringRef, std::string *> texts[] = {{"cluster", &record.settings.cluster},
                                                               {"mode", &record.mode},
                                                               {"parallel", &record.settings.parallel},
                                                               {"parameters", &record.parameters},
                                                               {"search", &record.settings.search}};
    for (auto [name, into] : texts)
      if (key == name)
        return readText(value, *into);
    return false;
  }

  bool readBinding(llvm::StringRef key, llvm::StringRef text) {
    auto [name, value] = text.rsplit('=');
    if (key == "dim")
      return !value.getAsInteger(10, record.dims[name.str()]);
    record.conditions[name.str()] = value == "true";
    return value == "true" || value == "false";
  }

  bool readSeconds(llvm::StringRef line) {
    auto [name, value] = line.rsplit(' ');
    return readNumber(value, record.seconds[name.str()]);
  }

  static bool readNumber(llvm::StringRef text, double &number) {
    return !text.getAsDouble(number) && std::isfinite(number) && number >= 0;
  }

  bool readBytes(llvm::StringRef line) {
    auto [name, value] = line.rsplit(' ');
    return !value.getAsInteger(10, record.bytes[name.str()]);
  }

  /// "/h.*/MatMul (matmul) x 96: b0:data": names may hold anything, so the line is taken apart at its ") x N: ".
  bool readStrategy(llvm::StringRef line) {
    constexpr llvm::StringLiteral mark = ") x ";
    size_t at = line.rfind(mark);
    if (at == llvm::StringRef::npos)
      return false;
    auto [number, strategy] = line.drop_front(at + mark.size()).split(": ");
    unsigned count = 0;
    if (number.getAsInteger(10, count) || strategy.empty())
      return false;
    return record.strategies[line.take_front(at + 1).str()].emplace(strategy.str(), count).second;
  }

  std::set<std::string> facts; ///< "mesh ", "seconds step", "setting devices"
};

} // namespace

std::string printRecord(const PlanRecord &record) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << firstLine << " " << PlanRecord::version << "\n";
  printSettings(record, os);
  os << "mesh " << record.mesh << "\n";
  for (const auto &[name, seconds] : record.seconds)
    os << "seconds " << name << " " << llvm::format("%.6g", seconds) << "\n";
  for (const auto &[name, bytes] : record.bytes)
    os << "bytes " << name << " " << bytes << "\n";
  for (const auto &[ops, strategies] : record.strategies)
    for (const auto &[strategy, count] : strategies)
      os << "op " << ops << " x " << count << ": " << strategy << "\n";
  return text;
}

llvm::Expected<PlanRecord> parseRecord(llvm::StringRef text, llvm::StringRef source) {
  if (text.ltrim().starts_with("{")) {
    llvm::Expected<Plan> plan = parsePlan(text, source);
    if (!plan)
      return plan.takeError();
    return recordOf(*plan);
  }
  std::string first = (firstLine + " " + llvm::Twine(PlanRecord::version)).str();
  RecordReader reader;
  unsigned number = 0;
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    text = rest;
    line = line.rtrim('\r');
    if (++number == 1 && line != first)
      return inputError(
          "{0}: not a baseline that this program reads: its first line is '{1}'; '{2}', or a plan.json, is "
          "accepted; 'apc check MODEL --baseline FILE --update' writes one",
          source, line.take_front(60), first);
    if (number > 1 && !line.empty() && !line.starts_with("#") && !reader.read(line))
      return inputError("{0}, line {1}: '{2}' is no line of a baseline; lines begin with 'setting KEY', 'mesh', "
                        "'seconds NAME', 'bytes NAME' or 'op NAME (OPERATOR) x COUNT:', and none is given twice",
                        source, number, line);
  }
  if (number == 0 || reader.record.mesh.empty() || !reader.record.seconds.count("step") ||
      !reader.record.bytes.count("memory total"))
    return inputError("{0}: a baseline has lines 'mesh', 'seconds step' and 'bytes memory total'; one is missing",
                      source);
  return std::move(reader.record);
}

} // namespace apc
