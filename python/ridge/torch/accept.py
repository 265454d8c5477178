"""What PyTorch's users write without thinking and an operator's own front end refuses: made so that it is taken, by copies.

Parameters of another float type than x (float32 weights and bfloat16 activations), batches that broadcast or do not merge,
16-bit integers. All is exact, and slower than what the operator takes as it is.
"""

import math

import torch

_FLOATS = frozenset({torch.float32, torch.float16, torch.bfloat16})
PARAMETERS = frozenset({"gamma", "beta", "bias", "cos", "sin"})
_OF_ANY_TYPE = frozenset({"gemm", "linear", "grouped_gemm"})  # whose epilogues convert
_OF_FLOAT32_TOO = ("group_norm", "batch_norm", "rope")


def mixes_types(op, given):
    """Whether parameters are of a float type that the operator does not take beside its first input's."""
    first = given[op.inputs[0]].dtype
    if op.name in _OF_ANY_TYPE or first not in _FLOATS:
        return False
    taken = (first, torch.float32) if op.name.startswith(_OF_FLOAT32_TOO) else (first,)
    return any(
        name in PARAMETERS and tensor is not None and tensor.dtype in _FLOATS and tensor.dtype not in taken
        for name, tensor in given.items()
    )


def widened(given):
    """All floats in float32, which holds each of them."""
    return {n: t.float() if t is not None and t.dtype in _FLOATS else t for n, t in given.items()}


def _merges(tensor, axes):
    """Whether the axes in front of the last `axes` are one, by their strides."""
    if tensor.dim() - axes <= 1:
        return True  # whatever its size is, which may not be known yet
    step = None
    for size, stride in zip(reversed(tensor.shape[:-axes]), reversed(tensor.stride()[: tensor.dim() - axes])):
        if size != 1 and step is not None and stride != step:
            return False
        if size != 1:
            step = size * stride
    return True


def _batches_of_products(given):
    """gemm's: those of A and B broadcast as in torch.matmul. A tensor without batches, or with batches of 1, is shared."""
    a, b = given["a"], given["b"]
    if a.dim() <= 3 and b.dim() <= 3 and a.shape[:-2] == b.shape[:-2]:
        return given
    batches = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    found = dict(given)
    for name in ("a", "b", "c", "residual", "gate"):
        tensor = given.get(name)
        if tensor is None or tensor.dim() <= 2 or math.prod(tensor.shape[:-2]) == 1:
            continue
        if tensor.shape[:-2] != batches:
            tensor = tensor.expand(*batches, *tensor.shape[-2:])
        found[name] = tensor if _merges(tensor, 2) else tensor.contiguous()
    return found


def _rows_of_layers(given):
    """linear's leading axes."""
    x, residual = given["x"], given.get("residual")
    found = dict(given)
    if not _merges(x, 1):
        found["x"] = x.contiguous()
    if residual is not None and (residual.shape[:-1] != x.shape[:-1] or not _merges(residual, 1)):
        found["residual"] = residual.expand(*x.shape[:-1], residual.shape[-1]).contiguous()
    return found


def _wider_integers(given):
    """histogram's samples: Ridge has no integers of 16 bits."""
    x = given["x"]
    return given | {"x": x.to(torch.int32)} if x.dtype in (torch.int16, torch.uint16) else given


SHAPED = {"gemm": _batches_of_products, "linear": _rows_of_layers, "histogram": _wider_integers}
