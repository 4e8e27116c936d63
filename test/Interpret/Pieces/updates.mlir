// Steps of optimizers on parameters and states, whose place their results take, one in each function.

func.func @step_of_sgd(%g: tensor<3x5xf32>, %rate: tensor<f32>) -> (tensor<3x5xf32> {apc.replaces = "p", apc.tie = "p"}) {
  %p = apc.parameter "p" "initializer" : tensor<3x5xf32>
  %none = apc.none
  %step = apc.constant dense<3> : tensor<i64>
  %0, %made = "apc.sgd_update"(%p, %g, %none, %rate, %step, %none) {weight_decay = 0.1 : f64} : (tensor<3x5xf32>, tensor<3x5xf32>, none, tensor<f32>, tensor<i64>, none) -> (tensor<3x5xf32>, none)
  return %0 : tensor<3x5xf32>
}
func.func @step_of_master(%g: tensor<3x5xf16>, %rate: tensor<f32>, %scale: tensor<f32>) -> (tensor<3x5xf16> {apc.replaces = "p", apc.tie = "p"}, tensor<3x5xf32> {apc.replaces = "master", apc.tie = "master"}) {
  %p = apc.parameter "p" "initializer" : tensor<3x5xf16>
  %master = apc.parameter "master" "initializer" : tensor<3x5xf32>
  %step = apc.constant dense<3> : tensor<i64>
  %0, %made = "apc.sgd_update"(%p, %g, %master, %rate, %step, %scale) : (tensor<3x5xf16>, tensor<3x5xf16>, tensor<3x5xf32>, tensor<f32>, tensor<i64>, tensor<f32>) -> (tensor<3x5xf16>, tensor<3x5xf32>)
  return %0, %made : tensor<3x5xf16>, tensor<3x5xf32>
}
func.func @step_of_momentum(%g: tensor<3x5xf32>, %rate: tensor<f32>, %scale: tensor<f32>) -> (tensor<3x5xf32> {apc.replaces = "p", apc.tie = "p"}, tensor<3x5xf32> {apc.replaces = "v", apc.tie = "v"}) {
  %p = apc.parameter "p" "initializer" : tensor<3x5xf32>
  %v = apc.parameter "v" "initializer" : tensor<3x5xf32>
  %none = apc.none
  %step = apc.constant dense<1> : tensor<i64>
  %0, %1, %none_ = "apc.momentum_update"(%p, %g, %v, %none, %rate, %step, %scale) {decay = 0.9 : f64, nesterov = 1 : i64} : (tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, none, tensor<f32>, tensor<i64>, tensor<f32>) -> (tensor<3x5xf32>, tensor<3x5xf32>, none)
  return %0, %1 : tensor<3x5xf32>, tensor<3x5xf32>
}
func.func @step_of_adam(%g: tensor<3x4x2xf32>, %rate: tensor<f32>) -> (tensor<3x4x2xf32> {apc.replaces = "p", apc.tie = "p"}, tensor<3x4x2xf32> {apc.replaces = "m", apc.tie = "m"}, tensor<3x4x2xf32> {apc.replaces = "v", apc.tie = "v"}) {
  %p = apc.parameter "p" "initializer" : tensor<3x4x2xf32>
  %m = apc.parameter "m" "initializer" : tensor<3x4x2xf32>
  %v = apc.parameter "v" "initializer" {test.positive} : tensor<3x4x2xf32>
  %none = apc.none
  %step = apc.constant dense<2> : tensor<i64>
  %0, %1, %2, %w = "apc.adam_update"(%p, %g, %m, %v, %none, %rate, %step, %none) {beta1 = 0.9 : f64, beta2 = 0.5 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.1 : f64} : (tensor<3x4x2xf32>, tensor<3x4x2xf32>, tensor<3x4x2xf32>, tensor<3x4x2xf32>, none, tensor<f32>, tensor<i64>, none) -> (tensor<3x4x2xf32>, tensor<3x4x2xf32>, tensor<3x4x2xf32>, none)
  return %0, %1, %2 : tensor<3x4x2xf32>, tensor<3x4x2xf32>, tensor<3x4x2xf32>
}
func.func @step_of_adamw(%g: tensor<5x2xbf16>, %rate: tensor<f32>, %scale: tensor<f32>) -> (tensor<5x2xbf16> {apc.replaces = "p", apc.tie = "p"}, tensor<5x2xf32> {apc.replaces = "m", apc.tie = "m"}, tensor<5x2xf32> {apc.replaces = "v", apc.tie = "v"}, tensor<5x2xf32> {apc.replaces = "master", apc.tie = "master"}) {
  %p = apc.parameter "p" "initializer" : tensor<5x2xbf16>
  %m = apc.parameter "m" "initializer" : tensor<5x2xf32>
  %v = apc.parameter "v" "initializer" {test.positive} : tensor<5x2xf32>
  %master = apc.parameter "master" "initializer" : tensor<5x2xf32>
  %step = apc.constant dense<1> : tensor<i64>
  %0, %1, %2, %w = "apc.adam_update"(%p, %g, %m, %v, %master, %rate, %step, %scale) {beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.1 : f64, decoupled = 1 : i64} : (tensor<5x2xbf16>, tensor<5x2xbf16>, tensor<5x2xf32>, tensor<5x2xf32>, tensor<5x2xf32>, tensor<f32>, tensor<i64>, tensor<f32>) -> (tensor<5x2xbf16>, tensor<5x2xf32>, tensor<5x2xf32>, tensor<5x2xf32>)
  return %0, %1, %2, %w : tensor<5x2xbf16>, tensor<5x2xf32>, tensor<5x2xf32>, tensor<5x2xf32>
}
func.func @step_of_amsgrad(%g: tensor<3x5xbf16>, %rate: tensor<f32>, %scale: tensor<f32>) -> (tensor<3x5xbf16> {apc.replaces = "p", apc.tie = "p"}, tensor<3x5xf32> {apc.replaces = "m", apc.tie = "m"}, tensor<3x5xf32> {apc.replaces = "v", apc.tie = "v"}, tensor<3x5xf32> {apc.replaces = "max", apc.tie = "max"}, tensor<3x5xf32> {apc.replaces = "master", apc.tie = "master"}) {
  %p = apc.parameter "p" "initializer" : tensor<3x5xbf16>
  %m = apc.parameter "m" "initializer" : tensor<3x5xf32>
  %v = apc.parameter "v" "initializer" {test.positive} : tensor<3x5xf32>
  %max = apc.parameter "max" "initializer" {test.positive} : tensor<3x5xf32>
  %master = apc.parameter "master" "initializer" : tensor<3x5xf32>
  %step = apc.constant dense<2> : tensor<i64>
  %0, %1, %2, %3, %w = "apc.amsgrad_update"(%p, %g, %m, %v, %max, %master, %rate, %step, %scale) {beta1 = 0.9 : f64, beta2 = 0.5 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.1 : f64} : (tensor<3x5xbf16>, tensor<3x5xbf16>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<f32>, tensor<i64>, tensor<f32>) -> (tensor<3x5xbf16>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>)
  return %0, %1, %2, %3, %w : tensor<3x5xbf16>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>
}
