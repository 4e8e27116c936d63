#!/usr/bin/python3
"""SYNTHETIC stand-ins for the output of today's exporters (Debian cannot run them): hand-assembled with onnx.helper,
following the op schemas and naming that onnxruntime-genai / torch>=2.6 dynamo / Optimum use.  No weights stored."""
import os, sys, math
import numpy as np, onnx
from onnx import helper as H, TensorProto as T, numpy_helper
import export_models as E
OUT = E.OUT
ITEM = dict(E.ITEM); MS = 'com.microsoft'

class B:
    def __init__(s, name, opset, ir, producer, ver='', domains=()):
        s.name, s.opset, s.ir, s.producer, s.ver = name, opset, ir, producer, ver
        s.n, s.i, s.o, s.init, s.vi, s.fn, s.off, s.dom = [], [], [], [], [], [], 0, list(domains); s.seen = set()
    def inp(s, n, dt, sh): s.i.append(H.make_tensor_value_info(n, dt, sh)); return n
    def out(s, n, dt, sh): s.o.append(H.make_tensor_value_info(n, dt, sh)); return n
    def w(s, n, dt, sh):                         # external initializer, .data file absent
        if n in s.seen: return n
        s.seen.add(n); nb = int(np.prod(sh, dtype=object)) * ITEM[dt]
        t = onnx.TensorProto(name=n, data_type=dt, dims=sh)
        t.data_location = T.EXTERNAL
        for k, v in (('location', s.name + '.onnx.data'), ('offset', str(s.off)), ('length', str(nb))):
            e = t.external_data.add(); e.key, e.value = k, v
        s.off += nb; s.init.append(t); return n
    def c(s, n, arr):
        if n not in s.seen: s.seen.add(n); s.init.append(numpy_helper.from_array(np.asarray(arr), n))
        return n
    def op(s, ty, ins, outs, dom=None, dt=None, sh=None, name=None, meta=None, **a):
        outs = outs if isinstance(outs, list) else [outs]
        nd = H.make_node(ty, ins, outs, name=name or ty + '_%d' % len(s.n), domain=dom or '', **a)
        if meta:                                 # NodeProto.metadata_props = 9 (IR 10+); unknown to older protos, kept as unknown fields
            raw = b''
            for k, v in meta.items():
                def f(tag, b): return bytes([tag]) + vlen(len(b)) + b
                e = f(0x0a, k.encode()) + f(0x12, v.encode()); raw += bytes([0x4a]) + vlen(len(e)) + e
            nd.MergeFromString(raw)
        s.n.append(nd)
        if dt: s.vi.append(H.make_tensor_value_info(outs[0], dt, sh))
        return outs[0]
    def save(s):
        g = H.make_graph(s.n, s.name, s.i, s.o, s.init, value_info=s.vi)
        m = H.make_model(g, producer_name=s.producer, producer_version=s.ver, functions=s.fn,
                         opset_imports=[H.make_opsetid('', s.opset)] + [H.make_opsetid(d, v) for d, v in s.dom])
        m.ir_version = s.ir
        p = os.path.join(OUT, s.name + '.onnx'); onnx.save(m, p)
        print('%-34s ir %d opset %d %6d nodes %3d functions %8d bytes, %.2f GB of weights elsewhere' % (s.name, s.ir, s.opset, len(s.n), len(s.fn), os.path.getsize(p), s.off / 1e9))
def vlen(n):
    b = b''
    while True:
        b += bytes([n & 127 | (128 if n > 127 else 0)]); n >>= 7
        if not n: return b

# ---- onnxruntime-genai model builder style: GQA + SkipSimplifiedLayerNormalization (+ MatMulNBits, + MoE)
def genai(name, L, d, f, h, kv, V, ctx, bits=0, E_=0, k=2, bs=32):
    b = B(name, 21, 10, 'onnxruntime-genai', '', [(MS, 1)]); D = d // h; F16 = T.FLOAT16
    bsz, sl = 'batch_size', 'sequence_length'
    ids = b.inp('input_ids', T.INT64, [bsz, sl]); am = b.inp('attention_mask', T.INT64, [bsz, 'total_sequence_length'])
    for l in range(L):
        for x in ('key', 'value'): b.inp('past_key_values.%d.%s' % (l, x), F16, [bsz, kv, 'past_sequence_length', D])
    b.out('logits', F16, [bsz, sl, V])
    for l in range(L):
        for x in ('key', 'value'): b.out('present.%d.%s' % (l, x), F16, [bsz, kv, 'total_sequence_length', D])
    one = b.c('/model/constants/INT64/[1]', np.array([1], np.int64)); sc1 = b.c('/model/constants/INT64/1', np.array(1, np.int64))
    P = '/model/attn_mask_reformat/attn_mask_subgraph'
    r = b.op('ReduceSum', [am, one], P + '/ReduceSum/output_0', name=P + '/ReduceSum', keepdims=0, dt=T.INT64, sh=[bsz])
    r = b.op('Sub', [r, one], P + '/Sub/output_0', name=P + '/Sub', dt=T.INT64, sh=[bsz])
    sk = b.op('Cast', [r], P + '/Sub/Cast/output_0', name=P + '/Sub/Cast', to=T.INT32, dt=T.INT32, sh=[bsz])
    r = b.op('Shape', [am], P + '/Shape/output_0', name=P + '/Shape', dt=T.INT64, sh=[2])
    r = b.op('Gather', [r, sc1], P + '/Gather/output_0', name=P + '/Gather', axis=0, dt=T.INT64, sh=[])
    tl = b.op('Cast', [r], P + '/Gather/Cast/output_0', name=P + '/Gather/Cast', to=T.INT32)
    cos, sin = b.w('cos_cache', F16, [ctx, D // 2]), b.w('sin_cache', F16, [ctx, D // 2])
    def mm(base, x, K, N, out=None):
        if bits:
            nb = -(-K // bs); nm = base + 'NBits'; wn = nm[1:].replace('/', '.')
            return b.op('MatMulNBits', [x, b.w(wn + '.qweight', T.UINT8, [N, nb, bs * bits // 8]), b.w(wn + '.scales', F16, [N * nb])], out or nm + '/output_0',
                        dom=MS, name=nm, accuracy_level=4, bits=bits, block_size=bs, K=K, N=N, dt=F16, sh=[bsz, sl, N])
        return b.op('MatMul', [x, b.w(base[1:].replace('/', '.') + '.weight', F16, [K, N])], out or base + '/output_0', name=base, dt=F16, sh=[bsz, sl, N])
    hs = [bsz, sl, d]
    x = b.op('Gather', [b.w('model.embed_tokens.weight', F16, [V, d]), ids], '/model/embed_tokens/Gather/output_0', name='/model/embed_tokens/Gather', dt=F16, sh=hs)
    # note: non-skip RMSNorm sits in the DEFAULT domain although ONNX has no such op
    y = b.op('SimplifiedLayerNormalization', [x, b.w('model.layers.0.input_layernorm.weight', F16, [d])], '/model/layers.0/input_layernorm/output_0',
             name='/model/layers.0/input_layernorm/LayerNorm', axis=-1, epsilon=1e-5, stash_type=1, dt=F16, sh=hs)
    for l in range(L):
        p = '/model/layers.%d' % l
        q = mm(p + '/attn/qkv_proj/MatMul', y, d, (h + 2 * kv) * D)
        a = '/attn/GroupQueryAttention'
        b.op('GroupQueryAttention', [q, '', '', 'past_key_values.%d.key' % l, 'past_key_values.%d.value' % l, sk, tl, cos, sin],
             [p + a + '/output_0', 'present.%d.key' % l, 'present.%d.value' % l], dom=MS, name=p + a, num_heads=h, kv_num_heads=kv,
             scale=1 / math.sqrt(D), local_window_size=-1, softcap=0.0, do_rotary=1, rotary_interleaved=0, dt=F16, sh=[bsz, sl, h * D])
        o = mm(p + '/attn/o_proj/MatMul', p + a + '/output_0', h * D, d)
        def skip(res, add, wname, node, last=False):
            outs = [node + '/output_0'] if last else [node + '/output_0', '', '', node + '/output_3']
            b.op('SkipSimplifiedLayerNormalization', [res, add, b.w(wname, F16, [d])], outs, dom=MS, name=node + '/SkipLayerNorm', epsilon=1e-5, dt=F16, sh=hs)
            return node + '/output_0', node + '/output_3'
        y, x = skip(x, o, 'model.layers.%d.post_attention_layernorm.weight' % l, p + '/post_attention_layernorm')
        if E_:
            m = p + '/moe'
            rt = b.op('MatMul', [y, b.w((m + '/router/MatMul.weight')[1:].replace('/', '.'), F16, [d, E_])], m + '/router/MatMul/output_0', name=m + '/router/MatMul', dt=F16, sh=[bsz, sl, E_])
            rt = b.op('Reshape', [rt, b.c('/model/constants/INT64/[-1, %d]' % E_, np.array([-1, E_], np.int64))], m + '/router/Reshape/output_0', name=m + '/router/Reshape', dt=F16, sh=['num_tokens', E_])
            wn = m[1:].replace('/', '.')
            dn = b.op('MoE', [y, rt, b.w(wn + '.experts.w1.weight', F16, [E_, d, f]), '', b.w(wn + '.experts.w2.weight', F16, [E_, f, d]), '', b.w(wn + '.experts.w3.weight', F16, [E_, d, f])],
                      m + '/MoE/output_0', dom=MS, name=m + '/MoE', k=k, activation_type='silu', normalize_routing_weights=1, use_sparse_mixer=0, dt=F16, sh=hs)
        else:
            m = p + '/mlp'
            g, u = mm(m + '/gate_proj/MatMul', y, d, f), mm(m + '/up_proj/MatMul', y, d, f)
            sg = b.op('Sigmoid', [g], m + '/act_fn/Sigmoid/output_0', name=m + '/act_fn/Sigmoid', dt=F16, sh=[bsz, sl, f])
            g = b.op('Mul', [g, sg], m + '/act_fn/Mul/output_0', name=m + '/act_fn/Mul', dt=F16, sh=[bsz, sl, f])
            u = b.op('Mul', [g, u], m + '/Mul/output_0', name=m + '/Mul', dt=F16, sh=[bsz, sl, f])
            dn = mm(m + '/down_proj/MatMul', u, f, d)
        last = l == L - 1
        nx = '/model/layers.%d/final_norm_layernorm' % L if last else '/model/layers.%d/input_layernorm' % (l + 1)
        y, x = skip(x, dn, nx[1:].replace('/', '.') + '.weight', nx, last)
    mm('/lm_head/MatMul', y, d, V, 'logits'); b.save()

# ---- torch 2.1-2.4 dynamo_export style: one local function per nn.Module class, nested, plus torch_lib functions
def functions18(name, L, d, f, h, V, S):
    b = B(name, 18, 8, 'pytorch', '2.2.0', [('pkg.transformers', 1), ('pkg.onnxscript.torch_lib', 1), ('pkg.torch', 1)]); D = d // h; F = T.FLOAT
    im = [H.make_opsetid('', 18), H.make_opsetid('pkg.transformers', 1), H.make_opsetid('pkg.onnxscript.torch_lib', 1), H.make_opsetid('pkg.torch', 1)]
    n = H.make_node; TL = 'pkg.onnxscript.torch_lib'; PT = 'pkg.torch'; TR = 'pkg.transformers'
    def k(nm, val): return n('Constant', [], [nm], value=numpy_helper.from_array(np.array(val)))
    add = lambda nm, ins, outs, nodes, dom: b.fn.append(H.make_function(dom, nm, ins, outs, nodes, im))
    add('aten_t', ['self'], ['r'], [n('Transpose', ['self'], ['r'], perm=[1, 0])], TL)
    add('aten_view', ['self', 'size'], ['r'], [n('Cast', ['size'], ['s'], to=T.INT64), n('Reshape', ['self', 's'], ['r'])], TL)
    add('aten_addmm', ['b', 'x', 'w'], ['r'], [n('Gemm', ['x', 'w', 'b'], ['r'])], TL)
    add('torch_nn_modules_sparse_Embedding', ['ids', 'w'], ['r'], [n('Gather', ['w', 'ids'], ['r'])], PT)
    add('torch_nn_modules_normalization_LayerNorm', ['x', 'w', 'b'], ['r'], [n('LayerNormalization', ['x', 'w', 'b'], ['r'], axis=-1, epsilon=1e-5)], PT)
    add('pytorch_utils_Conv1D', ['x', 'w', 'b', 'flat', 'full'], ['r'], [n('aten_view', ['x', 'flat'], ['v'], domain=TL), n('aten_addmm', ['b', 'v', 'w'], ['m'], domain=TL), n('aten_view', ['m', 'full'], ['r'], domain=TL)], TR)
    add('activations_NewGELU', ['x'], ['r'], [k('h', np.float32(.5)), k('c', np.float32(math.sqrt(2 / math.pi))), k('e', np.float32(.044715)), k('t', np.float32(3)), k('o', np.float32(1)),
        n('Pow', ['x', 't'], ['p']), n('Mul', ['p', 'e'], ['q']), n('Add', ['x', 'q'], ['s']), n('Mul', ['s', 'c'], ['u']), n('Tanh', ['u'], ['w']), n('Add', ['w', 'o'], ['y']), n('Mul', ['x', 'h'], ['z']), n('Mul', ['z', 'y'], ['r'])], TR)
    add('GPT2Attention', ['x', 'wa', 'ba', 'wp', 'bp'], ['r'], [k('f1', np.array([-1, d], np.int64)), k('f3', np.array([-1, S, 3 * d], np.int64)), k('fd', np.array([-1, S, d], np.int64)), k('hd', np.array([-1, S, h, D], np.int64)), k('sp', np.array([d, d, d], np.int64)),
        k('sc', np.float32(1 / math.sqrt(D))), k('S2', np.array([S, S], np.int64)), k('neg', np.float32(-3.4e38)), k('zero', np.float32(0)), k('one', np.float32(1)),
        n('pytorch_utils_Conv1D', ['x', 'wa', 'ba', 'f1', 'f3'], ['qkv'], domain=TR), n('Split', ['qkv', 'sp'], ['q', 'kk', 'v'], axis=2),
        n('aten_view', ['q', 'hd'], ['q4'], domain=TL), n('aten_view', ['kk', 'hd'], ['k4'], domain=TL), n('aten_view', ['v', 'hd'], ['v4'], domain=TL),
        n('Transpose', ['q4'], ['qt'], perm=[0, 2, 1, 3]), n('Transpose', ['k4'], ['kt'], perm=[0, 2, 3, 1]), n('Transpose', ['v4'], ['vt'], perm=[0, 2, 1, 3]),
        n('MatMul', ['qt', 'kt'], ['a0']), n('Mul', ['a0', 'sc'], ['a1']), n('Expand', ['one', 'S2'], ['m0']), n('Trilu', ['m0'], ['m1'], upper=0), n('Equal', ['m1', 'zero'], ['m2']), n('Where', ['m2', 'neg', 'a1'], ['a2']),
        n('Softmax', ['a2'], ['a3'], axis=-1), n('MatMul', ['a3', 'vt'], ['c0']), n('Transpose', ['c0'], ['c1'], perm=[0, 2, 1, 3]), n('aten_view', ['c1', 'fd'], ['c2'], domain=TL),
        n('pytorch_utils_Conv1D', ['c2', 'wp', 'bp', 'f1', 'fd'], ['r'], domain=TR)], TR)
    add('GPT2MLP', ['x', 'w1', 'b1', 'w2', 'b2'], ['r'], [k('f1', np.array([-1, d], np.int64)), k('f4', np.array([-1, S, 4 * d], np.int64)), k('g1', np.array([-1, 4 * d], np.int64)), k('fd', np.array([-1, S, d], np.int64)),
        n('pytorch_utils_Conv1D', ['x', 'w1', 'b1', 'f1', 'f4'], ['a'], domain=TR), n('activations_NewGELU', ['a'], ['g'], domain=TR), n('pytorch_utils_Conv1D', ['g', 'w2', 'b2', 'g1', 'fd'], ['r'], domain=TR)], TR)
    wn = ['ln_1.weight', 'ln_1.bias', 'attn.c_attn.weight', 'attn.c_attn.bias', 'attn.c_proj.weight', 'attn.c_proj.bias', 'ln_2.weight', 'ln_2.bias', 'mlp.c_fc.weight', 'mlp.c_fc.bias', 'mlp.c_proj.weight', 'mlp.c_proj.bias']
    ws = [[d], [d], [d, 3 * d], [3 * d], [d, d], [d], [d], [d], [d, 4 * d], [4 * d], [4 * d, d], [d]]
    fi = [q.replace('.', '_') for q in wn]
    add('GPT2Block', ['x'] + fi, ['r'], [n('torch_nn_modules_normalization_LayerNorm', ['x', fi[0], fi[1]], ['y'], domain=PT), n('GPT2Attention', ['y'] + fi[2:6], ['a'], domain=TR), n('Add', ['a', 'x'], ['z']),
        n('torch_nn_modules_normalization_LayerNorm', ['z', fi[6], fi[7]], ['y2'], domain=PT), n('GPT2MLP', ['y2'] + fi[8:], ['m'], domain=TR), n('Add', ['z', 'm'], ['r'])], TR)
    ids = b.inp('l_input_ids_', T.INT64, [8, S]); b.out('lm_head', F, [8, S, V])
    e = b.op('torch_nn_modules_sparse_Embedding', [ids, b.w('transformer.wte.weight', F, [V, d])], 'wte', dom=PT, dt=F, sh=[8, S, d])
    p = b.op('torch_nn_modules_sparse_Embedding', [b.c('arange', np.arange(S)[None]), b.w('transformer.wpe.weight', F, [S, d])], 'wpe', dom=PT, dt=F, sh=[1, S, d])
    x = b.op('Add', [e, p], 'h0', dt=F, sh=[8, S, d])
    for l in range(L): x = b.op('GPT2Block', [x] + [b.w('transformer.h.%d.%s' % (l, q), F, s) for q, s in zip(wn, ws)], 'block_%d' % l, dom=TR, dt=F, sh=[8, S, d])
    x = b.op('torch_nn_modules_normalization_LayerNorm', [x, b.w('transformer.ln_f.weight', F, [d]), b.w('transformer.ln_f.bias', F, [d])], 'ln_f', dom=PT, dt=F, sh=[8, S, d])
    t = b.op('aten_t', ['transformer.wte.weight'], 't', dom=TL, dt=F, sh=[d, V]); b.op('MatMul', [x, t], 'lm_head'); b.save()

if __name__ == '__main__':
    genai('syn_genai_llama3_8b_fp16', 32, 4096, 14336, 32, 8, 128256, 8192)
    functions18('syn_functions_gpt2_xl_opset18', 48, 1600, 6400, 25, 50257, 1024)
