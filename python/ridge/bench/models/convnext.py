"""ConvNeXt-T: filters of 7 x 7 pixels and one channel, and at each pixel what a transformer has after attention. The
factors of channels that end a block (its "layer scale") are folded into the weights and biases before them.

Cases    images=B
"""

import dataclasses

import torch
from torch import nn

from ridge.bench.models.table import add, affine, filters, norm, normal


@dataclasses.dataclass(frozen=True)
class Config:
    image: int = 224
    widths: tuple = (96, 192, 384, 768)  # channels of each stage, which has half the pixels of the one before
    blocks: tuple = (3, 3, 9, 3)
    patch: int = 4  # rows and columns of the image that become a pixel of the first stage
    classes: int = 1000
    eps: float = 1e-6


class Block(nn.Module):
    def __init__(self, c, width):
        super().__init__()
        self.c = c
        self.middle, self.norm = filters(width, 7, 7, 1), norm(width)
        self.up, self.down = affine(4 * width, width), affine(width, 4 * width)
        scale = normal(width, scale=0.1, mean=0.5)  # of training, where it begins at 1e-6
        self.down.weight.mul_(scale.unsqueeze(1))
        self.down.bias.mul_(scale)

    def forward(self, ops, x):
        y = ops.conv2d(x, *self.middle(), pad=3, groups=x.shape[-1])
        y = ops.layer_norm(y, *self.norm(), self.c.eps)
        return ops.linear(ops.linear(y, *self.up(), activation="gelu"), *self.down(), residual=x)


class Halving(nn.Module):
    """Between two stages."""

    def __init__(self, c, channels, width):
        super().__init__()
        self.c = c
        self.norm, self.patches = norm(channels), filters(width, 2, 2, channels)

    def forward(self, ops, x):
        return ops.conv2d(ops.layer_norm(x, *self.norm(), self.c.eps), *self.patches(), stride=2)


class Convnext(nn.Module):
    def __init__(self, config, layers):
        super().__init__()
        self.c = c = config
        self.patches, self.norm = filters(c.widths[0], c.patch, c.patch, 3), norm(c.widths[0])
        self.blocks = nn.ModuleList()
        for stage, (width, count) in enumerate(zip(c.widths, c.blocks)):
            if stage:
                self.blocks.append(Halving(c, c.widths[stage - 1], width))
            self.blocks.extend(Block(c, width) for _ in range(count))
        self.last_norm, self.head = norm(width), affine(c.classes, width)

    def inputs(self, case):
        return (torch.randn(case["images"], self.c.image, self.c.image, 3),)

    def forward(self, ops, images):
        """images [batch, rows, columns, 3] to [batch, classes]."""
        x = ops.conv2d(images, *self.patches(), stride=self.c.patch)
        x = ops.layer_norm(x, *self.norm(), self.c.eps)
        for block in self.blocks:
            x = block(ops, x)
        x = ops.layer_norm(ops.mean_of_pixels(x), *self.last_norm(), self.c.eps)
        return ops.linear(x, *self.head())


add(
    "convnext-t",
    Convnext,
    Config(),
    ("images=32", "images=1"),
    Config(image=16, widths=(8, 16), blocks=(1, 2), patch=2, classes=10),
    ("images=2",),
    glued=False,
    layers=None,
)
