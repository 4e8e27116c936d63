#!/usr/bin/python3
"""Export real-dimension ONNX models without ever allocating a weight.

Needs only Debian 12: apt-get install --no-install-recommends python3-torch python3-onnx python3-numpy
Run:  /usr/bin/python3 export_models.py [name ...]        (no name = all)

Trick: build the module on device='meta', take every parameter/buffer out of the module and pass
them as *arguments* of forward().  torch.onnx.export (TorchScript, torch 1.13) then traces with meta
tensors and never looks at data (parameters in state_dict fail: "Cannot copy out of meta tensor").
Afterwards the weight inputs are left as graph inputs, or turned into initializers whose data is
external (location/offset/length as onnx.save_model would write them; the .data file is absent).
"""
import sys, os, math, time, warnings, collections
warnings.filterwarnings('ignore')
import numpy as np, torch, onnx
import torch.nn.functional as F
from torch import nn
from onnx import TensorProto, helper, numpy_helper
OUT = os.path.dirname(os.path.abspath(__file__))
META = 'meta'

# ---------------------------------------------------------------- export machinery
# aten::convolution is a python kernel on meta and is not recorded by the tracer; aten::_convolution is.
_cp = torch._C._jit_pass_constant_propagation
_lib = torch.library.Library('aten', 'IMPL')
def _conv_meta(x, w, b, stride, padding, dilation, transposed, output_padding, groups, *flags):
    st = torch._C._get_tracing_state(); torch._C._set_tracing_state(None)
    try:
        hw = [(n + 2 * p - d * (k - 1) - 1) // t + 1 for n, p, d, k, t in zip(x.shape[2:], padding, dilation, w.shape[2:], stride)]
        return torch.empty([x.shape[0], w.shape[0]] + hw, dtype=x.dtype, device=META)
    finally: torch._C._set_tracing_state(st)
_lib.impl('_convolution', _conv_meta, 'Meta')
class Conv2d(nn.Conv2d):
    def _conv_forward(s, x, w, b):
        return torch._convolution(x, w, b, s.stride, s.padding, s.dilation, False, (0, 0), s.groups, False, False, False, False)
class Lift(nn.Module):
    """Makes parameters and buffers of `model` trailing arguments of forward (ties kept)."""
    def __init__(self, model, nin):
        super().__init__()
        self.model, self.nin = model, nin
        self.slots, self.names, self.tensors, seen = [], [], [], {}
        for mn, mod in model.named_modules():
            for d in ('_parameters', '_buffers'):
                for k, p in list(getattr(mod, d).items()):
                    if p is None: continue
                    if id(p) not in seen:
                        seen[id(p)] = len(self.names)
                        self.names.append((mn + '.' + k) if mn else k)
                        self.tensors.append(p.detach() if d == '_parameters' else p)
                    self.slots.append((mod, d, k, seen[id(p)]))
        self.keep = [getattr(m, d)[k] for m, d, k, _ in self.slots]
        for m, d, k, _ in self.slots: getattr(m, d)[k] = None
    def forward(self, *a):
        for m, d, k, i in self.slots: getattr(m, d)[k] = a[self.nin + i]
        try: return self.model(*a[:self.nin])
        finally:
            for m, d, k, _ in self.slots: getattr(m, d)[k] = None

ITEM = {TensorProto.FLOAT: 4, TensorProto.FLOAT16: 2, TensorProto.BFLOAT16: 2, TensorProto.INT64: 8,
        TensorProto.INT32: 4, TensorProto.BOOL: 1, TensorProto.UINT8: 1, TensorProto.INT8: 1}

def fold_transposes(m, weights):
    """Folds as torch's do_constant_folding folds nn.Linear: Transpose(W) -> initializer onnx::MatMul_k."""
    g = m.graph
    users = collections.Counter(i for n in g.node for i in n.input)
    ins = {v.name: v for v in g.input}
    drop, ren, seq = [], {}, 1000
    for n in g.node:
        if n.op_type == 'Transpose' and n.input[0] in weights:
            w = ins[n.input[0]]
            perm = [list(a.ints) for a in n.attribute if a.name == 'perm'][0]
            dims = [w.type.tensor_type.shape.dim[p].dim_value for p in perm]
            seq += 1
            nm = 'onnx::MatMul_%d' % seq
            g.input.append(helper.make_tensor_value_info(nm, w.type.tensor_type.elem_type, dims))
            weights.add(nm); ren[n.output[0]] = nm; drop.append(n)
            users[n.input[0]] -= 1
    for n in drop: g.node.remove(n)
    for n in g.node:
        for k, i in enumerate(n.input):
            if i in ren: n.input[k] = ren[i]
    for v in list(g.input):
        if v.name in weights and users[v.name] == 0 and v.name not in ren.values():
            g.input.remove(v); weights.discard(v.name)

def externalize(m, weights, consts, location, threshold=1024):
    g = m.graph; off = 0
    for v in [x for x in g.input if x.name in weights]:
        tt = v.type.tensor_type
        dims = [d.dim_value for d in tt.shape.dim]
        t = TensorProto(name=v.name, data_type=tt.elem_type, dims=dims)
        nbytes = int(np.prod(dims, dtype=object) if dims else 1) * ITEM[tt.elem_type]
        if v.name in consts:
            t = numpy_helper.from_array(np.ascontiguousarray(consts[v.name]), v.name)
            assert t.data_type == tt.elem_type and list(t.dims) == dims, v.name
        elif nbytes < threshold:
            t.raw_data = bytes(nbytes)
        else:
            t.data_location = TensorProto.EXTERNAL
            for k, val in (('location', location), ('offset', str(off)), ('length', str(nbytes))):
                e = t.external_data.add(); e.key, e.value = k, val
            off += (nbytes + 4095) // 4096 * 4096
        g.initializer.append(t); g.input.remove(v)
    return off

def export(name, model, inputs, outputs, dynamic=None, weights='external', opset=17, fold=True, consts=None, constprop=True, doc=''):
    """inputs: {name: (shape, dtype)}; weights: 'external' | 'inputs'."""
    t0 = time.time()
    model.eval()
    lift = Lift(model, len(inputs)).eval()
    total = sum(t.numel() for t in lift.tensors if t.is_floating_point())
    args = tuple(torch.empty(s, dtype=d, device=META) for s, d in inputs.values())
    path = os.path.join(OUT, name + '.onnx')
    # constant propagation evaluates arange() to (dataless) meta constants; CSE then fails comparing two of them
    torch._C._jit_pass_constant_propagation = _cp if constprop else (lambda g: None)
    torch.onnx.export(lift, args + tuple(lift.tensors), path, input_names=list(inputs) + lift.names,
                      output_names=outputs, opset_version=opset, dynamic_axes=dynamic, do_constant_folding=bool(dynamic))
    m = onnx.load(path)
    w = set(lift.names)
    if fold: fold_transposes(m, w)
    if weights == 'external': externalize(m, w, consts or {}, name + '.onnx.data')
    m.graph.name = name
    if doc: m.doc_string = doc
    onnx.save(m, path)
    print('%-28s %9.3fB params  %6d nodes  %8d bytes  %.1fs' %
          (name, total / 1e9, len(m.graph.node), os.path.getsize(path), time.time() - t0), flush=True)

f32, f16, bf16, i64 = torch.float32, torch.float16, torch.bfloat16, torch.int64
def lin(i, o, bias=True, dt=f32): return nn.Linear(i, o, bias=bias, device=META, dtype=dt)
def emb(n, d, dt=f32): return nn.Embedding(n, d, device=META, dtype=dt)
def ln(d, dt=f32, eps=1e-5): return nn.LayerNorm(d, eps=eps, device=META, dtype=dt)
def par(*s, dt=f32): return nn.Parameter(torch.empty(*s, device=META, dtype=dt))
def buf(m, name, *s, dt=f32): m.register_buffer(name, torch.empty(*s, device=META, dtype=dt))

# ---------------------------------------------------------------- GPT
class Conv1D(nn.Module):                       # GPT-2 checkpoint layout: weight is [in, out]
    def __init__(s, i, o, dt):
        super().__init__(); s.weight, s.bias, s.o = par(i, o, dt=dt), par(o, dt=dt), o
    def forward(s, x):
        return torch.addmm(s.bias, x.reshape(-1, x.size(-1)), s.weight).view(x.size(0), x.size(1), s.o)
class GptBlock(nn.Module):
    def __init__(s, d, h, dt, conv1d):
        super().__init__()
        mk = (lambda i, o: Conv1D(i, o, dt)) if conv1d else (lambda i, o: lin(i, o, dt=dt))
        s.h, s.new = h, conv1d
        s.ln_1, s.ln_2 = ln(d, dt), ln(d, dt)
        s.c_attn, s.c_proj = mk(d, 3 * d), mk(d, d)
        s.fc_in, s.fc_out = mk(d, 4 * d), mk(4 * d, d)
    def forward(s, x, mask):
        B, S, D = x.shape
        q, k, v = s.c_attn(s.ln_1(x)).split(D, dim=2)
        q, k, v = (t.view(B, S, s.h, D // s.h).transpose(1, 2) for t in (q, k, v))
        a = torch.matmul(q, k.transpose(-1, -2)) * (1.0 / math.sqrt(D // s.h))
        a = torch.softmax(a.masked_fill(mask, -65504.0 if x.dtype == f16 else -1e9), dim=-1)
        x = x + s.c_proj(torch.matmul(a, v).transpose(1, 2).reshape(B, S, D))
        y = s.fc_in(s.ln_2(x))
        if s.new: y = 0.5 * y * (1.0 + torch.tanh(math.sqrt(2 / math.pi) * (y + 0.044715 * torch.pow(y, 3.0))))
        else: y = F.gelu(y)
        return x + s.fc_out(y)
class GPT(nn.Module):
    def __init__(s, L, d, h, V, ctx, dt=f16, conv1d=False, loss=False):
        super().__init__()
        s.wte, s.wpe, s.loss, s.V = emb(V, d, dt), emb(ctx, d, dt), loss, V
        s.h = nn.ModuleList(GptBlock(d, h, dt, conv1d) for _ in range(L))
        s.ln_f = ln(d, dt)
        s.lm_head = lin(d, V, False, dt); s.lm_head.weight = s.wte.weight
    def forward(s, ids, pos, labels=None):
        x = s.wte(ids) + s.wpe(pos)
        mask = pos[:, None, :, None] < pos[:, None, None, :]     # from an input: constant masks are folded per layer (4 MB each)
        for b in s.h: x = b(x, mask)
        lg = s.lm_head(s.ln_f(x))
        if not s.loss: return lg
        return F.cross_entropy(lg[:, :-1].reshape(-1, s.V).float(), labels[:, 1:].reshape(-1))

# ---------------------------------------------------------------- Llama 3 (+ KV cache variant) and Mixtral
class RMSNorm(nn.Module):
    def __init__(s, d, dt, eps=1e-5): super().__init__(); s.weight, s.eps = par(d, dt=dt), eps
    def forward(s, x):
        y = x.float(); y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + s.eps)
        return s.weight * y.to(x.dtype)
def rot(x): h = x.shape[-1] // 2; return torch.cat((-x[..., h:], x[..., :h]), dim=-1)
class GQA(nn.Module):
    def __init__(s, d, h, kv, dt):
        super().__init__(); s.h, s.kv, s.hd = h, kv, d // h
        s.q_proj, s.k_proj, s.v_proj, s.o_proj = (lin(d, o, False, dt) for o in (d, kv * s.hd, kv * s.hd, d))
    def forward(s, x, cos, sin, mask, past=None):
        B, S, D = x.shape
        q = s.q_proj(x).view(B, S, s.h, s.hd).transpose(1, 2)
        k = s.k_proj(x).view(B, S, s.kv, s.hd).transpose(1, 2)
        v = s.v_proj(x).view(B, S, s.kv, s.hd).transpose(1, 2)
        q, k = q * cos + rot(q) * sin, k * cos + rot(k) * sin
        if past is not None: k, v = torch.cat((past[0], k), 2), torch.cat((past[1], v), 2)
        T = k.shape[2]; r = s.h // s.kv
        ke = k[:, :, None].expand(B, s.kv, r, T, s.hd).reshape(B, s.h, T, s.hd)
        ve = v[:, :, None].expand(B, s.kv, r, T, s.hd).reshape(B, s.h, T, s.hd)
        a = torch.matmul(q, ke.transpose(2, 3)) / math.sqrt(s.hd) + mask
        a = torch.softmax(a, dim=-1, dtype=f32).to(x.dtype)
        return s.o_proj(torch.matmul(a, ve).transpose(1, 2).reshape(B, S, D)), k, v
class SwiGLU(nn.Module):
    def __init__(s, d, f, dt):
        super().__init__(); s.gate_proj, s.up_proj, s.down_proj = lin(d, f, False, dt), lin(d, f, False, dt), lin(f, d, False, dt)
    def forward(s, x): return s.down_proj(F.silu(s.gate_proj(x)) * s.up_proj(x))
class MoE(nn.Module):                          # GShard dense dispatch: groups = batch rows, capacity static
    def __init__(s, d, f, E, k, cap, dt):
        super().__init__(); s.E, s.k, s.cap = E, k, cap
        s.gate = lin(d, E, False, dt)
        s.w1, s.w3, s.w2 = par(E, d, f, dt=dt), par(E, d, f, dt=dt), par(E, f, d, dt=dt)
    def forward(s, x):
        p = torch.softmax(s.gate(x).float(), -1)                      # g s e
        w, idx = torch.topk(p, s.k, dim=-1)
        w = w / w.sum(-1, keepdim=True)
        oh = (idx[..., None] == torch.arange(s.E, device=x.device)).float()          # g s k e
        B, S = x.shape[0], x.shape[1]
        pos = torch.cumsum(oh.transpose(1, 2).reshape(B, s.k * S, s.E), 1).view(B, s.k, S, s.E).transpose(1, 2) - 1.0
        pos = (pos * oh).sum(-1)                                      # g s k: slot in its expert's buffer
        slot = (pos[..., None] == torch.arange(s.cap, device=x.device).float()).float()
        comb = torch.einsum('gsk,gske,gskc->gsec', w, oh, slot).to(x.dtype)
        disp = (comb > 0).to(x.dtype)
        xe = torch.einsum('gsec,gsd->egcd', disp, x)
        h = F.silu(torch.einsum('egcd,edf->egcf', xe, s.w1)) * torch.einsum('egcd,edf->egcf', xe, s.w3)
        return torch.einsum('gsec,egcd->gsd', comb, torch.einsum('egcf,efd->egcd', h, s.w2))
class LlamaBlock(nn.Module):
    def __init__(s, d, f, h, kv, dt, moe):
        super().__init__()
        s.input_layernorm, s.post_attention_layernorm = RMSNorm(d, dt), RMSNorm(d, dt)
        s.self_attn = GQA(d, h, kv, dt)
        if moe: s.block_sparse_moe = MoE(d, f, *moe, dt)
        else: s.mlp = SwiGLU(d, f, dt)
    def forward(s, x, cos, sin, mask, past):
        a, k, v = s.self_attn(s.input_layernorm(x), cos, sin, mask, past)
        x = x + a
        f = s.mlp if hasattr(s, 'mlp') else s.block_sparse_moe
        return x + f(s.post_attention_layernorm(x)), k, v
class Llama(nn.Module):
    def __init__(s, L, d, f, h, kv, V, dt=bf16, moe=None, cache=False):
        super().__init__()
        s.embed_tokens = emb(V, d, dt)
        s.layers = nn.ModuleList(LlamaBlock(d, f, h, kv, dt, moe) for _ in range(L))
        s.norm, s.lm_head, s.cache, s.dt = RMSNorm(d, dt), lin(d, V, False, dt), cache, dt
        buf(s, 'inv_freq', d // h // 2)
    def forward(s, ids, position_ids, *past):
        x = s.embed_tokens(ids)
        fr = torch.matmul(position_ids[:, :, None].float(), s.inv_freq[None, None, :])
        fr = torch.cat((fr, fr), -1)
        cos, sin = fr.cos()[:, None].to(s.dt), fr.sin()[:, None].to(s.dt)
        S = ids.size(1); P = past[0].size(2) if s.cache else 0
        j = torch.arange(S + P, device=ids.device)[None, None, None] if s.cache else position_ids[:, None, None, :]
        mask = ((position_ids[:, None, :, None] < j).to(f32) * -1e9).to(s.dt)
        out = []
        for n, b in enumerate(s.layers):
            x, k, v = b(x, cos, sin, mask, past[2 * n:2 * n + 2] if s.cache else None)
            out += [k, v]
        lg = s.lm_head(s.norm(x))
        return (lg, *out) if s.cache else lg
def inv_freq(hd, base=500000.0): return (1.0 / base ** (np.arange(0, hd, 2, dtype=np.float64) / hd)).astype(np.float32)

# ---------------------------------------------------------------- BERT
class BertLayer(nn.Module):
    def __init__(s, d, h):
        super().__init__(); s.h = h
        s.query, s.key, s.value, s.dense = lin(d, d), lin(d, d), lin(d, d), lin(d, d)
        s.ln1, s.ln2, s.intermediate, s.output = ln(d, eps=1e-12), ln(d, eps=1e-12), lin(d, 4 * d), lin(4 * d, d)
    def forward(s, x, m):
        B, S, D = x.shape
        q, k, v = (l(x).view(B, S, s.h, D // s.h).permute(0, 2, 1, 3) for l in (s.query, s.key, s.value))
        a = torch.softmax(torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(D // s.h) + m, -1)
        c = torch.matmul(a, v).permute(0, 2, 1, 3).reshape(B, S, D)
        x = s.ln1(s.dense(c) + x)
        return s.ln2(s.output(F.gelu(s.intermediate(x))) + x)
class Bert(nn.Module):
    def __init__(s, L, d, h, V=30522):
        super().__init__()
        s.word, s.pos, s.tok, s.ln = emb(V, d), emb(512, d), emb(2, d), ln(d, eps=1e-12)
        s.layer = nn.ModuleList(BertLayer(d, h) for _ in range(L))
        s.transform, s.tln, s.decoder = lin(d, d), ln(d, eps=1e-12), lin(d, V)
        s.decoder.weight = s.word.weight
    def forward(s, ids, mask, tt):
        x = s.ln(s.word(ids) + s.tok(tt) + s.pos(torch.arange(ids.size(1), device=ids.device))[None])
        m = (1.0 - mask[:, None, None, :].float()) * -10000.0
        for l in s.layer: x = l(x, m)
        return s.decoder(s.tln(F.gelu(s.transform(x))))

# ---------------------------------------------------------------- ViT
class ViT(nn.Module):
    def __init__(s, L, d, h, p=16, img=224, ncls=1000):
        super().__init__()
        s.patch = Conv2d(3, d, p, p, device=META)
        s.cls, s.pos = par(1, 1, d), par(1, (img // p) ** 2 + 1, d)
        s.blocks = nn.ModuleList(GptBlock(d, h, f32, False) for _ in range(L))
        s.norm, s.head = ln(d), lin(d, ncls)
    def forward(s, x):
        y = s.patch(x).flatten(2).transpose(1, 2)
        y = torch.cat((s.cls.expand(y.shape[0], -1, -1), y), 1) + s.pos
        for b in s.blocks:
            B, S, D = y.shape
            q, k, v = b.c_attn(b.ln_1(y)).reshape(B, S, 3, b.h, D // b.h).permute(2, 0, 3, 1, 4).unbind(0)
            a = torch.softmax((q @ k.transpose(-2, -1)) * (D // b.h) ** -0.5, -1)
            y = y + b.c_proj((a @ v).transpose(1, 2).reshape(B, S, D))
            y = y + b.fc_out(F.gelu(b.fc_in(b.ln_2(y))))
        return s.head(s.norm(y)[:, 0])

# ---------------------------------------------------------------- ResNet
def conv(i, o, k, st=1, bias=False, p=None): return Conv2d(i, o, k, st, k // 2 if p is None else p, bias=bias, device=META)
class Bottleneck(nn.Module):
    def __init__(s, i, w, o, st):
        super().__init__()
        s.conv1, s.conv2, s.conv3 = conv(i, w, 1), conv(w, w, 3, st), conv(w, o, 1)
        s.bn1, s.bn2, s.bn3 = (nn.BatchNorm2d(c, device=META) for c in (w, w, o))
        s.down = nn.Sequential(conv(i, o, 1, st), nn.BatchNorm2d(o, device=META)) if st != 1 or i != o else None
    def forward(s, x):
        y = F.relu(s.bn1(s.conv1(x))); y = F.relu(s.bn2(s.conv2(y))); y = s.bn3(s.conv3(y))
        return F.relu(y + (x if s.down is None else s.down(x)))
class ResNet(nn.Module):
    def __init__(s, blocks, width=64, base=64, ncls=1000):    # base: stem/output channels, width: bottleneck width
        super().__init__()
        s.conv1, s.bn1 = conv(3, base, 7, 2), nn.BatchNorm2d(base, device=META)
        ls, i = [], base
        for st, n in enumerate(blocks):
            for b in range(n):
                ls.append(Bottleneck(i, width << st, (base << st) * 4, 2 if st and b == 0 else 1)); i = (base << st) * 4
        s.layers, s.fc = nn.ModuleList(ls), lin(i, ncls)
    def forward(s, x):
        x = F.max_pool2d(F.relu(s.bn1(s.conv1(x))), 3, 2, 1)
        for l in s.layers: x = l(x)
        return s.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))

# ---------------------------------------------------------------- the list
BS = {0: 'batch', 1: 'seq'}
M = {}
def model(f): M[f.__name__] = f; return f
def gpt3(name, B=1, S=2048, **k):
    loss = k.pop('loss', False); w = k.pop('weights', 'external'); dyn = k.pop('dynamic', None); fold = k.pop('fold', True)
    ins = {'input_ids': ((B, S), i64), 'position_ids': ((B, S), i64)}
    if loss: ins['labels'] = ((B, S), i64)
    export(name, GPT(loss=loss, **k), ins, ['loss' if loss else 'logits'], dyn, w, fold=fold)
G175 = dict(L=96, d=12288, h=96, V=50257, ctx=2048)
@model
def gpt3_175b_loss(): gpt3('gpt3_175b_loss', B=4, loss=True, fold=False, **G175)
@model
def gpt3_6_7b_dyn(): gpt3('gpt3_6_7b_dyn', L=32, d=4096, h=32, V=51200, ctx=2048, loss=True, dynamic={'input_ids': BS, 'position_ids': BS, 'labels': BS})
def llama(name, L, d, f, h, kv, V, B=1, S=8192, dyn=False, cache=0, dt=bf16, moe=None, base=500000.0):
    hd = d // h
    ins = {'input_ids': ((B, S), i64), 'position_ids': ((B, S), i64)}; outs = ['logits']; da = None
    if cache:
        for i in range(L):
            for x in 'key', 'value':
                ins['past_key_values.%d.%s' % (i, x)] = ((B, kv, cache, hd), dt); outs.append('present.%d.%s' % (i, x))
    if dyn:
        da = {'input_ids': BS, 'position_ids': BS, 'logits': BS}
        for n in list(ins)[2:]: da[n] = {0: 'batch', 2: 'past_seq'}
        for n in outs[1:]: da[n] = {0: 'batch', 2: 'total_seq'}
    export(name, Llama(L, d, f, h, kv, V, dt, moe, bool(cache)), ins, outs, da, consts={'inv_freq': inv_freq(hd, base)}, constprop=not moe)
@model
def llama3_8b(): llama('llama3_8b', 32, 4096, 14336, 32, 8, 128256, dyn=True)
@model
def llama3_70b(): llama('llama3_70b', 80, 8192, 28672, 64, 8, 128256)
@model
def mixtral_8x7b(): llama('mixtral_8x7b', 32, 4096, 14336, 32, 8, 32000, B=8, S=4096, moe=(8, 2, 1280), base=1e6)
@model
def bert_large():
    export('bert_large', Bert(24, 1024, 16), {n: ((8, 512), i64) for n in ('input_ids', 'attention_mask', 'token_type_ids')}, ['logits'],
           {n: BS for n in ('input_ids', 'attention_mask', 'token_type_ids', 'logits')})
@model
def vit_l16(): export('vit_l16', ViT(24, 1024, 16), {'pixel_values': ((64, 3, 224, 224), f32)}, ['logits'], {'pixel_values': {0: 'batch'}, 'logits': {0: 'batch'}})
@model
def resnet50(): export('resnet50', ResNet((3, 4, 6, 3)), {'input': ((256, 3, 224, 224), f32)}, ['logits'])

if __name__ == '__main__':
    os.makedirs(OUT, exist_ok=True)
    for n in sys.argv[1:] or list(M): M[n]()
