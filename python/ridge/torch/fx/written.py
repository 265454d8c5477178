"""The pattern of attention that a model spells out: products, scale, cap, masks, softmax, sinks."""

import operator
from typing import NamedTuple

import torch

from ridge.torch.fx import attention, graph
from ridge.torch.fx.graph import arguments, name, only_user, others, value
from ridge.torch.fx.match import Match, Unfit, check_product


class _How(NamedTuple):
    """Attention that is spelled out, but for its tensors."""

    hides: bool | None  # what `hidden` says: True where a key is hidden, or False where it is; None: there is none
    finite: bool  # hidden scores are the lowest number and not -inf: a query that sees no key gets the mean of values
    causal: bool
    left: int | None
    scale: float
    softcap: float | None
    turned: bool  # keys are [.., d, keys]
    tokens_first: bool
    training: bool


def _four_axes(x):
    """[batch, heads, rows, d] of more axes in front, or of [batch, rows, d]."""
    if x is None or x.dim() == 4:
        return x
    return x.unsqueeze(1) if x.dim() == 3 else x.flatten(0, -4)


def _mask_of_four(mask, axes):
    """A mask of scores of so many axes as one of those with four: of three, the first is the batch's; of more, those in
    front of the heads are 1."""
    if mask is None or axes == 4 or mask.dim() < 3:
        return mask
    return mask.unsqueeze(1) if axes == 3 else mask.reshape(mask.shape[-3:])


def _all_hidden(mask, hidden, how):
    """One mask of both."""
    if hidden is None:
        return mask
    if mask is None and not how.finite:
        return ~hidden if how.hides else hidden
    lowest = torch.finfo(torch.float32).min if how.finite else float("-inf")
    hidden = hidden if how.hides else ~hidden
    if mask is not None:
        return mask.float().masked_fill(hidden, lowest)
    return torch.zeros_like(hidden, dtype=torch.float32).masked_fill(hidden, lowest)


def _written(q, k, v, mask, more, hidden, sinks, how):
    """As [batch, tokens, heads, d], contiguous, where the model has made it so; else as [batch, heads, tokens, d]."""
    how = _How(*how)
    axes, batch = q.dim(), q.shape[:-3]
    k = k.transpose(-2, -1) if how.turned else k
    mask = mask if more is None else mask + more
    mask = _mask_of_four(_all_hidden(mask, hidden, how), axes)
    q, k, v, sinks = (_four_axes(x) for x in (q, k, v, sinks))
    rest = how.causal, how.left, how.scale, how.tokens_first, how.training, how.softcap, sinks
    o = attention.ridge_attention(q, k, v, mask, *rest)
    if axes != 4:
        o = o.squeeze(1) if axes == 3 else o.unflatten(0, batch)
    return o.transpose(1, 2) if how.tokens_first else o


def _torch_written(q, k, v, mask, more, hidden, sinks, how):
    """Two products, and one pass over the scores at best."""
    how = _How(*how)
    k = k if how.turned else k.transpose(-2, -1)
    if k.shape[-3] != q.shape[-3]:
        k, v = (x.repeat_interleave(q.shape[-3] // x.shape[-3], -3) for x in (k, v))
    return torch.softmax(q @ k, -1) @ v


def _number(node, operation):
    """(what a node multiplies or divides by, its other argument), or (None, node) where it is no such node."""
    if name(node) != operation or node.kwargs.get("rounding_mode") is not None:
        return None, node
    given = arguments(node)
    factor, rest = given.get("other"), given["input"]
    if operation == "mul" and isinstance(rest, (int, float)):
        factor, rest = rest, factor
    return (factor, rest) if isinstance(factor, (int, float)) else (None, node)


def _scores(node):
    """(q, k, scale, softcap, whether k is turned) of softcap tanh(scale q k^T / softcap), or None."""
    softcap, rest = _number(node, "mul")
    if name(rest) == "tanh":
        divided, rest = _number(arguments(rest)["input"], "div")
        if softcap is None or divided != softcap:
            return None
    elif name(node) == "tanh":
        return None
    else:
        softcap, rest = None, node
    scale, product = _number(rest, "mul")
    if scale is None:
        scale, product = _number(rest, "div")
        scale = 1 / scale if scale else 1.0
    if name(product) != "matmul" or value(product) is None:
        return None
    q, turned = arguments(product)["input"], arguments(product)["other"]
    axes = value(product).dim()
    if axes < 3 or any(value(x) is None or value(x).dim() != axes for x in (q, turned)):
        return None
    if name(turned) == "transpose" and graph.axes_of(turned) == {axes - 2, axes - 1}:
        return q, arguments(turned)["input"], scale, softcap, False
    return q, turned, scale, softcap, True


def _masked_scores(node):
    """(scores, a mask, another one or None) of scores to which one or two masks are added; (None, None, None)."""
    if name(node) == "add" and arguments(node).get("alpha", 1) == 1:
        for mask in (arguments(node)["input"], arguments(node)["other"]):
            rest = others(node, mask) if value(mask) is not None else None
            if found := _scores(rest):
                return found, mask, None
            found, inner, further = _masked_scores(rest) if name(rest) == "add" else (None, None, None)
            if found and further is None:
                return found, inner, mask
    return None, None, None


def _constant_of(fill):
    """A number that hidden scores are set to, or None."""
    if isinstance(fill, torch.fx.Node) and value(fill) is not None and value(fill).numel() == 1:
        try:
            with graph.real_tensors():
                found = graph.constant(fill)
                return None if found is None else found.item()
        except Exception:  # what cannot be evaluated here
            return None
    return float(fill) if isinstance(fill, (int, float)) else None


_HIDDEN = -1e9  # and below: what is added to such a score is lost


def _hidden(node):
    """(scores, mask, whether it is True for what is hidden, whether hidden scores are finite) of masked_fill and where."""
    given = arguments(node) if name(node) in ("masked_fill", "where") else {}
    if name(node) == "masked_fill":
        scores, mask, fill, hides = given["input"], given.get("mask"), _constant_of(given.get("value")), True
    elif name(node) == "where" and "other" in given:
        scores, mask, fill, hides = given["input"], given["condition"], _constant_of(given["other"]), False
        if fill is None:
            scores, fill, hides = given["other"], _constant_of(given["input"]), True
    else:
        return None
    lowest = value(node) is not None and torch.finfo(value(node).dtype).min
    if fill is None or value(mask) is None or value(mask).dtype != torch.bool or not fill <= max(_HIDDEN, lowest):
        return None
    return scores, mask, hides, fill > float("-inf")


def _sinks(node):
    """(scores, sinks) of cat((scores, sinks), -1), from which its largest may have been taken; or None."""
    if name(node) == "sub" and name(arguments(node)["input"]) == "cat":
        node = arguments(node)["input"]
    if name(node) != "cat" or value(node) is None:
        return None
    given = arguments(node)
    if given.get("dim", 0) not in (-1, value(node).dim() - 1) or len(given["tensors"]) != 2:
        return None
    scores, sinks = given["tensors"]
    return (scores, sinks) if value(sinks) is not None and value(sinks).shape[-1] == 1 else None


def _is_largest(node, of):
    """Whether a node is the largest of a tensor's rows, by any name."""
    while isinstance(node, torch.fx.Node) and node is not of:
        if node.target not in ("max", "amax", "detach", torch.max, torch.amax, getattr, operator.getitem):
            return False
        node = node.args[0] if node.args else None
    return node is of


def _without_last(node):
    """What a node is all of but the last column of, or None."""
    at = arguments(node)["at"] if name(node) == "index" else None
    return arguments(node)["input"] if at == (Ellipsis, slice(None, -1)) else None


def _fits_four_axes(mask, axes):
    """Whether a mask is one of each head, or of all, where the axes in front of the heads become one."""
    found = value(mask)
    if axes == 4 or found.dim() <= 2:
        return found.dim() <= 4
    if axes == 3:
        return True
    return all(str(size) == "1" for size in found.shape[: max(found.dim() - 3, 0)])


def _check_batches(node, q, k, v):
    """Of q, k and v the same batches, those of the result, and its heads, but that keys and values may have one. In the
    call that was captured: sizes of 1 are no symbols, and other ones do not broadcast."""
    whole = [graph.hint(size) for size in value(node).shape[:-2]]
    given = [[graph.hint(size) for size in value(x).shape[:-2]] for x in (q, k, v)]
    if any(sizes[:-1] != whole[:-1] for sizes in given) or given[0] != whole:
        raise Unfit("its batches or heads are broadcast")
    if {sizes[-1] for sizes in given[1:]} not in ({whole[-1]}, {1}):
        raise Unfit("its batches or heads are broadcast")


def written_attention(node, training):
    """softmax(scores + mask) v, spelled out, with or without sinks. Where there are not four axes, those in front of the
    last three are a batch."""
    if name(node) != "matmul" or value(node) is None or value(node).dim() < 3:
        return
    axes = value(node).dim()
    weights, v = arguments(node)["input"], arguments(node)["other"]
    if name(weights) == "to":
        weights = arguments(weights)["input"]
    whole, sinks = _without_last(weights), None
    weights = weights if whole is None else whole
    if name(weights) != "softmax" or value(v) is None or value(v).dim() != axes:
        return
    if arguments(weights).get("dim") not in (-1, axes - 1):
        return
    scores, mask, hidden, hides, finite = arguments(weights)["input"], None, None, None, False
    scores = arguments(scores)["input"] if name(scores) == "to" else scores
    if whole is not None:
        apart = _sinks(scores)
        if apart is None or (
            name(scores) == "sub" and not _is_largest(arguments(scores)["other"], arguments(scores)["input"])
        ):
            return
        scores, sinks = apart
    if masked := _hidden(scores):
        scores, hidden, hides, finite = masked
    found = _scores(scores)
    more = None
    if not found:
        found, mask, more = _masked_scores(scores)
    if not found:
        return
    q, k, scale, softcap, turned = found
    check_product(node, q, k, v)
    masks = [m for m in (mask, more, hidden) if m is not None]
    for added in (mask, more):
        if added is not None:
            attention.check_mask(added, value(q).dtype)
    if not all(_fits_four_axes(m, axes) for m in masks):
        return
    _check_batches(node, q, k, v)
    attention.check_width(q, v)
    last, tokens_first = node, False
    after = only_user(node)
    if axes == 4 and after is not None and name(after) == "transpose" and graph.axes_of(after) == {1, 2}:
        if only_user(after) is not None and name(only_user(after)) == "contiguous" and not only_user(after).args[1:]:
            last, tokens_first = only_user(after), True
    seen = None, False, None
    rows, keys = value(q).shape[-2], value(v).shape[-2]
    if len(masks) == 1:
        seen = attention.seen_by(masks[0], rows, keys, bool(hides))
        if seen[0] is None:
            mask = hidden = hides = None
    kind = graph.autocast_type(value(node).device.type)
    if kind and any(m is not None for m in (mask, more, hidden)):
        # The model adds masks to scores in the masks' own type, where attention would be given them in the lower one.
        if finite or any(m is not None and value(m).dtype != kind for m in (mask, more)):
            raise Unfit(f"torch.autocast would round its mask to {kind}")
    if axes == 4 and not turned:
        k, v, _ = attention.unrepeated(k, v)
    how = _How(hides, finite, *seen[1:], scale, softcap, turned, tokens_first, training)
    nodes = graph.leading_to(last, (q, k, v, sinks, *masks))
    if any(user not in nodes for inner in nodes[:-1] for user in inner.users):
        raise Unfit("its scores or weights are asked for")
    what = attention.text_of(mask if mask is not None else hidden, *seen[1:], softcap) + (
        "+sinks" if sinks is not None else ""
    )
    inputs = (q, k, v, mask, more, hidden, sinks, tuple(how))
    hidden = (hidden,) if hides else ()
    yield Match(what, nodes, inputs, _written, _torch_written, hides=hidden, any_layout=True)
