// Arithmetic on quantised tensors: scales and zero points are whole.
func.func @qlinear_add(%a: tensor<3x5xui8> {test.below = 256 : i64}, %az: tensor<ui8> {test.below = 200 : i64}, %b: tensor<3x5xui8> {test.below = 256 : i64}, %bz: tensor<ui8> {test.below = 200 : i64}, %cz: tensor<ui8> {test.below = 200 : i64}) -> tensor<3x5xui8> {
  %as = apc.constant dense<0.5> : tensor<f32>
  %bs = apc.constant dense<0.25> : tensor<f32>
  %cs = apc.constant dense<2.0> : tensor<f32>
  %0 = "apc.qlinear_add"(%a, %as, %az, %b, %bs, %bz, %cs, %cz) : (tensor<3x5xui8>, tensor<f32>, tensor<ui8>, tensor<3x5xui8>, tensor<f32>, tensor<ui8>, tensor<f32>, tensor<ui8>) -> tensor<3x5xui8>
  return %0 : tensor<3x5xui8>
}
func.func @qlinear_mul(%a: tensor<3x5xui8> {test.below = 256 : i64}, %az: tensor<ui8> {test.below = 200 : i64}, %b: tensor<3x5xui8> {test.below = 256 : i64}, %bz: tensor<ui8> {test.below = 200 : i64}, %cz: tensor<ui8> {test.below = 200 : i64}) -> tensor<3x5xui8> {
  %as = apc.constant dense<0.5> : tensor<f32>
  %bs = apc.constant dense<0.25> : tensor<f32>
  %cs = apc.constant dense<2.0> : tensor<f32>
  %0 = "apc.qlinear_mul"(%a, %as, %az, %b, %bs, %bz, %cs, %cz) : (tensor<3x5xui8>, tensor<f32>, tensor<ui8>, tensor<3x5xui8>, tensor<f32>, tensor<ui8>, tensor<f32>, tensor<ui8>) -> tensor<3x5xui8>
  return %0 : tensor<3x5xui8>
}
func.func @qlinear_sigmoid(%x: tensor<3x5xui8> {test.below = 256 : i64}, %xz: tensor<ui8> {test.below = 200 : i64}, %yz: tensor<ui8> {test.below = 200 : i64}) -> tensor<3x5xui8> {
  %xs = apc.constant dense<0.0625> : tensor<f32>
  %ys = apc.constant dense<0.125> : tensor<f32>
  %0 = "apc.qlinear_sigmoid"(%x, %xs, %xz, %ys, %yz) : (tensor<3x5xui8>, tensor<f32>, tensor<ui8>, tensor<f32>, tensor<ui8>) -> tensor<3x5xui8>
  return %0 : tensor<3x5xui8>
}
func.func @qlinear_leaky_relu(%x: tensor<3x5xui8> {test.below = 256 : i64}, %xz: tensor<ui8> {test.below = 200 : i64}, %yz: tensor<ui8> {test.below = 200 : i64}) -> tensor<3x5xui8> {
  %xs = apc.constant dense<0.0625> : tensor<f32>
  %ys = apc.constant dense<0.125> : tensor<f32>
  %0 = "apc.qlinear_leaky_relu"(%x, %xs, %xz, %ys, %yz) {alpha = 0.25 : f32} : (tensor<3x5xui8>, tensor<f32>, tensor<ui8>, tensor<f32>, tensor<ui8>) -> tensor<3x5xui8>
  return %0 : tensor<3x5xui8>
}
func.func @qlinear_where(%c: tensor<3x5xi1>, %x: tensor<3x5xui8> {test.below = 256 : i64}, %xz: tensor<ui8> {test.below = 200 : i64}, %y: tensor<3x5xui8> {test.below = 256 : i64}, %yz: tensor<ui8> {test.below = 200 : i64}, %zz: tensor<ui8> {test.below = 200 : i64}) -> tensor<3x5xui8> {
  %xs = apc.constant dense<0.5> : tensor<f32>
  %ys = apc.constant dense<0.25> : tensor<f32>
  %zs = apc.constant dense<1.0> : tensor<f32>
  %0 = "apc.qlinear_where"(%c, %x, %xs, %xz, %y, %ys, %yz, %zs, %zz) : (tensor<3x5xi1>, tensor<3x5xui8>, tensor<f32>, tensor<ui8>, tensor<3x5xui8>, tensor<f32>, tensor<ui8>, tensor<f32>, tensor<ui8>) -> tensor<3x5xui8>
  return %0 : tensor<3x5xui8>
}
func.func @qlinear_matmul(%a: tensor<5x7xui8> {test.below = 256 : i64}, %az: tensor<ui8> {test.below = 200 : i64}, %b: tensor<7x6xui8> {test.below = 256 : i64}, %bz: tensor<ui8> {test.below = 200 : i64}, %yz: tensor<ui8> {test.below = 200 : i64}) -> tensor<5x6xui8> {
  %as = apc.constant dense<0.0625> : tensor<f32>
  %bs = apc.constant dense<0.125> : tensor<f32>
  %ys = apc.constant dense<2.0> : tensor<f32>
  %0 = "apc.qlinear_matmul"(%a, %as, %az, %b, %bs, %bz, %ys, %yz) : (tensor<5x7xui8>, tensor<f32>, tensor<ui8>, tensor<7x6xui8>, tensor<f32>, tensor<ui8>, tensor<f32>, tensor<ui8>) -> tensor<5x6xui8>
  return %0 : tensor<5x6xui8>
}
func.func @qlinear_global_average_pool(%x: tensor<3x5x4x2xui8> {test.below = 256 : i64}, %xz: tensor<ui8> {test.below = 200 : i64}, %yz: tensor<ui8> {test.below = 200 : i64}) -> tensor<3x5x1x1xui8> {
  %xs = apc.constant dense<0.5> : tensor<f32>
  %ys = apc.constant dense<0.25> : tensor<f32>
  %0 = "apc.qlinear_global_average_pool"(%x, %xs, %xz, %ys, %yz) : (tensor<3x5x4x2xui8>, tensor<f32>, tensor<ui8>, tensor<f32>, tensor<ui8>) -> tensor<3x5x1x1xui8>
  return %0 : tensor<3x5x1x1xui8>
}
func.func @qgemm(%a: tensor<5x7xui8> {test.below = 256 : i64}, %az: tensor<ui8> {test.below = 200 : i64}, %b: tensor<7x6xui8> {test.below = 256 : i64}, %bz: tensor<ui8> {test.below = 200 : i64}, %c: tensor<6xi32> {test.below = 99 : i64}, %yz: tensor<ui8> {test.below = 200 : i64}) -> tensor<5x6xui8> {
  %as = apc.constant dense<0.0625> : tensor<f32>
  %bs = apc.constant dense<0.125> : tensor<f32>
  %ys = apc.constant dense<2.0> : tensor<f32>
  %0 = "apc.qgemm"(%a, %as, %az, %b, %bs, %bz, %c, %ys, %yz) : (tensor<5x7xui8>, tensor<f32>, tensor<ui8>, tensor<7x6xui8>, tensor<f32>, tensor<ui8>, tensor<6xi32>, tensor<f32>, tensor<ui8>) -> tensor<5x6xui8>
  return %0 : tensor<5x6xui8>
}
func.func @qgemm_of_floats(%a: tensor<7x5xui8> {test.below = 256 : i64}, %az: tensor<ui8> {test.below = 200 : i64}, %b: tensor<7x6xui8> {test.below = 256 : i64}, %bz: tensor<6xui8> {test.below = 200 : i64}, %bs: tensor<6xf32>) -> tensor<5x6xf32> {
  %none = apc.none
  %as = apc.constant dense<0.0625> : tensor<f32>
  %0 = "apc.qgemm"(%a, %as, %az, %b, %bs, %bz, %none, %none, %none) {transA = 1 : i64} : (tensor<7x5xui8>, tensor<f32>, tensor<ui8>, tensor<7x6xui8>, tensor<6xf32>, tensor<6xui8>, none, none, none) -> tensor<5x6xf32>
  return %0 : tensor<5x6xf32>
}
func.func @codes_of_tensor(%x: tensor<3x4xf32>, %scale: tensor<f32> {test.positive}, %zero: tensor<i8>, %dy: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = "apc.quantize_linear_grad"(%x, %scale, %zero, %dy) {least = -1.0 : f64, most = 1.0 : f64} : (tensor<3x4xf32>, tensor<f32>, tensor<i8>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}
func.func @codes_of_columns(%x: tensor<3x4xf32>, %scale: tensor<4xf32> {test.positive}, %zero: tensor<4xui8>, %dy: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = "apc.quantize_linear_grad"(%x, %scale, %zero, %dy) {axis = 1 : i64, least = 0.0 : f64, most = 2.0 : f64} : (tensor<3x4xf32>, tensor<4xf32>, tensor<4xui8>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}
func.func @codes_of_blocks(%x: tensor<3x8xf32>, %scale: tensor<3x4xf32> {test.positive}, %dy: tensor<3x8xf32>) -> tensor<3x8xf32> {
  %none = apc.none
  %0 = "apc.quantize_linear_grad"(%x, %scale, %none, %dy) {axis = -1 : i64, block_size = 2 : i64, least = -1.0 : f64, most = 1.0 : f64} : (tensor<3x8xf32>, tensor<3x4xf32>, none, tensor<3x8xf32>) -> tensor<3x8xf32>
  return %0 : tensor<3x8xf32>
}
func.func @numbers_of_rows(%dy: tensor<3x4xf32>, %scale: tensor<3xf32>) -> tensor<3x4xf32> {
  %none = apc.none
  %0 = "apc.dequantize_linear_grad"(%dy, %scale, %none) {axis = 0 : i64} : (tensor<3x4xf32>, tensor<3xf32>, none) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}
func.func @numbers_of_blocks(%dy: tensor<3x8xf32>, %scale: tensor<3x2xf32>) -> tensor<3x8xf32> {
  %none = apc.none
  %0 = "apc.dequantize_linear_grad"(%dy, %scale, %none) {axis = 1 : i64, block_size = 4 : i64} : (tensor<3x8xf32>, tensor<3x2xf32>, none) -> tensor<3x8xf32>
  return %0 : tensor<3x8xf32>
}
