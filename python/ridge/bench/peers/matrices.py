"""Products of matrices, and a matrix turned round."""

import functools
import math

import torch

from ridge.bench.peers.table import ACTIVATIONS, add, epilogue, typed
from ridge.torch.library import DTYPES

# ---- gemm ------------------------------------------------------------------------------------------------------------


def _gemm_inputs(case, make):
    layout, (parts, _) = case.option("layout", "nn"), epilogue(case)
    m, n, k = case["m"], case["n"], case["k"]
    batch = [case["batch"]] if case.get("batch") else []
    out = DTYPES[case.option("out", "i32" if case.dtype == "i8" else "f32" if case.dtype[:2] == "f8" else case.dtype)]
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
            by = _matmul(case, *_operands(case, a, rest.pop()))
            d = d * (by * alpha if alpha != 1 else by)
        d = d + rest.pop(0) if "residual" in parts else d
        return d * scale if scale != 1 else d

    return peer


def _cublaslt(case):
    """The product with its epilogue fused, where cublasLt has it: a bias along n, and relu or the tanh form of gelu."""
    parts, activation = epilogue(case)
    fused = parts in (["bias"], ["bias", "relu"], ["bias", "gelu_tanh"])
    if not fused or not set(case.options) <= {"layout", "epilogue", "fill", "seed"}:
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
    scale=lambda case: math.sqrt(case["k"]),
    cases=typed("bf16 f16", "m=2048,n=2048,k=2048 m=4096,n=4096,k=4096 m=8192,n=8192,k=8192 m=10240,n=4096,k=4096")
    + (
        "bf16:m=8192,n=8192,k=8192:layout=nt",
        "bf16:m=4096,n=4096,k=4096:layout=nt:epilogue=bias+relu",
        "bf16:m=4096,n=4096,k=4096:layout=nt:epilogue=bias+gelu_tanh",
        "f32:m=4096,n=4096,k=4096",
        "f64:m=4096,n=4096,k=4096",
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
