// RUN: apc-opt %s --split-input-file --verify-diagnostics
// Tables in attributes that point nowhere, and tensors of an optimizer that do not belong together, are errors at the op.

func.func @leaf(%x: tensor<6x3xf32>) {
  // expected-error @below {{node 0 leads to leaf 2, which is not there}}
  %0 = "apc.tree_ensemble"(%x) {leaf_targetids = array<i64: 0, 0>, leaf_weights = dense<1.0> : tensor<2xf32>, nodes_falseleafs = array<i64: 1>,
       nodes_falsenodeids = array<i64: 2>, nodes_featureids = array<i64: 2>, nodes_modes = dense<0> : tensor<1xui8>, nodes_splits = dense<0.5> : tensor<1xf32>,
       nodes_trueleafs = array<i64: 1>, nodes_truenodeids = array<i64: 0>, tree_roots = array<i64: 0>} : (tensor<6x3xf32>) -> tensor<6x1xf32>
  return
}

// -----

func.func @feature(%x: tensor<6x3xf32>) {
  // expected-error @below {{node 0 tests feature 3 of 3 in mode 0}}
  %0 = "apc.tree_ensemble"(%x) {leaf_targetids = array<i64: 0>, leaf_weights = dense<1.0> : tensor<1xf32>, nodes_falseleafs = array<i64: 1>,
       nodes_falsenodeids = array<i64: 0>, nodes_featureids = array<i64: 3>, nodes_modes = dense<0> : tensor<1xui8>, nodes_splits = dense<0.5> : tensor<1xf32>,
       nodes_trueleafs = array<i64: 1>, nodes_truenodeids = array<i64: 0>, tree_roots = array<i64: 0>} : (tensor<6x3xf32>) -> tensor<6x1xf32>
  return
}

// -----

func.func @grams(%x: tensor<6x3xi64>) {
  // expected-error @below {{cuts a pool of 4 numbers at 1, which leaves no whole n-grams of 2}}
  %0 = "apc.tf_idf_vectorizer"(%x) {max_gram_length = 2 : i64, max_skip_count = 0 : i64, min_gram_length = 1 : i64, mode = "TF",
       ngram_counts = array<i64: 0, 1>, ngram_indexes = array<i64: 0, 1>, pool_int64s = array<i64: 7, 8, 7, 8>} : (tensor<6x3xi64>) -> tensor<6x2xf32>
  return
}

// -----

func.func @boxes(%boxes: tensor<1x2x4xf32>, %scores: tensor<1x1x2xf32>) {
  %none = apc.none
  // expected-error @below {{operand 'boxes' decides a shape, the number of results, by its values, so they must follow from constants, unless 'bound' gives the number}}
  %0 = "apc.non_max_suppression"(%boxes, %scores, %none, %none, %none) : (tensor<1x2x4xf32>, tensor<1x1x2xf32>, none, none, none) -> tensor<0x3xi64>
  return
}

// -----

func.func @pairs(%r: tensor<f32>, %t: tensor<i64>, %x: tensor<6xf32>, %g: tensor<5xf32>) {
  // expected-error @below {{operand #3 has type 'tensor<5xf32>', but belongs to a tensor of type 'tensor<6xf32>'}}
  %0:2 = "apc.adagrad"(%r, %t, %x, %g, %x) : (tensor<f32>, tensor<i64>, tensor<6xf32>, tensor<5xf32>, tensor<6xf32>) -> (tensor<6xf32>, tensor<6xf32>)
  return
}

// -----

func.func @odd(%r: tensor<f32>, %t: tensor<i64>, %x: tensor<6xf32>) {
  // expected-error @below {{has 2 tensors behind 'R' and 'T'; 3 for each tensor that is updated are needed}}
  %0:2 = "apc.adagrad"(%r, %t, %x, %x) : (tensor<f32>, tensor<i64>, tensor<6xf32>, tensor<6xf32>) -> (tensor<6xf32>, tensor<6xf32>)
  return
}

// -----

func.func @begins(%x: tensor<6x3xf32>) {
  // expected-error @below {{attribute 'leaf_begins' counts up from 0 to at most 1 in order, or is absent}}
  %0 = "apc.tree_ensemble"(%x) {leaf_targetids = array<i64: 0>, leaf_weights = dense<1.0> : tensor<1xf32>, nodes_falseleafs = array<i64: 1>,
       nodes_falsenodeids = array<i64: 0>, nodes_featureids = array<i64: 0>, nodes_modes = dense<0> : tensor<1xui8>, nodes_splits = dense<0.5> : tensor<1xf32>,
       nodes_trueleafs = array<i64: 1>, nodes_truenodeids = array<i64: 0>, tree_roots = array<i64: 0>, leaf_begins = array<i64: 2>} : (tensor<6x3xf32>) -> tensor<6x1xf32>
  return
}

// -----

func.func @keys(%x: tensor<6xi64>) {
  // expected-error @below {{operand 'X' holds 'i64' and the keys are 'f32'; keys of its kind are needed}}
  %0 = "apc.label_encoder"(%x) {keys_floats = array<f32: 1.0>, values_int64s = array<i64: 7>} : (tensor<6xi64>) -> tensor<6xi64>
  return
}

// -----

func.func @values(%x: tensor<6xi64>) {
  // expected-error @below {{has 1 keys and 2 values; as many are needed}}
  %0 = "apc.label_encoder"(%x) {keys_int64s = array<i64: 1>, values_int64s = array<i64: 7, 8>} : (tensor<6xi64>) -> tensor<6xi64>
  return
}
