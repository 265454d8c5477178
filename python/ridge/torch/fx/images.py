"""Patterns of networks of images: convolutions with the batch norm, activation and residual after them, group norms.

Images are shown as [n, channels, rows, columns], whatever lies innermost; Ridge's operators are told.
"""

import torch
import torch.nn.functional as F

from ridge.torch.fx import graph
from ridge.torch.fx.graph import arguments, name, only_user, value
from ridge.torch.fx.match import Match, Unfit, activation_of, check, residual_of


def _lies(node, last):
    """Whether an image is contiguous with its channels innermost, or else its columns. Of one channel or one pixel both
    are true."""
    return graph.is_contiguous(node, (0, 2, 3, 1) if last else (0, 1, 2, 3))


def _has_channels_last(*nodes):
    """Whether all images have their channels innermost, or else their columns."""
    for last in (False, True):
        if all(_lies(node, last) for node in nodes):
            return last
    raise Unfit("its tensors are not contiguous, or lie differently")


def _to_last(x, last):
    return x.permute(0, 2, 3, 1) if last and x is not None else x


def _convolution(x, w, bias, residual, activation, stride, padding, dilation, groups, last, tf32):
    parts = ["bias" if bias is not None else "", "residual" if residual is not None else "", activation or ""]
    y = torch.ops.ridge.conv2d(
        *(_to_last(x, last), _to_last(w, last), bias, _to_last(residual, last)),
        stride=stride,
        pad=padding,
        dilation=dilation,
        groups=groups,
        layout="nhwc" if last else "nchw",
        epilogue="+".join(part for part in parts if part) or None,
        math="tf32" if tf32 else None,
    )
    return y.permute(0, 3, 1, 2) if last else y


def _product_of_pixels(x, w, bias, residual, activation, stride, padding, dilation, groups, last, tf32):
    """The same by filters of one pixel, where channels are innermost or there is one pixel: a matrix product, which has
    kernels for few rows too."""
    rows = [None if image is None else image.permute(0, 2, 3, 1).reshape(-1, image.shape[1]) for image in (x, residual)]
    parts = ["bias" if bias is not None else "", activation or ""]
    y = torch.ops.ridge.gemm(
        *(rows[0], w.flatten(1), rows[1], bias),
        beta=None if residual is None else 1.0,
        layout="nt",
        epilogue="+".join(part for part in parts if part) or None,
    )
    if not last:
        return y.view(x.shape[0], w.shape[0], 1, 1)
    return y.view(x.shape[0], *x.shape[2:], w.shape[0]).permute(0, 3, 1, 2)


def _convolution_and_batch_norm(x, w, bias, residual, activation, *how):
    """The batch norm in the one pass after the convolution."""
    return _convolution_and_pass(x, w, bias, residual, activation or "relu", *how)


def _convolution_and_pass(x, w, bias, residual, activation, stride, padding, dilation, groups, last, tf32):
    numbers = (tuple(map(int, text.split(","))) for text in (stride, padding, dilation))
    y = F.conv2d(x, w, bias, *numbers, int(groups))
    if residual is not None:
        return y + residual
    return torch.relu(y) if activation else y


def _numbers(given):
    """One number or a pair, in Ridge's words."""
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
    if any(value(p) is not None and value(p).dtype not in (torch.float32, value(product).dtype) for p in found):
        return None
    return (*found, given.get("eps", 1e-5))


def _is_of_pixels(x, w, stride, padding, _, groups, last, tf32):
    """Whether each output depends on the one pixel at its place, and a pixel's channels are neighbours."""
    one = ["1", "1"]
    every = set(stride.split(",")) == {"1"} and set(padding.split(",")) == {"0"} and groups == "1"
    return graph.sizes(w)[2:] == one and (last or graph.sizes(x)[2:] == one) and every and not tf32


def convolution(node, training):
    """act(conv2d(x, w) + bias + residual), a batch norm folded into w and bias; then without what follows."""
    if name(node) != "conv2d" or training:
        return
    given = arguments(node)
    x, w, bias = given["input"], given["weight"], given.get("bias")
    check(x, w, node, *([] if bias is None else [bias]))
    if value(x).dim() != 4:
        raise Unfit("its image has no batch")
    last = _has_channels_last(x, w, node)
    sizes = [_numbers(given.get(key, usual)) for key, usual in (("stride", 1), ("padding", 0), ("dilation", 1))]
    tf32 = value(x).dtype == torch.float32 and value(x).is_cuda and torch.backends.cudnn.allow_tf32
    how = (*sizes, str(given.get("groups", 1)), last, tf32)
    nodes, norm = [node], None
    ways = (_product_of_pixels, _convolution) if _is_of_pixels(x, w, *how) else (_convolution,)

    def matches(residual, activation):
        parts = ["conv2d", "batch_norm" if norm else "bias" if bias is not None else ""]
        what = "+".join(part for part in (*parts, "residual" if residual is not None else "", activation) if part)
        torchs = _convolution_and_batch_norm if norm else _convolution_and_pass
        inputs = (x, w, bias, residual, activation, *how)
        return [Match(what, tuple(nodes), inputs, way, torchs, norm=norm or (), any_layout=True) for way in ways]

    found = [matches(None, None)]
    after = only_user(node)
    norm = _batch_norm(after, node)
    if norm:
        nodes.append(after)
        found.append(matches(None, None))
        after = only_user(after)
    residual = residual_of(after, nodes[-1])
    if residual is not None and _lies(residual, last):
        nodes.append(after)
        found.append(matches(residual, None))
        after = only_user(after)
    else:
        residual = None
    activation = activation_of(after)
    if activation:
        nodes.append(after)
        found.append(matches(residual, activation))
    for ways_of_one in reversed(found):
        yield from ways_of_one


def _group_norm(x, groups, gamma, beta, eps, activation, last):
    y = torch.ops.ridge.group_norm(
        *(_to_last(x, last), gamma, beta),
        groups=groups,
        eps=eps,
        activation=activation,
        layout="nhwc" if last else "nchw",
    )
    return y.permute(0, 3, 1, 2) if last else y


def _torch_group_norm(x, groups, gamma, beta, eps, activation, last):
    """Without the activation after it, which Inductor makes in the norm's last kernel."""
    return F.group_norm(x, groups, gamma, beta, eps)


def group_norm(node, training):
    """group_norm of images and the activation after it."""
    if name(node) != "group_norm" or training:
        return
    given = arguments(node)
    x, gamma, beta = given["input"], given.get("weight"), given.get("bias")
    check(x, node, *(p for p in (gamma, beta) if p is not None))
    if value(x).dim() != 4:
        raise Unfit(f"its tensor has {value(x).dim()} axes")
    last = _has_channels_last(x, node)
    after = only_user(node)
    for activation in (activation_of(after), None):
        nodes = (node, after) if activation else (node,)
        inputs = (x, given["num_groups"], gamma, beta, given.get("eps", 1e-5), activation, last)
        what = f"group_norm+{activation}" if activation else "group_norm"
        yield Match(what, nodes, inputs, _group_norm, _torch_group_norm, any_layout=True)
        if not activation:
            return
