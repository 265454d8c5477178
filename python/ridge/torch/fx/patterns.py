"""What Ridge replaces in a captured graph: a function of a node for each pattern, that returns the ways to replace what
begins or ends there, the one with most in it first; nothing where the pattern is not there.

A Match's two functions take the same inputs: Ridge's is put into the graph, and PyTorch's is what it is measured
against. That is the graph's own nodes as Inductor would run them at best: all that follows a product is one pass over
its result.
"""

import torch
import torch.nn.functional as F

from ridge.torch.fx import attention, graph, images, layers, pooling, written
from ridge.torch.fx.graph import arguments, name, only_user, others, value
from ridge.torch.fx.match import (
    Match,
    Unfit,
    activation_of,
    are_alike,
    check,
    check_in_float32,
    check_number,
    check_product,
    residual_of,
)
from ridge.torch.gated import gated


def _check_product(node, *inputs):
    check_product(node, *inputs)
    first = value(node)
    if first.dtype == torch.float32 and first.is_cuda and torch.backends.cuda.matmul.allow_tf32:
        raise Unfit("float32 may be multiplied in TF32 (torch.backends.cuda.matmul.allow_tf32)")


# ---- products --------------------------------------------------------------------------------------------------------


def _product(x, w, bias, residual, activation):
    return torch.ops.ridge.linear(x, w, bias, residual, activation=activation)


def _product_and_pass(x, w, bias, residual, activation):
    y = F.linear(x, w, bias)
    if residual is not None:
        return y + residual
    return torch.relu(y) if activation else y


def linear(node, training):
    """act(x w^T + bias) + residual, then without what follows the product."""
    if name(node) != "linear":
        return
    given = arguments(node)
    x, w, bias = given["input"], given["weight"], given.get("bias")
    _check_product(node, x, w, *([] if bias is None else [bias]))
    nodes, activation = [node], None
    found = [_linear_match(nodes, x, w, bias, None, None)]
    after = only_user(node)
    # A gradient needs what the activation was given, which a fused product does not keep.
    if not training and activation_of(after):
        activation = activation_of(after)
        nodes.append(after)
        found.append(_linear_match(nodes, x, w, bias, None, activation))
        after = only_user(after)
    addend = residual_of(after, nodes[-1])
    if addend is not None:
        nodes.append(after)
        found.append(_linear_match(nodes, x, w, bias, addend, activation))
    yield from reversed(found)


def _linear_match(nodes, x, w, bias, residual, activation):
    parts = ["linear", "bias" if bias is not None else "", activation, "residual" if residual is not None else ""]
    what = "+".join(part for part in parts if part)
    return Match(what, tuple(nodes), (x, w, bias, residual, activation), _product, _product_and_pass)


def _gate_and_pass(x, gate, bias, up, up_bias, activation):
    return F.linear(x, gate, bias) * F.linear(x, up, up_bias)


def gate(node, training):
    """act(x gate^T + bias) * (x up^T + bias of up), of one x."""
    if name(node) != "mul" or training:  # the fused gate keeps neither factor
        return
    for acted in (arguments(node).get("input"), arguments(node).get("other")):
        activation = activation_of(acted)
        up = others(node, acted) if activation else None
        left = arguments(acted)["input"] if activation else None
        if name(left) != "linear" or name(up) != "linear" or up is left:
            continue
        if any(len(n.users) > 1 for n in (acted, left, up)):
            continue
        a, b = arguments(left), arguments(up)
        if a["input"] is not b["input"]:
            continue
        x = a["input"]
        _check_product(node, x, a["weight"], b["weight"])
        if graph.sizes(a["weight"]) != graph.sizes(b["weight"]):
            continue
        nodes = graph.in_order((left, acted, up, node))
        inputs = (x, a["weight"], a.get("bias"), b["weight"], b.get("bias"), activation)
        yield Match(f"linear+{activation}+gate", nodes, inputs, gated, _gate_and_pass)
        return


def _packed_gate(x, w, bias, first, activation):
    n = w.shape[0] // 2
    halves = [(w[at], None if bias is None else bias[at]) for at in (slice(None, n), slice(n, None))]
    gate, up = halves if first else halves[::-1]
    return gated(x, *gate, *up, activation)


def _packed_gate_and_pass(x, w, bias, first, activation):
    a, b = F.linear(x, w, bias).chunk(2, -1)
    return a * b


def _half(node):
    """(the tensor that a node is half of, whether it is the first half, the nodes that take it apart), along the last
    axis; or None."""
    if name(node) != "index":
        return None
    whole, at = arguments(node)["input"], arguments(node)["at"]
    if name(whole) in ("chunk", "split") and at in (0, 1):
        given, apart = arguments(whole), (whole, node)
        whole = given["input"]
        if value(whole) is None or given.get("dim", 0) not in (-1, value(whole).dim() - 1):
            return None
        width = value(whole).shape[-1]
        if not isinstance(width, int):
            return None
        sizes = given.get("sizes")
        halves = given.get("chunks") == 2 or sizes in (width // 2, [width // 2] * 2, (width // 2,) * 2)
        return (whole, at == 0, apart) if halves and width % 2 == 0 else None
    if not isinstance(at, tuple) or len(at) != 2 or at[0] is not Ellipsis or value(whole) is None:
        return None
    width = value(whole).shape[-1]
    if not isinstance(width, int) or width % 2:
        return None
    if at[1] == slice(None, width // 2):
        return whole, True, (node,)
    return (whole, False, (node,)) if at[1] == slice(width // 2, None) else None


def packed_gate(node, training):
    """act(a) * b of one product x w^T + bias = [a | b], or [b | a]."""
    if name(node) != "mul" or training:
        return
    for acted in (arguments(node).get("input"), arguments(node).get("other")):
        activation = activation_of(acted)
        left = _half(arguments(acted)["input"]) if activation else None
        right = _half(others(node, acted)) if left else None
        if not right or left[0] is not right[0] or left[1] == right[1]:
            continue
        product = left[0]
        if name(product) != "linear":
            continue
        inner = {product, acted, *left[2], *right[2]}
        if any(user is not node and user not in inner for n in inner for user in n.users):
            continue
        x, w, bias = (arguments(product).get(key) for key in ("input", "weight", "bias"))
        _check_product(node, x, w)
        nodes = graph.in_order((node, *inner))
        inputs = (x, w, bias, left[1], activation)
        yield Match(f"linear+{activation}+gate", nodes, inputs, _packed_gate, _packed_gate_and_pass)
        return


# ---- norms -----------------------------------------------------------------------------------------------------------


def _of_type(parameter, x):
    """A norm's parameter in its tensor's type, as Ridge takes it; torch.autocast converts both."""
    if parameter is None or parameter.dtype == x.dtype or graph.autocast_type(x.device.type):
        return parameter
    return parameter.to(x.dtype)


def _norm(op, axes, eps, order, *tensors):
    """Of x or of x + residual, gamma and beta; with a residual the sum, too. order: that of x's axes in memory."""
    *rows, gamma, beta = tensors
    rows = rows if order is None else [x.permute(order) for x in rows]
    y = getattr(torch.ops.ridge, op)(*rows, gamma, beta, axes=axes, eps=eps)
    return y if order is None else y.permute([order.index(axis) for axis in range(len(order))])


def _torch_norm(op, axes, eps, order, x, *others):
    """Without the sum before it, which Inductor makes in the norm's kernel: its bytes are not counted here."""
    gamma, beta = (_of_type(p, x) for p in others[-2:])
    if op.endswith("rms_norm"):
        return F.rms_norm(x, x.shape[-axes:], gamma, eps)
    return F.layer_norm(x, x.shape[-axes:], gamma, beta, eps)


def _order_of(node, x):
    """The order of x's axes in memory where a result over the last one lies as x does, without gaps; None where both are
    contiguous, or lie otherwise."""
    strides = [graph.hint(stride) for stride in value(x).stride()]
    if (
        graph.is_contiguous(node)
        or strides != [graph.hint(stride) for stride in value(node).stride()]
        or strides[-1] != 1
    ):
        return None
    order = (*sorted(range(len(strides) - 1), key=lambda axis: -strides[axis]), len(strides) - 1)
    return order if graph.is_contiguous(x, order) else None


def _norm_match(op, nodes, x, gamma, beta, eps, axes=1):
    parameters = [p for p in (gamma, beta) if p is not None]
    check_in_float32(nodes[-1], x)
    for parameter in parameters:
        check(parameter)
    # Ridge's call stands where the sum stood, which others may use. What is computed after that is not there yet.
    if name(x) == "add" and not graph.writes(x) and all(p.op == "placeholder" for p in parameters):
        a, b = arguments(x).get("input"), arguments(x).get("other")
        merges = axes == 1 or all(graph.is_contiguous(t) for t in (a, b) if value(t) is not None)
        # Under torch.autocast Ridge's sum is in float32, and this one may not be.
        merges = merges and value(x).dtype == value(nodes[-1]).dtype
        if arguments(x).get("alpha", 1) == 1 and are_alike(a, b) and are_alike(a, x) and merges:
            inputs = (f"add_{op}", axes, eps, None, a, b, gamma, beta)
            yield Match(f"add_{op}", (x, *nodes), inputs, _norm, _torch_norm, sums=(x,))
    order = _order_of(nodes[-1], x) if axes == 1 else None
    inputs = (op, axes, eps, order, x, gamma, beta)
    yield Match(op, nodes, inputs, _norm, _torch_norm, any_layout=order is not None)


def norm(node, training):
    """layer_norm and rms_norm, and the sum before them."""
    if name(node) not in ("layer_norm", "rms_norm"):
        return
    given = arguments(node)
    x, gamma, beta, eps = given["input"], given.get("weight"), given.get("bias"), given.get("eps")
    axes = len(given["normalized_shape"])
    check_number(eps, "eps")
    if axes > 1 and not all(graph.is_contiguous(t) for t in (x, gamma, beta) if t is not None):
        raise Unfit("it is over several axes of a tensor that is not contiguous")
    if eps is None:  # an RMS norm's is that of the type in which PyTorch computes
        eps = 1e-5 if name(node) == "layer_norm" else torch.finfo(torch.float32).eps
    yield from _norm_match(name(node), (node,), x, gamma, beta, eps, axes)


def _unconverted(node):
    return arguments(node)["input"] if name(node) == "to" else node


def _mean_of(node):
    """What a node is the mean of along the last axis, which stays; or None."""
    if name(node) != "mean":
        return None
    given = arguments(node)
    return given["input"] if given.get("dim") in (-1, (-1,), [-1]) and given.get("keepdim") else None


def _square_of(node):
    """What a node is the square of, or None."""
    if name(node) == "square" or (name(node) == "pow" and arguments(node).get("exponent") == 2):
        return arguments(node)["input"]
    if name(node) == "mul" and arguments(node).get("input") is arguments(node).get("other"):
        return arguments(node)["input"]
    return None


def _centered(node):
    """(x, its mean) where a node is x - mean(x); else None."""
    if name(node) != "sub" or arguments(node).get("alpha", 1) != 1:
        return None
    x, mean = arguments(node)["input"], arguments(node)["other"]
    of = _mean_of(mean)
    return (x, mean) if of is not None and _unconverted(of) is _unconverted(x) else None


def _scaled(node):
    """(the number under the root, what a node multiplies by 1 / root or divides by root); None where it is neither."""
    scaled = only_user(node)
    if name(node) == "rsqrt" and name(scaled) == "mul":
        return others(scaled, node), scaled
    if name(node) == "sqrt" and name(scaled) == "div" and arguments(scaled)["other"] is node:
        return arguments(scaled)["input"], scaled
    return None


def _parameter_of(node, like):
    """Whether a node is a vector, or a number and a vector, that a row of `like` is multiplied by or added to."""
    found = value(node)
    return (
        found is not None
        and found.dim() == 1
        and found.is_floating_point()
        and graph.sizes(node) == graph.sizes(like)[-1:]
    )


def _parameters_after(node, x):
    """(the last node, the ones before it, gamma, beta) of what scales and shifts the rows of a norm, as far as the result
    is of x's type: conversions, a product with a vector, a sum with one."""
    nodes, gamma, beta = [node], None, None
    best = (node, (), None, None) if value(node).dtype == value(x).dtype else None
    while (after := only_user(nodes[-1])) is not None:
        last = nodes[-1]
        if name(after) == "mul" and gamma is None and beta is None and _parameter_of(others(after, last), x):
            gamma = others(after, last)
        elif name(after) == "add" and beta is None and _parameter_of(others(after, last), x):
            beta = others(after, last)
        elif name(after) != "to" or arguments(after)["input"] is not last:
            break
        nodes.append(after)
        if (
            value(after) is not None
            and value(after).dtype == value(x).dtype
            and (gamma is not None or beta is not None)
        ):
            best = after, tuple(nodes[:-1]), gamma, beta
    return best


def written_norm(node, training):
    """gamma * (x rsqrt(mean(x^2) + eps)) + beta, and the same of x - mean(x), as models spell them out: in float32 between,
    with parameters of any float type, by a root that is multiplied by or divided by."""
    if name(node) not in ("rsqrt", "sqrt"):
        return
    inside = arguments(node)["input"]
    if name(inside) != "add" or arguments(inside).get("alpha", 1) != 1:
        return
    pair = arguments(inside)["input"], arguments(inside)["other"]
    eps, mean = pair if isinstance(pair[0], float) else pair[::-1]
    power = _mean_of(mean)
    inner = _square_of(power) if power is not None else None
    found = _scaled(node) if inner is not None else None
    if not isinstance(eps, float) or found is None:
        return
    factor, scaled = found
    first, second = _centered(inner), _centered(factor)
    if first and second:
        op, x = "layer_norm", _unconverted(first[0])
        if _unconverted(second[0]) is not x:
            return
    else:
        op, x = "rms_norm", _unconverted(inner)
        if _unconverted(factor) is not x:
            return
    if value(x) is None or value(scaled) is None:
        return
    found = _parameters_after(scaled, x)
    if found is None:
        raise Unfit(f"its result is {value(scaled).dtype}, of {value(x).dtype}")
    last, before, gamma, beta = found
    # What leads from x to the result; a conversion that others use too is made for them all the same.
    made_of = [p for p in (x, gamma, beta) if p is not None]
    nodes = graph.leading_to(last, made_of)
    if any(user not in nodes for inner in nodes[:-1] if name(inner) != "to" for user in inner.users):
        raise Unfit("what is between its nodes is asked for")
    yield from _norm_match(op, nodes, x, gamma, beta, eps)


# ---- softmax ---------------------------------------------------------------------------------------------------------


def _softmax(op, x, axis):
    return getattr(torch.ops.ridge, op)(x, axis=axis)


def _torch_softmax(op, x, axis):
    return getattr(torch, op)(x, axis)


def softmax(node, training):
    """softmax and log_softmax along any axis, where they are not attention's."""
    if name(node) not in ("softmax", "log_softmax") or value(node) is None:
        return
    given = arguments(node)
    x, axis = given["input"], given.get("dim")
    if not isinstance(axis, int) or value(x) is None or value(x).dim() == 0:
        return
    check_in_float32(node, x)
    yield Match(name(node), (node,), (name(node), x, axis), _softmax, _torch_softmax)


# What comes first takes a node that two could have. In training the sum goes to the norm, whose backward adds up what
# comes back through it; else to the product, which saves the norm reading it.
_ATTENTION = (attention.attention, written.written_attention, layers.attention_layer)
_IMAGES = (images.convolution, images.batch_norm_in_training, images.group_norm, pooling.pooling)
INFERENCE = (gate, packed_gate, linear, norm, written_norm, *_ATTENTION, layers.encoder_layer, softmax, *_IMAGES)
TRAINING = (norm, written_norm, linear, *_ATTENTION, softmax, *_IMAGES)
