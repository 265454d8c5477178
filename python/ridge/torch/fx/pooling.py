"""Patterns of pooling: the largest and the mean of windows of images, and resizing."""

import torch
import torch.nn.functional as F

from ridge.torch.fx.graph import arguments, name, value
from ridge.torch.fx.images import has_channels_last, to_last
from ridge.torch.fx.match import Match, Unfit, check


def _pair(given, otherwise=None):
    """(rows, columns) of one number or two."""
    given = otherwise if given is None or given == [] or given == () else given
    pair = tuple(given) if isinstance(given, (tuple, list)) else (given,) * 2
    pair = pair * 2 if len(pair) == 1 else pair
    if len(pair) != 2 or not all(isinstance(n, int) for n in pair):
        raise Unfit("its sizes are no numbers")
    return pair


def _text(pair):
    return ",".join(map(str, pair))


def _pool(op, x, window, stride, pad, dilation, ceil_mode, counts_pad, last):
    options = {"r": window[0], "s": window[1], "stride": _text(stride), "pad": _text(pad), "ceil_mode": ceil_mode}
    options |= {"dilation": _text(dilation)} if op == "max_pool2d" else {"count_include_pad": counts_pad}
    y = getattr(torch.ops.ridge, op)(to_last(x, last), layout="nhwc" if last else "nchw", **options)
    return y.movedim(-1, 1) if last else y


def _torch_pool(op, x, window, stride, pad, dilation, ceil_mode, counts_pad, last):
    if op == "max_pool2d":
        return F.max_pool2d(x, window, stride, pad, dilation, ceil_mode)
    return F.avg_pool2d(x, window, stride, pad, ceil_mode, counts_pad)


def _adaptive(x, size, last):
    y = torch.ops.ridge.adaptive_avg_pool2d(to_last(x, last), size=_text(size), layout="nhwc" if last else "nchw")
    return y.movedim(-1, 1) if last else y


def _torch_adaptive(x, size, last):
    return F.adaptive_avg_pool2d(x, size)


def pooling(node, training):
    """max_pool2d, avg_pool2d and adaptive_avg_pool2d of images."""
    op = name(node)
    if op not in ("max_pool2d", "avg_pool2d", "adaptive_avg_pool2d") or value(node) is None:
        return
    given = arguments(node)
    x = given["input"]
    check(x, node)
    if value(x).dim() != 4:
        raise Unfit("its image has no batch")
    if given.get("return_indices", False) or given.get("divisor_override") is not None:
        raise Unfit("its indices are asked for, or a divisor is given")
    last = has_channels_last(x, node)
    if op == "adaptive_avg_pool2d":
        yield Match(op, (node,), (x, _pair(given["output_size"]), last), _adaptive, _torch_adaptive, any_layout=True)
        return
    window = _pair(given["kernel_size"])
    geometry = (
        window,
        _pair(given.get("stride"), window),
        _pair(given.get("padding"), 0),
        _pair(given.get("dilation"), 1),
    )
    more = bool(given.get("ceil_mode", False)), bool(given.get("count_include_pad", True))
    yield Match(op, (node,), (op, x, *geometry, *more, last), _pool, _torch_pool, any_layout=True)
