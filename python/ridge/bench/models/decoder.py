"""Language models that predict the next token: Llama, Qwen, Gemma, Phi, Mixtral.

Cases    prefill=N              N tokens of one sequence; logits of the last
         decode=B,context=N     one token more of B sequences: its keys and values go into the last place of caches of N
         train=B,tokens=N       loss and all gradients
"""

import dataclasses

import torch
from torch import nn

from ridge.bench.models.table import add, gain, normal


@dataclasses.dataclass(frozen=True)
class Config:
    vocab: int
    width: int
    layers: int
    heads: int
    kv_heads: int
    head: int  # the width of one
    hidden: int  # the width between the products of a layer's second half
    eps: float = 1e-5
    rope_base: float = 1e4
    positions: int = 8192  # of the tables of angles
    activation: str = "silu"
    qkv_bias: bool = False
    experts: int = 0
    chosen: int = 2  # experts of a token
    tied: bool = False  # the head is the embedding's table
    scaled: bool = False  # embeddings are multiplied by sqrt(width)
    sandwich: bool = False  # a branch ends in a norm of its own
    window: int | None = None  # keys that a query of every other layer sees, the first layer among these
    softcap: float | None = None  # of scores
    logit_softcap: float | None = None


class Experts(nn.Module):
    """The second half of a layer of Mixtral: each token by the experts that its router chooses, weighted."""

    def __init__(self, c, router):
        super().__init__()
        self.chosen, self.activation = c.chosen, c.activation
        self.router = nn.Parameter(router.clone())
        self.gate_up = normal(c.experts, 2 * c.hidden, c.width)
        self.down = normal(c.experts, c.width, c.hidden)

    def forward(self, ops, x):
        experts, chosen = self.gate_up.shape[0], self.chosen
        scores, choice = ops.linear(x, self.router).float().topk(chosen)
        weights = torch.softmax(scores, -1).to(x.dtype)
        # The choices of all tokens in the order of experts, and where each went.
        order = choice.flatten().argsort()
        place = torch.empty_like(order).scatter_(0, order, torch.arange(order.numel(), device=x.device))
        counts = (choice.flatten().unsqueeze(1) == torch.arange(experts, device=x.device)).sum(0)
        offsets = nn.functional.pad(counts.cumsum(0), (1, 0)).to(torch.int32)
        rows = ops.embedding(x, order // chosen)
        rows = ops.gated_grouped(rows, self.gate_up, offsets, self.activation)
        rows = ops.embedding(ops.grouped(rows, self.down, offsets), place)
        return (rows.view(-1, chosen, rows.shape[-1]) * weights.unsqueeze(-1)).sum(1)


class Layer(nn.Module):
    def __init__(self, c, window, router):
        super().__init__()
        self.c, self.window = c, window
        qkv = (c.heads + 2 * c.kv_heads) * c.head
        self.attention_norm, self.mlp_norm = gain(c.width), gain(c.width)
        self.qkv, self.out = normal(qkv, c.width), normal(c.width, c.heads * c.head)
        self.qkv_bias = normal(qkv, scale=0.1) if c.qkv_bias else None
        if c.sandwich:
            self.attention_end, self.mlp_end = gain(c.width), gain(c.width)
        if c.experts:
            self.experts = Experts(c, router)
        else:
            self.gate_up, self.down = normal(2 * c.hidden, c.width), normal(c.width, c.hidden)

    def forward(self, ops, y, x, next_norm, batch, angles, position, cache):
        """y, the norm of x [tokens, width], and x; both of the next layer."""
        c = self.c
        a = self.attention(ops, y, batch, angles, position, cache)
        y, x = self.end(ops, a, self.out, x, "attention_end", self.mlp_norm)
        if c.experts:
            return ops.add_rms_norm(self.experts(ops, y), x, next_norm, c.eps)
        return self.end(ops, ops.gated(y, self.gate_up, c.activation), self.down, x, "mlp_end", next_norm)

    def attention(self, ops, y, batch, angles, position, cache):
        c = self.c
        heads = ops.linear(y, self.qkv, self.qkv_bias).view(batch, -1, c.heads + 2 * c.kv_heads, c.head)
        if cache is None:
            qk, v = heads.split((c.heads + c.kv_heads, c.kv_heads), 2)
            q, k = ops.rope(qk, angles).split((c.heads, c.kv_heads), 2)
        else:
            q = ops.rope_cache(heads, angles, position, cache)
            k, v = cache
        scale = c.head**-0.5
        o = ops.attention(q, k, v, causal=True, window=self.window, softcap=c.softcap, scale=scale)
        return o.reshape(y.shape[0], -1)

    def end(self, ops, y, w, x, norm_of_end, next_norm):
        if not self.c.sandwich:
            return ops.linear_add_rms_norm(y, w, x, next_norm, self.c.eps)
        y = ops.rms_norm(ops.linear(y, w), getattr(self, norm_of_end), self.c.eps)
        return ops.add_rms_norm(y, x, next_norm, self.c.eps)


class Decoder(nn.Module):
    def __init__(self, config, layers):
        super().__init__()
        self.c = c = config
        self.table = normal(c.vocab, c.width, scale=c.width**-0.5 if c.scaled else 1.0)
        router = self._prefer(c) if c.experts else None
        self.layers = nn.ModuleList(Layer(c, None if i % 2 else c.window, router) for i in range(layers))
        self.norm = gain(c.width)
        self.head = self.table if c.tied else normal(c.vocab, c.width)
        turns = c.rope_base ** (-torch.arange(0, c.head, 2, dtype=torch.float32) / c.head)
        angles = torch.arange(c.positions, dtype=torch.float32).unsqueeze(1) * turns
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def _prefer(self, c):
        """The weights of routers, and two experts that each token's embedding prefers. So all experts are chosen alike,
        and no choice is so close that rounding turns it."""
        router = normal(c.experts, c.width)
        first = torch.randint(c.experts, (c.vocab,))
        second = (first + torch.randint(1, c.experts, (c.vocab,))) % c.experts
        self.table += 12 * (1.2 * router[first] + router[second])
        return router

    def inputs(self, case):
        c = self.c
        if "prefill" in case:
            return (torch.randint(c.vocab, (1, case["prefill"])),)
        if "train" in case:
            tokens = torch.randint(c.vocab, (case["train"], case["tokens"] + 1))
            return tokens[:, :-1].contiguous(), None, None, tokens[:, 1:].flatten()
        batch, context = case["decode"], case["context"]
        cache = [tuple(torch.randn(batch, context, c.kv_heads, c.head) for _ in "kv") for _ in self.layers]
        return torch.randint(c.vocab, (batch, 1)), torch.tensor([context - 1]), cache

    def forward(self, ops, tokens, position=None, cache=None, targets=None):
        """tokens [batch, tokens] to logits [batch, vocab] of the last; with targets [batch * tokens] the mean loss.
        Of a decoding step: position [1]; cache, (keys, values) [batch, context, kv_heads, head] of each layer."""
        c, (batch, count) = self.c, tokens.shape
        scale = c.width**0.5 if c.scaled else None
        y, x = ops.embedding_rms_norm(self.table, tokens.flatten(), self.layers[0].attention_norm, c.eps, scale)
        angles = ops.angles(self.cos, self.sin, count if position is None else position, x.dtype)
        norms = [layer.attention_norm for layer in self.layers][1:] + [self.norm]
        for i, layer in enumerate(self.layers):
            y, x = layer(ops, y, x, norms[i], batch, angles, position, None if cache is None else cache[i])
        if targets is None:
            y = y.view(batch, count, -1)[:, -1]
        logits = ops.linear(y, self.head)
        if c.logit_softcap:
            logits = ops.softcap(logits, c.logit_softcap)
        return logits if targets is None else ops.cross_entropy(logits, targets)


_PREFILL_DECODE = (
    "prefill=4096",
    "prefill=512",
    "decode=1,context=1024",
    "decode=8,context=4096",
    "decode=32,context=4096",
    "decode=128,context=1024",
)
_CASES = (*_PREFILL_DECODE, "train=1,tokens=4096")
_TINY = dict(vocab=96, width=64, layers=2, heads=4, kv_heads=2, head=16, hidden=96, positions=64)
_TINY_CASES = ("prefill=24,layers=2", "decode=3,context=20,layers=2", "train=2,tokens=12,layers=2")


def _add(name, config, cases=_CASES, **tiny):
    add(name, Decoder, config, cases, Config(**_TINY | tiny), _TINY_CASES)


_add(
    "llama-3-8b",
    Config(128256, 4096, 32, heads=32, kv_heads=8, head=128, hidden=14336, rope_base=5e5),
)
_add(
    "qwen2.5-7b",
    Config(152064, 3584, 28, heads=28, kv_heads=4, head=128, hidden=18944, eps=1e-6, rope_base=1e6, qkv_bias=True),
    qkv_bias=True,
)
# Its norms' weights are 1 + w, which is what is stored here. scale: query_pre_attn_scalar is the head's width.
_GEMMA = dict(eps=1e-6, activation="gelu_tanh", tied=True, scaled=True, sandwich=True, softcap=50.0, logit_softcap=30.0)
_add(
    "gemma-2-9b",
    Config(256000, 3584, 42, heads=16, kv_heads=8, head=256, hidden=14336, window=4096, **_GEMMA),
    window=8,
    **_GEMMA,
)
# The one for contexts of 128 K, whose window is never reached here. Its angles are other numbers of the same tables.
_add("phi-3-mini", Config(32064, 3072, 32, heads=32, kv_heads=32, head=96, hidden=8192), kv_heads=4, head=24)
_add(
    "mixtral-8x7b",
    Config(32000, 4096, 32, heads=32, kv_heads=8, head=128, hidden=14336, rope_base=1e6, experts=8),
    cases=(*_PREFILL_DECODE, "train=1,tokens=4096,layers=2"),  # gradients of more do not fit beside the others
    experts=4,
)
