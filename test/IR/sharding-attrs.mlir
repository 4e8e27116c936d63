// The attributes of shardings: their text reads back; values that cannot be are refused.
// RUN: apc-opt %s --split-input-file --verify-diagnostics | FileCheck %s

// CHECK: #mesh = #apc.mesh<[data=2 | model=3, x2=1]>
#mesh = #apc.mesh<[data=2 | model=3, x2=1]>
module attributes {
  // CHECK: apc.a = #apc.axes<#mesh, (data model)>
  apc.a = #apc.axes<#mesh, (data model)>,
  // CHECK-SAME: apc.b = #apc.combiner<max>
  apc.b = #apc.combiner<max>,
  // CHECK-SAME: apc.c = #apc.sharding<#mesh, [data, -, (x2 model)]>
  apc.c = #apc.sharding<#mesh, [data, -, (x2 model)]>,
  // CHECK-SAME: apc.d = #apc.sharding<#mesh, [] sum{data model}>
  apc.d = #apc.sharding<#mesh, [] sum{model data}>,
  // CHECK-SAME: apc.e = #apc.strategy<#mesh, b0:data k:(model x2)>
  apc.e = #apc.strategy<#mesh, b0:data k:(model x2)>,
  // CHECK-SAME: apc.f = #apc.strategy<#mesh, m:data passing1:model>
  apc.f = #apc.strategy<#mesh, m:data passing1:model>,
  // CHECK-SAME: apc.g = #apc.strategy<#mesh, replicated>
  apc.g = #apc.strategy<#mesh, replicated>,
  // CHECK-SAME: apc.h = #apc.collective<#mesh, AllToAll{data}, [data, -] -> [-, data] of [8, 5]>
  apc.h = #apc.collective<#mesh, AllToAll{data}, [data, -] -> [-, data] of [8, 5]>,
  // CHECK-SAME: apc.i = #apc.sharding<#mesh, [data{4 4}, (x2 model){6 3 3}]>
  apc.i = #apc.sharding<#mesh, [data{4 4}, (x2 model){6 3 3}]>,
  // CHECK-SAME: apc.j = #apc.collective<#mesh, AllToAll{data}, [data, -] -> [-, data{6 2}] of [4, 8]>
  apc.j = #apc.collective<#mesh, AllToAll{data}, [data, -] -> [-, data{6 2}] of [4, 8]>,
  // CHECK-SAME: apc.k = #apc.sharding<#mesh, [data] log_sum_exp{model}>
  apc.k = #apc.sharding<#mesh, [data] log_sum_exp{model}>
} {}

// -----

#mesh = #apc.mesh<[data=2]>
// expected-error@+1 {{expected the sizes of two parts or more}}
module attributes {apc.a = #apc.sharding<#mesh, [data{8}]>} {}

// -----

#mesh = #apc.mesh<[data=2]>
// expected-error@+1 {{dim 1: has parts {4 4}, but is not cut}}
module attributes {apc.a = #apc.sharding<#mesh, [data, -{4 4}]>} {}

// -----

#mesh = #apc.mesh<[data=2]>
// expected-error@+1 {{dim 0: the parts {4 4} do not make up its 9 elements}}
module attributes {apc.a = #apc.collective<#mesh, AllGather{data}, [data{4 4}] -> [-] of [9]>} {}

// -----

// CHECK-DAG: #[[NONE:.*]] = #apc.mesh<[]>
// CHECK-DAG: #[[INNER:.*]] = #apc.mesh<[| x0=4]>
// CHECK: apc.a = #[[NONE]], apc.b = #[[INNER]]
module attributes {apc.a = #apc.mesh<[]>, apc.b = #apc.mesh<[| x0=4]>} {}

// -----

// expected-error@+1 {{the axes of a mesh have names that differ, not 'data' twice}}
#mesh = #apc.mesh<[data=2, data=3]>

// -----

// expected-error@+1 {{axis 'data' has 0 devices, not one or more}}
#mesh = #apc.mesh<[data=0]>

// -----

#mesh = #apc.mesh<[data=2]>
// expected-error@+1 {{axis 'model' is not in the mesh [data=2]}}
module attributes {apc.a = #apc.sharding<#mesh, [model]>} {}

// -----

#mesh = #apc.mesh<[data=2]>
// expected-error@+1 {{dim 1: axis data is used twice in one tensor}}
module attributes {apc.a = #apc.sharding<#mesh, [data, data]>} {}

// -----

#mesh = #apc.mesh<[data=2]>
// expected-error@+1 {{axis data is listed twice}}
module attributes {apc.a = #apc.strategy<#mesh, m:data k:data>} {}

// -----

#mesh = #apc.mesh<[data=2]>
// expected-error@+1 {{AllReduce{data} does not take [data, -] to [-, -]}}
module attributes {apc.a = #apc.collective<#mesh, AllReduce{data}, [data, -] -> [-, -] of [8, 5]>} {}

// -----

#mesh = #apc.mesh<[data=2]>
// expected-error@+1 {{'Scatter' is no collective; accepted are AllGather, Slice, AllToAll, ReduceScatter, AllReduce, Permute}}
module attributes {apc.a = #apc.collective<#mesh, Scatter{data}, [data] -> [-] of [8]>} {}

// -----

#mesh = #apc.mesh<[data=2]>
// expected-error@+1 {{a collective acts on one value or more}}
module attributes {apc.a = #apc.collective<#mesh, AllReduce{data}>} {}
