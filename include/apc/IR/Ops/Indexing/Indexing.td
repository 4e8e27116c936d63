// Operators that pick or place elements by index.
include "apc/IR/Base.td"

// Shapes, rules and evaluation are written in C++ (lib/IR/Ops/Indexing), since axes decide them.
class Apc_Indexing<string mnemonic, list<string> onnx> : Apc_Op<mnemonic, onnx> { let evaluates = 1; }

// A piece of the table holds the slices from `offsets` on, out of `size`; all other slices count as zeros.
def Apc_GatherOp : Apc_Indexing<"gather", ["Gather"]> {
  let summary = "Slices of data along axis, one for each index; an embedding when data is a table of floats";
  let arguments = (ins Apc_Tensor:$data, Apc_Tensor:$indices, DefaultValuedAttr<I64Attr, "0">:$axis,
                       Apc_Offsets:$offsets, OptionalAttr<I64Attr>:$size);
  let types = "any, index";
  let results = (outs Apc_Tensor:$output);
  let localizes = 1;
  let differentiates = 1;
}

// The gradient of a table. A device that holds the rows from `offsets` on, out of `size`, adds up what belongs to its rows alone.
def Apc_GatherGradOp : Apc_Indexing<"gather_grad", []> {
  let summary = "A tensor of `shape` in which each slice along axis is the sum of the slices of dY whose index names it";
  let arguments = (ins Apc_Tensor:$dY, Apc_Tensor:$indices, DenseI64ArrayAttr:$shape, DefaultValuedAttr<I64Attr, "0">:$axis,
                       Apc_Offsets:$offsets, OptionalAttr<I64Attr>:$size);
  let types = "float, index";
  let results = (outs Apc_Tensor:$dX);
  let localizes = 1;
}

def Apc_GatherElementsOp : Apc_Indexing<"gather_elements", ["GatherElements"]> {
  let summary = "One element of data for each index, which replaces the place along axis";
  let arguments = (ins Apc_Tensor:$data, Apc_Tensor:$indices, DefaultValuedAttr<I64Attr, "0">:$axis);
  let types = "any, index";
  let results = (outs Apc_Tensor:$output);
  let differentiates = 1;
}

def Apc_GatherNDOp : Apc_Indexing<"gather_nd", ["GatherND", "com.microsoft.GatherND"]> {
  let summary = "Slices of data, each at a tuple of indices";
  let arguments = (ins Apc_Tensor:$data, Apc_Tensor:$indices, DefaultValuedAttr<I64Attr, "0">:$batch_dims);
  let types = "any, index";
  let results = (outs Apc_Tensor:$output);
  let differentiates = 1;
}

def Apc_GatherNDGradOp : Apc_Indexing<"gather_nd_grad", []> {
  let summary = "A tensor of `shape` in which each slice is the sum of the slices of dY whose tuple of indices names it";
  let arguments = (ins Apc_Tensor:$dY, Apc_Tensor:$indices, DenseI64ArrayAttr:$shape, DefaultValuedAttr<I64Attr, "0">:$batch_dims);
  let types = "float, index";
  let results = (outs Apc_Tensor:$dX);
  let local = "::apc::setLocalShape(local);";
}

// Places `updates` into a copy of `data`; `reduction` says how they combine with its elements.
class Apc_Scatter<string mnemonic, list<string> onnx> : Apc_Indexing<mnemonic, onnx> {
  let results = (outs Apc_Tensor:$output);
}

def Apc_ScatterElementsOp : Apc_Scatter<"scatter_elements", ["ScatterElements", "Scatter"]> {
  let types = "T: any, index, T";
  let summary = "Data with each update at its own place but for the index along axis";
  let arguments = (ins Apc_Tensor:$data, Apc_Tensor:$indices, Apc_Tensor:$updates,
                       DefaultValuedAttr<I64Attr, "0">:$axis, DefaultValuedAttr<StrAttr, "\"none\"">:$reduction);
  let differentiates = 1;
}

def Apc_ScatterNDOp : Apc_Scatter<"scatter_nd", ["ScatterND"]> {
  let types = "T: any, i64, T";
  let summary = "Data with each slice of updates at a tuple of indices";
  let arguments = (ins Apc_Tensor:$data, Apc_Tensor:$indices, Apc_Tensor:$updates,
                       DefaultValuedAttr<StrAttr, "\"none\"">:$reduction);
  let differentiates = 1;
}

def Apc_TensorScatterOp : Apc_Scatter<"tensor_scatter", ["TensorScatter"]> {
  let types = "T: any, T, i64";
  let summary = "A cache with a run of entries along axis replaced, from write_indices in each batch";
  let arguments = (ins Apc_Tensor:$past_cache, Apc_Tensor:$update, Apc_Optional:$write_indices,
                       DefaultValuedAttr<I64Attr, "-2">:$axis, DefaultValuedAttr<StrAttr, "\"linear\"">:$mode);
  let differentiates = 1;
}

def Apc_OneHotOp : Apc_Indexing<"one_hot", ["OneHot"]> {
  let summary = "A new dim of size depth that holds values[1] at the index and values[0] elsewhere";
  let arguments = (ins Apc_Tensor:$indices, Apc_Tensor:$depth, Apc_Tensor:$values,
                       DefaultValuedAttr<I64Attr, "-1">:$axis);
  let types = "number, number, any";
  let results = (outs Apc_Tensor:$output);
  let gradient = noGradient;
}

def Apc_TriluOp : Apc_Indexing<"trilu", ["Trilu", "com.microsoft.Trilu"]> {
  let summary = "The upper or lower triangle of matrices, from diagonal k; 0 elsewhere";
  let arguments = (ins Apc_Tensor:$input, Apc_Optional:$k, DefaultValuedAttr<I64Attr, "1">:$upper);
  let types = "number|bool, i64";
  let results = (outs Apc_Tensor:$output);
  let differentiates = 1;
}

// Results whose number depends on values. `bound` is that number where the values are not constants: results behind it are cut off, and
// missing ones are zeros.

def Apc_CompressOp : Apc_Indexing<"compress", ["Compress"]> {
  let summary = "The slices along axis where the condition is true";
  let arguments = (ins Apc_Tensor:$input, Apc_Tensor:$condition, OptionalAttr<I64Attr>:$axis, OptionalAttr<I64Attr>:$bound);
  let types = "any, bool";
  let results = (outs Apc_Tensor:$output);
  let differentiates = 1;
}

def Apc_NonZeroOp : Apc_Indexing<"non_zero", ["NonZero"]> {
  let summary = "The indices of the elements that are not 0, a row for each dim";
  let arguments = (ins Apc_Tensor:$X, OptionalAttr<I64Attr>:$bound);
  let types = "number|bool";
  let results = (outs Apc_Tensor:$Y);
  let gradient = noGradient;
}

def Apc_UniqueOp : Apc_Indexing<"unique", ["Unique"]> {
  let summary = "The distinct elements, or the distinct slices along axis";
  let arguments = (ins Apc_Tensor:$X, OptionalAttr<I64Attr>:$axis, DefaultValuedAttr<I64Attr, "1">:$sorted, OptionalAttr<I64Attr>:$bound);
  let types = "any";
  let results = (outs Apc_Tensor:$Y, Apc_Optional:$indices, Apc_Optional:$inverse_indices, Apc_Optional:$counts);
}

def Apc_NonMaxSuppressionOp : Apc_Indexing<"non_max_suppression", ["NonMaxSuppression"]> {
  let summary = "Boxes by score, class by class, without those that overlap a better one: [taken, 3] of batch, class, box";
  let arguments = (ins Apc_Tensor:$boxes, Apc_Tensor:$scores, Apc_Optional:$max_output_boxes_per_class, Apc_Optional:$iou_threshold,
                       Apc_Optional:$score_threshold, DefaultValuedAttr<I64Attr, "0">:$center_point_box, OptionalAttr<I64Attr>:$bound);
  let types = "f32, f32, i64, f32, f32";
  let results = (outs Apc_Tensor:$selected_indices);
  let gradient = noGradient;
}

// Look-ups in tables that stand in attributes: rows of X [n, features] are independent, and features are whole.

def Apc_ArrayFeatureExtractorOp : Apc_Indexing<"array_feature_extractor", ["ai.onnx.ml.ArrayFeatureExtractor"]> {
  let summary = "The elements of the last dim at the indices Y";
  let arguments = (ins Apc_Tensor:$X, Apc_Tensor:$Y);
  let types = "number, i64";
  let results = (outs Apc_Tensor:$Z);
  let differentiates = 1;
}

def Apc_TfIdfVectorizerOp : Apc_Indexing<"tf_idf_vectorizer", ["TfIdfVectorizer"]> {
  let summary = "How often each n-gram of a pool occurs in a list of numbers, skips between its members allowed";
  let arguments = (ins Apc_Tensor:$X, I64Attr:$max_gram_length, I64Attr:$max_skip_count, I64Attr:$min_gram_length, StrAttr:$mode,
                       DenseI64ArrayAttr:$ngram_counts, DenseI64ArrayAttr:$ngram_indexes, DenseI64ArrayAttr:$pool_int64s,
                       OptionalAttr<DenseF32ArrayAttr>:$weights);
  let types = "index";
  let results = (outs Apc_Tensor:$Y);
  let gradient = noGradient;
}

def Apc_LabelEncoderOp : Apc_Indexing<"label_encoder", ["ai.onnx.ml.LabelEncoder"]> {
  let summary = "For each element the value that stands where the key equal to it stands, or the default; the first of equal keys counts";
  let arguments = (ins Apc_Tensor:$X, DefaultValuedAttr<F32Attr, "-0.0f">:$default_float, DefaultValuedAttr<I64Attr, "-1">:$default_int64,
                       OptionalAttr<StrAttr>:$default_string, OptionalAttr<ElementsAttr>:$default_tensor,
                       OptionalAttr<DenseF32ArrayAttr>:$keys_floats, OptionalAttr<DenseI64ArrayAttr>:$keys_int64s,
                       OptionalAttr<ArrayAttr>:$keys_strings, OptionalAttr<ElementsAttr>:$keys_tensor,
                       OptionalAttr<DenseF32ArrayAttr>:$values_floats, OptionalAttr<DenseI64ArrayAttr>:$values_int64s,
                       OptionalAttr<ArrayAttr>:$values_strings, OptionalAttr<ElementsAttr>:$values_tensor);
  let types = "i16|i32|i64|f32|f64";
  let results = (outs Apc_Tensor:$Y);
  let rule = "... -> ...";
  let element = "";
  let flops = "4";
  let gradient = noGradient;
}

// Leaf i has one target and weight, or those from leaf_begins[i] to leaf_begins[i + 1]: trees of several results share their tests.
def Apc_TreeEnsembleOp : Apc_Indexing<"tree_ensemble", ["ai.onnx.ml.TreeEnsemble"]> {
  let summary = "The leaves that a row of features reaches in decision trees, put together target by target";
  let arguments = (ins Apc_Tensor:$X, DefaultValuedAttr<I64Attr, "1">:$aggregate_function, DenseI64ArrayAttr:$leaf_targetids,
                       ElementsAttr:$leaf_weights, OptionalAttr<ElementsAttr>:$membership_values, OptionalAttr<I64Attr>:$n_targets,
                       DenseI64ArrayAttr:$nodes_falseleafs, DenseI64ArrayAttr:$nodes_falsenodeids, DenseI64ArrayAttr:$nodes_featureids,
                       OptionalAttr<ElementsAttr>:$nodes_hitrates, OptionalAttr<DenseI64ArrayAttr>:$nodes_missing_value_tracks_true,
                       ElementsAttr:$nodes_modes, ElementsAttr:$nodes_splits, DenseI64ArrayAttr:$nodes_trueleafs,
                       DenseI64ArrayAttr:$nodes_truenodeids, DefaultValuedAttr<I64Attr, "0">:$post_transform, DenseI64ArrayAttr:$tree_roots,
                       OptionalAttr<DenseI64ArrayAttr>:$leaf_begins);
  let types = "float";
  let results = (outs Apc_Tensor:$Y);
  let gradient = noGradient;
}
