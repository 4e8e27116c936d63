// The ops of one device's program: their text reads back; steps that cannot be are refused.
// RUN: apc-opt %s --split-input-file --verify-diagnostics | FileCheck %s

module attributes {apc.mesh = "[data=2 | model=3]"} {
  // CHECK-LABEL: @steps
  func.func @steps(%x: tensor<4x2xf32>, %s: tensor<8x7xf32>) -> tensor<8x2xf32> {
    // CHECK: apc.all_gather %arg0 ["data"] "[data, model]" to "[-, model]" of [8, 5] : tensor<4x2xf32> -> tensor<8x2xf32>
    %0 = apc.all_gather %x ["data"] "[data, model]" to "[-, model]" of [8, 5] : tensor<4x2xf32> -> tensor<8x2xf32>
    // CHECK: apc.all_to_all
    %1 = apc.all_to_all %x ["data"] "[data, model]" to "[-, (model data)]" of [8, 5] : tensor<4x2xf32> -> tensor<8x1xf32>
    // CHECK: apc.reduce_scatter
    %2 = apc.reduce_scatter %s ["model"] "[-, -] sum{model}" to "[model, -]" of [8, 7] : tensor<8x7xf32> -> tensor<3x7xf32>
    // CHECK: apc.all_reduce
    %3 = apc.all_reduce %s ["model"] "[-, -] max{model}" to "[-, -]" of [8, 7] : tensor<8x7xf32> -> tensor<8x7xf32>
    // CHECK: apc.shard_slice
    %4 = apc.shard_slice %s ["data"] "[-, -]" to "[-, data]" of [8, 7] : tensor<8x7xf32> -> tensor<8x4xf32>
    // CHECK: apc.mask_padding %arg0 dim 1 of 5 ["model"] "sum"
    %5 = apc.mask_padding %x dim 1 of 5 ["model"] "sum" : tensor<4x2xf32>
    // CHECK: apc.keep_on_first %arg0 ["model"]
    %6 = apc.keep_on_first %x ["model"] : tensor<4x2xf32>
    // CHECK: apc.shard_offset ["model"] of 5
    %7 = apc.shard_offset ["model"] of 5 : tensor<i64>
    return %0 : tensor<8x2xf32>
  }
}

// -----

module attributes {apc.mesh = "[data=2]"} {
  func.func @wrong_group(%x: tensor<4x5xf32>) {
    // expected-error@+1 {{axis 'model' is not in the mesh [data=2]}}
    %0 = apc.all_gather %x ["model"] "[data, -]" to "[-, -]" of [8, 5] : tensor<4x5xf32> -> tensor<8x5xf32>
    return
  }
}

// -----

module attributes {apc.mesh = "[data=2]"} {
  func.func @wrong_step(%x: tensor<4x5xf32>) {
    // expected-error@+1 {{AllReduce{data} does not take [data, -] to [-, -]}}
    %0 = apc.all_reduce %x ["data"] "[data, -]" to "[-, -]" of [8, 5] : tensor<4x5xf32> -> tensor<8x5xf32>
    return
  }
}

// -----

module attributes {apc.mesh = "[data=2]"} {
  func.func @wrong_piece(%x: tensor<4x5xf32>) {
    // expected-error@+1 {{a piece of [8, 5] under [-, -] is [8, 5], not [4, 5]}}
    %0 = apc.all_gather %x ["data"] "[data, -]" to "[-, -]" of [8, 5] : tensor<4x5xf32> -> tensor<4x5xf32>
    return
  }
}

// -----

module attributes {apc.mesh = "[data=2]"} {
  func.func @wrong_element(%x: tensor<4x5xf32>) {
    // expected-error@+1 {{changes the element type}}
    %0 = apc.all_gather %x ["data"] "[data, -]" to "[-, -]" of [8, 5] : tensor<4x5xf32> -> tensor<8x5xf16>
    return
  }
}

// -----

module {
  func.func @no_mesh(%x: tensor<4x5xf32>) {
    // expected-error@-2 {{the module has no attribute 'apc.mesh'}}
    %0 = apc.all_gather %x ["data"] "[data, -]" to "[-, -]" of [8, 5] : tensor<4x5xf32> -> tensor<8x5xf32>
    return
  }
}
