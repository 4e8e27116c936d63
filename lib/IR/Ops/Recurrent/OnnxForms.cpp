// Backward passes of recurrent operators in ONNX, and the operators on a piece of their directions: position by
// position.
#include "../OnnxForm.h"
#include "Recurrence.h"

#include <numeric>

namespace apc {

namespace forms {

/// A value of a form with arithmetic, for `Recurrence`.
struct FormTensor {
  mlir::Value value = {};
  OnnxForm *form = nullptr;

  explicit operator bool() const { return static_cast<bool>(value); }
  int64_t size(unsigned dim) const { return dimsOf(value)[dim]; }
  FormTensor with(mlir::Value other) const { return {other, form}; }
};

template <typename Op>
FormTensor make(llvm::ArrayRef<FormTensor> operands) {
  auto values = llvm::map_to_vector(operands, [](FormTensor operand) { return operand.value; });
  return operands.front().with(operands.front().form->make<Op>(values));
}

/// Broadcasts as it is used.
FormTensor filled(FormTensor like, double value) { return like.with(like.form->scalar(value, like.value)); }

FormTensor operator+(FormTensor a, FormTensor b) { return make<AddOp>({a, b}); }
FormTensor operator-(FormTensor a, FormTensor b) { return make<SubOp>({a, b}); }
FormTensor operator*(FormTensor a, FormTensor b) { return make<MulOp>({a, b}); }
FormTensor operator/(FormTensor a, FormTensor b) { return make<DivOp>({a, b}); }
FormTensor operator-(FormTensor a) { return make<NegOp>({a}); }
FormTensor operator+(FormTensor a, double b) { return b == 0 ? a : a + filled(a, b); }
FormTensor operator-(FormTensor a, double b) { return a - filled(a, b); }
FormTensor operator*(FormTensor a, double b) { return b == 1 ? a : a * filled(a, b); }
FormTensor operator-(double a, FormTensor b) { return filled(b, a) - b; }

FormTensor tanh(FormTensor x) { return make<TanhOp>({x}); }
FormTensor sigmoid(FormTensor x) { return make<SigmoidOp>({x}); }
FormTensor exp(FormTensor x) { return make<ExpOp>({x}); }
FormTensor log(FormTensor x) { return make<LogOp>({x}); }
FormTensor abs(FormTensor x) { return make<AbsOp>({x}); }
FormTensor square(FormTensor x) { return x * x; }
FormTensor max(FormTensor a, FormTensor b) { return make<MaxOp>({a, b}); }
FormTensor min(FormTensor a, FormTensor b) { return make<MinOp>({a, b}); }
FormTensor matmul(FormTensor a, FormTensor b) { return make<MatMulOp>({a, b}); }

FormTensor compare(FormTensor a, llvm::StringRef direction, FormTensor b) {
  if (direction == "EQ")
    return make<EqualOp>({a, b});
  if (direction == "LT")
    return make<LessOp>({a, b});
  return direction == "LE" ? make<LessOrEqualOp>({a, b}) : make<GreaterOp>({a, b});
}
FormTensor select(FormTensor condition, FormTensor a, FormTensor b) {
  return a.with(a.form->where(condition.value, a.value, b.value));
}

FormTensor reshape(FormTensor x, llvm::ArrayRef<int64_t> dims) { return x.with(x.form->reshape(x.value, dims)); }
FormTensor transpose(FormTensor x, llvm::ArrayRef<int64_t> perm) { return x.with(x.form->transpose(x.value, perm)); }
FormTensor flip(FormTensor x) { return x.with(x.form->swapLast(x.value)); }
FormTensor slice(FormTensor x, unsigned dim, int64_t begin, int64_t end) {
  return x.with(x.form->slice(x.value, dim, begin, end));
}
FormTensor concat(llvm::ArrayRef<FormTensor> parts, unsigned dim) {
  auto values = llvm::map_to_vector(parts, [](FormTensor part) { return part.value; });
  return parts.front().with(parts.front().form->concat(values, dim));
}
FormTensor take(FormTensor x, FormTensor places, unsigned dim) {
  return x.with(x.form->make<GatherOp>({x.value, places.value}, x.form->attribute("axis", dim)));
}
FormTensor reverse(FormTensor x, llvm::ArrayRef<int64_t> dims) {
  llvm::SmallVector<int64_t> places(static_cast<size_t>(x.size(static_cast<unsigned>(dims.front()))));
  std::iota(places.rbegin(), places.rend(), 0);
  return take(x, x.with(x.form->integers(places)), static_cast<unsigned>(dims.front()));
}

} // namespace forms

namespace {

using forms::FormTensor;
using Results = llvm::SmallVector<mlir::Value, 1>;

/// The operator's tensors for `Recurrence`.
class FormSource {
public:
  explicit FormSource(OnnxForm &form) : form(form), element(operand(recurrent::X).value) {}

  FormTensor operand(unsigned index) const {
    mlir::Value given = form.getOp()->getOperand(index);
    return isAbsent(given) ? FormTensor() : FormTensor{form.precise(given), &form};
  }
  FormTensor first() const {
    return form.offsets().empty() ? FormTensor() : asIndex(form.begin(form.offsets().front()));
  }
  FormTensor lengths() const {
    mlir::Value given = form.getOp()->getOperand(recurrent::Lengths);
    return isAbsent(given) ? FormTensor() : asIndex(given);
  }
  FormTensor integers(llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> values) const {
    return {dims.empty() ? form.index(values.front()) : form.reshape(form.integers(values), dims), &form};
  }
  FormTensor zeros(llvm::ArrayRef<int64_t> dims) const {
    return {form.zeros(mlir::RankedTensorType::get(dims, mlir::getElementTypeOrSelf(element.getType()))), &form};
  }
  template <typename Body>
  Scanned<FormTensor> scan(int64_t count, bool isBackward, llvm::ArrayRef<FormTensor> states,
                           llvm::ArrayRef<FormTensor> sequences, Body body) const {
    Scanned<FormTensor> found{llvm::SmallVector<FormTensor, 3>(states), {}};
    std::vector<std::vector<FormTensor>> rounds; // what each of them gives, for each element
    for (int64_t round = 0; round < count; ++round) {
      int64_t place = isBackward ? count - 1 - round : round;
      llvm::SmallVector<FormTensor, 6> given;
      for (FormTensor sequence : sequences)
        given.push_back(reshape(slice(sequence, 0, place, place + 1), dimsOf(sequence.value).drop_front()));
      Scanned<FormTensor> own = body(llvm::ArrayRef(found.states), llvm::ArrayRef(given));
      found.states = own.states;
      rounds.resize(own.elements.size());
      for (auto [list, element] : llvm::zip_equal(rounds, own.elements)) {
        llvm::SmallVector<int64_t> dims(dimsOf(element.value));
        dims.insert(dims.begin(), 1);
        list.insert(isBackward ? list.begin() : list.end(), reshape(element, dims));
      }
    }
    for (const std::vector<FormTensor> &list : rounds)
      found.elements.push_back(concat(list, 0));
    return found;
  }

private:
  FormTensor asIndex(mlir::Value value) const { return {form.cast(value, form.getBuilder().getI64Type()), &form}; }

  OnnxForm &form;
  mlir::Value element;
};

Results resultsOf(OnnxForm &form, llvm::ArrayRef<FormTensor> found) {
  Results results;
  for (auto [result, value] : llvm::zip_equal(form.getOp()->getResults(), found)) {
    bool isWanted = value && !isAbsent(result);
    results.push_back(isWanted ? form.asResult(value.value, result.getResultNumber()) : form.absent());
  }
  return results;
}

/// The operator with positions in front: runtimes have no other order.
Results positionsFirst(OnnxForm &form) {
  mlir::Operation *op = form.getOp();
  mlir::OperationState state(op->getLoc(), op->getName());
  state.addOperands(op->getOperands());
  for (unsigned index : {recurrent::X, recurrent::InitialH, recurrent::InitialC})
    if (index < op->getNumOperands() && !isAbsent(op->getOperand(index)))
      state.operands[index] = form.transpose(op->getOperand(index), {1, 0, 2});
  state.addAttributes(op->getAttrs());
  state.attributes.set("layout", form.getBuilder().getI64IntegerAttr(0));
  for (mlir::Value result : op->getResults()) {
    auto type = llvm::dyn_cast<mlir::RankedTensorType>(result.getType());
    llvm::SmallVector<int64_t, 4> dims(type ? dimsOf(result) : llvm::ArrayRef<int64_t>());
    if (dims.size() == 4)
      dims = {dims[1], dims[2], dims[0], dims[3]};
    else if (type)
      std::swap(dims[0], dims[1]);
    state.addTypes(type ? type.clone(dims) : result.getType());
  }
  Results results(form.create(state)->getResults());
  for (mlir::Value &result : results)
    if (!isAbsent(result))
      result = dimsOf(result).size() == 4 ? form.transpose(result, {2, 0, 1, 3}) : form.transpose(result, {1, 0, 2});
  return results;
}

/// ONNX has the operator on all directions.
template <Cell cell>
Results forwardOf(OnnxForm &form) {
  if (form.offsets().empty())
    return form.integer("layout") == 0 ? Results(form.getOp()->getResults()) : positionsFirst(form);
  RecurrentSizes sizes = *readRecurrent(form.getOp(), cell);
  FormSource source(form);
  return resultsOf(form, Recurrence<FormTensor, FormSource>(form.getOp(), sizes, source).run());
}

template <Cell cell>
Results backwardOf(OnnxForm &form) {
  RecurrentSizes sizes = *readRecurrent(form.getOp(), cell);
  FormSource source(form);
  return resultsOf(form, Recurrence<FormTensor, FormSource>(form.getOp(), sizes, source).runBackward());
}

constexpr OnnxFormEntry entries[] = {
    {RNNOp::getOperationName(), forwardOf<Cell::Rnn>},   {RNNGradOp::getOperationName(), backwardOf<Cell::Rnn>},
    {GRUOp::getOperationName(), forwardOf<Cell::Gru>},   {GRUGradOp::getOperationName(), backwardOf<Cell::Gru>},
    {LSTMOp::getOperationName(), forwardOf<Cell::Lstm>}, {LSTMGradOp::getOperationName(), backwardOf<Cell::Lstm>},
};

} // namespace

llvm::ArrayRef<OnnxFormEntry> recurrentForms() { return entries; }

} // namespace apc
