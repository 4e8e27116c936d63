"""Models of one operator for torch_kernels.py: name, operator, inputs, and attributes with options.

Options: `wanted`, for each result whether the model asks for it; `constants`, the inputs that stand in the model;
`gradient`, the inputs whose gradients are asked for instead; `opset`; `domain`; `attributes`, those that are called
like an option."""

import numpy

MICROSOFT = {"domain": "com.microsoft"}
RANDOM = numpy.random.default_rng(1)


def floats(*shape):
    return RANDOM.standard_normal(shape).astype(numpy.float32)


def positive(*shape):
    return numpy.abs(floats(*shape)) + numpy.float32(0.5)


def whole(least, most, *shape, dtype=numpy.int64):
    return RANDOM.integers(least, most, shape).astype(dtype)


def bytes_of(*shape):
    return whole(0, 256, *shape, dtype=numpy.uint8)


def scalar(value, dtype=numpy.float32):
    return numpy.array(value, dtype=dtype)


ZERO = scalar(120, numpy.uint8)
ALL = [True, True, True, True]

NORMALISATIONS = [
    ("skip-layer", "SkipLayerNormalization", [floats(2, 3, 4), floats(2, 3, 4), floats(4), floats(4), floats(4)],
     {**MICROSOFT, "wanted": ALL}),
    ("skip-layer-without-bias", "SkipLayerNormalization", [floats(2, 3, 4), floats(2, 3, 4), floats(4)], {**MICROSOFT}),
    ("skip-simplified", "SkipSimplifiedLayerNormalization", [floats(2, 3, 4), floats(2, 3, 4), floats(4), floats(4)],
     {**MICROSOFT, "wanted": [True, False, True, True]}),
    ("simplified", "SimplifiedLayerNormalization", [floats(2, 3, 4), floats(4)], {**MICROSOFT, "wanted": [True, True]}),
    ("embed-layer", "EmbedLayerNormalization",
     [whole(0, 7, 2, 5, dtype=numpy.int32), whole(0, 2, 2, 5, dtype=numpy.int32), floats(7, 4), floats(9, 4),
      floats(2, 4), floats(4), floats(4), whole(0, 2, 2, 5, dtype=numpy.int32)],
     {**MICROSOFT, "wanted": [True, True, True]}),
    ("embed-layer-positions", "EmbedLayerNormalization",
     [whole(0, 7, 2, 5, dtype=numpy.int32), None, floats(7, 4), floats(9, 4), None, floats(4), floats(4), None,
      whole(0, 9, 2, 5, dtype=numpy.int32)], {**MICROSOFT, "wanted": [True, True]}),
    ("batch-training", "BatchNormalization", [floats(4, 3, 2, 5), floats(3), floats(3), floats(3), positive(3)],
     {"wanted": [True, True, True], "training_mode": 1}),
]


def multi_head(name, inputs, wanted=(True,), **attributes):
    return (f"multi-head-{name}", "MultiHeadAttention", inputs,
            {**MICROSOFT, "wanted": list(wanted), "num_heads": 4, **attributes})


def masked(name, mask):
    return multi_head(f"mask-{name}", [floats(2, 3, 8), floats(2, 5, 8), floats(2, 5, 12), None, mask])


def i32(values):
    return numpy.array(values, dtype=numpy.int32)


ATTENTION = [
    multi_head("apart", [floats(2, 3, 8), floats(2, 5, 8), floats(2, 5, 12), floats(28)], (True, True, True)),
    multi_head("bias", [floats(2, 3, 8), floats(2, 5, 8), floats(2, 5, 8), None, None, floats(2, 1, 3, 5)],
               (True, False, False, True), scale=0.3),
    multi_head("packed", [floats(2, 3, 4, 3, 2)], unidirectional=1),
    multi_head("packed-keys", [floats(2, 3, 8), floats(2, 5, 4, 2, 2)]),
    multi_head("blocks", [floats(2, 3, 24), None, None, floats(24)]),
    multi_head("transposed", [floats(2, 3, 8), floats(2, 4, 5, 2), floats(2, 4, 5, 3)]),
    multi_head("past", [floats(2, 1, 8), floats(2, 1, 8), floats(2, 1, 8), None, None, None, floats(2, 4, 3, 2),
                        floats(2, 4, 3, 2)], (True, True, True), unidirectional=1),
    masked("lengths", i32([2, 4])),
    masked("ranges", i32([4, 5, 1, 0])),
    masked("sums", i32([2, 4, 0, 2, 6, 0, 2, 6])),
    masked("keys", i32([[1, 1, 0, 1, 0], [1, 1, 1, 1, 0]])),
    masked("rows", whole(0, 2, 2, 3, 5, dtype=numpy.int32)),
    ("decoder-masked", "DecoderMaskedMultiHeadAttention",
     [floats(2, 1, 8), floats(2, 1, 8), floats(2, 1, 8), None, None, floats(2, 4, 6, 2), floats(2, 4, 6, 2), i32([3])],
     {**MICROSOFT, "num_heads": 4, "wanted": [True, True, True], "past_present_share_buffer": 1}),
    ("projected", "Attention", [floats(2, 3, 6), floats(6, 24), floats(24), i32([2, 3])],
     {**MICROSOFT, "num_heads": 4, "unidirectional": 1}),
    ("projected-sizes", "Attention", [floats(2, 3, 6), floats(6, 28), floats(28)],
     {**MICROSOFT, "num_heads": 4, "qkv_hidden_sizes": [8, 8, 12]}),
    ("projected-past", "Attention", [floats(2, 1, 6), floats(6, 24), floats(24), None, floats(2, 2, 4, 3, 2)],
     {**MICROSOFT, "num_heads": 4, "wanted": [True, True]}),
    ("rotary", "RotaryEmbedding", [floats(2, 4, 3, 6), i32([[0, 1, 2], [2, 3, 4]]).astype(numpy.int64), floats(8, 3),
                                   floats(8, 3)], {**MICROSOFT}),
    ("rotary-begin", "RotaryEmbedding", [floats(2, 3, 24), scalar([2], numpy.int64), floats(8, 3), floats(8, 3)],
     {**MICROSOFT, "interleaved": 1}),
]


def group_query(name, inputs, wanted=(True,), **attributes):
    return (f"group-query-{name}", "GroupQueryAttention", inputs,
            {**MICROSOFT, "num_heads": 4, "kv_num_heads": 2, "wanted": list(wanted), "constants": (6,), **attributes})


def new_tokens(count, past=0):
    """Queries, keys, values and caches of 4 query heads of size 4, 2 key heads; lengths and total."""
    caches = [floats(2, 2, past, 4), floats(2, 2, past, 4)] if past else [None, None]
    total = past + count
    return [floats(2, count, 16), floats(2, count, 8), floats(2, count, 8), *caches, i32([total - 1] * 2), i32(total)]


GROUP_QUERY = [
    group_query("first", new_tokens(5), (True, True, True)),
    group_query("packed", [floats(2, 5, 32), None, None, None, None, i32([4, 4]), i32(5)], softcap=2.0),
    group_query("past", new_tokens(1, 6), (True, True, True), local_window_size=3),
    group_query("shorter", [*new_tokens(5)[:5], i32([2, 4]), i32(5)], (True, True, True)),
    group_query("rotary", [*new_tokens(2, 4), floats(8, 2), floats(8, 2)], (True, True, True), do_rotary=1),
    group_query("rotary-pairs", [*new_tokens(2, 4), floats(8, 2), floats(8, 2)], do_rotary=1, rotary_interleaved=1,
                smooth_softmax=1),
    group_query("bias", [*new_tokens(3), None, None, None, floats(2, 4, 3, 3)]),
    ("group-query-one-key-head", "GroupQueryAttention", [floats(2, 5, 24), None, None, None, None, i32([4, 4]), i32(5)],
     {**MICROSOFT, "num_heads": 4, "kv_num_heads": 1, "constants": (6,)}),
]


def experts(name, inputs, **attributes):
    return (f"moe-{name}", "MoE", inputs, {**MICROSOFT, "k": 2, **attributes})


EXPERTS = [
    experts("relu", [floats(5, 4), floats(5, 3), floats(3, 6, 4), floats(3, 6), floats(3, 4, 6), floats(3, 4)]),
    experts("inputs-first", [floats(5, 4), floats(5, 3), floats(3, 4, 6), None, floats(3, 6, 4)],
            activation_type="gelu", normalize_routing_weights=1),
    experts("third", [floats(2, 3, 4), floats(6, 3), floats(3, 6, 4), None, floats(3, 4, 6), None, floats(3, 6, 4)],
            activation_type="silu", k=1),
    experts("swiglu", [floats(5, 4), floats(5, 3), floats(3, 12, 4), floats(3, 12), floats(3, 4, 6), floats(3, 4)],
            activation_type="swiglu", swiglu_fusion=1, activation_alpha=1.7, activation_beta=1.0, swiglu_limit=1.5),
    experts("swiglu-blocks", [floats(5, 4), floats(5, 3), floats(3, 12, 4), None, floats(3, 4, 6)],
            activation_type="swiglu", swiglu_fusion=2),
    ("qmoe", "QMoE", [floats(5, 8), floats(5, 3), bytes_of(3, 6, 4), positive(3, 6), floats(3, 6), bytes_of(3, 8, 3),
                      positive(3, 8)], {**MICROSOFT, "k": 2, "expert_weight_bits": 4}),
]

QUANTISED = [
    ("matmul-4-bits", "MatMulNBits", [floats(3, 64), bytes_of(5, 4, 8), positive(5, 4)],
     {**MICROSOFT, "K": 64, "N": 5, "bits": 4, "block_size": 16}),
    ("matmul-4-bits-zeros", "MatMulNBits",
     [floats(2, 3, 64), bytes_of(5, 4, 8), positive(20), bytes_of(10), None, floats(5)],
     {**MICROSOFT, "K": 64, "N": 5, "bits": 4, "block_size": 16}),
    ("matmul-8-bits", "MatMulNBits", [floats(3, 60), bytes_of(5, 4, 16), positive(5, 4), floats(5, 4)],
     {**MICROSOFT, "K": 60, "N": 5, "bits": 8, "block_size": 16}),
    ("matmul-2-bits-groups", "MatMulNBits",
     [floats(3, 64), bytes_of(5, 4, 4), positive(5, 4), None, whole(0, 4, 64, dtype=numpy.int32)],
     {**MICROSOFT, "K": 64, "N": 5, "bits": 2, "block_size": 16}),
    ("matmul-to-float", "MatMulIntegerToFloat",
     [bytes_of(3, 7), bytes_of(7, 4), scalar(0.1), positive(4), ZERO, ZERO, floats(4)], {**MICROSOFT}),
    ("dynamic-matmul", "DynamicQuantizeMatMul", [floats(3, 7), bytes_of(7, 4), positive(4), None, floats(4)],
     {**MICROSOFT}),
    ("qlinear-add", "QLinearAdd",
     [bytes_of(3, 5), scalar(0.1), ZERO, bytes_of(5), scalar(0.2), ZERO, scalar(0.3), ZERO], {**MICROSOFT}),
    ("qlinear-mul", "QLinearMul",
     [bytes_of(3, 5), scalar(0.1), ZERO, bytes_of(5), scalar(0.2), ZERO, scalar(9), ZERO], {**MICROSOFT}),
    ("qlinear-sigmoid", "QLinearSigmoid", [bytes_of(3, 5), scalar(0.05), ZERO, scalar(0.004), scalar(0, numpy.uint8)],
     {**MICROSOFT}),
    ("qlinear-leaky", "QLinearLeakyRelu", [bytes_of(3, 5), scalar(0.1), ZERO, scalar(0.1), ZERO],
     {**MICROSOFT, "alpha": 0.3}),
    ("qlinear-where", "QLinearWhere",
     [RANDOM.random((3, 5)) > 0.5, bytes_of(3, 5), scalar(0.1), ZERO, bytes_of(5), scalar(0.2), ZERO, scalar(0.2),
      ZERO], {**MICROSOFT}),
    ("qlinear-pool", "QLinearGlobalAveragePool", [bytes_of(2, 3, 4, 5), scalar(0.1), ZERO, scalar(0.05), ZERO],
     {**MICROSOFT}),
]

FUSED = [
    ("fused-matmul", "FusedMatMul", [floats(2, 4, 3), floats(2, 5, 4)],
     {**MICROSOFT, "alpha": 0.5, "transA": 1, "transB": 1}),
    ("fused-matmul-batch", "FusedMatMul", [floats(3, 2, 4), floats(2, 4, 5)], {**MICROSOFT, "transBatchA": 1}),
    ("fused-gemm", "FusedGemm", [floats(3, 4), floats(5, 4), floats(5)],
     {**MICROSOFT, "transB": 1, "activation": "LeakyRelu", "activation_alpha": 0.2}),
    ("fused-conv", "FusedConv", [floats(2, 3, 6, 5), floats(4, 3, 3, 3), floats(4), floats(2, 4, 6, 5)],
     {**MICROSOFT, "pads": [1, 1, 1, 1], "activation": "Relu"}),
    ("bias-gelu", "BiasGelu", [floats(3, 5), floats(5)], {**MICROSOFT}),
    ("fast-gelu", "FastGelu", [floats(3, 5), floats(5)], {**MICROSOFT}),
    ("quick-gelu", "QuickGelu", [floats(3, 5)], {**MICROSOFT}),
    ("accumulator", "InPlaceAccumulatorV2", [floats(3, 5), floats(3, 5)], {**MICROSOFT, "wanted": [True, True]}),
    ("global-lp-pool", "GlobalLpPool", [floats(2, 3, 4, 5)], {"p": 3}),
    ("lp-pool", "LpPool", [floats(2, 3, 6, 5)], {"p": 3, "kernel_shape": [3, 2], "pads": [1, 0, 1, 1]}),
    ("max-roi-pool", "MaxRoiPool", [floats(2, 3, 8, 8), numpy.array([[0, 1, 1, 5, 6], [1, 0, 2, 7, 7]], numpy.float32)],
     {"pooled_shape": [2, 3]}),
    ("add-at-axis", "Add", [floats(2, 3, 4, 5), floats(3, 4)], {"opset": 6, "axis": 1, "broadcast": 1}),
    ("div-at-axis", "Div", [floats(2, 3, 4), positive(2)], {"opset": 6, "axis": 0, "broadcast": 1}),
    ("prelu-6", "PRelu", [floats(2, 3, 4, 5), floats(3)], {"opset": 6}),
    ("relu-grad", "ReluGrad", [floats(3, 5), floats(3, 5)], {**MICROSOFT}),
    ("loss-grad", "SoftmaxCrossEntropyLossGrad", [scalar(0.7), floats(6, 5), whole(0, 5, 6), positive(5)],
     {**MICROSOFT}),
]


def gradient(op, *inputs, of=(0,), name="", **attributes):
    return (f"gradient-{name or op.lower()}", op, list(inputs), {"gradient": of, **attributes})


IMAGE = (2, 4, 6, 5)
PLACES = numpy.array([[[[0, 3], [9, 14]], [[17, 18], [25, 31]]]])
BOXES = numpy.array([[0.4, 0.3, 3.1, 4.2], [-2, 1.3, 2.2, 2.9], [1.7, 0.1, 9, 7.7]], dtype=numpy.float32)
GRADIENTS = [gradient(op, floats(3, 5)) for op in ["Erf", "HardSigmoid", "HardSwish", "Elu", "Selu", "Celu",
                                                  "LeakyRelu", "Sigmoid", "Tanh", "Softplus", "Softsign", "Relu",
                                                  "ThresholdedRelu", "Softmax", "LogSoftmax", "ReduceL2"]] + [
    gradient("Mish", floats(3, 5), opset=18),
    gradient("Swish", floats(3, 5), opset=24, alpha=0.7), gradient("Gelu", floats(3, 5), opset=20, approximate="tanh"),
    gradient("Gelu", floats(3, 5), name="gelu-exact", opset=20),
    gradient("Softmax", floats(3, 4, 5), name="softmax-12", opset=12, axis=1),
    gradient("LogSoftmax", floats(3, 4, 5), name="log-softmax-12", opset=12),
    gradient("Clip", floats(3, 5), scalar(-0.5), scalar(0.4)),
    gradient("LayerNormalization", floats(2, 3, 4), floats(4), floats(4), of=(0, 1, 2)),
    gradient("BatchNormalization", floats(*IMAGE), floats(4), floats(4), floats(4), positive(4), of=(0, 1, 2)),
    gradient("InstanceNormalization", floats(*IMAGE), floats(4), floats(4), of=(0, 1, 2)),
    gradient("GroupNormalization", floats(*IMAGE), floats(4), floats(4), of=(0, 1, 2), num_groups=2, opset=21),
    gradient("LRN", floats(*IMAGE), size=3), gradient("CumSum", floats(3, 5), scalar(1, numpy.int64), constants=(1,)),
    gradient("Gather", floats(7, 4), whole(0, 7, 2, 5)),
    gradient("GatherElements", floats(4, 5), whole(0, 4, 3, 5)),
    gradient("GatherND", floats(4, 5, 3), whole(0, 4, 6, 2)),
    gradient("GatherND", floats(2, 5, 3), whole(0, 5, 2, 4, 1), name="gathernd-batch", batch_dims=1),
    gradient("ScatterElements", floats(4, 5), whole(0, 4, 1, 5), floats(1, 5), of=(0, 2)),
    gradient("ScatterND", floats(6, 3), numpy.array([[1], [4]]), floats(2, 3), of=(0, 2)),
    gradient("Conv", floats(*IMAGE), floats(6, 2, 3, 3), floats(6), of=(0, 1, 2), group=2, strides=[2, 1],
             pads=[1, 0, 1, 1]),
    gradient("ConvTranspose", floats(*IMAGE), floats(4, 3, 3, 2), floats(3), of=(0, 1, 2), strides=[2, 1]),
    gradient("MaxPool", floats(*IMAGE), kernel_shape=[3, 2], strides=[2, 1]),
    gradient("AveragePool", floats(*IMAGE), kernel_shape=[3, 2], pads=[1, 0, 1, 1]),
    gradient("AveragePool", floats(*IMAGE), name="averagepool-pads", kernel_shape=[3, 2], pads=[1, 0, 1, 1],
             count_include_pad=1),
    gradient("GlobalAveragePool", floats(*IMAGE)), gradient("GlobalMaxPool", floats(*IMAGE)),
    gradient("LpPool", positive(*IMAGE), kernel_shape=[3, 2]),
    *(gradient("GridSample", floats(*IMAGE), floats(2, 3, 4, 2), of=of, name=f"grid-{mode}-{padding}-{aligned}", opset=20,
               mode=mode, padding_mode=padding, align_corners=aligned)
      for mode, padding, of in (("linear", "zeros", (0, 1)), ("linear", "border", (0, 1)), ("cubic", "zeros", (0, 1)),
                                ("linear", "reflection", (0, 1)), ("nearest", "zeros", (0,))) for aligned in (0, 1)),
    gradient("GridSample", floats(2, 3, 4, 5, 3), floats(2, 1, 3, 2, 3), of=(0, 1), name="grid-3d", opset=20),
    gradient("GridSample", floats(2, 3, 5), floats(2, 4, 1), of=(0, 1), name="grid-1d", opset=20),
    gradient("AffineGrid", floats(2, 2, 3), numpy.array([2, 3, 4, 5]), constants=(1,), opset=20),
    gradient("Col2Im", floats(2, 12, 9), numpy.array([6, 5]), numpy.array([3, 2]), constants=(1, 2), opset=18,
             strides=[2, 1], pads=[1, 0, 1, 0], dilations=[1, 2]),
    gradient("MaxUnpool", floats(1, 2, 2, 2), PLACES, kernel_shape=[2, 2], strides=[2, 2]),
    gradient("MaxUnpool", floats(1, 2, 2, 2), PLACES, numpy.array([1, 2, 5, 6]), name="maxunpool-larger",
             constants=(2,), kernel_shape=[2, 2], strides=[2, 2]),
    *(gradient("RoiAlign", floats(*IMAGE), BOXES, numpy.array([1, 0, 1]), name=f"roi-{mode}", opset=16, mode=mode,
               output_height=2, output_width=3, sampling_ratio=2) for mode in ("avg", "max")),
    gradient("MaxRoiPool", floats(*IMAGE), numpy.insert(BOXES, 0, [1, 0, 1], 1), pooled_shape=[2, 2]),
    gradient("DeformConv", floats(*IMAGE), floats(6, 2, 2, 3), floats(2, 24, 5, 3), floats(6), floats(2, 12, 5, 3),
             of=(0, 1, 2, 3, 4), opset=19, group=2, offset_group=2),
    gradient("FusedConv", floats(*IMAGE), floats(6, 2, 3, 3), floats(6), floats(2, 6, 4, 3), of=(0, 1, 2, 3), group=2,
             attributes={"activation": "HardSigmoid"}, **MICROSOFT),
    gradient("SoftmaxCrossEntropyLoss", floats(6, 5), whole(0, 5, 6), positive(5), reduction="mean"),
    gradient("SoftmaxCrossEntropyLoss", floats(6, 5, 2), whole(0, 5, 6, 2), name="loss-none", reduction="none",
             ignore_index=2),
    gradient("NegativeLogLikelihoodLoss", floats(6, 5), whole(0, 5, 6), positive(5), name="likelihood",
             reduction="mean"),
    gradient("NegativeLogLikelihoodLoss", floats(6, 5, 2), whole(0, 5, 6, 2), name="likelihood-sum", reduction="sum",
             ignore_index=2),
    gradient("TopK", floats(3, 5), numpy.array([2]), constants=(1,), wanted=[True, True]),
    gradient("Slice", floats(4, 5), *(numpy.array([value]) for value in (3, -9, 1, -1)), constants=(1, 2, 3, 4)),
    gradient("Pad", floats(3, 5), numpy.array([1, 0, 2, 1]), constants=(1,)),
    gradient("Resize", floats(1, 2, 3, 4), None, numpy.array([1, 1, 2, 1.5], numpy.float32), constants=(2,),
             mode="linear"),
    gradient("Einsum", floats(2, 3, 4), floats(4, 5), of=(0, 1), equation="abc,cd->abd"),
    gradient("MultiHeadAttention", floats(2, 3, 8), floats(2, 5, 8), floats(2, 5, 8), of=(0, 1, 2), num_heads=4,
             **MICROSOFT),
    gradient("RotaryEmbedding", floats(2, 4, 3, 6), whole(0, 8, 2, 3), floats(8, 3), floats(8, 3), **MICROSOFT),
    gradient("SkipLayerNormalization", floats(2, 3, 4), floats(2, 3, 4), floats(4), floats(4), of=(0, 1, 2, 3),
             **MICROSOFT),
    gradient("Attention", floats(2, 4, 3, 6), floats(2, 2, 5, 6), floats(2, 2, 5, 4), floats(4, 3, 5), of=(0, 1, 2, 3),
             name="attention-capped", opset=23, softcap=0.75, is_causal=1),
    gradient("DFT", floats(2, 6, 3, 1), None, scalar(1, numpy.int64), constants=(2,), opset=20, onesided=1),
    gradient("DFT", floats(2, 4, 2), name="dft-inverse", opset=20, inverse=1),
    gradient("STFT", floats(2, 20, 1), scalar(3, numpy.int64), floats(8), of=(0, 2), constants=(1,)),
    gradient("MultiHeadAttention", floats(2, 3, 8), floats(2, 5, 8), floats(2, 5, 8), None, whole(0, 2, 2, 5, dtype=numpy.int32),
             of=(0, 1, 2), name="multi-head-padding", num_heads=4, mask_filter_value=-2.0, **MICROSOFT),
    gradient("Attention", floats(2, 3, 6), floats(6, 24), floats(24), numpy.array([2, 3], numpy.int32), of=(0, 1, 2),
             name="attention-projected", num_heads=4, unidirectional=1, **MICROSOFT),
    gradient("LinearAttention", floats(2, 4, 8), floats(2, 4, 4), floats(2, 4, 6), floats(2, 2, 2, 3),
             -positive(2, 4, 2), floats(2, 4, 2), of=(0, 1, 2, 3, 4, 5), q_num_heads=4, kv_num_heads=2, **MICROSOFT),
    gradient("LinearAttention", floats(2, 4, 2), floats(2, 4, 4), floats(2, 4, 6), None, -positive(2, 4, 4),
             of=(0, 1, 2, 4), name="linear-attention-gated", q_num_heads=1, kv_num_heads=2, update_rule="gated",
             **MICROSOFT),
    gradient("CausalConvWithState", floats(2, 3, 5), floats(3, 1, 3), floats(3), floats(2, 3, 2), of=(0, 1, 2, 3),
             activation="silu", **MICROSOFT),
    gradient("MoE", floats(5, 8), floats(5, 3), floats(3, 6, 8), floats(3, 6), floats(3, 8, 6), floats(3, 8),
             of=(0, 1, 2, 3, 4, 5), k=2, normalize_routing_weights=1, activation_type="gelu", **MICROSOFT),
    gradient("MoE", floats(2, 3, 4), floats(6, 3), floats(3, 10, 4), floats(3, 10), floats(3, 4, 5), of=(0, 1, 2, 3, 4),
             name="moe-gated", k=2, activation_type="swiglu", swiglu_fusion=1, swiglu_limit=2.0, activation_beta=0.5,
             **MICROSOFT),
    gradient("GroupQueryAttention", floats(2, 3, 8), floats(2, 3, 4), floats(2, 3, 4), *[None] * 8, floats(4),
             of=(0, 1, 2, 11), name="group-query-sink", num_heads=4, kv_num_heads=2, softcap=0.75, **MICROSOFT),
    gradient("GroupQueryAttention", floats(2, 3, 8), floats(2, 3, 4), floats(2, 3, 4), floats(2, 2, 4, 2),
             floats(2, 2, 4, 2), numpy.array([4, 3], numpy.int32), numpy.array([5], numpy.int32), floats(6, 1),
             floats(6, 1), of=(0, 1, 2, 3, 4), constants=(6,), name="group-query-cache", num_heads=4, kv_num_heads=2,
             do_rotary=1, **MICROSOFT),
    gradient("Attention", floats(2, 4, 3, 6), floats(2, 2, 3, 6), floats(2, 2, 3, 4), None, floats(2, 2, 2, 6),
             floats(2, 2, 2, 4), of=(0, 1, 2, 4, 5), name="attention-cache", opset=23, is_causal=1),
    gradient("Attention", floats(2, 4, 3, 6), floats(2, 2, 5, 6), floats(2, 2, 5, 4), *[None] * 3, numpy.array([5, 2]),
             of=(0, 1, 2), name="attention-lengths", opset=24, is_causal=1),
    gradient("FusedGemm", floats(3, 4), floats(4, 5), floats(5), of=(0, 1, 2), attributes={"activation": "Selu"},
             **MICROSOFT),
    gradient("MatMulNBits", floats(2, 3, 32), bytes_of(7, 2, 8), positive(14), None, None, floats(7), of=(0, 5), K=32,
             N=7, bits=4, block_size=16, **MICROSOFT),
    gradient("QMoE", floats(5, 8), floats(5, 3), bytes_of(3, 6, 4), positive(3, 6), floats(3, 6), bytes_of(3, 8, 3),
             positive(3, 8), floats(3, 8), of=(0, 1, 4, 7), k=2, activation_type="silu", **MICROSOFT),
    gradient("TensorScatter", floats(2, 3, 5, 4), floats(2, 3, 2, 4), numpy.array([3, 1]), of=(0, 1), opset=24),
    gradient("Det", floats(3, 4, 4)), gradient("Det", numpy.ones((2, 2, 2), numpy.float32), name="det-singular"),
]



def recurrent(kind, direction, *, more=0, lengths=False, layout=0, **options):
    """4 positions, batch 3, 2 inputs, 3 hidden units; `more` operands behind the bias: initial states, peepholes."""
    directions, rows = 2 if direction == "bidirectional" else 1, 3 * {"RNN": 1, "GRU": 3, "LSTM": 4}[kind]
    state = (3, directions, 3) if layout else (directions, 3, 3)
    extra = [floats(*state), floats(*state), floats(directions, 9)][:more]
    inputs = [floats(*((3, 4, 2) if layout else (4, 3, 2))), floats(directions, rows, 2), floats(directions, rows, 3),
              floats(directions, 2 * rows), numpy.array([2, 4, 1], numpy.int32) if lengths else None, *extra]
    return inputs, dict(options, direction=direction, hidden_size=3, layout=layout)


def recurrent_cases(name, kind, direction, **options):
    """The operator with all its results, and the gradients of all inputs from that of the sequence."""
    inputs, attributes = recurrent(kind, direction, **options)
    while inputs[-1] is None:
        inputs.pop()
    wanted = [True] * (3 if kind == "LSTM" else 2)
    trained = tuple(index for index, each in enumerate(inputs) if each is not None and each.dtype == numpy.float32)
    return [(name, kind, inputs, dict(attributes, wanted=wanted)),
            (name + "-gradient", kind, inputs, dict(attributes, gradient=trained))]


RECURRENT = [
    *recurrent_cases("rnn", "RNN", "forward"),
    *recurrent_cases("rnn-both", "RNN", "bidirectional", more=1, lengths=True, activations=["Affine", "Softsign"],
                     activation_alpha=[0.5], activation_beta=[0.1]),
    *recurrent_cases("gru-both", "GRU", "bidirectional", more=1, lengths=True, layout=1),
    *recurrent_cases("gru-reset-behind", "GRU", "reverse", more=1, linear_before_reset=1, clip=0.5),
    *recurrent_cases("gru-activations", "GRU", "forward", activations=["HardSigmoid", "LeakyRelu"],
                     activation_alpha=[0.3, 0.2]),
    *recurrent_cases("lstm-both", "LSTM", "bidirectional", more=3, lengths=True),
    *recurrent_cases("lstm-coupled", "LSTM", "reverse", more=3, layout=1, input_forget=1, clip=0.7),
    *recurrent_cases("lstm-activations", "LSTM", "bidirectional", more=2, activation_alpha=[1.5, 0.5],
                     activation_beta=[0.5],
                     activations=["Sigmoid", "ScaledTanh", "Elu", "Softplus", "ThresholdedRelu", "Relu"]),
]

IMAGE_LAST = (2, 4, 3, 6)
BYTE = scalar(3, numpy.uint8)
OF_RUNTIME = [(name, operator, inputs, {**MICROSOFT, **options}) for name, operator, inputs, options in [
    ("group-last", "GroupNorm", [floats(*IMAGE_LAST), floats(6), floats(6)], {"groups": 3, "activation": 1}),
    ("group-first", "GroupNorm", [floats(*IMAGE), floats(4), floats(4)],
     {"groups": 2, "activation": 0, "channels_last": 0}),
    ("skip-group", "SkipGroupNorm",
     [floats(*IMAGE_LAST), floats(6), floats(6), floats(*IMAGE_LAST), floats(6)],
     {"groups": 2, "activation": 1, "wanted": [True, True]}),
    ("skip-group-row", "SkipGroupNorm", [floats(*IMAGE_LAST), floats(6), floats(6), floats(2, 6)],
     {"groups": 3, "activation": 0}),
    ("skip-group-ones", "SkipGroupNorm", [floats(*IMAGE_LAST), floats(6), floats(6), floats(2, 1, 1, 6)],
     {"groups": 3, "activation": 0}),
    ("gemm-turned", "Gemm", [floats(3, 4), floats(5, 4)], {"domain": "", "transB": 1}),
    ("conv-last", "NhwcConv", [floats(*IMAGE_LAST), floats(8, 3, 3, 3), floats(8)], {"group": 2, "pads": [1, 0, 1, 0]}),
    ("bias-add", "BiasAdd", [floats(2, 5, 6), floats(6), floats(2, 5, 6)], {}),
    ("bias-split", "BiasSplitGelu", [floats(2, 5, 8), floats(8)], {}),
    ("qlinear-windows", "QLinearAveragePool", [bytes_of(*IMAGE), scalar(0.1), ZERO, scalar(0.05), BYTE],
     {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]}),
    ("qlinear-windows-last", "QLinearAveragePool", [bytes_of(*IMAGE_LAST), scalar(0.1), ZERO, scalar(0.05), BYTE],
     {"kernel_shape": [2, 2], "channels_last": 1, "count_include_pad": 1, "pads": [1, 1, 0, 0]}),
    ("bnb4-normal", "MatMulBnb4", [floats(2, 3, 10), bytes_of(35), positive(5)],
     {"K": 10, "N": 7, "block_size": 16, "quant_type": 1}),
    ("bnb4-float", "MatMulBnb4", [floats(3, 9), bytes_of(23), positive(3)],
     {"K": 9, "N": 5, "block_size": 16, "quant_type": 0}),
    ("qlinear-softmax", "QLinearSoftmax", [bytes_of(3, 4, 5), scalar(0.05), ZERO, scalar(0.004), scalar(0, numpy.uint8)],
     {"attributes": {"opset": 13}, "axis": 1}),
    ("qlinear-softmax-12", "QLinearSoftmax",
     [bytes_of(3, 4, 5), scalar(0.05), ZERO, scalar(0.004), scalar(0, numpy.uint8)],
     {"attributes": {"opset": 12}, "axis": 1}),
    ("qlinear-concat", "QLinearConcat",
     [scalar(0.1), ZERO, bytes_of(3, 4), scalar(0.05), BYTE, bytes_of(3, 2), scalar(0.2), ZERO], {"axis": 1}),
    ("qgemm", "QGemm",
     [bytes_of(3, 6), scalar(0.1), ZERO, bytes_of(6, 4), scalar(0.02), BYTE, whole(-99, 99, 4, dtype=numpy.int32),
      scalar(0.5), ZERO], {}),
    ("qgemm-columns", "QGemm",
     [bytes_of(6, 3), scalar(0.1), ZERO, whole(-128, 128, 4, 6, dtype=numpy.int8), positive(4) / 50,
      whole(-3, 4, 4, dtype=numpy.int8), None], {"transA": 1, "transB": 1, "alpha": 0.5}),
]]


def two_trees(kind, votes):
    """Trees of two tests and of one, over four features: a leaf is (tree, node), its votes follow."""
    columns = {"treeids": [tree for tree, _, _, _ in votes], "nodeids": [node for _, node, _, _ in votes],
               "ids": [target for _, _, target, _ in votes], "weights": [weight for _, _, _, weight in votes]}
    return {"nodes_treeids": [0] * 5 + [1] * 3, "nodes_nodeids": [0, 1, 2, 3, 4, 0, 1, 2],
            "nodes_featureids": [0, 3, 0, 0, 0, 1, 0, 0], "nodes_values": [0.25, -0.5, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0],
            "nodes_modes": ["BRANCH_LEQ", "BRANCH_GT", "LEAF", "LEAF", "LEAF", "BRANCH_LT", "LEAF", "LEAF"],
            "nodes_truenodeids": [1, 3, 0, 0, 0, 1, 0, 0], "nodes_falsenodeids": [2, 4, 0, 0, 0, 2, 0, 0],
            **{f"{kind}_{name}": column for name, column in columns.items()}}


ONE_EACH = [(0, 2, 0, 1.5), (0, 3, 0, 2.0), (0, 4, 0, -1.0), (1, 1, 0, 0.25), (1, 2, 0, 4.0)]
SEVERAL = [(0, 2, 0, 1.5), (0, 3, 2, 2.0), (0, 3, 0, 0.5), (0, 4, 1, -1.0), (1, 1, 0, 0.25), (1, 1, 1, 3.0),
           (1, 2, 2, 4.0)]
FEATURES = [(name, operator, inputs, {"domain": "ai.onnx.ml", **options}) for name, operator, inputs, options in [
    ("scaler", "Scaler", [floats(6, 4)], {"offset": [1.0, 2.0, 3.0, 4.0], "scale": [0.5, 2.0, -1.0, 3.0]}),
    ("normalizer", "Normalizer", [floats(6, 4)], {"norm": "L2"}),
    ("imputer", "Imputer", [whole(0, 3, 6, 4)], {"imputed_value_int64s": [7, 8, 9, 6], "replaced_value_int64": 1}),
    ("one-hot-encoder", "OneHotEncoder", [whole(0, 5, 6)], {"cats_int64s": [3, 1, 4]}),
    ("linear-classifier", "LinearClassifier", [floats(6, 4)],
     {"coefficients": [0.5] * 4 + [-0.25] * 4 + [1.0, -1.0] * 2, "intercepts": [0.1, 0.2, 0.3],
      "classlabels_ints": [5, 7, 2], "post_transform": "SOFTMAX_ZERO", "wanted": [True, True]}),
    ("linear-probit", "LinearRegressor", [positive(6, 4) / 20],
     {"coefficients": [1.0] * 4, "post_transform": "PROBIT"}),
    ("trees", "TreeEnsembleRegressor", [floats(9, 4)], {**two_trees("target", ONE_EACH), "n_targets": 1}),
    *((f"trees-{how}".lower(), "TreeEnsembleRegressor", [floats(9, 4)],
       {**two_trees("target", SEVERAL), "n_targets": 3, "aggregate_function": how, "base_values": [0.5, 1.0, 2.0]})
      for how in ("SUM", "AVERAGE", "MIN", "MAX")),
    ("trees-classifier", "TreeEnsembleClassifier", [floats(9, 4)],
     {**two_trees("class", SEVERAL), "classlabels_int64s": [5, 7, 2], "wanted": [True, True]}),
    ("label-encoder", "LabelEncoder", [whole(0, 5, 6, 4)],
     {"keys_int64s": [3, 1, 3], "values_floats": [0.5, 2.5, 4.5], "default_float": -2.0}),
    ("label-encoder-nan", "LabelEncoder", [scalar([1, numpy.nan, 2])],
     {"keys_floats": [numpy.nan, 2.0], "values_int64s": [6, 8]}),
]]

CASES = [*NORMALISATIONS, *OF_RUNTIME, *FEATURES, *ATTENTION, *GROUP_QUERY, *EXPERTS, *QUANTISED, *FUSED, *GRADIENTS,
         *RECURRENT]
