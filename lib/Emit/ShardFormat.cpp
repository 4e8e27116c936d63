// Format `shard-mlir`: the program in dialects of upstream alone.
#include "Formats.h"
#include "ShardCollectives.h"

#include "apc/IR/Diagnostics.h"
#include "apc/Support/Error.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Verifier.h"

#include "llvm/ADT/TypeSwitch.h"

namespace apc {

namespace {

namespace func = mlir::func;

/// On the declaration of an operator: its name, its attributes, which operands and results are there.
constexpr llvm::StringLiteral operatorAttribute = "apc.operator";
constexpr llvm::StringLiteral attributesAttribute = "apc.attributes";
constexpr llvm::StringLiteral operandsAttribute = "apc.operands";
constexpr llvm::StringLiteral resultsAttribute = "apc.results";
/// On an argument: the parameter that it is.
constexpr llvm::StringLiteral parameterAttribute = "apc.parameter";

class ShardWriter {
public:
  ShardWriter(mlir::ModuleOp program, const Mesh &mesh)
      : program(program), builder(program.getContext()), steps(builder, mesh), mesh(mesh) {}

  mlir::OwningOpRef<mlir::ModuleOp> run();

private:
  mlir::LogicalResult addFunction(func::FuncOp function);
  mlir::LogicalResult addOp(mlir::Operation &op, mlir::IRMapping &mapping);
  /// A call of the function that stands for this operator.
  void addCall(mlir::Operation &op, mlir::IRMapping &mapping);
  func::FuncOp declarationOf(mlir::Operation &op);

  mlir::ModuleOp program;
  mlir::OpBuilder builder;
  ShardCollectives steps;
  const Mesh &mesh;
  mlir::OwningOpRef<mlir::ModuleOp> result;
  std::map<std::vector<const void *>, func::FuncOp> declarations;
};

/// Attributes of the apc dialect as strings: upstream's tools read the file without the dialect.
mlir::Attribute asText(mlir::Attribute attribute) {
  auto text = [&](const std::string &value) { return mlir::StringAttr::get(attribute.getContext(), value); };
  return llvm::TypeSwitch<mlir::Attribute, mlir::Attribute>(attribute)
      .Case([&](MeshAttr mesh) { return text(mesh.getValue().str()); })
      .Case([&](ShardingAttr sharding) { return text(sharding.getValue().str(sharding.getMesh().getValue())); })
      .Case([&](StrategyAttr strategy) { return text(strategy.str()); })
      .Default(attribute);
}

mlir::DictionaryAttr asText(mlir::DictionaryAttr attributes) {
  mlir::NamedAttrList texts(attributes);
  for (mlir::NamedAttribute attribute : attributes)
    texts.set(attribute.getName(), asText(attribute.getValue()));
  return texts.getDictionary(attributes.getContext());
}

/// The positions of the tensors among values that may be absent.
llvm::SmallVector<int64_t> present(mlir::TypeRange types) {
  llvm::SmallVector<int64_t> positions;
  for (auto [position, type] : llvm::enumerate(types))
    if (!llvm::isa<mlir::NoneType>(type))
      positions.push_back(static_cast<int64_t>(position));
  return positions;
}

llvm::SmallVector<mlir::Type> tensorsOf(mlir::TypeRange types) {
  return llvm::map_to_vector(present(types), [&](int64_t at) { return types[static_cast<size_t>(at)]; });
}

func::FuncOp ShardWriter::declarationOf(mlir::Operation &op) {
  mlir::NamedAttrList attributes(op.getAttrDictionary());
  attributes.erase(opAttribute);
  attributes.erase(strategyAttribute);
  mlir::DictionaryAttr meaning = attributes.getDictionary(builder.getContext());
  std::vector<const void *> key = {op.getName().getAsOpaquePointer(), meaning.getAsOpaquePointer(), nullptr};
  for (mlir::Type type : op.getOperandTypes())
    key.push_back(type.getAsOpaquePointer());
  key.push_back(nullptr);
  for (mlir::Type type : op.getResultTypes())
    key.push_back(type.getAsOpaquePointer());
  func::FuncOp &entry = declarations[std::move(key)];
  if (entry)
    return entry;
  mlir::OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(result->getBody());
  std::string name = op.getName().stripDialect().str() + "_" + std::to_string(declarations.size() - 1);
  auto type = builder.getFunctionType(tensorsOf(op.getOperandTypes()), tensorsOf(op.getResultTypes()));
  entry = func::FuncOp::create(builder, program.getLoc(), name, type);
  entry.setPrivate();
  entry->setAttr(operatorAttribute, builder.getStringAttr(op.getName().getStringRef()));
  if (!meaning.empty())
    entry->setAttr(attributesAttribute, asText(meaning));
  for (auto [attribute, types] : {std::pair(operandsAttribute, mlir::TypeRange(op.getOperandTypes())),
                                  std::pair(resultsAttribute, mlir::TypeRange(op.getResultTypes()))})
    if (present(types).size() != types.size())
      entry->setAttr(attribute, builder.getDenseI64ArrayAttr(present(types)));
  return entry;
}

void ShardWriter::addCall(mlir::Operation &op, mlir::IRMapping &mapping) {
  func::FuncOp declaration = declarationOf(op);
  llvm::SmallVector<mlir::Value> operands;
  for (int64_t at : present(op.getOperandTypes()))
    operands.push_back(mapping.lookup(op.getOperand(static_cast<unsigned>(at))));
  auto call = func::CallOp::create(builder, op.getLoc(), declaration, operands);
  for (llvm::StringRef name : {opAttribute, strategyAttribute})
    if (mlir::Attribute attribute = op.getAttr(name))
      call->setAttr(name, asText(attribute));
  for (auto [at, value] : llvm::zip_equal(present(op.getResultTypes()), call.getResults()))
    mapping.map(op.getResult(static_cast<unsigned>(at)), value);
}

mlir::LogicalResult ShardWriter::addOp(mlir::Operation &op, mlir::IRMapping &mapping) {
  if (llvm::isa<NoneOp, ParameterOp>(op))
    return mlir::success();
  if (auto constant = llvm::dyn_cast<ConstantOp>(op)) {
    auto value = llvm::dyn_cast<mlir::DenseElementsAttr>(constant.getValue());
    if (!value)
      return op.emitOpError("holds no dense elements");
    mapping.map(constant.getOutput(), steps.constant(op.getLoc(), value));
  } else if (llvm::isa<CollectiveInterface, RankInterface>(op)) {
    auto operands = llvm::map_to_vector(op.getOperands(), [&](mlir::Value value) { return mapping.lookup(value); });
    llvm::SmallVector<mlir::Value, 1> converted = steps.convert(&op, operands);
    if (converted.empty())
      return mlir::failure();
    mapping.map(op.getResults(), converted);
  } else if (llvm::isa<OperatorInterface, MicroBatchEndOp, PartEndOp, ReceiveOp, SendOp>(op)) {
    addCall(op, mapping);
  } else {
    builder.clone(op, mapping);
  }
  return mlir::success();
}

mlir::LogicalResult ShardWriter::addFunction(func::FuncOp function) {
  builder.setInsertionPointToEnd(result->getBody());
  auto copy = llvm::cast<func::FuncOp>(builder.cloneWithoutRegions(*function));
  for (unsigned index = 0; index < copy.getNumArguments(); ++index)
    if (mlir::DictionaryAttr attributes = copy.getArgAttrDict(index))
      copy.setArgAttrs(index, asText(attributes));
  for (unsigned index = 0; index < copy.getNumResults(); ++index)
    if (mlir::DictionaryAttr attributes = copy.getResultAttrDict(index))
      copy.setResultAttrs(index, asText(attributes));
  mlir::Block *body = copy.addEntryBlock();
  mlir::IRMapping mapping;
  mapping.map(function.getArguments(), body->getArguments());
  for (auto parameter : function.getOps<ParameterOp>()) {
    mlir::NamedAttrList attributes;
    attributes.set(parameterAttribute, parameter.getNameAttr());
    for (llvm::StringRef name : {shardingAttribute, shapeAttribute})
      if (mlir::Attribute attribute = parameter->getAttr(name))
        attributes.set(name, asText(attribute));
    unsigned last = copy.getNumArguments();
    if (mlir::failed(copy.insertArgument(last, parameter.getType(), attributes.getDictionary(builder.getContext()),
                                         parameter.getLoc())))
      return mlir::failure();
    mapping.map(parameter.getOutput(), copy.getArgument(last));
  }
  builder.setInsertionPointToStart(body);
  for (mlir::Operation &op : function.front())
    if (mlir::failed(addOp(op, mapping)))
      return mlir::failure();
  return mlir::success();
}

mlir::OwningOpRef<mlir::ModuleOp> ShardWriter::run() {
  result = mlir::ModuleOp::create(program.getLoc());
  (*result)->setAttr(meshAttribute, asText(program->getAttr(meshAttribute)));
  builder.setInsertionPointToEnd(result->getBody());
  if (mesh.numAxes() > 0)
    mlir::shard::GridOp::create(builder, program.getLoc(), gridName,
                                llvm::map_to_vector(mesh.getAxes(), [](const MeshAxis &axis) { return axis.size; }));
  for (auto function : program.getOps<func::FuncOp>())
    if (mlir::failed(addFunction(function)))
      return {};
  if (mlir::failed(mlir::verify(*result)))
    return {};
  return std::move(result);
}

} // namespace

llvm::Error emitShardMlir(const EmitRequest &request, AddFile addFile) {
  mlir::ModuleOp program = *request.stage.module;
  program.getContext()
      ->loadDialect<mlir::shard::ShardDialect, mlir::arith::ArithDialect, mlir::math::MathDialect,
                    mlir::tensor::TensorDialect>();
  DiagnosticCapture diagnostics(program.getContext());
  mlir::FailureOr<MeshAttr> mesh = meshOf(program);
  mlir::OwningOpRef<mlir::ModuleOp> converted;
  if (mlir::succeeded(mesh))
    converted = ShardWriter(program, mesh->getValue()).run();
  if (!converted)
    return internalError("the program has no form in the shard dialect: {0}", diagnostics.take());
  std::string text;
  llvm::raw_string_ostream os(text);
  converted->print(os);
  os << "\n";
  return addFile("program.mlir", text);
}

} // namespace apc
