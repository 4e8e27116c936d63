// The table of figures: which figures a device, a level and a host have, in which units, and where each is kept.
#pragma once

#include "apc/Cluster/ScaledPool.h"

#include <variant>

namespace apc {

/// The numbers that a figure may be: above 0, or from 0 on, and at most `maximum`. Other figures use the name alone.
struct FigureUnit {
  llvm::StringLiteral name = ""; ///< as in "4e11 is expected, in bytes per second"
  double maximum = 0;
  bool isWhole = false;
  bool mayBeZero = false;
};

constexpr FigureUnit fractionUnit{"a fraction", 1};
constexpr FigureUnit countUnit{"a count", 0x1p20, true};

/// Where a figure stands. Ascending order is that of documents: the device, the levels, the host.
struct FigurePlace {
  enum class Section : uint8_t { Device, Level, Host };

  Section section = Section::Device;
  size_t level = 0; ///< of a level's figure
  size_t row = 0;   ///< of the section's table

  friend auto operator<=>(const FigurePlace &, const FigurePlace &) = default;
};

using Peaks = std::map<NumberFormat, double>;

/// One figure of a Device, a Level, a Host or a Runtime. Texts are names, not figures: nothing tells where they are
/// from.
template <typename Owner>
struct FigureRow {
  using Member = std::variant<std::string Owner::*, double Owner::*, int64_t Owner::*, bool Owner::*, Topology Owner::*,
                              Peaks Owner::*, EfficiencyCurve Owner::*>;

  llvm::StringLiteral key; ///< in documents and in `--cluster-set`
  Member member;
  FigureUnit unit = {};
  bool isRequired = false;
  double Owner::*standIn = nullptr;                ///< has the value where this figure is not given
  std::optional<FigureKind> scaled = std::nullopt; ///< the question that scales this figure

  bool isName() const { return std::holds_alternative<std::string Owner::*>(member); }
};

/// The rows of a Device, a Level, a Host or a Runtime, in the order in which `apc clusters` lists them.
template <typename Owner>
llvm::ArrayRef<FigureRow<Owner>> figureRows();
template <>
llvm::ArrayRef<FigureRow<Device>> figureRows<Device>();
template <>
llvm::ArrayRef<FigureRow<Level>> figureRows<Level>();
template <>
llvm::ArrayRef<FigureRow<Host>> figureRows<Host>();
template <>
llvm::ArrayRef<FigureRow<Runtime>> figureRows<Runtime>();

/// "device.memory_bytes", "level.node.size", "host.memory_bytes"; as in `--cluster-set`.
std::string figureName(FigurePlace place, const Pool &pool);

} // namespace apc
