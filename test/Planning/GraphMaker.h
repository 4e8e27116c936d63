// Graphs that tests make by hand, and the cost model that they are planned with.
#pragma once

#include "apc/Cost/CostModel.h"
#include "apc/Graph/OpGraph.h"

#include "llvm/ADT/STLExtras.h"

#include <array>
#include <map>

namespace apc {

/// Graphs of sources, MatMuls and Relus over f16.
class GraphMaker {
public:
  ValueId source(llvm::StringRef name, llvm::SmallVector<int64_t, 4> dims, ValueRole role) {
    FactorRuleBuilder builder;
    builder.addResult(builder.addFactors("d", dims), 16);
    builder.setWork(Work::View);
    return add(name, valueRoleName(role), builder.take(), {}, {dims, 16}, role);
  }
  ValueId matmul(llvm::StringRef name, ValueId a, ValueId b) {
    int64_t m = graph.value(a).shape.dims[0], k = graph.value(a).shape.dims[1], n = graph.value(b).shape.dims[1];
    FactorRuleBuilder builder;
    FactorId fm = builder.addFactor("m", m), fk = builder.addFactor("k", k), fn = builder.addFactor("n", n);
    builder.addOperand({{fm}, {fk}}, 16);
    builder.addOperand({{fk}, {fn}}, 16);
    builder.addResult({{fm}, {fn}}, 16);
    builder.setFlopsPerPoint(2);
    builder.setWork(Work::Contraction);
    return add(name, "matmul", builder.take(), {a, b}, {{m, n}, 16}, ValueRole::Activation);
  }
  using FactorNames = std::array<const char *, 2>;
  /// A product of factors m, k and n, of which operands and result have two each: {m, n} x {k, n} -> {m, k} is the
  /// gradient of the first operand of a MatMul.
  ValueId contraction(llvm::StringRef name, ValueId a, FactorNames ofA, ValueId b, FactorNames ofB, FactorNames made) {
    FactorRuleBuilder builder;
    std::map<llvm::StringRef, std::pair<FactorId, int64_t>> factors;
    for (auto [value, names] : {std::pair(a, ofA), std::pair(b, ofB)})
      for (auto [dim, factor] : llvm::zip_equal(graph.value(value).shape.dims, names))
        if (!factors.count(factor))
          factors.insert({factor, {builder.addFactor(factor, dim), dim}});
    auto dimsOf = [&](FactorNames names) {
      return llvm::SmallVector<DimFactors, 4>{{factors.at(names[0]).first}, {factors.at(names[1]).first}};
    };
    builder.addOperand(dimsOf(ofA), 16);
    builder.addOperand(dimsOf(ofB), 16);
    builder.addResult(dimsOf(made), 16);
    builder.setFlopsPerPoint(2);
    builder.setWork(Work::Contraction);
    return add(name, "matmul", builder.take(), {a, b}, {{factors.at(made[0]).second, factors.at(made[1]).second}, 16},
               ValueRole::Activation);
  }
  /// The factors of a Relu are named by dim: b0, b1.
  ValueId relu(llvm::StringRef name, ValueId x) {
    FactorRuleBuilder builder;
    return elementwise(name, "relu", x, builder.addFactors("b", graph.value(x).shape.dims), builder);
  }
  /// An elementwise op with one factor for each dim, of these names.
  ValueId named(llvm::StringRef name, ValueId x, llvm::ArrayRef<const char *> factors) {
    FactorRuleBuilder builder;
    llvm::SmallVector<DimFactors, 4> dims;
    for (auto [factor, size] : llvm::zip_equal(factors, graph.value(x).shape.dims))
      dims.push_back({builder.addFactor(factor, size)});
    return elementwise(name, "named", x, dims, builder);
  }
  /// An op of which every device has the last dim whole, as in a normalisation.
  ValueId alongRows(llvm::StringRef name, ValueId x) {
    llvm::ArrayRef<int64_t> extents = graph.value(x).shape.dims;
    FactorRuleBuilder builder;
    llvm::SmallVector<DimFactors, 4> dims = builder.addFactors("b", extents.drop_back());
    dims.push_back({builder.addWhole("k", extents.back())});
    return elementwise(name, "along_rows", x, dims, builder);
  }
  /// Two numbers of 32 bits for each row: sums over the last dim, taken in the pass of their reader.
  ValueId statistics(llvm::StringRef name, ValueId x) {
    TensorShape shape = graph.value(x).shape;
    FactorRuleBuilder builder;
    llvm::SmallVector<DimFactors, 4> dims = builder.addFactors("b", shape.dims);
    builder.addOperand(dims, 16);
    dims.back() = {builder.addWhole("n", 2)};
    shape.dims.back() = 2;
    shape.elementBits = 32;
    builder.addResult(dims, 32);
    builder.setFlopsPerPoint(2);
    ValueId made = add(name, "statistics", builder.take(), {x}, shape, ValueRole::Activation);
    graph.ops.back().inPass = true;
    return made;
  }
  /// An op that reads rows and their statistics, to which it is tied.
  ValueId normalize(llvm::StringRef name, ValueId x, ValueId statistics) {
    FactorRuleBuilder builder;
    llvm::SmallVector<DimFactors, 4> dims = builder.addFactors("b", graph.value(x).shape.dims), rows = dims;
    rows.back() = {builder.addWhole("n", 2)};
    builder.addOperand(dims, 16);
    builder.addOperand(rows, 32);
    builder.addResult(dims, 16);
    builder.setFlopsPerPoint(4);
    graph.ties.push_back({OpId(graph.ops.size()), graph.value(statistics).producer});
    return add(name, "normalize", builder.take(), {x, statistics}, graph.value(x).shape, ValueRole::Activation);
  }
  /// The same elements in the same storage.
  ValueId view(llvm::StringRef name, ValueId x) {
    FactorRuleBuilder builder;
    builder.setWork(Work::View);
    return elementwise(name, "view", x, builder.addFactors("b", graph.value(x).shape.dims), builder);
  }
  ValueId transpose(llvm::StringRef name, ValueId x) {
    TensorShape shape = graph.value(x).shape;
    std::swap(shape.dims[0], shape.dims[1]);
    FactorRuleBuilder builder;
    FactorId rows = builder.addFactor("d0", shape.dims[0]), columns = builder.addFactor("d1", shape.dims[1]);
    builder.addOperand({{columns}, {rows}}, 16);
    builder.addResult({{rows}, {columns}}, 16);
    return add(name, "transpose", builder.take(), {x}, shape, ValueRole::Activation);
  }
  /// The same elements in another number of bits.
  ValueId cast(llvm::StringRef name, ValueId x, unsigned bits) {
    TensorShape shape = graph.value(x).shape;
    FactorRuleBuilder builder;
    llvm::SmallVector<DimFactors, 4> dims = builder.addFactors("b", shape.dims);
    builder.addOperand(dims, shape.elementBits);
    shape.elementBits = bits;
    builder.addResult(dims, bits);
    return add(name, "cast", builder.take(), {x}, shape, ValueRole::Activation);
  }
  ValueId product(llvm::StringRef name, ValueId a, ValueId b) {
    FactorRuleBuilder builder;
    llvm::SmallVector<DimFactors, 4> dims = builder.addFactors("b", graph.value(a).shape.dims);
    builder.addOperand(dims, 16);
    builder.addOperand(dims, 16);
    builder.addResult(dims, 16);
    builder.setFlopsPerPoint(1);
    return add(name, "mul", builder.take(), {a, b}, graph.value(a).shape, ValueRole::Activation);
  }
  /// Operands may enter while they are still partial, together.
  ValueId sum(llvm::StringRef name, ValueId a, ValueId b) {
    FactorRuleBuilder builder;
    llvm::SmallVector<DimFactors, 4> dims = builder.addFactors("b", graph.value(a).shape.dims);
    builder.addOperand(dims, 16);
    builder.addOperand(dims, 16);
    builder.addResult(dims, 16);
    builder.addLinear({0, 1});
    builder.setFlopsPerPoint(1);
    return add(name, "add", builder.take(), {a, b}, graph.value(a).shape, ValueRole::Activation);
  }
  void sink(ValueId x) {
    FactorRuleBuilder builder;
    builder.addOperand(builder.addFactors("d", graph.value(x).shape.dims), 16);
    builder.setWork(Work::View);
    graph.rules.push_back(builder.take());
    graph.ops.push_back(
        {"output " + graph.value(x).name, "output", RuleId(graph.rules.size() - 1), NumberFormat::F16, {x}, {}});
  }

  OpGraph graph;

private:
  ValueId elementwise(llvm::StringRef name, llvm::StringRef operatorName, ValueId x,
                      const llvm::SmallVector<DimFactors, 4> &dims, FactorRuleBuilder &builder) {
    builder.addOperand(dims, 16);
    builder.addResult(dims, 16);
    builder.setFlopsPerPoint(1);
    return add(name, operatorName, builder.take(), {x}, graph.value(x).shape, ValueRole::Activation);
  }
  ValueId add(llvm::StringRef name, llvm::StringRef operatorName, FactorRule rule,
              std::vector<std::optional<ValueId>> operands, TensorShape shape, ValueRole role) {
    auto known = llvm::find(graph.rules, rule);
    RuleId id(known - graph.rules.begin());
    if (known == graph.rules.end())
      graph.rules.push_back(std::move(rule));
    ValueId value(graph.values.size());
    graph.values.push_back({name.str(), std::move(shape), role, OpId(graph.ops.size()), 0});
    graph.ops.push_back({name.str(), operatorName.str(), id, NumberFormat::F16, std::move(operands), {value}});
    return value;
  }
};

/// Costs on so many devices of an A100 node, which make one axis; `mesh` becomes their mesh.
CostModel modelOn(int64_t devices, Mesh &mesh);

} // namespace apc
