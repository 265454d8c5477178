"""U-Net as it was published: images of 572 x 572, convolutions without padding, a map of two classes of 388 x 388.

Cases    images=B
"""

import dataclasses

import torch
from torch import nn

from ridge.bench.models.table import KEEPS, Pair, add, filters, normal


@dataclasses.dataclass(frozen=True)
class Config:
    image: int = 572
    channels: int = 1
    widths: tuple = (64, 128, 256, 512, 1024)  # of each size of the image, from its own to the smallest
    classes: int = 2


class Twice(nn.Module):
    """Two convolutions, each of which takes a pixel from all four sides."""

    def __init__(self, channels, width):
        super().__init__()
        self.first = filters(width, 3, 3, channels, factor=KEEPS["relu"])
        self.second = filters(width, 3, 3, width, factor=KEEPS["relu"])

    def forward(self, ops, x):
        return ops.conv2d(ops.conv2d(x, *self.first(), activation="relu"), *self.second(), activation="relu")


class Unet(nn.Module):
    def __init__(self, config, layers):
        super().__init__()
        self.c = c = config
        channels = (c.channels, *c.widths)
        self.down = nn.ModuleList(Twice(*pair) for pair in zip(channels, c.widths))
        pairs = list(zip(c.widths[:0:-1], c.widths[-2::-1]))  # (wide, narrow), from the smallest image on
        self.larger = nn.ModuleList(self._doubling(*pair) for pair in pairs)
        self.up = nn.ModuleList(Twice(2 * narrow, narrow) for _, narrow in pairs)
        self.head = filters(c.classes, 1, 1, c.widths[0])

    @staticmethod
    def _doubling(channels, count):
        """Filters of 2 x 2, stride 2: each output is of one pixel alone."""
        return Pair(normal(channels, 2, 2, count, scale=channels**-0.5), normal(count, scale=0.1))

    def inputs(self, case):
        return (torch.randn(case["images"], self.c.image, self.c.image, self.c.channels),)

    def forward(self, ops, x):
        """x [batch, rows, columns, channels] to [batch, fewer, fewer, classes]."""
        seen = []
        for twice in self.down:
            x = twice(ops, ops.max_pool2d(x, 2, stride=2, pad=0) if seen else x)
            seen.append(x)
        for kept, larger, twice in zip(seen[-2::-1], self.larger, self.up):
            x = ops.conv_transpose2d(x, *larger(), stride=2)
            x = twice(ops, torch.cat((middle(kept, x), x), -1))
        return ops.conv2d(x, *self.head())


def middle(x, like):
    """So much of x as `like` has rows and columns."""
    rows, columns = like.shape[1:3]
    top, left = (x.shape[1] - rows) // 2, (x.shape[2] - columns) // 2
    return x[:, top : top + rows, left : left + columns]


add(
    "unet-572",
    Unet,
    Config(),
    ("images=32", "images=1"),
    Config(image=44, widths=(8, 8, 16)),
    ("images=2",),
    layers=None,
)
