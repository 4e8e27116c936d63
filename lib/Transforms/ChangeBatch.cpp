// A fixed point over the ops of `main`, in which factors hand the batch on from dim to dim; then every op that
// has such a dim is made again with others of its own kind: its form on pieces, with the sizes that are wanted.
#include "apc/Transforms/ChangeBatch.h"

#include "apc/IR/Apc.h"
#include "apc/IR/AttributeNames.h"
#include "apc/IR/Diagnostics.h"
#include "apc/IR/Ops/Spmd/Spmd.h"
#include "apc/Support/Error.h"

#include "mlir/IR/Verifier.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

namespace apc {

namespace {

/// The rule of a loss that adds up its rows as if it did not: labels, which are whole on every device, have the rows of
/// the scores. Failure for other ops.
mlir::FailureOr<FactorRule> ruleByRow(mlir::Operation *op) {
  auto reduction = op->getAttrOfType<mlir::StringAttr>("reduction");
  if (!reduction || reduction.getValue() == "none" || !llvm::isa<OperatorInterface>(op))
    return mlir::failure();
  mlir::OpBuilder builder(op);
  mlir::Operation *copy = builder.clone(*op);
  copy->setAttr("reduction", builder.getStringAttr("none"));
  auto interface = llvm::cast<OperatorInterface>(copy);
  llvm::SmallVector<mlir::Type, 2> types;
  mlir::FailureOr<FactorRule> rule = mlir::failure();
  if (mlir::succeeded(interface.inferTypes(types)) && types.size() == copy->getNumResults()) {
    for (auto [result, type] : llvm::zip_equal(copy->getResults(), types))
      if (!isAbsent(result))
        result.setType(type);
    rule = interface.getRule();
  }
  copy->erase();
  return rule;
}

/// Does an op keep all elements of its operand in their order, in other dims?
bool regroupsDims(mlir::Operation *op, const FactorRule &rule) {
  if (rule.work != Work::View || op->getNumOperands() == 0 || rule.results.size() != 1)
    return false;
  auto factorsOf = [](const RuleTensor &tensor) {
    llvm::SmallVector<FactorId> factors;
    for (const DimFactors &dim : tensor.dims)
      factors.append(dim.begin(), dim.end());
    return factors;
  };
  return dimsOf(op->getOperand(0)) != dimsOf(op->getResult(0)) &&
         factorsOf(rule.operands.front()) == factorsOf(rule.results.front());
}

/// The dims that carry the batch, and where: a dim of 7 tokens, a batch of 6 and 2 halves has 84 elements, and the
/// batch has 2 elements inside. A dim may carry it several times.
class BatchFinder {
public:
  BatchFinder(mlir::func::FuncOp main, int64_t batch) : batch(batch) {
    for (mlir::Operation &op : main.front().without_terminator()) {
      auto interface = llvm::dyn_cast<OperatorInterface>(op);
      mlir::FailureOr<FactorRule> rule = interface ? interface.getRule() : mlir::FailureOr<FactorRule>();
      if (mlir::failed(rule))
        continue;
      order.push_back(&op);
      rules.try_emplace(&op, std::move(*rule));
    }
    DiagnosticCapture quiet(main.getContext());
    for (mlir::Operation *op : order)
      if (mlir::FailureOr<FactorRule> rule = ruleByRow(op); mlir::succeeded(rule))
        byRow.try_emplace(op, std::move(*rule));
  }

  void mark(mlir::Value value, unsigned dim, int64_t inside) {
    llvm::SmallVector<int64_t, 1> &known = carrying[{value, dim}];
    if (llvm::is_contained(known, inside))
      return;
    known.push_back(inside);
    ++numMarks;
  }
  /// How often the dim carries the batch.
  size_t timesCarried(mlir::Value value, unsigned dim) const {
    auto found = carrying.find({value, dim});
    return found == carrying.end() ? 0 : found->second.size();
  }
  bool carriesAny(mlir::Value value) const {
    for (unsigned dim = 0; dim < dimsOf(value).size(); ++dim)
      if (timesCarried(value, dim) > 0)
        return true;
    return false;
  }
  /// Null for an op without a rule.
  const FactorRule *ruleOf(mlir::Operation *op) const {
    auto found = rules.find(op);
    return found == rules.end() ? nullptr : &found->second;
  }

  void spread() {
    for (size_t before = 0; before != numMarks;) {
      before = numMarks;
      for (mlir::Operation *op : order)
        spreadBy(op);
      for (mlir::Operation *op : llvm::reverse(order))
        spreadBy(op);
    }
  }

private:
  /// The batch in a factor: with so many elements inside.
  using Place = std::pair<FactorId, int64_t>;

  /// Calls `visit` with the value, the dim, each of its factors and the number of elements inside it.
  static void forEachFactor(mlir::Operation *op, const FactorRule &rule,
                            llvm::function_ref<void(mlir::Value, unsigned, FactorId, int64_t)> visit) {
    auto visitAll = [&](mlir::ValueRange values, llvm::ArrayRef<RuleTensor> tensors) {
      for (auto [value, tensor] : llvm::zip(values, tensors))
        for (auto [dim, factors] : llvm::enumerate(tensor.dims)) {
          int64_t inside = 1;
          for (FactorId factor : llvm::reverse(factors)) {
            visit(value, static_cast<unsigned>(dim), factor, inside);
            inside *= rule.factor(factor).size;
          }
        }
    };
    visitAll(op->getOperands(), rule.operands);
    if (op->getNumResults() > 0 && dimsOf(op->getResult(0)).size() == rule.results[0].dims.size())
      visitAll(op->getResults(), rule.results);
  }

  /// The batch of 1 in a dim of the operand, in front of `inside` elements of it, for an op that keeps the order of all
  /// elements: the first dim of 1 behind as many elements outside, or a part of a larger one.
  void spreadInOrder(mlir::Operation *op, unsigned dim, int64_t inside) {
    llvm::ArrayRef<int64_t> from = dimsOf(op->getOperand(0)), to = dimsOf(op->getResult(0));
    int64_t outside = from[dim] / inside;
    for (int64_t size : from.take_front(dim))
      outside *= size;
    int64_t before = 1;
    std::optional<unsigned> within;
    for (auto [index, size] : llvm::enumerate(to)) {
      if (before == outside && size == 1)
        return mark(op->getResult(0), static_cast<unsigned>(index), 1);
      bool isWithin = before <= outside && outside < before * size && outside % before == 0;
      if (isWithin && size % (outside / before) == 0)
        within = static_cast<unsigned>(index);
      before *= size;
      if (within == index)
        mark(op->getResult(0), *within, before / outside);
    }
  }

  void spreadBy(mlir::Operation *op) {
    auto loss = byRow.find(op);
    const FactorRule &rule = loss == byRow.end() ? *ruleOf(op) : loss->second;
    if (batch == 1 && regroupsDims(op, rule)) {
      for (unsigned dim = 0; dim < dimsOf(op->getOperand(0)).size(); ++dim)
        if (auto known = carrying.find({op->getOperand(0), dim}); known != carrying.end())
          for (int64_t inside : llvm::SmallVector<int64_t, 1>(known->second))
            spreadInOrder(op, dim, inside);
      return;
    }
    llvm::SmallVector<Place, 2> places;
    forEachFactor(op, rule, [&](mlir::Value value, unsigned dim, FactorId factor, int64_t inside) {
      auto known = carrying.find({value, dim});
      if (known == carrying.end())
        return;
      for (int64_t own : known->second) {
        Place place{factor, own / inside};
        bool isHere = own % inside == 0 && rule.factor(factor).size % (place.second * batch) == 0;
        if (own >= inside && isHere && !llvm::is_contained(places, place))
          places.push_back(place);
      }
    });
    if (!places.empty())
      forEachFactor(op, rule, [&](mlir::Value value, unsigned dim, FactorId factor, int64_t inside) {
        bool isGiven = batch == 1 && value.getDefiningOp() != op; // a dim of 1 may be there for every sample
        for (auto [carrier, own] : places)
          if (carrier == factor && !isGiven)
            mark(value, dim, own * inside);
      });
  }

  int64_t batch;
  std::vector<mlir::Operation *> order;
  llvm::DenseMap<mlir::Operation *, FactorRule> rules, byRow;
  llvm::DenseMap<std::pair<mlir::Value, unsigned>, llvm::SmallVector<int64_t, 1>> carrying;
  size_t numMarks = 0;
};

/// The first argument that has dims; null where there is none.
mlir::Value firstWithDims(mlir::func::FuncOp main) {
  for (mlir::BlockArgument argument : main.getArguments())
    if (!dimsOf(argument).empty())
      return argument;
  return {};
}

/// All dims of `main` that carry its batch.
BatchFinder findBatch(mlir::func::FuncOp main, int64_t batch) {
  BatchFinder finder(main, batch);
  finder.mark(firstWithDims(main), 0, 1);
  for (mlir::BlockArgument argument : main.getArguments())
    if (batch == 1 && dimsOf(argument).size() > 1 && dimsOf(argument)[0] == 1)
      finder.mark(argument, 0, 1);
  finder.spread();
  return finder;
}

bool isMarked(mlir::func::FuncOp main) {
  return llvm::any_of(main.getArguments(), [&](mlir::BlockArgument argument) {
    return main.getArgAttr(argument.getArgNumber(), batchDimAttribute) != nullptr;
  });
}

void markEnds(mlir::func::FuncOp main, const BatchFinder &finder) {
  mlir::Builder builder(main.getContext());
  auto firstDimOf = [&](mlir::Value value) {
    unsigned dim = 0;
    while (dim < dimsOf(value).size() && finder.timesCarried(value, dim) == 0)
      ++dim;
    return dim < dimsOf(value).size() ? builder.getI64IntegerAttr(dim) : mlir::IntegerAttr();
  };
  for (mlir::BlockArgument argument : main.getArguments())
    if (mlir::IntegerAttr dim = firstDimOf(argument))
      main.setArgAttr(argument.getArgNumber(), batchDimAttribute, dim);
  for (mlir::OpOperand &result : main.front().getTerminator()->getOpOperands())
    if (mlir::IntegerAttr dim = firstDimOf(result.get()))
      main.setResultAttr(result.getOperandNumber(), batchDimAttribute, dim);
}

class BatchChanger {
public:
  BatchChanger(mlir::func::FuncOp main, int64_t from, int64_t to)
      : main(main), from(from), to(to), finder(findBatch(main, from)) {
    if (!isMarked(main))
      markEnds(main, finder);
    for (mlir::Operation &op : main.front().without_terminator())
      if (llvm::any_of(op.getOperands(), [&](mlir::Value value) { return finder.carriesAny(value); }))
        touched.insert(&op);
  }

  llvm::Error run();

private:
  mlir::Type changed(mlir::Value value) const;
  bool changes(mlir::Operation *op) const {
    return touched.contains(op) ||
           llvm::any_of(op->getResults(), [&](mlir::Value value) { return finder.carriesAny(value); });
  }
  llvm::Error changeSource(mlir::Operation *op);
  llvm::Error changeOp(mlir::Operation *op);
  llvm::Error refuse(mlir::Operation *op, const llvm::Twine &reason) const;

  mlir::func::FuncOp main;
  int64_t from, to;
  BatchFinder finder;
  llvm::DenseSet<mlir::Operation *> touched; ///< ops that read a dim which carries the batch
};

mlir::Type BatchChanger::changed(mlir::Value value) const {
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
  if (!type)
    return value.getType();
  llvm::SmallVector<int64_t, 4> dims(type.getShape());
  for (auto [dim, size] : llvm::enumerate(dims))
    for (size_t times = finder.timesCarried(value, static_cast<unsigned>(dim)); times > 0; --times)
      size = size / from * to;
  return mlir::RankedTensorType::get(dims, type.getElementType());
}

llvm::Error BatchChanger::refuse(mlir::Operation *op, const llvm::Twine &reason) const {
  auto name = llvm::dyn_cast<mlir::NameLoc>(op->getLoc());
  return inputError("op '{0}' ({1}) does not allow a batch of {2} in the place of {3}: {4}",
                    name ? name.getName().strref() : op->getName().getStringRef(), op->getName().stripDialect(), to,
                    from, reason.str());
}

/// Constants of one number everywhere grow and shrink with the batch; others hold numbers for each sample.
llvm::Error BatchChanger::changeSource(mlir::Operation *op) {
  if (auto parameter = llvm::dyn_cast<ParameterOp>(op))
    return inputError("parameter '{0}' holds the batch of {1}; it does not allow one of {2}", parameter.getName(), from,
                      to);
  auto constant = llvm::cast<ConstantOp>(op);
  auto data = llvm::dyn_cast<mlir::DenseElementsAttr>(constant.getValue());
  if (!data || !data.isSplat())
    return refuse(op, "a constant has numbers of its own for each sample");
  auto type = llvm::cast<mlir::ShapedType>(changed(op->getResult(0)));
  constant.setValueAttr(data.resizeSplat(type));
  op->getResult(0).setType(type);
  return llvm::Error::success();
}

llvm::Error BatchChanger::changeOp(mlir::Operation *op) {
  const FactorRule *rule = finder.ruleOf(op);
  if (!rule)
    return refuse(op, "it has no factor rule");
  Strategy whole;
  whole.axes.resize(rule->numFactors());
  whole.partialInputs.resize(rule->linear.size());
  Mesh single;
  mlir::OpBuilder builder(op);
  LocalOp local(builder, op, *rule, whole, single);
  for (auto [index, result] : llvm::enumerate(op->getResults()))
    local.resultTypes[index] = changed(result);
  llvm::cast<OperatorInterface>(op).localize(local);
  mlir::Operation *created = local.create();
  for (mlir::NamedAttribute own : llvm::to_vector(created->getAttrs()))
    if (!op->hasAttr(own.getName())) // of a part of the old op, such as the elements that a mean divides by
      created->removeAttr(own.getName());
  DiagnosticCapture diagnostics(main.getContext());
  if (mlir::failed(mlir::verify(created))) {
    std::string reason = diagnostics.take();
    created->erase();
    return refuse(op, reason);
  }
  op->replaceAllUsesWith(created);
  op->erase();
  return llvm::Error::success();
}

llvm::Error BatchChanger::run() {
  for (mlir::BlockArgument argument : main.getArguments())
    argument.setType(changed(argument));
  for (mlir::Operation &op : llvm::make_early_inc_range(main.front().without_terminator())) {
    if (!changes(&op))
      continue;
    bool isSource = llvm::isa<ConstantOp, ParameterOp>(op);
    if (llvm::Error error = isSource ? changeSource(&op) : changeOp(&op))
      return error;
  }
  main.setFunctionType(mlir::FunctionType::get(main.getContext(), main.front().getArgumentTypes(),
                                               main.front().getTerminator()->getOperandTypes()));
  return llvm::Error::success();
}

} // namespace

llvm::Expected<int64_t> batchOf(mlir::func::FuncOp main) {
  if (mlir::Value first = firstWithDims(main); first && dimsOf(first)[0] > 0)
    return dimsOf(first)[0];
  return inputError("no input has a dim that could carry the batch");
}

llvm::Error changeBatch(mlir::func::FuncOp main, int64_t batch) {
  llvm::Expected<int64_t> from = batchOf(main);
  if (!from)
    return from.takeError();
  return *from == batch ? llvm::Error::success() : BatchChanger(main, *from, batch).run();
}

void markBatch(mlir::func::FuncOp main) {
  llvm::Expected<int64_t> batch = batchOf(main);
  if (!batch)
    return llvm::consumeError(batch.takeError()); // no input has a batch
  if (!isMarked(main))
    markEnds(main, findBatch(main, *batch));
}

} // namespace apc
