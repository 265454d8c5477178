"""MODELS: what is measured, by name, and what the files of this folder share.

A module is built of a configuration and a number of layers, on torch's default device and of its default dtype, which
the runner sets. It has
  inputs(case) -> tuple         random inputs of a case
  forward(ops, *inputs) -> y    by the operators that it is given (ops.py); of a case with `train`, the loss
"""

import dataclasses

import torch
from torch import nn

MODELS = {}


@dataclasses.dataclass(frozen=True)
class Model:
    name: str
    module: type
    config: object
    cases: tuple  # texts "key=number,...", the first of which stands for the model in a quick run
    tiny: object  # a configuration for tests
    tiny_cases: tuple
    glued: bool = True  # something lies between its operators, which torch.compile may fuse beside Ridge's
    layers: int | None = 4  # of the model's own that are built where a case does not say; None: all, always

    def case(self, text):
        """A case's numbers: those of one of the model's cases by name, of any size, and its layers."""
        case = {}
        for pair in text.split(","):
            key, equals, value = pair.partition("=")
            if not equals or not value.isdigit() or int(value) < 1:
                raise ValueError(f"case '{self.name}:{text}': '{pair}' is not key=number")
            case[key] = int(value)
        if self.layers:
            case.setdefault("layers", self.layers)
        known = [set(self._keys(one)) for one in self.cases]
        if set(case) - {"layers"} not in known or ("layers" in case and not self.layers):
            raise ValueError(f"case '{self.name}:{text}' is not like one of {' '.join(self.cases)}")
        return case

    @staticmethod
    def _keys(text):
        return [key for key in (pair.partition("=")[0] for pair in text.split(",")) if key != "layers"]

    def build(self, case, device, dtype, tiny=False):
        """The module and its inputs, of the same numbers each time."""
        torch.manual_seed(1)
        before = torch.get_default_dtype()
        torch.set_default_dtype(dtype)
        try:
            with torch.device(device), torch.no_grad():
                module = self.module(self.tiny if tiny else self.config, case.get("layers"))
                return module.requires_grad_("train" in case), module.inputs(case)
        finally:
            torch.set_default_dtype(before)


def add(name, *args, **more):
    MODELS[name] = Model(name, *args, **more)


def text_of(case):
    return ",".join(f"{key}={value}" for key, value in case.items())


# ---- parameters ------------------------------------------------------------------------------------------------------


def normal(*shape, scale=None, mean=0.0, dtype=None):
    """Random normal numbers. The default scale is that of a product [out, in] which keeps the size of its input."""
    scale = shape[-1] ** -0.5 if scale is None else scale
    return nn.Parameter(torch.empty(shape, dtype=dtype).normal_(mean, scale))


def gain(width):
    """A norm's weight, near 1."""
    return normal(width, scale=0.1, mean=1.0)


class Pair(nn.Module):
    """The weight and the bias of a product or a norm. Called, it gives both."""

    def __init__(self, weight, bias):
        super().__init__()
        self.weight, self.bias = weight, bias

    def forward(self):
        return self.weight, self.bias


def affine(out, width):
    return Pair(normal(out, width), normal(out, scale=0.1))


def norm(width):
    return Pair(gain(width), normal(width, scale=0.1))


# Factors that give the numbers behind an activation about the size of those before it.
KEEPS = {"relu": 2**0.5, "silu": 1.6, "hardswish": 1.7}


def filters(count, rows, columns, channels, factor=1.0):
    """Filters and biases of a convolution that keeps the size of its input, times factor."""
    scale = factor * (rows * columns * channels) ** -0.5
    return Pair(normal(count, rows, columns, channels, scale=scale), normal(count, scale=0.1))
