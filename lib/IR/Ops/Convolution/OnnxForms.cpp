// Gradients of convolutions, pools and columns in ONNX.
#include "../OnnxForm.h"
#include "Convolution.h"
#include "Windows.h"

#include <numeric>

namespace apc {

namespace {

using Results = llvm::SmallVector<mlir::Value, 1>;
using Numbers = llvm::SmallVector<int64_t, 6>;

Numbers listOr(OnnxForm &form, llvm::StringRef name, size_t count, int64_t otherwise) {
  auto list = form.getOp()->getAttrOfType<mlir::DenseI64ArrayAttr>(name);
  return list ? Numbers(list.asArrayRef()) : Numbers(count, otherwise);
}

mlir::NamedAttribute numbers(OnnxForm &form, llvm::StringRef name, llvm::ArrayRef<int64_t> list) {
  return form.getBuilder().getNamedAttr(name, form.getBuilder().getDenseI64ArrayAttr(list));
}

Results inputGradient(OnnxForm &form) {
  mlir::Value dY = form.operand("dY"), W = form.operand("W");
  llvm::ArrayRef<int64_t> wanted = dimsOf(form.getOp()->getResult(0)).drop_front(2);
  size_t count = wanted.size();
  Numbers strides = listOr(form, "strides", count, 1), dilations = listOr(form, "dilations", count, 1);
  Numbers pads = listOr(form, "pads", 2 * count, 0), more(count);
  for (size_t dim = 0; dim < count; ++dim) {
    int64_t covered = (dimsOf(dY)[dim + 2] - 1) * strides[dim] + (dimsOf(W)[dim + 2] - 1) * dilations[dim] + 1;
    more[dim] = wanted[dim] + pads[dim] + pads[count + dim] - covered;
    if (more[dim] < 0) { // windows end behind the data
      pads[count + dim] -= more[dim];
      more[dim] = 0;
    }
  }
  return {form.make<ConvTransposeOp>({dY, W, form.absent()},
                                     {form.attribute("group", form.integer("group", 1)),
                                      numbers(form, "strides", strides), numbers(form, "dilations", dilations),
                                      numbers(form, "pads", pads), numbers(form, "output_padding", more)})};
}

/// The data, with batch and channels exchanged, convolved with what arrives: strides are dilations of that, and the
/// other way round. Windows that end before the data are longer, and cut off.
mlir::Value weightGradientOfGroup(OnnxForm &form, mlir::Value x, mlir::Value dY, llvm::ArrayRef<int64_t> kernel) {
  size_t count = kernel.size();
  llvm::SmallVector<int64_t> exchange(count + 2);
  std::iota(exchange.begin(), exchange.end(), 0);
  std::swap(exchange[0], exchange[1]);
  mlir::Value result = form.make<ConvOp>({form.transpose(x, exchange), form.transpose(dY, exchange), form.absent()},
                                         {numbers(form, "strides", listOr(form, "dilations", count, 1)),
                                          numbers(form, "dilations", listOr(form, "strides", count, 1)),
                                          numbers(form, "pads", listOr(form, "pads", 2 * count, 0))});
  for (unsigned dim = 0; dim < count; ++dim)
    result = form.slice(result, dim + 2, 0, kernel[dim]);
  return form.transpose(result, exchange);
}

Results weightGradient(OnnxForm &form) {
  mlir::Value x = form.operand("X"), dY = form.operand("dY");
  llvm::ArrayRef<int64_t> kernel = dimsOf(form.getOp()->getResult(0)).drop_front(2);
  int64_t groups = form.integer("group", 1), inputs = dimsOf(x)[1] / groups, outputs = dimsOf(dY)[1] / groups;
  constexpr int64_t mostGroups = 64;
  if (groups > mostGroups)
    return form.refuse("it has " + llvm::Twine(groups) + " groups, and each takes a node of its own; up to " +
                       llvm::Twine(mostGroups) + " are written");
  llvm::SmallVector<mlir::Value> parts;
  for (int64_t group = 0; group < groups; ++group)
    parts.push_back(weightGradientOfGroup(form, form.slice(x, 1, group * inputs, (group + 1) * inputs),
                                          form.slice(dY, 1, group * outputs, (group + 1) * outputs), kernel));
  return {form.concat(parts, 0)};
}

/// The gradient that arrives is added where the pool found its maxima, as counted over all elements.
Results maxPoolGradient(OnnxForm &form) {
  mlir::Value x = form.operand("X"), dY = form.operand("dY");
  mlir::Builder &builder = form.getBuilder();
  mlir::OperationState state(form.getOp()->getLoc(), MaxPoolOp::getOperationName());
  state.addOperands(x);
  auto places = llvm::cast<mlir::RankedTensorType>(dY.getType()).clone(builder.getI64Type());
  state.addTypes({dY.getType(), places});
  for (llvm::StringRef name : {"auto_pad", "ceil_mode", "dilations", "kernel_shape", "pads", "strides"})
    if (mlir::Attribute value = form.getOp()->getAttr(name))
      state.addAttribute(name, value);
  auto type = llvm::cast<mlir::RankedTensorType>(x.getType());
  mlir::Value zeros = form.zeros(type.clone({type.getNumElements()}));
  mlir::Value flat = form.reshape(form.create(state)->getResult(1), {places.getNumElements()});
  mlir::NamedAttribute attributes[] = {form.attribute("axis", 0),
                                       builder.getNamedAttr("reduction", builder.getStringAttr("add"))};
  mlir::Value sums =
      form.make<ScatterElementsOp>({zeros, flat, form.reshape(dY, {places.getNumElements()})}, attributes);
  return {form.reshape(sums, type.getShape())};
}

/// The windows of a gradient of a pool as attributes of a convolution: with the padding that all windows need, and
/// with what lies behind the last of them.
struct GradientWindows {
  Numbers strides, dilations, pads, kernel = {1, 1}, input = {1, 1}, behind;

  GradientWindows(llvm::ArrayRef<WindowDim> windows, llvm::ArrayRef<int64_t> output) {
    Numbers ends;
    for (auto [window, size] : llvm::zip_equal(windows, output)) {
      int64_t end = window.padBegin + window.input - (size - 1) * window.stride - window.span();
      strides.push_back(window.stride), dilations.push_back(window.dilation), pads.push_back(window.padBegin);
      kernel.push_back(window.kernel), input.push_back(window.input);
      ends.push_back(std::max<int64_t>(-end, 0)), behind.push_back(std::max<int64_t>(end, 0));
    }
    pads.append(ends);
  }
};

/// The gradient that arrives, over the number of elements of its window, transposed through a convolution with ones.
Results averagePoolGradient(OnnxForm &form) {
  mlir::Value dY = form.operand("dY");
  auto data = form.getOp()->getAttrOfType<mlir::DenseI64ArrayAttr>("data_shape");
  auto read = readWindows(form.getOp(), data.asArrayRef(), {});
  bool countsPadding = form.integer("count_include_pad") != 0;
  if (mlir::failed(read) || (countsPadding && form.integer("ceil_mode") != 0))
    return form.refuse("its windows lie beyond the padding that counts");
  llvm::ArrayRef<int64_t> dims = dimsOf(dY);
  GradientWindows windows(*read, dims.drop_front(2));
  mlir::NamedAttribute shared[] = {numbers(form, "strides", windows.strides),
                                   numbers(form, "dilations", windows.dilations), numbers(form, "pads", windows.pads)};
  auto ones = [&](llvm::ArrayRef<int64_t> shape) {
    return form.make<ExpandOp>({form.scalar(1, dY), form.integers(shape)});
  };
  Numbers planes(dims);
  planes[0] *= std::exchange(planes[1], 1);
  mlir::Value kernel = ones(windows.kernel);
  auto product = std::accumulate(windows.kernel.begin(), windows.kernel.end(), int64_t{1}, std::multiplies<>());
  mlir::Value counts = countsPadding ? form.scalar(static_cast<double>(product), dY)
                                     : form.make<ConvOp>({ones(windows.input), kernel, form.absent()}, shared);
  llvm::SmallVector<mlir::NamedAttribute> attributes(llvm::ArrayRef<mlir::NamedAttribute>{shared});
  attributes.push_back(numbers(form, "output_padding", windows.behind));
  mlir::Value sums =
      form.make<ConvTransposeOp>({form.reshape(form.div(dY, counts), planes), kernel, form.absent()}, attributes);
  return {form.reshape(sums, dimsOf(form.getOp()->getResult(0)))};
}

/// Each point of the window is a channel of a convolution with a kernel of single ones.
Results columns(OnnxForm &form) {
  mlir::Value image = form.operand("image");
  llvm::ArrayRef<int64_t> dims = dimsOf(image);
  Numbers kernel = listOr(form, "kernel_shape", 0, 0), planes(dims);
  planes[0] *= std::exchange(planes[1], 1);
  auto points = std::accumulate(kernel.begin(), kernel.end(), int64_t{1}, std::multiplies<>());
  kernel.insert(kernel.begin(), {points, 1});
  Tensor ones = zeros(mlir::RankedTensorType::get(kernel, mlir::getElementTypeOrSelf(image)));
  for (int64_t point = 0; point < points; ++point)
    ones.floats[point * points + point] = 1;
  size_t count = dims.size() - 2;
  mlir::NamedAttribute value = form.getBuilder().getNamedAttr("value", ones.toAttribute());
  mlir::Value result = form.make<ConvOp>({form.reshape(image, planes), form.make<ConstantOp>({}, value), form.absent()},
                                         {numbers(form, "strides", listOr(form, "strides", count, 1)),
                                          numbers(form, "dilations", listOr(form, "dilations", count, 1)),
                                          numbers(form, "pads", listOr(form, "pads", 2 * count, 0))});
  return {form.reshape(result, dimsOf(form.getOp()->getResult(0)))};
}

/// Of a piece: its sum over the number of elements of the whole.
Results globalAveragePool(OnnxForm &form) {
  if (!form.has("count"))
    return {form.getOp()->getResult(0)};
  mlir::Value x = form.operand("X");
  llvm::SmallVector<int64_t> space(dimsOf(x).size() - 2);
  std::iota(space.begin(), space.end(), 2);
  return {form.mul(form.sum(x, space), 1.0 / static_cast<double>(form.integer("count")))};
}

Results roiAlign(OnnxForm &form) {
  constexpr int64_t settled = 16;
  if (form.integer("opset_version", settled) < settled)
    return form.refuse("its coordinates are those of opsets before 16");
  return {form.getOp()->getResult(0)};
}

/// Resize by the points that Upsample takes; ONNX has Upsample no more.
Results upsample(OnnxForm &form) {
  auto op = llvm::cast<UpsampleOp>(form.getOp());
  if (isAbsent(op.getScales()))
    return form.refuse("its scales are attributes; an operand is accepted");
  mlir::Builder &builder = form.getBuilder();
  auto text = [&](llvm::StringRef name, llvm::StringRef value) {
    return builder.getNamedAttr(name, builder.getStringAttr(value));
  };
  return {form.make<ResizeOp>({op.getX(), form.absent(), op.getScales(), form.absent()},
                              {text("mode", op.getMode() == "nearest" ? "nearest" : "linear"),
                               text("coordinate_transformation_mode", "asymmetric"), text("nearest_mode", "floor")})};
}

constexpr OnnxFormEntry forms[] = {
    {UpsampleOp::getOperationName(), upsample},
    {GlobalAveragePoolOp::getOperationName(), globalAveragePool},
    {RoiAlignOp::getOperationName(), roiAlign},
    {MaxPoolGradOp::getOperationName(), maxPoolGradient},
    {ConvInputGradOp::getOperationName(), inputGradient},
    {Im2ColOp::getOperationName(), columns},
    {ConvWeightGradOp::getOperationName(), weightGradient},
    {AveragePoolGradOp::getOperationName(), averagePoolGradient},
};

} // namespace

llvm::ArrayRef<OnnxFormEntry> convolutionForms() { return forms; }

} // namespace apc
