"""What the tests of torch.compile(model, backend="ridge") share: models as the usual libraries write them, and what a
graph becomes."""

import torch
import torch.nn.functional as F
from torch import nn

import ridge.torch
from ridge.torch.fx import backend as fx

WIDTH, HEADS, SHARED, D = 32, 4, 2, 8


class WrittenRmsNorm(nn.Module):
    def __init__(self, wide_first=True):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(WIDTH))
        self.wide_first = wide_first

    def forward(self, x):
        dtype = x.dtype
        wide = x.to(torch.float32)
        variance = wide.pow(2).mean(-1, keepdim=True)
        x = (wide if self.wide_first else x) * torch.rsqrt(variance + 1e-6)
        return self.weight * x.to(dtype)


def repeat_kv(x, times):
    batch, heads, tokens, d = x.shape
    return x[:, :, None, :, :].expand(batch, heads, times, tokens, d).reshape(batch, heads * times, tokens, d)


class DecoderLayer(nn.Module):
    """As Llama is written: separate projections, heads that are repeated, a gate, norms spelled out."""

    def __init__(self):
        super().__init__()
        make = lambda out, width=WIDTH: nn.Linear(width, out, bias=False)  # noqa: E731
        self.q, self.k, self.v = make(HEADS * D), make(SHARED * D), make(SHARED * D)
        self.o, self.gate, self.up, self.down = make(WIDTH), make(48), make(48), make(WIDTH, 48)
        self.norm1, self.norm2 = WrittenRmsNorm(), WrittenRmsNorm(wide_first=False)

    def forward(self, x):
        batch, tokens, _ = x.shape
        h = self.norm1(x)
        q, k, v = (p(h).view(batch, tokens, -1, D).transpose(1, 2) for p in (self.q, self.k, self.v))
        k, v = repeat_kv(k, HEADS // SHARED), repeat_kv(v, HEADS // SHARED)
        o = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(o.transpose(1, 2).contiguous().view(batch, tokens, -1))
        h = self.norm2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class EncoderLayer(nn.Module):
    """As BERT is written: dropout everywhere, norms after the sums, a mask of numbers."""

    def __init__(self):
        super().__init__()
        self.qkv, self.o = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 64), nn.Linear(64, WIDTH)
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x, mask):
        q, k, v = (t.unflatten(-1, (HEADS, D)).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        o = F.scaled_dot_product_attention(q, k, v, mask).transpose(1, 2).flatten(2)
        x = self.norm1(self.dropout(self.o(o)) + x)
        return self.norm2(self.dropout(self.down(F.gelu(self.up(x)))) + x)


class ImageBlock(nn.Module):
    """As residual networks are written."""

    def __init__(self, channels=16, groups=1, bias=False, affine=True):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, groups=groups, bias=bias)
        self.bn1 = nn.BatchNorm2d(channels, affine=affine)
        self.conv2 = nn.Conv2d(channels, channels, 1, bias=bias)
        self.bn2 = nn.BatchNorm2d(channels, affine=affine)
        for bn in (self.bn1, self.bn2):
            bn.running_mean.normal_()
            bn.running_var.uniform_(0.5, 2)
            if affine:
                nn.init.normal_(bn.weight)
                nn.init.normal_(bn.bias)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        y += x
        return self.relu(y)


def mask(tokens):
    return torch.where(torch.ones(tokens, tokens).tril() > 0, 0.0, torch.finfo(torch.float32).min)[None, None]


MODELS = {"decoder": (DecoderLayer, ()), "encoder": (EncoderLayer, (mask(6),))}


def compiled(model, **options):
    torch._dynamo.reset()
    return torch.compile(model, backend=lambda g, x: fx.backend(g, x, inductor=False, measure=False, **options))


def kinds(model):
    return sorted(entry.what for entry in ridge.torch.report(model).entries if entry.replaced)


def compare(found, expected):
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


def rewritten(function):
    """A function as the backend leaves it, and what its graph's entries will be. Functions have no parameters to ask by."""
    entries = []

    def keep(graph, example):
        entries.extend(fx.replace(graph.graph, fx._is_trained(example), stopwatch=None))
        graph.recompile()
        return graph.forward

    torch._dynamo.reset()
    return torch.compile(function, backend=keep), entries


def replaced_of(function, *inputs):
    """What is replaced in a function, whose result stays what it was; and why the rest is not."""
    ours, entries = rewritten(function)
    compare(ours(*(x.clone() for x in inputs)), function(*inputs))
    return [e.what for e in entries if e.replaced], [e.why for e in entries if not e.replaced]


def same(function, *inputs, training=False):
    """What is replaced in a function that may write its inputs; results, their types and gradients stay the same."""
    rewrote, entries = rewritten(function)
    ours, theirs = ([x.clone().requires_grad_(training and x.is_floating_point()) for x in inputs] for _ in range(2))
    with torch.set_grad_enabled(training):
        found, expected = rewrote(*ours), function(*theirs)
    compare(found, expected)
    assert found.dtype == expected.dtype and found.requires_grad == expected.requires_grad
    if training and expected.requires_grad:
        found.square().sum().backward(), expected.square().sum().backward()
        for a, b in zip(ours, theirs):
            assert (a.grad is None) == (b.grad is None)
            if b.grad is not None:
                compare(a.grad, b.grad)
    return [e.what for e in entries if e.replaced]
