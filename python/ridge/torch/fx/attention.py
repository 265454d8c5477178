"""Patterns of attention: scaled_dot_product_attention, and what models spell out in its place."""

import functools
import operator
from typing import NamedTuple

import torch
import torch.nn.functional as F

from ridge.torch.fx import graph
from ridge.torch.fx.graph import arguments, name, only_user, others, value
from ridge.torch.fx.match import Match, Unfit, check_number, check_product

_WIDEST = 512  # Ridge's heads


def _attention(q, k, v, mask, causal, left, scale, tokens_first, training, softcap=None, sinks=None):
    """left: how many keys before its own a causal query sees; None: all. sinks [batch, heads, queries, 1]: a score more in
    each sum of weights."""
    if tokens_first:
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    if mask is not None:
        mask = mask[(None,) * (4 - mask.dim())]
    o, *lse = torch.ops.ridge.attention(
        q,
        k,
        v,
        mask,
        causal="upper_left" if causal else None,
        window=f"{left},0" if left is not None else None,
        scale=scale,
        softcap=softcap,
        layout="bshd" if tokens_first else None,
        lse=True if training or sinks is not None else None,  # for the backward, which would compute it again
    )
    o = o.transpose(1, 2) if tokens_first else o
    if sinks is not None:  # exp(lse) is the sum without them
        o = (o * torch.sigmoid(lse[0].unsqueeze(-1) - sinks.float())).to(o.dtype)
    return o


@functools.lru_cache(maxsize=4)
def _visible(queries, keys, left, device):
    """[queries, keys]: which key a causal query sees."""
    apart = torch.arange(queries, device=device)[:, None] - torch.arange(keys, device=device)
    return (apart >= 0) & (apart <= (queries if left is None else left))


@functools.lru_cache(maxsize=4)
def _all(queries, keys, device):
    return torch.ones(queries, keys, dtype=torch.bool, device=device)


def _torch_attention(q, k, v, mask, causal, left, scale, tokens_first, training):
    grouped = q.shape[1] != k.shape[1]
    if left is not None:
        mask, causal = _visible(q.shape[2], k.shape[2], left, q.device), False
    return F.scaled_dot_product_attention(q, k, v, mask, is_causal=causal, scale=scale, enable_gqa=grouped)


def _torch_unmasked(q, k, v, mask, causal, left, scale, tokens_first, training):
    """PyTorch's own, where the model gives it a mask that it does not need; the result lies as it did."""
    o = _torch_attention(q, k, v, mask, causal, left, scale, tokens_first, training)
    return o.transpose(1, 2).contiguous().transpose(1, 2) if tokens_first else o.contiguous()


def _torch_masked(q, k, v, mask, causal, left, scale, tokens_first, training):
    seen = _visible(q.shape[2], k.shape[2], None, q.device) if causal else _all(q.shape[2], k.shape[2], q.device)
    grouped = q.shape[1] != k.shape[1]
    return F.scaled_dot_product_attention(q, k, v, seen[None, None], scale=scale, enable_gqa=grouped)


def _seen(mask, queries, keys, hides=False):
    """(mask, causal, left) that mean the same as a mask. One that a model computes of sizes alone is taken apart: it may
    hide nothing, or be causal, with a window or without. hides: the mask is True for the keys that are not seen."""
    if mask is None:
        return None, False, None
    known = mask.meta.setdefault("ridge_seen", {})
    key = str(queries), str(keys), hides
    if key not in known:
        try:
            apart = []
            for numbers in graph.rounds(mask.graph):
                with graph.real_tensors():
                    found = graph.constant(mask, numbers)
                    found = ~found if hides and found is not None else found
                    apart.append(_taken_apart(found, *(graph.number(size, numbers) for size in (queries, keys))))
            known[key] = apart[0] if apart[0] == apart[-1] else None
        except Exception:  # what cannot be evaluated here is a mask like any other
            known[key] = None
    return known[key] or (mask, False, None)


def _taken_apart(found, queries, keys):
    """(None, causal, left), or None where the mask is another one, or none that is known."""
    if found is None or found.dim() < 2:
        return None
    if found.dtype != torch.bool:
        hidden = found <= torch.finfo(found.dtype).min
        if not torch.all(hidden | (found == 0)):
            return None
        found = ~hidden
    found = found.expand(*found.shape[:-2], queries, keys).reshape(-1, queries, keys)
    visible = found[0]
    if len(found) == 0 or keys == 0 or not torch.equal(found, visible.expand_as(found)):
        return None
    if visible.all():
        return None, False, None
    first = visible[-1].nonzero()[0] if visible[-1].any() else None
    if first is None:
        return None
    left = queries - 1 - int(first)
    for width in (None, left):
        if torch.equal(visible, _visible(queries, keys, width, visible.device)):
            return None, True, width
    return None


_NEW_AXIS = (slice(None), slice(None), None, slice(None), slice(None))


def _unrepeated(node):
    """(heads of keys or values before a model repeated them for each group of queries, as enable_gqa does; the nodes
    that do it)."""
    expand = arguments(node)["input"] if name(node) == "reshape" else None
    axis = arguments(expand)["input"] if name(expand) == "expand" else None
    if name(axis) == "index":
        there = arguments(axis)["at"] in (_NEW_AXIS, _NEW_AXIS[:3])
    else:
        there = name(axis) == "unsqueeze" and arguments(axis)["dim"] in (2, -3)
    heads = arguments(axis)["input"] if there else None
    if any(value(n) is None for n in (node, expand, axis, heads)) or value(heads).dim() != 4:
        return node, ()
    batch, count, tokens, d = graph.sizes(heads)
    times = graph.sizes(expand)[2:3]
    views = [batch, count, "1", tokens, d], [batch, count, *times, tokens, d]
    is_repeat = (graph.sizes(axis), graph.sizes(expand)) == views and value(node).dim() == 4
    same = is_repeat and [batch, tokens, d] == [graph.sizes(node)[i] for i in (0, 2, 3)]
    return (heads, (axis, expand, node)) if same else (node, ())


def _unrepeated_both(k, v):
    """Of keys and values, or of neither: they have as many heads."""
    (a, nodes_a), (b, nodes_b) = _unrepeated(k), _unrepeated(v)
    if not nodes_a or not nodes_b or graph.sizes(a)[1] != graph.sizes(b)[1]:
        return k, v, ()
    return a, b, (*nodes_a, *nodes_b)


def _check_mask(mask, *dtypes):
    found = value(mask)
    if found.requires_grad:
        raise Unfit("its mask has a gradient")
    if found.dtype not in (torch.float32, *dtypes):
        raise Unfit(f"its mask is {found.dtype}")


def _check_width(q, v):
    width = max(graph.hint(value(x).shape[-1]) for x in (q, v))
    if width > _WIDEST:
        raise Unfit(f"its heads are {width} wide")


def attention(node, training):
    """scaled_dot_product_attention."""
    if name(node) != "attention":
        return
    given = arguments(node)
    q, k, v, mask = given["query"], given["key"], given["value"], given.get("attn_mask")
    check_product(node, q, k, v)
    if given.get("dropout_p", 0.0):
        raise Unfit("it has dropout")
    check_number(given.get("scale"), "scale")
    if value(q).dim() != 4:
        raise Unfit(f"q has {value(q).dim()} axes")
    if mask is not None:
        _check_mask(mask, value(q).dtype, torch.bool)
    _check_width(q, v)
    k, v, repeats = _unrepeated_both(k, v)
    nodes = graph.in_order((node, *repeats))
    if given.get("is_causal", False):
        seen = None, True, None
    else:
        seen = _seen(mask, value(q).shape[2], value(k).shape[2])
    # Models hold [batch, tokens, heads, d] and show it with the heads first. The result lies as PyTorch's would, so that
    # whatever view the model takes of it is one.
    heads_stride, tokens_stride = (graph.hint(value(node).stride(axis)) for axis in (1, 2))
    inputs = (q, k, v, *seen, given.get("scale"), heads_stride < tokens_stride, training)
    yield Match(_what(*seen), nodes, inputs, _attention, _torch_attention, any_layout=True)
    if mask is not None and seen[0] is None and seen[2] is None:
        what = f"{_what(*seen)}, without its mask"
        yield Match(what, nodes, inputs, _torch_unmasked, _torch_masked, ours=False, any_layout=True)


def _what(mask, causal, left, softcap=None):
    parts = [(mask is not None, "mask"), (causal, "causal"), (left is not None, "window"), (softcap, "softcap")]
    return "+".join(["attention", *(part for there, part in parts if there)])


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


def _written(q, k, v, mask, hidden, sinks, how):
    """As [batch, tokens, heads, d], contiguous, where the model has made it so; else as [batch, heads, tokens, d]."""
    how = _How(*how)
    axes, batch = q.dim(), q.shape[:-3]
    k = k.transpose(-2, -1) if how.turned else k
    mask = _mask_of_four(_all_hidden(mask, hidden, how), axes)
    q, k, v, sinks = (_four_axes(x) for x in (q, k, v, sinks))
    rest = how.causal, how.left, how.scale, how.tokens_first, how.training, how.softcap, sinks
    o = _attention(q, k, v, mask, *rest)
    if axes != 4:
        o = o.squeeze(1) if axes == 3 else o.unflatten(0, batch)
    return o.transpose(1, 2) if how.tokens_first else o


def _torch_written(q, k, v, mask, hidden, sinks, how):
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
    if not found and name(scores) == "add" and arguments(scores).get("alpha", 1) == 1:
        pair = arguments(scores)["input"], arguments(scores)["other"]
        for mask in pair:
            found = _scores(others(scores, mask)) if value(mask) is not None else None
            if found:
                break
    if not found:
        return
    q, k, scale, softcap, turned = found
    check_product(node, q, k, v)
    masks = [m for m in (mask, hidden) if m is not None]
    if mask is not None:
        _check_mask(mask, value(q).dtype)
    if not all(_fits_four_axes(m, axes) for m in masks):
        return
    _check_width(q, v)
    last, tokens_first = node, False
    after = only_user(node)
    if axes == 4 and after is not None and name(after) == "transpose" and graph.axes_of(after) == {1, 2}:
        if only_user(after) is not None and name(only_user(after)) == "contiguous" and not only_user(after).args[1:]:
            last, tokens_first = only_user(after), True
    seen = None, False, None
    rows, keys = value(q).shape[-2], value(v).shape[-2]
    if len(masks) == 1:
        seen = _seen(masks[0], rows, keys, bool(hides))
        if seen[0] is None:
            mask = hidden = hides = None
    if axes == 4 and not turned:
        k, v, _ = _unrepeated_both(k, v)
    how = _How(hides, finite, *seen[1:], scale, softcap, turned, tokens_first, training)
    nodes = graph.leading_to(last, (q, k, v, sinks, *masks))
    if any(user not in nodes for inner in nodes[:-1] for user in inner.users):
        raise Unfit("its scores or weights are asked for")
    what = _what(mask if mask is not None else hidden, *seen[1:], softcap) + ("+sinks" if sinks is not None else "")
    yield Match(what, nodes, (q, k, v, mask, hidden, sinks, tuple(how)), _written, _torch_written, any_layout=True)


def _mask_of_layer(mask, padding, batch):
    """One mask of [.., queries, keys] or [batch * heads, queries, keys], and of [batch, keys]; boolean ones are True for
    what is hidden, others are added to the scores."""
    mask, padding = (~x if x is not None and x.dtype == torch.bool else x for x in (mask, padding))
    if mask is not None:
        mask = mask.unflatten(0, (batch, -1)) if mask.dim() == 3 else mask
    if padding is not None:
        padding = padding[:, None, None]
        mask = padding if mask is None else mask & padding if mask.dtype == torch.bool else mask + padding
    return mask


def _layer(x, heads, in_w, in_b, out_w, out_b, mask, padding, batch_first, causal, training):
    batch = x.shape[0 if batch_first else 1]
    q, k, v = torch.ops.ridge.linear(x, in_w, in_b).unflatten(-1, (3, heads, -1)).unbind(2)
    if not batch_first:
        q, k, v = (t.transpose(0, 1) for t in (q, k, v))
    q, k, v = (t.transpose(1, 2) for t in (q, k, v))
    mask = _mask_of_layer(mask, padding, batch)
    o = _attention(q, k, v, mask, causal, None, None, True, training).transpose(1, 2)
    o = (o if batch_first else o.transpose(0, 1)).flatten(2)
    return torch.ops.ridge.linear(o, out_w, out_b)


def _torch_layer(x, heads, in_w, in_b, out_w, out_b, mask, padding, batch_first, causal, training):
    q, k, v = (
        F.linear(x, in_w, in_b)
        .unflatten(-1, (3, heads, -1))
        .permute(2, *((0, 3, 1, 4) if batch_first else (1, 3, 0, 4)))
    )
    o = F.scaled_dot_product_attention(q, k, v, _mask_of_layer(mask, padding, q.shape[0]), is_causal=causal)
    return F.linear(o.permute(*((0, 2, 1, 3) if batch_first else (2, 0, 1, 3))).flatten(2), out_w, out_b)


_PARAMETERS = ("in_proj_weight", "in_proj_bias", "out_proj_weight", "out_proj_bias")


def attention_layer(node, training):
    """torch.nn.MultiheadAttention of one sequence with itself: both projections and the attention between them."""
    if name(node) != "attention_layer":
        return
    given = arguments(node)
    x, heads = given["query"], given["num_heads"]
    if given["key"] is not x or given["value"] is not x:
        raise Unfit("it attends to another sequence")
    off = ("bias_k", "bias_v", "static_k", "static_v", "add_zero_attn", "use_separate_proj_weight")
    if any(given.get(option) is not None and given[option] is not False for option in off):
        raise Unfit("it has keys and values of its own, or weights apart")
    if given.get("need_weights", True):
        raise Unfit("its weights are asked for")
    if given.get("dropout_p") and given.get("training", True):
        raise Unfit("it has dropout")
    if value(x) is None or value(x).dim() != 3:
        raise Unfit("its sequence has no batch")
    in_w, in_b, out_w, out_b = (given.get(key) for key in _PARAMETERS)
    last = only_user(node)
    if name(last) != "index" or arguments(last)["at"] != 0 or value(last) is None:
        return
    check_product(last, x, *(p for p in (in_w, in_b, out_w, out_b) if p is not None))
    mask, padding = given.get("attn_mask"), given.get("key_padding_mask")
    causal = bool(given.get("is_causal", False)) and padding is None
    if causal:
        mask = None
    for one in (mask, padding):
        if one is not None:
            _check_mask(one, value(x).dtype, torch.bool)
    if None not in (mask, padding) and value(mask).dtype != value(padding).dtype:
        raise Unfit("its padding and its mask are of two types")
    if graph.hint(value(x).shape[-1]) // heads > _WIDEST:
        raise Unfit(f"its heads are {graph.hint(value(x).shape[-1]) // heads} wide")
    # Modules whose batch comes first turn what they are given, and their result back.
    nodes, turned = (node, last), only_user(last)
    first = name(x) == "transpose" and graph.axes_of(x) == {0, 1} and name(turned) == "transpose"
    if batch_first := first and graph.axes_of(turned) == {0, 1}:
        nodes, x = (*nodes, turned), arguments(x)["input"]
    inputs = (x, heads, in_w, in_b, out_w, out_b, mask, padding, batch_first, causal, training)
    what = (
        _what(mask if mask is not None else padding, causal, None).replace("attention", "linear+attention", 1)
        + "+linear"
    )
    yield Match(what, nodes, inputs, _layer, _torch_layer, any_layout=True)


def _encoder_layer(x, heads, gelu, norm_first, eps, *parameters):
    in_w, in_b, out_w, out_b, gamma1, beta1, gamma2, beta2, up_w, up_b, down_w, down_b = parameters
    attend = lambda h: _layer(h, heads, in_w, in_b, out_w, out_b, None, None, True, False, False)  # noqa: E731
    rise = lambda h: torch.ops.ridge.linear(h, up_w, up_b, activation="gelu" if gelu else "relu")  # noqa: E731
    norm, add_norm, linear = torch.ops.ridge.layer_norm, torch.ops.ridge.add_layer_norm, torch.ops.ridge.linear
    if norm_first:
        h, x = add_norm(attend(norm(x, gamma1, beta1, eps=eps)), x, gamma2, beta2, eps=eps)
        return linear(rise(h), down_w, down_b, x)
    x, _ = add_norm(attend(x), x, gamma1, beta1, eps=eps)
    return norm(linear(rise(x), down_w, down_b, x), gamma2, beta2, eps=eps)


def _torch_encoder_layer(x, heads, gelu, norm_first, eps, *parameters):
    before, after = parameters[:4], parameters[4:]
    return torch._transformer_encoder_layer_fwd(x, x.shape[-1], heads, *before, gelu, norm_first, eps, *after)


def encoder_layer(node, training):
    """torch.nn.TransformerEncoderLayer, which PyTorch has as one operator without gradients: each of Ridge's in its place."""
    if name(node) != "encoder_layer" or training:
        return
    given = list(node.args)
    if node.kwargs or len(given) < 18 or any(mask is not None for mask in given[18:]):
        raise Unfit("it has a mask")
    x, heads, gelu, norm_first, eps = given[0], given[2], *given[7:10]
    parameters = (*given[3:7], *given[10:18])
    if None in parameters:
        raise Unfit("it has no biases")
    check_product(node, x, *parameters)
    if value(x).dim() != 3:
        raise Unfit("its sequence has no batch")
    if graph.hint(value(x).shape[-1]) // heads > _WIDEST:
        raise Unfit(f"its heads are {graph.hint(value(x).shape[-1]) // heads} wide")
    inputs = (x, heads, gelu, norm_first, eps, *parameters)
    yield Match("encoder layer", (node,), inputs, _encoder_layer, _torch_encoder_layer)
