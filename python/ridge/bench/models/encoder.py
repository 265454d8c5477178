"""Models that see all tokens at once: BERT, T5's encoder, ViT, DiT.

Cases    batch=B,tokens=N    images=B
"""

import dataclasses
import math

import torch
import torch.nn.functional as F
from torch import nn

from ridge.bench.models.table import add, affine, filters, gain, norm, normal


@dataclasses.dataclass(frozen=True)
class Config:
    width: int
    heads: int
    hidden: int
    eps: float
    vocab: int = 0
    positions: int = 0
    image: int = 0  # rows and columns
    patch: int = 0
    classes: int = 0
    channels: int = 0  # of a patch, as DiT takes them
    activation: str = "gelu"


def self_attention(ops, y, batch, heads, qkv, bias=None, **options):
    """y [batch * tokens, width] to all heads' results, [batch * tokens, heads * d]."""
    q, k, v = ops.linear(y, qkv, bias).view(batch, -1, 3, heads, qkv.shape[0] // (3 * heads)).unbind(2)
    return ops.attention(q, k, v, **options).reshape(y.shape[0], -1)


class Block(nn.Module):
    """A layer of BERT, of ViT and of Whisper's encoder: attention and two products, all with a bias."""

    def __init__(self, c):
        super().__init__()
        self.c = c
        self.qkv, self.out = affine(3 * c.width, c.width), affine(c.width, c.width)
        self.up, self.down = affine(c.hidden, c.width), affine(c.width, c.hidden)
        self.attention_norm, self.mlp_norm = norm(c.width), norm(c.width)

    def norm_after(self, ops, x, batch):
        """BERT's: each half's sum is normed."""
        c = self.c
        a = self_attention(ops, x, batch, c.heads, *self.qkv())
        x, _ = ops.linear_add_layer_norm(a, *self.out(), x, *self.attention_norm(), c.eps)
        h = ops.linear(x, *self.up(), c.activation)
        return ops.linear_add_layer_norm(h, *self.down(), x, *self.mlp_norm(), c.eps)[0]

    def norm_before(self, ops, y, x, next_norm, batch):
        """The others': each half begins with a norm. y, the norm of x, and x; both of the next layer."""
        c = self.c
        a = self_attention(ops, y, batch, c.heads, *self.qkv())
        y, x = ops.linear_add_layer_norm(a, *self.out(), x, *self.mlp_norm(), c.eps)
        h = ops.linear(y, *self.up(), c.activation)
        return ops.linear_add_layer_norm(h, *self.down(), x, *next_norm(), c.eps)


def run_blocks(ops, blocks, x, last_norm, batch):
    """Layers with norms before their halves, and the last norm; x [batch * tokens, width]."""
    y = ops.layer_norm(x, *blocks[0].attention_norm(), blocks[0].c.eps)
    norms = [block.attention_norm for block in blocks][1:] + [last_norm]
    for block, next_norm in zip(blocks, norms):
        y, x = block.norm_before(ops, y, x, next_norm, batch)
    return y


class Bert(nn.Module):
    def __init__(self, config, layers):
        super().__init__()
        self.c = c = config
        self.words, self.types = normal(c.vocab, c.width, scale=1.0), normal(2, c.width, scale=0.1)
        self.positions, self.norm = normal(c.positions, c.width, scale=0.1), norm(c.width)
        self.blocks = nn.ModuleList(Block(c) for _ in range(layers))

    def inputs(self, case):
        return (torch.randint(self.c.vocab, (case["batch"], case["tokens"])),)

    def forward(self, ops, tokens):
        """tokens [batch, tokens] to [batch * tokens, width]."""
        batch, count = tokens.shape
        x = ops.embedding(self.words, tokens) + (self.positions[:count] + self.types[0])
        x = ops.layer_norm(x.flatten(0, 1), *self.norm(), self.c.eps)
        for block in self.blocks:
            x = block.norm_after(ops, x, batch)
        return x


class Vit(nn.Module):
    def __init__(self, config, layers):
        super().__init__()
        self.c = c = config
        tokens = (c.image // c.patch) ** 2 + 1
        self.patches = filters(c.width, c.patch, c.patch, 3)
        self.first = normal(1, 1, c.width, scale=1.0)  # the token that stands for the image
        self.positions, self.norm = normal(tokens, c.width, scale=0.1), norm(c.width)
        self.blocks = nn.ModuleList(Block(c) for _ in range(layers))
        self.head = affine(c.classes, c.width)

    def inputs(self, case):
        return (torch.randn(case["images"], self.c.image, self.c.image, 3),)

    def forward(self, ops, images):
        """images [batch, rows, columns, 3] to [batch, classes]."""
        batch = images.shape[0]
        x = ops.conv2d(images, *self.patches(), stride=self.c.patch).flatten(1, 2)
        x = torch.cat((self.first.expand(batch, -1, -1), x), 1) + self.positions
        y = run_blocks(ops, self.blocks, x.flatten(0, 1), self.norm, batch)
        return ops.linear(y.view(batch, -1, self.c.width)[:, 0], *self.head())


class T5Layer(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.attention_norm, self.mlp_norm = gain(c.width), gain(c.width)
        self.qkv, self.out = normal(3 * c.width, c.width), normal(c.width, c.width)
        self.qkv[: c.width] *= (c.width // c.heads) ** -0.5  # its scores are not scaled, but trained to be small
        self.up, self.down = normal(c.hidden, c.width), normal(c.width, c.hidden)


class T5(nn.Module):
    buckets, furthest = 32, 128

    def __init__(self, config, layers):
        super().__init__()
        self.c = c = config
        self.words, self.norm = normal(c.vocab, c.width, scale=1.0), gain(c.width)
        self.distances = normal(c.heads, self.buckets, scale=1.0)  # what is added to scores, the same in all layers
        self.layers = nn.ModuleList(T5Layer(c) for _ in range(layers))

    def inputs(self, case):
        count = case["tokens"]
        apart = torch.arange(count) - torch.arange(count).unsqueeze(1)  # key's position - query's
        half = self.buckets // 2
        exact = half // 2  # that many distances have a bucket each, longer ones share them by logarithms
        far = apart.abs().clamp(min=1).float()
        shared = exact + ((far / exact).log() / math.log(self.furthest / exact) * (half - exact)).long()
        near = torch.where(apart.abs() < exact, apart.abs(), shared.clamp(max=half - 1))
        return torch.randint(self.c.vocab, (case["batch"], count)), near + half * (apart > 0)

    def forward(self, ops, tokens, buckets):
        """tokens [batch, tokens], buckets of distances [tokens, tokens]; to [batch * tokens, width]."""
        c, batch = self.c, tokens.shape[0]
        x = ops.embedding(self.words, tokens.flatten())
        mask = self.distances[:, buckets].unsqueeze(0)
        y = ops.rms_norm(x, self.layers[0].attention_norm, c.eps)
        norms = [layer.attention_norm for layer in self.layers][1:] + [self.norm]
        for layer, next_norm in zip(self.layers, norms):
            a = self_attention(ops, y, batch, c.heads, layer.qkv, mask=mask, scale=1.0)
            y, x = ops.linear_add_rms_norm(a, layer.out, x, layer.mlp_norm, c.eps)
            h = ops.linear(y, layer.up, activation=c.activation)
            y, x = ops.linear_add_rms_norm(h, layer.down, x, next_norm, c.eps)
        return y


class DitBlock(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c = c
        self.modulation = affine(6 * c.width, c.width)
        self.qkv, self.out = affine(3 * c.width, c.width), affine(c.width, c.width)
        self.up, self.down = affine(c.hidden, c.width), affine(c.width, c.hidden)

    def forward(self, ops, x, condition):
        """x [batch, tokens, width], condition [batch, width]: of that come shift, scale and gate of either half."""
        c, batch = self.c, x.shape[0]
        shift, scale, gate, shift_2, scale_2, gate_2 = ops.linear(condition, *self.modulation()).chunk(6, -1)
        y = ops.modulated_layer_norm(x, shift, scale, c.eps).flatten(0, 1)
        x = ops.linear_gate_add(self_attention(ops, y, batch, c.heads, *self.qkv()), *self.out(), gate, x)
        y = ops.modulated_layer_norm(x, shift_2, scale_2, c.eps).flatten(0, 1)
        return ops.linear_gate_add(ops.linear(y, *self.up(), c.activation), *self.down(), gate_2, x)


class Dit(nn.Module):
    def __init__(self, config, layers):
        super().__init__()
        self.c = c = config
        self.patches, self.positions = affine(c.width, c.channels), normal(c.positions, c.width, scale=1.0)
        self.blocks = nn.ModuleList(DitBlock(c) for _ in range(layers))
        self.modulation, self.head = affine(2 * c.width, c.width), affine(2 * c.channels, c.width)

    def inputs(self, case):
        batch = case["batch"]
        return torch.randn(batch, case["tokens"], self.c.channels), torch.randn(batch, self.c.width)

    def forward(self, ops, patches, condition):
        """patches [batch, tokens, channels] of an image, condition [batch, width] of step and class; to noise and its
        variance, [batch * tokens, 2 * channels]."""
        x = ops.linear(patches, *self.patches()) + self.positions[: patches.shape[1]]
        condition = F.silu(condition)
        for block in self.blocks:
            x = block(ops, x, condition)
        shift, scale = ops.linear(condition, *self.modulation()).chunk(2, -1)
        return ops.linear(ops.modulated_layer_norm(x, shift, scale, self.c.eps).flatten(0, 1), *self.head())


_BATCHES = ("batch=16,tokens=512", "batch=32,tokens=128")
_IMAGES = ("images=64", "images=1")
_TINY = Config(
    width=64, heads=4, hidden=96, eps=1e-6, vocab=96, positions=40, image=16, patch=8, classes=10, channels=8
)
_TINY_BATCHES, _TINY_IMAGES = ("batch=2,tokens=24,layers=2",), ("images=3,layers=2",)

for _name, _width, _heads in (("bert-base", 768, 12), ("bert-large", 1024, 16)):
    _config = Config(_width, _heads, 4 * _width, eps=1e-12, vocab=30522, positions=512)
    add(_name, Bert, _config, _BATCHES, _TINY, _TINY_BATCHES)
for _name, _width, _heads in (("vit-b-16", 768, 12), ("vit-l-16", 1024, 16)):
    _config = Config(_width, _heads, 4 * _width, eps=1e-6, image=224, patch=16, classes=1000)
    add(_name, Vit, _config, _IMAGES, _TINY, _TINY_IMAGES)
_config = Config(768, 12, 3072, eps=1e-6, vocab=32128, activation="relu")
add("t5-base", T5, _config, _BATCHES, dataclasses.replace(_TINY, activation="relu"), _TINY_BATCHES)
# Images of 512 x 512, which the encoder before it makes 64 x 64 of 4 channels: patches of 2 x 2.
_config = Config(1152, 16, 4608, eps=1e-6, positions=1024, channels=16, activation="gelu_tanh")
_tiny = dataclasses.replace(_TINY, width=48, heads=2, activation="gelu_tanh")
add("dit-xl-2", Dit, _config, ("batch=8,tokens=1024",), _tiny, _TINY_BATCHES)
