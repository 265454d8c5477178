"""Elements, sums, counts, windows: operators whose tensors have no inner structure."""

import math

import torch
import torch.nn.functional as F

from ridge.bench.peers.table import ROW_CASES, add, flat, line_or_matrices, row, typed
from ridge.torch.library import DTYPES

# ---- elementwise -----------------------------------------------------------------------------------------------------


def _binary(case, make):
    return [make(*flat(case)), make(case["n"]) if case.get("bias") else make(*flat(case))]


_FLAT_CASES = typed("f32 bf16", "n=65536 n=1048576 n=16777216 n=268435456")

for _name, _function in {
    "relu": torch.relu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "exp": torch.exp,
    "copy": torch.clone,
}.items():
    add(_name, inputs=lambda case, make: [make(*flat(case))], peer=lambda case, f=_function: f, cases=_FLAT_CASES)
for _name, _function in {"add": torch.add, "mul": torch.mul}.items():
    add(_name, inputs=_binary, peer=lambda case, f=_function: f, cases=_FLAT_CASES)

# ---- reductions ------------------------------------------------------------------------------------------------------


def _reduced_axis(case):
    return None if case.option("axis") is None else int(case.option("axis"))


def _reduction(function):
    """A torch reduction of everything, or along an axis."""

    def peer(case):
        axis = _reduced_axis(case)
        return (lambda x: function(x)) if axis is None else (lambda x: function(x, dim=axis))

    return peer


def _count(case):
    shape, axis = line_or_matrices(case), _reduced_axis(case)
    return math.prod(shape) if axis is None else shape[axis]


def _picked(case, outputs, inputs):
    """The elements that indices point at: among equal ones the index is a matter of taste."""
    x, index, axis = inputs[0], outputs[0].long(), _reduced_axis(case)
    return [x.reshape(-1)[index]] if axis is None else [x.gather(axis, index.unsqueeze(axis))]


_REDUCE_CASES = typed("f32 bf16", "n=65536 n=268435456")


def _one(case, make):
    return [make(*line_or_matrices(case))]


add(
    "sum",
    inputs=_one,
    peer=_reduction(torch.sum),
    scale=lambda case: math.sqrt(_count(case)),
    axis="cols",
    cases=_REDUCE_CASES + tuple(f"{case}:axis={axis}" for axis in (-1,) for case in ROW_CASES),
)
add("mean", inputs=_one, peer=_reduction(torch.mean), cases=_REDUCE_CASES)
add("max", inputs=_one, peer=_reduction(torch.amax), cases=_REDUCE_CASES)
add("min", inputs=_one, peer=_reduction(torch.amin), cases=_REDUCE_CASES)
add("argmax", inputs=_one, peer=_reduction(torch.argmax), comparable=_picked, cases=_REDUCE_CASES)
add("argmin", inputs=_one, peer=_reduction(torch.argmin), comparable=_picked, cases=_REDUCE_CASES)
add(
    "dot",
    inputs=lambda case, make: [make(case["n"]), make(case["n"])],
    peer=lambda case: torch.dot,
    library="cublas",
    scale=lambda case: math.sqrt(case["n"]),
    cases=_REDUCE_CASES,
)

add(
    "trace",
    inputs=lambda case, make: [make(*row(case))],
    peer=lambda case: torch.trace,
    axis="rows",
    scale=lambda case: math.sqrt(min(row(case))),
    cases=typed("f32", "rows=4096,cols=4096 rows=16384,cols=16384"),
)

# ---- histogram -------------------------------------------------------------------------------------------------------


def _histogram(case):
    bins = case.get("bins") or int(case.option("bins", 256))
    low, high = (float(edge) for edge in case.option("range", "-128,128" if case.dtype == "i8" else "0,256").split(","))
    if not DTYPES[case.dtype].is_floating_point:
        # torch counts whole numbers with bincount, which knows no range: the same where bins are the numbers themselves
        if (low, high) != (0, bins):
            raise NotImplementedError("torch counts integers only in bins of one, from 0")
        return lambda x: torch.bincount(x.reshape(-1), minlength=bins)
    return lambda x: torch.histc(x, bins, low, high).long()


add(
    "histogram",
    inputs=lambda case, make: [make(*flat(case))],
    peer=_histogram,
    waits=lambda case: not DTYPES[case.dtype].is_floating_point,  # bincount looks for the greatest first
    cases=(
        "u8:n=268435456:fill=uniform",
        "i32:n=268435456:range=0,256:fill=uniform",
        "f32:n=268435456:range=0,1:fill=uniform",
    ),
)

# ---- windows ---------------------------------------------------------------------------------------------------------


def _window_sum(case):
    width = int(case.get("w") or case.option("w"))

    def peer(x):
        sums = F.avg_pool1d(x.reshape(-1, 1, x.shape[-1]), width, stride=1, padding=width // 2, count_include_pad=True)
        return sums.reshape(x.shape) * width

    return peer


add(
    "window_sum",
    inputs=lambda case, make: [make(*flat(case))],
    peer=_window_sum,
    scale=lambda case: math.sqrt(int(case.get("w") or case.option("w"))),
    cases=typed("f32 bf16", "n=16777216,w=5 n=16777216,w=33 n=16777216,w=255"),
)
