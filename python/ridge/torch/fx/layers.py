"""Patterns of PyTorch's own layers that a captured graph has as one call: torch.nn.MultiheadAttention and
torch.nn.TransformerEncoderLayer."""

import torch
import torch.nn.functional as F

from ridge.torch.fx import attention, graph
from ridge.torch.fx.graph import arguments, name, only_user, value
from ridge.torch.fx.match import Match, Unfit, check_product


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
    o = attention.ridge_attention(q, k, v, mask, causal, None, None, True, training).transpose(1, 2)
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
            attention.check_mask(one, value(x).dtype, torch.bool)
    if None not in (mask, padding) and value(mask).dtype != value(padding).dtype:
        raise Unfit("its padding and its mask are of two types")
    if graph.hint(value(x).shape[-1]) // heads > attention.WIDEST:
        raise Unfit(f"its heads are {graph.hint(value(x).shape[-1]) // heads} wide")
    # Modules whose batch comes first turn what they are given, and their result back.
    nodes, turned = (node, last), only_user(last)
    first = name(x) == "transpose" and graph.axes_of(x) == {0, 1} and name(turned) == "transpose"
    if batch_first := first and graph.axes_of(turned) == {0, 1}:
        nodes, x = (*nodes, turned), arguments(x)["input"]
    inputs = (x, heads, in_w, in_b, out_w, out_b, mask, padding, batch_first, causal, training)
    what = (
        attention.text_of(mask if mask is not None else padding, causal, None).replace(
            "attention", "linear+attention", 1
        )
        + "+linear"
    )
    masks = tuple(one for one in (mask, padding) if one is not None)
    yield Match(what, nodes, inputs, _layer, _torch_layer, hides=masks, any_layout=True)


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
    if graph.autocast_type(value(x).device.type):
        raise Unfit("it is under autocast")
    if value(x).dim() != 3:
        raise Unfit("its sequence has no batch")
    if graph.hint(value(x).shape[-1]) // heads > attention.WIDEST:
        raise Unfit(f"its heads are {graph.hint(value(x).shape[-1]) // heads} wide")
    inputs = (x, heads, gelu, norm_first, eps, *parameters)
    yield Match("encoder layer", (node,), inputs, _encoder_layer, _torch_encoder_layer)
