// RUN: apc-opt %s --apc-print-rules | FileCheck %s
// The operators that pick or place elements: an embedding table may be cut by rows, other indexed dims are whole.

func.func @gathers(%table: tensor<50257x768xf32>, %ids: tensor<4x16xi64>, %x: tensor<4x16x8xf32>, %tuples: tensor<4x5x1xi64>) {
  // CHECK: apc.gather: v d2, d0 d1 -> d0 d1 d2 {d0=4, d1=16, v=50257 sum, d2=768} linear={0}
  %0 = "apc.gather"(%table, %ids) : (tensor<50257x768xf32>, tensor<4x16xi64>) -> tensor<4x16x768xf32>
  // CHECK: apc.gather: d2 w0 d3, d0 d1 -> d2 d0 d1 d3 {d0=4, d1=16, d2=4, w0=16 !, d3=8} linear={0}
  %1 = "apc.gather"(%x, %ids) {axis = 1 : i64} : (tensor<4x16x8xf32>, tensor<4x16xi64>) -> tensor<4x4x16x8xf32>
  // CHECK: apc.gather: w0 d2, d0 d1 -> d0 d1 d2 {d0=4, d1=16, w0=4 !, d2=16} linear={0}
  %2 = "apc.gather"(%ids, %ids) : (tensor<4x16xi64>, tensor<4x16xi64>) -> tensor<4x16x16xi64>
  // CHECK: apc.gather_elements: d0 w0, d0 d1 -> d0 d1 {d0=4, d1=16, w0=16 !} linear={0}
  %3 = "apc.gather_elements"(%ids, %ids) {axis = 1 : i64} : (tensor<4x16xi64>, tensor<4x16xi64>) -> tensor<4x16xi64>
  // CHECK: apc.gather_nd: d0 w1 d2, d0 d1 w0 -> d0 d1 d2 {d0=4, d1=5, w0=1 !, w1=16 !, d2=8} linear={0}
  %4 = "apc.gather_nd"(%x, %tuples) {batch_dims = 1 : i64} : (tensor<4x16x8xf32>, tensor<4x5x1xi64>) -> tensor<4x5x8xf32>
  return
}

func.func @scatters(%x: tensor<4x16x8xf32>, %part: tensor<4x3x8xi64>, %rows: tensor<5x2xi64>, %at: tensor<4xi64>) {
  %updates = apc.parameter "updates" "empty" : tensor<4x3x8xf32>
  %slices = apc.parameter "slices" "empty" : tensor<5x8xf32>
  // CHECK: apc.scatter_elements: d0 w0 d1, d0 w1 d1, d0 w1 d1 -> d0 w0 d1 {d0=4, w0=16 !, w1=3 !, d1=8} linear={0 2}
  %0 = "apc.scatter_elements"(%x, %part, %updates) {axis = 1 : i64} : (tensor<4x16x8xf32>, tensor<4x3x8xi64>, tensor<4x3x8xf32>) -> tensor<4x16x8xf32>
  // CHECK: apc.scatter_elements: d0 w0 w2, d0 w1 w3, d0 w1 w3 -> d0 w0 w2 {d0=4, w0=16 !, w1=3 !, w2=8 !, w3=8 !}
  %1 = "apc.scatter_elements"(%x, %part, %updates) {axis = 2 : i64, reduction = "max"} : (tensor<4x16x8xf32>, tensor<4x3x8xi64>, tensor<4x3x8xf32>) -> tensor<4x16x8xf32>
  // CHECK: apc.scatter_nd: w2 w3 d0, w0 w1, w0 d0 -> w2 w3 d0 {w0=5 !, w1=2 !, w2=4 !, w3=16 !, d0=8} linear={0 2}
  %2 = "apc.scatter_nd"(%x, %rows, %slices) {reduction = "add"} : (tensor<4x16x8xf32>, tensor<5x2xi64>, tensor<5x8xf32>) -> tensor<4x16x8xf32>
  // CHECK: apc.tensor_scatter: d0 w0 d1, d0 w1 d1, d0 -> d0 w0 d1 {d0=4, w0=16 !, w1=3 !, d1=8} linear={0 1}
  %3 = "apc.tensor_scatter"(%x, %updates, %at) : (tensor<4x16x8xf32>, tensor<4x3x8xf32>, tensor<4xi64>) -> tensor<4x16x8xf32>
  return
}

func.func @choices(%ids: tensor<4x16xi64>, %onoff: tensor<2xf32>, %x: tensor<4x16x16xf32>) {
  %none = apc.none
  %depth = apc.constant dense<10> : tensor<i64>
  // CHECK: apc.one_hot: d0 d1, , w1 -> d0 w0 d1 {d0=4, d1=16, w0=10 !, w1=2 !}
  %0 = "apc.one_hot"(%ids, %depth, %onoff) {axis = 1 : i64} : (tensor<4x16xi64>, tensor<i64>, tensor<2xf32>) -> tensor<4x10x16xf32>
  // CHECK: apc.trilu: d0 w0 w1, _ -> d0 w0 w1 {d0=4, w0=16 !, w1=16 !} linear={0}
  %1 = "apc.trilu"(%x, %none) {upper = 0 : i64} : (tensor<4x16x16xf32>, none) -> tensor<4x16x16xf32>
  %condition = apc.constant dense<[false, true, true, false]> : tensor<4xi1>
  // CHECK: apc.compress: w0 d0 d1, w2 -> w1 d0 d1 {w0=4 !, d0=16, d1=16, w1=2 !, w2=4 !} linear={0}
  %2 = "apc.compress"(%x, %condition) {axis = 0 : i64} : (tensor<4x16x16xf32>, tensor<4xi1>) -> tensor<2x16x16xf32>
  // CHECK: apc.non_zero: w0 -> w1 w2 {w0=4 !, w1=1 !, w2=2 !}
  %3 = "apc.non_zero"(%condition) : (tensor<4xi1>) -> tensor<1x2xi64>
  %list = apc.constant dense<[2, 1, 2, 5]> : tensor<4xi64>
  // CHECK: apc.unique: w0 -> w1, _, w2, _ {w0=4 !, w1=3 !, w2=4 !}
  %4:4 = "apc.unique"(%list) : (tensor<4xi64>) -> (tensor<3xi64>, none, tensor<4xi64>, none)
  return
}

func.func @tables(%x: tensor<6x3xf32>, %y: tensor<2xi64>, %row: tensor<3xf32>, %tokens: tensor<6x5xi64>) {
  // CHECK: apc.array_feature_extractor: d0 w0, d1 -> d0 d1 {d0=6, w0=3 !, d1=2} linear={0}
  %0 = "apc.array_feature_extractor"(%x, %y) : (tensor<6x3xf32>, tensor<2xi64>) -> tensor<6x2xf32>
  // CHECK: apc.array_feature_extractor: w0, d0 -> 1 d0 {w0=3 !, d0=2} linear={0}
  %1 = "apc.array_feature_extractor"(%row, %y) : (tensor<3xf32>, tensor<2xi64>) -> tensor<1x2xf32>
  // CHECK: apc.tf_idf_vectorizer: d0 w0 -> d0 w1 {d0=6, w0=5 !, w1=4 !}
  %2 = "apc.tf_idf_vectorizer"(%tokens) {max_gram_length = 2 : i64, max_skip_count = 0 : i64, min_gram_length = 1 : i64, mode = "TF",
       ngram_counts = array<i64: 0, 2>, ngram_indexes = array<i64: 0, 1, 3>, pool_int64s = array<i64: 7, 8, 7, 8>} : (tensor<6x5xi64>) -> tensor<6x4xf32>
  // CHECK: apc.tree_ensemble: d0 w0 -> d0 w1 {d0=6, w0=3 !, w1=2 !}
  %3 = "apc.tree_ensemble"(%x) {n_targets = 2 : i64, leaf_targetids = array<i64: 0, 1>, leaf_weights = dense<[1.0, 2.0]> : tensor<2xf32>,
       nodes_falseleafs = array<i64: 1>, nodes_falsenodeids = array<i64: 1>, nodes_featureids = array<i64: 2>, nodes_modes = dense<0> : tensor<1xui8>,
       nodes_splits = dense<0.5> : tensor<1xf32>, nodes_trueleafs = array<i64: 1>, nodes_truenodeids = array<i64: 0>, tree_roots = array<i64: 0>} : (tensor<6x3xf32>) -> tensor<6x2xf32>
  // CHECK: apc.label_encoder: b0 b1 -> b0 b1 {b0=6, b1=5} flops=4{{$}}
  %label = "apc.label_encoder"(%tokens) {keys_int64s = array<i64: 7, 8>, values_floats = array<f32: 0.5, 2.0>} : (tensor<6x5xi64>) -> tensor<6x5xf32>
  %none = apc.none
  %boxes = apc.constant dense<[[[0.0, 0.0, 1.0, 1.0], [2.0, 2.0, 3.0, 3.0]]]> : tensor<1x2x4xf32>
  %scores = apc.constant dense<[[[0.5, 0.25]]]> : tensor<1x1x2xf32>
  %all = apc.constant dense<9> : tensor<1xi64>
  // CHECK: apc.non_max_suppression: w0 w1 w2, w3 w4 w5, w6, _, _ -> w7 w8 {w0=1 !, w1=2 !, w2=4 !, w3=1 !, w4=1 !, w5=2 !, w6=1 !, w7=2 !, w8=3 !}
  %4 = "apc.non_max_suppression"(%boxes, %scores, %all, %none, %none) : (tensor<1x2x4xf32>, tensor<1x1x2xf32>, tensor<1xi64>, none, none) -> tensor<2x3xi64>
  return
}

// Gradients sum over the dims of indices; rows of a table may be cut.
func.func @gradients(%dy: tensor<4x16x768xf32>, %ids: tensor<4x16xi64>, %part: tensor<4x5x8xf32>, %tuples: tensor<4x5x1xi64>) {
  // CHECK: apc.gather_grad: i0 i1 d1, i0 i1 -> d0 d1 {i0=4 sum, i1=16 sum, d0=50257, d1=768} linear={0}
  %0 = "apc.gather_grad"(%dy, %ids) {shape = array<i64: 50257, 768>} : (tensor<4x16x768xf32>, tensor<4x16xi64>) -> tensor<50257x768xf32>
  // CHECK: apc.gather_nd_grad: d0 i1 d1, d0 i1 w0 -> d0 w1 d1 {d0=4, i1=5 sum, w0=1 !, w1=16 !, d1=8} linear={0}
  %1 = "apc.gather_nd_grad"(%part, %tuples) {batch_dims = 1 : i64, shape = array<i64: 4, 16, 8>} : (tensor<4x5x8xf32>, tensor<4x5x1xi64>) -> tensor<4x16x8xf32>
  return
}
