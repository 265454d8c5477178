"""Stable Diffusion 1: the layers of its denoiser that see the whole latent image, and what decodes that to pixels.

Cases    images=B    guided images are two of these each
"""

import dataclasses

import torch
import torch.nn.functional as F
from torch import nn

from ridge.bench.models.encoder import self_attention
from ridge.bench.models.table import KEEPS, add, affine, filters, norm, normal

_SILU = KEEPS["silu"]


@dataclasses.dataclass(frozen=True)
class Config:
    width: int
    pixels: int  # rows and columns
    groups: int = 32
    eps: float = 1e-6
    blocks: int = 3  # of the decoder
    heads: int = 8  # from here on of the denoiser
    step: int = 1280  # width of what tells the step
    words: int = 77
    text: int = 768  # width of a word


class Residual(nn.Module):
    """Two convolutions, between which the step is added to all pixels where there are steps."""

    def __init__(self, c, channels, step=0, eps=1e-6):
        super().__init__()
        self.c, self.eps = c, eps
        self.norm_1, self.conv_1 = norm(channels), filters(c.width, 3, 3, channels, factor=_SILU)
        self.step = affine(c.width, step) if step else None
        self.norm_2, self.conv_2 = norm(c.width), filters(c.width, 3, 3, c.width, factor=_SILU / 2)
        self.shortcut = filters(c.width, 1, 1, channels) if channels != c.width else None

    def forward(self, ops, x, step=None):
        y = ops.group_norm(x, *self.norm_1(), self.c.groups, self.eps, activation="silu")
        shift = None
        if self.step is not None:
            shift = ops.linear(step, *self.step())[:, None, None].expand(*x.shape[:3], -1)
        y = ops.conv2d(y, *self.conv_1(), pad=1, residual=shift)
        y = ops.group_norm(y, *self.norm_2(), self.c.groups, self.eps, activation="silu")
        if self.shortcut is not None:
            x = ops.conv2d(x, *self.shortcut())
        return ops.conv2d(y, *self.conv_2(), pad=1, residual=x)


class Transformer(nn.Module):
    """Pixels as tokens, which see each other and the words of the text."""

    layer_eps = 1e-5

    def __init__(self, c):
        super().__init__()
        self.c = c
        width, hidden = c.width, 4 * c.width
        self.norm, self.enter, self.leave = norm(width), affine(width, width), affine(width, width)
        self.attention_norm, self.cross_norm, self.mlp_norm = norm(width), norm(width), norm(width)
        self.qkv, self.out = normal(3 * width, width), affine(width, width)
        self.cross_q, self.cross_kv = normal(width, width), normal(2 * width, c.text)
        self.cross_out = affine(width, width)
        self.up, self.down = affine(2 * hidden, width), affine(width, hidden)  # of up first the gates

    def forward(self, ops, x, text):
        """x [batch, rows, columns, width], text [batch, words, its width]."""
        c, batch = self.c, x.shape[0]
        y = ops.group_norm(x, *self.norm(), c.groups, c.eps).flatten(0, 2)
        h = ops.linear(y, *self.enter())
        y = ops.layer_norm(h, *self.attention_norm(), self.layer_eps)
        a = self_attention(ops, y, batch, c.heads, self.qkv)
        y, h = ops.linear_add_layer_norm(a, *self.out(), h, *self.cross_norm(), self.layer_eps)
        q = ops.linear(y, self.cross_q).view(batch, -1, c.heads, c.width // c.heads)
        k, v = ops.linear(text, self.cross_kv).unflatten(-1, (2, c.heads, -1)).unbind(2)
        a = ops.attention(q, k, v).reshape(h.shape)
        y, h = ops.linear_add_layer_norm(a, *self.cross_out(), h, *self.mlp_norm(), self.layer_eps)
        weight, bias = self.up()
        h = ops.linear(ops.gated(y, weight, "gelu", bias), *self.down(), residual=h)
        return ops.linear(h, *self.leave(), residual=x.flatten(0, 2)).view(x.shape)


class Denoiser(nn.Module):
    """A layer of the way down, and one of the way up, which gets what the other gave beside its input."""

    def __init__(self, config, layers):
        super().__init__()
        self.c = c = config
        self.residual_down, self.down = Residual(c, c.width, c.step, eps=1e-5), Transformer(c)
        self.residual_up, self.up = Residual(c, 2 * c.width, c.step, eps=1e-5), Transformer(c)

    def inputs(self, case):
        c, batch = self.c, case["images"]
        image = torch.randn(batch, c.pixels, c.pixels, c.width)
        return image, torch.randn(batch, c.step), torch.randn(batch, c.words, c.text)

    def forward(self, ops, x, step, text):
        """x [batch, rows, columns, width], step [batch, its width], text [batch, words, its width]; as x."""
        step = F.silu(step)
        kept = x = self.down(ops, self.residual_down(ops, x, step), text)
        x = torch.cat((x, kept), -1)
        return self.up(ops, self.residual_up(ops, x, step), text)


class Decoder(nn.Module):
    """One size of the image and the way to the next."""

    def __init__(self, config, layers):
        super().__init__()
        self.c = c = config
        self.blocks = nn.ModuleList(Residual(c, c.width) for _ in range(c.blocks))
        self.last = filters(c.width, 3, 3, c.width)

    def inputs(self, case):
        return (torch.randn(case["images"], self.c.pixels, self.c.pixels, self.c.width),)

    def forward(self, ops, x):
        """x [batch, rows, columns, width], to twice its rows and columns."""
        for block in self.blocks:
            x = block(ops, x)
        return ops.conv2d(ops.upsample(x, 2), *self.last(), pad=1)


_IMAGES = ("images=32", "images=1")
_tiny = Config(width=16, pixels=4, groups=4, blocks=2, heads=2, step=24, words=5, text=12)
add("sd-unet", Denoiser, Config(width=320, pixels=64), _IMAGES, _tiny, ("images=2",), layers=None)
add("sd-vae", Decoder, Config(width=512, pixels=64), _IMAGES, _tiny, ("images=1",), glued=False, layers=None)
