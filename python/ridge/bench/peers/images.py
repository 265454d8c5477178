"""Planes of images, sequences by channels, and boxes."""

import math

import torch
import torch.nn.functional as F

from ridge.bench.gradient import Gradient
from ridge.bench.peers.table import ACTIVATIONS, add, is_backward, typed
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


def sides(case):
    """Padding as top, left, bottom, right, from `1`, `1,2` or four numbers."""
    pads = [int(pad) for pad in case.option("pad", "0").split(",")]
    return pads if len(pads) == 4 else (pads * (2 // len(pads))) * 2


def _plane_of_y(case):
    """The rows and columns of a pool's y."""
    if case.op == "adaptive_avg_pool2d":
        return pair(case, "size", 1)
    (top, left, bottom, right), ceil_mode = sides(case), case.option("ceil_mode", "0") != "0"

    def along(inputs, taps, stride, dilation, before, after):
        spare = inputs + before + after - (taps - 1) * dilation - 1
        last = (spare + (stride - 1) * ceil_mode) // stride
        return last if ceil_mode and last * stride >= inputs + before else last + 1

    (stride_h, stride_w), (tall, broad) = pair(case, "stride", 1), pair(case, "dilation", 1)
    r = case["r"]
    return [
        along(case["h"], r, stride_h, tall, top, bottom),
        along(case["w"], case.get("s", r), stride_w, broad, left, right),
    ]


def _pool_inputs(case, make):
    """x; of a gradient dy, and of the maximum's x and y too."""
    [x] = _image(case, make)
    if not is_backward(case):
        return [x]
    rows, columns = _plane_of_y(case)
    n, c = case["n"], case["c"]
    dy = make(n, rows, columns, c) if case.option("layout") == "nhwc" else make(n, c, rows, columns)
    if case.op != "max_pool2d":
        return [dy]
    y = _channels_first(case, _pool_forward(case, F.max_pool2d))(x)
    return [dy, x, (y[0] if isinstance(y, tuple) else y).contiguous()]


def _pool_gradient(case, forward):
    """PyTorch's. Of a mean's x only the shape is read, so that one is made here, once."""
    if case.op == "max_pool2d":
        return Gradient(forward, lambda dy, x, y: ([dy], [x]))
    made = {}

    def arrange(dy):
        if dy.device not in made:
            size = [case[key] for key in "nchw"]
            made[dy.device] = dy.new_zeros([size[0], *size[2:], size[1]] if case.option("layout") == "nhwc" else size)
        return [dy], [made[dy.device]]

    return Gradient(forward, arrange)


def _pool_forward(case, function):
    """Of x [n, c, h, w]."""
    top, left, bottom, right = sides(case)
    if (top, left) != (bottom, right):
        raise NotImplementedError("PyTorch pads both sides alike")
    window = [case["r"], case.get("s", case["r"])]
    more = {"stride": pair(case, "stride", 1), "padding": [top, left]}
    more["ceil_mode"] = case.option("ceil_mode", "0") != "0"
    if function is F.max_pool2d:
        more["dilation"] = pair(case, "dilation", 1)
    else:
        more["count_include_pad"] = case.option("count_include_pad") != "0"
    return lambda x: function(x, window, **more)


def _pooling(function):
    def peer(case):
        forward = _channels_first(case, _pool_forward(case, function))
        return _pool_gradient(case, forward) if is_backward(case) else forward

    return peer


for _name, _function in {"max_pool2d": F.max_pool2d, "avg_pool2d": F.avg_pool2d}.items():
    add(
        _name,
        inputs=_pool_inputs,
        peer=_pooling(_function),
        cases=typed("f32 f16", "n=32,c=64,h=112,w=112,r=3")
        + (
            "f32:n=32,c=64,h=112,w=112,r=3:stride=2:pad=1",
            "f16:n=32,c=64,h=112,w=112,r=3:stride=2:pad=1:layout=nhwc",
            "f32:n=32,c=64,h=112,w=112,r=3:stride=2:ceil_mode",
            "f32:n=32,c=64,h=112,w=112,r=3:stride=2:pad=1:backward",
            "bf16:n=32,c=64,h=112,w=112,r=3:stride=2:pad=1:layout=nhwc:backward",
        ),
    )


def _resized(case):
    """The sides of y."""
    if case.option("size") is not None:
        return pair(case, "size", 0)
    scale = [float(number) for number in case.option("scale").split(",")]
    return [math.floor(side * by) for side, by in zip((case["h"], case["w"]), scale * (2 // len(scale)))]


def _image_or_gradient(case, make):
    if not is_backward(case):
        return _image(case, make)
    n, c, (h, w) = case["n"], case["c"], _resized(case)
    return [make(n, h, w, c) if case.option("layout") == "nhwc" else make(n, c, h, w)]


def _upsample(case):
    """By the sizes, for a scale too. The gradient is that of an image that nobody fills: its sides alone matter."""
    size, mode = _resized(case), case.option("mode", "nearest").replace("_", "-")
    more = {"align_corners": case.option("align_corners", "0") != "0"} if mode == "bilinear" else {}
    forward = _channels_first(case, lambda x: F.interpolate(x, size=size, mode=mode, **more))
    n, c, h, w = (case[key] for key in "nchw")
    shape = (n, h, w, c) if case.option("layout") == "nhwc" else (n, c, h, w)
    return Gradient(forward, lambda dy: ([dy], [dy.new_empty(shape)])) if is_backward(case) else forward


add(
    "upsample",
    inputs=_image_or_gradient,
    peer=_upsample,
    axis="c",
    cases=tuple(
        f"{case}{direction}"
        for direction in ("", ":backward")
        for case in (
            "bf16:n=2,c=1280,h=16,w=16:scale=2",
            "bf16:n=1,c=512,h=256,w=256:scale=2",
            "bf16:n=1,c=512,h=256,w=256:scale=2:layout=nhwc",
            "bf16:n=1,c=512,h=256,w=256:scale=2:mode=bilinear",
            "bf16:n=1,c=512,h=256,w=256:scale=2:mode=bilinear:layout=nhwc",
            "f16:n=32,c=256,h=20,w=20:scale=2",
            "f32:n=8,c=21,h=65,w=65:scale=8:mode=bilinear",
        )
    ),
)


def _adaptive_pooling(case):
    size = pair(case, "size", 1)
    forward = _channels_first(case, lambda x: F.adaptive_avg_pool2d(x, size))
    return _pool_gradient(case, forward) if is_backward(case) else forward


add(
    "adaptive_avg_pool2d",
    inputs=_pool_inputs,
    peer=_adaptive_pooling,
    cases=typed(
        "f32 bf16",
        "n=32,c=2048,h=7,w=7:size=1 n=32,c=2048,h=7,w=7:size=1:layout=nhwc n=32,c=64,h=112,w=112:size=1 "
        "n=32,c=512,h=14,w=14:size=7 n=32,c=2048,h=7,w=7:size=1:backward",
    ),
)


def _batch_norm_gradient_inputs(case, make):
    """dy, x, mean, var and gamma, beta with an activation, and the residual: of batch_norm_train x's own statistics."""
    [x], [dy] = _image(case, make), _image(case, make)
    gamma, beta, mean, var = (make(case["c"], dtype=torch.float32) for _ in range(4))
    if case.op == "batch_norm_train":
        axes = (0, 1, 2) if case.option("layout") == "nhwc" else (0, 2, 3)
        var, mean = torch.var_mean(x.float(), axes, correction=0)
    var = var if case.op == "batch_norm_train" else var.abs() + 0.5
    return [dy, x, mean, var, gamma, *([beta] if case.option("activation") else []), *_added(case, make)]


def _added(case, make):
    return _image(case, make) if case.get("added") else []


def _after_batch_norm(case, y, residual=()):
    """y [n, c, h, w] with the residual, where there is one, which is as the case's layout has it; and the activation."""
    for r in residual:
        y = y + (r.permute(0, 3, 1, 2) if case.option("layout") == "nhwc" else r)
    return ACTIVATIONS.get(case.option("activation", "none"), lambda z: z)(y)


def _batch_norm_gradient(case):
    """PyTorch's, of x, gamma, beta and the residual."""
    eps, train = float(case.option("eps", 1e-5)), case.op == "batch_norm_train"
    count = 4 if case.get("added") else 3

    def of_planes(x, gamma, beta, *more):
        residual, (mean, var) = more[: count - 3], more[count - 3 :]
        statistics = (None, None) if train else (mean, var)
        return _after_batch_norm(case, F.batch_norm(x, *statistics, gamma, beta, training=train, eps=eps), residual)

    forward, zeros = _channels_first(case, of_planes), {}

    def arrange(dy, x, mean, var, gamma, *more):
        if x.device not in zeros:
            zeros[x.device] = torch.zeros_like(gamma)
        beta, *residual = more if case.option("activation") else (zeros[x.device], *more)
        return [dy], [x, gamma, beta, *residual], [mean, var]

    return Gradient(forward, arrange)


def _batch_norm_inputs(case, make):
    if is_backward(case):
        return _batch_norm_gradient_inputs(case, make)
    parameters = [make(case["c"], dtype=torch.float32) for _ in range(4 if case.op == "batch_norm" else 2)]
    if case.op == "batch_norm":
        parameters[1].abs_()  # a variance
    return _image(case, make) + ([] if case.op == "batch_norm_stats" else parameters) + _added(case, make)


def _batch_norm(case):
    if is_backward(case):
        return _batch_norm_gradient(case)
    eps = float(case.option("eps", 1e-5))

    def given(x, mean, var, gamma, beta, *residual):
        return _after_batch_norm(case, F.batch_norm(x, mean, var, gamma, beta, eps=eps), residual)

    def train(x, gamma, beta, *residual):
        y, mean, inverse = torch.native_batch_norm(x, gamma, beta, None, None, True, 0.0, eps)
        return _after_batch_norm(case, y, residual), mean, inverse**-2 - eps

    return _channels_first(case, given if case.op == "batch_norm" else train)


def _batch_norm_stats(case):
    axes = (0, 1, 2) if case.option("layout") == "nhwc" else (0, 2, 3)

    def peer(x):
        var, mean = torch.var_mean(x, axes, correction=0)
        return mean.float(), var.float()

    return peer


def _comparable_batch_norm(case, outputs, inputs):
    """Of gradients dgamma and dbeta are sums over a channel. Before a residual is added PyTorch rounds the norm, and relu
    then lets other elements pass: of those the sizes are compared."""
    if not is_backward(case):
        return outputs
    if case.get("added"):
        return [x.float().pow(2).mean().sqrt() for x in outputs]
    return [x / math.sqrt(inputs[0].numel() / case["c"]) if x.dim() == 1 else x for x in outputs]


_PLANES = "n=32,c=64,h=112,w=112 n=32,c=64,h=112,w=112:layout=nhwc n=32,c=2048,h=7,w=7"
_OF_RESNET = ["n=64,c=64,h=112,w=112", "n=64,c=256,h=56,w=56", "n=64,c=1024,h=14,w=14"]
_EPILOGUES = [
    ":layout=nhwc:activation=relu",
    ",added=1:layout=nhwc:activation=relu",
    ":layout=nhwc:activation=relu:backward",
    ",added=1:layout=nhwc:activation=relu:backward:outputs=dx,dgamma,dbeta,dresidual",
]
add(
    "batch_norm batch_norm_train",
    inputs=_batch_norm_inputs,
    peer=_batch_norm,
    library="cudnn",
    comparable=_comparable_batch_norm,
    cases=typed("f32 bf16", _PLANES)
    + typed("f32", " ".join(f"{size}:backward" for size in _PLANES.split()))
    + typed("bf16", " ".join(size + how for size in _OF_RESNET for how in _EPILOGUES)),
)
add("batch_norm_stats", inputs=_batch_norm_inputs, peer=_batch_norm_stats, cases=typed("f32 bf16", _PLANES))

def _group_norm_names(case):
    names = ["dy", "x", "gamma", "beta"] if is_backward(case) else ["x", "gamma", "beta"]
    wanted = case.option("inputs", ",".join(names)).split(",")
    return [name for name in names if name in wanted]


def _group_norm_inputs(case, make):
    """Parameters have x's type: PyTorch takes no others on a GPU."""
    return [make(case["c"]) if name in ("gamma", "beta") else _image(case, make)[0] for name in _group_norm_names(case)]


def _group_norm(case):
    """PyTorch's norm, and the activation after it. In nhwc its memory is channels last, for which it has kernels."""
    names, groups, eps = _group_norm_names(case), int(case.option("groups")), float(case.option("eps", 1e-5))
    vectors = [name for name in names if name in ("gamma", "beta")]
    activation = ACTIVATIONS.get(case.option("activation", "none"), lambda y: y)
    last = case.option("layout") == "nhwc"
    if is_backward(case) and (len(vectors) < 2 or case.option("outputs")):
        raise NotImplementedError("the peer gives the gradients of x, gamma and beta")

    def forward(x, *given):
        of = dict(zip(vectors, given))
        x = x.permute(0, 3, 1, 2) if last else x
        y = activation(F.group_norm(x, groups, of.get("gamma"), of.get("beta"), eps))
        return y.permute(0, 2, 3, 1) if last else y

    return Gradient(forward) if is_backward(case) else forward


_LATENTS = "n=2,c=320,h=64,w=64 n=2,c=640,h=32,w=32 n=2,c=1280,h=16,w=16 n=2,c=1280,h=8,w=8 n=32,c=512,h=64,w=64"
add(
    "group_norm",
    inputs=_group_norm_inputs,
    peer=_group_norm,
    # dgamma and dbeta are sums over samples and pixels: by the size of such a sum
    comparable=lambda case, outputs, inputs: [
        x / math.sqrt(case["n"] * case["h"] * case["w"]) if x.dim() == 1 else x for x in outputs
    ],
    cases=tuple(
        f"{dtype}:{size}:groups=32:activation=silu{layout}{direction}"
        for dtype in ("bf16", "f32")
        for layout in (":layout=nhwc", "")
        for direction in ("", ":backward")
        for size in _LATENTS.split()
    ),
)


# ---- depthwise convolutions of long sequences ------------------------------------------------------------------------


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
    n = 1 << (k.shape[-1] + w.shape[1] - 2).bit_length()  # no wrap, and a length that transforms are fast at
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
