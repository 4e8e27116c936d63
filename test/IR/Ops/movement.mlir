// RUN: apc-opt %s --apc-print-rules | FileCheck %s
// The operators that move elements: dims that stay parallel, dims that must be whole.

func.func @views(%x: tensor<8x128x512xf32>, %u: tensor<1x8x1xf32>) {
  %shape = apc.constant dense<[0, 0, 8, -1]> : tensor<4xi64>
  %axes = apc.constant dense<[0, -1]> : tensor<2xi64>
  %none = apc.none
  // CHECK: apc.reshape: i0 i1 (i2 i3), w4 -> i0 i1 i2 i3 {i0=8, i1=128, i2=8, i3=64, w4=4 !} linear={0}
  %0 = "apc.reshape"(%x, %shape) : (tensor<8x128x512xf32>, tensor<4xi64>) -> tensor<8x128x8x64xf32>
  %merge = apc.constant dense<[-1, 512]> : tensor<2xi64>
  // CHECK: apc.reshape: i0 i1 i2, w3 -> (i0 i1) i2 {i0=8, i1=128, i2=512, w3=2 !} linear={0}
  %1 = "apc.reshape"(%x, %merge) : (tensor<8x128x512xf32>, tensor<2xi64>) -> tensor<1024x512xf32>
  // CHECK: apc.flatten: d0 d1 d2 -> (d0 d1) d2 {d0=8, d1=128, d2=512} linear={0}
  %2 = "apc.flatten"(%x) {axis = 2 : i64} : (tensor<8x128x512xf32>) -> tensor<1024x512xf32>
  // CHECK: apc.flatten: d0 d1 d2 -> 1 (d0 d1 d2) {d0=8, d1=128, d2=512} linear={0}
  %3 = "apc.flatten"(%x) {axis = 0 : i64} : (tensor<8x128x512xf32>) -> tensor<1x524288xf32>
  // CHECK: apc.squeeze: 1 d0 1, w0 -> d0 {d0=8, w0=2 !} linear={0}
  %4 = "apc.squeeze"(%u, %axes) : (tensor<1x8x1xf32>, tensor<2xi64>) -> tensor<8xf32>
  // CHECK: apc.squeeze: 1 d0 1, _ -> d0 {d0=8} linear={0}
  %5 = "apc.squeeze"(%u, %none) : (tensor<1x8x1xf32>, none) -> tensor<8xf32>
  // CHECK: apc.unsqueeze: d0, w0 -> 1 d0 1 {d0=8, w0=2 !} linear={0}
  %6 = "apc.unsqueeze"(%4, %axes) : (tensor<8xf32>, tensor<2xi64>) -> tensor<1x8x1xf32>
  // CHECK: apc.identity: b0 b1 b2 -> b0 b1 b2 {b0=1, b1=8, b2=1} linear={0}
  %7 = "apc.identity"(%u) : (tensor<1x8x1xf32>) -> tensor<1x8x1xf32>
  // CHECK: apc.shape: w0 w1 w2 -> w3 {w0=8 !, w1=128 !, w2=512 !, w3=2 !}
  %8 = "apc.shape"(%x) {start = 1 : i64} : (tensor<8x128x512xf32>) -> tensor<2xi64>
  // CHECK: apc.shape: w0 w1 w2 -> w3 {w0=8 !, w1=128 !, w2=512 !, w3=0 !}
  %9 = "apc.shape"(%x) {start = -1 : i64, end = 1 : i64} : (tensor<8x128x512xf32>) -> tensor<0xi64>
  // CHECK: apc.size: w0 w1 w2 -> {w0=8 !, w1=128 !, w2=512 !}
  %10 = "apc.size"(%x) : (tensor<8x128x512xf32>) -> tensor<i64>
  return
}

func.func @orders(%x: tensor<2x3x4x5xf32>, %row: tensor<3x1xf16>) {
  // CHECK: apc.transpose: d0 d1 d2 d3 -> d0 d2 d1 d3 {d0=2, d1=3, d2=4, d3=5} linear={0}
  %0 = "apc.transpose"(%x) {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x3x4x5xf32>) -> tensor<2x4x3x5xf32>
  // CHECK: apc.transpose: d0 d1 d2 d3 -> d3 d2 d1 d0 {d0=2, d1=3, d2=4, d3=5} linear={0}
  %1 = "apc.transpose"(%x) : (tensor<2x3x4x5xf32>) -> tensor<5x4x3x2xf32>
  %shape = apc.constant dense<[2, 1, 4]> : tensor<3xi64>
  // CHECK: apc.expand: d1 1, w0 -> d0 d1 d2 {d0=2, d1=3, d2=4, w0=3 !} linear={0}
  %2 = "apc.expand"(%row, %shape) : (tensor<3x1xf16>, tensor<3xi64>) -> tensor<2x3x4xf16>
  %repeats = apc.constant dense<[1, 2]> : tensor<2xi64>
  // CHECK: apc.tile: d0 d1, w0 -> d0 (d2 d1) {d0=3, d1=1, d2=2, w0=2 !} linear={0}
  %3 = "apc.tile"(%row, %repeats) : (tensor<3x1xf16>, tensor<2xi64>) -> tensor<3x2xf16>
  %twice = apc.constant dense<[2, 1]> : tensor<2xi64>
  // CHECK: apc.tile: d0 d1, w0 -> (d2 d0) d1 {d0=3, d1=1, d2=2, w0=2 !} linear={0}
  %4 = "apc.tile"(%row, %twice) : (tensor<3x1xf16>, tensor<2xi64>) -> tensor<6x1xf16>
  return
}

func.func @parts(%x: tensor<2x8x12xf32>, %y: tensor<2x8x4xf32>) {
  %none = apc.none
  // CHECK: apc.concat: d0 d1 w0, d0 d1 w1, d0 d1 w0 -> d0 d1 w2 {d0=2, d1=8, w0=12 !, w1=4 !, w2=28 !} linear={0 1 2}
  %0 = "apc.concat"(%x, %y, %x) {axis = -1 : i64} : (tensor<2x8x12xf32>, tensor<2x8x4xf32>, tensor<2x8x12xf32>) -> tensor<2x8x28xf32>
  // CHECK: apc.split: d0 d1 (d2 w0){4 4 4}, _ -> d0 d1 d2, d0 d1 d2, d0 d1 d2 {d0=2, d1=8, d2=4, w0=3 !} linear={0}
  %1:3 = "apc.split"(%x, %none) {axis = 2 : i64, num_outputs = 3 : i64} : (tensor<2x8x12xf32>, none) -> (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>)
  // CHECK: apc.split: d0 w0 d1, _ -> d0 w1 d1, d0 w2 d1, d0 w3 d1 {d0=2, w0=8 !, d1=12, w1=3 !, w2=3 !, w3=2 !} linear={0}
  %2:3 = "apc.split"(%x, %none) {axis = 1 : i64} : (tensor<2x8x12xf32>, none) -> (tensor<2x3x12xf32>, tensor<2x3x12xf32>, tensor<2x2x12xf32>)
  %sizes = apc.constant dense<[12, 0]> : tensor<2xi64>
  // CHECK: apc.split: d0 d1 w0, w2 -> d0 d1 w0, d0 d1 w1 {d0=2, d1=8, w0=12 !, w1=0 !, w2=2 !} linear={0}
  %3:2 = "apc.split"(%x, %sizes) {axis = -1 : i64} : (tensor<2x8x12xf32>, tensor<2xi64>) -> (tensor<2x8x12xf32>, tensor<2x8x0xf32>)
  %starts = apc.constant dense<[1, -1]> : tensor<2xi64>
  %ends = apc.constant dense<[9223372036854775807, -9223372036854775807]> : tensor<2xi64>
  %axes = apc.constant dense<[1, 2]> : tensor<2xi64>
  %steps = apc.constant dense<[3, -5]> : tensor<2xi64>
  // CHECK: apc.slice: d0 w0 w1, w4, w5, w6, w7 -> d0 w2 w3 {d0=2, w0=8 !, w1=12 !, w2=3 !, w3=3 !, w4=2 !, w5=2 !, w6=2 !, w7=2 !} linear={0}
  %4 = "apc.slice"(%x, %starts, %ends, %axes, %steps) : (tensor<2x8x12xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<2x3x3xf32>
  %one = apc.constant dense<1> : tensor<1xi64>
  %two = apc.constant dense<2> : tensor<1xi64>
  // CHECK: apc.slice: w0 d0 d1, w2, w3, _, _ -> w1 d0 d1 {w0=2 !, d0=8, d1=12, w1=1 !, w2=1 !, w3=1 !} linear={0}
  %5 = "apc.slice"(%x, %one, %two, %none, %none) : (tensor<2x8x12xf32>, tensor<1xi64>, tensor<1xi64>, none, none) -> tensor<1x8x12xf32>
  %pads = apc.constant dense<[0, 1, -2, 0, 1, 0]> : tensor<6xi64>
  // CHECK: apc.pad: d0 w0 w1, w4, _, _ -> d0 w2 w3 {d0=2, w0=8 !, w1=12 !, w2=10 !, w3=10 !, w4=6 !} linear={0}
  %6 = "apc.pad"(%x, %pads, %none, %none) : (tensor<2x8x12xf32>, tensor<6xi64>, none, none) -> tensor<2x10x10xf32>
  %value = apc.constant dense<-1.0> : tensor<f32>
  // CHECK: apc.pad: d0 w0 d1, w2, , w3 -> d0 w1 d1 {d0=2, w0=8 !, d1=12, w1=20 !, w2=2 !, w3=1 !}
  %7 = "apc.pad"(%x, %sizes, %value, %one) : (tensor<2x8x12xf32>, tensor<2xi64>, tensor<f32>, tensor<1xi64>) -> tensor<2x20x12xf32>
  // CHECK: apc.pad: d0 w0 d1, w2, _, w3 -> d0 w1 d1 {d0=2, w0=8 !, d1=12, w1=20 !, w2=2 !, w3=1 !} linear={0}
  %8 = "apc.pad"(%x, %sizes, %none, %one) {mode = "reflect"} : (tensor<2x8x12xf32>, tensor<2xi64>, none, tensor<1xi64>) -> tensor<2x20x12xf32>
  return
}

func.func @blocks(%image: tensor<2x12x4x6xf32>, %x: tensor<5x2x7xf32>, %lengths: tensor<2xi64>) {
  // CHECK: apc.depth_to_space: d0 (w0 w1 d1) d2 d3 -> d0 d1 (d2 w0) (d3 w1) {d0=2, d1=3, d2=4, d3=6, w0=2 !, w1=2 !} linear={0}
  %0 = "apc.depth_to_space"(%image) {blocksize = 2 : i64} : (tensor<2x12x4x6xf32>) -> tensor<2x3x8x12xf32>
  // CHECK: apc.depth_to_space: d0 (d1 w0 w1) d2 d3 -> d0 d1 (d2 w0) (d3 w1) {d0=2, d1=3, d2=4, d3=6, w0=2 !, w1=2 !} linear={0}
  %1 = "apc.depth_to_space"(%image) {blocksize = 2 : i64, mode = "CRD"} : (tensor<2x12x4x6xf32>) -> tensor<2x3x8x12xf32>
  // CHECK: apc.space_to_depth: d0 d1 (d2 w0) (d3 w1) -> d0 (w0 w1 d1) d2 d3 {d0=2, d1=12, d2=2, d3=3, w0=2 !, w1=2 !} linear={0}
  %2 = "apc.space_to_depth"(%image) {blocksize = 2 : i64} : (tensor<2x12x4x6xf32>) -> tensor<2x48x2x3xf32>
  // CHECK: apc.reverse_sequence: w0 d0 d1, d0 -> w0 d0 d1 {w0=5 !, d0=2, d1=7} linear={0}
  %3 = "apc.reverse_sequence"(%x, %lengths) : (tensor<5x2x7xf32>, tensor<2xi64>) -> tensor<5x2x7xf32>
  %size = apc.constant dense<[3, 8]> : tensor<2xi64>
  // CHECK: apc.center_crop_pad: d0 d1 w0 w1, w4 -> d0 d1 w2 w3 {d0=2, d1=12, w0=4 !, w1=6 !, w2=3 !, w3=8 !, w4=2 !} linear={0}
  %4 = "apc.center_crop_pad"(%image, %size) {axes = array<i64: 2, 3>} : (tensor<2x12x4x6xf32>, tensor<2xi64>) -> tensor<2x12x3x8xf32>
  return
}

func.func @insideParts(%x: tensor<2x8x12xf32>) {
  %none = apc.none
  %start = apc.constant dense<6> : tensor<1xi64>
  %end = apc.constant dense<9> : tensor<1xi64>
  %axis = apc.constant dense<-1> : tensor<1xi64>
  // CHECK: apc.slice: d0 d1 (d2 w0){6 3 3}, w1, w2, w3, _ -> d0 d1 d2 {d0=2, d1=8, d2=3, w0=4 !, w1=1 !, w2=1 !, w3=1 !} linear={0}
  %0 = "apc.slice"(%x, %start, %end, %axis, %none) {apc.parts = {data = array<i64: 2, 6, 3, 3>}} : (tensor<2x8x12xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, none) -> tensor<2x8x3xf32>
  %shape = apc.constant dense<[2, 8, 3, 2, 2]> : tensor<5xi64>
  // CHECK: apc.reshape: i0 i1 (i3 i4 i2){4 4 4}, w5 -> i0 i1 i2 i3 i4 {i0=2, i1=8, i2=3 !, i3=2, i4=2, w5=5 !} linear={0}
  %1 = "apc.reshape"(%x, %shape) {apc.parts = {data = array<i64: 2, 4, 4, 4>}} : (tensor<2x8x12xf32>, tensor<5xi64>) -> tensor<2x8x3x2x2xf32>
  // The same on the way back.
  %part = apc.constant dense<1.0> : tensor<2x8x3xf32>
  %rest = apc.constant dense<1.0> : tensor<2x8x6xf32>
  // CHECK: apc.concat: d0 d1 (d2 w1), d0 d1 d2, d0 d1 d2 -> d0 d1 (d2 w0){6 3 3} {d0=2, d1=8, d2=3, w0=4 !, w1=2 !} linear={0 1 2}
  %2 = "apc.concat"(%rest, %part, %part) {axis = 2 : i64, apc.parts = {result = array<i64: 2, 6, 3, 3>}} : (tensor<2x8x6xf32>, tensor<2x8x3xf32>, tensor<2x8x3xf32>) -> tensor<2x8x12xf32>
  %pads = apc.constant dense<[0, 0, 6, 0, 0, 3]> : tensor<6xi64>
  // CHECK: apc.pad: d0 d1 d2, w1, _, _ -> d0 d1 (d2 w0){6 3 3} {d0=2, d1=8, d2=3, w0=4 !, w1=6 !} linear={0}
  %3 = "apc.pad"(%part, %pads, %none, %none) {apc.parts = {result = array<i64: 2, 6, 3, 3>}} : (tensor<2x8x3xf32>, tensor<6xi64>, none, none) -> tensor<2x8x12xf32>
  %flat = apc.constant dense<[2, 8, 12]> : tensor<3xi64>
  // CHECK: apc.reshape: i0 i1 i2 i3 i4, w5 -> i0 i1 (i3 i4 i2){4 4 4} {i0=2, i1=8, i2=3 !, i3=2, i4=2, w5=3 !} linear={0}
  %4 = "apc.reshape"(%1, %flat) {apc.parts = {result = array<i64: 2, 4, 4, 4>}} : (tensor<2x8x3x2x2xf32>, tensor<3xi64>) -> tensor<2x8x12xf32>
  return
}
