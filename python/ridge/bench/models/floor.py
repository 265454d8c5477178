"""The least time of a case on a device: its bytes at the bandwidth of memory, or its products at the peak of bf16."""

import math

import torch
from torch import nn

from ridge.bench.models.ops import Torch

# Bytes and operations (bf16, dense) per second, by NVIDIA's data sheets, of the devices by the name that torch gives.
PEAKS = {
    "NVIDIA H100 80GB HBM3": (3.35e12, 989e12),
    "NVIDIA H200": (4.8e12, 989e12),
}


def least_ms(device, moved, operations):
    """None for a device that PEAKS does not have."""
    name = torch.cuda.get_device_name(device) if torch.device(device).type == "cuda" else ""
    if name not in PEAKS:
        return None
    bandwidth, peak = PEAKS[name]
    return 1e3 * max(moved / bandwidth, operations / peak)


class Counting(Torch):
    """PyTorch's operators, which count as they run: the elements of weights that are read, each call once, and the
    operations of products, attention and convolutions. Everything else costs nothing here."""

    def __init__(self):
        self.weights = self.operations = 0

    def _read(self, *tensors):
        self.weights += sum(t.numel() for t in tensors if isinstance(t, nn.Parameter))

    def linear(self, x, w, bias=None, activation=None, residual=None):
        self._read(w, bias)
        self.operations += 2 * math.prod(x.shape[:-1]) * w.numel()
        return super().linear(x, w, bias, activation, residual)

    def linear_time_last(self, x, w):
        self._read(w)
        self.operations += 2 * math.prod(x.shape[:-1]) * w.numel()
        return super().linear_time_last(x, w)

    def grouped(self, x, w, offsets):
        """By a product for each group that has rows: no other is read."""
        at = offsets.tolist()
        used = [g for g in range(len(w)) if at[g] < at[g + 1]]
        self.weights += len(used) * w[0].numel()
        self.operations += 2 * x.shape[0] * w[0].numel()
        return torch.cat([x[at[g] : at[g + 1]] @ w[g].mT for g in used])

    def embedding(self, table, indices, scale=None):
        if isinstance(table, nn.Parameter):
            self.weights += indices.numel() * table.shape[1]
        return super().embedding(table, indices, scale)

    def attention(self, q, k, v, causal=False, window=None, softcap=None, mask=None, scale=None):
        batch, queries, heads, d = q.shape
        keys = k.shape[1]
        seen = torch.arange(keys - queries + 1, keys + 1).clamp(max=window or keys) if causal else None
        pairs = queries * keys if seen is None else int(seen.sum())
        self.operations += 2 * batch * heads * pairs * (d + v.shape[-1])
        return super().attention(q, k, v, causal, window, softcap, mask, scale)

    def conv2d(self, x, w, bias, stride=1, pad=0, activation=None, residual=None, groups=1, added=None):
        self._read(w, bias)
        y = super().conv2d(x, w, bias, stride, pad, activation, residual, groups, added)
        self.operations += 2 * y.numel() * w[0].numel()
        return y

    def causal_conv3d(self, x, w, bias, pad, residual=None):
        self._read(w, bias)
        y = super().causal_conv3d(x, w, bias, pad, residual)
        self.operations += 2 * y.numel() * w[0].numel()
        return y

    def conv_transpose2d(self, x, w, bias, stride):
        self._read(w, bias)
        self.operations += 2 * x.numel() * w[0].numel()
        return super().conv_transpose2d(x, w, bias, stride)

    def causal_conv(self, k, w, eps=0.0):
        self.weights += w.numel()  # its operations are few by Fourier transforms
        return super().causal_conv(k, w, eps)
