// The ops of one device's program: their text reads back; steps that cannot be are refused.
// RUN: apc-opt %s --split-input-file --verify-diagnostics | FileCheck %s

#mesh = #apc.mesh<[data=2 | model=3]>
module attributes {apc.mesh = #mesh} {
  // CHECK-LABEL: @steps
  func.func @steps(%x: tensor<4x2xf32>, %s: tensor<8x7xf32>) -> tensor<8x2xf32> {
    // CHECK: apc.all_gather %arg0 <#mesh, AllGather{data}, [data, model] -> [-, model] of [8, 5]> : (tensor<4x2xf32>) -> tensor<8x2xf32>
    %0 = apc.all_gather %x <#mesh, AllGather{data}, [data, model] -> [-, model] of [8, 5]> : (tensor<4x2xf32>) -> tensor<8x2xf32>
    // CHECK: apc.all_to_all
    %1 = apc.all_to_all %x <#mesh, AllToAll{data}, [data, model] -> [-, (model data)] of [8, 5]> : (tensor<4x2xf32>) -> tensor<8x1xf32>
    // CHECK: apc.reduce_scatter
    %2 = apc.reduce_scatter %s <#mesh, ReduceScatter{model}, [-, -] sum{model} -> [model, -] of [8, 7]> : (tensor<8x7xf32>) -> tensor<3x7xf32>
    // CHECK: apc.all_reduce
    %3 = apc.all_reduce %s <#mesh, AllReduce{model}, [-, -] max{model} -> [-, -] of [8, 7]> : (tensor<8x7xf32>) -> tensor<8x7xf32>
    // CHECK: apc.shard_slice
    %4 = apc.shard_slice %s <#mesh, Slice{data}, [-, -] -> [-, data] of [8, 7]> : (tensor<8x7xf32>) -> tensor<8x4xf32>
    // CHECK: apc.mask_padding %arg0 dim 1 of 5 <#mesh, (model)> <sum>
    %5 = apc.mask_padding %x dim 1 of 5 <#mesh, (model)> <sum> : tensor<4x2xf32>
    // CHECK: apc.mask_padding %arg0 dim 1 of 5 <#mesh, (model)> <sum> {parts = array<i64: 2, 3>}
    %9 = apc.mask_padding %x dim 1 of 5 <#mesh, (model)> <sum> {parts = array<i64: 2, 3>} : tensor<4x2xf32>
    // CHECK: apc.keep_on_first %arg0 <#mesh, (model)>
    %6 = apc.keep_on_first %x <#mesh, (model)> : tensor<4x2xf32>
    // CHECK: apc.shard_offset <#mesh, (model)> of 5
    %7 = apc.shard_offset <#mesh, (model)> of 5 : tensor<i64>
    // CHECK: %{{.*}}:2 = apc.all_reduce %arg1, %arg0 <#mesh, AllReduce{model}, [-, -] sum{model} -> [-, -] of [8, 7], [data, -] sum{model} -> [data, -] of [8, 2]> : (tensor<8x7xf32>, tensor<4x2xf32>) -> (tensor<8x7xf32>, tensor<4x2xf32>)
    %8:2 = apc.all_reduce %s, %x <#mesh, AllReduce{model}, [-, -] sum{model} -> [-, -] of [8, 7], [data, -] sum{model} -> [data, -] of [8, 2]> : (tensor<8x7xf32>, tensor<4x2xf32>) -> (tensor<8x7xf32>, tensor<4x2xf32>)
    return %0 : tensor<8x2xf32>
  }
}

// -----

// CHECK-LABEL: @stage
func.func @stage() {
  // CHECK: %[[H:.*]] = apc.receive "h" "micro_batch" "input" : tensor<4x2xf32>
  %h = apc.receive "h" "micro_batch" "input" : tensor<4x2xf32>
  // CHECK: apc.receive "w" "step" "parameter" : tensor<2xf32>
  %w = apc.receive "w" "step" "parameter" : tensor<2xf32>
  // CHECK: apc.part_end "forward"
  apc.part_end "forward"
  // CHECK: apc.send %[[H]] "dh" "micro_batch" : tensor<4x2xf32>
  apc.send %h "dh" "micro_batch" : tensor<4x2xf32>
  // CHECK: apc.part_end "input_gradients"
  apc.part_end "input_gradients"
  apc.micro_batch_end 4
  return
}

// -----

// CHECK-LABEL: @copies
func.func @copies() {
  // CHECK: apc.micro_batch_end 4 copies 2
  apc.micro_batch_end 4 copies 2
  return
}

// -----

func.func @thirds() {
  // expected-error@+1 {{has 4 runs, which are no whole number of micro-batches of 3 copies}}
  apc.micro_batch_end 4 copies 3
  return
}

// -----

func.func @never() {
  // expected-error@+1 {{attribute 'time' failed to satisfy constraint: one of micro_batch, step}}
  %h = apc.receive "h" "epoch" "input" : tensor<4x2xf32>
  return
}

// -----

func.func @role() {
  // expected-error@+1 {{attribute 'role' failed to satisfy constraint: one of input, parameter, optimizer_state}}
  %h = apc.receive "h" "step" "weight" : tensor<4x2xf32>
  return
}

// -----

func.func @part() {
  // expected-error@+1 {{attribute 'part' failed to satisfy constraint: one of forward, input_gradients}}
  apc.part_end "update"
  return
}

// -----

#mesh = #apc.mesh<[data=2]>
module attributes {apc.mesh = #mesh} {
  func.func @wrong_group(%x: tensor<4x5xf32>) {
    // expected-error@+1 {{axis 'model' is not in the mesh [data=2]}}
    %0 = apc.all_gather %x <#mesh, AllGather{model}, [data, -] -> [-, -] of [8, 5]> : (tensor<4x5xf32>) -> tensor<8x5xf32>
    return
  }
}

// -----

#mesh = #apc.mesh<[data=2]>
module attributes {apc.mesh = #mesh} {
  func.func @wrong_step(%x: tensor<4x5xf32>) {
    // expected-error@+1 {{AllReduce{data} does not take [data, -] to [-, -]}}
    %0 = apc.all_reduce %x <#mesh, AllReduce{data}, [data, -] -> [-, -] of [8, 5]> : (tensor<4x5xf32>) -> tensor<8x5xf32>
    return
  }
}

// -----

#mesh = #apc.mesh<[data=2]>
module attributes {apc.mesh = #mesh} {
  func.func @wrong_piece(%x: tensor<4x5xf32>) {
    // expected-error@+1 {{a piece of [8, 5] under [-, -] is [8, 5], not [4, 5]}}
    %0 = apc.all_gather %x <#mesh, AllGather{data}, [data, -] -> [-, -] of [8, 5]> : (tensor<4x5xf32>) -> tensor<4x5xf32>
    return
  }
}

// -----

#mesh = #apc.mesh<[data=2]>
module attributes {apc.mesh = #mesh} {
  func.func @wrong_element(%x: tensor<4x5xf32>) {
    // expected-error@+1 {{changes the element type}}
    %0 = apc.all_gather %x <#mesh, AllGather{data}, [data, -] -> [-, -] of [8, 5]> : (tensor<4x5xf32>) -> tensor<8x5xf16>
    return
  }
}

// -----

#mesh = #apc.mesh<[data=2]>
module {
  func.func @no_mesh(%x: tensor<4x5xf32>) {
    // expected-error@-2 {{the module has no attribute 'apc.mesh'}}
    %0 = apc.all_gather %x <#mesh, AllGather{data}, [data, -] -> [-, -] of [8, 5]> : (tensor<4x5xf32>) -> tensor<8x5xf32>
    return
  }
}

// -----

#mesh = #apc.mesh<[data=2]>
module attributes {apc.mesh = #mesh} {
  func.func @mixed_elements(%x: tensor<4xf32>, %y: tensor<4xf16>) {
    // expected-error@+1 {{exchanges elements of 'f32' and 'f16' together}}
    %0:2 = apc.all_reduce %x, %y <#mesh, AllReduce{data}, [-] sum{data} -> [-] of [4], [-] sum{data} -> [-] of [4]> : (tensor<4xf32>, tensor<4xf16>) -> (tensor<4xf32>, tensor<4xf16>)
    return
  }
}

// -----

#mesh = #apc.mesh<[data=2]>
module attributes {apc.mesh = #mesh} {
  func.func @mixed_combiners(%x: tensor<4xf32>) {
    // expected-error@+1 {{a reduction combines all values alike, not by sum and by max}}
    %0:2 = apc.all_reduce %x, %x <#mesh, AllReduce{data}, [-] sum{data} -> [-] of [4], [-] max{data} -> [-] of [4]> : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    return
  }
}

// -----

#mesh = #apc.mesh<[data=2]>
module attributes {apc.mesh = #mesh} {
  func.func @wrong_kind(%x: tensor<4x5xf32>) {
    // expected-error@+1 {{carries out AllReduce, not AllGather}}
    %0 = apc.all_reduce %x <#mesh, AllGather{data}, [data, -] -> [-, -] of [8, 5]> : (tensor<4x5xf32>) -> tensor<8x5xf32>
    return
  }
}

// -----

#mesh = #apc.mesh<[data=2]>
module attributes {apc.mesh = #mesh} {
  func.func @wrong_count(%x: tensor<4x5xf32>) {
    // expected-error@+1 {{has 2 operands and 1 results for 1 values}}
    %0 = apc.all_gather %x, %x <#mesh, AllGather{data}, [data, -] -> [-, -] of [8, 5]> : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<8x5xf32>
    return
  }
}

// -----

#mesh = #apc.mesh<[data=2]>
module attributes {apc.mesh = #apc.mesh<[data=2, model=2]>} {
  func.func @wrong_mesh(%x: tensor<4x5xf32>) {
    // expected-error@+1 {{is for the mesh [data=2], the module for [data=2, model=2]}}
    %0 = apc.keep_on_first %x <#mesh, (data)> : tensor<4x5xf32>
    return
  }
}

// -----

#mesh = #apc.mesh<[data=2]>
module attributes {apc.mesh = #mesh} {
  func.func @wrong_dim(%x: tensor<4x5xf32>) {
    // expected-error@+1 {{has dim 2, its operand 2 dims}}
    %0 = apc.mask_padding %x dim 2 of 5 <#mesh, (data)> <sum> : tensor<4x5xf32>
    return
  }
}

// -----

#mesh = #apc.mesh<[data=2]>
module attributes {apc.mesh = #mesh} {
  func.func @wrong_parts(%x: tensor<4x5xf32>) {
    // expected-error@+1 {{has parts [4, 3], which do not make up its dim of 8}}
    %0 = apc.mask_padding %x dim 0 of 8 <#mesh, (data)> <sum> {parts = array<i64: 4, 3>} : tensor<4x5xf32>
    return
  }
}
