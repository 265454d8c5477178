"""The Ridge package as ridge.torch needs it: operators as objects, dtypes as PyTorch's."""

import types

import torch

import ridge
from ridge import _docs

DTYPES = {
    "f64": torch.float64,
    "f32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f8e4m3": torch.float8_e4m3fn,
    "f8e5m2": torch.float8_e5m2,
    "i64": torch.int64,
    "i32": torch.int32,
    "i8": torch.int8,
    "u8": torch.uint8,
    "bool": torch.bool,
}
_NAMES = {dtype: name for name, dtype in DTYPES.items()}


def operators():
    """The registry, gradients too: of each operator what the library's list says, as attributes."""
    found = []
    for op in _docs.with_gradients().values():
        op.setdefault("optional_outputs", [])
        op["options"] = [types.SimpleNamespace(**option) for option in op["options"]]
        found.append(types.SimpleNamespace(**op))
    return found


def dtype_name(dtype):
    return _NAMES[dtype]


def infer(name, dtypes, shapes, options):
    """[(dtype, shape)] of the outputs. Of the inputs, None is one that was not given."""
    specs = [None if dtype is None else ridge.Spec(shape, dtype) for dtype, shape in zip(dtypes, shapes)]
    return [(DTYPES[spec.dtype], spec.shape) for spec in ridge.infer(name, *specs, **options)]
