// Ties of parameters: those that hold the same form a class, whose first is read for all.
#include "Ties.h"

#include "apc/IR/Apc.h"
#include "apc/IR/Ops/Movement/Movement.h"
#include "apc/Support/Error.h"
#include "apc/Support/SomeOf.h"

#include "llvm/ADT/StringMap.h"

namespace apc {

namespace {

/// The parameter that is read for another one, as it is or transposed.
struct Standing {
  std::string name;
  bool transposed = false;
};

/// Each parameter with the one that stands for it, as far as ties say so.
class TieClasses {
public:
  explicit TieClasses(mlir::func::FuncOp main) {
    for (ParameterOp parameter : main.getOps<ParameterOp>()) {
      parameters.insert({parameter.getName(), parameter});
      names.push_back(parameter.getName().str());
    }
  }

  llvm::Error add(const TiedParameters &tied);
  std::vector<TiedParameters> resolved(mlir::func::FuncOp main) const;
  ParameterOp named(llvm::StringRef name) const { return parameters.lookup(name); }

private:
  llvm::Error check(const TiedParameters &tied) const;
  Standing standingFor(llvm::StringRef name) const;

  std::vector<std::string> names; ///< in the order of the model
  llvm::StringMap<ParameterOp> parameters;
  llvm::StringMap<Standing> next; ///< of those that another one stands for, which may have another one in turn
};

Standing TieClasses::standingFor(llvm::StringRef name) const {
  Standing standing{name.str()};
  for (auto found = next.find(name); found != next.end(); found = next.find(standing.name))
    standing = {found->second.name, standing.transposed != found->second.transposed};
  return standing;
}

llvm::Error TieClasses::check(const TiedParameters &tied) const {
  constexpr size_t mostNamed = 8;
  for (llvm::StringRef name : {tied.first, tied.second})
    if (!named(name))
      return inputError("the model has no parameter '{0}' to tie; parameters are {1}", name,
                        someNamesOf(names, mostNamed));
  if (tied.first == tied.second)
    return inputError("parameter '{0}' cannot be tied to itself", tied.first);
  auto type = llvm::cast<mlir::RankedTensorType>(named(tied.first).getOutput().getType());
  if (tied.transposed && type.getRank() != 2)
    return inputError("parameter '{0}' cannot be tied transposed: it has {1} dims, not 2", tied.first, type.getRank());
  if (tied.transposed)
    type = type.clone({type.getDimSize(1), type.getDimSize(0)});
  if (mlir::Type other = named(tied.second).getOutput().getType(); type != other)
    return inputError("parameters '{0}' and '{1}' cannot be tied: their shapes or element types differ, {2}{3} and {4}",
                      tied.first, tied.second, type, tied.transposed ? " transposed" : "", other);
  return llvm::Error::success();
}

llvm::Error TieClasses::add(const TiedParameters &tied) {
  if (llvm::Error error = check(tied))
    return error;
  Standing first = standingFor(tied.first), second = standingFor(tied.second);
  bool transposed = (first.transposed != second.transposed) != tied.transposed;
  if (first.name != second.name)
    next[second.name] = {first.name, transposed};
  else if (transposed)
    return inputError("parameters '{0}' and '{1}' cannot be tied {2}transposed: other ties say the opposite",
                      tied.first, tied.second, tied.transposed ? "" : "un");
  return llvm::Error::success();
}

std::vector<TiedParameters> TieClasses::resolved(mlir::func::FuncOp main) const {
  std::vector<TiedParameters> ties;
  for (ParameterOp parameter : main.getOps<ParameterOp>()) {
    if (!next.contains(parameter.getName()))
      continue;
    Standing standing = standingFor(parameter.getName());
    ties.push_back({standing.name, parameter.getName().str(), standing.transposed});
  }
  return ties;
}

/// The parameter read transposed, by an op right behind it.
mlir::Value transposeOf(ParameterOp parameter) {
  mlir::OpBuilder builder(parameter->getContext());
  builder.setInsertionPointAfter(parameter);
  mlir::Value value = parameter.getOutput();
  auto type = mlir::RankedTensorType::get({dimsOf(value)[1], dimsOf(value)[0]}, mlir::getElementTypeOrSelf(value));
  auto location = mlir::NameLoc::get(builder.getStringAttr(parameter.getName() + ".transposed"));
  return TransposeOp::create(builder, location, type, value, builder.getDenseI64ArrayAttr({1, 0}));
}

} // namespace

llvm::Expected<std::vector<TiedParameters>> tieParameters(mlir::func::FuncOp main,
                                                          llvm::ArrayRef<TiedParameters> ties) {
  TieClasses classes(main);
  for (const TiedParameters &tied : ties)
    if (llvm::Error error = classes.add(tied))
      return error;
  std::vector<TiedParameters> resolved = classes.resolved(main);
  for (const TiedParameters &tied : resolved) { // the parameter that is read stands before all that it stands for
    ParameterOp first = classes.named(tied.first), second = classes.named(tied.second);
    if (!first->isBeforeInBlock(second))
      first->moveBefore(second);
  }
  llvm::StringMap<mlir::Value> transposed;
  for (const TiedParameters &tied : resolved) {
    ParameterOp first = classes.named(tied.first);
    mlir::Value value = first.getOutput();
    if (tied.transposed) {
      mlir::Value &known = transposed[tied.first];
      value = known = known ? known : transposeOf(first);
    }
    classes.named(tied.second).getOutput().replaceAllUsesWith(value);
  }
  return resolved;
}

} // namespace apc
