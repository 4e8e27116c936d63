// Scales the rows of the table of figures that answer one question.
#include "apc/Cluster/ScaledPool.h"

#include "FigureTable.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace apc {

namespace {

void multiply(double &value, double factor) { value *= factor; }
void multiply(int64_t &value, double factor) { value = static_cast<int64_t>(factor * static_cast<double>(value)); }
void multiply(Peaks &peaks, double factor) {
  for (auto &[format, peak] : peaks)
    peak *= factor;
}

std::optional<double> numberOf(double value) { return value; }
std::optional<double> numberOf(int64_t value) { return static_cast<double>(value); }
std::optional<double> numberOf(const Peaks &) { return std::nullopt; }

template <typename T>
concept Scalable = requires(T &value) { multiply(value, 2.0); } && !std::is_same_v<T, bool>;

template <typename Owner>
void scale(Owner &owner, FigureKind kind, double factor) {
  for (const FigureRow<Owner> &row : figureRows<Owner>())
    if (row.scaled == kind)
      std::visit(
          [&](auto member) {
            if constexpr (Scalable<std::remove_reference_t<decltype(owner.*member)>>)
              multiply(owner.*member, factor);
          },
          row.member);
}

/// The first row of the owner's table that the question scales.
template <typename Owner>
std::optional<size_t> rowOf(FigureKind kind) {
  for (auto [index, row] : enumerate(figureRows<Owner>()))
    if (row.scaled == kind)
      return index;
  return std::nullopt;
}

template <typename Owner>
std::optional<double> valueOf(const Owner &owner, size_t row) {
  return std::visit(
      [&](auto member) -> std::optional<double> {
        if constexpr (Scalable<std::remove_cvref_t<decltype(owner.*member)>>)
          return numberOf(owner.*member);
        return std::nullopt;
      },
      figureRows<Owner>()[row].member);
}

} // namespace

std::string ScalableFigure::name(const Pool &pool) const {
  if (std::optional<size_t> row = rowOf<Device>(kind))
    return figureName({FigurePlace::Section::Device, 0, *row}, pool);
  size_t row = *rowOf<Level>(kind);
  return level ? figureName({FigurePlace::Section::Level, *level, row}, pool)
               : (figureRows<Level>()[row].key + " of all links").str();
}

std::optional<double> ScalableFigure::value(const Pool &pool) const {
  if (std::optional<size_t> row = rowOf<Device>(kind))
    return valueOf(pool.device, *row);
  return level ? valueOf(pool.levels[*level], *rowOf<Level>(kind)) : std::nullopt;
}

Pool scaled(const Pool &pool, const ScalableFigure &figure, double factor) {
  Pool changed = pool;
  scale(changed.device, figure.kind, factor);
  for (auto [index, level] : enumerate(changed.levels))
    if (!figure.level || *figure.level == index)
      scale(level, figure.kind, factor);
  return changed;
}

} // namespace apc
