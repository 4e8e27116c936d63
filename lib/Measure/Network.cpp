// Rates of networks, clause by clause.
#include "Network.h"
#include "Remarks.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

namespace apc {

namespace {

constexpr double bytesOfGigabit = 1e9 / 8;
constexpr double fastestAdapter = 800; ///< gigabits a second, of XDR; a higher rate is that of a node

/// Rates of InfiniBand by name, four lanes (InfiniBand Trade Association, roadmap); 0 for other names.
double gigabitsOf(llvm::StringRef name) {
  return llvm::StringSwitch<double>(name.lower())
      .Case("fdr", 56)
      .Case("edr", 100)
      .Case("hdr", 200)
      .Case("ndr", 400)
      .Case("xdr", 800)
      .Default(0);
}

/// "8x ", "2× ", "one ", "dual ", as whole words: a "backbone " is no "one ".
constexpr llvm::StringLiteral countPattern =
    "(^|[^0-9a-zA-Z])(([0-9]+) ?x ?|(one|single|two|dual|four|quad|eight)[- ])";

/// The number of the last two groups of `countPattern`; none where neither matched.
std::optional<double> countOf(llvm::StringRef digits, llvm::StringRef word) {
  double number = 0;
  if (!digits.getAsDouble(number))
    return number;
  const double named = llvm::StringSwitch<double>(word.lower())
                           .Cases({"one", "single"}, 1)
                           .Cases({"two", "dual"}, 2)
                           .Cases({"four", "quad"}, 4)
                           .Case("eight", 8)
                           .Default(0);
  return named > 0 ? std::optional(named) : std::nullopt;
}

/// A pattern of lower-case letters as it matches in any case; units of rates tell bits from bytes by theirs.
std::string anyCase(llvm::StringRef pattern) {
  std::string any;
  bool isInBrackets = false;
  for (char c : pattern) {
    isInBrackets = c == '[' || (isInBrackets && c != ']');
    if (llvm::isAlpha(c) && !isInBrackets)
      any += {'[', c, llvm::toUpper(c), ']'};
    else
      any += c;
  }
  return any;
}

/// Words between a number of adapters and their rate, with numbers of their own.
constexpr llvm::StringLiteral adapterPattern =
    "((nvidia|mellanox|hpe|cray|infiniband|ib|roce|connectx-?[0-9]+( dx| vpi| lx)?|cx-?[0-9]|bluefield-?[0-9]+|"
    "slingshot([- ]?[0-9]+)?|cassini) )+";

/// "8x HDR200", "8xNDR", "4x EDR", "one HDR100 NIC".
std::optional<NetworkRate> namedAdapters(llvm::StringRef clause) {
  static const Pattern pattern(("(" + countPattern + ")(" + adapterPattern + ")?(fdr|edr|hdr|ndr|xdr)([0-9]*)").str());
  llvm::SmallVector<llvm::StringRef, 12> groups;
  double gigabits = 0;
  if (!pattern.match(clause, groups))
    return std::nullopt;
  if (groups.back().getAsDouble(gigabits))
    gigabits = gigabitsOf(groups[groups.size() - 2]);
  return NetworkRate{countOf(groups[4], groups[5]).value_or(0) * gigabits * bytesOfGigabit, /*isOfDevice=*/false};
}

/// "4x Omni-Path 100 Gb/s", "4x ConnectX-6 200 Gb/s", "200 Gbps x8", "400 Gbps EFA per node", "0.8 Tbps per node",
/// "25GbE", "100 Gbps RoCE", "3.2 Tbps InfiniBand", "RDMA 400 Gb/s per GPU". A rate of InfiniBand without more is that
/// of an adapter, of which nodes have several: none.
std::optional<NetworkRate> statedRate(llvm::StringRef clause) {
  static const std::string front =
      anyCase(("(" + countPattern + ")([a-zA-Z][a-zA-Z-]* |" + adapterPattern + ")?").str());
  static const Pattern pattern(
      "(" + front + ")?([0-9.]+) ?([TGtg])(b/s|bps|bit/s|B/s|b[eE]|b (per|a) )( ?[xX] ?([0-9]+))?", Letters::AsWritten);
  static const Words ofDevice("(per|each|a) (gpu|device|accelerator|chip|npu)");
  static const Words ofNode("nodes?|hosts?|machines?|instances?|servers?|efa|ethernet|roce|network|tcp");
  llvm::SmallVector<llvm::StringRef, 16> groups;
  double number = 0;
  if (!pattern.match(clause, groups))
    return std::nullopt;
  auto fromEnd = [&](size_t index) { return groups[groups.size() - index]; };
  const llvm::StringRef unit = fromEnd(4);
  if (fromEnd(6).getAsDouble(number))
    return std::nullopt;
  const double giga = fromEnd(5).lower() == "t" ? 1e3 : 1;
  const double rate = number * giga * (unit == "B/s" ? 1e9 : bytesOfGigabit);
  std::optional<double> adapters = countOf(groups[5], groups[6]);
  if (!adapters)
    adapters = countOf(fromEnd(1), "");
  if (adapters)
    return NetworkRate{*adapters * rate, /*isOfDevice=*/false};
  if (hasWords(clause, ofDevice) || clause.contains_insensitive("/gpu"))
    return NetworkRate{rate, /*isOfDevice=*/true};
  const bool isAboveAdapters = unit != "B/s" && number * giga > fastestAdapter;
  const bool isOfNode = hasWords(clause, ofNode) || unit.lower() == "be" || isAboveAdapters;
  return isOfNode ? std::optional(NetworkRate{rate, /*isOfDevice=*/false}) : std::nullopt;
}

/// Numbers of adapters are written with either sign of multiplication, which "x86" of a host has not.
std::string withPlainSigns(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, "\xc3\x97");
  static const Pattern processor("(^|[^0-9a-z])x86([-_ ]?64)?($|[^0-9a-z])");
  return processor.replaceAll("\\1\\3", llvm::join(parts, "x"));
}

} // namespace

std::optional<NetworkRate> networkIn(llvm::StringRef whole) {
  static const Words otherLinks("nvlink[0-9]?|nvswitch|pcie|hbm[0-9]?[a-z]?|hccs|ici|memory|storage");
  const std::string plain = withPlainSigns(whole);
  for (llvm::StringRef text = plain; !text.empty();) {
    const size_t end = text.find_first_of(",;()");
    const llvm::StringRef clause = text.take_front(end).trim();
    text = end == llvm::StringRef::npos ? "" : text.drop_front(end + 1);
    if (hasWords(clause, otherLinks))
      continue;
    if (std::optional<NetworkRate> rate = namedAdapters(clause); rate && rate->bytesPerSecond > 0)
      return rate;
    if (std::optional<NetworkRate> rate = statedRate(clause); rate && rate->bytesPerSecond > 0)
      return rate;
  }
  return std::nullopt;
}

} // namespace apc
