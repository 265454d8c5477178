"""ResNet-50: convolutions of images whose channels are neighbours, batch norms folded into weights and biases.

Cases    images=B
"""

import dataclasses

import torch
from torch import nn

from ridge.bench.models.table import add, affine, filters


@dataclasses.dataclass(frozen=True)
class Config:
    image: int = 224
    stem: int = 64
    blocks: tuple = (3, 4, 6, 3)  # of each stage, which has half the pixels of the one before, and twice its channels
    classes: int = 1000


class Bottleneck(nn.Module):
    def __init__(self, channels, narrow, stride):
        super().__init__()
        self.stride = stride
        self.reduce = filters(narrow, 1, 1, channels)
        self.middle = filters(narrow, 3, 3, narrow, factor=2**0.5)  # relu halves
        self.widen = filters(4 * narrow, 1, 1, narrow, factor=0.5)  # so that the sum over all blocks stays small
        self.shortcut = filters(4 * narrow, 1, 1, channels) if channels != 4 * narrow else None

    def forward(self, ops, x):
        y = ops.conv2d(x, *self.reduce(), activation="relu")
        y = ops.conv2d(y, *self.middle(), stride=self.stride, pad=1, activation="relu")
        if self.shortcut is not None:
            x = ops.conv2d(x, *self.shortcut(), stride=self.stride)
        return ops.conv2d(y, *self.widen(), activation="relu", residual=x)


class Resnet(nn.Module):
    def __init__(self, config, layers):
        super().__init__()
        self.c = c = config
        self.stem = filters(c.stem, 7, 7, 3)
        self.blocks, channels = nn.ModuleList(), c.stem
        for stage, blocks in enumerate(c.blocks):
            narrow = c.stem << stage
            for block in range(blocks):
                self.blocks.append(Bottleneck(channels, narrow, 2 if stage > 0 and block == 0 else 1))
                channels = 4 * narrow
        self.head = affine(c.classes, channels)

    def inputs(self, case):
        return (torch.randn(case["images"], self.c.image, self.c.image, 3),)

    def forward(self, ops, images):
        """images [batch, rows, columns, 3] to [batch, classes]."""
        x = ops.conv2d(images, *self.stem(), stride=2, pad=3, activation="relu")
        x = ops.max_pool2d(x, 3, stride=2, pad=1)
        for block in self.blocks:
            x = block(ops, x)
        return ops.linear(ops.mean_of_pixels(x), *self.head())


add(
    "resnet-50",
    Resnet,
    Config(),
    ("images=64", "images=8", "images=1"),
    Config(image=32, stem=8, blocks=(1, 2), classes=10),
    ("images=2",),
    glued=False,
    layers=None,
)
