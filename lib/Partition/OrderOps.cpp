// Each op waits for the ops that make what it reads, and what stands in a bucket with it.
#include "OrderOps.h"

#include "apc/IR/Ops/Spmd/Spmd.h"
#include "apc/Support/Error.h"
#include "apc/Support/WaitingOrder.h"

namespace apc {

namespace {

class OpOrder {
public:
  OpOrder(mlir::func::FuncOp main, const PlanNames &names, const PlanReader &plan) : plan(plan) {
    unsigned part = 0;
    for (mlir::Operation &op : main.front().without_terminator()) {
      places[&op] = ops.size();
      ops.push_back(&op);
      parts.push_back(part);
      part += isPartEnd(&op);
    }
    for (const auto *named : {&names.ops, &names.sends})
      for (auto &[op, name] : *named)
        byName[name] = places.lookup(op);
    for (auto &[value, name] : names.values)
      if (mlir::Operation *maker = value.getDefiningOp(); maker && !llvm::isa<ParameterOp>(maker))
        makers[name] = places.lookup(maker); // parameters are there from the start
  }

  llvm::Expected<std::vector<mlir::Operation *>> run() {
    waits.resize(ops.size());
    for (mlir::Operation *op : ops)
      waitForOperands(op);
    for (const PlanBucket &bucket : plan.getBuckets())
      if (llvm::Error error = waitFor(bucket))
        return error;
    std::vector<size_t> order = orderWithWaits(waits);
    if (order.size() < ops.size())
      return inputError("plan: buckets: an op that makes a value of a bucket waits for that bucket");
    std::vector<mlir::Operation *> ordered;
    for (size_t place : order)
      ordered.push_back(ops[place]);
    return ordered;
  }

private:
  /// The end of a part is behind all that stands before it.
  void waitForOperands(mlir::Operation *op) {
    llvm::SmallVector<size_t, 4> &own = waits[places.lookup(op)];
    for (mlir::Value operand : op->getOperands())
      if (mlir::Operation *maker = operand.getDefiningOp())
        own.push_back(places.lookup(maker));
    if (isPartEnd(op))
      for (size_t before = 0; before < places.lookup(op); ++before)
        own.push_back(before);
  }

  /// An op that waited for a later part of the work would leave its own.
  llvm::Error waitFor(const PlanBucket &bucket) {
    llvm::SmallVector<const PlanMove *> moves = plan.movesOf(bucket);
    std::vector<std::pair<size_t, llvm::StringRef>> made; // places and values
    for (const PlanMove *move : moves)
      for (const std::string &value : move->values)
        if (auto maker = makers.find(value); maker != makers.end())
          made.emplace_back(maker->second, value);
    for (const PlanMove *move : moves)
      for (const std::string &user : move->users) {
        auto op = byName.find(user);
        if (op == byName.end())
          continue; // results of the program stand at its end
        for (auto [maker, value] : made) {
          if (parts[maker] > parts[op->second])
            return inputError("{0}: op '{1}' would wait for value '{2}', which a later part of the stage's work makes",
                              plan.placeOf(bucket), user, value);
          waits[op->second].push_back(maker);
        }
      }
    return llvm::Error::success();
  }

  const PlanReader &plan;
  std::vector<mlir::Operation *> ops;
  std::vector<unsigned> parts; ///< by op: the parts that end before it
  llvm::DenseMap<mlir::Operation *, size_t> places;
  llvm::StringMap<size_t> byName, makers; ///< of ops, and of values: places
  std::vector<llvm::SmallVector<size_t, 4>> waits;
};

} // namespace

llvm::Expected<std::vector<mlir::Operation *>> orderOps(mlir::func::FuncOp main, const PlanNames &names,
                                                        const PlanReader &plan) {
  return OpOrder(main, names, plan).run();
}

} // namespace apc
