"""What a node of a captured graph computes, by one name for each function, method and operator that means the same."""

import contextlib
import inspect
import math
import operator
import sys

import torch
import torch.nn.functional as F

# A function's name and its parameters, as far as patterns ask for them.
_SIGNATURES = {
    "linear": ("input", "weight", "bias"),
    "relu": ("input", "inplace"),
    "gelu": ("input", "approximate"),
    "silu": ("input", "inplace"),
    "sigmoid": ("input",),
    **dict.fromkeys(("relu6", "hardswish", "hardsigmoid"), ("input", "inplace")),
    "hardtanh": ("input", "min_val", "max_val", "inplace"),
    "add": ("input", "other", "alpha"),
    "mul": ("input", "other"),
    "layer_norm": ("input", "normalized_shape", "weight", "bias", "eps"),
    "rms_norm": ("input", "normalized_shape", "weight", "eps"),
    "attention_layer": tuple(inspect.signature(F.multi_head_attention_forward).parameters),
    "encoder_layer": (),  # its arguments have no names
    "attention": ("query", "key", "value", "attn_mask", "dropout_p", "is_causal", "scale", "enable_gqa"),
    **dict.fromkeys(
        ("conv1d", "conv2d", "conv3d"), ("input", "weight", "bias", "stride", "padding", "dilation", "groups")
    ),
    **dict.fromkeys(
        ("conv_transpose1d", "conv_transpose2d"),
        ("input", "weight", "bias", "stride", "padding", "output_padding", "groups", "dilation"),
    ),
    "batch_norm": ("input", "running_mean", "running_var", "weight", "bias", "training", "momentum", "eps"),
    "max_pool2d": ("input", "kernel_size", "stride", "padding", "dilation", "ceil_mode", "return_indices"),
    "avg_pool2d": (
        *("input", "kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override"),
    ),
    "adaptive_avg_pool2d": ("input", "output_size"),
    "group_norm": ("input", "num_groups", "weight", "bias", "eps"),
    "matmul": ("input", "other"),
    "addmm": ("input", "mat1", "mat2"),
    "einsum": ("equation", "input", "other"),
    "sub": ("input", "other", "alpha"),
    "div": ("input", "other", "rounding_mode"),
    **dict.fromkeys(("tanh", "erf", "sqrt", "square"), ("input",)),
    **dict.fromkeys(("softmax", "log_softmax"), ("input", "dim")),
    "transpose": ("input", "dim0", "dim1"),
    "masked_fill": ("input", "mask", "value"),
    "where": ("condition", "input", "other"),
    "cat": ("tensors", "dim"),
    "chunk": ("input", "chunks", "dim"),
    "split": ("input", "sizes", "dim"),
    "contiguous": ("input", "memory_format"),
    "dropout": ("input", "p", "training", "inplace"),
    "rsqrt": ("input",),
    "mean": ("input", "dim", "keepdim", "dtype"),
    "pow": ("input", "exponent"),
    "to": ("input", "dtype"),
    "unsqueeze": ("input", "dim"),
    "index": ("input", "at"),
    "expand": ("input", "size"),
    "reshape": ("input", "size"),
}

_FUNCTIONS = {
    F.linear: "linear",
    F.relu: "relu",
    torch.relu: "relu",
    F.gelu: "gelu",
    F.silu: "silu",
    F.sigmoid: "sigmoid",
    torch.sigmoid: "sigmoid",
    F.relu6: "relu6",
    F.hardswish: "hardswish",
    F.hardsigmoid: "hardsigmoid",
    F.hardtanh: "hardtanh",
    torch.add: "add",
    operator.add: "add",
    operator.iadd: "add",
    torch.mul: "mul",
    operator.mul: "mul",
    F.layer_norm: "layer_norm",
    torch.layer_norm: "layer_norm",
    F.rms_norm: "rms_norm",
    torch.rms_norm: "rms_norm",
    F.scaled_dot_product_attention: "attention",
    F.multi_head_attention_forward: "attention_layer",
    torch._transformer_encoder_layer_fwd: "encoder_layer",
    F.conv1d: "conv1d",
    F.conv2d: "conv2d",
    F.conv3d: "conv3d",
    F.conv_transpose1d: "conv_transpose1d",
    F.conv_transpose2d: "conv_transpose2d",
    F.batch_norm: "batch_norm",
    F.max_pool2d: "max_pool2d",
    torch.max_pool2d: "max_pool2d",
    F.avg_pool2d: "avg_pool2d",
    F.adaptive_avg_pool2d: "adaptive_avg_pool2d",
    F.group_norm: "group_norm",
    torch.matmul: "matmul",
    operator.matmul: "matmul",
    torch.bmm: "matmul",
    torch.mm: "matmul",
    torch.addmm: "addmm",
    torch.einsum: "einsum",
    torch.sub: "sub",
    operator.sub: "sub",
    torch.div: "div",
    torch.true_divide: "div",
    operator.truediv: "div",
    torch.tanh: "tanh",
    F.tanh: "tanh",
    torch.erf: "erf",
    torch.special.erf: "erf",
    torch.sqrt: "sqrt",
    torch.square: "square",
    F.softmax: "softmax",
    torch.softmax: "softmax",
    F.log_softmax: "log_softmax",
    torch.log_softmax: "log_softmax",
    torch.transpose: "transpose",
    torch.masked_fill: "masked_fill",
    torch.where: "where",
    torch.cat: "cat",
    torch.t: "t",
    torch.permute: "permute",
    torch.chunk: "chunk",
    torch.split: "split",
    F.dropout: "dropout",
    torch.rsqrt: "rsqrt",
    torch.mean: "mean",
    torch.pow: "pow",
    operator.pow: "pow",
    torch.unsqueeze: "unsqueeze",
    operator.getitem: "index",
    torch.reshape: "reshape",
}

_METHODS = {
    method: method
    for method in (
        *("relu", "sigmoid", "tanh", "add", "mul", "div", "pow", "rsqrt", "mean", "softmax", "log_softmax"),
        *("reshape", "expand", "unsqueeze", "transpose", "contiguous", "chunk", "split"),
        *("matmul", "to", "sub", "sqrt", "square", "erf", "addmm", "t", "permute", "hardtanh", "masked_fill"),
    )
}
_METHODS |= {"view": "reshape", "type": "to", "float": "to", "half": "to", "bfloat16": "to", "type_as": "to"}
_METHODS |= {"mm": "matmul", "bmm": "matmul", "swapaxes": "transpose"}
_DTYPES = {"float": torch.float32, "half": torch.float16, "bfloat16": torch.bfloat16}


def name(node):
    """The name of what a node computes, or None."""
    if not isinstance(node, torch.fx.Node) or node.kwargs.get("out") is not None:
        return None
    if node.op == "call_function":
        found = _FUNCTIONS.get(node.target)
    else:
        found = _METHODS.get(node.target) if node.op == "call_method" else None
    if found in ("t", "permute") or (node.target is getattr and node.args[1] in ("T", "mT")):
        return "transpose" if _exchanged(node) else None
    return found


def arguments(node):
    """{parameter: what was given}; what was not given is not there."""
    if pair := _exchanged(node):
        return {"input": node.args[0] if node.args else node.kwargs["input"], "dim0": pair[0], "dim1": pair[1]}
    found = dict(zip(_SIGNATURES[name(node)], node.args)) | node.kwargs
    if node.op == "call_method" and node.target in _DTYPES:
        found["dtype"] = _DTYPES[node.target]
    return found


def _exchanged(node):
    """The two axes that t(), .T, .mT or a permutation exchanges, if it is one and does just that; or None."""
    text, x = _text(node), node.args[0] if node.args else node.kwargs.get("input")
    if text not in ("t", "permute", "getattr") or value(x) is None:
        return None
    axes = value(x).dim()
    if text != "permute":
        of_matrix = axes == 2 or (axes > 2 and node.args[1:] == ("mT",))
        return (axes - 2, axes - 1) if of_matrix else None
    order = node.args[1:] if len(node.args) != 2 else node.args[1]
    order = order or node.kwargs.get("dims")
    if not isinstance(order, (tuple, list)) or not all(isinstance(axis, int) for axis in order):
        return None
    moved = [axis for axis, other in enumerate(order) if axis != other % axes]
    return tuple(moved) if len(moved) == 2 else None


def value(node):
    """The fake tensor that stands for a node's result, or None: numbers, lists."""
    found = node.meta.get("example_value") if isinstance(node, torch.fx.Node) else None
    return found if isinstance(found, torch.Tensor) else None


def is_dtensor(x):
    """Whether a tensor is spread over ranks. Who has one has imported what this asks for."""
    tensor = sys.modules.get("torch.distributed.tensor")
    return tensor is not None and isinstance(x, tensor.DTensor)


def local(x):
    """What a rank has of a tensor that is spread over several, or what else it is."""
    return x._local_tensor if is_dtensor(x) else x


def only_user(node):
    """The one node that uses a result, which then need not be kept; or None."""
    return next(iter(node.users)) if len(node.users) == 1 else None


def others(node, one):
    """What an add or a mul takes beside `one`; None where that is not one of its two, or where it is a scaled sum."""
    given = arguments(node)
    pair = given.get("input"), given.get("other")
    if given.get("alpha", 1) != 1 or one not in pair:
        return None
    return pair[1] if pair[0] is one else pair[0]


# Functions of the operator module whose names end as those of in-place functions do.
_READERS = (operator.and_, operator.or_, operator.not_, operator.is_)
_WRITERS = {getattr(operator, f"i{name}") for name in "add sub mul truediv floordiv mod pow matmul and or xor".split()}
_WRITERS |= {operator.ilshift, operator.irshift, operator.iconcat, operator.setitem, operator.delitem}


def writes(node):
    """Whether a node may change a tensor that is there. What is not PyTorch's own may."""
    if node.op == "call_method":
        return node.target.endswith("_") and not node.target.endswith("__")
    if node.op != "call_function":
        return node.op == "call_module"
    target = node.target
    if target in _READERS:
        return False
    if target in _WRITERS or node.kwargs.get("out") is not None or isinstance(target, torch._ops.HigherOrderOperator):
        return True
    if isinstance(target, torch._ops.OpOverloadPacket):
        return any(getattr(target, one)._schema.is_mutable for one in target.overloads())
    if isinstance(target, torch._ops.OpOverload):
        return target._schema.is_mutable
    module = getattr(target, "__module__", None) or "torch"  # builtin functions of torch have none
    if module.partition(".")[0] not in ("torch", "_operator", "builtins", "math", "ridge"):
        return True
    text = _text(node)
    if text.endswith("_") and not text.endswith("__"):
        return True
    if name(node) == "batch_norm":
        return bool(arguments(node).get("training", False))
    return bool(_argument(node, "inplace"))


def _text(node):
    """The name of the function or the method that a node calls."""
    return node.target if isinstance(node.target, str) else getattr(node.target, "__name__", str(node.target))


def _argument(node, parameter):
    """What a Python function is given for a parameter by position or by name; None where it has none of it."""
    if parameter in node.kwargs:
        return node.kwargs[parameter]
    try:
        names = list(inspect.signature(node.target).parameters)
    except (TypeError, ValueError):
        return None
    at = names.index(parameter) if parameter in names else len(node.args)
    return node.args[at] if at < len(node.args) else None


def changes_mode(node):
    """Whether a node begins or ends a region of another gradient mode."""
    return "set_grad_enabled" in _text(node) or "inference_mode" in _text(node)


def refuse_regions(captured):
    """Why nothing of a graph may be replaced; empty: it may."""
    calls = [_text(node) for node in captured.nodes if node.op == "call_function"]
    return "it has a region of torch.func" if any(call.endswith("_nesting") for call in calls) else ""


def autocast_type(device):
    """The type that torch.autocast multiplies in, on this kind of device, where the graph is called; or None."""
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else None


def nodes_of_another_autocast(captured):
    """The nodes in regions of torch.autocast that begin and end within a graph, but for those that turn nothing off and
    nothing on: a model keeps float32 so in a rotary embedding, whether there is an autocast or not."""
    found, open_regions = set(), {}
    for node in captured.nodes:
        if _text(node) == "_enter_autocast":
            device, _, enabled = (*node.args, None, None, None)[:3]
            open_regions[node] = enabled is not False or autocast_type(device) is not None
        elif _text(node) == "_exit_autocast":
            open_regions.pop(node.args[0], None)
        elif any(open_regions.values()):
            found.add(node)
    return found


def is_contiguous(node, axes=None):
    """Whether a result is contiguous with its axes in this order (as they are); without a guard on sizes."""
    shape, strides = value(node).shape, value(node).stride()
    expected = 1
    for axis in reversed(axes or range(len(shape))):
        if hint(shape[axis]) != 1 and hint(strides[axis]) != expected:
            return False
        expected *= hint(shape[axis])
    return True


def in_order(nodes):
    """Nodes of one graph in its order."""
    return tuple(node for node in nodes[0].graph.nodes if node in nodes)


_RUNNING = ("running_mean", "running_var")


def is_disturbed(nodes):
    """Whether a tensor may be written, or a region of gradients or of autocast begins or ends, between the first and the
    last of some nodes: what the first ones compute may then not be computed where the last one is."""
    nodes, inside = in_order(nodes), False
    later = set().union(*(_written_by(node) or () for node in nodes))  # what is written later than it was
    for node in nodes[0].graph.nodes:
        if node is nodes[-1]:
            return False
        inside = inside or node is nodes[0]
        if not inside or node in nodes:
            continue
        if changes_mode(node) or "autocast" in _text(node) or not later.isdisjoint(memory_of(node)):
            return True
        if writes(node) and not _writes_apart(node, nodes):
            return True
    return False


def _written_by(node):
    """The storages that a node writes: a batch norm its running statistics, a method what it is called on. Empty: none;
    None: not known."""
    if not writes(node):
        return set()
    if name(node) == "batch_norm" or _text(node) == "batch_norm_train_":
        given = node.args[1:3] if _text(node) == "batch_norm_train_" else map(arguments(node).get, _RUNNING)
    elif node.op == "call_method":
        given = node.args[:1]
    else:
        return None
    tensors = [value(one) if isinstance(one, torch.fx.Node) else None for one in given]
    return None if None in tensors else {t.untyped_storage()._cdata for t in tensors}


def _writes_apart(node, nodes):
    """Whether a node writes to tensors alone that others neither read nor make."""
    written = _written_by(node)
    return written is not None and written.isdisjoint(set().union(*map(memory_of, nodes)))


def _has_tensors(node):
    """Whether a result is a tensor, or several, as max along an axis gives."""
    found = node.meta.get("example_value")
    return (
        isinstance(found, torch.Tensor) or isinstance(found, tuple) and any(isinstance(x, torch.Tensor) for x in found)
    )


def ancestors(node, stop=()):
    """A node and all that it is computed of, from some nodes on, which are left out."""
    found, left = set(), [node]
    while left:
        one = left.pop()
        if one not in found and one not in stop:
            found.add(one)
            left += one.all_input_nodes
    return found


def leading_to(last, first):
    """The nodes of tensors that lead from some to the last one, without the former."""
    found, left = [], [last]
    while left:
        node = left.pop()
        # Not the sizes of a dynamic graph, which are its inputs.
        if node not in found and node not in first and node.op != "placeholder" and _has_tensors(node):
            found.append(node)
            left += node.all_input_nodes
    return in_order(found)


def sizes(node):
    """A result's sizes as texts: of symbols nothing is decided, and no guard is made."""
    return [str(size) for size in value(node).shape]


def hint(size):
    """A size, or a symbol's in the call that was captured, without a guard on it."""
    return size if isinstance(size, int) else int(size.node.hint)


def axes_of(node):
    """The two axes that a transpose exchanges, counted from the first one."""
    given, count = arguments(node), value(node).dim()
    return {given["dim0"] % count, given["dim1"] % count}


@contextlib.contextmanager
def real_tensors():
    """Without the compiler's modes of fake tensors and of recorded calls, and without gradients."""
    with torch.utils._python_dispatch._disable_current_modes(), torch.no_grad():
        yield


_MOST_CONSTANT = 1 << 26  # elements


def rounds(node, *sizes):
    """Numbers for the symbols in some sizes: {symbol: number} of the call that was captured, and of a larger one, beyond
    every number that a node is computed of: a window that is wider than the first call is then seen. What is the same in
    both is taken to be the same for all sizes. Without symbols there is one round."""
    free = set().union(*(size.node.expr.free_symbols for size in sizes if not isinstance(size, int)))
    symbols = {}
    for one in node.graph.nodes:
        found = one.meta.get("example_value")
        if one.op == "placeholder" and isinstance(found, torch.SymInt) and found.node.expr in free:
            symbols[found.node.expr] = hint(found)
    if not symbols:
        return [{}]
    most = _largest_number(node)
    return [symbols, {one: 2 * max(number, most) + 3 for one, number in symbols.items()}]


def _largest_number(node):
    """Of those that a node is computed of. What has more elements than a constant may have bounds no size."""
    most = [0]

    def look(one):
        if isinstance(one, (int, float)) and abs(one) < _MOST_CONSTANT:
            most.append(int(abs(one)))
        return one

    for one in ancestors(node):
        torch.fx.node.map_aggregate((one.args, dict(one.kwargs)), look)
    return max(most)


def number(size, numbers):
    """A size in a round."""
    return size if isinstance(size, int) else int(size.node.expr.xreplace(numbers))


def constant(node, numbers=None):
    """The tensor that a node makes of numbers alone, without an input, a parameter or a random number; or None. numbers:
    those of a round, where sizes may be symbols."""
    numbers = numbers or {}
    if value(node) is None or not all(isinstance(size, int) or numbers for size in value(node).shape):
        return None
    before, left, results = set(), [node], {}
    while left:
        one = left.pop()
        if one in before or one in results:
            continue
        size = one.meta.get("example_value")
        if one.op == "placeholder" and isinstance(size, torch.SymInt) and numbers:
            results[one] = number(size, numbers)
            continue
        if one.op not in ("call_function", "call_method") or writes(one) or _is_random(one):
            return None
        if isinstance(one.target, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):  # may read what is no input
            return None
        before.add(one)
        left += one.all_input_nodes
    if math.prod(number(size, numbers) for size in value(node).shape) > _MOST_CONSTANT:
        return None
    memory = set().union(*map(memory_of, before))
    if any(writes(one) and not memory.isdisjoint(memory_of(one)) for one in node.graph.nodes):
        return None
    with real_tensors():
        for one in node.graph.nodes:
            if one in before:
                args, kwargs = torch.fx.map_arg((one.args, one.kwargs), results.get)
                call = one.target if one.op == "call_function" else getattr(torch.Tensor, one.target)
                results[one] = call(*args, **kwargs)
    return results[node]


def memory_of(node):
    """The storages of all tensors that a node is given, and of its result: views share theirs."""
    values = map(value, (node, *node.all_input_nodes))
    return {found.untyped_storage()._cdata for found in values if found is not None}


_RANDOM = "rand normal uniform bernoulli multinomial poisson exponential geometric cauchy dropout empty".split()


def _is_random(node):
    return any(word in _text(node) for word in _RANDOM)
