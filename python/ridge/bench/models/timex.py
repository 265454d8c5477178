"""RWKV-2, whose tokens meet in a long convolution of each channel ("timex") and not in attention.

Cases    batch=B,tokens=N
"""

import dataclasses

import torch
import torch.nn.functional as F
from torch import nn

from ridge.bench.models.table import add, norm, normal


@dataclasses.dataclass(frozen=True)
class Config:
    width: int
    hidden: int
    tokens: int
    eps: float = 1e-5


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c = c
        self.time_norm, self.channel_norm = norm(c.width), norm(c.width)
        self.time_mix, self.channel_mix = (nn.Parameter(torch.rand(c.width)) for _ in range(2))
        self.key, self.value, self.receptance, self.out = (normal(c.width, c.width) for _ in range(4))
        self.channel_key, self.channel_value = normal(c.hidden, c.width), normal(c.width, c.hidden)
        self.channel_receptance = normal(c.width, c.width)
        # exp(-lag * decay), a decay of each channel; the last element is lag 0.
        decay = torch.logspace(-3, 0.5, c.width, dtype=torch.float32).unsqueeze(1)
        lags = torch.arange(c.tokens - 1, -1, -1, dtype=torch.float32)
        self.filters = nn.Parameter(torch.exp(-lags * decay))

    def forward(self, ops, x):
        """x [batch, tokens, width]."""
        x = x + self.mix_times(ops, mixed(ops.layer_norm(x, *self.time_norm(), self.c.eps), self.time_mix))
        return x + self.mix_channels(ops, mixed(ops.layer_norm(x, *self.channel_norm(), self.c.eps), self.channel_mix))

    def mix_times(self, ops, y):
        """The mean of values before a token, weighted by exp(key) and by how long ago; in float32."""
        w = self.filters[:, -y.shape[1] :]
        k = ops.linear_time_last(y, self.key).float().clamp(max=60).exp()
        v = ops.linear_time_last(y, self.value).float()
        mean = ops.causal_conv(k * v, w) / ops.causal_conv(k, w, eps=1e-8)
        gate = ops.linear(y, self.receptance, activation="sigmoid")
        return ops.linear(gate * mean.mT.to(y.dtype), self.out)

    def mix_channels(self, ops, y):
        h = ops.linear(y, self.channel_key, activation="relu")
        gate = ops.linear(y, self.channel_receptance, activation="sigmoid")
        return gate * ops.linear(h * h, self.channel_value)


def mixed(x, share):
    """Each token with a share of the one before it."""
    return x * share + F.pad(x, (0, 0, 1, -1)) * (1 - share)


class Timex(nn.Module):
    def __init__(self, config, layers):
        super().__init__()
        self.c = config
        self.blocks = nn.ModuleList(Block(config) for _ in range(layers))

    def inputs(self, case):
        if case["tokens"] > self.c.tokens:
            raise ValueError(f"its filters are of {self.c.tokens} tokens")
        return (torch.randn(case["batch"], case["tokens"], self.c.width),)

    def forward(self, ops, x):
        for block in self.blocks:
            x = block(ops, x)
        return x


add(
    "rwkv-2-timex",
    Timex,
    Config(width=1024, hidden=4096, tokens=1024),
    ("batch=8,tokens=1024", "batch=32,tokens=768"),
    Config(width=32, hidden=64, tokens=24),
    ("batch=2,tokens=20,layers=2",),
)
