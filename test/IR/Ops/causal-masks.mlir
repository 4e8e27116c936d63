// RUN: apc-opt %s --apc-print-rules | FileCheck %s
// Masks that are causal, by the ops with which exporters make them, and others that are nearly so.

// Triangles of ones, as bools and as numbers that are compared, of which more positions are stored than are used.
func.func @triangles_of_ones(%q: tensor<1x1x512x32xf16>, %hidden: tensor<1x512xi1>) {
  %none = apc.none
  %one = apc.constant dense<1> : tensor<i64>
  %minus = apc.constant dense<-1> : tensor<i64>
  %zero = apc.constant dense<0.0> : tensor<f32>
  %shape = apc.constant dense<512> : tensor<2xi64>
  %fill = "apc.constant_of_shape"(%shape) {value = dense<1.0> : tensor<1xf32>} : (tensor<2xi64>) -> tensor<512x512xf32>
  %all = "apc.cast"(%fill) {to = 9 : i64} : (tensor<512x512xf32>) -> tensor<512x512xi1>
  %seen = "apc.trilu"(%all, %none) {upper = 0 : i64} : (tensor<512x512xi1>, none) -> tensor<512x512xi1>
  // CHECK: apc.softmax_attention: {{.*}}attention={d=32 t=512 causal}
  %r1 = "apc.softmax_attention"(%q, %q, %q, %seen) {fill = -6.55e+04 : f32} : (tensor<1x1x512x32xf16>, tensor<1x1x512x32xf16>, tensor<1x1x512x32xf16>, tensor<512x512xi1>) -> tensor<1x1x512x32xf16>
  // The same bools hide what causal masks show.
  // CHECK: apc.softmax_attention: {{.*}}attention={d=32 t=512 masked}
  %r2 = "apc.softmax_attention"(%q, %q, %q, %seen) {fill = -6.55e+04 : f32, seen = 0 : i64} : (tensor<1x1x512x32xf16>, tensor<1x1x512x32xf16>, tensor<1x1x512x32xf16>, tensor<512x512xi1>) -> tensor<1x1x512x32xf16>
  // A fill that is no low number hides nothing.
  // CHECK: apc.softmax_attention: {{.*}}attention={d=32 t=512 masked}
  %r3 = "apc.softmax_attention"(%q, %q, %q, %seen) {fill = -1.0 : f32} : (tensor<1x1x512x32xf16>, tensor<1x1x512x32xf16>, tensor<1x1x512x32xf16>, tensor<512x512xi1>) -> tensor<1x1x512x32xf16>
  // Other diagonals.
  %seenone = "apc.trilu"(%all, %one) {upper = 0 : i64} : (tensor<512x512xi1>, tensor<i64>) -> tensor<512x512xi1>
  // CHECK: apc.softmax_attention: {{.*}}attention={d=32 t=512 masked}
  %r4 = "apc.softmax_attention"(%q, %q, %q, %seenone) {fill = -6.55e+04 : f32} : (tensor<1x1x512x32xf16>, tensor<1x1x512x32xf16>, tensor<1x1x512x32xf16>, tensor<512x512xi1>) -> tensor<1x1x512x32xf16>
  %seenminus = "apc.trilu"(%all, %minus) {upper = 0 : i64} : (tensor<512x512xi1>, tensor<i64>) -> tensor<512x512xi1>
  // CHECK: apc.softmax_attention: {{.*}}attention={d=32 t=512 masked}
  %r5 = "apc.softmax_attention"(%q, %q, %q, %seenminus) {fill = -6.55e+04 : f32} : (tensor<1x1x512x32xf16>, tensor<1x1x512x32xf16>, tensor<1x1x512x32xf16>, tensor<512x512xi1>) -> tensor<1x1x512x32xf16>
  %later = "apc.trilu"(%all, %one) : (tensor<512x512xi1>, tensor<i64>) -> tensor<512x512xi1>
  // CHECK: apc.softmax_attention: {{.*}}attention={d=32 t=512 causal}
  %r6 = "apc.softmax_attention"(%q, %q, %q, %later) {fill = -6.55e+04 : f32, seen = 0 : i64} : (tensor<1x1x512x32xf16>, tensor<1x1x512x32xf16>, tensor<1x1x512x32xf16>, tensor<512x512xi1>) -> tensor<1x1x512x32xf16>
  %from_own = "apc.trilu"(%all, %none) : (tensor<512x512xi1>, none) -> tensor<512x512xi1>
  // CHECK: apc.softmax_attention: {{.*}}attention={d=32 t=512 masked}
  %r7 = "apc.softmax_attention"(%q, %q, %q, %from_own) {fill = -6.55e+04 : f32, seen = 0 : i64} : (tensor<1x1x512x32xf16>, tensor<1x1x512x32xf16>, tensor<1x1x512x32xf16>, tensor<512x512xi1>) -> tensor<1x1x512x32xf16>
  %turned = "apc.transpose"(%from_own) {perm = array<i64: 1, 0>} : (tensor<512x512xi1>) -> tensor<512x512xi1>
  // CHECK: apc.softmax_attention: {{.*}}attention={d=32 t=512 causal}
  %r8 = "apc.softmax_attention"(%q, %q, %q, %turned) {fill = -6.55e+04 : f32} : (tensor<1x1x512x32xf16>, tensor<1x1x512x32xf16>, tensor<1x1x512x32xf16>, tensor<512x512xi1>) -> tensor<1x1x512x32xf16>
  %not_later = "apc.not"(%later) : (tensor<512x512xi1>) -> tensor<512x512xi1>
  // CHECK: apc.softmax_attention: {{.*}}attention={d=32 t=512 causal}
  %r9 = "apc.softmax_attention"(%q, %q, %q, %not_later) {fill = -6.55e+04 : f32} : (tensor<1x1x512x32xf16>, tensor<1x1x512x32xf16>, tensor<1x1x512x32xf16>, tensor<512x512xi1>) -> tensor<1x1x512x32xf16>
  // Padding on top, and a window of the nearest keys.
  %padded = "apc.and"(%seen, %hidden) : (tensor<512x512xi1>, tensor<1x512xi1>) -> tensor<512x512xi1>
  // CHECK: apc.softmax_attention: {{.*}}attention={d=32 t=512 masked}
  %r10 = "apc.softmax_attention"(%q, %q, %q, %padded) {fill = -6.55e+04 : f32} : (tensor<1x1x512x32xf16>, tensor<1x1x512x32xf16>, tensor<1x1x512x32xf16>, tensor<512x512xi1>) -> tensor<1x1x512x32xf16>
  %near = "apc.trilu"(%all, %minus) : (tensor<512x512xi1>, tensor<i64>) -> tensor<512x512xi1>
  %window = "apc.and"(%seen, %near) : (tensor<512x512xi1>, tensor<512x512xi1>) -> tensor<512x512xi1>
  // CHECK: apc.softmax_attention: {{.*}}attention={d=32 t=512 masked}
  %r11 = "apc.softmax_attention"(%q, %q, %q, %window) {fill = -6.55e+04 : f32} : (tensor<1x1x512x32xf16>, tensor<1x1x512x32xf16>, tensor<1x1x512x32xf16>, tensor<512x512xi1>) -> tensor<1x1x512x32xf16>
  // A part of a longer matrix, whose zeros are replaced.
  %long = apc.constant dense<1024> : tensor<2xi64>
  %ones = "apc.constant_of_shape"(%long) {value = dense<1.0> : tensor<1xf32>} : (tensor<2xi64>) -> tensor<1024x1024xf32>
  %lower = "apc.trilu"(%ones, %none) {upper = 0 : i64} : (tensor<1024x1024xf32>, none) -> tensor<1024x1024xf32>
  %start = apc.constant dense<64> : tensor<2xi64>
  %end = apc.constant dense<576> : tensor<2xi64>
  %origin = apc.constant dense<[0, 64]> : tensor<2xi64>
  %other = apc.constant dense<[512, 576]> : tensor<2xi64>
  %axes = apc.constant dense<[0, 1]> : tensor<2xi64>
  %part = "apc.slice"(%lower, %start, %end, %axes, %none) : (tensor<1024x1024xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, none) -> tensor<512x512xf32>
  %part_zero = "apc.equal"(%part, %zero) : (tensor<512x512xf32>, tensor<f32>) -> tensor<512x512xi1>
  // CHECK: apc.softmax_attention: {{.*}}attention={d=32 t=512 causal}
  %r12 = "apc.softmax_attention"(%q, %q, %q, %part_zero) {fill = -6.55e+04 : f32, seen = 0 : i64} : (tensor<1x1x512x32xf16>, tensor<1x1x512x32xf16>, tensor<1x1x512x32xf16>, tensor<512x512xi1>) -> tensor<1x1x512x32xf16>
  %aside = "apc.slice"(%lower, %origin, %other, %axes, %none) : (tensor<1024x1024xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, none) -> tensor<512x512xf32>
  %aside_zero = "apc.equal"(%aside, %zero) : (tensor<512x512xf32>, tensor<f32>) -> tensor<512x512xi1>
  // CHECK: apc.softmax_attention: {{.*}}attention={d=32 t=512 masked}
  %r13 = "apc.softmax_attention"(%q, %q, %q, %aside_zero) {fill = -6.55e+04 : f32, seen = 0 : i64} : (tensor<1x1x512x32xf16>, tensor<1x1x512x32xf16>, tensor<1x1x512x32xf16>, tensor<512x512xi1>) -> tensor<1x1x512x32xf16>
  return
}

// Low numbers that are added to the scores.
func.func @added(%q: tensor<1x1x512x32xf16>, %unknown: tensor<512x512xf16>) {
  %none = apc.none
  %one = apc.constant dense<1> : tensor<i64>
  %shape = apc.constant dense<512> : tensor<2xi64>
  %infinite = "apc.constant_of_shape"(%shape) {value = dense<0xFF800000> : tensor<1xf32>} : (tensor<2xi64>) -> tensor<512x512xf32>
  %upper = "apc.trilu"(%infinite, %one) : (tensor<512x512xf32>, tensor<i64>) -> tensor<512x512xf32>
  %halves = "apc.cast"(%upper) {to = 10 : i64} : (tensor<512x512xf32>) -> tensor<512x512xf16>
  // CHECK: apc.softmax_attention: {{.*}}attention={d=32 t=512 causal}
  %r14 = "apc.softmax_attention"(%q, %q, %q, %halves) {} : (tensor<1x1x512x32xf16>, tensor<1x1x512x32xf16>, tensor<1x1x512x32xf16>, tensor<512x512xf16>) -> tensor<1x1x512x32xf16>
  %front = apc.constant dense<[0, 1]> : tensor<2xi64>
  %deep = "apc.unsqueeze"(%halves, %front) : (tensor<512x512xf16>, tensor<2xi64>) -> tensor<1x1x512x512xf16>
  // CHECK: apc.softmax_attention: {{.*}}attention={d=32 t=512 causal}
  %r15 = "apc.softmax_attention"(%q, %q, %q, %deep) {} : (tensor<1x1x512x32xf16>, tensor<1x1x512x32xf16>, tensor<1x1x512x32xf16>, tensor<1x1x512x512xf16>) -> tensor<1x1x512x32xf16>
  // From a query's own key on, and what is not known on top.
  %own = "apc.trilu"(%infinite, %none) : (tensor<512x512xf32>, none) -> tensor<512x512xf32>
  %own_halves = "apc.cast"(%own) {to = 10 : i64} : (tensor<512x512xf32>) -> tensor<512x512xf16>
  // CHECK: apc.softmax_attention: {{.*}}attention={d=32 t=512 masked}
  %r16 = "apc.softmax_attention"(%q, %q, %q, %own_halves) {} : (tensor<1x1x512x32xf16>, tensor<1x1x512x32xf16>, tensor<1x1x512x32xf16>, tensor<512x512xf16>) -> tensor<1x1x512x32xf16>
  %sum = "apc.add"(%halves, %unknown) : (tensor<512x512xf16>, tensor<512x512xf16>) -> tensor<512x512xf16>
  // CHECK: apc.softmax_attention: {{.*}}attention={d=32 t=512 masked}
  %r17 = "apc.softmax_attention"(%q, %q, %q, %sum) {} : (tensor<1x1x512x32xf16>, tensor<1x1x512x32xf16>, tensor<1x1x512x32xf16>, tensor<512x512xf16>) -> tensor<1x1x512x32xf16>
  // Choices by comparisons of positions.
  %start = apc.constant dense<0> : tensor<i64>
  %end = apc.constant dense<512> : tensor<i64>
  %column = apc.constant dense<1> : tensor<1xi64>
  %keys = "apc.range"(%start, %end, %one) : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<512xi64>
  %queries = "apc.unsqueeze"(%keys, %column) : (tensor<512xi64>, tensor<1xi64>) -> tensor<512x1xi64>
  %seen = "apc.less_or_equal"(%keys, %queries) : (tensor<512xi64>, tensor<512x1xi64>) -> tensor<512x512xi1>
  %nothing = apc.constant dense<0.0> : tensor<f16>
  %lowest = apc.constant dense<-65504.0> : tensor<f16>
  %slight = apc.constant dense<-10.0> : tensor<f16>
  %low = "apc.where"(%seen, %nothing, %lowest) : (tensor<512x512xi1>, tensor<f16>, tensor<f16>) -> tensor<512x512xf16>
  // CHECK: apc.softmax_attention: {{.*}}attention={d=32 t=512 causal}
  %r18 = "apc.softmax_attention"(%q, %q, %q, %low) {} : (tensor<1x1x512x32xf16>, tensor<1x1x512x32xf16>, tensor<1x1x512x32xf16>, tensor<512x512xf16>) -> tensor<1x1x512x32xf16>
  %swapped = "apc.where"(%seen, %lowest, %nothing) : (tensor<512x512xi1>, tensor<f16>, tensor<f16>) -> tensor<512x512xf16>
  // CHECK: apc.softmax_attention: {{.*}}attention={d=32 t=512 masked}
  %r19 = "apc.softmax_attention"(%q, %q, %q, %swapped) {} : (tensor<1x1x512x32xf16>, tensor<1x1x512x32xf16>, tensor<1x1x512x32xf16>, tensor<512x512xf16>) -> tensor<1x1x512x32xf16>
  %slightly = "apc.where"(%seen, %nothing, %slight) : (tensor<512x512xi1>, tensor<f16>, tensor<f16>) -> tensor<512x512xf16>
  // CHECK: apc.softmax_attention: {{.*}}attention={d=32 t=512 masked}
  %r20 = "apc.softmax_attention"(%q, %q, %q, %slightly) {} : (tensor<1x1x512x32xf16>, tensor<1x1x512x32xf16>, tensor<1x1x512x32xf16>, tensor<512x512xf16>) -> tensor<1x1x512x32xf16>
  // Ones and zeros that are turned into zeros and low numbers.
  %ones = "apc.cast"(%seen) {to = 10 : i64} : (tensor<512x512xi1>) -> tensor<512x512xf16>
  %whole = apc.constant dense<1.0> : tensor<f16>
  %far = apc.constant dense<-1.0e+04> : tensor<f16>
  %rest = "apc.sub"(%whole, %ones) : (tensor<f16>, tensor<512x512xf16>) -> tensor<512x512xf16>
  %scaled = "apc.mul"(%rest, %far) : (tensor<512x512xf16>, tensor<f16>) -> tensor<512x512xf16>
  // CHECK: apc.softmax_attention: {{.*}}attention={d=32 t=512 causal}
  %r21 = "apc.softmax_attention"(%q, %q, %q, %scaled) {} : (tensor<1x1x512x32xf16>, tensor<1x1x512x32xf16>, tensor<1x1x512x32xf16>, tensor<512x512xf16>) -> tensor<1x1x512x32xf16>
  // 0 times -inf is no number.
  %endless = apc.constant dense<0xFC00> : tensor<f16>
  %wrong = "apc.mul"(%rest, %endless) : (tensor<512x512xf16>, tensor<f16>) -> tensor<512x512xf16>
  // CHECK: apc.softmax_attention: {{.*}}attention={d=32 t=512 masked}
  %r22 = "apc.softmax_attention"(%q, %q, %q, %wrong) {} : (tensor<1x1x512x32xf16>, tensor<1x1x512x32xf16>, tensor<1x1x512x32xf16>, tensor<512x512xf16>) -> tensor<1x1x512x32xf16>
  return
}

// Numbers of short sequences, which are folded.
func.func @folded(%q: tensor<1x1x3x32xf16>) {
  %low = apc.constant dense<[[0.0, -1.0e+04, -1.0e+04], [0.0, 0.0, -1.0e+04], [0.0, 0.0, 0.0]]> : tensor<3x3xf16>
  // CHECK: apc.softmax_attention: {{.*}}attention={d=32 t=3 causal}
  %0 = "apc.softmax_attention"(%q, %q, %q, %low) : (tensor<1x1x3x32xf16>, tensor<1x1x3x32xf16>, tensor<1x1x3x32xf16>, tensor<3x3xf16>) -> tensor<1x1x3x32xf16>
  %uneven = apc.constant dense<[[0.0, -1.0e+04, -1.0e+04], [0.0, 0.0, -1.0e+04], [-1.0e+04, 0.0, 0.0]]> : tensor<3x3xf16>
  // CHECK: apc.softmax_attention: {{.*}}attention={d=32 t=3 masked}
  %1 = "apc.softmax_attention"(%q, %q, %q, %uneven) : (tensor<1x1x3x32xf16>, tensor<1x1x3x32xf16>, tensor<1x1x3x32xf16>, tensor<3x3xf16>) -> tensor<1x1x3x32xf16>
  %behind = apc.constant dense<[[-1.0e+04, -1.0e+04, -1.0e+04], [0.0, -1.0e+04, -1.0e+04], [0.0, 0.0, -1.0e+04]]> : tensor<3x3xf16>
  // CHECK: apc.softmax_attention: {{.*}}attention={d=32 t=3 masked}
  %2 = "apc.softmax_attention"(%q, %q, %q, %behind) : (tensor<1x1x3x32xf16>, tensor<1x1x3x32xf16>, tensor<1x1x3x32xf16>, tensor<3x3xf16>) -> tensor<1x1x3x32xf16>
  %zeros = apc.constant dense<0.0> : tensor<3x3xf16>
  // CHECK: apc.softmax_attention: {{.*}}attention={d=32 t=3 masked}
  %3 = "apc.softmax_attention"(%q, %q, %q, %zeros) : (tensor<1x1x3x32xf16>, tensor<1x1x3x32xf16>, tensor<1x1x3x32xf16>, tensor<3x3xf16>) -> tensor<1x1x3x32xf16>
  return
}
