// Strategies in terms of the devices that they cut over.
#include "apc/Plan/AxisSpans.h"

#include "apc/Cluster/LevelWord.h"
#include "apc/Plan/Plan.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace apc {

AxisSpans::AxisSpans(llvm::StringRef meshes) {
  std::set<std::string> unclear; // axes that are others in other stages
  for (llvm::StringRef mesh : llvm::split(meshes, '|')) {
    AxisSpans own;
    own.readStage(mesh);
    for (const auto &[name, span] : own.spans)
      if (auto [known, isNew] = spans.try_emplace(name, span); !isNew && known->second != span)
        unclear.insert(name);
    for (const auto &[level, size] : own.devices) {
      int64_t &most = devices[level];
      most = std::max(most, size);
    }
  }
  for (const std::string &name : unclear)
    spans.erase(name);
}

void AxisSpans::readStage(llvm::StringRef mesh) {
  struct Axis {
    llvm::StringRef name, level;
    int64_t size;
  };
  llvm::SmallVector<Axis> axes;
  while (mesh.contains('=')) {
    auto [before, rest] = mesh.split('=');
    llvm::StringRef name = before.trim().rsplit(' ').second;
    name = name.empty() ? before.trim() : name;
    Axis axis{name, name.split('.').first, 1};
    if (rest.consumeInteger(10, axis.size))
      break;
    if (rest.consume_front(" ("))
      std::tie(axis.level, rest) = rest.split(')');
    axes.push_back(axis);
    mesh = rest;
  }
  for (size_t index = axes.size(); index-- > 0;) {
    std::string level = levelWord(axes[index].level);
    int64_t &stride = devices.try_emplace(level, 1).first->second;
    spans[axes[index].name.str()] = {level, stride, stride * axes[index].size};
    stride *= axes[index].size;
  }
}

std::string AxisSpans::inSpans(llvm::StringRef strategy, const std::set<std::string> &unequal) const {
  llvm::Expected<NamedStrategy> named = NamedStrategy::parse(strategy);
  if (!named) {
    llvm::consumeError(named.takeError());
    return strategy.str();
  }
  std::set<std::string> cuts; // the order of factors says nothing
  for (const NamedStrategy::Cut &cut : named->cuts)
    cuts.insert(cut.factor + ":" + inSpansOf(cut.axes, unequal));
  return llvm::join(cuts, " ");
}

bool AxisSpans::isSame(llvm::StringRef strategy, const AxisSpans &those, llvm::StringRef other) const {
  std::set<std::string> unequal;
  for (const auto &[level, size] : devices)
    if (auto same = those.devices.find(level); same == those.devices.end() || same->second != size)
      unequal.insert(level);
  return inSpans(strategy, unequal) == those.inSpans(other, unequal);
}

std::string AxisSpans::inSpansOf(const AxisNames &names, const std::set<std::string> &unequal) const {
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
  for (const Span &span : joined) {
    auto whole = devices.find(span.level);
    bool isAll = whole != devices.end() && span.from == 1 && span.to == whole->second;
    text += isAll && unequal.count(span.level) ? span.level + "[all)"
                                               : llvm::formatv("{0}[{1},{2})", span.level, span.from, span.to).str();
  }
  return text;
}

} // namespace apc
