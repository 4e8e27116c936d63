// Normalisations in ONNX, whole and in parts, with their gradients.
#include "../OnnxForm.h"
#include "apc/IR/Ops/Normalization/Normalization.h"

#include <numeric>

namespace apc {

namespace {

using Results = llvm::SmallVector<mlir::Value, 1>;

mlir::Value inverseRoot(OnnxForm &form, mlir::Value variance) {
  mlir::Value root = form.sqrt(form.add(variance, form.real("epsilon")));
  return form.make<ReciprocalOp>({root});
}

/// The dims from `axis` on.
llvm::SmallVector<int64_t> rowDims(OnnxForm &form, mlir::Value x) {
  auto numDims = static_cast<int64_t>(dimsOf(x).size()), axis = form.integer("axis", -1);
  llvm::SmallVector<int64_t> dims(static_cast<size_t>(axis < 0 ? -axis : numDims - axis));
  std::iota(dims.begin(), dims.end(), numDims - static_cast<int64_t>(dims.size()));
  return dims;
}

bool isCentred(OnnxForm &form) { return form.integer("centred", 1) != 0; }

/// Rows less their mean over their deviation, and one over the deviation.
struct RowForms {
  RowForms(OnnxForm &form, mlir::Value x) {
    llvm::SmallVector<int64_t> dims = rowDims(form, x);
    mlir::Value centred = isCentred(form) ? form.sub(x, form.mean(x, dims)) : x;
    inverse = inverseRoot(form, form.mean(form.mul(centred, centred), dims));
    normal = form.mul(centred, inverse);
  }
  mlir::Value normal, inverse;
};

Results layerGradient(OnnxForm &form) {
  mlir::Value x = form.precise(form.operand("X")), q = form.precise(form.operand("dY"));
  RowForms rows(form, x);
  if (mlir::Value scale = form.operand("scale"))
    q = form.mul(q, form.precise(scale));
  llvm::SmallVector<int64_t> dims = rowDims(form, x);
  mlir::Value result = form.sub(q, form.mul(rows.normal, form.mean(form.mul(q, rows.normal), dims)));
  if (isCentred(form))
    result = form.sub(result, form.mean(q, dims));
  return {form.asResult(form.mul(rows.inverse, result))};
}

Results layerScaleGradient(OnnxForm &form) {
  RowForms rows(form, form.precise(form.operand("X")));
  mlir::Value product = form.mul(form.precise(form.operand("dY")), rows.normal);
  return {form.asResult(form.sumTo(product, dimsOf(form.getOp()->getResult(0))))};
}

/// The last of some numbers by row, or the first, with dims of one element as `x` has dims.
mlir::Value statistic(OnnxForm &form, mlir::Value statistics, mlir::Value x, bool isLast) {
  llvm::SmallVector<int64_t> dims(dimsOf(statistics).drop_back());
  auto last = static_cast<unsigned>(dims.size());
  int64_t place = isLast ? dimsOf(statistics).back() - 1 : 0;
  dims.resize(dimsOf(x).size(), 1);
  return form.reshape(form.slice(statistics, last, place, place + 1), dims);
}

/// The same of rows whose mean and mean square are given.
struct KnownRows {
  KnownRows(OnnxForm &form, mlir::Value x) {
    mlir::Value statistics = form.operand("statistics");
    mlir::Value variance = statistic(form, statistics, x, /*isLast=*/true);
    if (dimsOf(statistics).back() == 2) {
      mlir::Value mean = statistic(form, statistics, x, /*isLast=*/false);
      variance = form.sub(variance, form.mul(mean, mean));
      x = form.sub(x, mean);
    }
    inverse = inverseRoot(form, form.make<MaxOp>({variance, form.scalar(0, variance)}));
    normal = form.mul(x, inverse);
  }
  mlir::Value normal, inverse;
};

mlir::Value addends(OnnxForm &form) {
  mlir::Value x = form.precise(form.operand("X"));
  for (llvm::StringRef name : {"skip", "bias"})
    if (mlir::Value other = form.operand(name))
      x = form.add(x, form.precise(other));
  return x;
}

/// Sums over rows, one behind the other, over the number of elements of whole rows.
mlir::Value meansOf(OnnxForm &form, llvm::ArrayRef<mlir::Value> values) {
  llvm::SmallVector<int64_t> dims = rowDims(form, values.back());
  llvm::SmallVector<mlir::Value> means;
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= dimsOf(values.back())[static_cast<size_t>(dim)];
  for (mlir::Value value : values.drop_front(isCentred(form) ? 0 : 1)) {
    mlir::Value sum = form.sum(value, dims, /*keepdims=*/false);
    llvm::SmallVector<int64_t> column(dimsOf(sum));
    column.push_back(1);
    means.push_back(form.reshape(sum, column));
  }
  mlir::Value both = form.concat(means, static_cast<unsigned>(dimsOf(means.front()).size() - 1));
  return form.asResult(form.mul(both, 1.0 / static_cast<double>(form.integer("count", count))));
}

Results layerStatistics(OnnxForm &form) {
  mlir::Value x = addends(form);
  return {meansOf(form, {x, form.mul(x, x)})};
}

Results layerNormalize(OnnxForm &form) {
  mlir::Value x = addends(form);
  mlir::Value result = form.mul(KnownRows(form, x).normal, form.precise(form.operand("scale")));
  if (mlir::Value shift = form.operand("B"))
    result = form.add(result, form.precise(shift));
  bool hasSum = !isAbsent(form.getOp()->getResult(1));
  return {form.asResult(result), hasSum ? form.asResult(x, 1) : form.absent()};
}

Results layerGradientStatistics(OnnxForm &form) {
  mlir::Value q = form.mul(form.precise(form.operand("dY")), form.precise(form.operand("scale")));
  return {meansOf(form, {q, form.mul(q, KnownRows(form, form.precise(form.operand("X"))).normal)})};
}

Results layerNormalizeGradient(OnnxForm &form) {
  mlir::Value q = form.mul(form.precise(form.operand("dY")), form.precise(form.operand("scale")));
  mlir::Value means = form.operand("means");
  KnownRows rows(form, form.precise(form.operand("X")));
  mlir::Value result = form.sub(q, form.mul(rows.normal, statistic(form, means, q, /*isLast=*/true)));
  if (dimsOf(means).back() == 2)
    result = form.sub(result, statistic(form, means, q, /*isLast=*/false));
  return {form.asResult(form.mul(rows.inverse, result))};
}

Results layerNormalizeScaleGradient(OnnxForm &form) {
  mlir::Value x = form.precise(form.operand("X"));
  mlir::Value product = form.mul(form.precise(form.operand("dY")), KnownRows(form, x).normal);
  return {form.asResult(form.sumTo(product, dimsOf(form.getOp()->getResult(0))))};
}

Results softmaxBy(OnnxForm &form) {
  mlir::Value less = form.sub(form.precise(form.operand("input")), form.operand("log_sum"));
  return {form.asResult(form.integer("log") != 0 ? less : form.exp(less))};
}

Results softmaxGradientSum(OnnxForm &form) {
  mlir::Value product = form.precise(form.operand("dY"));
  if (mlir::Value y = form.operand("Y"))
    product = form.mul(product, form.precise(y));
  return {form.asResult(form.sum(product, {form.integer("axis")}))};
}

Results softmaxGradientBy(OnnxForm &form) {
  mlir::Value dY = form.precise(form.operand("dY")), y = form.precise(form.operand("Y")), sum = form.operand("sum");
  bool isLog = form.integer("log") != 0;
  return {form.asResult(isLog ? form.sub(dY, form.mul(form.exp(y), sum)) : form.mul(y, form.sub(dY, sum)))};
}

constexpr int64_t onnxFormRows = 13;
/// Before that opset a softmax is taken over all dims from `axis` on together.
bool isOverRows(OnnxForm &form) { return form.integer("opset_version", onnxFormRows) < onnxFormRows; }

Results softmax(OnnxForm &form) {
  mlir::Value x = form.operand("input");
  if (!isOverRows(form))
    return {form.getOp()->getResult(0)};
  llvm::ArrayRef<int64_t> dims = dimsOf(x);
  auto numDims = static_cast<int64_t>(dims.size());
  int64_t axis = form.integer("axis", 1), rows = 1, size = 1;
  axis = axis < 0 ? axis + numDims : axis;
  for (auto [dim, extent] : llvm::enumerate(dims))
    (static_cast<int64_t>(dim) < axis ? rows : size) *= extent;
  mlir::OperationState state(form.getOp()->getLoc(), form.getOp()->getName());
  state.addOperands(form.reshape(x, {rows, size}));
  state.addTypes(llvm::cast<mlir::RankedTensorType>(x.getType()).clone({rows, size}));
  state.addAttribute("axis", form.getBuilder().getI64IntegerAttr(-1));
  state.addAttribute("opset_version", form.getBuilder().getI64IntegerAttr(onnxFormRows));
  return {form.reshape(form.create(state)->getResult(0), dims)};
}

template <bool isLog>
Results softmaxGradient(OnnxForm &form) {
  mlir::Value dY = form.operand("dY"), y = form.operand("Y");
  auto numDims = static_cast<int64_t>(dimsOf(y).size());
  llvm::SmallVector<int64_t> axes = {form.integer("axis", isOverRows(form) ? 1 : -1)};
  if (isOverRows(form)) {
    int64_t first = axes[0] < 0 ? axes[0] + numDims : axes[0];
    axes.resize(static_cast<size_t>(numDims - first));
    std::iota(axes.begin(), axes.end(), first);
  }
  if (isLog)
    return {form.sub(dY, form.mul(form.exp(y), form.sum(dY, axes)))};
  return {form.mul(y, form.sub(dY, form.sum(form.mul(dY, y), axes)))};
}

/// One number for each channel beside x.
mlir::Value byChannel(OnnxForm &form, llvm::StringRef name, mlir::Value x) {
  mlir::Value value = form.precise(form.operand(name));
  llvm::SmallVector<int64_t> dims(dimsOf(x).size() - 1, 1);
  dims[0] = dimsOf(x)[1];
  return form.reshape(value, dims);
}

mlir::Value channelNormal(OnnxForm &form, mlir::Value x) {
  return form.mul(form.sub(x, byChannel(form, "mean", x)), inverseRoot(form, byChannel(form, "variance", x)));
}

Results batchNormalize(OnnxForm &form) {
  mlir::Value x = form.precise(form.operand("X"));
  mlir::Value scaled = form.mul(channelNormal(form, x), byChannel(form, "scale", x));
  return {form.asResult(form.add(scaled, byChannel(form, "B", x)))};
}

Results batchScaleGradient(OnnxForm &form) {
  mlir::Value x = form.precise(form.operand("X"));
  mlir::Value product = form.mul(form.precise(form.operand("dY")), channelNormal(form, x));
  llvm::SmallVector<int64_t> axes = {0};
  for (size_t dim = 2; dim < dimsOf(x).size(); ++dim)
    axes.push_back(static_cast<int64_t>(dim));
  return {form.asResult(form.sum(product, axes, /*keepdims=*/false))};
}

Results batchNormalizeGradient(OnnxForm &form) {
  mlir::Value x = form.precise(form.operand("X"));
  int64_t count = 1;
  for (auto [dim, size] : llvm::enumerate(dimsOf(x)))
    count *= dim == 1 ? 1 : size;
  double share = 1.0 / static_cast<double>(form.integer("count", count));
  mlir::Value inner = form.sub(form.precise(form.operand("dY")), form.mul(byChannel(form, "dB", x), share));
  inner = form.sub(inner, form.mul(form.mul(channelNormal(form, x), byChannel(form, "dscale", x)), share));
  mlir::Value factor = form.mul(byChannel(form, "scale", x), inverseRoot(form, byChannel(form, "variance", x)));
  return {form.asResult(form.mul(factor, inner))};
}

Results batchNormalization(OnnxForm &form) {
  if (form.integer("spatial", 1) == 0)
    return form.refuse("it has statistics for each point, as before opset 9");
  if (isBatchTraining(form.getOp()))
    return form.refuse("it takes statistics of its batch");
  for (mlir::Value result : form.getOp()->getResults().drop_front())
    if (!isAbsent(result) && !result.use_empty())
      return form.refuse("its running statistics are read");
  return {form.getOp()->getResult(0)};
}

Results groupNormalization(OnnxForm &form) {
  if (dimsOf(form.operand("scale"))[0] != dimsOf(form.operand("X"))[1])
    return form.refuse("it has a scale for each group, as before opset 21");
  return {form.getOp()->getResult(0)};
}

constexpr OnnxFormEntry forms[] = {
    {SoftmaxOp::getOperationName(), softmax},
    {LogSoftmaxOp::getOperationName(), softmax},
    {HardmaxOp::getOperationName(), softmax},
    {SoftmaxGradOp::getOperationName(), softmaxGradient<false>},
    {LogSoftmaxGradOp::getOperationName(), softmaxGradient<true>},
    {SoftmaxByOp::getOperationName(), softmaxBy},
    {SoftmaxGradSumOp::getOperationName(), softmaxGradientSum},
    {SoftmaxGradByOp::getOperationName(), softmaxGradientBy},
    {LayerNormalizationGradOp::getOperationName(), layerGradient},
    {LayerNormalizationScaleGradOp::getOperationName(), layerScaleGradient},
    {LayerStatisticsOp::getOperationName(), layerStatistics},
    {LayerNormalizeOp::getOperationName(), layerNormalize},
    {LayerGradientStatisticsOp::getOperationName(), layerGradientStatistics},
    {LayerNormalizeGradOp::getOperationName(), layerNormalizeGradient},
    {LayerNormalizeScaleGradOp::getOperationName(), layerNormalizeScaleGradient},
    {BatchNormalizationOp::getOperationName(), batchNormalization},
    {BatchNormalizeOp::getOperationName(), batchNormalize},
    {BatchNormalizeGradOp::getOperationName(), batchNormalizeGradient},
    {BatchScaleGradOp::getOperationName(), batchScaleGradient},
    {GroupNormalizationOp::getOperationName(), groupNormalization},
};

} // namespace

llvm::ArrayRef<OnnxFormEntry> normalizationForms() { return forms; }

} // namespace apc
