"""The program of each rank, on the pieces that it holds."""
import torch
import torch.nn.functional as F

import ops
from collectives import Tables, all_gather, all_reduce

MESH = {"device": 4}
GROUPS = [("device",)]  # of ranks that exchange data: axes of the mesh


def make_constants(device):
    return {
        "mask_0": torch.tensor([[[[True, False, False, False, False], [True, True, False, False, False], [True, True,
                True, False, False], [True, True, True, True, False], [True, True, True, True, True]]]],
                dtype=torch.bool, device=device),
        "constant_1": torch.tensor([0, 1, 2, 3, 4], dtype=torch.int64, device=device),
        "constant_2": torch.tensor(1.0, dtype=torch.float32, device=device),
    }


def layer0(rank, weights, add):
    (ln_1_layer_normalization, _, _) = ops.layer_normalization(add, weights["ln_1.weight"], weights["ln_1.bias"],
            epsilon=1e-05)
    c_attn_reshape = ln_1_layer_normalization.reshape((10, 24))
    (split, split_2, split_3) = torch.addmm(weights["c_attn.bias"], c_attn_reshape,
            weights["c_attn.weight"]).reshape((2, 5, 72)).split([24, 24, 24], 2)  # m:device, 5.02 us
    transpose = split.reshape((2, 5, 3, 8)).permute([0, 2, 1, 3])
    reshape_1 = split_2.reshape((2, 5, 3, 8))
    transpose_1 = split_3.reshape((2, 5, 3, 8)).permute([0, 2, 1, 3])
    transpose_2 = reshape_1.permute([0, 2, 3, 1])
    c_proj_reshape = ops.softmax_attention(transpose, transpose_2, transpose_1, rank.constants["mask_0"],
            scale=0.35355338, fill=-3.4028234663852886e+38, keys_transposed=1).permute([0, 2, 1, 3]).reshape((2, 5,
            24)).reshape((10, 24))  # b0:device, 5.01 us
    # m:device, 5.01 us
    c_proj_reshape_1 = torch.addmm(weights["c_proj.bias"], c_proj_reshape, weights["c_proj.weight"]).reshape((2, 5, 24))
    add = add + c_proj_reshape_1
    (ln_2_layer_normalization, _, _) = ops.layer_normalization(add, weights["ln_2.weight"], weights["ln_2.bias"],
            epsilon=1e-05)
    c_fc_reshape = ln_2_layer_normalization.reshape((10, 24))
    # m:device, 5.02 us
    c_fc_reshape_1 = torch.addmm(weights["c_fc.bias"], c_fc_reshape, weights["c_fc.weight"]).reshape((2, 5, 96))
    c_out_reshape = F.gelu(c_fc_reshape_1, approximate="tanh").reshape((10, 96))
    # m:device, 5.02 us
    c_out_reshape_1 = torch.addmm(weights["c_out.bias"], c_out_reshape, weights["c_out.weight"]).reshape((2, 5, 24))
    add_3 = add + c_out_reshape_1
    return (c_attn_reshape, transpose, transpose_1, transpose_2, c_proj_reshape, add, c_fc_reshape, c_fc_reshape_1,
            c_out_reshape, add_3)


def layer1(rank, weights, ln_f_layer_normalization_grad_3, c_out_reshape, c_fc_reshape_1, c_fc_reshape, add,
        c_proj_reshape, transpose, transpose_2, transpose_1, c_attn_reshape, add_3):
    c_out_reshape_1_grad = ln_f_layer_normalization_grad_3.reshape((10, 24))
    c_out_gemm_grad = c_out_reshape_1_grad.sum([0])
    c_out_gemm_grad_2 = torch.einsum("ac,bc->ab", c_out_reshape_1_grad, weights["c_out.weight"])  # a:device, 5.02 us
    c_out_gemm_grad_3 = torch.einsum("ac,ab->bc", c_out_reshape_1_grad, c_out_reshape)  # a:device, 5.02 us
    c_out_reshape_grad = c_out_gemm_grad_2.reshape((2, 5, 96))
    c_fc_reshape_1_grad = ops.gelu_grad(c_out_reshape_grad, c_fc_reshape_1, approximate="tanh").reshape((10, 96))
    c_fc_gemm_grad = c_fc_reshape_1_grad.sum([0])
    c_fc_gemm_grad_2 = torch.einsum("ac,bc->ab", c_fc_reshape_1_grad, weights["c_fc.weight"])  # a:device, 5.02 us
    c_fc_gemm_grad_3 = torch.einsum("ac,ab->bc", c_fc_reshape_1_grad, c_fc_reshape)  # a:device, 5.02 us
    c_fc_reshape_grad = c_fc_gemm_grad_2.reshape((2, 5, 24))
    ln_2_layer_normalization_grad = ops.layer_normalization_scale_grad(c_fc_reshape_grad, add, axis=2, epsilon=1e-05,
            dims=(24,))
    ln_2_layer_normalization_grad_2 = c_fc_reshape_grad.sum([0, 1])
    ln_2_layer_normalization_grad_3 = ops.layer_normalization_grad(c_fc_reshape_grad, add, weights["ln_2.weight"],
            axis=2, epsilon=1e-05)
    add_grad = ln_f_layer_normalization_grad_3 + ln_2_layer_normalization_grad_3
    c_proj_reshape_1_grad = add_grad.reshape((10, 24))
    c_proj_gemm_grad = c_proj_reshape_1_grad.sum([0])
    c_proj_gemm_grad_2 = torch.einsum("ac,bc->ab", c_proj_reshape_1_grad, weights["c_proj.weight"])  # a:device, 5.01 us
    c_proj_gemm_grad_3 = torch.einsum("ac,ab->bc", c_proj_reshape_1_grad, c_proj_reshape)  # a:device, 5.01 us
    transpose_3_grad = c_proj_gemm_grad_2.reshape((2, 5, 24)).reshape((2, 5, 3, 8)).permute([0, 2, 1, 3])
    mat_mul_1_grad = ops.softmax_attention_query_grad(transpose, transpose_2, transpose_1, rank.constants["mask_0"],
            transpose_3_grad, scale=0.35355338, fill=-3.4028234663852886e+38, keys_transposed=1)  # b0:device, 5.01 us
    mat_mul_1_grad_2 = ops.softmax_attention_key_grad(transpose, transpose_2, transpose_1, rank.constants["mask_0"],
            transpose_3_grad, scale=0.35355338, fill=-3.4028234663852886e+38, keys_transposed=1)  # b0:device, 5.01 us
    mat_mul_1_grad_3 = ops.softmax_attention_value_grad(transpose, transpose_2, transpose_1, rank.constants["mask_0"],
            transpose_3_grad, scale=0.35355338, fill=-3.4028234663852886e+38, keys_transposed=1)  # b0:device, 5.01 us
    transpose_2_grad = mat_mul_1_grad_2.permute([0, 3, 1, 2])
    reshape_2_grad = mat_mul_1_grad_3.permute([0, 2, 1, 3]).reshape((2, 5, 24))
    reshape_1_grad = transpose_2_grad.reshape((2, 5, 24))
    reshape_grad = mat_mul_1_grad.permute([0, 2, 1, 3]).reshape((2, 5, 24))
    c_attn_reshape_1_grad = torch.cat([reshape_grad, reshape_1_grad, reshape_2_grad], 2).reshape((10, 72))
    c_attn_gemm_grad = c_attn_reshape_1_grad.sum([0])
    c_attn_gemm_grad_2 = torch.einsum("ac,bc->ab", c_attn_reshape_1_grad, weights["c_attn.weight"])  # a:device, 5.02 us
    c_attn_gemm_grad_3 = torch.einsum("ac,ab->bc", c_attn_reshape_1_grad, c_attn_reshape)  # a:device, 5.02 us
    c_attn_reshape_grad = c_attn_gemm_grad_2.reshape((2, 5, 24))
    ln_1_layer_normalization_grad = ops.layer_normalization_scale_grad(c_attn_reshape_grad, add_3, axis=2,
            epsilon=1e-05, dims=(24,))
    ln_1_layer_normalization_grad_2 = c_attn_reshape_grad.sum([0, 1])
    ln_1_layer_normalization_grad_3 = ops.layer_normalization_grad(c_attn_reshape_grad, add_3, weights["ln_1.weight"],
            axis=2, epsilon=1e-05)
    add_3_grad = add_grad + ln_1_layer_normalization_grad_3
    return (c_out_gemm_grad, c_out_gemm_grad_3, c_fc_gemm_grad, c_fc_gemm_grad_3, ln_2_layer_normalization_grad,
            ln_2_layer_normalization_grad_2, c_proj_gemm_grad, c_proj_gemm_grad_3, c_attn_gemm_grad, c_attn_gemm_grad_3,
            ln_1_layer_normalization_grad, ln_1_layer_normalization_grad_2, add_3_grad)


def forward(rank, weights, tokens, target, step, learning_rate):
    kept = Tables()
    wte_gather = ops.gather(weights["wte.weight"], tokens, axis=0)
    wpe_gather = ops.gather(weights["wpe.weight"], rank.constants["constant_1"], axis=0)
    kept.add_3[0] = wte_gather + wpe_gather
    for i in range(2):
        (kept.c_attn_reshape[i], kept.transpose[i], kept.transpose_1[i], kept.transpose_2[i], kept.c_proj_reshape[i],
                kept.add[i], kept.c_fc_reshape[i], kept.c_fc_reshape_1[i], kept.c_out_reshape[i],
                kept.add_3[i + 1]) = layer0(rank, weights.within(f"h.{i}."), kept.add_3[i])
    (ln_f_layer_normalization, _, _) = ops.layer_normalization(kept.add_3[2], weights["ln_f.weight"],
            weights["ln_f.bias"], epsilon=1e-05)
    transpose_3 = weights["wte.weight"].permute([1, 0])
    mat_mul = torch.matmul(ln_f_layer_normalization, transpose_3)  # b0:device, 5.02 us
    logits_cross_entropy_log_sum = ops.precise(mat_mul).logsumexp([2], keepdim=True)
    target_whole = all_gather(rank, ("device",), target, 0)  # [device, -] -> [-, -] of [8, 5], 80 B
    shard_offset = rank.offset(("device",), 8)[0]
    logits_cross_entropy = ops.cross_entropy(mat_mul, logits_cross_entropy_log_sum, target_whole, None,
            reduction="mean", axis=2, offsets=[shard_offset, [0], [0]])
    # [] sum{device} -> [] of [], 4 B, 28.6 us
    logits_cross_entropy_sum = all_reduce(rank, ("device",), logits_cross_entropy, "sum")
    return (mat_mul, logits_cross_entropy_log_sum, target_whole, shard_offset, transpose_3, ln_f_layer_normalization,
            kept, tokens, learning_rate, step, logits_cross_entropy_sum)


def backward(rank, weights, mat_mul, logits_cross_entropy_log_sum, target_whole, shard_offset, transpose_3,
        ln_f_layer_normalization, kept, tokens, learning_rate, step, logits_cross_entropy_sum):
    logits_cross_entropy_grad = ops.cross_entropy_grad(rank.constants["constant_2"], mat_mul,
            logits_cross_entropy_log_sum, target_whole, None, reduction="mean", axis=2, offsets=[shard_offset, [0],
            [0]])
    mat_mul_grad = torch.einsum("abd,cd->abc", logits_cross_entropy_grad, transpose_3)  # a:device, 5.02 us
    # a:device, 5.02 us
    mat_mul_grad_2 = torch.einsum("abd,abc->cd", logits_cross_entropy_grad, ln_f_layer_normalization)
    # [-, -] sum{device} -> [-, -] of [24, 101], 9.47 KiB, 28.7 us
    transpose_grad = all_reduce(rank, ("device",), mat_mul_grad_2, "sum").permute([1, 0])
    ln_f_layer_normalization_grad = ops.layer_normalization_scale_grad(mat_mul_grad, kept.add_3[2], axis=2,
            epsilon=1e-05, dims=(24,))
    ln_f_layer_normalization_grad_2 = mat_mul_grad.sum([0, 1])
    add_3_grad = ops.layer_normalization_grad(mat_mul_grad, kept.add_3[2], weights["ln_f.weight"], axis=2,
            epsilon=1e-05)
    for i in range(2):
        (kept.c_out_gemm_grad[i], kept.c_out_gemm_grad_3[i], kept.c_fc_gemm_grad[i], kept.c_fc_gemm_grad_3[i],
                kept.ln_2_layer_normalization_grad[i], kept.ln_2_layer_normalization_grad_2[i],
                kept.c_proj_gemm_grad[i], kept.c_proj_gemm_grad_3[i], kept.c_attn_gemm_grad[i],
                kept.c_attn_gemm_grad_3[i], kept.ln_1_layer_normalization_grad[i],
                kept.ln_1_layer_normalization_grad_2[i], add_3_grad) = layer1(rank, weights.within(f"h.{1 - i}."),
                add_3_grad, kept.c_out_reshape[1 - i], kept.c_fc_reshape_1[1 - i], kept.c_fc_reshape[1 - i],
                kept.add[1 - i], kept.c_proj_reshape[1 - i], kept.transpose[1 - i], kept.transpose_2[1 - i],
                kept.transpose_1[1 - i], kept.c_attn_reshape[1 - i], kept.add_3[1 - i])
    add_grad_2 = add_3_grad.sum([0])
    # [-, -] sum{device} -> [-, -] of [5, 24], 480 B, 28.6 us
    add_grad_2_sum = all_reduce(rank, ("device",), add_grad_2, "sum")
    wpe_gather_grad = ops.gather_grad(add_grad_2_sum, rank.constants["constant_1"], shape=[8, 24], axis=0)
    wte_gather_grad = ops.gather_grad(add_3_grad, tokens, shape=[101, 24], axis=0)
    # [-] sum{device} -> [-] of [24], 66.1 KiB, 29.5 us
    (ln_f_layer_normalization_grad_sum, ln_f_layer_normalization_grad_2_sum, kept.c_out_gemm_grad_sum[0:2],
            kept.c_out_gemm_grad_3_sum[0:2], kept.c_fc_gemm_grad_sum[0:2], kept.c_fc_gemm_grad_3_sum[0:2],
            kept.ln_2_layer_normalization_grad_sum[0:2], kept.ln_2_layer_normalization_grad_2_sum[0:2],
            kept.c_proj_gemm_grad_sum[0:2], kept.c_proj_gemm_grad_3_sum[0:2], kept.c_attn_gemm_grad_sum[0:2],
            kept.c_attn_gemm_grad_3_sum[0:2], kept.ln_1_layer_normalization_grad_sum[0:2],
            kept.ln_1_layer_normalization_grad_2_sum[0:2], wte_gather_grad_sum) = all_reduce(rank, ("device",),
            [ln_f_layer_normalization_grad, ln_f_layer_normalization_grad_2, kept.c_out_gemm_grad[0:2],
            kept.c_out_gemm_grad_3[0:2], kept.c_fc_gemm_grad[0:2], kept.c_fc_gemm_grad_3[0:2],
            kept.ln_2_layer_normalization_grad[0:2], kept.ln_2_layer_normalization_grad_2[0:2],
            kept.c_proj_gemm_grad[0:2], kept.c_proj_gemm_grad_3[0:2], kept.c_attn_gemm_grad[0:2],
            kept.c_attn_gemm_grad_3[0:2], kept.ln_1_layer_normalization_grad[0:2],
            kept.ln_1_layer_normalization_grad_2[0:2], wte_gather_grad], "sum")
    wte_weight_grad = transpose_grad + wte_gather_grad_sum
    return (wte_weight_grad, learning_rate, step, wpe_gather_grad, kept, ln_f_layer_normalization_grad_sum,
            ln_f_layer_normalization_grad_2_sum, logits_cross_entropy_sum)


def update(rank, weights, wte_weight_grad, learning_rate, step, wpe_gather_grad, kept,
        ln_f_layer_normalization_grad_sum, ln_f_layer_normalization_grad_2_sum, logits_cross_entropy_sum):
    def update_parameter(name, gradient):
        ops.adam_update(weights[name], gradient, weights[name + ".first"], weights[name + ".second"], None,
                learning_rate, step, None, weight_decay=0.01, beta1=0.9, beta2=0.999, epsilon=1e-08, decoupled=1)

    update_parameter("wte.weight", wte_weight_grad)
    update_parameter("wpe.weight", wpe_gather_grad)
    for i in range(2):
        update_parameter(f"h.{i}.ln_1.weight", kept.ln_1_layer_normalization_grad_sum[1 - i])
        update_parameter(f"h.{i}.ln_1.bias", kept.ln_1_layer_normalization_grad_2_sum[1 - i])
        update_parameter(f"h.{i}.ln_2.weight", kept.ln_2_layer_normalization_grad_sum[1 - i])
        update_parameter(f"h.{i}.ln_2.bias", kept.ln_2_layer_normalization_grad_2_sum[1 - i])
        update_parameter(f"h.{i}.c_attn.weight", kept.c_attn_gemm_grad_3_sum[1 - i])
        update_parameter(f"h.{i}.c_attn.bias", kept.c_attn_gemm_grad_sum[1 - i])
        update_parameter(f"h.{i}.c_proj.weight", kept.c_proj_gemm_grad_3_sum[1 - i])
        update_parameter(f"h.{i}.c_proj.bias", kept.c_proj_gemm_grad_sum[1 - i])
        update_parameter(f"h.{i}.c_fc.weight", kept.c_fc_gemm_grad_3_sum[1 - i])
        update_parameter(f"h.{i}.c_fc.bias", kept.c_fc_gemm_grad_sum[1 - i])
        update_parameter(f"h.{i}.c_out.weight", kept.c_out_gemm_grad_3_sum[1 - i])
        update_parameter(f"h.{i}.c_out.bias", kept.c_out_gemm_grad_sum[1 - i])
    update_parameter("ln_f.weight", ln_f_layer_normalization_grad_sum)
    update_parameter("ln_f.bias", ln_f_layer_normalization_grad_2_sum)
    return {"loss": logits_cross_entropy_sum}


INPUTS = ["tokens", "target", "step", "learning_rate"]
PARTS = [forward, backward]  # of a micro-batch
UPDATE = update
