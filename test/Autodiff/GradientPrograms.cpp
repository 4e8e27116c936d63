// Building modules of one op, drawing inputs, and reverse accumulation over a block.
#include "GradientPrograms.h"

#include "../ValueOf.h"

#include "apc/IR/Differentiate.h"
#include "apc/IR/Kernels/Evaluate.h"
#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/IR/Ops/Normalization/Normalization.h"
#include "apc/Interpret/Compare.h"
#include "apc/Interpret/Run.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <sstream>

namespace apc {

namespace {

/// Distinct numbers spread evenly over [0, 1): multiples of the golden ratio without their whole parts.
class Drawer {
public:
  double draw(double low, double high) {
    for (;;) {
      constexpr double golden = 0.6180339887498949, kinks = 0.5, distance = 0.01;
      at = std::fmod(at + golden, 1);
      double value = low + (high - low) * at, steps = value / kinks;
      if (std::fabs(steps - std::nearbyint(steps)) * kinks > distance)
        return value;
    }
  }
  int64_t drawBelow(int64_t bound) {
    at = std::fmod(at + 0.6180339887498949, 1);
    return static_cast<int64_t>(at * static_cast<double>(bound));
  }

private:
  double at = 0.3;
};

mlir::DenseElementsAttr parseConstant(const std::string &text, mlir::MLIRContext *context) {
  size_t colon = text.rfind(" : ");
  std::string whole = "dense<" + text.substr(0, colon) + "> : tensor<" + text.substr(colon + 3) + ">";
  auto parsed = llvm::dyn_cast_if_present<mlir::DenseElementsAttr>(mlir::parseAttribute(whole, context));
  REQUIRE(parsed);
  return parsed;
}

Tensor drawInput(Drawer &drawer, mlir::Type type, llvm::StringRef how) {
  if (how.consume_front("= "))
    return Tensor::read(parseConstant(how.str(), type.getContext()));
  std::istringstream words(how.str());
  double low = -2, high = 2;
  int64_t below = 2;
  for (std::string word; words >> word;)
    if (word == "in")
      words >> low >> high;
    else if (word == "below")
      words >> below;
  Tensor tensor = zeros(type);
  for (double &value : tensor.floats)
    value = drawer.draw(low, high);
  for (int64_t &value : tensor.ints)
    value = drawer.drawBelow(below);
  roundToElement(tensor);
  return tensor;
}

std::vector<Tensor> drawInputs(mlir::func::FuncOp main) {
  Drawer drawer;
  std::vector<Tensor> inputs;
  for (mlir::BlockArgument argument : main.getArguments()) {
    auto how = main.getArgAttrOfType<mlir::StringAttr>(argument.getArgNumber(), inputAttribute);
    inputs.push_back(drawInput(drawer, argument.getType(), how ? how.getValue() : ""));
  }
  return inputs;
}

/// The value that an operand's text stands for, with an argument added to `main` where it is an input.
mlir::Value addOperand(mlir::func::FuncOp main, mlir::OpBuilder &builder, llvm::StringRef text) {
  if (text == "none")
    return NoneOp::create(builder, main.getLoc());
  if (text.starts_with("["))
    return ConstantOp::create(builder, main.getLoc(), parseConstant(text.str(), main.getContext()));
  mlir::Type type;
  std::string how = text.str();
  if (text.starts_with("= ")) {
    type = parseConstant(text.drop_front(2).str(), main.getContext()).getType();
  } else {
    bool isCut = text.consume_front("cut ");
    auto [shape, rest] = text.split(' ');
    type = mlir::parseType(("tensor<" + shape + ">").str(), main.getContext());
    how = (isCut ? "cut " : "") + rest.str();
  }
  unsigned index = main.getNumArguments();
  auto attributes = builder.getDictionaryAttr(builder.getNamedAttr(inputAttribute, builder.getStringAttr(how)));
  REQUIRE(mlir::succeeded(main.insertArgument(index, type, attributes, main.getLoc())));
  return main.getArgument(index);
}

mlir::Operation *createOp(mlir::func::FuncOp main, mlir::OpBuilder &builder, const OpCase &test) {
  mlir::OperationState state(main.getLoc(), test.op);
  for (const std::string &operand : test.operands)
    state.addOperands(addOperand(main, builder, operand));
  auto attributes = mlir::parseAttribute("{" + test.attributes + "}", main.getContext());
  REQUIRE(attributes);
  state.addAttributes(llvm::cast<mlir::DictionaryAttr>(attributes).getValue());
  auto name = mlir::RegisteredOperationName::lookup(test.op, main.getContext());
  REQUIRE(name);
  unsigned numDeclared = name->getInterface<OperatorInterface>()->getNumDeclaredResults();
  state.addTypes(llvm::SmallVector<mlir::Type>(std::max(numDeclared, test.numResults),
                                               mlir::RankedTensorType::get({}, builder.getF64Type())));
  mlir::Operation *op = builder.create(state);
  llvm::SmallVector<mlir::Type, 2> types;
  REQUIRE(mlir::succeeded(llvm::cast<OperatorInterface>(op).inferTypes(types)));
  for (auto [index, result] : llvm::enumerate(op->getResults()))
    result.setType(index < test.numResults ? types[index] : builder.getNoneType());
  return op;
}

} // namespace

mlir::func::FuncOp GradientProgram::main() const {
  auto function = module.get().lookupSymbol<mlir::func::FuncOp>("main");
  REQUIRE(function);
  return function;
}

std::shared_ptr<mlir::MLIRContext> makeContext() {
  auto context = std::make_shared<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
  context->loadDialect<ApcDialect, mlir::func::FuncDialect>();
  return context;
}

GradientProgram::GradientProgram(const std::string &text) : context(makeContext()) {
  module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
  REQUIRE(module);
  inputs = drawInputs(main());
}

GradientProgram::GradientProgram(const OpCase &test) : context(makeContext()) {
  mlir::OpBuilder builder(context.get());
  module = mlir::ModuleOp::create(builder.getUnknownLoc());
  builder.setInsertionPointToStart(module->getBody());
  auto function = mlir::func::FuncOp::create(builder, builder.getUnknownLoc(), "main", builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(function.addEntryBlock());
  mlir::Operation *op = createOp(function, builder, test);
  llvm::SmallVector<mlir::Value> results;
  for (mlir::Value result : op->getResults())
    if (!isAbsent(result))
      results.push_back(result);
  mlir::func::ReturnOp::create(builder, builder.getUnknownLoc(), results);
  llvm::SmallVector<mlir::Type> types(mlir::ValueRange(results).getTypes());
  function.setFunctionType(builder.getFunctionType(function.getArgumentTypes(), types));
  REQUIRE(mlir::succeeded(mlir::verify(*module)));
  inputs = drawInputs(function);
}

namespace {

/// Reverse accumulation over the block of `main`.
class Reversal {
public:
  explicit Reversal(mlir::func::FuncOp main) : main(main), builder(main.front().getTerminator()) {
    for (mlir::Value argument : main.getArguments())
      if (isFloat(argument))
        dependents.insert(argument);
    for (mlir::Operation &op : main.front().without_terminator()) {
      forward.push_back(&op);
      if (llvm::any_of(op.getOperands(), [&](mlir::Value operand) { return dependents.contains(operand); }))
        for (mlir::Value result : op.getResults())
          if (mayHaveGradient(result))
            dependents.insert(result);
    }
  }

  /// A new argument that arrives at `value`.
  void seed(mlir::Value value) {
    unsigned index = main.getNumArguments();
    REQUIRE(mlir::succeeded(main.insertArgument(index, value.getType(), {}, main.getLoc())));
    contributions[value].push_back(main.getArgument(index));
  }
  bool differentiateAll() {
    return llvm::all_of(llvm::reverse(forward), [&](mlir::Operation *op) { return differentiate(*op); });
  }
  const std::string &getRefusal() const { return refusal; }
  mlir::Value sumOf(mlir::Value value) {
    auto found = contributions.find(value);
    if (found == contributions.end())
      return {};
    if (found->second.size() > 1) {
      mlir::Value sum = SumOp::create(builder, main.getLoc(), value.getType(), found->second);
      found->second.assign({sum});
    }
    return found->second.front();
  }

private:
  bool differentiate(mlir::Operation &op) {
    llvm::SmallVector<mlir::Value, 2> arriving;
    llvm::SmallVector<bool, 4> wanted;
    for (mlir::Value result : op.getResults())
      arriving.push_back(sumOf(result));
    for (mlir::OpOperand &operand : op.getOpOperands())
      wanted.push_back(dependents.contains(operand.get()) && takesGradient(operand));
    if (llvm::none_of(arriving, [](mlir::Value value) { return !!value; }) || !llvm::is_contained(wanted, true))
      return true;
    GradientBuilder gradient(builder, &op, arriving, wanted);
    if (!apc::differentiate(gradient)) {
      refusal = gradient.getRefusal().str();
      return false;
    }
    for (auto [index, operand] : llvm::enumerate(op.getOperands()))
      if (mlir::Value given = gradient.given(static_cast<unsigned>(index)))
        contributions[operand].push_back(given);
    return true;
  }

  mlir::func::FuncOp main;
  mlir::OpBuilder builder;
  llvm::DenseSet<mlir::Value> dependents;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value, 2>> contributions;
  std::vector<mlir::Operation *> forward;
  std::string refusal;
};

} // namespace

ReversedProgram reverse(const GradientProgram &program, llvm::ArrayRef<bool> arrives) {
  ReversedProgram reversed;
  mlir::OwningOpRef<mlir::ModuleOp> module = program.module.get().clone();
  auto main = module->lookupSymbol<mlir::func::FuncOp>("main");
  mlir::Operation *end = main.front().getTerminator();
  unsigned numInputs = main.getNumArguments();
  Reversal reversal(main);
  for (auto [index, result] : llvm::enumerate(end->getOperands()))
    if (isFloat(result) && (arrives.empty() || arrives[index])) {
      reversed.results.push_back(static_cast<unsigned>(index));
      reversal.seed(result);
    }
  if (!reversal.differentiateAll()) {
    reversed.refusal = reversal.getRefusal();
    return reversed;
  }
  llvm::SmallVector<mlir::Value> gradients;
  for (unsigned input = 0; input < numInputs; ++input)
    if (mlir::Value gradient = reversal.sumOf(main.getArgument(input))) {
      reversed.inputs.push_back(input);
      gradients.push_back(gradient);
    }
  end->setOperands(gradients);
  main.setFunctionType(mlir::FunctionType::get(main.getContext(), main.getArgumentTypes(),
                                               llvm::SmallVector<mlir::Type>(mlir::ValueRange(gradients).getTypes())));
  main.removeResAttrsAttr();
  REQUIRE(mlir::succeeded(mlir::verify(*module)));
  reversed.module = std::move(module);
  return reversed;
}

std::vector<Tensor> runOn(mlir::ModuleOp module, llvm::ArrayRef<Tensor> inputs) {
  return valueOf(run(module, inputs, [](ParameterOp parameter) -> llvm::Expected<Tensor> {
    return inputError("no parameter '{0}'", parameter.getName());
  }));
}

std::string textApart(const OpCase &test) {
  GradientProgram program(test);
  std::vector<Tensor> expected = runOn(*program.module, program.inputs);
  mlir::OpBuilder builder(program.context.get());
  mlir::Operation *made = nullptr;
  for (mlir::Operation &op : llvm::make_early_inc_range(program.main().front().without_terminator()))
    if (mayTakeApart(&op))
      made = takeApart(builder, &op);
  REQUIRE(made);
  REQUIRE(mlir::succeeded(mlir::verify(*program.module)));
  std::vector<Tensor> results = runOn(*program.module, program.inputs);
  for (auto [found, wanted] : llvm::zip_equal(results, expected))
    CHECK(findDifference(found, wanted, {1e-9, 1e-9}).value_or("") == "");
  std::string text;
  llvm::raw_string_ostream stream(text);
  program.module->print(stream);
  return text;
}

} // namespace apc
