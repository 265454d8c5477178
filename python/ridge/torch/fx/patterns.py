"""What Ridge replaces in a captured graph: a function of a node for each pattern, that returns the ways to replace what
begins or ends there, the one with most in it first; nothing where the pattern is not there.

A Match's two functions take the same inputs: Ridge's is put into the graph, and PyTorch's is what it is measured
against. That is the graph's own nodes as Inductor would run them at best: all that follows a product is one pass over
its result.
"""

import torch
import torch.nn.functional as F

from ridge.torch.fx import attention, graph, images
from ridge.torch.fx.graph import arguments, name, only_user, others, value
from ridge.torch.fx.match import Match, Unfit, activation_of, are_alike, check, residual_of


def _check_product(*tensors):
    check(*tensors)
    first = value(tensors[0])
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
    _check_product(x, w, node, *([] if bias is None else [bias]))
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


def _gate(x, gate, up, activation):
    rows = x.reshape(-1, x.shape[-1])
    y = torch.ops.ridge.gemm(rows, gate, gate=up, layout="nt", epilogue=f"{activation}+gate")
    return y.view(*x.shape[:-1], gate.shape[0])


def _gate_and_pass(x, gate, up, activation):
    return F.linear(x, gate) * F.linear(x, up)


def gate(node, training):
    """act(x gate^T) * (x up^T), of one x."""
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
        if a["input"] is not b["input"] or a.get("bias") is not None or b.get("bias") is not None:
            continue
        x = a["input"]
        _check_product(x, a["weight"], b["weight"], node)
        if graph.sizes(a["weight"]) != graph.sizes(b["weight"]):
            continue
        nodes = graph.in_order((left, acted, up, node))
        yield Match(
            f"linear+{activation}+gate", nodes, (x, a["weight"], b["weight"], activation), _gate, _gate_and_pass
        )
        return


def _packed_gate(x, w, first, activation):
    n = w.shape[0] // 2
    return _gate(x, *((w[:n], w[n:]) if first else (w[n:], w[:n])), activation)


def _packed_gate_and_pass(x, w, first, activation):
    a, b = F.linear(x, w).chunk(2, -1)
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
    """act(a) * b of one product x w^T = [a | b], or [b | a]."""
    if name(node) != "mul" or training:
        return
    for acted in (arguments(node).get("input"), arguments(node).get("other")):
        activation = activation_of(acted)
        left = _half(arguments(acted)["input"]) if activation else None
        right = _half(others(node, acted)) if left else None
        if not right or left[0] is not right[0] or left[1] == right[1]:
            continue
        product = left[0]
        if name(product) != "linear" or arguments(product).get("bias") is not None:
            continue
        inner = {product, acted, *left[2], *right[2]}
        if any(user is not node and user not in inner for n in inner for user in n.users):
            continue
        x, w = arguments(product)["input"], arguments(product)["weight"]
        _check_product(x, w, node)
        nodes = graph.in_order((node, *inner))
        inputs = (x, w, left[1], activation)
        yield Match(f"linear+{activation}+gate", nodes, inputs, _packed_gate, _packed_gate_and_pass)
        return


# ---- norms -----------------------------------------------------------------------------------------------------------


def _norm(op, axes, eps, *tensors):
    """Of x or of x + residual, gamma and beta; with a residual the sum, too."""
    return getattr(torch.ops.ridge, op)(*tensors, axes=axes, eps=eps)


def _torch_norm(op, axes, eps, x, *others):
    """Without the sum before it, which Inductor makes in the norm's kernel: its bytes are not counted here."""
    gamma, beta = others[-2:]
    if op.endswith("rms_norm"):
        return F.rms_norm(x, x.shape[-axes:], gamma, eps)
    return F.layer_norm(x, x.shape[-axes:], gamma, beta, eps)


def _norm_match(op, nodes, x, gamma, beta, eps, axes=1):
    parameters = [p for p in (gamma, beta) if p is not None]
    check(x, nodes[-1], *parameters)
    # Ridge's call stands where the sum stood, which others may use. What is computed after that is not there yet.
    if name(x) == "add" and not graph.writes(x) and all(p.op == "placeholder" for p in parameters):
        a, b = arguments(x).get("input"), arguments(x).get("other")
        merges = axes == 1 or all(graph.is_contiguous(t) for t in (a, b) if value(t) is not None)
        if arguments(x).get("alpha", 1) == 1 and are_alike(a, b) and are_alike(a, x) and merges:
            inputs = (f"add_{op}", axes, eps, a, b, gamma, beta)
            yield Match(f"add_{op}", (x, *nodes), inputs, _norm, _torch_norm, sums=(x,))
    yield Match(op, nodes, (op, axes, eps, x, gamma, beta), _norm, _torch_norm)


def norm(node, training):
    """layer_norm and rms_norm, and the sum before them."""
    if name(node) not in ("layer_norm", "rms_norm"):
        return
    given = arguments(node)
    x, gamma, beta, eps = given["input"], given.get("weight"), given.get("bias"), given.get("eps")
    axes = len(given["normalized_shape"])
    if axes > 1 and not all(graph.is_contiguous(t) for t in (x, gamma, beta) if t is not None):
        raise Unfit("it is over several axes of a tensor that is not contiguous")
    if eps is None:  # an RMS norm's is that of the type in which PyTorch computes
        eps = 1e-5 if name(node) == "layer_norm" else torch.finfo(torch.float32).eps
    yield from _norm_match(name(node), (node,), x, gamma, beta, eps, axes)


def _unconverted(node):
    return arguments(node)["input"] if name(node) == "to" else node


def written_rms_norm(node, training):
    """gamma * (x rsqrt(mean(x^2) + eps)), in float32 between, as models spell it out."""
    if name(node) != "rsqrt":
        return
    inside = arguments(node)["input"]
    if name(inside) != "add" or not isinstance(arguments(inside).get("other"), float):
        return
    eps, mean = arguments(inside)["other"], arguments(inside)["input"]
    if (
        name(mean) != "mean"
        or arguments(mean).get("dim") not in (-1, (-1,), [-1])
        or not arguments(mean).get("keepdim")
    ):
        return
    power = arguments(mean)["input"]
    if name(power) != "pow" or arguments(power).get("exponent") != 2:
        return
    wide = arguments(power)["input"]
    x, scaled = _unconverted(wide), only_user(node)
    if scaled is None or name(scaled) != "mul" or _unconverted(others(scaled, node)) is not x:
        return
    nodes = [power, mean, inside, node, scaled]
    if wide is not x:
        nodes.insert(0, wide)
    after = only_user(scaled)
    if after is not None and name(after) == "to":
        nodes.append(after)
        after = only_user(after)
    if after is None or name(after) != "mul":
        return
    gamma = others(after, nodes[-1])
    if value(gamma) is None or value(gamma).dim() != 1:
        return
    yield from _norm_match("rms_norm", (*nodes, after), x, gamma, None, eps)


# What comes first takes a node that two could have. In training the sum goes to the norm, whose backward adds up what
# comes back through it; else to the product, which saves the norm reading it.
INFERENCE = (
    *(gate, packed_gate, linear, norm, written_rms_norm),
    *(attention.attention, attention.written_attention, images.convolution, images.group_norm),
)
TRAINING = (norm, written_rms_norm, linear, attention.attention, attention.written_attention)
