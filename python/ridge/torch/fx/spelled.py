"""What models spell out, in PyTorch's own words: one call in place of several nodes that mean the same. Patterns then look
for one spelling, and what Ridge does not take is Inductor's as it would have been.

    x * 0.5 * (1 + tanh(0.797885 (x + 0.044715 x^3)))    gelu(x, approximate="tanh"); also gelu, silu, hardswish, ...
    addmm(bias, x, w), x @ w^T, linear(x, w) + bias      linear(x, w^T, bias)
    einsum("bhqd,bhkd->bhqk", q, k)                      q @ k^T
"""

import itertools
import math

import torch
import torch.nn.functional as F

from ridge.torch.fx import graph
from ridge.torch.fx.graph import arguments, name, only_user, others, value


def rewrite(captured):
    """Of all nodes that may be read alike; returns nothing, for the graph says the same as before."""
    _numbers_of_modules(captured)
    for one in (_nothing, _activation, _einsum, _product, _bias):
        for node in list(captured.nodes):
            if node.op in ("call_function", "call_method") and name(node):
                one(captured, node)


def _replace(captured, old, function, *args, **kwargs):
    """A call in place of a node; what only that node needed goes."""
    with captured.inserting_before(old):
        new = captured.call_function(function, args, kwargs)
    new.meta.update(old.meta)
    old.replace_all_uses_with(new)
    left = [old]
    while left:
        gone = left.pop()
        if not gone.users and gone.op in ("call_function", "call_method"):
            inputs = gone.all_input_nodes
            captured.erase_node(gone)
            left += [node for node in inputs if node not in left]
    return new


def _numbers_of_modules(captured):
    """Floats that are attributes of modules or of files, such as an epsilon or a scale: with dynamic=True they are inputs of
    the graph, as if a call could change them. The graph is compiled for what they are, and again where one changes; floats
    that a call is given stay inputs."""
    for node in list(captured.nodes):
        number = node.meta.get("example_value")
        if not isinstance(number, torch.SymFloat) or node.op == "placeholder":
            continue
        given = [one for one in graph.ancestors(node) if one.op == "placeholder"]
        if given and all(_is_of_module(str(one.target)) for one in given):
            node.replace_all_uses_with(float(number))  # which guards it
            captured.erase_node(node)


def _is_of_module(source):
    """By the name that Dynamo gives an input."""
    return source.startswith(("L_self_", "G_"))


_MAKE_NEW = ("add", "sub", "mul", "div", "masked_fill", "where", "softmax", "matmul")


def _nothing(captured, node):
    """x + 0, as is left where an option is off. What uses it makes a tensor of its own: nobody sees that it was x."""
    if name(node) != "add" or graph.writes(node):
        return
    x, zero = arguments(node).get("input"), arguments(node).get("other")
    alike = value(x) is not None and value(node) is not None and value(x).dtype == value(node).dtype
    if not alike or not isinstance(zero, (int, float)) or zero != 0:
        return
    makes_new = all(name(user) in _MAKE_NEW and not graph.writes(user) for user in node.users)
    if makes_new and not graph.is_disturbed((node, *node.users)):
        node.replace_all_uses_with(x)
        captured.erase_node(node)


# ---- activations -----------------------------------------------------------------------------------------------------
#
# What is spelled out is a polynomial of x and of one function's value, t, whose argument is a polynomial of x alone.
# A polynomial is {(power of x, power of t): coefficient}.

_ROOT = math.sqrt(2 / math.pi)
_HALF = {(1, 0): 0.5, (1, 1): 0.5}  # x (1 + t) / 2
_ONCE = {(1, 1): 1.0}  # x t
_SPELLED = [  # what is inside of t, the polynomial, and the call
    ("tanh", {(1, 0): _ROOT, (3, 0): _ROOT * 0.044715}, _HALF, F.gelu, {"approximate": "tanh"}),
    ("erf", {(1, 0): math.sqrt(0.5)}, _HALF, F.gelu, {}),
    ("sigmoid", {(1, 0): 1.0}, _ONCE, F.silu, {}),
    ("hardsigmoid", {(1, 0): 1.0}, _ONCE, F.hardswish, {}),
    ("relu6", {(1, 0): 1.0, (0, 0): 3.0}, {(1, 1): 1 / 6}, F.hardswish, {}),
    ("relu6", {(1, 0): 1.0, (0, 0): 3.0}, {(0, 1): 1 / 6}, F.hardsigmoid, {}),
]
_DEEPEST, _DIGITS = 6, 1e-5  # levels of a spelled polynomial; of its constants, models write six digits and more


def _function(node):
    """What t is a function of: relu6 under each of its names."""
    if name(node) == "hardtanh":
        given = arguments(node)
        return "relu6" if (given.get("min_val", -1), given.get("max_val", 1)) == (0, 6) else None
    return name(node)


def _polynomial(node, x, t, depth=_DEEPEST):
    """The polynomial of x and t that a node computes, or None."""
    if isinstance(node, (int, float)):
        return {(0, 0): float(node)}
    if node is x:
        return {(1, 0): 1.0}
    if node is t:
        return {(0, 1): 1.0}
    operation = name(node)
    if depth == 0 or operation not in ("add", "sub", "mul", "div", "pow", "square") or graph.writes(node):
        return None
    given = arguments(node)
    a = _polynomial(given.get("input"), x, t, depth - 1)
    if a is None:
        return None
    if operation == "square" or (operation == "pow" and given.get("exponent") in (2, 3)):
        result = a
        for _ in range(1 if operation == "square" else int(given["exponent"]) - 1):
            result = _times(result, a)
        return result
    b = _polynomial(given.get("other"), x, t, depth - 1) if "other" in given else None
    if b is None or given.get("alpha", 1) != 1 or given.get("rounding_mode") is not None:
        return None
    if operation == "mul":
        return _times(a, b)
    if operation == "div":
        return {power: c / b[0, 0] for power, c in a.items()} if set(b) == {(0, 0)} and b[0, 0] else None
    sign = 1 if operation == "add" else -1
    return {power: a.get(power, 0.0) + sign * b.get(power, 0.0) for power in a | b}


def _times(a, b):
    result = {}
    for (left, c), (right, d) in itertools.product(a.items(), b.items()):
        power = left[0] + right[0], left[1] + right[1]
        result[power] = result.get(power, 0.0) + c * d
    return result


def _is_near(found, wanted):
    return (
        found is not None
        and set(found) == set(wanted)
        and all(math.isclose(found[power], wanted[power], rel_tol=_DIGITS) for power in wanted)
    )


def _inside(node, depth=_DEEPEST):
    """The nodes that a node is computed of, nearest first, to some depth."""
    found, level = [], [node]
    for _ in range(depth):
        level = list(dict.fromkeys(i for n in level for i in n.all_input_nodes if value(i) is not None))
        found += [n for n in level if n not in found]
    return found


def _activation(captured, node):
    """gelu, silu, hardswish and hardsigmoid, each of one tensor."""
    if name(node) not in ("mul", "div") or value(node) is None or not value(node).is_floating_point():
        return
    near = _inside(node)
    for t in near:
        for function, inside, whole, call, options in _SPELLED:
            if _function(t) != function or graph.writes(t):
                continue
            given = arguments(t)["input"]
            for x in (given, *_inside(given)) if isinstance(given, torch.fx.Node) else ():
                if value(x) is None or value(x).dtype != value(node).dtype or graph.sizes(x) != graph.sizes(node):
                    continue
                if not _is_near(_polynomial(given, x, t), inside) or not _is_near(_polynomial(node, x, t), whole):
                    continue
                inner = graph.ancestors(node, (x,))
                alone = all(user in inner for n in inner if n is not node for user in n.users)
                if alone and not graph.is_disturbed(tuple(inner)):
                    _replace(captured, node, call, x, **options)
                return


# ---- products --------------------------------------------------------------------------------------------------------


def _is_given(node):
    """Whether it is one of the graph's own inputs, as parameters are."""
    return isinstance(node, torch.fx.Node) and node.op in ("placeholder", "get_attr") and value(node) is not None


def _turned(captured, w, before):
    """w^T of a matrix: the parameter where w is its transpose already."""
    if name(w) == "transpose" and _is_given(arguments(w)["input"]) and value(arguments(w)["input"]).dim() == 2:
        return arguments(w)["input"]
    if not _is_given(w):
        return None
    with captured.inserting_before(before):
        new = captured.call_function(torch.t, (w,))
    new.meta.update(before.meta)
    new.meta["example_value"] = value(w).t()
    return new


def _is_matrix_of(w, x):
    """Whether w is [k, n] of x [..., k], in one float type."""
    found = value(w), value(x)
    if None in found or found[0].dim() != 2 or found[1].dim() < 2:
        return False
    return found[0].dtype == found[1].dtype and str(found[0].shape[0]) == str(found[1].shape[-1])


def _product(captured, node):
    """A product with a matrix that is a parameter; also as layers of the transformers library write theirs: addmm of all
    rows of x, and the axes of x given back."""
    if value(node) is None or graph.writes(node):
        return
    given, bias = arguments(node), None
    if name(node) == "addmm":
        bias, x, w = given.get("input"), given.get("mat1"), given.get("mat2")
        if given.get("beta", 1) != 1 or given.get("alpha", 1) != 1 or not _is_bias(bias, node, True):
            return
    elif name(node) == "matmul":
        x, w = given.get("input"), given.get("other")
    else:
        return
    if not isinstance(w, torch.fx.Node) or not isinstance(x, torch.fx.Node) or not _is_matrix_of(w, x):
        return
    if value(node).dtype != (graph.autocast_type(value(x).device.type) or value(x).dtype):
        return  # torch.mm's out_dtype
    flat, last = x, node
    whole = arguments(flat)["input"] if name(flat) == "reshape" else None
    after = only_user(node)
    if value(whole) is not None and value(whole).dim() > 2 and name(after) == "reshape" and value(after) is not None:
        if graph.sizes(after) == [*graph.sizes(whole)[:-1], graph.sizes(node)[-1]]:
            if graph.sizes(whole)[-1] == graph.sizes(x)[-1]:
                x, last = whole, after
    if graph.is_disturbed((*((flat,) if x is not flat else ()), node, last)):
        return
    turned = _turned(captured, w, node)
    if turned is not None:
        _replace(captured, last, F.linear, x, turned, bias)


def _is_bias(bias, product, converted=False):
    """Whether it is a parameter of one number for each column. converted: torch.autocast takes it with the product."""
    found = value(bias)
    if found is None or found.dim() != 1:
        return False
    if found.dtype != value(product).dtype and not (converted and graph.autocast_type(found.device.type)):
        return False
    return str(found.shape[0]) == graph.sizes(product)[-1] and bias.op in ("placeholder", "get_attr")


def _bias(captured, node):
    """A bias that is added by itself."""
    if name(node) != "linear" or arguments(node).get("bias") is not None or value(node) is None:
        return
    after = only_user(node)
    if name(after) != "add" or graph.writes(after) or value(after) is None:
        return
    bias = others(after, node)
    is_bias = isinstance(bias, torch.fx.Node) and _is_bias(bias, node) and graph.sizes(after) == graph.sizes(node)
    if is_bias and not graph.is_disturbed((node, after)):
        _replace(captured, after, F.linear, arguments(node)["input"], arguments(node)["weight"], bias)


def _einsum(captured, node):
    """A product of two lists of matrices, [.., i, c] and [.., j, c] or [.., c, j], to [.., i, j]."""
    if name(node) != "einsum" or node.kwargs or len(node.args) != 3 or value(node) is None:
        return
    equation, a, b = node.args
    if not isinstance(equation, str) or value(a) is None or value(b) is None:
        return
    inputs, arrow, result = equation.replace(" ", "").partition("->")
    left, comma, right = inputs.partition(",")
    texts = left, right, result
    if (
        not arrow
        or not comma
        or any(not text.isalpha() or len(set(text)) != len(text) or len(text) < 3 for text in texts)
    ):
        return
    batch = result[:-2]
    if left[:-2] != batch or right[:-2] != batch or left[-2] != result[-2]:
        return
    c, j = left[-1], result[-1]
    if right[-2:] == j + c:
        with captured.inserting_before(node):
            turned = captured.call_function(torch.transpose, (b, -2, -1))
        turned.meta.update(node.meta)
        turned.meta["example_value"] = value(b).transpose(-2, -1)
    elif right[-2:] == c + j:
        turned = b
    else:
        return
    if all(graph.sizes(x)[:-2] == graph.sizes(node)[:-2] for x in (a, b)):
        _replace(captured, node, torch.matmul, a, turned)
