"""What each operator is measured beside: for every operator, how a case becomes tensors, and what PyTorch would run.

A row of the table:
  inputs(case, make) -> tensors   in the operator's order; make(*shape, dtype=) fills one as the case says
  peer(case)         -> function  of those tensors, in PyTorch: measured in eager mode, and under torch.compile
  library            the name of what eager mode runs there: torch's own kernel, or cublas, cudnn
  others             {name: peer}: further ways to compute the same
  comparable(case, outputs, inputs)    what is compared with the peer's, where the outputs themselves need not agree
  waits(case)        whether it waits for the device, so that no CUDA graph can hold it: its time is then the caller's
  scale(case)        the size of the sums behind an output, to which its rounding errors are relative
  cases              what is measured when no case is given
"""

import dataclasses
from typing import Callable

import torch
import torch.nn.functional as F

TABLE = {}


@dataclasses.dataclass
class Row:
    inputs: Callable
    peer: Callable
    library: str = "torch"
    others: dict = dataclasses.field(default_factory=dict)
    comparable: Callable = lambda case, outputs, inputs: outputs
    waits: Callable = lambda case: False
    scale: Callable = lambda case: 1.0
    cases: tuple = ()
    axis: str = "n"  # the size that a plot has along its axis


def add(operators, **row):
    for operator in operators.split():
        cases = tuple(f"{operator}:{case}" for case in row.pop("cases", ()))
        TABLE[operator] = Row(**row, cases=cases)
        row["cases"] = tuple(case.partition(":")[2] for case in cases)


def typed(types, sizes):
    return tuple(f"{dtype}:{size}" for dtype in types.split() for size in sizes.split())


# ---- what several operators' cases share -----------------------------------------------------------------------------


def flat(case):
    return (case["rows"], case["n"]) if case.get("rows") else (case["n"],)


def line_or_matrices(case):
    if case.get("n") is not None:
        return (case["n"],)
    return tuple(case[key] for key in ("batch", "rows", "cols") if key != "batch" or case.get("batch") is not None)


def row(case):
    return (case["rows"], case["cols"])


def is_backward(case):
    return case.option("backward", "0") != "0"


def epilogue(case):
    parts = [part for part in case.option("epilogue", "").split("+") if part]
    return parts, next((part for part in parts if part in ACTIVATIONS), None)


_ROWS = "rows=65536,cols=128 rows=65536,cols=1024 rows=16384,cols=4096 rows=8192,cols=8192 rows=4096,cols=32768"
ROW_CASES = typed("f32 bf16", _ROWS + " rows=1024,cols=131072 rows=4096,cols=50257")

ACTIVATIONS = {
    "relu": torch.relu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "sigmoid": torch.sigmoid,
    "relu6": F.relu6,
    "hardswish": F.hardswish,
    "hardsigmoid": F.hardsigmoid,
}
