"""What a pattern finds in a captured graph, and what all patterns ask of tensors."""

import dataclasses
from typing import Callable

import torch
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from ridge.torch.fx import graph
from ridge.torch.fx.graph import arguments, name, others, value

_FLOATS = (torch.float32, torch.float16, torch.bfloat16)


@dataclasses.dataclass(frozen=True)
class Match:
    what: str  # "linear+gelu"
    nodes: tuple  # that are replaced, in their order; the last one's result is Ridge's
    inputs: tuple
    ridge: Callable
    torch: Callable
    sums: tuple = ()  # nodes whose result is Ridge's second
    ours: bool = True  # False: `ridge` is PyTorch's own operator, called otherwise
    norm: tuple = ()  # (mean, var, gamma, beta, eps) to be folded into a filter and a bias, inputs 1 and 2 (fold.py)
    hides: tuple = ()  # those of the inputs that are masks, True for what is hidden (others are True for what is seen)
    any_layout: bool = False  # the result lies as the graph's does; else it is contiguous, and the graph's must be


class Unfit(Exception):
    """A pattern is there, and Ridge has no operator for it; with the reason."""


def check(*tensors):
    """One device and one float type of all. Under torch.autocast Ridge's operators convert as PyTorch's do, each of the
    float types."""
    first = value(tensors[0])
    for tensor in tensors:
        found = value(tensor)
        if found is None:
            raise Unfit("an input is no tensor")
        if is_traceable_wrapper_subclass(found) and not graph.is_dtensor(found):
            raise Unfit(f"it is of {type(found).__name__}")
        if found.dtype not in _FLOATS:
            raise Unfit(f"its type is {found.dtype}")
        if found.dtype != first.dtype and not graph.autocast_type(first.device.type):
            raise Unfit(f"its types are {first.dtype} and {found.dtype}")
        if found.device != first.device:
            raise Unfit("its tensors are on several devices")


def check_number(found, name):
    """Of an option; a call may be given it, and it then is an input of the graph."""
    if isinstance(found, torch.fx.Node):
        raise Unfit(f"its {name} is an input")


def check_product(node, *inputs):
    """A product's result and inputs; what torch.autocast multiplies has its type."""
    check(*inputs, node)
    _check_autocast(node, graph.autocast_type(value(node).device.type))


def check_in_float32(node, *inputs):
    """The same of what torch.autocast computes in float32."""
    check(*inputs, node)
    _check_autocast(node, torch.float32)


def _check_autocast(node, dtype):
    found = value(node)
    if graph.autocast_type(found.device.type) and found.dtype != dtype:
        raise Unfit(f"under autocast its result is {found.dtype}")


def are_alike(a, b):
    """Two tensors of one size and type."""
    tensors = value(a) is not None and value(b) is not None
    return tensors and value(a).dtype == value(b).dtype and graph.sizes(a) == graph.sizes(b)


def residual_of(node, last):
    """What an add joins to a result, of its size and type; None where it is no such add, or writes into the other."""
    if node is None or name(node) != "add":
        return None
    addend = others(node, last)
    in_place = graph.writes(node) and arguments(node).get("input") is not last
    return addend if addend is not last and are_alike(addend, last) and not in_place else None


def activation_of(node):
    """The name of an activation in Ridge's words, or None."""
    if node is None:
        return None
    if name(node) == "hardtanh":  # as the module ReLU6 calls it
        given = arguments(node)
        return "relu6" if (given.get("min_val", -1.0), given.get("max_val", 1.0)) == (0, 6) else None
    if name(node) not in ("relu", "gelu", "silu", "sigmoid", "relu6", "hardswish", "hardsigmoid"):
        return None
    tanh = name(node) == "gelu" and arguments(node).get("approximate", "none") == "tanh"
    return "gelu_tanh" if tanh else name(node)
