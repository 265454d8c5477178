"""Patterns of attention: scaled_dot_product_attention, and what models spell out in its place."""

import functools

import torch
import torch.nn.functional as F

from ridge.torch.fx import graph
from ridge.torch.fx.graph import arguments, name, only_user, others, value
from ridge.torch.fx.match import Match, Unfit, check

_WIDEST = 256  # Ridge's heads


def _attention(q, k, v, mask, causal, left, scale, tokens_first, training, softcap=None):
    """left: how many keys before its own a causal query sees; None: all."""
    if tokens_first:
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    if mask is not None:
        mask = mask[(None,) * (4 - mask.dim())]
    o, *_ = torch.ops.ridge.attention(
        q,
        k,
        v,
        mask,
        causal="upper_left" if causal else None,
        window=f"{left},0" if left is not None else None,
        scale=scale,
        softcap=softcap,
        layout="bshd" if tokens_first else None,
        lse=True if training else None,  # for the backward, which would compute it again
    )
    return o.transpose(1, 2) if tokens_first else o


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


def _seen(mask, queries, keys):
    """(mask, causal, left) that mean the same as a mask. One that a model computes of sizes alone is taken apart: it may
    hide nothing, or be causal, with a window or without."""
    if mask is None:
        return None, False, None
    known = mask.meta.setdefault("ridge_seen", {})
    if (queries, keys) not in known:
        try:
            with graph.real_tensors():
                known[queries, keys] = _taken_apart(graph.constant(mask), queries, keys)
        except Exception:  # what cannot be evaluated here is a mask like any other
            known[queries, keys] = None
    return known[queries, keys] or (mask, False, None)


def _taken_apart(found, queries, keys):
    """(None, causal, left), or None where the mask is another one, or none that is known."""
    if found is None or found.dim() < 2 or not all(isinstance(size, int) for size in (queries, keys)):
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
    check(q, k, v, node)
    if given.get("dropout_p", 0.0):
        raise Unfit("it has dropout")
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


def _written(q, k, v, mask, causal, left, scale, softcap, tokens_first, training):
    """As [batch, tokens, heads, d], contiguous, where the model has made it so; else as [batch, heads, tokens, d]."""
    o = _attention(q, k, v, mask, causal, left, scale, tokens_first, training, softcap)
    return o.transpose(1, 2) if tokens_first else o


def _torch_written(q, k, v, mask, causal, left, scale, softcap, tokens_first, training):
    """Two products, and one pass over the scores at best."""
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) if x.shape[1] != q.shape[1] else x for x in (k, v))
    return torch.softmax(q @ k.transpose(2, 3), -1) @ v


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
    """(q, k, scale, softcap) of softcap tanh(scale q k^T / softcap), or None."""
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
    if name(product) != "matmul":
        return None
    q, turned = arguments(product)["input"], arguments(product)["other"]
    if name(turned) != "transpose" or value(turned) is None or value(turned).dim() != 4:
        return None
    if graph.axes_of(turned) != {2, 3}:
        return None
    return q, arguments(turned)["input"], scale, softcap


def _leading_to(last, first):
    """The nodes of tensors that lead from some to the last one, without the former."""
    found, left = [], [last]
    while left:
        node = left.pop()
        # Not the sizes of a dynamic graph, which are its inputs.
        if node not in found and node not in first and node.op != "placeholder" and value(node) is not None:
            found.append(node)
            left += node.all_input_nodes
    return graph.in_order(found)


def written_attention(node, training):
    """softmax(scores + mask) v, spelled out."""
    if name(node) != "matmul" or value(node) is None or value(node).dim() != 4:
        return
    weights, v = arguments(node)["input"], arguments(node)["other"]
    if name(weights) == "to":
        weights = arguments(weights)["input"]
    if name(weights) != "softmax":
        return
    axis, scores, mask = arguments(weights).get("dim"), arguments(weights)["input"], None
    if axis not in (-1, 3):
        return
    found = _scores(scores)
    if not found and name(scores) == "add" and arguments(scores).get("alpha", 1) == 1:
        pair = arguments(scores)["input"], arguments(scores)["other"]
        for mask in pair:
            found = _scores(others(scores, mask)) if value(mask) is not None else None
            if found:
                break
    if not found:
        return
    q, k, scale, softcap = found
    check(q, k, v, node)
    if mask is not None:
        _check_mask(mask, value(q).dtype)
        if value(mask).dim() > 4:
            return
    _check_width(q, v)
    last, tokens_first = node, False
    turned = only_user(node)
    if turned is not None and name(turned) == "transpose" and graph.axes_of(turned) == {1, 2}:
        if only_user(turned) is not None and name(only_user(turned)) == "contiguous" and not only_user(turned).args[1:]:
            last, tokens_first = only_user(turned), True
    seen = _seen(mask, value(q).shape[2], value(k).shape[2])
    k, v, _ = _unrepeated_both(k, v)
    inputs = (q, k, v, *seen, scale, softcap, tokens_first, training)
    nodes = _leading_to(last, (q, k, v, mask))
    if any(user not in nodes for inner in nodes[:-1] for user in inner.users):
        raise Unfit("its scores or weights are asked for")
    yield Match(_what(*seen, softcap), nodes, inputs, _written, _torch_written, any_layout=True)
