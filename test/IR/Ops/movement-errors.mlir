// RUN: apc-opt %s --split-input-file --verify-diagnostics
// Errors stand at the op and name the shapes that do not fit.

func.func @reshape(%x: tensor<4x6xf32>) {
  %shape = apc.constant dense<[5, -1]> : tensor<2xi64>
  // expected-error @below {{shape [5, -1] does not hold the elements of data [4, 6]}}
  %0 = "apc.reshape"(%x, %shape) : (tensor<4x6xf32>, tensor<2xi64>) -> tensor<5x5xf32>
  return
}

// -----

func.func @reshape_unknown(%x: tensor<4x6xf32>, %shape: tensor<2xi64>) {
  // expected-error @below {{operand 'shape' decides a shape, so it must follow from constants and input shapes}}
  %0 = "apc.reshape"(%x, %shape) : (tensor<4x6xf32>, tensor<2xi64>) -> tensor<4x6xf32>
  return
}

// -----

func.func @reshape_twice(%x: tensor<4x6xf32>) {
  %shape = apc.constant dense<[-1, -1]> : tensor<2xi64>
  // expected-error @below {{shape [-1, -1] holds -1 at dim 1; accepted are sizes, 0 and one -1}}
  %0 = "apc.reshape"(%x, %shape) : (tensor<4x6xf32>, tensor<2xi64>) -> tensor<4x6xf32>
  return
}

// -----

func.func @transpose(%x: tensor<4x6xf32>) {
  // expected-error @below {{perm [0, 0] is no permutation of 2 dims}}
  %0 = "apc.transpose"(%x) {perm = array<i64: 0, 0>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @result(%x: tensor<4x6xf32>) {
  // expected-error @below {{result 0 has type 'tensor<4x6xf32>', but 'tensor<6x4xf32>' follows}}
  %0 = "apc.transpose"(%x) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @concat(%x: tensor<4x6xf32>, %y: tensor<5x6xf32>) {
  // expected-error @below {{cannot join [5, 6] to [4, 6] along dim 1; the other dims must be equal}}
  %0 = "apc.concat"(%x, %y) {axis = 1 : i64} : (tensor<4x6xf32>, tensor<5x6xf32>) -> tensor<4x12xf32>
  return
}

// -----

func.func @split(%x: tensor<5xf32>) {
  %sizes = apc.constant dense<[2, 2]> : tensor<2xi64>
  // expected-error @below {{splits dim 0 of [5] into parts [2, 2] for 2 results}}
  %0:2 = "apc.split"(%x, %sizes) : (tensor<5xf32>, tensor<2xi64>) -> (tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

func.func @slice(%x: tensor<5xf32>) {
  %none = apc.none
  %zero = apc.constant dense<0> : tensor<1xi64>
  // expected-error @below {{steps [0] holds 0}}
  %0 = "apc.slice"(%x, %zero, %zero, %none, %zero) : (tensor<5xf32>, tensor<1xi64>, tensor<1xi64>, none, tensor<1xi64>) -> tensor<5xf32>
  return
}

// -----

func.func @axes(%x: tensor<1x1xf32>) {
  %axes = apc.constant dense<[0, -2]> : tensor<2xi64>
  // expected-error @below {{axes [0, -2] names dim 0 twice}}
  %0 = "apc.squeeze"(%x, %axes) : (tensor<1x1xf32>, tensor<2xi64>) -> tensor<1xf32>
  return
}

// -----

func.func @overflow(%x: tensor<4xf32>) {
  %repeats = apc.constant dense<4611686018427387904> : tensor<1xi64>
  // expected-error @below {{gives a result of shape [9223372036854775807], whose size overflows 64 bits}}
  %0 = "apc.tile"(%x, %repeats) : (tensor<4xf32>, tensor<1xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @expand(%x: tensor<1xf32>) {
  %shape = apc.constant dense<[4294967296, 4294967296]> : tensor<2xi64>
  // expected-error @below {{gives a result of shape [4294967296, 4294967296], whose size overflows 64 bits}}
  %0 = "apc.expand"(%x, %shape) : (tensor<1xf32>, tensor<2xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @range() {
  %zero = apc.constant dense<0> : tensor<i64>
  // expected-error @below {{has no end: delta is 0 or not a number, or the range is too long}}
  %0 = "apc.range"(%zero, %zero, %zero) : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<4xi64>
  return
}

// -----

func.func @literal() {
  // expected-error @below {{needs exactly one of value, value_int, value_ints, value_float, value_floats}}
  %0 = "apc.literal"() {value_int = 1 : i64, value_float = 1.0 : f32} : () -> tensor<i64>
  return
}

// -----

func.func @gather(%x: tensor<4x6xf32>, %i: tensor<i64>) {
  // expected-error @below {{axis 2 is outside [-2, 1]}}
  %0 = "apc.gather"(%x, %i) {axis = 2 : i64} : (tensor<4x6xf32>, tensor<i64>) -> tensor<6xf32>
  return
}

// -----

func.func @scatter(%x: tensor<4x6xf32>, %i: tensor<2x1xi64>) {
  // expected-error @below {{updates is [4, 6], but indices [2, 1] into data [4, 6] need [2, 6]}}
  %0 = "apc.scatter_nd"(%x, %i, %x) : (tensor<4x6xf32>, tensor<2x1xi64>, tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @non_zero(%x: tensor<4xf32>) {
  // expected-error @below {{operand 'X' decides a shape, the number of results, by its values, so they must follow from constants, unless 'bound' gives the number}}
  %0 = "apc.non_zero"(%x) : (tensor<4xf32>) -> tensor<1x4xi64>
  return
}

// -----

func.func @mixed(%x: tensor<4xf32>, %y: tensor<4xi64>) {
  // expected-error @below {{holds 'i64', but}}
  %0 = "apc.concat"(%x, %y) {axis = 0 : i64} : (tensor<4xf32>, tensor<4xi64>) -> tensor<8xf32>
  return
}

// -----

func.func @scatter_mixed(%x: tensor<4xf32>, %i: tensor<2xi64>) {
  // expected-error @below {{operand 'updates' holds 'i64', but 'data' holds 'f32'; the types must be equal}}
  %0 = "apc.scatter_elements"(%x, %i, %i) : (tensor<4xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @list(%x: tensor<2x1xf32>) {
  %shape = apc.constant dense<[[2, 8]]> : tensor<1x2xi64>
  // expected-error @below {{operand 'shape' has shape [1, 2]; a list, which has one dim, is needed}}
  %0 = "apc.expand"(%x, %shape) : (tensor<2x1xf32>, tensor<1x2xi64>) -> tensor<2x8xf32>
  return
}

// -----

func.func @parts(%x: tensor<8xf32>) {
  %none = apc.none
  // expected-error @below {{attribute 'num_outputs' is 5 for 4 results}}
  %0:4 = "apc.split"(%x, %none) {num_outputs = 5 : i64} : (tensor<8xf32>, none) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

func.func @float_indices(%x: tensor<8xf32>, %i: tensor<2xf32>) {
  // expected-error @below {{operand 'indices' holds 'f32'; accepted are i32, i64}}
  %0 = "apc.gather"(%x, %i) : (tensor<8xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}
