// The text form of a plan's record, one fact a line.
#include "apc/Plan/Record.h"

#include "apc/Plan/PlanJson.h"
#include "apc/Plan/Settings.h"
#include "apc/Support/Error.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <set>

namespace apc {

namespace {

constexpr llvm::StringLiteral firstLine = "apc baseline";

void printSettings(const PlanRecord &record, llvm::raw_ostream &os) {
  for (const auto &[name, texts] : record.settings)
    for (const std::string &text : texts)
      os << "setting " << name << " " << text << "\n";
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
    if (kind == "stages")
      return readText(rest, record.stages);
    if (kind == "seconds")
      return readSeconds(rest);
    if (kind == "bytes")
      return readBytes(rest);
    return kind == "op" && readStrategy(rest);
  }

  PlanRecord record;

private:
  /// False for a second word on the same fact, as a merge may leave it. Ops are told by their strategies as well, and
  /// settings that are lists come as often as they like, but bind each name once.
  bool isNew(llvm::StringRef kind, llvm::StringRef rest) {
    llvm::StringRef name = kind == "setting" ? rest.split(' ').first : rest.rsplit(' ').first;
    if (kind == "mesh" || kind == "stages")
      name = "";
    const Setting *setting = kind == "setting" ? findSetting(name) : nullptr;
    bool isList = setting && setting->isList;
    if (isList && !setting->replaces)
      name = rest.rsplit('=').first;
    bool maySayMore = isList && setting->replaces;
    return kind == "op" || maySayMore || facts.insert((kind + " " + name).str()).second;
  }

  static bool readText(llvm::StringRef text, std::string &into) {
    into = text.str();
    return !text.empty();
  }

  /// True for a setting of the table, with a text that it accepts.
  bool readSetting(llvm::StringRef line) {
    auto [name, text] = line.split(' ');
    const Setting *setting = findSetting(name);
    if (!setting || text.empty())
      return false;
    record.settings[name.str()].push_back(text.str());
    PlanRequest read;
    llvm::Error error = setting->read(read, text, name);
    bool isAccepted = !error;
    llvm::consumeError(std::move(error));
    return isAccepted;
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

bool isRecord(llvm::StringRef text) { return text.starts_with(firstLine); }

std::string printRecord(const PlanRecord &record) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << firstLine << " " << PlanRecord::version << "\n";
  printSettings(record, os);
  os << "mesh " << record.mesh << "\n";
  if (!record.stages.empty())
    os << "stages " << record.stages << "\n";
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
      return inputError(
          "{0}, line {1}: '{2}' is no line of a baseline; lines begin with 'setting KEY', 'mesh', "
          "'stages', 'seconds NAME', 'bytes NAME' or 'op NAME (OPERATOR) x COUNT:', and none is given twice",
          source, number, line);
  }
  if (number == 0 || reader.record.mesh.empty() || !reader.record.seconds.count("step") ||
      !reader.record.bytes.count("memory total"))
    return inputError("{0}: a baseline has lines 'mesh', 'seconds step' and 'bytes memory total'; one is missing",
                      source);
  return std::move(reader.record);
}

} // namespace apc
