// Format `sdy`: the program on whole tensors, with redistributions as Shardy's explicit collectives, whose verifier
// works out the sharding behind each of them anew.
#include "../Formats.h"
#include "../ProgramMesh.h"
#include "SdyMove.h"

#include "apc/IR/AttributeNames.h"
#include "apc/IR/CollectivePlaces.h"
#include "apc/IR/MainFunction.h"
#include "apc/IR/Operator.h"
#include "apc/IR/Ops/Spmd/Spmd.h"
#include "apc/IR/RuleBuilder.h"
#include "apc/Support/Error.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"

namespace apc {

namespace {

namespace func = mlir::func;
using SdyValues = std::vector<SdyValue>;

std::string nameOf(mlir::Operation *op) {
  if (auto parameter = llvm::dyn_cast<ParameterOp>(op))
    return "parameter '" + parameter.getName().str() + "'";
  auto name = op->getAttrOfType<mlir::StringAttr>(opAttribute);
  return op->getName().getStringRef().str() + (name ? " '" + name.str() + "'" : "");
}

/// A function in text: its name and results.
struct SdyFunction {
  std::string name;
  std::vector<SdyTensor> results;
};

SdyValues partsOf(llvm::ArrayRef<SdyTensor> tensors) {
  SdyValues parts;
  for (const SdyTensor &tensor : tensors)
    llvm::append_range(parts, tensor.parts);
  return parts;
}

class SdyWriter {
public:
  SdyWriter(const EmitRequest &request, Mesh mesh) : request(request), mesh(std::move(mesh)) {
    for (const PlanSharding &planned : request.plan->shardings)
      byProducer[planned.producer].push_back(&planned);
  }
  llvm::Expected<std::string> run();

private:
  /// The text of one function, given how its arguments are held.
  llvm::Expected<SdyFunction> addFunction(func::FuncOp function, llvm::ArrayRef<SdyTensor> arguments, bool isMain);
  /// Puts the function at work, which ends with `end`, behind those that are finished.
  void finish(const SdyFunction &written, const SdyValues &arguments, mlir::Operation *end);
  llvm::Error addOp(mlir::Operation &op);
  llvm::Error addCollective(CollectiveInterface op);
  llvm::Error addKept(KeepOnFirstOp op);
  llvm::Error addCall(func::CallOp call);
  llvm::Error addOperator(mlir::Operation &op);
  llvm::Error addConstant(ConstantOp constant);
  /// A tensor whose piece is `value`, its parts in text; an error where Shardy has no words for it.
  llvm::Error define(mlir::Value value, const SdyValue &whole, SdyValues parts);
  llvm::Error checkCan(mlir::Value value, const SdyValue &whole);
  /// The parts of `tensor`, cut further at the parts of dims that `as` has; these dims are whole on every device.
  SdyValues cutApart(const SdyTensor &tensor, const Sharding &as);
  /// The parts of `whole`, from those that dims have in `of` besides; these dims are whole on every device.
  SdyValues putTogether(const SdyValues &parts, const SdyValue &whole, const Sharding &of);
  /// The parts of `whole`, from summands that have come together.
  SdyValues combined(const SdyValues &parts, const SdyValue &whole);
  /// Adds an op on one part: `name = text operands {sharding} : types`.
  SdyValue addPart(llvm::StringRef op, llvm::ArrayRef<SdyValue> operands, const llvm::Twine &attributes,
                   SdyValue result);
  /// The result of an operator, as the plan says it, or as its operand of the same piece is.
  llvm::Expected<SdyValue> planned(mlir::Operation &op, unsigned index);
  llvm::Expected<SdyValue> declared(mlir::Value value, mlir::DictionaryAttr attributes, llvm::StringRef name);
  std::string freshName() { return "%" + std::to_string(numNames++); }
  /// `{sdy.sharding = #sdy.sharding_per_value<[...]>}`
  std::string perValue(llvm::ArrayRef<SdyValue> values) const;
  /// Names and types of operands that are tensors of whole sizes.
  std::pair<std::string, std::string> operandText(mlir::ValueRange operands);

  const EmitRequest &request;
  Mesh mesh;
  llvm::StringMap<std::vector<const PlanSharding *>> byProducer;
  std::map<std::string, SdyFunction> layers; ///< by name and arguments
  std::string functions, body;               ///< the finished text, and the function at work
  llvm::DenseMap<mlir::Value, SdyTensor> known;
  unsigned numNames = 0;
};

std::string typesOf(llvm::ArrayRef<SdyValue> values) {
  std::string text;
  for (const SdyValue &value : values)
    text += (text.empty() ? "" : ", ") + value.type();
  return "(" + text + ")";
}

std::string SdyWriter::perValue(llvm::ArrayRef<SdyValue> values) const {
  std::string text;
  for (const SdyValue &value : values)
    text += (text.empty() ? "" : ", ") + sdySharding(value.sharding, mesh);
  return "{sdy.sharding = #sdy.sharding_per_value<[" + text + "]>}";
}

std::pair<std::string, std::string> SdyWriter::operandText(mlir::ValueRange operands) {
  SdyValues values;
  for (mlir::Value operand : operands)
    llvm::append_range(values, known.lookup(operand).parts);
  return {llvm::join(llvm::map_range(values, [](const SdyValue &value) { return value.name; }), ", "), typesOf(values)};
}

llvm::Error SdyWriter::checkCan(mlir::Value value, const SdyValue &whole) {
  std::string refusal = sdyRefusal(whole, mesh);
  if (refusal.empty())
    return llvm::Error::success();
  auto argument = llvm::dyn_cast<mlir::BlockArgument>(value);
  std::string name = argument ? "argument " + std::to_string(argument.getArgNumber()) : nameOf(value.getDefiningOp());
  return inputError("{0}: format 'sdy' cannot say {1}", name, refusal);
}

llvm::Error SdyWriter::define(mlir::Value value, const SdyValue &whole, SdyValues parts) {
  known[value] = {whole, std::move(parts)};
  return checkCan(value, whole);
}

SdyValue SdyWriter::addPart(llvm::StringRef op, llvm::ArrayRef<SdyValue> operands, const llvm::Twine &attributes,
                            SdyValue result) {
  result.name = freshName();
  std::string names = llvm::join(llvm::map_range(operands, [](const SdyValue &value) { return value.name; }), ", ");
  body += llvm::formatv("  {0} = \"{1}\"({2}) <{{{3}}> {4} : {5} -> {6}\n", result.name, op, names, attributes.str(),
                        perValue({result}), typesOf(operands), result.type());
  return result;
}

SdyValues SdyWriter::cutApart(const SdyTensor &tensor, const Sharding &as) {
  SdyValues parts = tensor.parts;
  for (const PartedDim &parted : as.parted) {
    if (!sdyHeld(tensor.whole.sharding).partsOf(parted.dim).empty())
      continue;
    SdyValues finer;
    for (const SdyValue &part : parts) {
      int64_t begin = 0;
      for (int64_t size : parted.sizes) {
        SdyValue piece = part;
        piece.dims[parted.dim] = size;
        llvm::SmallVector<int64_t, 4> begins(part.dims.size(), 0), ends(part.dims), steps(part.dims.size(), 1);
        begins[parted.dim] = begin, ends[parted.dim] = begin += size;
        finer.push_back(addPart("stablehlo.slice", {part},
                                "limit_indices = " + sdyInts(ends) + ", start_indices = " + sdyInts(begins) +
                                    ", strides = " + sdyInts(steps),
                                piece));
      }
    }
    parts = std::move(finer);
  }
  return parts;
}

SdyValues SdyWriter::putTogether(const SdyValues &parts, const SdyValue &whole, const Sharding &of) {
  SdyValues joined = parts;
  unsigned front = hasDimOfSummands(of) ? 1 : 0;
  for (const PartedDim &parted : llvm::reverse(of.parted)) {
    if (!whole.sharding.partsOf(parted.dim).empty())
      continue;
    SdyValues fewer;
    for (size_t i = 0; i < joined.size(); i += parted.sizes.size()) {
      SdyValue result = joined[i];
      result.dims[front + parted.dim] = whole.dims[parted.dim];
      fewer.push_back(addPart("stablehlo.concatenate", llvm::ArrayRef(joined).slice(i, parted.sizes.size()),
                              "dimension = " + llvm::Twine(front + parted.dim) + " : i64", result));
    }
    joined = std::move(fewer);
  }
  return joined;
}

llvm::Expected<SdyValue> SdyWriter::declared(mlir::Value value, mlir::DictionaryAttr attributes, llvm::StringRef name) {
  auto sharding = attributes ? attributes.getAs<ShardingAttr>(shardingAttribute) : ShardingAttr();
  auto shape = attributes ? attributes.getAs<mlir::DenseI64ArrayAttr>(shapeAttribute) : mlir::DenseI64ArrayAttr();
  if (!sharding || !shape)
    return inputError("{0}: format 'sdy' needs the sharding and the shape of the whole tensor, which the program does "
                      "not say",
                      name);
  return SdyValue{"", llvm::SmallVector<int64_t, 4>(shape.asArrayRef()), mlir::getElementTypeOrSelf(value.getType()),
                  sharding.getValue()};
}

llvm::Expected<SdyValue> SdyWriter::planned(mlir::Operation &op, unsigned index) {
  mlir::Value result = op.getResult(index);
  mlir::Type element = mlir::getElementTypeOrSelf(result.getType());
  auto name = op.getAttrOfType<mlir::StringAttr>(opAttribute);
  auto made = name ? byProducer.lookup(name.getValue()) : std::vector<const PlanSharding *>();
  auto fits = [&](const TensorShape &whole, const Sharding &sharding) {
    return localShape(whole, sharding, mesh).dims == llvm::ArrayRef<int64_t>(dimsOf(result));
  };
  if (index < made.size()) {
    auto sharding = made[index]->sharding.bind(mesh);
    if (!sharding)
      return sharding.takeError();
    TensorShape whole{llvm::SmallVector<int64_t, 4>(llvm::ArrayRef(made[index]->shape))};
    if (fits(whole, *sharding))
      return SdyValue{"", whole.dims, element, *sharding};
  }
  for (mlir::Value operand : op.getOperands())
    if (auto found = known.find(operand); found != known.end() && operand.getType() == result.getType())
      return SdyValue{"", found->second.whole.dims, element, found->second.whole.sharding};
  return inputError("{0}: format 'sdy' cannot say result {1}, {2}, whose sharding the plan does not name", nameOf(&op),
                    index, result.getType());
}

llvm::Error SdyWriter::addConstant(ConstantOp constant) {
  auto data = llvm::dyn_cast<mlir::DenseElementsAttr>(constant.getValue());
  if (!data)
    return inputError("{0}: format 'sdy' takes constants of dense elements", nameOf(constant));
  auto dims = data.getType().getShape();
  SdyValue value{freshName(), llvm::SmallVector<int64_t, 4>(dims), data.getElementType(),
                 Sharding::replicated(static_cast<unsigned>(dims.size()))};
  llvm::raw_string_ostream(body) << "  " << value.name << " = \"stablehlo.constant\"() <{value = " << data << "}> "
                                 << perValue({value}) << " : () -> " << value.type() << "\n";
  return define(constant.getOutput(), value, {value});
}

llvm::Error SdyWriter::addCollective(CollectiveInterface op) {
  const CoalescedCollective &collective = op.getCollective().getValue();
  for (auto [value, operand, result] : llvm::zip_equal(collective.values, op->getOperands(), op->getResults())) {
    auto found = known.find(operand);
    if (found == known.end() || found->second.whole.sharding != value.from ||
        llvm::ArrayRef(found->second.whole.dims) != llvm::ArrayRef(value.dims))
      return internalError("{0}: starts from {1} of {2}, which its operand is not", nameOf(op), value.from.str(mesh),
                           printDims(value.dims));
    SdyTensor before = found->second;
    SdyValue after{"", before.whole.dims, before.whole.element, value.to};
    SdyMove move = sdyMove(collective.kind, value, mesh);
    std::string refusal = sdyPartsRefusal(value.from, value.to);
    if (move.text.empty() || (refusal.empty() && move.combines && value.from.parted != value.to.parted))
      refusal = llvm::formatv("a move from {0} to {1}", value.from.str(mesh), value.to.str(mesh));
    if (!refusal.empty())
      return inputError("{0}: format 'sdy' cannot say {1}", nameOf(op), refusal);
    if (llvm::Error error = checkCan(result, after))
      return error;
    SdyValues parts = move.combines ? before.parts : cutApart(before, sdyHeld(value.to));
    move.after.parted.clear();
    for (SdyValue &part : parts) {
      std::string name = freshName();
      body += llvm::formatv("  {0} = {1} {2} out_sharding={3} : {4}\n", name, move.text, part.name,
                            sdySharding(move.after, mesh), part.type());
      part.name = name, part.sharding = move.after;
    }
    if (llvm::Error error =
            define(result, after, move.combines ? combined(parts, after) : putTogether(parts, after, value.from)))
      return error;
  }
  return llvm::Error::success();
}

SdyValues SdyWriter::combined(const SdyValues &parts, const SdyValue &whole) {
  SdyValues results = sdyParts(whole, mesh);
  for (auto [part, result] : llvm::zip_equal(parts, results))
    result = addPart("stablehlo.custom_call", {part}, "call_target_name = \"apc.combine\"", result);
  return results;
}

llvm::Error SdyWriter::addKept(KeepOnFirstOp op) {
  SdyTensor tensor = known.lookup(op.getInput());
  if (hasDimOfSummands(tensor.whole.sharding))
    return inputError("{0}: format 'sdy' cannot say an addend of {1}", nameOf(op), tensor.whole.sharding.str(mesh));
  auto keep = [&](SdyValue &value) {
    llvm::append_range(value.sharding.partial, op.getAxes().getValue());
    llvm::sort(value.sharding.partial);
  };
  keep(tensor.whole);
  for (SdyValue &part : tensor.parts) {
    std::string before = std::exchange(part.name, freshName());
    keep(part);
    body +=
        llvm::formatv("  {0} = sdy.replicated_to_unreduced {1} {2} out_sharding={3} : {4}\n", part.name,
                      sdyAxes(op.getAxes().getValue(), mesh), before, sdySharding(part.sharding, mesh), part.type());
  }
  return define(op.getOutput(), tensor.whole, tensor.parts);
}

/// Gives the results of an op of several results their names in order: "%3#0".
void nameResults(std::vector<SdyTensor> &results, llvm::StringRef name) {
  size_t number = 0;
  for (SdyTensor &result : results)
    for (SdyValue &part : result.parts)
      part.name = (name + "#" + llvm::Twine(number++)).str();
}

llvm::Error SdyWriter::addOperator(mlir::Operation &op) {
  if (op.getNumRegions() != 0)
    return inputError("{0}: format 'sdy' has no form of operators that hold programs", nameOf(&op));
  std::vector<SdyTensor> results;
  std::string name = freshName();
  for (auto [index, result] : llvm::enumerate(op.getResults())) {
    results.emplace_back();
    if (isAbsent(result))
      continue;
    auto receive = llvm::dyn_cast<ReceiveOp>(op);
    auto value = receive ? declared(result, op.getAttrDictionary(), receive.getValue())
                         : planned(op, static_cast<unsigned>(index));
    if (!value)
      return value.takeError();
    results.back() = {*value, sdyParts(*value, mesh)};
  }
  nameResults(results, name);
  for (auto [value, result] : llvm::zip_equal(op.getResults(), results))
    if (!isAbsent(value))
      if (llvm::Error error = define(value, result.whole, result.parts))
        return error;
  auto [operands, types] = operandText(op.getOperands());
  SdyValues parts = partsOf(results);
  if (!parts.empty())
    body += "  " + name + ":" + std::to_string(parts.size()) + " = ";
  body +=
      llvm::formatv("{0}\"stablehlo.custom_call\"({1}) <{{call_target_name = \"{2}\", has_side_effect = {3}}> {4} : "
                    "{5} -> {6}",
                    parts.empty() ? "  " : "", operands, op.getName().getStringRef(), parts.empty(),
                    parts.empty() ? "" : perValue(parts), types, typesOf(parts));
  auto planOp = op.getAttrOfType<mlir::StringAttr>(opAttribute);
  body += planOp ? " // " + planOp.str() + "\n" : "\n";
  return llvm::Error::success();
}

llvm::Error SdyWriter::addCall(func::CallOp call) {
  std::vector<SdyTensor> arguments;
  std::string key = call.getCallee().str();
  for (mlir::Value operand : call.getOperands()) {
    arguments.push_back(known.lookup(operand));
    const SdyTensor &argument = arguments.back();
    key += argument.parts.empty() ? " -" : " " + argument.whole.type() + argument.whole.sharding.str(mesh);
  }
  SdyFunction &layer = layers[key];
  if (layer.name.empty()) {
    mlir::ModuleOp program = *request.stage.module;
    auto callee = program.lookupSymbol<func::FuncOp>(call.getCallee());
    auto written = addFunction(callee, arguments, /*isMain=*/false);
    if (!written)
      return written.takeError();
    layer = std::move(*written);
  }
  std::vector<SdyTensor> results = layer.results;
  std::string name = freshName();
  nameResults(results, name);
  for (auto [value, result] : llvm::zip_equal(call.getResults(), results))
    if (llvm::Error error = define(value, result.whole, result.parts))
      return error;
  auto [operands, types] = operandText(call.getOperands());
  SdyValues parts = partsOf(results);
  body += llvm::formatv("  {0} = func.call @{1}({2}) {3} : {4} -> {5}\n", name + ":" + std::to_string(parts.size()),
                        layer.name, operands, perValue(parts), types, typesOf(parts));
  return llvm::Error::success();
}

llvm::Error SdyWriter::addOp(mlir::Operation &op) {
  if (auto mask = llvm::dyn_cast<MaskPaddingOp>(op))
    return inputError("{0}: format 'sdy' cannot say a mask of the padding of a dim of {1}", nameOf(mask),
                      mask.getSize());
  if (llvm::isa<NoneOp, ParameterOp, ShardOffsetOp, PartEndOp, MicroBatchEndOp, func::ReturnOp>(op))
    return llvm::Error::success();
  if (auto constant = llvm::dyn_cast<ConstantOp>(op))
    return addConstant(constant);
  if (auto collective = llvm::dyn_cast<CollectiveInterface>(op))
    return addCollective(collective);
  if (auto kept = llvm::dyn_cast<KeepOnFirstOp>(op))
    return addKept(kept);
  if (auto call = llvm::dyn_cast<func::CallOp>(op))
    return addCall(call);
  return addOperator(op);
}

void SdyWriter::finish(const SdyFunction &written, const SdyValues &arguments, mlir::Operation *end) {
  auto [returned, types] = operandText(end->getOperands());
  auto describe = [&](const SdyValue &value) {
    return value.type() + " {sdy.sharding = #sdy.sharding" + sdySharding(value.sharding, mesh) + "}";
  };
  auto argumentTexts = llvm::map_range(arguments, [&](auto &value) { return value.name + ": " + describe(value); });
  SdyValues results = partsOf(written.results);
  auto resultTexts = llvm::map_range(results, describe);
  functions += llvm::formatv("func.func {0} @{1}({2}) -> ({3}) {{\n{4}  return{5} : {6}\n}\n",
                             written.name == "main" ? "public" : "private", written.name,
                             llvm::join(argumentTexts, ", "), llvm::join(resultTexts, ", "), body,
                             returned.empty() ? "" : " " + returned, llvm::StringRef(types).drop_front().drop_back());
}

llvm::Expected<SdyFunction> SdyWriter::addFunction(func::FuncOp function, llvm::ArrayRef<SdyTensor> given,
                                                   bool isMain) {
  std::string outer = std::exchange(body, "");
  auto outerKnown = std::exchange(known, llvm::DenseMap<mlir::Value, SdyTensor>());
  unsigned outerNames = std::exchange(numNames, 0);
  SdyFunction written{isMain ? "main" : "layer" + std::to_string(layers.size() - 1), {}};
  SdyValues arguments;
  auto add = [&](mlir::Value value, SdyTensor argument) {
    for (SdyValue &part : argument.parts) {
      part.name = "%arg" + std::to_string(arguments.size());
      arguments.push_back(part);
    }
    known[value] = argument;
    return argument.parts.empty() ? llvm::Error::success() : checkCan(value, argument.whole);
  };
  auto addDeclared = [&](mlir::Value value, mlir::DictionaryAttr attributes, llvm::StringRef name) -> llvm::Error {
    auto whole = declared(value, attributes, name);
    return whole ? add(value, {*whole, sdyParts(*whole, mesh)}) : whole.takeError();
  };
  for (auto [index, argument] : llvm::enumerate(function.getArguments()))
    if (llvm::Error error =
            isMain ? addDeclared(argument, function.getArgAttrDict(static_cast<unsigned>(index)), "an argument")
                   : add(argument, given[index]))
      return error;
  for (auto parameter : function.getOps<ParameterOp>())
    if (llvm::Error error = addDeclared(parameter.getOutput(), parameter->getAttrDictionary(), parameter.getName()))
      return error;
  for (mlir::Operation &op : function.front())
    if (llvm::Error error = addOp(op))
      return error;
  for (mlir::Value value : function.front().getTerminator()->getOperands())
    written.results.push_back(known.lookup(value));
  finish(written, arguments, function.front().getTerminator());
  body = std::move(outer), known = std::move(outerKnown), numNames = outerNames;
  return written;
}

llvm::Expected<std::string> SdyWriter::run() {
  auto written = addFunction(mainOf(*request.stage.module), {}, /*isMain=*/true);
  if (!written)
    return written.takeError();
  return sdyMesh(mesh) + functions;
}

} // namespace

llvm::Error emitSdy(const EmitRequest &request, AddFile addFile) {
  mlir::ModuleOp program = *request.stage.module;
  llvm::Expected<Mesh> mesh = meshOfProgram(program);
  if (!mesh)
    return mesh.takeError();
  auto text = SdyWriter(request, *mesh).run();
  return text ? addFile("program.mlir", *text) : text.takeError();
}

} // namespace apc
