// Names by op, told apart by number and by how long values live.
#include "ValueNames.h"

#include "PythonText.h"

#include "apc/IR/AttributeNames.h"
#include "apc/IR/Ops/Spmd/Spmd.h"
#include "apc/IR/RuleBuilder.h"

#include "llvm/ADT/StringExtras.h"

#include <functional>
#include <map>
#include <optional>

namespace apc {

namespace {

/// A value, and the ops between which it is there, counted in the function.
struct Named {
  mlir::Value value;
  std::string base;
  std::optional<int64_t> number;
  int64_t begin = 0, end = 0;
};

/// The suffix for the results of a collective, or of an op on padding: `x` -> `x_sum`.
llvm::StringRef suffixOf(mlir::Operation *op) {
  if (auto collective = llvm::dyn_cast<CollectiveInterface>(op))
    switch (collective.getKind()) {
    case CollectiveKind::AllGather:
      return "_whole";
    case CollectiveKind::Slice:
    case CollectiveKind::ReduceScatter:
      return "_part";
    case CollectiveKind::AllReduce:
      return "_sum";
    case CollectiveKind::AllToAll:
      return "_turned";
    case CollectiveKind::Permute:
      return "_moved";
    }
  return llvm::isa<MaskPaddingOp>(op) ? "_masked" : "_once";
}

/// Takes the first part of a name that is a number out: "/h.0/add" -> "/h/add" and 0.
std::optional<int64_t> takeNumber(std::string &name) {
  for (size_t at = 0; at < name.size();) {
    size_t end = std::min(name.find_first_of("/.", at), name.size());
    int64_t number = 0;
    if (!llvm::StringRef(name).slice(at, end).getAsInteger(10, number)) {
      name.erase(at > 0 ? at - 1 : at, end - at + 1);
      return number;
    }
    at = end + 1;
  }
  return std::nullopt;
}

/// True for an op whose results have the names of the operands that it overwrites.
bool overwrites(mlir::Operation *op) {
  auto interface = llvm::dyn_cast<OperatorInterface>(op);
  return interface && !interface.getOverwritten().empty();
}

/// The result that takes the place of an operand; null where the op leaves it as it is.
mlir::Value overwritingResult(mlir::OpOperand &use) {
  if (!overwrites(use.getOwner()))
    return {};
  llvm::ArrayRef<unsigned> overwritten = llvm::cast<OperatorInterface>(use.getOwner()).getOverwritten();
  const auto *found = llvm::find(overwritten, use.getOperandNumber());
  auto index = static_cast<unsigned>(found - overwritten.begin());
  return index < use.getOwner()->getNumResults() ? use.getOwner()->getResult(index) : mlir::Value();
}

class Namer {
public:
  Namer(mlir::func::FuncOp function, llvm::StringRef scope,
        const llvm::StringMap<std::vector<std::string>> &resultNames)
      : function(function), scope(scope), resultNames(resultNames) {}

  std::vector<Named> list(llvm::ArrayRef<std::string> argumentNames);

private:
  Named describe(mlir::OpResult result);
  void joinFirstOperands(std::vector<Named> &all);
  /// Base and number of the name of a value that an op changes.
  std::pair<std::string, std::optional<int64_t>> sourceOf(mlir::Value value) const;

  mlir::func::FuncOp function;
  llvm::StringRef scope;
  const llvm::StringMap<std::vector<std::string>> &resultNames;
  llvm::DenseMap<mlir::Value, std::pair<std::string, std::optional<int64_t>>> known;
  llvm::DenseMap<mlir::Operation *, int64_t> callNumber;
};

std::pair<std::string, std::optional<int64_t>> Namer::sourceOf(mlir::Value value) const {
  if (auto parameter = value.getDefiningOp<ParameterOp>()) {
    std::string name = parameter.getName().str();
    std::optional<int64_t> number = takeNumber(name);
    return {pythonName(name), number};
  }
  auto found = known.find(value);
  return found == known.end() ? std::pair(std::string("value"), std::optional<int64_t>()) : found->second;
}

Named Namer::describe(mlir::OpResult result) {
  mlir::Operation *op = result.getOwner();
  Named named{result, "", std::nullopt};
  std::string name;
  if (std::string given = opName(op);
      !given.empty() && !llvm::isa<CollectiveInterface, RankInterface, ReceiveOp, mlir::func::CallOp>(op)) {
    name = std::move(given);
    if (result.getResultNumber() > 0)
      name += "_" + std::to_string(result.getResultNumber() + 1);
  } else if (auto receive = llvm::dyn_cast<ReceiveOp>(op)) {
    name = receive.getValue().str();
  } else if (auto call = llvm::dyn_cast<mlir::func::CallOp>(op)) {
    named.base = baseOf(resultNames.find(call.getCallee())->second[result.getResultNumber()]);
    named.number = callNumber[op];
  } else if (op->getNumOperands() > result.getResultNumber()) {
    std::tie(named.base, named.number) = sourceOf(op->getOperand(result.getResultNumber()));
    named.base += suffixOf(op);
  } else {
    name = op->getName().stripDialect().str();
  }
  if (!name.empty()) {
    // A number inside the scope tells nothing.
    llvm::StringRef own = name;
    if (!scope.empty() && own.consume_front(scope))
      name = own.str();
    named.number = takeNumber(name);
    named.base = pythonName(name);
  }
  known[result] = {named.base, named.number};
  return named;
}

std::vector<Named> Namer::list(llvm::ArrayRef<std::string> argumentNames) {
  std::vector<Named> all;
  llvm::DenseMap<mlir::Operation *, int64_t> places;
  llvm::StringMap<int64_t> numCalls;
  int64_t place = 0;
  for (mlir::Operation &op : function.front()) {
    places[&op] = ++place;
    if (auto call = llvm::dyn_cast<mlir::func::CallOp>(op))
      callNumber[&op] = numCalls[call.getCallee()]++;
  }
  std::function<int64_t(mlir::Value)> lastRead = [&](mlir::Value value) {
    int64_t last = 0;
    for (mlir::OpOperand &use : value.getUses()) {
      last = std::max(last, places[use.getOwner()]);
      if (mlir::Value updated = overwritingResult(use))
        last = std::max(last, lastRead(updated));
    }
    return last;
  };
  for (auto [argument, name] : llvm::zip_equal(function.getArguments(), argumentNames)) {
    known[argument] = {name, std::nullopt};
    all.push_back({argument, name, std::nullopt, 0, lastRead(argument)});
  }
  for (mlir::Operation &op : function.front()) {
    for (mlir::OpOperand &operand : op.getOpOperands())
      if (mlir::Value updated = overwritingResult(operand))
        known[updated] = sourceOf(operand.get());
    for (mlir::OpResult result : op.getResults())
      if (!result.use_empty() && !llvm::isa<ConstantOp, ParameterOp, NoneOp>(op) && !overwrites(&op)) {
        Named named = describe(result);
        named.begin = places[&op];
        named.end = lastRead(result);
        all.push_back(std::move(named));
      }
  }
  joinFirstOperands(all);
  return all;
}

/// A value that the first of several calls takes where the second one takes a result of the first is of one family with
/// those results, so that the calls can be told in a loop: `x = f(x)` for all of them.
void Namer::joinFirstOperands(std::vector<Named> &all) {
  llvm::DenseMap<mlir::Value, Named *> namedOf;
  for (Named &named : all)
    namedOf[named.value] = &named;
  llvm::StringMap<llvm::SmallVector<mlir::func::CallOp, 2>> calls;
  for (auto call : function.getOps<mlir::func::CallOp>())
    calls[call.getCallee()].push_back(call);
  for (auto &entry : calls) {
    llvm::SmallVector<mlir::func::CallOp, 2> &own = entry.second;
    for (unsigned index = 0; own.size() > 1 && index < own[0].getNumOperands(); ++index) {
      auto carried = own[1].getOperand(index).getDefiningOp<mlir::func::CallOp>();
      Named *first = namedOf.lookup(own[0].getOperand(index)), *second = namedOf.lookup(own[1].getOperand(index));
      mlir::Operation *op = own[0].getOperand(index).getDefiningOp();
      if (carried != own[0] || !first || !second || !op || llvm::isa<mlir::func::CallOp>(op) || !second->number)
        continue;
      first->base = second->base;
      first->number = *second->number - 1;
    }
  }
}

/// Is a value of a family, which are in the order in which they begin, read once the next one is there?
bool areAliveTogether(llvm::ArrayRef<const Named *> family) {
  int64_t last = -1;
  for (const Named *named : family) {
    if (named->begin < last || (named->begin == 0 && last >= 0))
      return true;
    last = std::max(last, named->end);
  }
  return false;
}

bool haveNumbersOfTheirOwn(llvm::ArrayRef<const Named *> family) {
  std::set<int64_t> numbers;
  return llvm::all_of(family,
                      [&](const Named *named) { return named->number && numbers.insert(*named->number).second; });
}

} // namespace

std::string opName(mlir::Operation *op) {
  if (auto name = op->getAttrOfType<mlir::StringAttr>(opAttribute))
    return name.str();
  auto location = llvm::dyn_cast<mlir::NameLoc>(op->getLoc());
  return location ? location.getName().str() : "";
}

std::string baseOf(llvm::StringRef name) {
  name.consume_front("kept.");
  return name.take_until([](char c) { return c == '[' || c == '('; }).str();
}

std::string nameInScope(llvm::StringRef name, llvm::StringRef scope) {
  // Parameters have dots where ops have slashes: "/h.0/" is "h.0." there.
  std::string dotted = scope.empty() ? "" : scope.trim("/.").str() + ".";
  if (!scope.empty() && !name.consume_front(scope))
    name.consume_front(dotted);
  std::string own = name.str();
  takeNumber(own);
  return pythonName(own);
}

llvm::DenseMap<mlir::Value, std::string> nameValues(mlir::func::FuncOp function, llvm::StringRef scope,
                                                    llvm::ArrayRef<std::string> argumentNames,
                                                    const llvm::StringMap<std::vector<std::string>> &resultNames,
                                                    const std::set<std::string> &reserved) {
  std::vector<Named> all = Namer(function, scope, resultNames).list(argumentNames);
  std::vector<std::vector<const Named *>> families;
  std::map<std::pair<std::string, bool>, size_t> familyOf;
  for (const Named &named : all) {
    auto [found, isNew] = familyOf.try_emplace({named.base, named.number.has_value()}, families.size());
    if (isNew)
      families.emplace_back();
    families[found->second].push_back(&named);
  }
  PythonNames taken;
  for (const std::string &name : reserved)
    taken.take(name);
  llvm::DenseMap<mlir::Value, std::string> names;
  constexpr size_t fewestInTable = 3;
  for (llvm::ArrayRef<const Named *> family : families) {
    bool isOne = !areAliveTogether(family), isNumbered = haveNumbersOfTheirOwn(family);
    // Without numbers of their own, values have those of their order.
    bool isTable = !isOne && (isNumbered || (family.size() >= fewestInTable && family.front()->begin > 0));
    int64_t least = 0;
    for (const Named *named : family)
      least = std::min(least, named->number.value_or(0));
    std::string shared = isTable || isOne ? taken.make(family.front()->base) : "";
    for (auto [place, named] : llvm::enumerate(family)) {
      int64_t number = isNumbered ? *named->number - least : static_cast<int64_t>(place);
      names[named->value] = isTable ? "kept." + shared + "[" + std::to_string(number) + "]"
                            : isOne ? shared
                                    : taken.make(named->base);
    }
  }
  return names;
}

} // namespace apc
