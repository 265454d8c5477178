"""Products of matrices, and a matrix turned round."""

import functools
import math
import random

import torch
import torch.nn.functional as F

from ridge.bench.peers.table import ACTIVATIONS, add, epilogue, typed
from ridge.torch.library import DTYPES

# ---- gemm ------------------------------------------------------------------------------------------------------------


def _out(case):
    return DTYPES[case.option("out", "i32" if case.dtype == "i8" else "f32" if case.dtype[:2] == "f8" else case.dtype)]


def _batch(case):
    return [case["batch"]] if case.get("batch") else []


def _scale(case):
    """Of sums of k products; of two such, where one is a gate; TF32 keeps 13 bits less of each factor."""
    gate = "gate" in epilogue(case)[0]
    return (case["k"] if gate else math.sqrt(case["k"])) * (64 if case.option("math") == "tf32" else 1)


def _gemm_inputs(case, make):
    layout, (parts, _) = case.option("layout", "nn"), epilogue(case)
    m, n, k = case["m"], case["n"], case["k"]
    batch, out = _batch(case), _out(case)
    tensors = [
        make(*batch, *((k, m) if layout[0] == "t" else (m, k))),
        make(*batch, *((n, k) if layout[1] == "t" else (k, n))),
    ]
    if float(case.option("beta", 0)):
        tensors.append(make(*batch, m, n, dtype=out))
    if "bias" in parts or "bias_m" in parts:
        tensors.append(make(m if "bias_m" in parts else n, dtype=out))
    if "residual" in parts:
        tensors.append(make(*batch, m, n, dtype=out))
    if "gate" in parts:
        tensors.append(make(*tensors[1].shape))
    if "gate_bias" in parts:
        tensors.append(make(n, dtype=out))
    return tensors


def _operands(case, a, b):
    layout = case.option("layout", "nn")
    return a.mT if layout[0] == "t" else a, b.mT if layout[1] == "t" else b


@functools.cache
def _unit_scale(device):  # made once, so that no graph makes it again
    return torch.ones((), device=device)


def _matmul(case, a, b):
    """The product by the library's own call for the dtype; float32 without TF32 unless the case names it."""
    if case.dtype == "i8":
        return torch._int_mm(a, b)
    if case.dtype.startswith("f8"):
        one = _unit_scale(a.device)
        return torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=DTYPES[case.option("out", "f32")])
    return a @ b


def _gemm(case):
    parts, activation = epilogue(case)
    if case.option("out") in ("i8", "f8e4m3", "f8e5m2"):
        raise NotImplementedError("results of 8 bits are not compared")
    alpha, beta, scale = (float(case.option(key, value)) for key, value in (("alpha", 1), ("beta", 0), ("scale", 1)))
    torch.backends.cuda.matmul.allow_tf32 = case.option("math") == "tf32"

    def peer(a, b, *rest):
        rest = list(rest)
        d = _matmul(case, *_operands(case, a, b))
        d = d * alpha if alpha != 1 else d
        d = d + beta * rest.pop(0) if beta else d
        if "bias" in parts:
            d = d + rest.pop(0)
        elif "bias_m" in parts:
            d = d + rest.pop(0).unsqueeze(-1)
        d = ACTIVATIONS[activation](d) if activation else d
        if "gate" in parts:
            of_gate = rest.pop() if "gate_bias" in parts else None
            by = _matmul(case, *_operands(case, a, rest.pop()))
            by = by * alpha if alpha != 1 else by
            d = d * (by if of_gate is None else by + of_gate)
        d = d + rest.pop(0) if "residual" in parts else d
        return d * scale if scale != 1 else d

    return peer


def _cublaslt(case):
    """The product with its epilogue fused, where cublasLt has it: a bias along n, and relu or the tanh form of gelu."""
    parts, activation = epilogue(case)
    fused = parts in (["bias"], ["bias", "relu"], ["bias", "gelu_tanh"])
    if not fused or case.get("batch") or not set(case.options) <= {"layout", "epilogue", "fill", "seed", "place"}:
        raise NotImplementedError("not an epilogue of cublasLt's")

    def peer(a, b, bias):
        a, b = _operands(case, a, b)
        if not activation:
            return torch.addmm(bias, a, b)
        return torch._addmm_activation(bias, a, b, use_gelu=activation == "gelu_tanh")

    return peer


add(
    "gemm",
    inputs=_gemm_inputs,
    peer=_gemm,
    library="cublas",
    others={"cublaslt": _cublaslt},
    axis="k",
    scale=_scale,
    cases=typed("bf16 f16", "m=2048,n=2048,k=2048 m=4096,n=4096,k=4096 m=8192,n=8192,k=8192 m=10240,n=4096,k=4096")
    + (
        "bf16:m=8192,n=8192,k=8192:layout=nt",
        "bf16:m=4096,n=4096,k=4096:layout=nt:epilogue=bias+relu",
        "bf16:m=4096,n=4096,k=4096:layout=nt:epilogue=bias+gelu_tanh",
        "f32:m=4096,n=4096,k=4096",
        "f64:m=4096,n=4096,k=4096",
    ),
)

# ---- linear ----------------------------------------------------------------------------------------------------------


def _linear_names(case):
    given = case.option("inputs", "x,w").split(",")
    return [name for name in ("x", "w", "bias", "residual") if name in given]


def _linear_inputs(case, make):
    rows, n, k, out = [*_batch(case), case["m"]], case["n"], case["k"], _out(case)
    tensors = {"bias": lambda: make(n, dtype=out), "residual": lambda: make(*rows, n, dtype=out)}
    return [make(*rows, k), make(n, k), *(tensors[name]() for name in _linear_names(case)[2:])]


def _linear(case):
    names, activation = _linear_names(case), case.option("activation")
    if case.option("out") in ("i8", "f8e4m3", "f8e5m2"):
        raise NotImplementedError("results of 8 bits are not compared")
    torch.backends.cuda.matmul.allow_tf32 = case.option("math") == "tf32"

    def peer(x, w, *rest):
        given = dict(zip(names[2:], rest))
        if case.dtype in ("f64", "f32", "f16", "bf16") and case.option("out", case.dtype) == case.dtype:
            y = F.linear(x, w, given.get("bias"))
        else:
            y = _matmul(case, x.flatten(0, -2), w.mT).unflatten(0, x.shape[:-1])
            y = y + given["bias"] if "bias" in given else y
        y = ACTIVATIONS[activation](y) if activation else y
        return y + given["residual"] if "residual" in given else y

    return peer


def _linear_cublaslt(case):
    activation = case.option("activation")
    if _linear_names(case)[2:] != ["bias"] or activation not in ("relu", "gelu_tanh") or case.option("out"):
        raise NotImplementedError("not an epilogue of cublasLt's")

    def peer(x, w, bias):
        y = torch._addmm_activation(bias, x.flatten(0, -2), w.mT, use_gelu=activation == "gelu_tanh")
        return y.unflatten(0, x.shape[:-1])

    return peer


add(
    "linear",
    inputs=_linear_inputs,
    peer=_linear,
    library="cublas",
    others={"cublaslt": _linear_cublaslt},
    axis="k",
    scale=_scale,
    cases=(
        "bf16:m=4096,n=4096,k=4096:inputs=x,w,bias:activation=gelu",
        "bf16:m=16,n=4096,k=4096,batch=4:inputs=x,w,bias,residual:activation=relu",
        "f32:m=4096,n=4096,k=4096",
    ),
)

# ---- grouped_gemm ----------------------------------------------------------------------------------------------------


def _cuts(case):
    """Where groups begin, which are of uneven sizes, as those of the case book; every fourth is empty or of one row."""
    chance, m, groups = random.Random(int(case.option("seed", 1))), case["m"], case["groups"]
    cuts = [0, *sorted(chance.randint(0, m) for _ in range(groups - 1)), m]
    for g in range(1, groups, 4):
        cuts[g] = min(cuts[g - 1] + g // 4 % 2, cuts[g + 1])
    return cuts


def _grouped_inputs(case, make):
    layout, (parts, _) = case.option("layout", "nn"), epilogue(case)
    m, n, k, groups, out = case["m"], case["n"], case["k"], case["groups"], _out(case)
    tensors = [
        make(*((k, m) if layout[0] == "t" else (m, k))),
        make(groups, *((n, k) if layout[1] == "t" else (k, n))),
        torch.tensor(_cuts(case), dtype=torch.int32, device=make.device),
    ]
    if "bias" in parts:
        tensors.append(make(groups, n, dtype=out))
    if "residual" in parts:
        tensors.append(make(m, n, dtype=out))
    return tensors


def _grouped(case):
    """One product over all groups where PyTorch has it (bf16 on Hopper), else one after the other."""
    parts, activation = epilogue(case)
    cuts = _cuts(case)
    sizes = [end - begin for begin, end in zip(cuts, cuts[1:])]
    torch.backends.cuda.matmul.allow_tf32 = case.option("math") == "tf32"

    def peer(a, b, offsets, *rest):
        rest = list(rest)
        a, b = _operands(case, a, b)
        if a.is_cuda and a.dtype == torch.bfloat16:
            d = torch._grouped_mm(a, b, offs=offsets[1:])
        else:
            d = torch.cat([rows @ of_group for rows, of_group in zip(a.split(sizes), b)])
        if "bias" in parts:
            group = torch.searchsorted(offsets[1:], _rows(case["m"], a.device), right=True)
            d = d + rest.pop(0)[group]
        d = ACTIVATIONS[activation](d) if activation else d
        return d + rest.pop(0) if "residual" in parts else d

    return peer


@functools.cache
def _rows(count, device):
    return torch.arange(count, dtype=torch.int32, device=device)


add(
    "grouped_gemm",
    inputs=_grouped_inputs,
    peer=_grouped,
    library="cublas",
    axis="k",
    scale=_scale,
    cases=(
        "bf16:m=16384,n=2048,k=2048,groups=64:layout=nt",
        "bf16:m=16384,n=2048,k=2048,groups=8:layout=nt:epilogue=bias+silu+residual",
        "f32:m=4096,n=2048,k=2048,groups=8",
    ),
)

# ---- gemv ------------------------------------------------------------------------------------------------------------


def _gemv_inputs(case, make):
    m, k, (parts, _) = case["m"], case["k"], epilogue(case)
    tensors = [make(*((k, m) if case.option("layout") == "t" else (m, k))), make(k)]
    return tensors + [make(m) for wanted in (float(case.option("beta", 0)), "bias" in parts) if wanted]


def _gemv(case):
    parts, activation = epilogue(case)
    alpha, beta = float(case.option("alpha", 1)), float(case.option("beta", 0))

    def peer(a, x, *rest):
        rest = list(rest)
        y = (a.T if case.option("layout") == "t" else a) @ x
        y = y * alpha if alpha != 1 else y
        y = y + beta * rest.pop(0) if beta else y
        y = y + rest.pop(0) if "bias" in parts else y
        return ACTIVATIONS[activation](y) if activation else y

    return peer


add(
    "gemv",
    inputs=_gemv_inputs,
    peer=_gemv,
    library="cublas",
    axis="k",
    scale=lambda case: math.sqrt(case["k"]),
    cases=typed("f32 bf16", "m=4096,k=4096 m=16384,k=16384 m=128256,k=4096 m=1048576,k=16 m=262144,k=128"),
)

# ---- transpose -------------------------------------------------------------------------------------------------------


def _axes(case):
    axes = [key for key in case.sizes if key.startswith("d")]
    order = case.option("axes")
    return [int(axis) for axis in order.split(",")] if order else list(reversed(range(len(axes))))


add(
    "transpose",
    inputs=lambda case, make: [make(*([case["batch"]] if case.get("batch") else []), case["rows"], case["cols"])],
    peer=lambda case: lambda x: x.transpose(-1, -2).contiguous(),
    axis="cols",
    cases=typed("f32 bf16 u8", "rows=16384,cols=16384 rows=8192,cols=8200 rows=1000,cols=100003"),
)
add(
    "permute",
    inputs=lambda case, make: [make(*case.sizes.values())],
    peer=lambda case: lambda x: x.permute(_axes(case)).contiguous(),
    axis="d0",
    cases=(
        "bf16:d0=8,d1=4096,d2=32,d3=128:axes=0,2,1,3",
        "bf16:d0=64,d1=128,d2=56,d3=56:axes=0,2,3,1",
        "f32:d0=512,d1=512,d2=512:axes=2,1,0",
    ),
)
