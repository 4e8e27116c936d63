// Factor rules of operators that the planner does not know, as text.
#include "apc/Plan/OperatorText.h"

#include "SettingKinds.h"

#include "apc/Sharding/FactorRule.h"
#include "apc/Support/Error.h"

#include <cmath>

namespace apc {

std::string OperatorText::str() const {
  return name + ": " + rule + (flopsPerPoint == 0 ? "" : "; flops=" + shortestNumber(flopsPerPoint));
}

llvm::Expected<OperatorText> parseOperatorText(llvm::StringRef text, llvm::StringRef source) {
  constexpr llvm::StringLiteral accepted =
      "accepted is 'NAME: RULE; flops=N', as 'com.acme.Mix: b s d, d -> b s d; flops=8'";
  auto [name, rest] = text.split(':');
  auto [rule, flops] = rest.split(';');
  OperatorText read{name.trim().str(), rule.trim().str(), 0};
  if (read.name.empty() || read.rule.empty())
    return inputError("{0}: '{1}': {2}", source, text, accepted);
  flops = flops.trim();
  bool isNumber = flops.empty() || (flops.consume_front("flops=") && !flops.getAsDouble(read.flopsPerPoint) &&
                                    read.flopsPerPoint >= 0 && std::isfinite(read.flopsPerPoint));
  if (!isNumber)
    return inputError("{0}: '{1}': flops is a number from 0 on, of each point of the loop nest; {2}", source, text,
                      accepted);
  if (auto parsed = RuleText::parse(read.rule); !parsed)
    return inputError("{0}: '{1}': {2}", source, text, takeMessage(parsed.takeError()).second);
  return read;
}

llvm::Expected<std::vector<OperatorText>> parseOperatorFile(llvm::StringRef text, llvm::StringRef file) {
  std::vector<OperatorText> operators;
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n');
  for (auto [index, line] : llvm::enumerate(lines)) {
    line = line.trim();
    if (line.empty() || line.starts_with("#"))
      continue;
    auto read = parseOperatorText(line, llvm::formatv("{0}, line {1}", file, index + 1).str());
    if (!read)
      return read.takeError();
    operators.push_back(std::move(*read));
  }
  if (operators.empty())
    return inputError("{0}: names no operator; a line of it is 'NAME: RULE; flops=N'", file);
  return operators;
}

} // namespace apc
