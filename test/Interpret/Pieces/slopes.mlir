// Gradients of activations from what the forward op keeps, and gradients of bounds.
func.func @relu_grad(%dy: tensor<3x5xf32>, %x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %0 = "apc.relu_grad"(%dy, %x) : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}
func.func @sigmoid_grad(%dy: tensor<3x5xf32>, %x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %0 = "apc.sigmoid_grad"(%dy, %x) : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}
func.func @tanh_grad(%dy: tensor<3x5xf32>, %x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %0 = "apc.tanh_grad"(%dy, %x) : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}
func.func @erf_grad(%dy: tensor<3x5xf32>, %x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %0 = "apc.erf_grad"(%dy, %x) : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}
func.func @mish_grad(%dy: tensor<3x5xf32>, %x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %0 = "apc.mish_grad"(%dy, %x) : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}
func.func @hard_swish_grad(%dy: tensor<3x5xf32>, %x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %0 = "apc.hard_swish_grad"(%dy, %x) : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}
func.func @swish_grad(%dy: tensor<3x5xf32>, %x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %0 = "apc.swish_grad"(%dy, %x) {alpha = 1.5 : f32} : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}
func.func @elu_grad(%dy: tensor<3x5xf32>, %x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %0 = "apc.elu_grad"(%dy, %x) {alpha = 0.5 : f32, scale = 2.0 : f32} : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}
func.func @leaky_relu_grad(%dy: tensor<3x5xf32>, %x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %0 = "apc.leaky_relu_grad"(%dy, %x) {alpha = 0.25 : f32} : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}
func.func @hard_sigmoid_grad(%dy: tensor<3x5xf32>, %x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %0 = "apc.hard_sigmoid_grad"(%dy, %x) {alpha = 0.5 : f32, beta = 0.25 : f32} : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}
func.func @clip_grad(%dy: tensor<3x5xf32>, %x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %low = apc.constant dense<-0.5> : tensor<f32>
  %high = apc.constant dense<1.0> : tensor<f32>
  %0 = "apc.clip_grad"(%dy, %x, %low, %high) : (tensor<3x5xf32>, tensor<3x5xf32>, tensor<f32>, tensor<f32>) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}
func.func @clip_grad_below(%dy: tensor<3x5xf32>, %x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %none = apc.none
  %high = apc.constant dense<0.5> : tensor<f32>
  %0 = "apc.clip_grad"(%dy, %x, %none, %high) : (tensor<3x5xf32>, tensor<3x5xf32>, none, tensor<f32>) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}
