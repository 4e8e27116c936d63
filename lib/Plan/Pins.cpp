// The text form of pins, and what meets them.
#include "apc/Plan/Pins.h"

#include "apc/Support/Error.h"
#include "apc/Support/Json/JsonReader.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Regex.h"

#include <set>

namespace apc {

namespace {

constexpr const char *acceptedForOps =
    "accepted is 'REGEX: factor=axes, ...' with axes as 8 (ways), device (a level of the cluster), 4@device (ways of a "
    "level), (2@node device), or 'REGEX: replicated'; a last '...' leaves the factors not named to the search";
constexpr const char *acceptedForInput =
    "accepted is 'NAME: dim=axes, ...' with the name of an input, its dims d0, d1, ... and axes as 8 (ways), device (a "
    "level of the cluster), 4@device (ways of a level), (2@node device), or 'NAME: replicated'; a last '...' leaves "
    "the "
    "dims not named to the search";
constexpr int64_t mostWaysOfPin = int64_t(1) << 20;
constexpr llvm::StringLiteral nothingCut = "replicated";

/// The ways of the axes among `given` that lie on the level called `level`.
int64_t waysOn(llvm::StringRef level, llvm::ArrayRef<AxisId> given, const Mesh &mesh,
               llvm::ArrayRef<std::string> levels) {
  int64_t ways = 1;
  for (AxisId axis : given)
    if (levels[mesh.axis(axis).level] == level)
      ways *= mesh.axis(axis).size;
  return ways;
}

/// Reads one pin's text; every error names the pin.
class PinReader {
public:
  PinReader(llvm::StringRef text, llvm::StringRef source, const char *form = acceptedForOps)
      : text(text), source(source), form(form) {}

  llvm::Expected<Pin> read() {
    auto [ops, strategy] = text.rsplit(':');
    return strategy.trim().empty() ? error("a strategy is missing") : read(ops.trim(), strategy.trim());
  }

  llvm::Expected<Pin> read(llvm::StringRef ops, llvm::StringRef strategy) {
    Pin pin{ops.str(), {}, false, source.str()};
    std::string reason;
    if (ops.empty() || !llvm::Regex(ops).isValid(reason))
      return error("'{0}' is no regular expression ({1})", ops, ops.empty() ? "it is empty" : reason);
    if (strategy == nothingCut)
      return pin;
    llvm::SmallVector<llvm::StringRef> words;
    strategy.split(words, ',');
    for (llvm::StringRef word : words) {
      word = word.trim();
      if (pin.open)
        return error("nothing may follow '...'");
      if (word == "...")
        pin.open = true;
      else if (llvm::Error failure = addFactor(word, pin))
        return failure;
    }
    return pin;
  }

  template <typename... Args>
  llvm::Error error(const char *format, Args &&...args) {
    return inputError("{0}: pin '{1}': {2}; {3}", source, text,
                      llvm::formatv(format, std::forward<Args>(args)...).str(), form);
  }

private:
  llvm::Error addFactor(llvm::StringRef word, Pin &pin) {
    auto [name, axes] = word.split('=');
    PinnedFactor factor{name.trim().str(), {}};
    axes = axes.trim();
    if (factor.factor.empty() || axes.empty())
      return error("'{0}' is no factor=axes", word);
    if (pin.find(factor.factor))
      return error("factor '{0}' is given twice", factor.factor);
    bool isList = axes.consume_front("(");
    if (isList && !axes.consume_back(")"))
      return error("'{0}' is no factor=axes; its parenthesis is not closed", word);
    llvm::SmallVector<llvm::StringRef> parts;
    axes.split(parts, ' ', -1, false);
    if (!isList && parts.size() != 1)
      return error("'{0}' is no factor=axes; several axes stand in parentheses", word);
    if (parts.empty())
      return error("'{0}' names no axes; a factor that stays whole is cut 1 way, as in '{1}=1'", word, factor.factor);
    std::set<std::string> levels;
    for (llvm::StringRef part : parts) {
      PinnedAxes read;
      if (!readAxes(part, read) || (read.level.empty() && parts.size() > 1) || !levels.insert(read.level).second)
        return error("'{0}' in '{1}' are no axes", part, word);
      factor.axes.push_back(std::move(read));
    }
    pin.factors.push_back(std::move(factor));
    return llvm::Error::success();
  }

  static bool readAxes(llvm::StringRef part, PinnedAxes &axes) {
    auto [number, level] = part.split('@');
    if (!number.getAsInteger(10, axes.ways)) {
      axes.level = level.str();
      return axes.ways >= 1 && axes.ways <= mostWaysOfPin && (!level.empty() || !part.contains('@'));
    }
    axes = {part.str(), 0};
    bool isNumber = llvm::all_of(part, llvm::isDigit); // too large for 64 bits
    return !isNumber && !part.contains('@') &&
           llvm::all_of(part, [](char c) { return llvm::isAlnum(c) || c == '_' || c == '-'; });
  }

  llvm::StringRef text, source;
  const char *form;
};

/// The expression that matches `name` and nothing else.
std::string exactly(llvm::StringRef name) {
  std::string expression = "^";
  for (char c : name)
    expression += llvm::StringRef("()^$|*+?.[]\\{}").contains(c) ? std::string("\\") + c : std::string(1, c);
  return expression + "$";
}

} // namespace

std::string PinnedAxes::str() const {
  if (level.empty() || ways == 0)
    return level.empty() ? std::to_string(ways) : level;
  return std::to_string(ways) + "@" + level;
}

bool PinnedFactor::isMetBy(llvm::ArrayRef<AxisId> given, const Mesh &mesh, llvm::ArrayRef<std::string> levels) const {
  if (axes.size() == 1 && axes[0].level.empty())
    return mesh.size(given) == axes[0].ways;
  int64_t named = 1;
  for (const PinnedAxes &part : axes) {
    int64_t ways = part.ways;
    if (ways == 0) {
      ways = 1;
      for (const MeshAxis &axis : mesh.getAxes())
        ways *= levels[axis.level] == part.level ? axis.size : 1;
    }
    if (waysOn(part.level, given, mesh, levels) != ways)
      return false;
    named *= ways;
  }
  return mesh.size(given) == named;
}

std::string PinnedFactor::str() const {
  std::string text = llvm::join(llvm::map_range(axes, [](const PinnedAxes &part) { return part.str(); }), " ");
  return factor + "=" + (axes.size() == 1 ? text : "(" + text + ")");
}

std::string Pin::str() const {
  std::vector<std::string> words;
  for (const PinnedFactor &factor : factors)
    words.push_back(factor.str());
  if (open)
    words.push_back("...");
  return ops + ": " + (words.empty() ? nothingCut.str() : llvm::join(words, ", "));
}

const PinnedFactor *Pin::find(llvm::StringRef factor) const {
  auto found = llvm::find_if(factors, [&](const PinnedFactor &entry) { return entry.factor == factor; });
  return found == factors.end() ? nullptr : &*found;
}

llvm::Expected<Pin> parsePin(llvm::StringRef text, llvm::StringRef source) { return PinReader(text, source).read(); }

std::string InputPin::str() const { return input + llvm::StringRef(pin.str()).drop_front(pin.ops.size()).str(); }

llvm::Expected<InputPin> parseInputPin(llvm::StringRef text, llvm::StringRef source) {
  auto [name, strategy] = text.rsplit(':');
  name = name.trim();
  strategy = strategy.trim();
  PinReader reader(text, source, acceptedForInput);
  if (name.empty() || strategy.empty())
    return reader.error(name.empty() ? "the name of an input is missing" : "its dims are missing");
  llvm::Expected<Pin> pin = reader.read(exactly(name), strategy);
  if (!pin)
    return pin.takeError();
  pin->isOfInput = true;
  return InputPin{name.str(), std::move(*pin)};
}

llvm::Expected<std::vector<Pin>> parsePins(llvm::StringRef json, llvm::StringRef source) {
  constexpr const char *form = "accepted is {{\"pins\": [{{\"ops\": \"REGEX\", \"strategy\": \"b0=8, n=device\"}]}";
  struct Entry {
    std::string ops, strategy;
  };
  std::vector<Entry> entries;
  llvm::Expected<JsonDocument> document = JsonDocument::parse(json, source);
  if (!document)
    return inputError("{0}; {1}", takeMessage(document.takeError()).second, llvm::formatv(form).str());
  document->root().object([&](JsonObjectReader &root) {
    if (std::optional<JsonReader> list = root.required("pins"))
      list->forEach([&](JsonReader item) {
        item.object([&](JsonObjectReader &pin) {
          pin("ops", entries.emplace_back().ops);
          pin("strategy", entries.back().strategy);
        });
      });
  });
  if (llvm::Error error = document->takeError())
    return inputError("{0}; {1}", takeMessage(std::move(error)).second, llvm::formatv(form).str());
  std::vector<Pin> pins;
  for (const auto &[index, entry] : llvm::enumerate(entries)) {
    std::string place = llvm::formatv("{0}, pin {1}", source, index + 1).str();
    std::string text = entry.ops + ": " + entry.strategy;
    llvm::Expected<Pin> pin = PinReader(text, place).read(entry.ops, llvm::StringRef(entry.strategy).trim());
    if (!pin)
      return pin.takeError();
    pins.push_back(std::move(*pin));
  }
  return pins;
}

} // namespace apc
