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
import functools
import math
from typing import Callable

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from ridge.bench.gradient import Gradient
from ridge.torch.library import DTYPES

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


def _add(operators, **row):
    for operator in operators.split():
        cases = tuple(f"{operator}:{case}" for case in row.pop("cases", ()))
        TABLE[operator] = Row(**row, cases=cases)
        row["cases"] = tuple(case.partition(":")[2] for case in cases)


def _typed(types, sizes):
    return tuple(f"{dtype}:{size}" for dtype in types.split() for size in sizes.split())


# ---- elementwise ----------------------------------------------------------------------------------------------------


def _flat(case):
    return (case["rows"], case["n"]) if case.get("rows") else (case["n"],)


def _binary(case, make):
    return [make(*_flat(case)), make(case["n"]) if case.get("bias") else make(*_flat(case))]


_FLAT_CASES = _typed("f32 bf16", "n=65536 n=1048576 n=16777216 n=268435456")

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
    _add(_name, inputs=lambda case, make: [make(*_flat(case))], peer=lambda case, f=_function: f, cases=_FLAT_CASES)
for _name, _function in {"add": torch.add, "mul": torch.mul}.items():
    _add(_name, inputs=_binary, peer=lambda case, f=_function: f, cases=_FLAT_CASES)

# ---- reductions -----------------------------------------------------------------------------------------------------


def _line_or_matrices(case):
    if case.get("n") is not None:
        return (case["n"],)
    return tuple(case[key] for key in ("batch", "rows", "cols") if key != "batch" or case.get("batch") is not None)


def _reduced_axis(case):
    return None if case.option("axis") is None else int(case.option("axis"))


def _reduction(function):
    """A torch reduction of everything, or along an axis."""

    def peer(case):
        axis = _reduced_axis(case)
        return (lambda x: function(x)) if axis is None else (lambda x: function(x, dim=axis))

    return peer


def _count(case):
    shape, axis = _line_or_matrices(case), _reduced_axis(case)
    return math.prod(shape) if axis is None else shape[axis]


def _picked(case, outputs, inputs):
    """The elements that indices point at: among equal ones the index is a matter of taste."""
    x, index, axis = inputs[0], outputs[0].long(), _reduced_axis(case)
    return [x.reshape(-1)[index]] if axis is None else [x.gather(axis, index.unsqueeze(axis))]


_ROWS = "rows=65536,cols=128 rows=65536,cols=1024 rows=16384,cols=4096 rows=8192,cols=8192 rows=4096,cols=32768"
_ROW_CASES = _typed("f32 bf16", _ROWS + " rows=1024,cols=131072 rows=4096,cols=50257")
_REDUCE_CASES = _typed("f32 bf16", "n=65536 n=268435456")


def _one(case, make):
    return [make(*_line_or_matrices(case))]


_add(
    "sum",
    inputs=_one,
    peer=_reduction(torch.sum),
    scale=lambda case: math.sqrt(_count(case)),
    axis="cols",
    cases=_REDUCE_CASES + tuple(f"{case}:axis={axis}" for axis in (-1,) for case in _ROW_CASES),
)
_add("mean", inputs=_one, peer=_reduction(torch.mean), cases=_REDUCE_CASES)
_add("max", inputs=_one, peer=_reduction(torch.amax), cases=_REDUCE_CASES)
_add("min", inputs=_one, peer=_reduction(torch.amin), cases=_REDUCE_CASES)
_add("argmax", inputs=_one, peer=_reduction(torch.argmax), comparable=_picked, cases=_REDUCE_CASES)
_add("argmin", inputs=_one, peer=_reduction(torch.argmin), comparable=_picked, cases=_REDUCE_CASES)
_add(
    "dot",
    inputs=lambda case, make: [make(case["n"]), make(case["n"])],
    peer=lambda case: torch.dot,
    library="cublas",
    scale=lambda case: math.sqrt(case["n"]),
    cases=_REDUCE_CASES,
)

_add(
    "trace",
    inputs=lambda case, make: [make(*_row(case))],
    peer=lambda case: torch.trace,
    axis="rows",
    scale=lambda case: math.sqrt(min(_row(case))),
    cases=_typed("f32", "rows=4096,cols=4096 rows=16384,cols=16384"),
)

# ---- histogram ------------------------------------------------------------------------------------------------------


def _histogram(case):
    bins = case.get("bins") or int(case.option("bins", 256))
    low, high = (float(edge) for edge in case.option("range", "-128,128" if case.dtype == "i8" else "0,256").split(","))
    if not DTYPES[case.dtype].is_floating_point:
        # torch counts whole numbers with bincount, which knows no range: the same where bins are the numbers themselves
        if (low, high) != (0, bins):
            raise NotImplementedError("torch counts integers only in bins of one, from 0")
        return lambda x: torch.bincount(x.reshape(-1), minlength=bins)
    return lambda x: torch.histc(x, bins, low, high).long()


_add(
    "histogram",
    inputs=lambda case, make: [make(*_flat(case))],
    peer=_histogram,
    waits=lambda case: not DTYPES[case.dtype].is_floating_point,  # bincount looks for the greatest first
    cases=(
        "u8:n=268435456:fill=uniform",
        "i32:n=268435456:range=0,256:fill=uniform",
        "f32:n=268435456:range=0,1:fill=uniform",
    ),
)

# ---- transpose ------------------------------------------------------------------------------------------------------


def _axes(case):
    axes = [key for key in case.sizes if key.startswith("d")]
    order = case.option("axes")
    return [int(axis) for axis in order.split(",")] if order else list(reversed(range(len(axes))))


_add(
    "transpose",
    inputs=lambda case, make: [make(*([case["batch"]] if case.get("batch") else []), case["rows"], case["cols"])],
    peer=lambda case: lambda x: x.transpose(-1, -2).contiguous(),
    axis="cols",
    cases=_typed("f32 bf16 u8", "rows=16384,cols=16384 rows=8192,cols=8200 rows=1000,cols=100003"),
)
_add(
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

# ---- rows -----------------------------------------------------------------------------------------------------------


def _row(case):
    return (case["rows"], case["cols"])


def _is_backward(case):
    return case.option("backward", "0") != "0"


def _softmax(function, gradient):
    def peer(case):
        if _is_backward(case):
            return lambda dy, y: gradient(dy, y, -1, y.dtype)
        return lambda x: function(x, -1)

    return peer


for _name, _function, _gradient in (
    ("softmax", torch.softmax, torch.ops.aten._softmax_backward_data),
    ("log_softmax", torch.log_softmax, torch.ops.aten._log_softmax_backward_data),
):
    _add(
        _name,
        inputs=lambda case, make: [make(*_row(case)) for _ in range(1 + _is_backward(case))],
        axis="cols",
        peer=_softmax(_function, _gradient),
        cases=_ROW_CASES,
    )


def _norm_names(case):
    added = case.op.startswith("add_")
    if _is_backward(case):
        names = ["dy", "sum", "gamma", "dsum"] if added else ["dy", "x", "gamma"]
    else:
        names = ["x", "residual", "gamma", "beta"] if added else ["x", "gamma", "beta"]
    wanted = case.option("inputs", ",".join(names)).split(",")
    return [name for name in names if name in wanted]


def _norm_inputs(case, make):
    return [make(case["cols"]) if name in ("gamma", "beta") else make(*_row(case)) for name in _norm_names(case)]


def _norm(case):
    names, eps, shape = _norm_names(case), float(case.option("eps", 1e-5)), (case["cols"],)
    rms = case.op.endswith("rms_norm")

    def normalised(x, gamma=None, beta=None):
        if not rms:
            return F.layer_norm(x, shape, gamma, beta, eps)
        y = F.rms_norm(x, shape, gamma, eps)
        return y if beta is None else y + beta

    if _is_backward(case):
        if "dsum" in names or case.option("outputs", "dx,dgamma") != "dx,dgamma":
            raise NotImplementedError("the peer's gradients are those of x and gamma")
        return Gradient(normalised)

    def peer(*inputs):
        given = dict(zip(names, inputs))
        if "residual" in given:
            h = given["x"] + given["residual"]
            return normalised(h, given.get("gamma"), given.get("beta")), h
        return normalised(given["x"], given.get("gamma"), given.get("beta"))

    return peer


def _norm_comparable(case, outputs, inputs):
    """dgamma and dbeta are sums over rows: by the size of such a sum."""
    return [x / math.sqrt(case["rows"]) if x.dim() == 1 else x for x in outputs]


for _name in ("layer_norm", "rms_norm", "add_layer_norm", "add_rms_norm"):
    _x = "x,residual," if _name.startswith("add_") else "x,"
    _given = _x + ("gamma,beta" if _name.endswith("layer_norm") else "gamma")
    _gradients = "" if _name.startswith("add_") else ":inputs=dy,x,gamma:outputs=dx,dgamma"
    _add(
        _name,
        inputs=_norm_inputs,
        peer=_norm,
        comparable=_norm_comparable,
        axis="cols",
        cases=tuple(f"{case}:inputs={_given}" for case in _ROW_CASES)
        + (tuple(f"{case}:backward{_gradients}" for case in _ROW_CASES) if _gradients else ()),
    )

# ---- planes ---------------------------------------------------------------------------------------------------------


def _image(case, make):
    n, c, h, w = (case[key] for key in "nchw")
    return [make(n, h, w, c) if case.option("layout") == "nhwc" else make(n, c, h, w)]


def _channels_first(case, function):
    """A peer of x [n, c, h, w] for the case's layout; in PyTorch nhwc is memory, not shape."""
    if case.option("layout") != "nhwc":
        return function

    def peer(x, *parameters):
        outputs = function(x.permute(0, 3, 1, 2), *parameters)
        y, *rest = outputs if isinstance(outputs, tuple) else (outputs,)
        return (y.permute(0, 2, 3, 1), *rest)

    return peer


def _pair(case, key, otherwise):
    """Along h and w, from `2` or `2,1`."""
    numbers = [int(number) for number in case.option(key, str(otherwise)).split(",")]
    return numbers * (2 // len(numbers))


def _pooling(function):
    def peer(case):
        window = [case["r"], case.get("s", case["r"])]
        more = (
            {"dilation": _pair(case, "dilation", 1)}
            if function is F.max_pool2d
            else {"count_include_pad": case.option("count_include_pad") != "0"}
        )

        return _channels_first(
            case, lambda x: function(x, window, stride=_pair(case, "stride", 1), padding=_pair(case, "pad", 0), **more)
        )

    return peer


for _name, _function in {"max_pool2d": F.max_pool2d, "avg_pool2d": F.avg_pool2d}.items():
    _add(
        _name,
        inputs=_image,
        peer=_pooling(_function),
        cases=_typed("f32 f16", "n=32,c=64,h=112,w=112,r=3")
        + ("f32:n=32,c=64,h=112,w=112,r=3:stride=2:pad=1", "f16:n=32,c=64,h=112,w=112,r=3:stride=2:pad=1:layout=nhwc"),
    )


def _batch_norm_inputs(case, make):
    parameters = [make(case["c"], dtype=torch.float32) for _ in range(4 if case.op == "batch_norm" else 2)]
    if case.op == "batch_norm":
        parameters[1].abs_()  # a variance
    return _image(case, make) + ([] if case.op == "batch_norm_stats" else parameters)


def _batch_norm(case):
    eps = float(case.option("eps", 1e-5))

    def given(x, mean, var, gamma, beta):
        return F.batch_norm(x, mean, var, gamma, beta, eps=eps)

    def train(x, gamma, beta):
        y, mean, inverse = torch.native_batch_norm(x, gamma, beta, None, None, True, 0.0, eps)
        return y, mean, inverse**-2 - eps

    return _channels_first(case, given if case.op == "batch_norm" else train)


def _batch_norm_stats(case):
    axes = (0, 1, 2) if case.option("layout") == "nhwc" else (0, 2, 3)

    def peer(x):
        var, mean = torch.var_mean(x, axes, correction=0)
        return mean.float(), var.float()

    return peer


_PLANES = "n=32,c=64,h=112,w=112 n=32,c=64,h=112,w=112:layout=nhwc n=32,c=2048,h=7,w=7"
_add(
    "batch_norm batch_norm_train",
    inputs=_batch_norm_inputs,
    peer=_batch_norm,
    library="cudnn",
    cases=_typed("f32 bf16", _PLANES),
)
_add("batch_norm_stats", inputs=_batch_norm_inputs, peer=_batch_norm_stats, cases=_typed("f32 bf16", _PLANES))

# ---- windows --------------------------------------------------------------------------------------------------------


def _window_sum(case):
    width = int(case.get("w") or case.option("w"))

    def peer(x):
        sums = F.avg_pool1d(x.reshape(-1, 1, x.shape[-1]), width, stride=1, padding=width // 2, count_include_pad=True)
        return sums.reshape(x.shape) * width

    return peer


_add(
    "window_sum",
    inputs=lambda case, make: [make(*_flat(case))],
    peer=_window_sum,
    scale=lambda case: math.sqrt(int(case.get("w") or case.option("w"))),
    cases=_typed("f32 bf16", "n=16777216,w=5 n=16777216,w=33 n=16777216,w=255"),
)

# ---- convolutions ---------------------------------------------------------------------------------------------------


def _dwconv_inputs(case, make):
    signal, filters = (case["b"], case["c"], case["t"]), (case["c"], case.get("l") or case["t"])
    return [make(*signal) for _ in range(1 + _is_backward(case))] + [make(*filters)]


def _dwconv(convolve):
    """A causal convolution as the library has it, or the gradients that PyTorch makes of it."""

    def peer(case):
        eps = float(case.option("eps", 0))

        def forward(k, w):
            y = convolve(k, w)
            return y + eps if eps else y

        return Gradient(forward) if _is_backward(case) else forward

    return peer


def _by_conv1d(k, w):
    return F.conv1d(F.pad(k, (w.shape[1] - 1, 0)), w.unsqueeze(1), groups=w.shape[0])


def _by_fft(k, w):
    n = k.shape[-1] + w.shape[1] - 1  # no wrap
    k_n, w_n = torch.fft.rfft(k.float(), n), torch.fft.rfft(w.float().flip(-1), n)
    return torch.fft.irfft(k_n * w_n, n)[..., : k.shape[-1]].to(k.dtype)


_add(
    "dwconv",
    inputs=_dwconv_inputs,
    peer=_dwconv(_by_conv1d),
    library="cudnn",
    others={"cufft": _dwconv(_by_fft)},
    # sums over the filter, and w's gradient over the batch too
    comparable=lambda case, outputs, inputs: [x / math.sqrt(case["b"]) if x.dim() == 2 else x for x in outputs],
    scale=lambda case: math.sqrt(case.get("l") or case["t"]),
    axis="t",
    cases=tuple(
        f"f32:{size}{direction}"
        for size in ("b=32,c=768,t=768", "b=32,c=768,t=1024", "b=8,c=2048,t=4096")
        for direction in ("", ":backward")
    ),
)

# ---- gemm -----------------------------------------------------------------------------------------------------------

_ACTIVATIONS = {
    "relu": torch.relu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "sigmoid": torch.sigmoid,
}


def _epilogue(case):
    parts = [part for part in case.option("epilogue", "").split("+") if part]
    return parts, next((part for part in parts if part in _ACTIVATIONS), None)


def _gemm_inputs(case, make):
    layout, (parts, _) = case.option("layout", "nn"), _epilogue(case)
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
    parts, activation = _epilogue(case)
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
        d = _ACTIVATIONS[activation](d) if activation else d
        if "gate" in parts:
            by = _matmul(case, *_operands(case, a, rest.pop()))
            d = d * (by * alpha if alpha != 1 else by)
        d = d + rest.pop(0) if "residual" in parts else d
        return d * scale if scale != 1 else d

    return peer


def _cublaslt(case):
    """The product with its epilogue fused, where cublasLt has it: a bias along n, and relu or the tanh form of gelu."""
    parts, activation = _epilogue(case)
    fused = parts in (["bias"], ["bias", "relu"], ["bias", "gelu_tanh"])
    if not fused or not set(case.options) <= {"layout", "epilogue", "fill", "seed"}:
        raise NotImplementedError("not an epilogue of cublasLt's")

    def peer(a, b, bias):
        a, b = _operands(case, a, b)
        if not activation:
            return torch.addmm(bias, a, b)
        return torch._addmm_activation(bias, a, b, use_gelu=activation == "gelu_tanh")

    return peer


_add(
    "gemm",
    inputs=_gemm_inputs,
    peer=_gemm,
    library="cublas",
    others={"cublaslt": _cublaslt},
    axis="k",
    scale=lambda case: math.sqrt(case["k"]),
    cases=_typed("bf16 f16", "m=2048,n=2048,k=2048 m=4096,n=4096,k=4096 m=8192,n=8192,k=8192 m=10240,n=4096,k=4096")
    + (
        "bf16:m=8192,n=8192,k=8192:layout=nt",
        "bf16:m=4096,n=4096,k=4096:layout=nt:epilogue=bias+relu",
        "bf16:m=4096,n=4096,k=4096:layout=nt:epilogue=bias+gelu_tanh",
        "f32:m=4096,n=4096,k=4096",
        "f64:m=4096,n=4096,k=4096",
    ),
)


# ---- gemv -----------------------------------------------------------------------------------------------------------


def _gemv_inputs(case, make):
    m, k, (parts, _) = case["m"], case["k"], _epilogue(case)
    tensors = [make(*((k, m) if case.option("layout") == "t" else (m, k))), make(k)]
    return tensors + [make(m) for wanted in (float(case.option("beta", 0)), "bias" in parts) if wanted]


def _gemv(case):
    parts, activation = _epilogue(case)
    alpha, beta = float(case.option("alpha", 1)), float(case.option("beta", 0))

    def peer(a, x, *rest):
        rest = list(rest)
        y = (a.T if case.option("layout") == "t" else a) @ x
        y = y * alpha if alpha != 1 else y
        y = y + beta * rest.pop(0) if beta else y
        y = y + rest.pop(0) if "bias" in parts else y
        return _ACTIVATIONS[activation](y) if activation else y

    return peer


_add(
    "gemv",
    inputs=_gemv_inputs,
    peer=_gemv,
    library="cublas",
    axis="k",
    scale=lambda case: math.sqrt(case["k"]),
    cases=_typed("f32 bf16", "m=4096,k=4096 m=16384,k=16384 m=128256,k=4096 m=1048576,k=16 m=262144,k=128"),
)


# ---- boxes ----------------------------------------------------------------------------------------------------------


def _nms_inputs(case, make):
    """Sides of 1 to 33 pixels in a field of 16 n pixels, and no score twice: torchvision's sort is not stable."""
    n = case["n"]
    field = 32 + 4 * math.sqrt(n)

    def uniform(*shape):
        numbers = torch.rand(shape, dtype=torch.float32, device=make.device, generator=make.random)
        return numbers.to(DTYPES[case.dtype])

    corner = uniform(n, 2) * field
    scores = torch.randperm(n, device=make.device, generator=make.random).to(DTYPES[case.dtype])
    tensors = [torch.cat((corner, corner + 1 + uniform(n, 2) * 32), 1), scores]
    if case.get("classes"):
        tensors.append((uniform(n).float() * case["classes"]).int())
    return tensors


def _nms(case):
    from torchvision.ops import batched_nms, nms

    iou = float(case.option("iou", 0.5))
    if case.option("legacy", "0") != "0":
        raise NotImplementedError("torchvision has no legacy corners")
    if case.get("classes"):
        return lambda boxes, scores, classes: batched_nms(boxes, scores, classes, iou)
    return lambda boxes, scores: nms(boxes, scores, iou)


_add(
    "nms",
    inputs=_nms_inputs,
    peer=_nms,
    library="torchvision",
    # the numbers of those that are kept, without what fills the place of the others
    comparable=lambda case, outputs, inputs: [outputs[0][: int(outputs[1])] if len(outputs) > 1 else outputs[0]],
    waits=lambda case: True,  # torchvision chooses on the host
    cases=_typed("f32", "n=1000 n=10000 n=50000 n=10000,classes=80"),
)

# ---- tokens ---------------------------------------------------------------------------------------------------------


def _embedding_inputs(case, make):
    shape = (case["b"], case["n"]) if case.get("b") else (case["n"],)
    chosen = torch.rand(shape, dtype=torch.float64, device=make.device, generator=make.random) * case["rows"]
    indices = chosen.to(torch.int64 if case.get("wide") else torch.int32)
    return [make(case["rows"], case["cols"]), indices]


def _embedding(case):
    scale = float(case.option("scale", 1))
    return lambda table, indices: F.embedding(indices, table) * scale if scale != 1 else F.embedding(indices, table)


_add(
    "embedding",
    inputs=_embedding_inputs,
    peer=_embedding,
    cases=_typed("f32 bf16", "rows=50257,cols=768,n=65536 rows=128256,cols=4096,n=32768"),
)


def _rope_inputs(case, make):
    """Angles come as tables, as they do in PyTorch."""
    if not case.get("tables") or case.get("positions"):
        raise ValueError(f"case '{case.text}': the peer takes tables=N of angles, and positions from 0 on")
    heads = [case[key] for key in "bshd" if key != "b" or case.get("b")]
    angles = make(case["tables"], int(case.option("rotary_dim", case["d"])) // 2, dtype=torch.float32)
    return [make(*heads), angles.cos(), angles.sin()]


def _rope(case):
    turned = int(case.option("rotary_dim", case["d"]))

    def peer(x, cos, sin):
        cos, sin = (table[: case["s"]].unsqueeze(1) for table in (cos, sin))
        wide = x[..., :turned].float()
        if case.option("style") == "gptj":
            a, b = wide[..., 0::2], wide[..., 1::2]
            y = torch.stack((a * cos - b * sin, b * cos + a * sin), -1).flatten(-2)
        else:
            a, b = wide.chunk(2, -1)
            y = torch.cat((a * cos - b * sin, b * cos + a * sin), -1)
        return torch.cat((y.to(x.dtype), x[..., turned:]), -1)

    return peer


_add(
    "rope",
    inputs=_rope_inputs,
    peer=_rope,
    axis="s",
    cases=tuple(
        f"{dtype}:b=8,s=4096,h=32,d={d},tables=4096{style}"
        for dtype in ("f32", "bf16")
        for d in (128, 64)
        for style in ("", ":style=gptj")
    ),
)


def _attention_tensors(case, make):
    if case.get("mask"):
        raise ValueError(f"case '{case.text}': masks of the case book are not measured here")
    rows_first = case.option("layout", "bhsd") == "bshd"

    def tensor(heads, rows, columns):
        return make(case["b"], rows, heads, columns) if rows_first else make(case["b"], heads, rows, columns)

    columns = case.get("dv") or case["d"]
    return [
        tensor(case["hq"], case["sq"], case["d"]),
        tensor(case["hkv"], case["sk"], case["d"]),
        tensor(case["hkv"], case["sk"], columns),
    ]


def _attention(backend):
    """scaled_dot_product_attention, by one of its backends. It has upper-left causality alone, and no window."""

    def peer(case):
        for option in ("window", "softcap", "align", "lse", "backward"):
            if case.option(option) is not None:
                raise ValueError(f"case '{case.text}': the peer has no {option}")
        causal = case.option("causal") is not None
        # From the lower right, one query sees all keys.
        if case.option("causal") == "lower_right" and case["sq"] != case["sk"]:
            if case["sq"] != 1:
                raise ValueError(f"case '{case.text}': the peer aligns to the upper left")
            causal = False
        rows_first = case.option("layout", "bhsd") == "bshd"
        scale = case.option("scale")

        def run(q, k, v):
            if rows_first:
                q, k, v = (x.transpose(1, 2) for x in (q, k, v))
            with sdpa_kernel(backend):
                o = F.scaled_dot_product_attention(
                    q,
                    k,
                    v,
                    is_causal=causal,
                    scale=None if scale is None else float(scale),
                    enable_gqa=case["hq"] != case["hkv"],
                )
            return o.transpose(1, 2) if rows_first else o

        return run

    return peer


_add(
    "attention",
    inputs=_attention_tensors,
    peer=_attention([SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION]),
    others={
        "cudnn": _attention([SDPBackend.CUDNN_ATTENTION]),
        "flash": _attention([SDPBackend.FLASH_ATTENTION]),
        "efficient": _attention([SDPBackend.EFFICIENT_ATTENTION]),
    },
    axis="sq",
    cases=tuple(
        f"bf16:b={16384 // s},hq={2048 // d},hkv={2048 // d},sq={s},sk={s},d={d}{causal}"
        for d in (64, 128, 256)
        for s in (1024, 4096, 16384)
        for causal in ("", ":causal")
    )
    + tuple(
        f"bf16:b={b},hq=32,hkv=8,sq=1,sk={sk},d=128" for b, sk in ((1, 8192), (16, 8192), (64, 4096), (1, 65536))
    )
    + ("f32:b=4,hq=16,hkv=16,sq=2048,sk=2048,d=64", "f32:b=4,hq=16,hkv=16,sq=2048,sk=2048,d=64:causal"),
)
