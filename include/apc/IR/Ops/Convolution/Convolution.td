// Convolutions and pools: windows that slide over any number of spatial dims, and resampling.
include "apc/IR/Base.td"

// The attributes of a sliding window stand in each definition: ONNX gives them no common order.
class Apc_Convolution<string mnemonic, list<string> onnx> : Apc_Op<mnemonic, onnx> {
  // A C++ expression of type ConvolutionForm.
  string form = "{}";
  // A C++ expression of type mlir::Type: the result's elements.
  string resultElement = "::apc::operandElement(getOperation(), 0)";
  let inferBody = "{ return ::apc::inferConvolution(getOperation(), " # form # ", " # resultElement # ", types); }";
  let ruleBody = "{ return ::apc::convolutionRule(getOperation(), " # form # "); }";
  let local = "::apc::localizeConvolution(local, " # form # ");";
  let evaluation = "::apc::evaluateConvolution(op, operands, " # form # ")";
}

def Apc_ConvOp : Apc_Convolution<"conv", ["Conv"]> {
  let summary = "Convolution over any number of spatial dims, in groups";
  let arguments = (ins Apc_Tensor:$X, Apc_Tensor:$W, Apc_Optional:$B,
                       DefaultValuedAttr<StrAttr, "\"NOTSET\"">:$auto_pad, OptionalAttr<DenseI64ArrayAttr>:$dilations, DefaultValuedAttr<I64Attr, "1">:$group,
                       OptionalAttr<DenseI64ArrayAttr>:$kernel_shape, OptionalAttr<DenseI64ArrayAttr>:$pads,
                       OptionalAttr<DenseI64ArrayAttr>:$strides);
  // Beside ONNX's types, those of models for accelerators: all of 8 bits, or the weights alone.
  let types = "T: float|byte, T|byte, T";
  let results = (outs Apc_Tensor:$Y);
  let addends = "2";
  let gradient = "return ::apc::differentiateConvolution(g);";
}

def Apc_FusedConvOp : Apc_Convolution<"fused_conv", ["com.microsoft.FusedConv"]> {
  let summary = "Convolution, sum with Z and activation in one";
  let arguments = (ins Apc_Tensor:$X, Apc_Tensor:$W, Apc_Optional:$B, Apc_Optional:$Z, OptionalAttr<StrAttr>:$activation,
                       OptionalAttr<DenseF32ArrayAttr>:$activation_params,
                       DefaultValuedAttr<StrAttr, "\"NOTSET\"">:$auto_pad, OptionalAttr<DenseI64ArrayAttr>:$dilations,
                       DefaultValuedAttr<I64Attr, "1">:$group, OptionalAttr<DenseI64ArrayAttr>:$kernel_shape,
                       OptionalAttr<DenseI64ArrayAttr>:$pads, OptionalAttr<DenseI64ArrayAttr>:$strides);
  let evaluates = 1;
  let types = "T: float, T, T, T";
  let results = (outs Apc_Tensor:$Y);
  let form = "{.summand = 3, .mayCutSum = ::apc::stringAttribute(getOperation(), \"activation\", \"\").empty()}";
  let addends = "2, 3";
  let differentiates = 1;
}

def Apc_ConvTransposeOp : Apc_Convolution<"conv_transpose", ["ConvTranspose"]> {
  let summary = "The gradient of a convolution with respect to its operand, as an operator";
  let arguments = (ins Apc_Tensor:$X, Apc_Tensor:$W, Apc_Optional:$B,
                       DefaultValuedAttr<StrAttr, "\"NOTSET\"">:$auto_pad, OptionalAttr<DenseI64ArrayAttr>:$dilations, DefaultValuedAttr<I64Attr, "1">:$group,
                       OptionalAttr<DenseI64ArrayAttr>:$kernel_shape, OptionalAttr<DenseI64ArrayAttr>:$output_padding,
                       OptionalAttr<DenseI64ArrayAttr>:$output_shape, OptionalAttr<DenseI64ArrayAttr>:$pads,
                       OptionalAttr<DenseI64ArrayAttr>:$strides);
  let types = "T: float, T, T";
  let results = (outs Apc_Tensor:$Y);
  let form = "{.transposed = true}";
  let addends = "2";
  let gradient = "return ::apc::differentiateTransposedConvolution(g);";
}

def Apc_DeformConvOp : Apc_Convolution<"deform_conv", ["DeformConv"]> {
  let summary = "Convolution whose windows look where offsets send them";
  let arguments = (ins Apc_Tensor:$X, Apc_Tensor:$W, Apc_Tensor:$offset, Apc_Optional:$B, Apc_Optional:$mask,
                       OptionalAttr<DenseI64ArrayAttr>:$dilations, DefaultValuedAttr<I64Attr, "1">:$group,
                       OptionalAttr<DenseI64ArrayAttr>:$kernel_shape, DefaultValuedAttr<I64Attr, "1">:$offset_group,
                       OptionalAttr<DenseI64ArrayAttr>:$pads, OptionalAttr<DenseI64ArrayAttr>:$strides);
  let evaluates = 1;
  let types = "T: float, T, T, T, T";
  let results = (outs Apc_Tensor:$Y);
  let form = "{.bias = 3, .deformable = true}";
  let addends = "3";
  let differentiates = 1;
}

def Apc_ConvIntegerOp : Apc_Convolution<"conv_integer", ["ConvInteger"]> {
  let summary = "Convolution of 8-bit integers less their zero points, summed in 32 bits";
  let arguments = (ins Apc_Tensor:$x, Apc_Tensor:$w, Apc_Optional:$x_zero_point, Apc_Optional:$w_zero_point,
                       DefaultValuedAttr<StrAttr, "\"NOTSET\"">:$auto_pad, OptionalAttr<DenseI64ArrayAttr>:$dilations,
                       DefaultValuedAttr<I64Attr, "1">:$group, OptionalAttr<DenseI64ArrayAttr>:$kernel_shape,
                       OptionalAttr<DenseI64ArrayAttr>:$pads, OptionalAttr<DenseI64ArrayAttr>:$strides);
  let evaluates = 1;
  let types = "T1: byte, T2: byte, T1, T2";
  let results = (outs Apc_Tensor:$y);
  // Padding of a cut sum is 0, which is neutral where 0 is the zero point of either operand.
  let form = "{.bias = ~0u, .mayCutSum = ::apc::isAbsent(getXZeroPoint()) || ::apc::isAbsent(getWZeroPoint()), .numbers = {2}, .perOutput = {3}}";
  let resultElement = "::mlir::IntegerType::get(getContext(), 32)";
}

def Apc_QLinearConvOp : Apc_Convolution<"qlinear_conv", ["QLinearConv"]> {
  let summary = "Convolution of quantised tensors, rounded to a quantised result";
  let arguments = (ins Apc_Tensor:$x, Apc_Tensor:$x_scale, Apc_Tensor:$x_zero_point, Apc_Tensor:$w, Apc_Tensor:$w_scale,
                       Apc_Tensor:$w_zero_point, Apc_Tensor:$y_scale, Apc_Tensor:$y_zero_point, Apc_Optional:$B,
                       DefaultValuedAttr<StrAttr, "\"NOTSET\"">:$auto_pad, OptionalAttr<DenseI64ArrayAttr>:$dilations,
                       DefaultValuedAttr<I64Attr, "1">:$group, OptionalAttr<DenseI64ArrayAttr>:$kernel_shape,
                       OptionalAttr<DenseI64ArrayAttr>:$pads, OptionalAttr<DenseI64ArrayAttr>:$strides);
  let evaluates = 1;
  let types = "T1: byte, f32, T1, T2: byte, f32, T2, f32, byte, i32";
  let results = (outs Apc_Tensor:$y);
  let form = "{.weights = 3, .bias = 8, .mayCutSum = false, .numbers = {1, 2, 6, 7}, .perOutput = {4, 5}}";
  let resultElement = "::apc::operandElement(getOperation(), 7)";
}

class Apc_Pool<string mnemonic, list<string> onnx> : Apc_Op<mnemonic, onnx> {
  // A C++ expression of type PoolForm.
  string form = "{}";
  let inferBody = "{ return ::apc::inferPool(getOperation(), types); }";
  let ruleBody = "{ return ::apc::poolRule(getOperation(), " # form # "); }";
  let evaluates = 1;
  let local = "::apc::localizePool(local);";
}

def Apc_MaxPoolOp : Apc_Pool<"max_pool", ["MaxPool"]> {
  let summary = "The maximum of each window, and where it stands in the flattened operand";
  let arguments = (ins Apc_Tensor:$X, DefaultValuedAttr<StrAttr, "\"NOTSET\"">:$auto_pad,
                       DefaultValuedAttr<I64Attr, "0">:$ceil_mode, OptionalAttr<DenseI64ArrayAttr>:$dilations,
                       DenseI64ArrayAttr:$kernel_shape, OptionalAttr<DenseI64ArrayAttr>:$pads,
                       DefaultValuedAttr<I64Attr, "0">:$storage_order, OptionalAttr<DenseI64ArrayAttr>:$strides);
  let types = "float|byte";
  let results = (outs Apc_Tensor:$Y, Apc_Optional:$Indices);
  let form = "{::apc::Combiner::Max}";
  let gradient = "::apc::differentiateMaxPool(g);";
}

def Apc_AveragePoolOp : Apc_Pool<"average_pool", ["AveragePool"]> {
  let summary = "The mean of each window";
  let description = [{ Where windows are parts of those of `whole_kernel`, the op makes the part of each mean that sums to it. }];
  let arguments = (ins Apc_Tensor:$X, DefaultValuedAttr<StrAttr, "\"NOTSET\"">:$auto_pad,
                       DefaultValuedAttr<I64Attr, "0">:$ceil_mode, DefaultValuedAttr<I64Attr, "0">:$count_include_pad,
                       OptionalAttr<DenseI64ArrayAttr>:$dilations, DenseI64ArrayAttr:$kernel_shape,
                       OptionalAttr<DenseI64ArrayAttr>:$pads, OptionalAttr<DenseI64ArrayAttr>:$strides,
                       OptionalAttr<DenseI64ArrayAttr>:$whole_kernel);
  let types = "float";
  let results = (outs Apc_Tensor:$Y);
  let form = "{::apc::Combiner::Sum}";
  let gradient = "::apc::differentiateAveragePool(g);";
}

def Apc_LpPoolOp : Apc_Pool<"lp_pool", ["LpPool"]> {
  let summary = "The p-norm of each window";
  let arguments = (ins Apc_Tensor:$X, DefaultValuedAttr<StrAttr, "\"NOTSET\"">:$auto_pad,
                       DefaultValuedAttr<I64Attr, "0">:$ceil_mode, OptionalAttr<DenseI64ArrayAttr>:$dilations,
                       DenseI64ArrayAttr:$kernel_shape, DefaultValuedAttr<I64Attr, "2">:$p,
                       OptionalAttr<DenseI64ArrayAttr>:$pads, OptionalAttr<DenseI64ArrayAttr>:$strides);
  let types = "float";
  let results = (outs Apc_Tensor:$Y);
  let form = "{.mayCutWindow = false}";
  let gradient = "::apc::differentiateLpPool(g);";
}

// The whole of every spatial dim at once: [n, c, h, w] -> [n, c, 1, 1].
class Apc_GlobalPool<string mnemonic, list<string> onnx> : Apc_Op<mnemonic, onnx> {
  let arguments = (ins Apc_Tensor:$X);
  let types = "float";
  let results = (outs Apc_Tensor:$Y);
  // A C++ expression of type PoolForm.
  string form = "{}";
  let inferBody = "{ return ::apc::inferGlobalPool(getOperation(), types); }";
  let ruleBody = "{ return ::apc::globalPoolRule(getOperation(), " # form # "); }";
}

def Apc_GlobalAveragePoolOp : Apc_GlobalPool<"global_average_pool", ["GlobalAveragePool"]> {
  let arguments = (ins Apc_Tensor:$X, OptionalAttr<I64Attr>:$count);
  let local = "::apc::localizeGlobalAverage(local);";
  let evaluation = "::apc::evaluateGlobalPool(op, operands, ::apc::Pool::Average, 1, getCount())";
  let form = "{::apc::Combiner::Sum}";
  let gradient = "::apc::differentiateGlobalAverage(g);";
}
def Apc_GlobalMaxPoolOp : Apc_GlobalPool<"global_max_pool", ["GlobalMaxPool"]> {
  let form = "{::apc::Combiner::Max}";
  let gradient = "::apc::differentiateGlobalMax(g);";
  let evaluation = "::apc::evaluateGlobalPool(op, operands, ::apc::Pool::Max, 1)";
}
def Apc_GlobalLpPoolOp : Apc_GlobalPool<"global_lp_pool", ["GlobalLpPool"]> {
  let arguments = (ins Apc_Tensor:$X, DefaultValuedAttr<I64Attr, "2">:$p);
  let form = "{.mayCutWindow = false}";
  let gradient = "::apc::differentiateGlobalLp(g);";
  let evaluation = "::apc::evaluateGlobalPool(op, operands, ::apc::Pool::Norm, getP())";
}

// Gradients of a convolution, with its pads written out: those of its data [n, groups * c, ...] (`data_shape` in space) and weights.
class Apc_ConvolutionGradient<string mnemonic> : Apc_Op<mnemonic, []> {
  let types = "T: float, T";
  let inferBody = "{ return ::apc::inferConvolutionGradient(getOperation(), types); }";
  let ruleBody = "{ return ::apc::convolutionGradientRule(getOperation()); }";
  let evaluates = 1;
  let local = "::apc::localizeConvolutionGradient(local);";
}
def Apc_ConvInputGradOp : Apc_ConvolutionGradient<"conv_input_grad"> {
  let summary = "The gradient of a convolution for its data: what arrives, convolved the other way round";
  let arguments = (ins Apc_Tensor:$dY, Apc_Tensor:$W, DenseI64ArrayAttr:$data_shape, OptionalAttr<DenseI64ArrayAttr>:$dilations,
                       DefaultValuedAttr<I64Attr, "1">:$group, OptionalAttr<DenseI64ArrayAttr>:$pads, OptionalAttr<DenseI64ArrayAttr>:$strides);
  let results = (outs Apc_Tensor:$dX);
}
def Apc_ConvWeightGradOp : Apc_ConvolutionGradient<"conv_weight_grad"> {
  let summary = "The gradient of a convolution for its weights: data times what arrives, summed over batch and windows";
  let arguments = (ins Apc_Tensor:$X, Apc_Tensor:$dY, OptionalAttr<DenseI64ArrayAttr>:$dilations, DefaultValuedAttr<I64Attr, "1">:$group,
                       DenseI64ArrayAttr:$kernel_shape, OptionalAttr<DenseI64ArrayAttr>:$pads, OptionalAttr<DenseI64ArrayAttr>:$strides);
  let results = (outs Apc_Tensor:$dW);
}

// Gradients of pools for their data; windows are as in the pools.
class Apc_PoolGradient<string mnemonic> : Apc_Op<mnemonic, []> {
  let results = (outs Apc_Tensor:$dX);
  let inferBody = "{ return ::apc::inferPoolGradient(getOperation(), types); }";
  let ruleBody = "{ return ::apc::poolGradientRule(getOperation()); }";
  let evaluates = 1;
}
def Apc_MaxPoolGradOp : Apc_PoolGradient<"max_pool_grad"> {
  let summary = "The gradient of each window, at its first maximum; windows that overlap add up";
  let arguments = (ins Apc_Tensor:$dY, Apc_Tensor:$X, DefaultValuedAttr<StrAttr, "\"NOTSET\"">:$auto_pad,
                       DefaultValuedAttr<I64Attr, "0">:$ceil_mode, OptionalAttr<DenseI64ArrayAttr>:$dilations,
                       DenseI64ArrayAttr:$kernel_shape, OptionalAttr<DenseI64ArrayAttr>:$pads, OptionalAttr<DenseI64ArrayAttr>:$strides);
  let types = "T: float, T";
}
def Apc_AveragePoolGradOp : Apc_PoolGradient<"average_pool_grad"> {
  let summary = "The gradient of each window, spread evenly over it; the data are `data_shape` in space";
  let arguments = (ins Apc_Tensor:$dY, DenseI64ArrayAttr:$data_shape, DefaultValuedAttr<StrAttr, "\"NOTSET\"">:$auto_pad,
                       DefaultValuedAttr<I64Attr, "0">:$ceil_mode, DefaultValuedAttr<I64Attr, "0">:$count_include_pad,
                       OptionalAttr<DenseI64ArrayAttr>:$dilations, DenseI64ArrayAttr:$kernel_shape,
                       OptionalAttr<DenseI64ArrayAttr>:$pads, OptionalAttr<DenseI64ArrayAttr>:$strides);
  let types = "float";
  let local = "local.attributes.set(\"data_shape\", local.builder.getDenseI64ArrayAttr(local.resultDims(0).drop_front(2)));";
}

// Operators that pick points of a feature map: the map is whole in space, the points picked are cut freely.
class Apc_Sampling<string mnemonic, list<string> onnx> : Apc_Op<mnemonic, onnx> { let evaluates = 1; }
class Apc_Resizing<string mnemonic, list<string> onnx> : Apc_Sampling<mnemonic, onnx> {
  let inferBody = "{ return ::apc::inferResize(getOperation(), types); }";
  let ruleBody = "{ return ::apc::ruleResize(getOperation()); }";
  let gradient = "return ::apc::differentiateResize(g);";
}

def Apc_MaxUnpoolOp : Apc_Sampling<"max_unpool", ["MaxUnpool"]> {
  let summary = "Puts each maximum back where MaxPool found it, zeros elsewhere";
  let arguments = (ins Apc_Tensor:$X, Apc_Tensor:$I, Apc_Optional:$output_shape, DenseI64ArrayAttr:$kernel_shape,
                       OptionalAttr<DenseI64ArrayAttr>:$pads, OptionalAttr<DenseI64ArrayAttr>:$strides);
  let types = "float, i64, i64";
  let results = (outs Apc_Tensor:$output);
  let differentiates = 1;
}

def Apc_MaxRoiPoolOp : Apc_Op<"max_roi_pool", ["MaxRoiPool"]> {
  let summary = "The maximum of each cell of a grid over each region";
  let arguments = (ins Apc_Tensor:$X, Apc_Tensor:$rois, DenseI64ArrayAttr:$pooled_shape,
                       DefaultValuedAttr<F32Attr, "1.0f">:$spatial_scale);
  let evaluates = 1;
  let types = "T: float, T";
  let results = (outs Apc_Tensor:$Y);
  let inferBody = "{ return ::apc::inferRegions(getOperation(), getPooledShape(), types); }";
  let ruleBody = "{ return ::apc::ruleRegions(getOperation()); }";
  let differentiates = 1;
}

def Apc_RoiAlignOp : Apc_Op<"roi_align", ["RoiAlign"]> {
  let summary = "The mean or maximum of samples in each cell of a grid over each region";
  let arguments = (ins Apc_Tensor:$X, Apc_Tensor:$rois, Apc_Tensor:$batch_indices,
                       DefaultValuedAttr<Apc_OneOf<["half_pixel", "output_half_pixel"]>, "\"half_pixel\"">:$coordinate_transformation_mode,
                       DefaultValuedAttr<Apc_OneOf<["avg", "max"]>, "\"avg\"">:$mode, DefaultValuedAttr<I64Attr, "1">:$output_height,
                       DefaultValuedAttr<I64Attr, "1">:$output_width, DefaultValuedAttr<I64Attr, "0">:$sampling_ratio,
                       DefaultValuedAttr<F32Attr, "1.0f">:$spatial_scale,
                       DefaultValuedAttr<I64Attr, "23">:$opset_version);
  let evaluates = 1;
  let types = "T: float, T, i64";
  let results = (outs Apc_Tensor:$Y);
  let inferBody = "{ return ::apc::inferRegions(getOperation(), {static_cast<int64_t>(getOutputHeight()), "
                  "static_cast<int64_t>(getOutputWidth())}, types); }";
  let ruleBody = "{ return ::apc::ruleRegions(getOperation()); }";
  let differentiates = 1;
}

// Gradients of pools over regions for the map; gradients of several regions add up, and the regions themselves have none.
class Apc_RegionGradient<string mnemonic> : Apc_Op<mnemonic, []> {
  let results = (outs Apc_Tensor:$dX);
  let inferBody = "{ return ::apc::inferRegionGradient(getOperation(), types); }";
  let ruleBody = "{ return ::apc::ruleRegionGradient(getOperation()); }";
  let evaluates = 1;
}
def Apc_MaxRoiPoolGradOp : Apc_RegionGradient<"max_roi_pool_grad"> {
  let summary = "The gradient of each cell, at its first maximum";
  let arguments = (ins Apc_Tensor:$dY, Apc_Tensor:$X, Apc_Tensor:$rois, DefaultValuedAttr<F32Attr, "1.0f">:$spatial_scale);
  let types = "T: float, T, T";
}
def Apc_RoiAlignGradOp : Apc_RegionGradient<"roi_align_grad"> {
  let summary = "The gradient of each cell, shared out among the neighbours of its samples, or at the first of the greatest shares";
  let description = [{ `data_shape` is the map's [n, ...] without its channels. X is read for maxima alone. }];
  let arguments = (ins Apc_Tensor:$dY, Apc_Optional:$X, Apc_Tensor:$rois, Apc_Tensor:$batch_indices, DenseI64ArrayAttr:$data_shape,
                       DefaultValuedAttr<Apc_OneOf<["half_pixel", "output_half_pixel"]>, "\"half_pixel\"">:$coordinate_transformation_mode,
                       DefaultValuedAttr<Apc_OneOf<["avg", "max"]>, "\"avg\"">:$mode, DefaultValuedAttr<I64Attr, "0">:$sampling_ratio,
                       DefaultValuedAttr<F32Attr, "1.0f">:$spatial_scale, DefaultValuedAttr<I64Attr, "23">:$opset_version);
  let types = "T: float, T, T, i64";
}

def Apc_GridSampleOp : Apc_Sampling<"grid_sample", ["GridSample", "com.microsoft.GridSample"]> {
  let summary = "Values of a feature map at the points of a grid";
  let arguments = (ins Apc_Tensor:$X, Apc_Tensor:$grid, DefaultValuedAttr<I64Attr, "0">:$align_corners,
                       DefaultValuedAttr<Apc_OneOf<["linear", "bilinear", "nearest", "cubic", "bicubic"]>, "\"linear\"">:$mode,
                       DefaultValuedAttr<Apc_OneOf<["zeros", "border", "reflection"]>, "\"zeros\"">:$padding_mode);
  let types = "number|bool, float";
  let results = (outs Apc_Tensor:$Y);
  let differentiates = 1;
}

// Gradients of GridSample. With `in_points` the grid counts points of the map, 0 the first, in place of -1 to 1.
class Apc_GridGradient<string mnemonic, dag read, dag shape> : Apc_Sampling<mnemonic, []> {
  let arguments = !con(read, (ins Apc_Tensor:$grid), shape, (ins DefaultValuedAttr<I64Attr, "0">:$align_corners,
      DefaultValuedAttr<Apc_OneOf<["linear", "bilinear", "nearest", "cubic", "bicubic"]>, "\"linear\"">:$mode,
      DefaultValuedAttr<Apc_OneOf<["zeros", "border", "reflection"]>, "\"zeros\"">:$padding_mode,
      DefaultValuedAttr<I64Attr, "0">:$in_points));
}
def Apc_GridSampleInputGradOp : Apc_GridGradient<"grid_sample_input_grad", (ins Apc_Tensor:$dY), (ins DenseI64ArrayAttr:$data_shape)> {
  let summary = "The gradient of each point of the grid, shared out among its neighbours in the map, which is `data_shape` in space";
  let types = "float, float";
  let results = (outs Apc_Tensor:$dX);
}
def Apc_GridSampleGridGradOp : Apc_GridGradient<"grid_sample_grid_grad", (ins Apc_Tensor:$dY, Apc_Tensor:$X), (ins)> {
  let summary = "The gradient of each point of the grid times the slopes of the map there, summed over channels";
  let types = "T: float, T, float";
  let results = (outs Apc_Tensor:$dgrid);
}

def Apc_AffineGridOp : Apc_Sampling<"affine_grid", ["AffineGrid"]> {
  let summary = "The grid of points that an affine map sends a feature map's points to";
  let arguments = (ins Apc_Tensor:$theta, Apc_Tensor:$size, DefaultValuedAttr<I64Attr, "0">:$align_corners);
  let localizes = 1;
  let types = "float, i64";
  let results = (outs Apc_Tensor:$grid);
  let differentiates = 1;
}

def Apc_Col2ImOp : Apc_Sampling<"col2im", ["Col2Im"]> {
  let summary = "Adds up the columns that windows were unfolded to";
  let arguments = (ins Apc_Tensor:$input, Apc_Tensor:$image_shape, Apc_Tensor:$block_shape,
                       OptionalAttr<DenseI64ArrayAttr>:$dilations, OptionalAttr<DenseI64ArrayAttr>:$pads,
                       OptionalAttr<DenseI64ArrayAttr>:$strides);
  let types = "number|bool, i64, i64";
  let results = (outs Apc_Tensor:$output);
  let differentiates = 1;
}
def Apc_Im2ColOp : Apc_Sampling<"im2col", []> {
  let summary = "Unfolds windows to columns: the gradient of Col2Im";
  let arguments = (ins Apc_Tensor:$image, OptionalAttr<DenseI64ArrayAttr>:$dilations, DenseI64ArrayAttr:$kernel_shape,
                       OptionalAttr<DenseI64ArrayAttr>:$pads, OptionalAttr<DenseI64ArrayAttr>:$strides);
  let types = "float";
  let results = (outs Apc_Tensor:$columns);
}

def Apc_ResizeCoordinates : Apc_OneOf<["half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
                                       "tf_half_pixel_for_nn", "tf_crop_and_resize"]>;

def Apc_ResizeOp : Apc_Resizing<"resize", ["Resize"]> {
  let summary = "Interpolates a tensor to other sizes, given as sizes or scales";
  let description = [{ In opset 10 the second operand holds the scales, since opset 11 the third. }];
  let arguments = (ins Apc_Tensor:$X, Apc_Optional:$roi, Apc_Optional:$scales, Apc_Optional:$sizes,
                       DefaultValuedAttr<I64Attr, "0">:$antialias, OptionalAttr<DenseI64ArrayAttr>:$axes,
                       DefaultValuedAttr<Apc_ResizeCoordinates, "\"half_pixel\"">:$coordinate_transformation_mode,
                       DefaultValuedAttr<F32Attr, "-0.75f">:$cubic_coeff_a, DefaultValuedAttr<I64Attr, "0">:$exclude_outside,
                       DefaultValuedAttr<F32Attr, "0.0f">:$extrapolation_value,
                       DefaultValuedAttr<StrAttr, "\"stretch\"">:$keep_aspect_ratio_policy,
                       DefaultValuedAttr<Apc_OneOf<["nearest", "linear", "cubic"]>, "\"nearest\"">:$mode,
                       DefaultValuedAttr<Apc_OneOf<["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]>, "\"round_prefer_floor\"">:$nearest_mode,
                       DefaultValuedAttr<I64Attr, "23">:$opset_version);
  let localizes = 1;
  let types = "number|bool, float, float, i64";
  let results = (outs Apc_Tensor:$Y);
}

def Apc_UpsampleOp : Apc_Resizing<"upsample", ["Upsample"]> {
  let summary = "Repeats or interpolates by scales; what Resize was before opset 10";
  let arguments = (ins Apc_Tensor:$X, Apc_Optional:$scales, OptionalAttr<F32Attr>:$height_scale,
                       OptionalAttr<F32Attr>:$width_scale,
                       DefaultValuedAttr<Apc_OneOf<["nearest", "linear", "bilinear"]>, "\"nearest\"">:$mode);
  let types = "number|bool, float";
  let results = (outs Apc_Tensor:$Y);
}
