"""MobileNetV3-Large and EfficientNet-B0: filters of one channel between products that widen and narrow, and weights of
channels that an image's own means decide. Batch norms are folded into weights and biases.

Cases    images=B
"""

import dataclasses

import torch
from torch import nn

from ridge.bench.models.table import KEEPS, add, affine, filters


@dataclasses.dataclass(frozen=True)
class Block:
    size: int  # rows and columns of the filters
    stride: int
    wide: int  # channels inside
    out: int
    squeezed: int = 0  # numbers that the weights of channels are computed from; 0: there are no such weights
    activation: str = "silu"


@dataclasses.dataclass(frozen=True)
class Config:
    image: int
    stem: int
    blocks: tuple
    last: int  # channels that the means are taken of
    hidden: int = 0  # width of a layer before the classes; 0: there is none
    classes: int = 1000
    activation: str = "silu"  # of the first layer and the last ones
    squeeze: tuple = ("silu", "sigmoid")  # the two activations behind the weights of channels


class Residual(nn.Module):
    def __init__(self, channels, block, squeeze):
        super().__init__()
        self.block, self.squeeze, self.added = block, squeeze, block.stride == 1 and channels == block.out
        wide, keeps = block.wide, KEEPS[block.activation]
        self.widen = filters(wide, 1, 1, channels) if wide != channels else None
        self.middle = filters(wide, block.size, block.size, 1, factor=keeps)
        if block.squeezed:
            self.to_few, self.to_all = affine(block.squeezed, wide), affine(wide, block.squeezed)
        keeps *= 1.8 if block.squeezed else 1  # weights of channels are about 1/2
        self.narrow = filters(block.out, 1, 1, wide, factor=keeps / 3 if self.added else keeps)  # sums stay small

    def forward(self, ops, x):
        b, y = self.block, x
        if self.widen is not None:
            y = ops.conv2d(y, *self.widen(), activation=b.activation)
        y = ops.conv2d(y, *self.middle(), stride=b.stride, pad=b.size // 2, activation=b.activation, groups=b.wide)
        if b.squeezed:
            few = ops.linear(ops.mean_of_pixels(y), *self.to_few(), activation=self.squeeze[0])
            y = y * ops.linear(few, *self.to_all(), activation=self.squeeze[1])[:, None, None]
        return ops.conv2d(y, *self.narrow(), residual=x if self.added else None)


class Mobilenet(nn.Module):
    def __init__(self, config, layers):
        super().__init__()
        self.c = c = config
        self.stem = filters(c.stem, 3, 3, 3)
        channels = [c.stem, *(block.out for block in c.blocks)]
        self.blocks = nn.ModuleList(Residual(*pair, c.squeeze) for pair in zip(channels, c.blocks))
        self.last = filters(c.last, 1, 1, channels[-1])
        self.hidden = affine(c.hidden, c.last) if c.hidden else None
        self.head = affine(c.classes, c.hidden or c.last)

    def inputs(self, case):
        return (torch.randn(case["images"], self.c.image, self.c.image, 3),)

    def forward(self, ops, images):
        """images [batch, rows, columns, 3] to [batch, classes]."""
        activation = self.c.activation
        x = ops.conv2d(images, *self.stem(), stride=2, pad=1, activation=activation)
        for block in self.blocks:
            x = block(ops, x)
        x = ops.mean_of_pixels(ops.conv2d(x, *self.last(), activation=activation))
        if self.hidden is not None:
            x = ops.linear(x, *self.hidden(), activation=activation)
        return ops.linear(x, *self.head())


def _efficientnet():
    """Blocks of the same shape in a row, the first of which may halve the image."""
    blocks, channels = [], 32
    for size, stride, widened, out, count in (
        (3, 1, 1, 16, 1),
        (3, 2, 6, 24, 2),
        (5, 2, 6, 40, 2),
        (3, 2, 6, 80, 3),
        (5, 1, 6, 112, 3),
        (5, 2, 6, 192, 4),
        (3, 1, 6, 320, 1),
    ):
        for i in range(count):
            blocks.append(Block(size, 1 if i else stride, widened * channels, out, channels // 4))
            channels = out
    return tuple(blocks)


_MOBILENET = (
    Block(3, 1, 16, 16, activation="relu"),
    Block(3, 2, 64, 24, activation="relu"),
    Block(3, 1, 72, 24, activation="relu"),
    Block(5, 2, 72, 40, 24, "relu"),
    Block(5, 1, 120, 40, 32, "relu"),
    Block(5, 1, 120, 40, 32, "relu"),
    Block(3, 2, 240, 80, activation="hardswish"),
    Block(3, 1, 200, 80, activation="hardswish"),
    Block(3, 1, 184, 80, activation="hardswish"),
    Block(3, 1, 184, 80, activation="hardswish"),
    Block(3, 1, 480, 112, 120, "hardswish"),
    Block(3, 1, 672, 112, 168, "hardswish"),
    Block(5, 2, 672, 160, 168, "hardswish"),
    Block(5, 1, 960, 160, 240, "hardswish"),
    Block(5, 1, 960, 160, 240, "hardswish"),
)
_IMAGES, _TINY_IMAGES = ("images=32", "images=1"), ("images=2",)
_hard = {"activation": "hardswish", "squeeze": ("relu", "hardsigmoid")}
_tiny = (Block(3, 1, 8, 8, 8, "relu"), Block(5, 2, 16, 8, activation="hardswish"), Block(5, 1, 24, 8, 8, "hardswish"))
add(
    "mobilenet-v3",
    Mobilenet,
    Config(224, 16, _MOBILENET, last=960, hidden=1280, **_hard),
    _IMAGES,
    Config(16, 8, _tiny, last=24, hidden=16, classes=10, **_hard),
    _TINY_IMAGES,
    layers=None,
)
_tiny = (Block(3, 1, 8, 8, 4), Block(5, 2, 24, 16, 4), Block(5, 1, 48, 16, 4))
add(
    "efficientnet-b0",
    Mobilenet,
    Config(224, 32, _efficientnet(), last=1280),
    _IMAGES,
    Config(16, 8, _tiny, last=24, classes=10),
    _TINY_IMAGES,
    layers=None,
)
