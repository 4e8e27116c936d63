// The families of operators: one tag for each .td file below Ops/. A new family is one line here, one .td and one .cpp.
#pragma once

namespace apc::families {

struct Structural;
struct Elementwise;
struct Contraction;
struct Reduction;
struct Normalization;
struct Loss;
struct Movement;
struct Creation;
struct Indexing;
struct Convolution;
struct Quantization;
struct Attention;
struct Signal;
struct Spmd;

} // namespace apc::families
