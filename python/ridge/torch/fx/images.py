"""Patterns of networks of images, signals and volumes: convolutions with the batch norm, activation and residual after
them, group norms.

Images are shown as [n, channels, rows, columns], signals as [n, channels, columns] and volumes as [n, channels, slices,
rows, columns], whatever lies innermost; Ridge's operators are told.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F

from ridge.torch.autocast import CONVOLUTIONS
from ridge.torch.fx import graph
from ridge.torch.fx.graph import arguments, name, only_user, value
from ridge.torch.fx.match import (
    Match,
    Unfit,
    activation_of,
    check,
    check_in_float32,
    check_number,
    check_product,
    residual_of,
)


def _lies(node, last):
    """Whether an image is contiguous with its channels innermost, or else its columns. Of one channel or one pixel both
    are true."""
    axes = value(node).dim()
    return graph.is_contiguous(node, (0, *range(2, axes), 1) if last else range(axes))


def has_channels_last(*nodes):
    """Whether images have their channels innermost, or else their columns. Where they lie differently, it is as the last of
    them does, the result; the others are copied then."""
    for given in (nodes, nodes[-1:]):
        for last in (False, True):
            if all(_lies(node, last) for node in given):
                return last
    raise Unfit("its result is not contiguous")


def to_last(x, last):
    """As Ridge's operators are told: packed, the channels innermost or the columns."""
    if x is None:
        return None
    return (x.movedim(1, -1) if last else x).contiguous()


class _How(NamedTuple):
    """A convolution but for its tensors. Numbers are texts, as Ridge's options: "2" or "2,1"."""

    op: str
    stride: str
    padding: str
    dilation: str
    output_padding: str | None  # of a transposed one
    groups: str
    last: bool  # channels are innermost
    tf32: bool


def _convolution(x, w, bias, residual, activation, *how):
    how = _How(*how)
    parts = ["bias" if bias is not None else "", "residual" if residual is not None else "", activation or ""]
    more = {"output_pad": how.output_padding} if how.output_padding else {"math": "tf32" if how.tf32 else None}
    between = "dhw"[-(x.dim() - 2) :]
    y = getattr(torch.ops.ridge, how.op)(
        *(to_last(x, how.last), to_last(w, how.last), bias, to_last(residual, how.last)),
        stride=how.stride,
        pad=how.padding,
        dilation=how.dilation,
        groups=how.groups,
        layout=f"n{between}c" if how.last else f"nc{between}",
        epilogue="+".join(part for part in parts if part) or None,
        **more,
    )
    return y.movedim(-1, 1) if how.last else y


def _product_of_pixels(x, w, bias, residual, activation, *how):
    """The same by filters of one pixel, where channels are innermost or there is one pixel: a matrix product, which has
    kernels for few rows too."""
    rows = [None if image is None else image.movedim(1, -1).reshape(-1, image.shape[1]) for image in (x, residual)]
    parts = ["bias" if bias is not None else "", activation or ""]
    y = torch.ops.ridge.gemm(
        *(rows[0], w.flatten(1), rows[1], bias),
        beta=None if residual is None else 1.0,
        layout="nt",
        epilogue="+".join(part for part in parts if part) or None,
    )
    if not _How(*how).last:
        return y.view(x.shape[0], w.shape[0], *x.shape[2:])
    return y.view(x.shape[0], *x.shape[2:], w.shape[0]).movedim(-1, 1)


def _convolution_and_batch_norm(x, w, bias, residual, activation, *how):
    """The batch norm in the one pass after the convolution."""
    return _convolution_and_pass(x, w, bias, residual, activation or "relu", *how)


def _convolution_and_pass(x, w, bias, residual, activation, *how):
    how = _How(*how)
    sizes = {key: getattr(how, key) for key in ("stride", "padding", "dilation", "output_padding")}
    sizes = {key: tuple(map(int, text.split(","))) for key, text in sizes.items() if text}
    if len(sizes["padding"]) > 1 and len(sizes["padding"]) != x.dim() - 2:  # of each side
        pads, axes = sizes.pop("padding"), x.dim() - 2
        x = F.pad(x, [pads[side] for axis in reversed(range(axes)) for side in (axis, axis + axes)])
    y = getattr(F, how.op)(x, w, bias, groups=int(how.groups), **sizes)
    if residual is not None:
        return y + residual
    return torch.relu(y) if activation else y


def _numbers(given):
    """One number, or one for each axis or side, in Ridge's words."""
    numbers = given if isinstance(given, (tuple, list)) else (given,)
    if not all(isinstance(n, int) for n in numbers):
        raise Unfit(f"its padding is {given!r}" if isinstance(given, str) else "its sizes are no numbers")
    return ",".join(map(str, numbers))


def _batch_norm(node, product):
    """(mean, var, gamma, beta, eps) of a batch norm by given statistics, or None."""
    if node is None or name(node) != "batch_norm":
        return None
    given = arguments(node)
    found = [given.get(key) for key in ("running_mean", "running_var", "weight", "bias")]
    if given.get("training", False) or None in found[:2] or given["input"] is not product:
        return None
    check(node, product)
    check_number(given.get("eps"), "eps")
    if any(value(p) is not None and value(p).dtype not in (torch.float32, value(product).dtype) for p in found):
        return None
    return (*found, given.get("eps", 1e-5))


def _is_of_pixels(x, w, how):
    """Whether each output depends on the one pixel at its place, and a pixel's channels are neighbours."""
    every = set(how.stride.split(",")) == {"1"} and set(how.padding.split(",")) == {"0"} and how.groups == "1"
    one = set(graph.sizes(w)[2:]) == {"1"} and (how.last or set(graph.sizes(x)[2:]) == {"1"})
    return one and every and not how.tf32 and not how.output_padding


def _padding(given):
    """A convolution's padding as numbers. One by name is of each side: "same" has the odd one behind."""
    padding = given.get("padding", 0)
    if padding != "same":
        return 0 if padding == "valid" else padding
    taps = value(given["weight"]).shape[2:]
    dilation = given.get("dilation", 1)
    dilation = tuple(dilation) if isinstance(dilation, (tuple, list)) else (dilation,)
    dilation *= len(taps) // len(dilation)
    sums = [step * (count - 1) for step, count in zip(dilation, taps)]
    return [*(total // 2 for total in sums), *(total - total // 2 for total in sums)]


def _how(node, given, last):
    """The node's _How, of its arguments by name."""
    op, x = name(node), value(given["input"])
    given = given | {"padding": _padding(given)}
    usual = {"stride": 1, "padding": 0, "dilation": 1} | ({"output_padding": 0} if "transpose" in op else {})
    sizes = {"output_padding": None} | {key: _numbers(given.get(key, number)) for key, number in usual.items()}
    more, strides = ([int(n) for n in (sizes[key] or "0").split(",")] for key in ("output_padding", "stride"))
    if any(n >= least for n, least in zip(more * len(strides), strides * len(more))):
        raise Unfit("its output padding is not below its stride")
    tf32 = "transpose" not in op and x.dtype == torch.float32 and x.is_cuda and torch.backends.cudnn.allow_tf32
    return _How(op, groups=str(given.get("groups", 1)), last=last, tf32=tf32, **sizes)


def _after(node, of, last):
    """What follows an image `of`, from its only user on, step by step: (node, residual, activation) up to there."""
    residual = residual_of(node, of)
    if residual is not None and _lies(residual, last):
        yield node, residual, None
        node = only_user(node)
    else:
        residual = None
    if activation := activation_of(node):
        yield node, residual, activation


def convolution(node, training):
    """act(the convolution of x with w + bias + residual), a batch norm folded into w and bias; then without what
    follows. In training the convolution alone: what follows it is kept for its own gradient."""
    if name(node) not in CONVOLUTIONS:
        return
    given = arguments(node)
    x, w, bias = given["input"], given["weight"], given.get("bias")
    check_product(node, x, w, *([] if bias is None else [bias]))
    if value(x).dim() != value(w).dim():
        raise Unfit("its image has no batch")
    last = has_channels_last(x, w, node)
    how = _how(node, given, last)
    transposed = how.output_padding is not None
    nodes, norm = [node], None
    ways = (_product_of_pixels, _convolution) if _is_of_pixels(x, w, how) else (_convolution,)

    def matches(residual, activation):
        parts = [how.op, "batch_norm" if norm else "bias" if bias is not None else ""]
        what = "+".join(part for part in (*parts, "residual" if residual is not None else "", activation) if part)
        torchs = _convolution_and_batch_norm if norm else _convolution_and_pass
        inputs = (x, w, bias, residual, activation, *how)
        return [Match(what, tuple(nodes), inputs, way, torchs, norm=norm or (), any_layout=True) for way in ways]

    found = [matches(None, None)]
    if training:
        yield from found[0]
        return
    after = only_user(node)
    # A transposed one's filters have their channels of y along another axis than the norm is folded along.
    norm = None if transposed else _batch_norm(after, node)
    if norm:
        nodes.append(after)
        found.append(matches(None, None))
        after = only_user(after)
    for node_after, residual, activation in _after(after, nodes[-1], last):
        nodes.append(node_after)
        found.append(matches(residual, activation))
    for ways_of_one in reversed(found):
        yield from ways_of_one


def batch_norm_train_(x, mean, var, gamma, beta, residual, momentum, eps, activation, last):
    """act(the norm of x by its own statistics + residual); the running ones, mean and var, follow those."""
    y, of_mean, of_var = torch.ops.ridge.batch_norm_train(
        *(to_last(x, last), gamma, beta, to_last(residual, last)),
        eps=eps,
        activation=activation,
        layout="nhwc" if last else "nchw",
    )
    count = x.numel() // x.shape[1]
    with torch.no_grad():
        mean.lerp_(of_mean.to(mean.dtype), momentum)
        var.lerp_((of_var * (count / (count - 1))).to(var.dtype), momentum)
    return y.movedim(-1, 1) if last else y


def _torch_batch_norm(x, mean, var, gamma, beta, residual, momentum, eps, activation, last):
    """Without what follows, which Inductor makes in the norm's last kernel."""
    return F.batch_norm(x, mean, var, gamma, beta, True, momentum, eps)


def batch_norm_in_training(node, training):
    """act(batch_norm of images by their own statistics + residual); then without what follows."""
    if name(node) != "batch_norm":
        return
    given = arguments(node)
    if given.get("training", False) is not True:
        return
    x, *parameters = (given.get(key) for key in ("input", "running_mean", "running_var", "weight", "bias"))
    check(x, node)
    momentum, eps = given.get("momentum", 0.1), given.get("eps", 1e-5)
    check_number(eps, "eps")
    if None in parameters[:2] or not isinstance(momentum, float):
        raise Unfit("it keeps no running statistics by a fixed share")
    if any(p is not None and value(p).dtype not in (torch.float32, value(x).dtype) for p in parameters):
        raise Unfit("its parameters are of another type")
    if value(x).dim() < 3 or value(x).numel() <= value(x).shape[1]:
        raise Unfit("it has no pixels")
    last = has_channels_last(x, node)
    nodes, found = [node], [(None, None, 1)]
    for after, residual, activation in _after(only_user(node), node, last):
        nodes.append(after)
        found.append((residual, activation, len(nodes)))
    for residual, activation, count in reversed(found):
        what = "+".join(part for part in ("batch_norm", "residual" if residual is not None else "", activation) if part)
        inputs = (x, *parameters, residual, momentum, eps, activation, last)
        yield Match(what, tuple(nodes[:count]), inputs, batch_norm_train_, _torch_batch_norm, any_layout=True)


def _group_norm(x, groups, gamma, beta, eps, activation, last):
    given = to_last(x, last)
    image = given if x.dim() == 4 else given.flatten(1, 2) if last else given.flatten(2, 3)  # slices are further rows
    y = torch.ops.ridge.group_norm(
        *(image, gamma, beta),
        groups=groups,
        eps=eps,
        activation=activation,
        layout="nhwc" if last else "nchw",
    )
    y = y.view(given.shape)
    return y.movedim(-1, 1) if last else y


def _torch_group_norm(x, groups, gamma, beta, eps, activation, last):
    """Without the activation after it, which Inductor makes in the norm's last kernel."""
    return F.group_norm(x, groups, gamma, beta, eps)


def group_norm(node, training):
    """group_norm of images or volumes and the activation after it."""
    if name(node) != "group_norm":
        return
    given = arguments(node)
    x, gamma, beta = given["input"], given.get("weight"), given.get("bias")
    check_in_float32(node, x, *(p for p in (gamma, beta) if p is not None))
    check_number(given.get("eps"), "eps")
    if value(x).dim() not in (4, 5):
        raise Unfit(f"its tensor has {value(x).dim()} axes")
    last = has_channels_last(x, node)
    after = only_user(node)
    for activation in (activation_of(after), None):
        nodes = (node, after) if activation else (node,)
        inputs = (x, given["num_groups"], gamma, beta, given.get("eps", 1e-5), activation, last)
        what = f"group_norm+{activation}" if activation else "group_norm"
        yield Match(what, nodes, inputs, _group_norm, _torch_group_norm, any_layout=True)
        if not activation:
            return
