// The text form of the attributes of meshes, shardings, strategies and collectives.
#include "apc/IR/ShardingAttrs.h"

#include "mlir/IR/OpImplementation.h"

#include "llvm/ADT/StringExtras.h"

namespace apc {

namespace {

using mlir::AsmParser;
using mlir::AsmPrinter;
using mlir::FailureOr;

constexpr CollectiveKind collectiveKinds[] = {CollectiveKind::AllGather, CollectiveKind::Slice,
                                              CollectiveKind::AllToAll,  CollectiveKind::ReduceScatter,
                                              CollectiveKind::AllReduce, CollectiveKind::Permute};

//===-------------------------------------------------------------------------------------------------------------===//
// Printing
//===-------------------------------------------------------------------------------------------------------------===//

void printNames(AsmPrinter &printer, llvm::ArrayRef<AxisId> axes, const Mesh &mesh) {
  llvm::interleave(
      axes, [&](AxisId axis) { printer.printKeywordOrString(mesh.axis(axis).name); }, [&] { printer << " "; });
}

/// `-`, `x0` or `(x0 x1)`.
void printAxes(AsmPrinter &printer, llvm::ArrayRef<AxisId> axes, const Mesh &mesh) {
  printer << (axes.empty() ? "-" : axes.size() > 1 ? "(" : "");
  printNames(printer, axes, mesh);
  printer << (axes.size() > 1 ? ")" : "");
}

void printSharding(AsmPrinter &printer, const Sharding &sharding, const Mesh &mesh) {
  printer << "[";
  llvm::interleaveComma(llvm::enumerate(sharding.dims), printer, [&](auto dim) {
    printAxes(printer, dim.value(), mesh);
    printer << partsText(sharding.partsOf(static_cast<unsigned>(dim.index())));
  });
  printer << "]";
  if (!sharding.isPartial())
    return;
  printer << " " << combinerName(sharding.combiner) << "{";
  printNames(printer, sharding.partial, mesh);
  printer << "}";
}

//===-------------------------------------------------------------------------------------------------------------===//
// Parsing
//===-------------------------------------------------------------------------------------------------------------===//

/// `<` and the mesh, which comes first so that the names of axes can be looked up as they are read.
FailureOr<MeshAttr> parseMesh(AsmParser &parser) {
  MeshAttr mesh;
  if (parser.parseLess() || parser.parseAttribute(mesh) || parser.parseComma())
    return mlir::failure();
  return mesh;
}

FailureOr<AxisId> parseAxis(AsmParser &parser, const Mesh &mesh) {
  std::string name;
  llvm::SMLoc place = parser.getCurrentLocation();
  if (parser.parseKeywordOrString(&name))
    return mlir::failure();
  for (auto [index, axis] : llvm::enumerate(mesh.getAxes()))
    if (axis.name == name)
      return AxisId(index);
  return parser.emitError(place) << "axis '" << name << "' is not in the mesh " << mesh.str(), mlir::failure();
}

template <typename End>
FailureOr<AxisList> parseNames(AsmParser &parser, const Mesh &mesh, End end) {
  AxisList axes;
  while (mlir::failed(end())) {
    FailureOr<AxisId> axis = parseAxis(parser, mesh);
    if (mlir::failed(axis))
      return mlir::failure();
    axes.push_back(*axis);
  }
  return axes;
}

/// `{x0 x1}`.
FailureOr<AxisList> parseBraces(AsmParser &parser, const Mesh &mesh) {
  if (parser.parseLBrace())
    return mlir::failure();
  return parseNames(parser, mesh, [&] { return parser.parseOptionalRBrace(); });
}

/// `-`, `x0` or `(x0 x1)`.
FailureOr<AxisList> parseAxes(AsmParser &parser, const Mesh &mesh) {
  if (mlir::succeeded(parser.parseOptionalMinus()))
    return AxisList();
  if (mlir::succeeded(parser.parseOptionalLParen()))
    return parseNames(parser, mesh, [&] { return parser.parseOptionalRParen(); });
  FailureOr<AxisId> axis = parseAxis(parser, mesh);
  if (mlir::failed(axis))
    return mlir::failure();
  return AxisList{*axis};
}

/// The combiner that stands there, or none.
std::optional<Combiner> parseOptionalCombiner(AsmParser &parser) {
  llvm::StringRef name;
  if (mlir::failed(parser.parseOptionalKeyword(&name, {"sum", "max", "min", "product", "and", "or", "log_sum_exp"})))
    return std::nullopt;
  return parseCombiner(name);
}

/// `{256 128 128}`, or nothing.
FailureOr<llvm::SmallVector<int64_t, 4>> parseOptionalParts(AsmParser &parser) {
  llvm::SmallVector<int64_t, 4> sizes;
  if (mlir::failed(parser.parseOptionalLBrace()))
    return sizes;
  llvm::SMLoc place = parser.getCurrentLocation();
  while (mlir::failed(parser.parseOptionalRBrace()))
    if (parser.parseInteger(sizes.emplace_back()))
      return mlir::failure();
  if (sizes.size() < 2)
    return parser.emitError(place) << "expected the sizes of two parts or more", mlir::failure();
  return sizes;
}

FailureOr<Sharding> parseSharding(AsmParser &parser, const Mesh &mesh) {
  Sharding sharding;
  auto parseDim = [&]() -> mlir::ParseResult {
    FailureOr<AxisList> axes = parseAxes(parser, mesh);
    if (mlir::failed(axes))
      return mlir::failure();
    FailureOr<llvm::SmallVector<int64_t, 4>> parts = parseOptionalParts(parser);
    if (mlir::failed(parts))
      return mlir::failure();
    setParts(sharding.parted, sharding.numDims(), *parts);
    sharding.dims.push_back(std::move(*axes));
    return mlir::success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseDim))
    return mlir::failure();
  std::optional<Combiner> combiner = parseOptionalCombiner(parser);
  if (!combiner)
    return sharding;
  FailureOr<AxisList> partial = parseBraces(parser, mesh);
  if (mlir::failed(partial))
    return mlir::failure();
  sharding.combiner = *combiner;
  sharding.partial = std::move(*partial);
  llvm::sort(sharding.partial);
  return sharding;
}

/// `[data, -] sum{model} -> [data, -] of [8, 512]`.
FailureOr<CoalescedCollective::Value> parseCollectiveValue(AsmParser &parser, const Mesh &mesh) {
  CoalescedCollective::Value value;
  FailureOr<Sharding> from = parseSharding(parser, mesh);
  if (mlir::failed(from) || parser.parseArrow())
    return mlir::failure();
  FailureOr<Sharding> to = parseSharding(parser, mesh);
  auto parseDim = [&] { return parser.parseInteger(value.dims.emplace_back()); };
  if (mlir::failed(to) || parser.parseKeyword("of") ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseDim))
    return mlir::failure();
  value.from = std::move(*from);
  value.to = std::move(*to);
  return value;
}

FailureOr<CollectiveKind> parseKind(AsmParser &parser) {
  llvm::SMLoc place = parser.getCurrentLocation();
  llvm::StringRef name;
  if (parser.parseKeyword(&name))
    return mlir::failure();
  for (CollectiveKind kind : collectiveKinds)
    if (collectiveName(kind) == name)
      return kind;
  return parser.emitError(place) << "'" << name << "' is no collective; accepted are AllGather, Slice, AllToAll, "
                                 << "ReduceScatter, AllReduce, Permute",
         mlir::failure();
}

/// `b0:data` or `passing0:(x0 x1)`, added to `strategy`.
mlir::ParseResult parsePart(AsmParser &parser, const std::string &name, const Mesh &mesh, FactorCuts &strategy) {
  if (parser.parseColon())
    return mlir::failure();
  FailureOr<AxisList> axes = parseAxes(parser, mesh);
  if (mlir::failed(axes))
    return mlir::failure();
  llvm::StringRef group = name;
  unsigned index = 0;
  constexpr unsigned maxGroups = 64;
  if (!group.consume_front("passing") || group.getAsInteger(10, index) || index >= maxGroups) {
    strategy.factors.push_back({name, std::move(*axes)});
    return mlir::success();
  }
  if (strategy.partialInputs.size() <= index)
    strategy.partialInputs.resize(index + 1);
  strategy.partialInputs[index] = std::move(*axes);
  return mlir::success();
}

} // namespace

//===-------------------------------------------------------------------------------------------------------------===//
// The attributes
//===-------------------------------------------------------------------------------------------------------------===//

void MeshAttr::print(mlir::AsmPrinter &printer) const {
  printer << "<[";
  unsigned level = 0;
  for (auto [index, axis] : llvm::enumerate(getValue().getAxes())) {
    bool isNewLevel = axis.level > level;
    printer << (index == 0 ? "" : isNewLevel ? " " : ", ");
    for (; level < axis.level; ++level)
      printer << "| ";
    printer.printKeywordOrString(axis.name);
    printer << "=" << axis.size;
  }
  printer << "]>";
}

mlir::Attribute MeshAttr::parse(mlir::AsmParser &parser, mlir::Type) {
  llvm::SMLoc place = parser.getCurrentLocation();
  std::vector<MeshAxis> axes;
  unsigned level = 0;
  if (parser.parseLess() || parser.parseLSquare())
    return {};
  while (mlir::failed(parser.parseOptionalRSquare())) {
    bool isNewLevel = false;
    for (; mlir::succeeded(parser.parseOptionalVerticalBar()); ++level)
      isNewLevel = true;
    MeshAxis axis{"", 0, level};
    if ((!axes.empty() && !isNewLevel && parser.parseComma()) || parser.parseKeywordOrString(&axis.name) ||
        parser.parseEqual() || parser.parseInteger(axis.size))
      return {};
    if (axis.size < 1)
      return parser.emitError(place) << "axis '" << axis.name << "' has " << axis.size << " devices, not one or more",
             mlir::Attribute();
    axes.push_back(std::move(axis));
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<MeshAttr>(place, parser.getContext(), Mesh(std::move(axes)));
}

void AxesAttr::print(mlir::AsmPrinter &printer) const {
  printer << "<" << getMesh() << ", (";
  printNames(printer, getValue(), getMesh().getValue());
  printer << ")>";
}

mlir::Attribute AxesAttr::parse(mlir::AsmParser &parser, mlir::Type) {
  llvm::SMLoc place = parser.getCurrentLocation();
  FailureOr<MeshAttr> mesh = parseMesh(parser);
  if (mlir::failed(mesh) || parser.parseLParen())
    return {};
  FailureOr<AxisList> axes = parseNames(parser, mesh->getValue(), [&] { return parser.parseOptionalRParen(); });
  if (mlir::failed(axes) || parser.parseGreater())
    return {};
  return parser.getChecked<AxesAttr>(place, parser.getContext(), *mesh, std::move(*axes));
}

void CombinerAttr::print(mlir::AsmPrinter &printer) const { printer << "<" << combinerName(getValue()) << ">"; }

mlir::Attribute CombinerAttr::parse(mlir::AsmParser &parser, mlir::Type) {
  if (parser.parseLess())
    return {};
  std::optional<Combiner> combiner = parseOptionalCombiner(parser);
  if (!combiner)
    return parser.emitError(parser.getCurrentLocation(), "expected sum, max, min, product, and, or, log_sum_exp"),
           mlir::Attribute();
  if (parser.parseGreater())
    return {};
  return CombinerAttr::get(parser.getContext(), *combiner);
}

void ShardingAttr::print(mlir::AsmPrinter &printer) const {
  printer << "<" << getMesh() << ", ";
  printSharding(printer, getValue(), getMesh().getValue());
  printer << ">";
}

mlir::Attribute ShardingAttr::parse(mlir::AsmParser &parser, mlir::Type) {
  llvm::SMLoc place = parser.getCurrentLocation();
  FailureOr<MeshAttr> mesh = parseMesh(parser);
  if (mlir::failed(mesh))
    return {};
  FailureOr<Sharding> sharding = parseSharding(parser, mesh->getValue());
  if (mlir::failed(sharding) || parser.parseGreater())
    return {};
  return parser.getChecked<ShardingAttr>(place, parser.getContext(), *mesh, std::move(*sharding));
}

/// The parts of a strategy in their order: factors, then the passing lists that are not empty.
static void forEachPart(const FactorCuts &strategy,
                        llvm::function_ref<void(llvm::StringRef, llvm::ArrayRef<AxisId>)> visit) {
  for (const FactorCuts::FactorAxes &part : strategy.factors)
    visit(part.factor, part.axes);
  for (auto [group, axes] : llvm::enumerate(strategy.partialInputs))
    if (!axes.empty())
      visit("passing" + std::to_string(group), axes);
}

std::string StrategyAttr::str() const {
  const Mesh &mesh = getMesh().getValue();
  std::string text;
  forEachPart(getValue(), [&](llvm::StringRef name, llvm::ArrayRef<AxisId> axes) {
    std::string names = llvm::join(llvm::map_range(axes, [&](AxisId axis) { return mesh.axis(axis).name; }), " ");
    text += (text.empty() ? "" : " ") + name.str() + ":" + (axes.size() == 1 ? names : "(" + names + ")");
  });
  return text.empty() ? "replicated" : text;
}

void StrategyAttr::print(mlir::AsmPrinter &printer) const {
  printer << "<" << getMesh() << ",";
  bool isEmpty = true;
  forEachPart(getValue(), [&](llvm::StringRef name, llvm::ArrayRef<AxisId> axes) {
    isEmpty = false;
    printer << " ";
    printer.printKeywordOrString(name);
    printer << ":";
    printAxes(printer, axes, getMesh().getValue());
  });
  printer << (isEmpty ? " replicated>" : ">");
}

mlir::Attribute StrategyAttr::parse(mlir::AsmParser &parser, mlir::Type) {
  llvm::SMLoc place = parser.getCurrentLocation();
  FailureOr<MeshAttr> mesh = parseMesh(parser);
  FactorCuts strategy;
  if (mlir::failed(mesh))
    return {};
  if (mlir::succeeded(parser.parseOptionalKeyword("replicated"))) {
    if (parser.parseGreater())
      return {};
  } else {
    do {
      std::string name;
      if (parser.parseKeywordOrString(&name) || parsePart(parser, name, mesh->getValue(), strategy))
        return {};
    } while (mlir::failed(parser.parseOptionalGreater()));
  }
  return parser.getChecked<StrategyAttr>(place, parser.getContext(), *mesh, std::move(strategy));
}

void CollectiveAttr::print(mlir::AsmPrinter &printer) const {
  const Mesh &mesh = getMesh().getValue();
  const CoalescedCollective &collective = getValue();
  printer << "<" << getMesh() << ", " << collectiveName(collective.kind) << "{";
  printNames(printer, collective.axes, mesh);
  printer << "}";
  for (const CoalescedCollective::Value &value : collective.values) {
    printer << ", ";
    printSharding(printer, value.from, mesh);
    printer << " -> ";
    printSharding(printer, value.to, mesh);
    printer << " of [";
    llvm::interleaveComma(value.dims, printer);
    printer << "]";
  }
  printer << ">";
}

mlir::Attribute CollectiveAttr::parse(mlir::AsmParser &parser, mlir::Type) {
  llvm::SMLoc place = parser.getCurrentLocation();
  FailureOr<MeshAttr> mesh = parseMesh(parser);
  if (mlir::failed(mesh))
    return {};
  FailureOr<CollectiveKind> kind = parseKind(parser);
  if (mlir::failed(kind))
    return {};
  FailureOr<AxisList> axes = parseBraces(parser, mesh->getValue());
  if (mlir::failed(axes))
    return {};
  CoalescedCollective collective{*kind, std::move(*axes), {}};
  while (mlir::succeeded(parser.parseOptionalComma())) {
    FailureOr<CoalescedCollective::Value> value = parseCollectiveValue(parser, mesh->getValue());
    if (mlir::failed(value))
      return {};
    collective.values.push_back(std::move(*value));
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<CollectiveAttr>(place, parser.getContext(), *mesh, std::move(collective));
}

} // namespace apc
