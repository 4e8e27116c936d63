// Format `sdy`: the program on whole tensors, with redistributions as Shardy's explicit collectives, whose verifier
// works out the sharding behind each of them anew.
#include "../Formats.h"
#include "SdyText.h"

#include "apc/IR/AttributeNames.h"
#include "apc/IR/CollectivePlaces.h"
#include "apc/IR/Diagnostics.h"
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
  SdyValues results;
};

class SdyWriter {
public:
  SdyWriter(const EmitRequest &request, Mesh mesh) : request(request), mesh(std::move(mesh)) {
    for (const PlanSharding &planned : request.plan->shardings)
      byProducer[planned.producer].push_back(&planned);
  }
  llvm::Expected<std::string> run();

private:
  /// The text of one function, given how its arguments are held.
  llvm::Expected<SdyFunction> addFunction(func::FuncOp function, const SdyValues &arguments, bool isMain);
  /// Puts the function at work, which ends with `end`, behind those that are finished.
  void finish(const SdyFunction &written, const SdyValues &arguments, mlir::Operation *end);
  llvm::Error addOp(mlir::Operation &op);
  llvm::Error addCollective(CollectiveInterface op);
  llvm::Error addKept(KeepOnFirstOp op);
  llvm::Error addCall(func::CallOp call);
  llvm::Error addOperator(mlir::Operation &op);
  llvm::Error addConstant(ConstantOp constant);
  /// A tensor whose piece is `value`; an error where Shardy has no words for it.
  llvm::Error define(mlir::Value value, SdyValue known);
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
  llvm::DenseMap<mlir::Value, SdyValue> known;
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
  std::string names;
  for (mlir::Value operand : operands)
    if (auto found = known.find(operand); found != known.end() && !found->second.name.empty()) {
      values.push_back(found->second);
      names += (names.empty() ? "" : ", ") + found->second.name;
    }
  return {names, typesOf(values)};
}

llvm::Error SdyWriter::define(mlir::Value value, SdyValue tensor) {
  if (std::string refusal = sdyRefusal(tensor, mesh); !refusal.empty()) {
    mlir::Operation *op = value.getDefiningOp();
    return inputError("{0}: format 'sdy' cannot say {1}", op ? nameOf(op) : "argument " + tensor.name, refusal);
  }
  known[value] = std::move(tensor);
  return llvm::Error::success();
}

llvm::Expected<SdyValue> SdyWriter::declared(mlir::Value value, mlir::DictionaryAttr attributes, llvm::StringRef name) {
  auto sharding = attributes ? attributes.getAs<ShardingAttr>(shardingAttribute) : ShardingAttr();
  auto shape = attributes ? attributes.getAs<mlir::DenseI64ArrayAttr>(shapeAttribute) : mlir::DenseI64ArrayAttr();
  if (!sharding || !shape)
    return inputError("{0}: format 'sdy' needs the sharding and the shape of the whole tensor, which the program does "
                      "not say",
                      name);
  return SdyValue{freshName(), llvm::SmallVector<int64_t, 4>(shape.asArrayRef()),
                  mlir::getElementTypeOrSelf(value.getType()), sharding.getValue()};
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
      return SdyValue{"", found->second.dims, element, found->second.sharding};
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
  return define(constant.getOutput(), value);
}

/// The axes of a collective for each dim: `[{}, {"device"}]`, those that `longer` has behind those of `shorter`.
std::string movedAxes(const Sharding &longer, const Sharding &shorter, const Mesh &mesh) {
  std::string text;
  for (auto [more, less] : llvm::zip_equal(longer.dims, shorter.dims)) {
    llvm::ArrayRef<AxisId> all = more;
    text += (text.empty() ? "" : ", ") + sdyAxes(all.drop_front(std::min(less.size(), all.size())), mesh);
  }
  return "[" + text + "]";
}

/// `sdy.all_gather [{}, {"device"}]`: the op up to its operand.
std::string collectiveText(CollectiveKind kind, const CoalescedCollective::Value &value, const Mesh &mesh) {
  switch (kind) {
  case CollectiveKind::AllGather:
    return "sdy.all_gather " + movedAxes(value.from, value.to, mesh);
  case CollectiveKind::Slice:
    return "sdy.all_slice " + movedAxes(value.to, value.from, mesh);
  case CollectiveKind::ReduceScatter:
    return "sdy.reduce_scatter " + movedAxes(value.to, value.from, mesh);
  case CollectiveKind::AllReduce: {
    AxisList settled(value.from.partial);
    llvm::erase_if(settled, [&](AxisId axis) { return llvm::is_contained(value.to.partial, axis); });
    return "sdy.all_reduce " + sdyAxes(settled, mesh);
  }
  case CollectiveKind::AllToAll: {
    unsigned from = dimWithMore(value.from, value.to), to = dimWithMore(value.to, value.from);
    llvm::ArrayRef<AxisId> moved = llvm::ArrayRef(value.from.dims[from]).drop_front(value.to.dims[from].size());
    return llvm::formatv("sdy.all_to_all [{0}: {1}->{2}]", sdyAxes(moved, mesh), from, to);
  }
  case CollectiveKind::Permute:
    return "sdy.collective_permute";
  }
  llvm_unreachable("no other kinds");
}

llvm::Error SdyWriter::addCollective(CollectiveInterface op) {
  const CoalescedCollective &collective = op.getCollective().getValue();
  for (auto [value, operand, result] : llvm::zip_equal(collective.values, op->getOperands(), op->getResults())) {
    auto found = known.find(operand);
    if (found == known.end() || found->second.sharding != value.from ||
        llvm::ArrayRef(found->second.dims) != llvm::ArrayRef(value.dims))
      return internalError("{0}: starts from {1} of {2}, which its operand is not", nameOf(op), value.from.str(mesh),
                           printDims(value.dims));
    SdyValue before = found->second, after{freshName(), before.dims, before.element, value.to};
    if (llvm::Error error = define(result, after))
      return error;
    body += llvm::formatv("  {0} = {1} {2} out_sharding={3} : {4}\n", after.name,
                          collectiveText(collective.kind, value, mesh), before.name, sdySharding(value.to, mesh),
                          after.type());
  }
  return llvm::Error::success();
}

llvm::Error SdyWriter::addKept(KeepOnFirstOp op) {
  SdyValue value = known.lookup(op.getInput());
  std::string before = std::exchange(value.name, freshName());
  llvm::append_range(value.sharding.partial, op.getAxes().getValue());
  llvm::sort(value.sharding.partial);
  body +=
      llvm::formatv("  {0} = sdy.replicated_to_unreduced {1} {2} out_sharding={3} : {4}\n", value.name,
                    sdyAxes(op.getAxes().getValue(), mesh), before, sdySharding(value.sharding, mesh), value.type());
  return define(op.getOutput(), value);
}

llvm::Error SdyWriter::addOperator(mlir::Operation &op) {
  if (op.getNumRegions() != 0)
    return inputError("{0}: format 'sdy' has no form of operators that hold programs", nameOf(&op));
  SdyValues results;
  std::string name = freshName();
  for (auto [index, result] : llvm::enumerate(op.getResults())) {
    if (isAbsent(result))
      continue;
    auto receive = llvm::dyn_cast<ReceiveOp>(op);
    auto value = receive ? declared(result, op.getAttrDictionary(), receive.getValue())
                         : planned(op, static_cast<unsigned>(index));
    if (!value)
      return value.takeError();
    value->name = name + "#" + std::to_string(results.size());
    results.push_back(*value);
    if (llvm::Error error = define(result, *value))
      return error;
  }
  auto [operands, types] = operandText(op.getOperands());
  if (!results.empty())
    body += "  " + name + ":" + std::to_string(results.size()) + " = ";
  body +=
      llvm::formatv("{0}\"stablehlo.custom_call\"({1}) <{{call_target_name = \"{2}\", has_side_effect = {3}}> {4} : "
                    "{5} -> {6}",
                    results.empty() ? "  " : "", operands, op.getName().getStringRef(), results.empty(),
                    results.empty() ? "" : perValue(results), types, typesOf(results));
  auto planOp = op.getAttrOfType<mlir::StringAttr>(opAttribute);
  body += planOp ? " // " + planOp.str() + "\n" : "\n";
  return llvm::Error::success();
}

llvm::Error SdyWriter::addCall(func::CallOp call) {
  SdyValues arguments;
  for (mlir::Value operand : call.getOperands())
    arguments.push_back(known.lookup(operand));
  std::string key = call.getCallee().str();
  for (const SdyValue &argument : arguments)
    key += argument.name.empty() ? " -" : " " + argument.type() + argument.sharding.str(mesh);
  SdyFunction &layer = layers[key];
  if (layer.name.empty()) {
    mlir::ModuleOp program = *request.stage.module;
    auto callee = program.lookupSymbol<func::FuncOp>(call.getCallee());
    auto written = addFunction(callee, arguments, /*isMain=*/false);
    if (!written)
      return written.takeError();
    layer = std::move(*written);
  }
  SdyValues results = layer.results;
  std::string name = freshName();
  for (auto [index, result] : llvm::enumerate(results))
    result.name = name + "#" + std::to_string(index);
  for (auto [value, result] : llvm::zip_equal(call.getResults(), results))
    if (llvm::Error error = define(value, result))
      return error;
  auto [operands, types] = operandText(call.getOperands());
  body += llvm::formatv("  {0} = func.call @{1}({2}) {3} : {4} -> {5}\n", name + ":" + std::to_string(results.size()),
                        layer.name, operands, perValue(results), types, typesOf(results));
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
  auto resultTexts = llvm::map_range(written.results, describe);
  functions += llvm::formatv("func.func {0} @{1}({2}) -> ({3}) {{\n{4}  return{5} : {6}\n}\n",
                             written.name == "main" ? "public" : "private", written.name,
                             llvm::join(argumentTexts, ", "), llvm::join(resultTexts, ", "), body,
                             returned.empty() ? "" : " " + returned, llvm::StringRef(types).drop_front().drop_back());
}

llvm::Expected<SdyFunction> SdyWriter::addFunction(func::FuncOp function, const SdyValues &given, bool isMain) {
  std::string outer = std::exchange(body, "");
  auto outerKnown = std::exchange(known, llvm::DenseMap<mlir::Value, SdyValue>());
  unsigned outerNames = std::exchange(numNames, 0);
  SdyFunction written{isMain ? "main" : "layer" + std::to_string(layers.size() - 1), {}};
  SdyValues arguments;
  auto add = [&](mlir::Value value, SdyValue argument) {
    argument.name = argument.name.empty() ? "" : "%arg" + std::to_string(arguments.size());
    if (!argument.name.empty())
      arguments.push_back(argument);
    return define(value, argument);
  };
  for (auto [index, argument] : llvm::enumerate(function.getArguments())) {
    auto value = isMain ? declared(argument, function.getArgAttrDict(static_cast<unsigned>(index)), "an argument")
                        : llvm::Expected<SdyValue>(given[index]);
    if (!value)
      return value.takeError();
    if (llvm::Error error = add(argument, *value))
      return error;
  }
  for (auto parameter : function.getOps<ParameterOp>()) {
    auto value = declared(parameter.getOutput(), parameter->getAttrDictionary(), parameter.getName());
    if (!value)
      return value.takeError();
    if (llvm::Error error = add(parameter.getOutput(), *value))
      return error;
  }
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
  DiagnosticCapture diagnostics(program.getContext());
  mlir::FailureOr<MeshAttr> mesh = meshOf(program);
  if (mlir::failed(mesh))
    return internalError("the program has no mesh: {0}", diagnostics.take());
  auto text = SdyWriter(request, mesh->getValue()).run();
  return text ? addFile("program.mlir", *text) : text.takeError();
}

} // namespace apc
