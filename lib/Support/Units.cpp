// Numbers with units, read from and written for people.
#include "apc/Support/Units.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Format.h"

#include <cmath>
#include <optional>

namespace apc {

namespace {

constexpr double kibi = 1024.0, kilo = 1000.0;

/// True for a unit of bits: "Gb", "Gbit"; "gb" is often meant as bytes.
bool isBits(llvm::StringRef unit) {
  return unit.ends_with("bit") || (unit.size() > 1 && unit.ends_with("b") && unit.lower() != unit);
}

/// Bytes of a unit; 0 for an unknown one. A bare prefix is binary nowhere: `80G` is 80e9.
double bytesOfUnit(llvm::StringRef unit) {
  if (isBits(unit))
    return 0;
  return llvm::StringSwitch<double>(unit)
      .CasesLower({"", "b"}, 1)
      .CasesLower({"k", "kb"}, kilo)
      .CasesLower({"m", "mb"}, kilo * kilo)
      .CasesLower({"g", "gb"}, kilo * kilo * kilo)
      .CasesLower({"t", "tb"}, kilo * kilo * kilo * kilo)
      .CaseLower("kib", kibi)
      .CaseLower("mib", kibi * kibi)
      .CaseLower("gib", kibi * kibi * kibi)
      .CaseLower("tib", kibi * kibi * kibi * kibi)
      .Default(0);
}

/// Takes the digits from the front of a text, and the space around: "25 GB/s" -> 25, "GB/s" stays. None without a
/// number.
std::optional<double> takeNumber(llvm::StringRef &text) {
  text = text.trim();
  size_t end = text.find_first_not_of("0123456789.");
  double number = 0;
  bool isNumber = !text.substr(0, end).getAsDouble(number);
  text = text.substr(end).trim();
  return isNumber ? std::optional(number) : std::nullopt;
}

/// 0.99961 with 3 digits -> 1.0.
double roundTo(double value, int digits) {
  if (value == 0 || !std::isfinite(value))
    return value;
  double scale = std::pow(10.0, digits - 1 - static_cast<int>(std::floor(std::log10(std::fabs(value)))));
  return std::round(value * scale) / scale;
}

/// `digits` significant digits without an exponent: 2.9 with 3 -> "2.90", 1020 with 3 -> "1020".
std::string significant(double value, int digits) {
  double magnitude = std::fabs(value);
  int before = magnitude < 10 ? 1 : magnitude < 100 ? 2 : magnitude < 1000 ? 3 : 4;
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.*f", std::max(0, digits - before), value);
  return text;
}

/// Divides by 1000 while a larger unit is left.
std::string scaled(double value, int digits, llvm::ArrayRef<const char *> units) {
  value = roundTo(value, digits);
  size_t unit = 0;
  while (std::fabs(value) >= kilo && unit + 1 < units.size()) {
    value /= kilo;
    ++unit;
  }
  llvm::StringRef suffix = units[unit];
  bool whole = unit == 0 && value == std::floor(value);
  std::string number = whole ? significant(value, 1) : significant(value, digits);
  return suffix.empty() ? number : number + " " + suffix.str();
}

} // namespace

llvm::Expected<int64_t> parseBytes(llvm::StringRef text, llvm::StringRef what) {
  llvm::StringRef rest = text;
  std::optional<double> number = takeNumber(rest);
  double unit = bytesOfUnit(rest);
  if (!number || unit == 0)
    return inputError("{0}: '{1}' is not a number of bytes; write for instance 1024, 512MiB, 76GiB or 80GB", what,
                      text);
  double bytes = *number * unit;
  constexpr double limit = 9.2e18;
  if (!(bytes < limit))
    return inputError("{0}: '{1}' is more than {2} bytes can be", what, text, "9.2e18");
  return static_cast<int64_t>(bytes);
}

llvm::Expected<double> parseBytesPerSecond(llvm::StringRef text, llvm::StringRef what) {
  double plain = 0;
  if (!text.trim().getAsDouble(plain) && std::isfinite(plain))
    return plain;
  llvm::StringRef unit = text;
  std::optional<double> number = takeNumber(unit);
  bool isPerSecond = unit.consume_back("/s") || (unit.ends_with("bps") && unit.consume_back("ps"));
  bool isAmbiguous = isPerSecond && unit.size() > 1 && unit.ends_with("b") && unit.lower() == unit;
  double factor = bytesOfUnit(unit);
  if (isBits(unit)) {
    unit.consume_back("it");
    factor = bytesOfUnit(unit.drop_back().str() + "B") / 8;
  }
  if (!number || isAmbiguous || factor == 0)
    return inputError("{0}: '{1}' is not a rate; write for instance 25e9 or 25GB/s (bytes), or 200Gb/s (bits)", what,
                      text);
  return *number * factor;
}

std::string formatBytes(double bytes) {
  static constexpr const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  size_t unit = 0;
  while (std::fabs(bytes) >= kibi && unit + 1 < std::size(units)) {
    bytes /= kibi;
    ++unit;
  }
  bool whole = unit == 0 && bytes == std::floor(bytes);
  return significant(whole ? bytes : roundTo(bytes, 3), whole ? 1 : 3) + " " + units[unit];
}

std::string formatSeconds(double seconds) {
  if (seconds == 0)
    return "0 s";
  seconds = roundTo(seconds, 3);
  double magnitude = std::fabs(seconds);
  if (magnitude >= 1 || !std::isfinite(seconds))
    return significant(seconds, 3) + " s";
  if (magnitude >= 1e-3)
    return significant(roundTo(seconds * 1e3, 3), 3) + " ms";
  if (magnitude >= 1e-6)
    return significant(roundTo(seconds * 1e6, 3), 3) + " us";
  return significant(roundTo(seconds * 1e9, 3), 3) + " ns";
}

std::string formatFlops(double flops) {
  return scaled(flops, 3, {"FLOP", "KFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP", "EFLOP", "ZFLOP"});
}

std::string formatBytesPerSecond(double bytesPerSecond) {
  return scaled(bytesPerSecond, 3, {"B", "KB", "MB", "GB", "TB", "PB"}) + "/s";
}

std::string formatCount(double count) { return scaled(count, 4, {"", "K", "M", "B", "T"}); }

/// A name that people give to a thing, as "ring y" or "nvl72", which no ending makes a plural.
static bool isName(llvm::StringRef noun) {
  return noun.empty() || noun.rsplit(' ').second.size() == 1 || !llvm::isAlpha(noun.back());
}

std::string counted(int64_t number, llvm::StringRef noun) {
  if (number == 1)
    return llvm::formatv("1 {0}", noun).str();
  if (isName(noun))
    return llvm::formatv("{0} x '{1}'", number, noun).str();
  const bool isLikeKey = noun.ends_with("ay") || noun.ends_with("ey") || noun.ends_with("oy") || noun.ends_with("uy");
  llvm::StringRef ending = noun.ends_with("s") || noun.ends_with("ch") ? "es" : "s";
  if (!isLikeKey && noun.consume_back("y"))
    ending = "ies";
  return llvm::formatv("{0} {1}{2}", number, noun, ending).str();
}

} // namespace apc
