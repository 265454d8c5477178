"""Convolutions of images, of signals and of volumes, transposed ones, and their gradients, beside cuDNN's."""

import math

import torch
import torch.nn.functional as F

from ridge.bench.gradient import Gradient
from ridge.bench.peers.table import ACTIVATIONS, add, epilogue, is_backward


class _Shape:
    """What a case says, along its axes: h and w, of a signal w alone, of a volume d too."""

    def __init__(self, case):
        self.transposed = case.op.startswith("conv_transpose")
        self.axes = int(case.op[-2])
        self.last = case.option("layout", "")[-1:] == "c"  # channels are innermost
        self.groups = int(case.option("groups", 1))
        names, r = "dhw"[-self.axes :], case.get("r", 1)
        self.inputs = [case[name] for name in names]
        self.taps = [case.get("t", r), r, case.get("s", r)][-self.axes :]

        def along(key, otherwise):
            numbers = [int(n) for n in str(case.option(key, otherwise)).split(",")]
            return numbers * self.axes if len(numbers) == 1 else numbers

        pads = along("pad", 0)
        self.before, self.after = pads[: self.axes], pads[-self.axes :]
        self.stride, self.dilation, self.more = along("stride", 1), along("dilation", 1), along("output_pad", 0)
        each = zip(self.inputs, self.taps, self.stride, self.dilation, self.before, self.after, self.more)
        self.outputs = [self._outputs(*axis) for axis in each]

    def _outputs(self, size, taps, stride, dilation, before, after, more):
        extent = (taps - 1) * dilation + 1
        if self.transposed:
            return (size - 1) * stride + extent + more - before - after
        return (size + before + after - extent) // stride + 1

    def stored(self, first, channels, plane):
        return (first, *plane, channels) if self.last else (first, channels, *plane)

    def channels_first(self, t):
        return t.movedim(-1, 1) if self.last else t

    def channels_as_stored(self, t):
        return t.movedim(1, -1) if self.last else t


def _inputs(case, make):
    parts, _ = epilogue(case)
    shape, n, c, k = _Shape(case), case["n"], case["c"], case["k"]
    y = shape.stored(n, k, shape.outputs)
    of_filters = (c, k // shape.groups) if shape.transposed else (k, c // shape.groups)
    tensors = [make(*y)] if is_backward(case) else []
    tensors += [make(*shape.stored(n, c, shape.inputs)), make(*shape.stored(*of_filters, shape.taps))]
    if "bias" in parts:
        tensors.append(make(k))
    if "residual" in parts:
        tensors.append(make(*y))
    return tensors


def _settings(case, shape):
    """cuDNN chooses by measuring, and float32 is float32 unless the case names TF32."""
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = case.option("math") == "tf32"
    return {"stride": shape.stride, "dilation": shape.dilation, "groups": shape.groups}


def _by_cudnn(case):
    """The convolution by cuDNN, bias with it, and what else there is after it one by one."""
    parts, activation = epilogue(case)
    shape = _Shape(case)
    settings = _settings(case, shape)
    even = shape.before == shape.after
    pads = [pad for axis in zip(shape.before[::-1], shape.after[::-1]) for pad in axis]  # as F.pad has them
    plain = (F.conv1d, F.conv2d, F.conv3d)[shape.axes - 1]
    transposed = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[shape.axes - 1]

    def convolve(x, w, bias):
        if not shape.transposed:
            return plain(x if even else F.pad(x, pads), w, bias, padding=shape.before if even else 0, **settings)
        if even:
            return transposed(x, w, bias, padding=shape.before, output_padding=shape.more, **settings)
        y = transposed(x, w, bias, output_padding=shape.more, **settings)
        for axis, (before, size) in enumerate(zip(shape.before, shape.outputs), 2):
            y = y.narrow(axis, before, size)
        return y

    def forward(x, w, *rest):
        rest = list(rest)
        y = convolve(shape.channels_first(x), shape.channels_first(w), rest.pop(0) if "bias" in parts else None)
        y = shape.channels_as_stored(y)
        for part in parts:  # in their order
            y = ACTIVATIONS[activation](y) if part == activation else y + rest.pop(0) if part == "residual" else y
        return y

    return Gradient(forward) if is_backward(case) else forward


def _by_cudnn_fused(case):
    """What cuDNN fuses: relu after the bias, with or without a residual before it."""
    parts, _ = epilogue(case)
    shape = _Shape(case)
    settings = _settings(case, shape)
    if parts not in (["bias", "relu"], ["bias", "residual", "relu"]) or shape.before != shape.after:
        raise NotImplementedError("not an epilogue of cuDNN's")
    order = (settings["stride"], shape.before, settings["dilation"], settings["groups"])

    def peer(x, w, bias, residual=None):
        x, w, z = (t if t is None else shape.channels_first(t) for t in (x, w, residual))
        if z is None:
            y = torch.cudnn_convolution_relu(x, w, bias, *order)
        else:
            y = torch.cudnn_convolution_add_relu(x, w, z, 1.0, bias, *order)
        return shape.channels_as_stored(y)

    return peer


def _taps(case):
    return math.prod(_Shape(case).taps)


_CONV2D = (
    "n=32,c=64,h=56,w=56,k=64,r=3:pad=1 n=32,c=256,h=14,w=14,k=256,r=3:pad=1 n=64,c=512,h=28,w=28,k=512,r=3:pad=1 "
    "n=32,c=3,h=224,w=224,k=64,r=7:stride=2:pad=3 n=32,c=1024,h=14,w=14,k=256,r=1"
).split()
_CONV2D_FEW = (
    "n=1,c=6,h=768,w=512,k=6,r=6 n=1,c=3,h=1080,w=1920,k=3,r=3:pad=1 n=1,c=3,h=768,w=512,k=16,r=3 "
    "n=8,c=6,h=768,w=512,k=6,r=6"
).split()
_shared = dict(
    inputs=_inputs,
    peer=_by_cudnn,
    library="cudnn",
    # sums over channels or filters and a window; the filters' gradient over the pixels
    scale=lambda case: math.sqrt(max(case["c"], case["k"]) * _taps(case)),
    comparable=lambda case, outputs, inputs: [
        y / math.sqrt(inputs[0].numel() / case["k"]) if i else y for i, y in enumerate(outputs)
    ],
)
add(
    "conv2d",
    **_shared,
    others={"cudnn_fused": _by_cudnn_fused},
    axis="c",
    cases=tuple(f"f32:{size}" for size in (*_CONV2D_FEW, *_CONV2D))
    + tuple(
        f"{dtype}:{size}:layout=nhwc{more}"
        for dtype, more in (("f16", ""), ("bf16", ""), ("bf16", ":epilogue=bias+relu"))
        for size in _CONV2D
    ),
)
# U-Net's steps up, a generator's, and a decoder's of segmentation.
_CONV_TRANSPOSE2D = (
    "n=1,c=1024,h=28,w=28,k=512,r=2:stride=2 n=1,c=128,h=196,w=196,k=64,r=2:stride=2 "
    "n=64,c=512,h=8,w=8,k=256,r=4:stride=2:pad=1"
).split()
add(
    "conv_transpose2d",
    **_shared,
    cases=tuple(f"bf16:{size}:layout=nhwc:epilogue=bias" for size in _CONV_TRANSPOSE2D)
    + tuple(f"f32:{size}" for size in _CONV_TRANSPOSE2D),
)
# Whisper's two convolutions of a spectrogram; HiFi-GAN's blocks and its steps up.
_CONV1D = "n=16,c=80,w=3000,k=768,s=3:pad=1 n=16,c=768,w=3000,k=768,s=3:stride=2:pad=1".split()
_CONV_TRANSPOSE1D = "n=8,c=512,w=400,k=256,s=16:stride=8:pad=4 n=8,c=256,w=3200,k=128,s=16:stride=8:pad=4".split()
for _op, _cases in (("conv1d", _CONV1D), ("conv_transpose1d", _CONV_TRANSPOSE1D)):
    add(
        _op,
        **_shared,
        cases=tuple(f"bf16:{size}:layout=nwc:epilogue=bias+gelu" for size in _cases)
        + tuple(f"f32:{size}:epilogue=bias" for size in _cases),
    )
# A video autoencoder's causal convolutions, the patches of a video transformer, and a step of a network of volumes.
_CONV3D = (
    "n=1,c=128,d=5,h=120,w=208,k=128,r=3:pad=2,1,1,0,1,1 n=1,c=512,d=5,h=30,w=52,k=512,r=3:pad=2,1,1,0,1,1 "
    "n=1,c=256,d=5,h=60,w=104,k=512,t=3,r=1:pad=2,0,0,0,0,0 n=1,c=16,d=21,h=60,w=104,k=1536,t=1,r=2:stride=1,2,2 "
    "n=2,c=64,d=32,h=32,w=32,k=64,r=3:pad=1"
).split()
add(
    "conv3d",
    **_shared,
    cases=tuple(f"bf16:{size}:layout=ndhwc:epilogue=bias" for size in _CONV3D)
    + tuple(f"bf16:{size}:layout=ndhwc:backward" for size in _CONV3D[:1] + _CONV3D[-1:])
    + (f"f32:{_CONV3D[-1]}:epilogue=bias",),
)
