// The apc dialect, the interface that every operator has, and the classes that operators are declared with.
#ifndef APC_IR_BASE_TD
#define APC_IR_BASE_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Apc_Dialect : Dialect {
  let name = "apc";
  let cppNamespace = "::apc";
  let summary = "Tensor operators with factor rules";
  let description = [{
    One operation for each operator, named after ONNX. Operand i is ONNX input i; an absent optional input is the value of `apc.none`, an
    absent optional result has type `none`. Every tensor has a static shape.
  }];
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = [{
    /// Registers the attributes of include/apc/IR/ShardingAttrs.td.
    void registerAttributes();
    /// Registers the operations of one family, generated from include/apc/IR/Ops/<Family>/<Family>.td;
    /// specialised in lib/IR/Ops/<Family>/<Family>.cpp.
    template <typename Family> void registerFamily();
  }];
}

def Apc_OperatorInterface : OpInterface<"OperatorInterface"> {
  let cppNamespace = "::apc";
  let description = [{ Questions that every operator answers. Nothing outside IR knows operators by name. }];
  let methods = [
    StaticInterfaceMethod<[{ONNX names: "MatMul" for the default domain, "com.microsoft.FusedMatMul" for another. Empty for ops that only
        apc makes.}], "::llvm::ArrayRef<::llvm::StringRef>", "getOnnxNames">,
    StaticInterfaceMethod<[{Names of the declared arguments in order, operands and attributes mixed, as in ONNX's schema; without those that
        ops on pieces have behind them.}],
        "::llvm::ArrayRef<::llvm::StringRef>", "getArgumentNames">,
    StaticInterfaceMethod<[{True when the last operand (or only one) is variadic.}], "bool", "hasVariadicOperands">,
    StaticInterfaceMethod<[{The number of declared results; variadic results count as one.}], "unsigned", "getNumDeclaredResults">,
    StaticInterfaceMethod<[{The number of declared operands; variadic operands count as one. Ops on pieces may have offsets behind them.}],
        "unsigned", "getNumDeclaredOperands">,
    StaticInterfaceMethod<[{Operands that are added to the results once, such as Gemm's C: where a reduction is cut, they are zero on every
        device but the first along the cut.}], "::llvm::ArrayRef<unsigned>", "getAddends">,
    StaticInterfaceMethod<[{Operands that hold no weights, though they may be floats: running statistics, rotary tables, masks, scales of quantisation.
        Training leaves them alone.}], "::llvm::ArrayRef<unsigned>", "getTables">,
    StaticInterfaceMethod<[{For each result the operand whose storage it takes over; empty for ops that overwrite none.}],
        "::llvm::ArrayRef<unsigned>", "getOverwritten">,
    StaticInterfaceMethod<[{For each declared argument, true for an operand that may be absent (of type `none`).}],
        "::llvm::ArrayRef<bool>", "getOptionalArguments">,
    StaticInterfaceMethod<[{True when the last result (or only one) is variadic.}], "bool", "hasVariadicResults">,
    StaticInterfaceMethod<[{The element types that the declared operands may have.}], "const ::apc::OperandTypes &", "getOperandTypes">,
    InterfaceMethod<[{Operands, attributes and results are of the declared kinds, operands of the element types that the op takes, and no
        required operand or attribute is missing. `inferTypes` and `getRule` rely on it; errors are emitted at the op.}],
        "::llvm::LogicalResult", "verifyDeclaration", (ins), [{}],
        [{ return ::llvm::success(::llvm::succeeded($_op.verifyInvariantsImpl()) && ::llvm::succeeded(::apc::checkOperandTypes($_op))); }]>,
    InterfaceMethod<[{The result types that follow from operand types, attributes and constant operands. Errors are emitted at the op.}],
        "::llvm::LogicalResult", "inferTypes", (ins "::llvm::SmallVectorImpl<::mlir::Type> &":$types)>,
    InterfaceMethod<[{The factor rule bound to the shapes of operands and results. Errors are emitted at the op.}],
        "::llvm::FailureOr<::apc::FactorRule>", "getRule">,
    InterfaceMethod<[{The op's reference semantics: the results for operands (null: absent, or not known), or empty when they cannot be computed,
        such as for operands of element types that the op does not take. Floats are computed in double; the caller rounds results to their
        element types.}],
        "::apc::Evaluated", "evaluate", (ins "::apc::Operands":$operands),
        [{ return ::apc::areTaken($_op, operands) ? $_op.evaluate(operands) : std::nullopt; }]>,
    InterfaceMethod<[{Changes `local`, a copy of this op on the pieces that one device holds, to what gives that device's piece of the results:
        attributes and constant operands that say sizes.}],
        "void", "localize", (ins "::apc::LocalOp &":$local)>,
    InterfaceMethod<[{Builds the gradients of the operands from those of the results. False: none is declared for this operator, or for these
        attributes of it, for the reason that the builder keeps (`refuse`). Results of integers and bools have none, and operators that cut gradients off give none.}],
        "bool", "differentiate", (ins "::apc::GradientBuilder &":$gradient)>
  ];
  let verify = [{ return ::apc::verifyOperator($_op); }];
}

// Tensors and absent values.
def Apc_Tensor : Type<And<[CPred<"::llvm::isa<::mlir::RankedTensorType>($_self)">,
                           CPred<"::llvm::cast<::mlir::RankedTensorType>($_self).hasStaticShape()">,
                           CPred<"::llvm::cast<::mlir::RankedTensorType>($_self).getElementType().isIntOrFloat()">]>,
                      "a tensor of integers or floats of static shape">;
def Apc_Optional : AnyTypeOf<[Apc_Tensor, NoneType]>;
// Where the piece that a device holds begins in the whole: i64, made by LocalOp::offsetOf. Empty in models. The arguments from here on
// belong to ops on pieces alone; ONNX has none of them.
def Apc_Offsets : Variadic<Apc_Tensor>;

// Attributes that have one of a few values. Their summaries say what is needed, as messages of the importer do.
class Apc_Chosen<Attr base, Pred isChosen, string choices>
    : Attr<And<[base.predicate, isChosen]>, choices> {
  let storageType = base.storageType;
  let returnType = base.returnType;
  let convertFromStorage = base.convertFromStorage;
  let constBuilderCall = base.constBuilderCall;
  let valueType = base.valueType;
}
class Apc_OneOf<list<string> words>
    : Apc_Chosen<StrAttr, CPred<"::llvm::is_contained({\"" # !interleave(words, "\", \"") # "\"}, ::llvm::cast<::mlir::StringAttr>($_self).getValue())">,
                 !if(!eq(!size(words), 1), "", "one of ") # !interleave(words, ", ")>;
class Apc_OneOfInts<list<int> numbers>
    : Apc_Chosen<I64Attr, CPred<"::llvm::is_contained({" # !interleave(numbers, ", ") # "}, ::llvm::cast<::mlir::IntegerAttr>($_self).getInt())">,
                 !if(!eq(!size(numbers), 1), "", "one of ") # !interleave(numbers, ", ")>;

// The result of an op with this trait is a sum over micro-batches (apc/IR/Operator.h).
def Apc_Accumulates : NativeOpTrait<"Accumulates"> {
  let cppNamespace = "::apc";
}

// The attributes of text of an op with this trait name values (apc/IR/Operator.h).
def Apc_NamesValues : NativeOpTrait<"NamesValues"> {
  let cppNamespace = "::apc";
}

// The gradient of an operator whose result is of integers or bools, or is chosen from a list.
defvar noGradient = "(void)g;";
// The gradient of an operator of floats whose result is piecewise constant: zeros, as PyTorch has them, so that what stands behind it
// is trained as PyTorch trains it (weights decay, momentum goes on).
defvar zeroGradient = "g.give(0, g.mul(g.incoming(), g.scalar(0, g.incoming())));";

// An operator. `onnx` lists its ONNX names. Fields below that are left empty are written in C++ in the family's folder.
class Apc_Op<string mnemonic, list<string> onnx, list<Trait> traits = []>
    : Op<Apc_Dialect, mnemonic, !listconcat([Pure, Apc_OperatorInterface], traits)> {
  // The element types of the operands (apc/IR/OperandTypes.h), as ONNX's schema has them, of all opsets together: "T: float, T, i64". Ops
  // that move elements take any, where ONNX counts up all types but the newest.
  string types = "";
  // The factor rule in text form, or (`ruleExpression`) a C++ expression over `op` that gives the text (apc::RuleSource) where it depends on
  // attributes or numbers of dims. Both empty: `getRule` and `inferTypes` in C++.
  string rule = "";
  string ruleExpression = !if(!eq(rule, ""), "", "\"" # rule # "\"");
  // How the element type of every result follows: a C++ expression of type mlir::Type over `op`
  // (`operandElement(op, 0)`, `boolElement(op)`), or a list of one for each result, "{a, b}"; empty: `inferTypes` in C++.
  string element = "::apc::operandElement(op, 0)";
  // View, Stream or Contraction.
  string work = "Stream";
  // Floating-point operations for each point of the loop nest.
  string flops = "1";
  // Groups of linear operands, as in FactorRule::linear: "{{0, 1}}".
  string linear = "{}";
  // Operands that are touched only in part, "{0}".
  string sparse = "{}";
  // Operands that are added to the results once, "2" for Gemm's C (`getAddends`).
  string addends = "";
  // Operands that hold no weights, "3, 4" for the running statistics of BatchNormalization (`getTables`).
  string tables = "";
  // The operands whose storage results 0, 1, ... take over, "0, 2" for a parameter and its state (`getOverwritten`).
  string overwritten = "";
  // The kernel: a C++ expression over `op` and `operands` that gives the results (apc/IR/Kernels/Evaluate.h);
  // empty: not at all, or (`evaluates`) by `evaluate` in C++.
  string evaluation = "";
  bit evaluates = 0;
  // Changes to the copy of the op on one device when the op is cut: C++ statements over `op` and `local` (apc/IR/Localize.h), such as
  // "local.scaleInt(\"num_heads\", \"h\");". Empty where the same op on smaller tensors does.
  string local = "";
  // The same by `localize` in C++.
  bit localizes = 0;
  // The gradients: C++ statements over `op` and `g` (apc/IR/Gradient.h), such as "g.give(0, g.neg(g.incoming()));", or `noGradient` or
  // `zeroGradient` where the result does not change with small changes of the operands. Empty: the operator cannot be trained through.
  string gradient = "";
  // The same by `differentiate` in C++, which returns false where it cannot.
  bit differentiates = 0;
  bit variadic = 0;

  int numOnnxArguments = !foldl(!size(arguments), !range(!size(arguments)), found, i,
      !if(!initialized(!getdagarg<TypeConstraint>(arguments, i)),
          !if(!eq(!getdagarg<TypeConstraint>(arguments, i), Apc_Offsets), i, found), found));

  string quotedNames = !interleave(!foreach(name, onnx, "\"" # name # "\""), ", ");
  string quotedArguments =
      !interleave(!foreach(i, !range(numOnnxArguments), "\"" # !getdagname(arguments, i) # "\""), ", ");

  string optionalFlags = !interleave(!foreach(i, !range(numOnnxArguments),
      !if(!initialized(!getdagarg<TypeConstraint>(arguments, i)),
          !if(!eq(!getdagarg<TypeConstraint>(arguments, i), Apc_Optional), "true", "false"), "false")), ", ");
  string variadicResultsText = !if(!empty(!filter(i, !range(!size(results)),
      !isa<Variadic>(!getdagarg<TypeConstraint>(results, i)))), "false", "true");

  // The pieces of the class body that depend on the fields above.
  string namesBody = !if(!empty(onnx), "return {};",
      "static constexpr ::llvm::StringRef names[] = {" # quotedNames # "}; return names;");
  string argumentsBody = !if(!eq(numOnnxArguments, 0), "return {};",
      "static constexpr ::llvm::StringRef names[] = {" # quotedArguments # "}; return names;");
  string optionalBody = !if(!eq(numOnnxArguments, 0), "return {};",
      "static constexpr bool flags[] = {" # optionalFlags # "}; return flags;");
  string inferBody = !if(!or(!eq(ruleExpression, ""), !eq(element, "")), ";",
      "{ ::mlir::Operation *op = getOperation(); return ::apc::inferTypesFromRule(op, " # ruleExpression # ", "
      # element # ", types); }");
  string ruleBody = !if(!eq(ruleExpression, ""), ";",
      "{ ::mlir::Operation *op = getOperation(); ::apc::RuleTraits traits{::apc::Work::" # work # ", " # flops # ", "
      # linear # ", " # sparse # "}; return ::apc::bindRule(op, " # ruleExpression # ", traits); }");
  string evaluateBody = !cond(evaluates : ";",
      !eq(evaluation, "") : "{ return std::nullopt; }",
      true : "{ ::mlir::Operation *op = getOperation(); return " # evaluation # "; }");
  string addendsBody = !if(!eq(addends, ""), "return {};",
      "static constexpr unsigned indices[] = {" # addends # "}; return indices;");
  string tablesBody = !if(!eq(tables, ""), "return {};", "static constexpr unsigned indices[] = {" # tables # "}; return indices;");
  string overwrittenBody = !if(!eq(overwritten, ""), "return {};",
      "static constexpr unsigned indices[] = {" # overwritten # "}; return indices;");
  string variadicText = !if(variadic, "true", "false");
  string numResultsText = !cast<string>(!size(results));
  string numOperandsText = !cast<string>(!size(!filter(i, !range(numOnnxArguments),
      !initialized(!getdagarg<TypeConstraint>(arguments, i)))));
  string localBody = !if(localizes, ";",
      "{ ::mlir::Operation *op = getOperation(); (void)op; (void)local; " # local # " }");

  string gradientBody = !cond(differentiates : ";",
      !eq(gradient, "") : "{ return false; }",
      true : "{ ::mlir::Operation *op = getOperation(); (void)op; " # gradient # " return true; }");

  let extraClassDeclaration = [{
    static ::llvm::ArrayRef<::llvm::StringRef> getOnnxNames() { }] # namesBody # [{ }
    static ::llvm::ArrayRef<::llvm::StringRef> getArgumentNames() { }] # argumentsBody # [{ }
    static ::llvm::ArrayRef<unsigned> getAddends() { }] # addendsBody # [{ }
    static ::llvm::ArrayRef<unsigned> getTables() { }] # tablesBody # [{ }
    static ::llvm::ArrayRef<unsigned> getOverwritten() { }] # overwrittenBody # [{ }
    static bool hasVariadicOperands() { return }] # variadicText # [{; }
    static ::llvm::ArrayRef<bool> getOptionalArguments() { }] # optionalBody # [{ }
    static bool hasVariadicResults() { return }] # variadicResultsText # [{; }
    static const ::apc::OperandTypes &getOperandTypes() { static const ::apc::OperandTypes types("}] # types # [{"); return types; }
    static unsigned getNumDeclaredResults() { return }] # numResultsText # [{; }
    static unsigned getNumDeclaredOperands() { return }] # numOperandsText # [{; }
    ::llvm::LogicalResult inferTypes(::llvm::SmallVectorImpl<::mlir::Type> &types) }] # inferBody # [{
    ::llvm::FailureOr<::apc::FactorRule> getRule() }] # ruleBody # [{
    void localize(::apc::LocalOp &local) }] # localBody # [{
    bool differentiate(::apc::GradientBuilder &g) }] # gradientBody # [{
    ::apc::Evaluated evaluate(::apc::Operands operands) }] # evaluateBody # [{
  }];
}

#endif
