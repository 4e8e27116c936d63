// Rates of networks, clause by clause.
#include "Network.h"
#include "Remarks.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Regex.h"

namespace apc {

namespace {

constexpr double bytesOfGigabit = 1e9 / 8;

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

/// "8x HDR200", "8xNDR", "4x EDR".
std::optional<NetworkRate> namedAdapters(llvm::StringRef clause) {
  const llvm::Regex pattern("([0-9]+) ?x ?((infiniband|ib|mellanox|connectx-?[0-9]) )?(fdr|edr|hdr|ndr|xdr)([0-9]*)",
                            llvm::Regex::IgnoreCase);
  llvm::SmallVector<llvm::StringRef, 8> groups;
  double adapters = 0, gigabits = 0;
  if (!pattern.match(clause, &groups) || groups[1].getAsDouble(adapters))
    return std::nullopt;
  if (groups[5].getAsDouble(gigabits))
    gigabits = gigabitsOf(groups[4]);
  return NetworkRate{adapters * gigabits * bytesOfGigabit, /*isOfDevice=*/false};
}

/// "4x Omni-Path 100 Gb/s", "400 Gbps EFA per node", "0.8 Tbps per node", "25GbE", "RDMA 400 Gb/s per GPU". A rate of
/// InfiniBand without more is that of an adapter, of which nodes have several: none.
std::optional<NetworkRate> statedRate(llvm::StringRef clause) {
  const llvm::Regex pattern("(([0-9]+) ?[xX] ?([A-Za-z][A-Za-z-]* )?)?([0-9.]+) ?"
                            "([TGtg])(b/s|bps|bit/s|B/s|b[eE]|b (per|a) )");
  llvm::SmallVector<llvm::StringRef, 8> groups;
  double adapters = 0, number = 0;
  if (!pattern.match(clause, &groups) || groups[4].getAsDouble(number))
    return std::nullopt;
  const double giga = groups[5].lower() == "t" ? 1e3 : 1;
  const double rate = number * giga * (groups[6] == "B/s" ? 1e9 : bytesOfGigabit);
  if (!groups[2].getAsDouble(adapters))
    return NetworkRate{adapters * rate, /*isOfDevice=*/false};
  if (hasWords(clause, "(per|each|a) (gpu|device|accelerator|chip|npu)") || clause.contains_insensitive("/gpu"))
    return NetworkRate{rate, /*isOfDevice=*/true};
  constexpr llvm::StringLiteral ofNode = "nodes?|hosts?|machines?|instances?|servers?|efa|ethernet|network|tcp";
  const bool isOfNode = hasWords(clause, ofNode) || groups[6].lower() == "be";
  return isOfNode ? std::optional(NetworkRate{rate, /*isOfDevice=*/false}) : std::nullopt;
}

} // namespace

std::optional<NetworkRate> networkIn(llvm::StringRef text) {
  while (!text.empty()) {
    const size_t end = text.find_first_of(",;()");
    const llvm::StringRef clause = text.take_front(end).trim();
    text = end == llvm::StringRef::npos ? "" : text.drop_front(end + 1);
    if (hasWords(clause, "nvlink[0-9]?|nvswitch|pcie|hbm[0-9]?[a-z]?|hccs|ici|memory|storage"))
      continue;
    if (std::optional<NetworkRate> rate = namedAdapters(clause); rate && rate->bytesPerSecond > 0)
      return rate;
    if (std::optional<NetworkRate> rate = statedRate(clause); rate && rate->bytesPerSecond > 0)
      return rate;
  }
  return std::nullopt;
}

} // namespace apc
