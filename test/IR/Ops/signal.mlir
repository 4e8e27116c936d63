// RUN: apc-opt %s --apc-print-rules | FileCheck %s
// Fourier transforms are whole along their dim.

func.func @transforms(%real: tensor<3x10x4x1xf32>, %half: tensor<3x6x4x2xf32>, %signal: tensor<2x128x1xf32>, %m: tensor<5x3x3xf32>) {
  %none = apc.none
  %axis = apc.constant dense<1> : tensor<i64>
  %length = apc.constant dense<16> : tensor<i64>
  // CHECK: apc.dft: d0 w0 d1 w2, _,  -> d0 w1 d1 w3 {d0=3, w0=10 !, w1=10 !, d1=4, w2=1 !, w3=2 !} linear={0} flops=0.830482
  %0 = "apc.dft"(%real, %none, %axis) : (tensor<3x10x4x1xf32>, none, tensor<i64>) -> tensor<3x10x4x2xf32>
  // CHECK: apc.dft: d0 w0 d1 w2, ,  -> d0 w1 d1 w3 {d0=3, w0=10 !, w1=9 !, d1=4, w2=1 !, w3=2 !} linear={0} flops=1.77778
  %1 = "apc.dft"(%real, %length, %axis) {onesided = 1 : i64} : (tensor<3x10x4x1xf32>, tensor<i64>, tensor<i64>) -> tensor<3x9x4x2xf32>
  // CHECK: apc.dft: d0 w0 d1 w2, _,  -> d0 w1 d1 w3 {d0=3, w0=6 !, w1=10 !, d1=4, w2=2 !, w3=1 !} linear={0} flops=1.38414
  %2 = "apc.dft"(%half, %none, %axis) {inverse = 1 : i64, onesided = 1 : i64} : (tensor<3x6x4x2xf32>, none, tensor<i64>) -> tensor<3x10x4x1xf32>
  // CHECK: apc.dft: d0 w0 d1 w2, _, _ -> d0 w1 d1 w3 {d0=3, w0=10 !, w1=10 !, d1=4, w2=1 !, w3=2 !} linear={0} flops=0.830482
  %3 = "apc.dft"(%real, %none, %none) {opset_version = 17 : i64} : (tensor<3x10x4x1xf32>, none, none) -> tensor<3x10x4x2xf32>
  // CHECK: apc.dft: d0 d1 w0 w2, _, _ -> d0 d1 w1 w3 {d0=3, d1=10, w0=4 !, w1=4 !, w2=1 !, w3=2 !} linear={0} flops=1.25
  %4 = "apc.dft"(%real, %none, %none) : (tensor<3x10x4x1xf32>, none, none) -> tensor<3x10x4x2xf32>
  %step = apc.constant dense<8> : tensor<i64>
  // CHECK: apc.stft: d0 w0 w1, , _,  -> d0 w2 w3 w4 {d0=2, w0=128 !, w1=1 !, w2=15 !, w3=9 !, w4=2 !} flops=0.138889
  %5 = "apc.stft"(%signal, %step, %none, %length) : (tensor<2x128x1xf32>, tensor<i64>, none, tensor<i64>) -> tensor<2x15x9x2xf32>
  // CHECK: apc.det: d0 w0 w1 -> d0 {d0=5, w0=3 !, w1=3 !} flops=2
  %6 = "apc.det"(%m) : (tensor<5x3x3xf32>) -> tensor<5xf32>
  // CHECK: apc.cofactors: d0 w0 w1 -> d0 w0 w1 {d0=5, w0=3 !, w1=3 !} flops=6
  %7 = "apc.cofactors"(%m) : (tensor<5x3x3xf32>) -> tensor<5x3x3xf32>
  return
}
