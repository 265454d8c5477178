"""The pattern of scaled_dot_product_attention, and what those of attention that is spelled out (written.py) and of layers
(layers.py) share: which keys a mask hides, the heads that a model repeats, Ridge's call."""

import functools

import torch
import torch.nn.functional as F

from ridge.torch.fx import graph
from ridge.torch.fx.graph import arguments, name, value
from ridge.torch.fx.match import Match, Unfit, check_number, check_product

WIDEST = 512  # Ridge's heads


def ridge_attention(q, k, v, mask, causal, left, scale, tokens_first, training, softcap=None, sinks=None):
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


def seen_by(mask, queries, keys, hides=False):
    """(mask, causal, left) that mean the same as a mask. One that a model computes of sizes alone is taken apart: it may
    hide nothing, or be causal, with a window or without. hides: the mask is True for the keys that are not seen."""
    if mask is None:
        return None, False, None
    known = mask.meta.setdefault("ridge_seen", {})
    key = str(queries), str(keys), hides
    if key not in known:
        try:
            apart = []
            for numbers in graph.rounds(mask, queries, keys):
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


def unrepeated(k, v):
    """Of keys and values, or of neither: they have as many heads."""
    (a, nodes_a), (b, nodes_b) = _unrepeated(k), _unrepeated(v)
    if not nodes_a or not nodes_b or graph.sizes(a)[1] != graph.sizes(b)[1]:
        return k, v, ()
    return a, b, (*nodes_a, *nodes_b)


def check_mask(mask, *dtypes):
    found = value(mask)
    if found.requires_grad:
        raise Unfit("its mask has a gradient")
    if found.dtype not in (torch.float32, *dtypes):
        raise Unfit(f"its mask is {found.dtype}")


def check_width(q, v):
    width = max(graph.hint(value(x).shape[-1]) for x in (q, v))
    if width > WIDEST:
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
        check_mask(mask, value(q).dtype, torch.bool)
    check_width(q, v)
    k, v, repeats = unrepeated(k, v)
    nodes = graph.in_order((node, *repeats))
    if given.get("is_causal", False):
        seen = None, True, None
    else:
        seen = seen_by(mask, value(q).shape[2], value(k).shape[2])
    # Models hold [batch, tokens, heads, d] and show it with the heads first. The result lies as PyTorch's would, so that
    # whatever view the model takes of it is one.
    heads_stride, tokens_stride = (graph.hint(value(node).stride(axis)) for axis in (1, 2))
    inputs = (q, k, v, *seen, given.get("scale"), heads_stride < tokens_stride, training)
    yield Match(text_of(*seen), nodes, inputs, ridge_attention, _torch_attention, any_layout=True)
    if mask is not None and seen[0] is None and seen[2] is None:
        what = f"{text_of(*seen)}, without its mask"
        yield Match(what, nodes, inputs, _torch_unmasked, _torch_masked, ours=False, any_layout=True)


def text_of(mask, causal, left, softcap=None):
    parts = [(mask is not None, "mask"), (causal, "causal"), (left is not None, "window"), (softcap, "softcap")]
    return "+".join(["attention", *(part for there, part in parts if there)])
