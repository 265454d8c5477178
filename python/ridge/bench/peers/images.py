"""Planes of images, filters and boxes."""

import math

import torch
import torch.nn.functional as F

from ridge.bench.gradient import Gradient
from ridge.bench.peers.table import add, is_backward, typed
from ridge.torch.library import DTYPES

# ---- planes ----------------------------------------------------------------------------------------------------------


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


def pair(case, key, otherwise):
    """Along h and w, from `2` or `2,1`."""
    numbers = [int(number) for number in case.option(key, str(otherwise)).split(",")]
    return numbers * (2 // len(numbers))


def _pooling(function):
    def peer(case):
        window = [case["r"], case.get("s", case["r"])]
        more = (
            {"dilation": pair(case, "dilation", 1)}
            if function is F.max_pool2d
            else {"count_include_pad": case.option("count_include_pad") != "0"}
        )

        return _channels_first(
            case, lambda x: function(x, window, stride=pair(case, "stride", 1), padding=pair(case, "pad", 0), **more)
        )

    return peer


for _name, _function in {"max_pool2d": F.max_pool2d, "avg_pool2d": F.avg_pool2d}.items():
    add(
        _name,
        inputs=_image,
        peer=_pooling(_function),
        cases=typed("f32 f16", "n=32,c=64,h=112,w=112,r=3")
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
add(
    "batch_norm batch_norm_train",
    inputs=_batch_norm_inputs,
    peer=_batch_norm,
    library="cudnn",
    cases=typed("f32 bf16", _PLANES),
)
add("batch_norm_stats", inputs=_batch_norm_inputs, peer=_batch_norm_stats, cases=typed("f32 bf16", _PLANES))

# ---- convolutions ----------------------------------------------------------------------------------------------------


def _dwconv_inputs(case, make):
    signal, filters = (case["b"], case["c"], case["t"]), (case["c"], case.get("l") or case["t"])
    return [make(*signal) for _ in range(1 + is_backward(case))] + [make(*filters)]


def _dwconv(convolve):
    """A causal convolution as the library has it, or the gradients that PyTorch makes of it."""

    def peer(case):
        eps = float(case.option("eps", 0))

        def forward(k, w):
            y = convolve(k, w)
            return y + eps if eps else y

        return Gradient(forward) if is_backward(case) else forward

    return peer


def _by_conv1d(k, w):
    return F.conv1d(F.pad(k, (w.shape[1] - 1, 0)), w.unsqueeze(1), groups=w.shape[0])


def _by_fft(k, w):
    n = k.shape[-1] + w.shape[1] - 1  # no wrap
    k_n, w_n = torch.fft.rfft(k.float(), n), torch.fft.rfft(w.float().flip(-1), n)
    return torch.fft.irfft(k_n * w_n, n)[..., : k.shape[-1]].to(k.dtype)


add(
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

# ---- boxes -----------------------------------------------------------------------------------------------------------


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


add(
    "nms",
    inputs=_nms_inputs,
    peer=_nms,
    library="torchvision",
    # the numbers of those that are kept, without what fills the place of the others
    comparable=lambda case, outputs, inputs: [outputs[0][: int(outputs[1])] if len(outputs) > 1 else outputs[0]],
    waits=lambda case: True,  # torchvision chooses on the host
    cases=typed("f32", "n=1000 n=10000 n=50000 n=10000,classes=80"),
)
