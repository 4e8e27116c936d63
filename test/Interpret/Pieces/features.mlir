// Features through tables, one op in each function.

func.func @labels(%x: tensor<3x5xi64> {test.below = 4 : i64}) -> tensor<3x5xf32> {
  %0 = "apc.label_encoder"(%x) {keys_int64s = array<i64: 2, 0>, values_floats = array<f32: 0.5, 0.25>} : (tensor<3x5xi64>) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}
func.func @trees(%x: tensor<7x2xf32>) -> tensor<7x3xf32> {
  %0 = "apc.tree_ensemble"(%x) {n_targets = 3 : i64, leaf_targetids = array<i64: 0, 1, 2, 2>, leaf_weights = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>,
       leaf_begins = array<i64: 0, 3>, nodes_falseleafs = array<i64: 1>, nodes_falsenodeids = array<i64: 1>, nodes_featureids = array<i64: 1>,
       nodes_modes = dense<0> : tensor<1xui8>, nodes_splits = dense<0.125> : tensor<1xf32>, nodes_trueleafs = array<i64: 1>,
       nodes_truenodeids = array<i64: 0>, tree_roots = array<i64: 0>} : (tensor<7x2xf32>) -> tensor<7x3xf32>
  return %0 : tensor<7x3xf32>
}
func.func @probit(%x: tensor<3x5xf32> {test.positive}) -> tensor<3x5xf32> {
  %0 = "apc.probit"(%x) : (tensor<3x5xf32>) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}
