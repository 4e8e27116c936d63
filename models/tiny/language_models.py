"""The tiny language models: GPT, Llama, BERT, T5 and a GShard mixture of experts, each written as its family writes it.

Parameters of our own classes are stored [..., in, out]; those of torch.nn as torch stores them, [out, in, ...].
"""
import math

import torch
import torch.nn.functional as F
from torch import nn

VOCABULARY = 101  # prime: no mesh divides it


def parameter(*shape):
    return nn.Parameter(torch.empty(*shape))


def tokens(*shape):
    """Random tokens in which the first and the last of the vocabulary occur."""
    ids = torch.randint(VOCABULARY, shape)
    ids[0, 0], ids[-1, -1] = 0, VOCABULARY - 1
    return ids


def split_heads(x, heads):
    """[b, s, heads * d] -> [b, heads, s, d]"""
    batch, sequence, width = x.shape
    return x.view(batch, sequence, heads, width // heads).transpose(1, 2)


def join_heads(x):
    """[b, heads, s, d] -> [b, s, heads * d]"""
    batch, heads, sequence, size = x.shape
    return x.transpose(1, 2).reshape(batch, sequence, heads * size)


# ------------------------------------------------------------------------------------------------------------- GPT
class Conv1D(nn.Module):
    """GPT-2's linear layer: batch and sequence are flattened into the rows of one Gemm."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight, self.bias = parameter(inputs, outputs), parameter(outputs)

    def forward(self, x):
        flat = torch.addmm(self.bias, x.reshape(-1, x.size(-1)), self.weight)
        return flat.view(x.size(0), x.size(1), -1)


class GptBlock(nn.Module):
    def __init__(self, width, heads, context):
        super().__init__()
        self.heads, self.width = heads, width
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.c_attn, self.c_proj = Conv1D(width, 3 * width), Conv1D(width, width)
        self.c_fc, self.c_out = Conv1D(width, 4 * width), Conv1D(4 * width, width)
        self.register_buffer("causal", torch.ones(context, context).tril().bool().view(1, 1, context, context))

    def forward(self, x):
        length = x.size(1)
        q, k, v = (split_heads(t, self.heads) for t in self.c_attn(self.ln_1(x)).split(self.width, dim=2))
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.size(-1))
        floor = torch.tensor(torch.finfo(x.dtype).min)
        scores = torch.where(self.causal[:, :, :length, :length], scores, floor)
        x = x + self.c_proj(join_heads(scores.softmax(-1) @ v))
        h = self.c_fc(self.ln_2(x))
        h = 0.5 * h * (1 + torch.tanh(math.sqrt(2 / math.pi) * (h + 0.044715 * h**3)))
        return x + self.c_out(h)


class Gpt(nn.Module):
    """Learned positions, fused qkv, tied embeddings: one parameter is gathered first and transposed last."""

    def __init__(self, width=24, heads=3, layers=2, context=8):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(VOCABULARY, width), nn.Embedding(context, width)
        self.h = nn.ModuleList(GptBlock(width, heads, context) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)

    def forward(self, ids):
        x = self.wte(ids) + self.wpe(torch.arange(ids.size(1)))
        for block in self.h:
            x = block(x)
        return F.linear(self.ln_f(x), self.wte.weight)


# ----------------------------------------------------------------------------------------------------------- Llama
class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = parameter(width)

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


def rotate_half(x):
    half = x.size(-1) // 2
    return torch.cat((-x[..., half:], x[..., :half]), dim=-1)


class LlamaBlock(nn.Module):
    def __init__(self, width, heads, kv_heads, hidden):
        super().__init__()
        self.heads, self.kv_heads, size = heads, kv_heads, width // heads
        self.input_norm, self.post_norm = RmsNorm(width), RmsNorm(width)
        self.q_proj, self.o_proj = (nn.Linear(width, width, bias=False) for _ in range(2))
        self.k_proj, self.v_proj = (nn.Linear(width, kv_heads * size, bias=False) for _ in range(2))
        self.gate_proj, self.up_proj = (nn.Linear(width, hidden, bias=False) for _ in range(2))
        self.down_proj = nn.Linear(hidden, width, bias=False)

    def repeat(self, x):
        """[b, kv_heads, s, d] -> [b, heads, s, d]: each head of keys and values serves heads / kv_heads queries."""
        batch, _, length, size = x.shape
        x = x[:, :, None].expand(batch, self.kv_heads, self.heads // self.kv_heads, length, size)
        return x.reshape(batch, self.heads, length, size)

    def forward(self, x, mask, cos, sin):
        h = self.input_norm(x)
        q = split_heads(self.q_proj(h), self.heads)
        k, v = (split_heads(f(h), self.kv_heads) for f in (self.k_proj, self.v_proj))
        q, k = (t * cos + rotate_half(t) * sin for t in (q, k))
        scores = q @ self.repeat(k).transpose(2, 3) / math.sqrt(q.size(-1)) + mask
        x = x + self.o_proj(join_heads(scores.softmax(-1) @ self.repeat(v)))
        h = self.post_norm(x)
        return x + self.down_proj(F.silu(self.gate_proj(h)) * self.up_proj(h))


class Llama(nn.Module):
    """RMSNorm, rotary positions computed in the graph, 6 query heads on 2 heads of keys and values, SwiGLU."""

    def __init__(self, width=36, heads=6, kv_heads=2, hidden=44, layers=2):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, width)
        self.layers = nn.ModuleList(LlamaBlock(width, heads, kv_heads, hidden) for _ in range(layers))
        self.norm, self.head = RmsNorm(width), nn.Linear(width, VOCABULARY, bias=False)
        size = width // heads
        self.register_buffer("frequencies", 10000.0**(-torch.arange(0, size, 2).float() / size))

    def forward(self, ids):
        length = ids.size(1)
        angles = torch.arange(length).float()[:, None] * self.frequencies[None]
        angles = torch.cat((angles, angles), dim=-1)
        mask = torch.full((length, length), torch.finfo(torch.float32).min).triu(1)
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x, mask, angles.cos(), angles.sin())
        return self.head(self.norm(x))


# ------------------------------------------------------------------------------------------------------------ BERT
class BertLayer(nn.Module):
    def __init__(self, width, heads, hidden):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.dense = (nn.Linear(width, width) for _ in range(4))
        self.up, self.down = nn.Linear(width, hidden), nn.Linear(hidden, width)
        self.norm_1, self.norm_2 = nn.LayerNorm(width, eps=1e-12), nn.LayerNorm(width, eps=1e-12)

    def forward(self, x, mask):
        q, k, v = (split_heads(f(x), self.heads) for f in (self.query, self.key, self.value))
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.size(-1)) + mask
        x = self.norm_1(x + self.dense(join_heads(scores.softmax(-1) @ v)))
        return self.norm_2(x + self.down(F.gelu(self.up(x))))


class Bert(nn.Module):
    """Post-norm encoder with segments and a padding mask; two results: masked-language logits and the pooled token."""

    def __init__(self, width=30, heads=3, hidden=62, layers=2, context=8):
        super().__init__()
        self.word, self.position = nn.Embedding(VOCABULARY, width), nn.Embedding(context, width)
        self.segment, self.norm = nn.Embedding(2, width), nn.LayerNorm(width, eps=1e-12)
        self.layers = nn.ModuleList(BertLayer(width, heads, hidden) for _ in range(layers))
        self.pooler, self.transform = nn.Linear(width, width), nn.Linear(width, width)
        self.head_norm, self.head = nn.LayerNorm(width, eps=1e-12), nn.Linear(width, VOCABULARY)

    def forward(self, ids, segments, mask):
        x = self.word(ids) + self.segment(segments) + self.position(torch.arange(ids.size(1)))
        x = self.norm(x)
        bias = (1.0 - mask[:, None, None, :].float()) * -10000.0
        for layer in self.layers:
            x = layer(x, bias)
        return self.head(self.head_norm(F.gelu(self.transform(x)))), torch.tanh(self.pooler(x[:, 0]))


def bert_inputs():
    """Six texts of seven tokens, two of which end in padding."""
    mask = torch.ones(6, 7, dtype=torch.int64)
    mask[1, 4:], mask[4, 6:] = 0, 0
    return tokens(6, 7), torch.randint(2, (6, 7)), mask


# -------------------------------------------------------------------------------------------------------------- T5
class T5Attention(nn.Module):
    def __init__(self, width, heads, size):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v = (nn.Linear(width, heads * size, bias=False) for _ in range(3))
        self.o = nn.Linear(heads * size, width, bias=False)

    def forward(self, x, memory, bias):
        q, k, v = split_heads(self.q(x), self.heads), *(split_heads(f(memory), self.heads) for f in (self.k, self.v))
        scores = q @ k.transpose(3, 2)
        return self.o(join_heads((scores if bias is None else scores + bias).softmax(-1) @ v))


class T5Layer(nn.Module):
    def __init__(self, width, heads, size, hidden, decoder):
        super().__init__()
        self.attention, self.norm_1, self.norm_3 = T5Attention(width, heads, size), RmsNorm(width), RmsNorm(width)
        self.wi, self.wo = nn.Linear(width, hidden, bias=False), nn.Linear(hidden, width, bias=False)
        self.cross, self.norm_2 = (T5Attention(width, heads, size), RmsNorm(width)) if decoder else (None, None)

    def forward(self, x, bias, memory=None):
        h = self.norm_1(x)
        x = x + self.attention(h, h, bias)
        if self.cross is not None:
            x = x + self.cross(self.norm_2(x), memory, None)
        return x + self.wo(F.relu(self.wi(self.norm_3(x))))


class T5(nn.Module):
    """Encoder and decoder: relative position bias shared by the layers, cross attention, tied embeddings."""

    def __init__(self, width=27, heads=3, size=8, hidden=50, layers=2, reach=3):
        super().__init__()
        self.shared, self.reach = nn.Embedding(VOCABULARY, width), reach
        self.encoder, self.decoder = (nn.ModuleList(T5Layer(width, heads, size, hidden, side) for _ in range(layers))
                                      for side in (False, True))
        self.encoder_bias, self.decoder_bias = (nn.Embedding(2 * reach + 1, heads) for _ in range(2))
        self.encoder_norm, self.decoder_norm = RmsNorm(width), RmsNorm(width)

    def position_bias(self, table, length):
        """[1, heads, length, length]: a row of the table for each distance, clipped to +-reach."""
        position = torch.arange(length)
        distance = (position[None] - position[:, None]).clamp(-self.reach, self.reach) + self.reach
        return table(distance).permute(2, 0, 1)[None]

    def forward(self, ids, targets):
        memory, x = self.shared(ids), self.shared(targets)
        bias = self.position_bias(self.encoder_bias, ids.size(1))
        for layer in self.encoder:
            memory = layer(memory, bias)
        memory = self.encoder_norm(memory)
        length = targets.size(1)
        causal = torch.full((length, length), -1e9).triu(1)
        bias = self.position_bias(self.decoder_bias, length) + causal
        for layer in self.decoder:
            x = layer(x, bias, memory)
        return F.linear(self.decoder_norm(x), self.shared.weight)


# ------------------------------------------------------------------------------------------------------------- MoE
class Experts(nn.Module):
    """GShard's top-2 gating (arXiv 2006.16668, algorithm 1) with dense dispatch: b texts are the groups, e experts hold
    c tokens of a group each, and a token that finds its expert full passes by it."""

    def __init__(self, width, hidden, experts, capacity):
        super().__init__()
        self.experts, self.capacity = experts, capacity
        self.gate = parameter(width, experts)
        self.wi, self.wo = parameter(experts, width, hidden), parameter(experts, hidden, width)

    def seats(self, mask, taken):
        """The place of each token in its expert's queue, [b, s, e], counted from the seats taken; 0 where not sent."""
        return (mask.cumsum(dim=1) - 1 + taken) * mask

    def combine_weights(self, gates):
        """[b, s, e] -> [b, s, e, c]: the gate's value at the seat that a token got."""
        first = F.one_hot(gates.argmax(-1), self.experts).float()
        second = F.one_hot((gates * (1 - first) - first).argmax(-1), self.experts).float()
        total, taken, combine = (gates * (first + second)).sum(-1, keepdim=True), 0.0, 0.0
        for mask in (first, second):
            seats = self.seats(mask, taken)
            taken = taken + mask.sum(dim=1, keepdim=True)
            kept = mask * (seats < self.capacity).float()
            seat = F.one_hot((seats * kept).sum(-1).long(), self.capacity).float()
            combine = combine + torch.einsum("bse,bsc->bsec", gates * kept / total, seat)
        return combine

    def gates(self, x):
        return torch.einsum("bsd,de->bse", x, self.gate).softmax(-1)

    def forward(self, x):
        combine = self.combine_weights(self.gates(x))
        sent = torch.einsum("bsec,bsd->ebcd", (combine > 0).to(x.dtype), x)
        h = F.relu(torch.einsum("ebcd,edf->ebcf", sent, self.wi))
        return torch.einsum("bsec,ebcd->bsd", combine, torch.einsum("ebcf,efd->ebcd", h, self.wo))


class MoeLayer(nn.Module):
    def __init__(self, width, heads, hidden, experts, capacity):
        super().__init__()
        self.heads, self.norm_1, self.norm_2 = heads, nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = Experts(width, hidden, experts, capacity)

    def forward(self, x):
        q, k, v = (split_heads(t, self.heads) for t in self.qkv(self.norm_1(x)).chunk(3, dim=-1))
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.size(-1))
        x = x + self.proj(join_heads(scores.softmax(-1) @ v))
        return x + self.mlp(self.norm_2(x))


class Moe(nn.Module):
    """Five experts of which each token asks two; some tokens find an expert full."""

    def __init__(self, width=20, heads=2, hidden=33, experts=5, capacity=3, layers=2):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, width)
        self.layers = nn.ModuleList(MoeLayer(width, heads, hidden, experts, capacity) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, VOCABULARY)

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))
