"""Modules as people write them, small: make() gives a module and its inputs, in float32."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

D, H, T, B = 16, 2, 4, 2  # width, heads, length, batch
MODULES = {}


class Case:
    """dynamic: dimensions of inputs that come with the call, (input, dimension); again: inputs of other sizes.
    rest: the operators that stay with PyTorch, views and arithmetic of sizes left out."""

    def __init__(self, make, rest=(), dynamic=(), again=None, dtype=torch.float32):
        self.make, self.rest, self.dynamic, self.again, self.dtype = make, set(rest), dynamic, again, dtype


def case(**how):
    def add(make):
        MODULES[make.__name__] = Case(make, **how)
        return make
    return add


def x_of(*shape):
    return torch.randn(*(shape or (B, T, D)))


class Fn(nn.Module):
    """A function with parameters."""

    def __init__(self, fn, **parts):
        super().__init__()
        self.fn = fn
        for name, p in parts.items():
            setattr(self, name, nn.Parameter(p) if isinstance(p, torch.Tensor) else p)

    def forward(self, *args):
        return self.fn(self, *args)


# ---- norms

@case()
def layer_norm():
    return Fn(lambda s, x: s.n(x) * 2, n=nn.LayerNorm(D)), [x_of()]


@case()
def layer_norm_two_dims():
    return Fn(lambda s, x: s.n(x) + x, n=nn.LayerNorm((T, D))), [x_of()]


@case()
def rms_norm():
    return Fn(lambda s, x: s.n(x) + x, n=nn.RMSNorm(D, eps=1e-6)), [x_of()]


@case()
def rms_norm_by_hand():
    def fn(s, x):
        v = x.to(torch.float32).pow(2).mean(-1, keepdim=True)
        return s.w * (x * torch.rsqrt(v + 1e-6))
    return Fn(fn, w=torch.randn(D)), [x_of()]


@case()
def batch_norm():
    m = nn.BatchNorm1d(D)
    m.running_mean.normal_(), m.running_var.uniform_(0.5, 2)
    return Fn(lambda s, x: F.relu(s.n(x)), n=m), [x_of(B * T, D)]


@case(dtype=torch.float16)
def rms_norm_linear_f16():
    return Fn(lambda s, x: s.l(s.n(x)), n=nn.RMSNorm(D, eps=1e-6), l=nn.Linear(D, 2 * D, bias=False)), [x_of(T, D)]


# ---- feed-forward

@case()
def mlp_gelu():
    return nn.Sequential(nn.Linear(D, 2 * D), nn.GELU(), nn.Linear(2 * D, D)), [x_of()]


@case()
def mlp_gelu_tanh():
    return nn.Sequential(nn.Linear(D, 2 * D), nn.GELU(approximate="tanh"), nn.Linear(2 * D, D)), [x_of()]


def swiglu_parts():
    return dict(g=nn.Linear(D, 2 * D, bias=False), u=nn.Linear(D, 2 * D, bias=False), d=nn.Linear(2 * D, D, bias=False))


@case()
def mlp_swiglu():
    return Fn(lambda s, x: s.d(F.silu(s.g(x)) * s.u(x)), **swiglu_parts()), [x_of()]


@case(dtype=torch.bfloat16)
def mlp_swiglu_bf16():
    return Fn(lambda s, x: s.d(F.silu(s.g(x)) * s.u(x)), **swiglu_parts()), [x_of(T, D)]


@case()
def mlp_geglu():
    def fn(s, x):
        a, b = s.l(x).chunk(2, dim=-1)
        return s.d(F.gelu(a) * b)
    return Fn(fn, l=nn.Linear(D, 4 * D), d=nn.Linear(2 * D, D)), [x_of()]


@case()
def mlp_relu_squared():
    return Fn(lambda s, x: s.b(F.relu(s.a(x)).square()), a=nn.Linear(D, D), b=nn.Linear(D, D)), [x_of()]


@case()
def mlp_prenorm():
    return Fn(lambda s, x: x + s.m(s.n(x)), n=nn.LayerNorm(D), m=mlp_gelu()[0]), [x_of()]


@case()
def mlp_postnorm_dropout():
    parts = dict(n=nn.LayerNorm(D, eps=1e-12), m=mlp_gelu()[0], o=nn.Dropout(0.1))
    return Fn(lambda s, x: s.n(x + s.o(s.m(x))), **parts), [x_of()]


@case()
def lora():
    parts = dict(w=nn.Linear(D, D), a=nn.Linear(D, 4, bias=False), b=nn.Linear(4, D, bias=False))
    return Fn(lambda s, x: s.w(x) + s.b(s.a(x)) * 0.5, **parts), [x_of()]


@case()
def lora_on_two():
    def fn(s, x):
        return s.p(x) + (x @ s.a) @ s.b, s.q(x) + (x @ s.c) @ s.d
    parts = dict(a=x_of(D, 4), b=x_of(4, D), c=x_of(D, 4), d=x_of(4, D))
    return Fn(fn, p=nn.Linear(D, D), q=nn.Linear(D, D), **parts), [x_of()]


@case()
def squeeze_excite():
    def fn(s, x):
        return x * torch.sigmoid(s.b(F.relu(s.a(x.mean(1))))).unsqueeze(1)
    return Fn(fn, a=nn.Linear(D, 4), b=nn.Linear(4, D)), [x_of()]


@case()
def mixer():
    def fn(s, x):
        x = x + s.t(s.n(x).transpose(1, 2)).transpose(1, 2)
        return x + s.c(s.m(x))
    return Fn(fn, n=nn.LayerNorm(D), m=nn.LayerNorm(D), t=nn.Sequential(nn.Linear(T, T), nn.GELU(), nn.Linear(T, T)),
              c=mlp_gelu()[0]), [x_of()]


@case()
def hard_swish_mlp():
    return nn.Sequential(nn.Linear(D, D), nn.Hardswish(), nn.Linear(D, D)), [x_of()]


# ---- attention

def heads():
    return [x_of(B, H, T, 8) for _ in range(3)]


@case()
def attention_plain():
    return Fn(lambda s, q, k, v: F.scaled_dot_product_attention(q, k, v)), heads()


@case()
def attention_causal():
    return Fn(lambda s, q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True)), heads()


@case()
def attention_mask_bool():
    mask = torch.rand(B, 1, T, T) > 0.4
    return Fn(lambda s, q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m)), heads() + [mask]


@case()
def attention_mask_row_hidden():
    mask = torch.ones(T, T, dtype=torch.bool).tril()
    mask[2] = False  # a query that sees nothing: 0
    return Fn(lambda s, q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m)), heads() + [mask]


@case()
def attention_mask_float():
    return Fn(lambda s, q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m, scale=0.3)), \
        heads() + [x_of(T, T)]


@case(rest=["aten.bitwise_not.default"])
def attention_masked_fill():
    def fn(s, q, k, v, m):
        scores = (q @ k.transpose(-1, -2)) / math.sqrt(8)
        return scores.masked_fill(~m, float("-inf")).softmax(-1) @ v
    return Fn(fn), heads() + [torch.ones(T, T, dtype=torch.bool).tril()]


@case()
def attention_padding():
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]], dtype=torch.bool)
    return Fn(lambda s, q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m[:, None, None, :])), \
        heads() + [mask]


@case()
def attention_grouped():
    return Fn(lambda s, q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True)), \
        [x_of(B, 4, T, 8), x_of(B, 2, T, 8), x_of(B, 2, T, 8)]


@case()
def attention_grouped_causal():
    return Fn(lambda s, q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)), \
        [x_of(B, 4, T, 8), x_of(B, 2, T, 8), x_of(B, 2, T, 8)]


def repeat_kv(x, n):
    b, h, t, d = x.shape
    return x[:, :, None].expand(b, h, n, t, d).reshape(b, h * n, t, d)


@case()
def attention_repeat_kv():
    def fn(s, q, k, v):
        k, v = repeat_kv(k, 2), repeat_kv(v, 2)
        p = torch.softmax(q @ k.transpose(2, 3) * 8**-0.5, dim=-1, dtype=torch.float32)
        return p.to(q.dtype) @ v
    return Fn(fn), [x_of(B, 4, T, 8), x_of(B, 2, T, 8), x_of(B, 2, T, 8)]


@case()
def attention_multi_query():
    return Fn(lambda s, q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True)), \
        [x_of(B, 4, T, 8), x_of(B, 1, T, 8), x_of(B, 1, T, 8)]


@case()
def attention_cross():
    return Fn(lambda s, q, k, v: F.scaled_dot_product_attention(q, k, v)), \
        [x_of(B, H, T, 8), x_of(B, H, 6, 8), x_of(B, H, 6, 8)]


@case()
def attention_softcap():
    def fn(s, q, k, v):
        scores = torch.tanh(q @ k.mT * 8**-0.5 / 30) * 30
        return scores.softmax(-1) @ v
    return Fn(fn), heads()


@case()
def attention_alibi():
    slope = torch.tensor([0.5, 0.25]).view(H, 1, 1)
    away = -(torch.arange(T)[:, None] - torch.arange(T)[None]).abs().float()
    return Fn(lambda s, q, k, v, b: F.scaled_dot_product_attention(q, k, v, attn_mask=b)), \
        heads() + [(slope * away)[None]]


@case(dtype=torch.float16)
def attention_f16():
    return Fn(lambda s, q, k, v: F.scaled_dot_product_attention(q, k, v)), heads()


@case()
def attention_qk_norm():
    def fn(s, q, k, v):
        return F.scaled_dot_product_attention(s.a(q), s.b(k), v)
    return Fn(fn, a=nn.RMSNorm(8, eps=1e-6), b=nn.RMSNorm(8, eps=1e-6)), heads()


@case()
def attention_einsum():
    def fn(s, q, k, v):
        p = torch.einsum("bhid,bhjd->bhij", q, k).mul(8**-0.5).softmax(-1)
        return torch.einsum("bhij,bhjd->bhid", p, v)
    return Fn(fn), heads()


@case()
def attention_cosine():
    def fn(s, q, k, v):
        return (F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).mT * 10).softmax(-1) @ v
    return Fn(fn), heads()


def turned(x):
    a, b = x[..., :x.shape[-1] // 2], x[..., x.shape[-1] // 2:]
    return torch.cat((-b, a), dim=-1)


def tables():
    angle = torch.outer(torch.arange(T).float(), 10000.0 ** (-torch.arange(0, 8, 2).float() / 8))
    return torch.cat((angle, angle), -1).cos(), torch.cat((angle, angle), -1).sin()


@case()
def rotary_halves():
    return Fn(lambda s, q, k, c, n: (q * c + turned(q) * n, k * c + turned(k) * n)), heads()[:2] + list(tables())


@case()
def rotary_pairs():
    def fn(s, x, c, n):
        a, b = x[..., ::2], x[..., 1::2]
        return torch.stack((a * c - b * n, a * n + b * c), dim=-1).flatten(-2)
    c, n = tables()
    return Fn(fn), [x_of(T, 8), c[:, :4].contiguous(), n[:, :4].contiguous()]


@case()
def rotary_attention():
    def fn(s, q, k, v, c, n):
        return F.scaled_dot_product_attention(q * c + turned(q) * n, k * c + turned(k) * n, v)
    return Fn(fn), heads() + list(tables())


@case()
def multihead_attention():
    m = nn.MultiheadAttention(D, H, batch_first=True)
    return Fn(lambda s, x: s.m(x, x, x, need_weights=False)[0], m=m), [x_of()]


@case()
def decode_step():
    def fn(s, q, k, v, kc, vc):
        k, v = torch.cat((kc, k), 2), torch.cat((vc, v), 2)
        return F.scaled_dot_product_attention(q, k, v), k, v
    one = [x_of(B, H, 1, 8) for _ in range(3)]
    return Fn(fn), one + [x_of(B, H, T, 8), x_of(B, H, T, 8)]


# ---- blocks

def split_heads(x, h):
    return x.view(x.shape[0], -1, h, x.shape[-1] // h).transpose(1, 2)


def merged(x):
    return x.transpose(1, 2).reshape(x.shape[0], -1, x.shape[1] * x.shape[3])


class Attention(nn.Module):
    def __init__(self, heads=H, kv=H, bias=True, norm=False, width=8):
        super().__init__()
        self.heads, self.kv = heads, kv
        self.q = nn.Linear(D, heads * width, bias=bias)
        self.k, self.v = nn.Linear(D, kv * width, bias=bias), nn.Linear(D, kv * width, bias=bias)
        self.o = nn.Linear(heads * width, D, bias=bias)
        self.qn, self.kn = (nn.RMSNorm(width, eps=1e-6), nn.RMSNorm(width, eps=1e-6)) if norm else (None, None)

    def forward(self, x, rope=None, mask=None, causal=False, scale=None):
        q, k, v = split_heads(self.q(x), self.heads), split_heads(self.k(x), self.kv), split_heads(self.v(x), self.kv)
        if self.qn is not None:
            q, k = self.qn(q), self.kn(k)
        if rope is not None:
            q, k = q * rope[0] + turned(q) * rope[1], k * rope[0] + turned(k) * rope[1]
        return self.o(merged(F.scaled_dot_product_attention(q, k, v, mask, is_causal=causal, scale=scale,
                                                            enable_gqa=self.heads != self.kv)))


@case()
def bert_layer():
    def fn(s, x, m):
        x = s.n(s.a(x, mask=m) + x)
        return s.l(s.m(x) + x)
    return Fn(fn, a=Attention(), n=nn.LayerNorm(D, eps=1e-12), l=nn.LayerNorm(D, eps=1e-12), m=mlp_gelu()[0]), \
        [x_of(), torch.tensor([[0.0] * T, [0, 0, -1e4, -1e4]]).view(B, 1, 1, T)]


class Conv1D(nn.Module):
    """GPT-2's linear layer, of a weight that is stored the other way round."""

    def __init__(self, out, into):
        super().__init__()
        self.weight, self.bias = nn.Parameter(x_of(into, out) / 4), nn.Parameter(x_of(out))

    def forward(self, x):
        return torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight).view(x.size()[:-1] + (self.bias.shape[0],))


@case()
def gpt2_block():
    def fn(s, x):
        q, k, v = (split_heads(t, H) for t in s.c(s.n(x)).split(D, dim=2))
        x = x + s.p(merged(F.scaled_dot_product_attention(q, k, v, is_causal=True)))
        return x + s.b(F.gelu(s.a(s.m(x)), approximate="tanh"))
    return Fn(fn, n=nn.LayerNorm(D), m=nn.LayerNorm(D), c=Conv1D(3 * D, D), p=Conv1D(D, D), a=Conv1D(2 * D, D),
              b=Conv1D(D, 2 * D)), [x_of()]


def llama(**how):
    def fn(s, x, c, n):
        x = x + s.a(s.n(x), rope=(c, n), causal=True)
        return x + s.f(s.m(x))
    mlp = Fn(lambda s, x: s.d(F.silu(s.g(x)) * s.u(x)), **swiglu_parts())
    norms = dict(n=nn.RMSNorm(D, eps=1e-5), m=nn.RMSNorm(D, eps=1e-5))
    return Fn(fn, a=Attention(bias=False, **how), f=mlp, **norms), [x_of(), *tables()]


@case()
def llama_block():
    return llama(heads=4, kv=2)


@case()
def qwen3_block():
    return llama(heads=4, kv=2, norm=True)


@case(rest=["aten.convolution.default"])
def vit_block():
    def fn(s, x):
        x = s.c(x).flatten(2).transpose(1, 2)
        x = x + s.a(s.n(x))
        return x + s.m(s.l(x))
    return Fn(fn, c=nn.Conv2d(3, D, 4, 4), n=nn.LayerNorm(D), l=nn.LayerNorm(D), a=Attention(), m=mlp_gelu()[0]), \
        [x_of(B, 3, 8, 8)]


@case()
def t5_block():
    def fn(s, x, bias):
        x = x + s.a(s.n(x), mask=bias, scale=1.0)
        return x + s.o(F.relu(s.i(s.m(x))))
    norms = dict(n=nn.RMSNorm(D, eps=1e-6), m=nn.RMSNorm(D, eps=1e-6))
    parts = dict(i=nn.Linear(D, 2 * D, bias=False), o=nn.Linear(2 * D, D, bias=False), **norms)
    return Fn(fn, a=Attention(bias=False), **parts), [x_of(), x_of(1, H, T, T)]


@case()
def encoder_layer():
    return nn.TransformerEncoderLayer(D, H, 2 * D, batch_first=True, norm_first=True, activation=F.silu), [x_of()]


@case()
def moe_dense():
    def fn(s, x):
        gate = s.g(x).softmax(-1)
        up = F.silu(torch.bmm(x.expand(3, -1, -1), s.a))
        return (torch.bmm(up, s.b) * gate.t().unsqueeze(-1)).sum(0)
    return Fn(fn, g=nn.Linear(D, 3), a=x_of(3, D, D) / 4, b=x_of(3, D, D) / 4), [x_of(T, D)]


@case(rest=["aten.topk.default", "aten.zeros_like.default", "aten.scatter.src", "aten.scatter_.src"])
def moe_top2():
    def fn(s, x):
        top, at = s.g(x).softmax(-1).topk(2, dim=-1)
        gate = torch.zeros_like(x[:, :3]).scatter(1, at, top / top.sum(-1, keepdim=True))
        return sum(gate[:, k:k + 1] * F.relu(x @ s.a[k]) for k in range(3))
    return Fn(fn, g=nn.Linear(D, 3), a=x_of(3, D, D) / 4), [x_of(T, D)]


@case()
def embedding_head():
    def fn(s, i):
        return (s.n(s.e(i)) @ s.e.weight.t()).argmax(-1)
    return Fn(fn, e=nn.Embedding(24, D), n=nn.RMSNorm(D, eps=1e-6)), [torch.randint(0, 24, (B, T))]


@case()
def loss_head():
    return Fn(lambda s, x: s.l(x).log_softmax(-1), l=nn.Linear(D, 8)), [x_of()]


@case()
def energy():
    return Fn(lambda s, x: torch.logsumexp(s.l(x), dim=-1) - x.var(-1), l=nn.Linear(D, 8)), [x_of()]


@case()
def ngpt_step():
    def unit(x):
        return x / x.pow(2).sum(-1, keepdim=True).sqrt()
    return Fn(lambda s, x: unit(x + s.a * (unit(s.l(x)) - x)), a=x_of(D), l=nn.Linear(D, D, bias=False)), [x_of(T, D)]


@case()
def clamp_where():
    def fn(s, x, m):
        return torch.where(m, x.clamp(-0.5, 0.5), -x) * 2, x.clamp_min(0.1) + 1
    return Fn(fn), [x_of(), torch.rand(B, T, D) > 0.5]


@case()
def in_place():
    def fn(s, x):
        y = s.l(x)
        y += x
        y.mul_(0.5)
        return y.relu_()
    return Fn(fn, l=nn.Linear(D, D)), [x_of()]


@case()
def tied_views():
    def fn(s, x):
        y = s.l(x)
        return y, y.transpose(1, 2), y[:, 1:], (y + 1).view(B, T * D)
    return Fn(fn, l=nn.Linear(D, D)), [x_of()]


@case()
def transposed_input():
    return Fn(lambda s, x, y: (x @ y.relu()) * 2), [x_of(T, D), x_of(8, D).t()]


@case()
def strided_input():
    return Fn(lambda s, x: F.silu(x) * x + 1), [x_of(T, 2 * D)[:, ::2]]


@case()
def scalar_result():
    return Fn(lambda s, x, y: ((x - y) ** 2).mean()), [x_of(), x_of()]


# ---- sizes that come with the call

@case(dynamic=[(0, 0)], again=lambda: [x_of(7, D)])
def dynamic_mlp():
    return Fn(lambda s, x: s.d(F.silu(s.g(x)) * s.u(x)), **swiglu_parts()), [x_of(T, D)]


@case(dynamic=[(0, 0)], again=lambda: [x_of(5, T, D)])
def dynamic_batch():
    return Fn(lambda s, x: x + s.m(s.n(x)), n=nn.LayerNorm(D), m=mlp_gelu()[0]), [x_of()]


@case(dynamic=[(0, 1)], again=lambda: [x_of(B, 9, D)])
def dynamic_length():
    return Fn(lambda s, x: s.l(s.n(x)), n=nn.RMSNorm(D, eps=1e-6), l=nn.Linear(D, D)), [x_of()]


@case(dynamic=[(0, 0), (0, 1)], again=lambda: [x_of(3, 5, D)])
def dynamic_both():
    return Fn(lambda s, x: s.n(x) * torch.sigmoid(x), n=nn.RMSNorm(D, eps=1e-6)), [x_of()]


@case(dynamic=[(0, 0), (1, 0), (2, 0)], again=lambda: [x_of(5, H, T, 8) for _ in range(3)])
def dynamic_batch_attention():
    return Fn(lambda s, q, k, v: F.scaled_dot_product_attention(q, k, v)), heads()


@case(dynamic=[(1, 2)], again=lambda: [x_of(B, H, T, 8), x_of(B, H, 9, 8)])
def dynamic_keys():
    return Fn(lambda s, q, k: F.scaled_dot_product_attention(q, k, k)), heads()[:2]
