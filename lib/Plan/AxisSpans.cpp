// Strategies in terms of the devices that they cut over.
#include "apc/Plan/AxisSpans.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FormatVariadic.h"

namespace apc {

AxisSpans::AxisSpans(llvm::StringRef mesh) {
  struct Axis {
    llvm::StringRef name, level;
    int64_t size;
  };
  llvm::SmallVector<Axis> axes;
  while (mesh.contains('=')) {
    auto [name, rest] = mesh.split('=');
    auto [size, inner] = rest.split(" (");
    auto [level, others] = inner.split(')');
    Axis axis{name.trim(), level, 1};
    if (!size.getAsInteger(10, axis.size))
      axes.push_back(axis);
    mesh = others;
  }
  for (size_t index = axes.size(); index-- > 0;) {
    int64_t &stride = devices.try_emplace(axes[index].level.str(), 1).first->second;
    spans[axes[index].name.str()] = {axes[index].level.str(), stride, stride * axes[index].size};
    stride *= axes[index].size;
  }
}

std::string AxisSpans::inSpans(llvm::StringRef strategy) const {
  llvm::Expected<NamedStrategy> named = NamedStrategy::parse(strategy);
  if (!named) {
    llvm::consumeError(named.takeError());
    return strategy.str();
  }
  std::string text;
  for (const NamedStrategy::Cut &cut : named->cuts)
    text += (text.empty() ? "" : " ") + cut.factor + ":" + inSpansOf(cut.axes);
  return text;
}

bool AxisSpans::isSame(llvm::StringRef strategy, const AxisSpans &those, llvm::StringRef other) const {
  return devices == those.devices ? inSpans(strategy) == those.inSpans(other) : strategy == other;
}

std::string AxisSpans::inSpansOf(const AxisNames &names) const {
  llvm::SmallVector<Span> joined;
  for (const std::string &name : names) {
    auto known = spans.find(name);
    Span span = known == spans.end() ? Span{name} : known->second;
    if (!joined.empty() && joined.back().level == span.level && joined.back().from == span.to)
      joined.back().from = span.from;
    else
      joined.push_back(span);
  }
  std::string text;
  for (const Span &span : joined)
    text += llvm::formatv("{0}[{1},{2})", span.level, span.from, span.to).str();
  return text;
}

} // namespace apc
