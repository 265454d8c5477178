"""ResNet-50: convolutions of images whose channels are neighbours, each with a batch norm: folded into its weights and
bias where the network is run, and by the batch's own statistics where it is trained.

Cases    images=B
         train=B      loss and all gradients, of B images
"""

import dataclasses

import torch
from torch import nn

from ridge.bench.models.table import add, affine, filters, normal


@dataclasses.dataclass(frozen=True)
class Config:
    image: int = 224
    stem: int = 64
    blocks: tuple = (3, 4, 6, 3)  # of each stage, which has half the pixels of the one before, and twice its channels
    classes: int = 1000
    folded: bool = True  # batch norms
    branch: float = 0.5  # what a block adds, so that the sum over all of them stays small


class Folded(nn.Module):
    """A convolution with its batch norm in weight and bias."""

    def __init__(self, count, size, channels, factor=1.0):
        super().__init__()
        self.of = filters(count, size, size, channels, factor)

    def forward(self, ops, x, **how):
        return ops.conv2d(x, *self.of(), **how)


class Normed(nn.Module):
    """A convolution and its batch norm, whose parameters and statistics are float32 as under autocast."""

    def __init__(self, count, size, channels, factor=1.0):
        super().__init__()
        self.weight = normal(count, size, size, channels, scale=(size * size * channels) ** -0.5)
        self.gamma, self.beta = (normal(count, scale=0.1, mean=m, dtype=torch.float32) for m in (factor, 0.0))
        self.register_buffer("mean", torch.zeros(count, dtype=torch.float32))
        self.register_buffer("var", torch.ones(count, dtype=torch.float32))

    def forward(self, ops, x, stride=1, pad=0, activation=None, residual=None):
        y = ops.conv2d(x, self.weight, None, stride, pad)
        return ops.batch_norm(y, self.gamma, self.beta, self.mean, self.var, activation, residual)


class Bottleneck(nn.Module):
    def __init__(self, layer, channels, narrow, stride, branch):
        super().__init__()
        self.stride = stride
        self.reduce = layer(narrow, 1, channels)
        self.middle = layer(narrow, 3, narrow, 2**0.5)  # relu halves
        self.widen = layer(4 * narrow, 1, narrow, branch)
        self.shortcut = layer(4 * narrow, 1, channels) if channels != 4 * narrow else None

    def forward(self, ops, x):
        y = self.reduce(ops, x, activation="relu")
        y = self.middle(ops, y, stride=self.stride, pad=1, activation="relu")
        if self.shortcut is not None:
            x = self.shortcut(ops, x, stride=self.stride)
        return self.widen(ops, y, activation="relu", residual=x)


class Resnet(nn.Module):
    def __init__(self, config, layers):
        super().__init__()
        self.c = c = config
        layer = Folded if c.folded else Normed
        self.stem = layer(c.stem, 7, 3)
        self.blocks, channels = nn.ModuleList(), c.stem
        for stage, blocks in enumerate(c.blocks):
            narrow = c.stem << stage
            for block in range(blocks):
                stride = 2 if stage > 0 and block == 0 else 1
                self.blocks.append(Bottleneck(layer, channels, narrow, stride, c.branch))
                channels = 4 * narrow
        self.head = affine(c.classes, channels)

    def inputs(self, case):
        count = case["images" if self.c.folded else "train"]
        images = torch.randn(count, self.c.image, self.c.image, 3)
        return (images,) if self.c.folded else (images, torch.randint(self.c.classes, (count,)))

    def forward(self, ops, images, targets=None):
        """images [batch, rows, columns, 3] to [batch, classes]; or to the loss, with targets [batch]."""
        x = self.stem(ops, images, stride=2, pad=3, activation="relu")
        x = ops.max_pool2d(x, 3, stride=2, pad=1)
        for block in self.blocks:
            x = block(ops, x)
        logits = ops.linear(ops.mean_of_pixels(x), *self.head())
        if targets is None:
            return logits
        ops.keep_statistics()
        return ops.cross_entropy(logits, targets)


_TINY = Config(image=32, stem=8, blocks=(1, 2), classes=10)
add("resnet-50", Resnet, Config(), ("images=64", "images=8", "images=1"), _TINY, ("images=2",), glued=False, layers=None)
# With blocks that add as much, bf16 has no digit of some gradients, by whichever operators.
add(
    "resnet-50-training",
    Resnet,
    Config(folded=False, branch=0.1),
    ("train=64",),
    dataclasses.replace(_TINY, folded=False),
    ("train=3",),
    glued=False,
    layers=None,
)
