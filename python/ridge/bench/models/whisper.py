"""Whisper: speech to text.

Cases    encode=B              B clips of 30 s, 3000 frames each: two convolutions and the encoder
         decode=B,context=N    one token more of B texts: a cache of N tokens, and attention to the 1500 encoded frames
"""

import dataclasses

import torch
from torch import nn

from ridge.bench.models.encoder import Block, run_blocks
from ridge.bench.models.table import add, affine, filters, norm, normal


@dataclasses.dataclass(frozen=True)
class Config:
    width: int
    heads: int
    hidden: int
    vocab: int
    frames: int
    mels: int
    positions: int
    eps: float = 1e-5
    activation: str = "gelu"


class DecoderLayer(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c = c
        self.attention_norm, self.cross_norm, self.mlp_norm = norm(c.width), norm(c.width), norm(c.width)
        self.qkv, self.out = affine(3 * c.width, c.width), affine(c.width, c.width)
        self.cross_q, self.cross_out = affine(c.width, c.width), affine(c.width, c.width)
        self.up, self.down = affine(c.hidden, c.width), affine(c.width, c.hidden)

    def forward(self, ops, y, x, next_norm, position, cache, encoded):
        """y, the norm of x [batch, width], and x; both of the next layer. cache and encoded: (keys, values)."""
        c, batch = self.c, x.shape[0]
        q, k, v = ops.linear(y, *self.qkv()).view(batch, 1, 3, c.heads, -1).unbind(2)
        keys, values = cache
        keys[:, position], values[:, position] = k, v
        a = ops.attention(q, keys, values, causal=True).reshape(batch, -1)
        y, x = ops.linear_add_layer_norm(a, *self.out(), x, *self.cross_norm(), c.eps)
        q = ops.linear(y, *self.cross_q()).view(batch, 1, c.heads, -1)
        a = ops.attention(q, *encoded).reshape(batch, -1)
        y, x = ops.linear_add_layer_norm(a, *self.cross_out(), x, *self.mlp_norm(), c.eps)
        h = ops.linear(y, *self.up(), c.activation)
        return ops.linear_add_layer_norm(h, *self.down(), x, *next_norm(), c.eps)


class Whisper(nn.Module):
    def __init__(self, config, layers):
        super().__init__()
        self.c = c = config
        # Over 3 frames of one row of pixels.
        self.conv_1, self.conv_2 = filters(c.width, 1, 3, c.mels), filters(c.width, 1, 3, c.width)
        self.frames, self.encoded_norm = normal(c.frames // 2, c.width, scale=0.1), norm(c.width)
        self.blocks = nn.ModuleList(Block(c) for _ in range(layers))
        self.words, self.positions = normal(c.vocab, c.width), normal(c.positions, c.width, scale=0.1)
        self.layers, self.norm = nn.ModuleList(DecoderLayer(c) for _ in range(layers)), norm(c.width)

    def inputs(self, case):
        c = self.c
        if "encode" in case:
            return (torch.randn(case["encode"], 1, c.frames, c.mels),)
        batch, context = case["decode"], case["context"]

        def heads(count):
            return [tuple(torch.randn(batch, count, c.heads, c.width // c.heads) for _ in "kv") for _ in self.layers]

        tokens = torch.randint(c.vocab, (batch,))
        return None, tokens, torch.tensor([context - 1]), heads(context), heads(c.frames // 2)

    def forward(self, ops, mels, tokens=None, position=None, cache=None, encoded=None):
        """mels [batch, 1, frames, mels] to [batch * frames / 2, width]. Or tokens [batch], position [1] and the caches'
        (keys, values) of each layer to logits [batch, vocab]."""
        return self.encode(ops, mels) if tokens is None else self.decode(ops, tokens, position, cache, encoded)

    def encode(self, ops, x):
        batch = x.shape[0]
        x = ops.conv2d(x, *self.conv_1(), pad=(0, 1), activation="gelu")
        x = ops.conv2d(x, *self.conv_2(), stride=(1, 2), pad=(0, 1), activation="gelu")
        x = x.flatten(1, 2) + self.frames
        return run_blocks(ops, self.blocks, x.flatten(0, 1), self.encoded_norm, batch)

    def decode(self, ops, tokens, position, cache, encoded):
        x = ops.embedding(self.words, tokens) + self.positions[position]
        y = ops.layer_norm(x, *self.layers[0].attention_norm(), self.c.eps)
        norms = [layer.attention_norm for layer in self.layers][1:] + [self.norm]
        for i, layer in enumerate(self.layers):
            y, x = layer(ops, y, x, norms[i], position, cache[i], encoded[i])
        return ops.linear(y, self.words)


add(
    "whisper-small",
    Whisper,
    Config(width=768, heads=12, hidden=3072, vocab=51865, frames=3000, mels=80, positions=448),
    ("encode=16", "encode=1", "decode=1,context=224", "decode=32,context=224"),
    Config(width=64, heads=4, hidden=96, vocab=96, frames=40, mels=16, positions=24),
    ("encode=2,layers=2", "decode=3,context=16,layers=2"),
)
