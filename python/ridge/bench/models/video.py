"""A video autoencoder's decoder, as Wan 2.1's is shaped: causal convolutions of frames, and the way to larger frames.

Cases    frames=T    of the latent video, which are decoded together
"""

import dataclasses

import torch
from torch import nn

from ridge.bench.models.table import KEEPS, Pair, add, filters, gain, normal

_SILU = KEEPS["silu"]


@dataclasses.dataclass(frozen=True)
class Config:
    width: int
    rows: int
    columns: int
    blocks: int = 3
    eps: float = 1e-12


def _volume(count, slices, taps, channels, factor):
    scale = factor * (slices * taps * taps * channels) ** -0.5
    return Pair(normal(count, slices, taps, taps, channels, scale=scale), normal(count, scale=0.1))


class Residual(nn.Module):
    """Two convolutions, each of which sees two frames before its own and none after it."""

    def __init__(self, c):
        super().__init__()
        self.c = c
        self.norm_1, self.conv_1 = gain(c.width), _volume(c.width, 3, 3, c.width, _SILU)
        self.norm_2, self.conv_2 = gain(c.width), _volume(c.width, 3, 3, c.width, _SILU / 2)

    def forward(self, ops, x):
        y = ops.silu(ops.rms_norm(x, self.norm_1, self.c.eps))
        y = ops.causal_conv3d(y, *self.conv_1(), pad=1)
        y = ops.silu(ops.rms_norm(y, self.norm_2, self.c.eps))
        return ops.causal_conv3d(y, *self.conv_2(), pad=1, residual=x)


class Decoder(nn.Module):
    """One size of the frames and the way to the next, frame by frame, which halves the channels."""

    def __init__(self, config, layers):
        super().__init__()
        self.c = c = config
        self.blocks = nn.ModuleList(Residual(c) for _ in range(c.blocks))
        self.last = filters(c.width // 2, 3, 3, c.width)

    def inputs(self, case):
        return (torch.randn(1, case["frames"], self.c.rows, self.c.columns, self.c.width),)

    def forward(self, ops, x):
        """x [batch, frames, rows, columns, width], to twice its rows and columns."""
        for block in self.blocks:
            x = block(ops, x)
        y = ops.conv2d(ops.upsample(x.flatten(0, 1), 2), *self.last(), pad=1)
        return y.unflatten(0, x.shape[:2])


_tiny = Config(width=16, rows=4, columns=6, blocks=2)
add(
    "video-vae",
    Decoder,
    Config(width=384, rows=60, columns=104),
    ("frames=4", "frames=1"),
    _tiny,
    ("frames=3",),
    layers=None,
)
