"""What the axes of every operator's tensors mean: the facts that its sharding rules follow from (sharding.py).

    linear   x:*k w:nk bias:n residual:*n -> y:*n

A letter is an axis, and the same letter is the same axis in each tensor.

    k    may be cut. Tensors that have it are cut along it, the other inputs are whole on each rank; of an output that
         lacks it each rank has a part, and these are to be added up.
    K    must be whole, for the operator reads along it: the axis of a softmax, a norm's row, a filter's rows
    1    has one element
    *    any number of axes that may be cut, aligned to the right, as they broadcast
    .    any number of axes that must be whole

An input of fewer axes than letters has the last ones. An axis of one element where others have more is broadcast: it is
as if the tensor lacked it. Where an axis has several sizes (heads of q, and of k and v that they share), each is cut
evenly or none. Where options or shapes decide, a row has a function that writes the text.
"""

import dataclasses
import re
import string
from typing import Callable


@dataclasses.dataclass(frozen=True)
class Row:
    """axes      the text above, or what writes it for a Request
    reduce       how parts are put together: "sum", "avg", "max", "min"
    has_parts    whether a result may be put together of parts: not behind an activation, whose sum it is not
    added        inputs that are added to a sum: where the result is in parts, these are
    linear       groups of inputs: with all of one group in parts and the others whole, so are the results
    looked_up    (table, indices): a rank that has some rows of the table gives zeros for indices of others
    """

    axes: str | Callable[["Request"], str]
    reduce: str = "sum"
    has_parts: Callable[["Request"], bool] = lambda request: True
    added: tuple[str, ...] = ()
    linear: tuple[tuple[str, ...], ...] = ()
    looked_up: tuple[str, str] | None = None


class Request:
    """An operator's call without its numbers: shapes of the tensors that are given, by name, and the options."""

    def __init__(self, shapes, options):
        self.shapes = shapes
        self.options = {name: value for name, value in options.items() if value is not None}

    def has(self, *names):
        return any(name in self.shapes for name in names)

    def letters(self, name):
        """A letter for each axis of an input."""
        return list(string.ascii_lowercase[: len(self.shapes[name])])

    def parts_of_epilogue(self):
        text = self.options.get("epilogue") or self.options.get("activation") or ""
        return [part for part in text.split("+") if part and part != "none"]


# ---- what options decide --------------------------------------------------------------------------------------------


def _along_axis(*names):
    """All of one shape, whole along the option `axis`."""

    def axes(request):
        letters = request.letters(names[0])
        axis = request.options.get("axis", -1)
        letters[axis] = letters[axis].upper()
        text = "".join(letters)
        *inputs, output = (f"{name}:{text}" for name in names)
        return f"{' '.join(inputs)} -> {output}"

    return axes


def _reduced(whole=False):
    """The option `axis` names those that the result lacks, or has as 1; without it they are all."""

    def axes(request):
        letters = request.letters("x")
        asked = request.options.get("axis")
        asked = range(len(letters)) if asked is None else asked if isinstance(asked, (list, tuple)) else [asked]
        gone = {axis % len(letters) for axis in asked}
        x = [letter.upper() if whole and axis in gone else letter for axis, letter in enumerate(letters)]
        kept = "1" if request.options.get("keepdims") else ""
        y = [kept if axis in gone else letter for axis, letter in enumerate(letters)]
        return f"x:{''.join(x)} -> y:{''.join(y)}"

    return axes


def _permuted(request):
    x = request.letters("x")
    order = request.options.get("axes")
    y = x[::-1] if order is None else [x[int(axis)] for axis in order.split(",")]
    return f"x:{''.join(x)} -> y:{''.join(y)}"


def _rows(text):
    """R stands for the last axes, which a norm's row is made of."""
    return lambda request: text.replace("R", "R" * request.options.get("axes", 1))


def _images(text):
    """c: the channels; they come second, or last in layouts that end so."""

    def axes(request):
        last = request.options.get("layout", "").endswith("c")
        return re.sub(r"([coCO])\.", r".\1", text) if last else text

    return axes


def _convolved(text):
    """With groups, filters belong to some of the channels."""
    alone = _images(text)
    grouped = _images(text.replace("c", "C").replace("o", "O"))  # which no tensor's name has
    return lambda request: (alone if int(request.options.get("groups", "1")) == 1 else grouped)(request)


def _product(groups=False):
    """op(a) op(b), or the same of groups of rows of a, each with a matrix of its own."""

    def axes(request):
        layout = request.options.get("layout", "nn")
        m = "M" if groups else "m"  # offsets say which rows are a group
        a = f"k{m}" if layout[0] == "t" else f"{m}k"
        b = "nk" if layout[1] == "t" else "kn"
        if groups:
            return f"a:{a} b:G{b} offsets:O c:Mn bias:Gn residual:Mn -> d:Mn"
        bias = "m" if "bias_m" in request.parts_of_epilogue() else "n"
        return f"a:*{a} b:*{b} c:*mn bias:{bias} residual:*mn gate:*{b} gate_bias:n -> d:*mn"

    return axes


def _vector(request):
    a = "km" if request.options.get("layout") == "t" else "mk"
    return f"a:{a} x:k c:m bias:m -> y:m"


def _is_sum(request):
    """Of a product: whether nothing but sums follows it, in a type that holds them."""
    narrow = request.options.get("out") in ("i8", "u8", "f8e4m3", "f8e5m2")
    return not narrow and set(request.parts_of_epilogue()) <= {"bias", "bias_m", "residual"}


def _attention(request):
    """Queries are apart where each sees all keys. Gradients are sums over queries and over keys: lse and o say what the
    other keys weigh."""
    options, backward = request.options, request.has("do")
    every = options.get("causal", "0") == "0" and options.get("window", "-1,-1") == "-1,-1"
    packed_q, packed_k, paged = request.has("cu_q"), request.has("cu_k"), request.has("block_table")
    b = "B" if packed_q or packed_k else "b"
    s = "s" if every and not packed_q else "S"
    t = "t" if every and backward and not packed_k else "T"

    def tensor(rows, head, columns, packed):
        if packed:
            return rows + head + columns
        return f"{b}{rows}{head}{columns}" if options.get("layout") == "bshd" else f"{b}{head}{rows}{columns}"

    q_heads_at = 1 if packed_q or options.get("layout") != "bshd" else 2
    k_heads_at = 2 if paged else 1 if packed_k or options.get("layout") != "bshd" else 2
    k_heads = request.shapes["k"][k_heads_at]
    g = "1" if k_heads == 1 and request.shapes["q"][q_heads_at] > 1 else "h"  # one head that all share is on each rank
    q, o = (tensor(s, "h", columns, packed_q) for columns in "DE")
    k, v = ("XY" + g + columns if paged else tensor(t, g, columns, packed_k) for columns in "DE")
    lse = "h" + s if packed_q else f"{b}h{s}"
    given = f"q:{q} k:{k} v:{v} mask:{b}h{s}{t} cu_q:C cu_k:C lengths:{b} block_table:{b}P"
    if backward:
        return f"do:{o} o:{o} lse:{lse} {given} -> dq:{q} dk:{k} dv:{v}"
    return f"{given} -> o:{o} lse:{lse}"


def _rope(request):
    s = "s" if request.has("positions") else "S"  # without positions a row's place is its position
    x = f"b{s}hD"[-len(request.shapes["x"]) :]
    return f"x:{x} positions:b{s} cos:PE sin:PE -> y:{x}"


def _rope_cache(request):
    paged, one = request.has("block_table"), len(request.shapes["q"]) == 3
    b = "B" if paged else "1" if one else "b"  # sequences share pages
    alike = request.shapes["k"][-2] > 1 or request.shapes["q"][-2] == 1
    q_head, k_head = "hh" if alike else "H1"  # a cache of one head is on each rank, as k is
    rows = "XY" + k_head if paged else f"{b}R{k_head}" if request.options.get("layout") == "bshd" else f"{b}{k_head}R"
    q, k = (("S" if one else f"{b}S") + head for head in (q_head, k_head))
    given = f"q:{q}D k:{k}D v:{k}E positions:{b}S cos:PF sin:PF block_table:{b}P"
    return f"{given} -> q_out:{q}D k_cache:{rows}D v_cache:{rows}E"


# ---- the rows -------------------------------------------------------------------------------------------------------

_EACH = Row("a:* -> y:*")
_NORM = Row(_rows("x:*R residual:*R gamma:R beta:R -> y:*R sum:*R"))
_NORM_BACKWARD = Row(_rows("dy:*R x:*R sum:*R gamma:R dsum:*R -> dx:*R dgamma:R dbeta:R"))
_CONVOLUTION = Row(
    _convolved("x:nc. w:oc. bias:o residual:no. -> y:no."), has_parts=_is_sum, added=("bias", "residual")
)
_CONVOLUTION_BACKWARD = Row(_convolved("dy:no. x:nc. w:oc. -> dx:nc. dw:oc."))
_TRANSPOSED = Row(_convolved("x:nc. w:co. bias:o residual:no. -> y:no."), has_parts=_is_sum, added=("bias", "residual"))
_EACH_IMAGE = Row(_images("x:nc. -> y:nc."))
_EACH_IMAGE_BACKWARD = Row(_images("dy:nc. x:nc. y:nc. -> dx:nc."))
_ATTENTION = Row(_attention)
_OF_CHANNELS = "mean:c var:c gamma:c beta:c"  # batch norm's, and its gradients
_GRADIENTS = "dx:nc. dgamma:c dbeta:c dresidual:nc."

ROWS = {
    **dict.fromkeys(("relu", "sigmoid", "tanh", "exp", "gelu", "gelu_tanh", "silu"), _EACH),
    "copy": Row("a:* -> y:*", linear=(("a",),)),
    "add": Row("a:* b:* -> y:*", linear=(("a", "b"),)),
    "mul": Row("a:* b:* -> y:*", linear=(("a",), ("b",))),
    "transpose": Row("x:*mn -> y:*nm", linear=(("x",),)),
    "permute": Row(_permuted, linear=(("x",),)),
    "sum": Row(_reduced(), linear=(("x",),)),
    "mean": Row(_reduced(), reduce="avg", linear=(("x",),)),
    "max": Row(_reduced(), reduce="max"),
    "min": Row(_reduced(), reduce="min"),
    **dict.fromkeys(("argmax", "argmin"), Row(_reduced(whole=True))),
    "dot": Row("x:* z:* -> y:"),
    "trace": Row("x:MN -> y:"),
    "histogram": Row("x:* -> counts:B"),
    "window_sum": Row("x:*T -> y:*T"),
    **dict.fromkeys(("softmax", "log_softmax"), Row(_along_axis("x", "y"))),
    **dict.fromkeys(("softmax_backward", "log_softmax_backward"), Row(_along_axis("dy", "y", "dx"))),
    **dict.fromkeys(("layer_norm", "rms_norm", "add_layer_norm", "add_rms_norm"), _NORM),
    **dict.fromkeys(
        ("layer_norm_backward", "rms_norm_backward", "add_layer_norm_backward", "add_rms_norm_backward"), _NORM_BACKWARD
    ),
    "group_norm": Row(_images("x:nC. gamma:C beta:C -> y:nC.")),
    "group_norm_backward": Row(_images("dy:nC. x:nC. gamma:C beta:C -> dx:nC. dgamma:C dbeta:C")),
    "batch_norm": Row(_images("x:nc. mean:c var:c gamma:c beta:c residual:nc. -> y:nc.")),
    "batch_norm_backward": Row(_images("dy:nc. x:nc. " + _OF_CHANNELS + " residual:nc. -> " + _GRADIENTS)),
    "batch_norm_stats": Row(_images("x:Nc. -> mean:c var:c")),
    "batch_norm_train": Row(_images("x:Nc. gamma:c beta:c residual:Nc. -> y:Nc. mean:c var:c")),
    "batch_norm_train_backward": Row(
        _images("dy:Nc. x:Nc. " + _OF_CHANNELS + " residual:Nc. -> " + _GRADIENTS.replace("n", "N"))
    ),
    **dict.fromkeys(("conv1d", "conv2d", "conv3d"), _CONVOLUTION),
    **dict.fromkeys(("conv1d_backward", "conv2d_backward", "conv3d_backward"), _CONVOLUTION_BACKWARD),
    **dict.fromkeys(("conv_transpose1d", "conv_transpose2d"), _TRANSPOSED),
    "dwconv": Row("k:bcT w:cF -> y:bcT"),
    "dwconv_backward": Row("dy:bcT k:bcT w:cF -> dk:bcT dw:cF"),
    **dict.fromkeys(("max_pool2d", "avg_pool2d", "adaptive_avg_pool2d", "upsample"), _EACH_IMAGE),
    **dict.fromkeys(
        ("max_pool2d_backward", "avg_pool2d_backward", "adaptive_avg_pool2d_backward", "upsample_backward"),
        _EACH_IMAGE_BACKWARD,
    ),
    "nms": Row("boxes:NF scores:N classes:N -> indices:N count:"),
    "embedding": Row("table:Vd indices:* -> y:*d", looked_up=("table", "indices")),
    "embedding_norm": Row("table:VD indices:* gamma:D beta:D -> x:*D y:*D"),
    "rope": Row(_rope),
    "rope_cache": Row(_rope_cache),
    **dict.fromkeys(("attention", "attention_backward"), _ATTENTION),
    "attention_merge": Row("o_a:bhsE lse_a:bhs o_b:bhsE lse_b:bhs -> o:bhsE lse:bhs"),
    "linear": Row("x:*k w:nk bias:n residual:*n -> y:*n", has_parts=_is_sum, added=("bias", "residual")),
    "gemm": Row(_product(), has_parts=_is_sum, added=("c", "bias", "residual")),
    "grouped_gemm": Row(_product(groups=True), has_parts=_is_sum, added=("c", "bias", "residual")),
    "gemv": Row(_vector, has_parts=_is_sum, added=("c", "bias")),
    "checklist_copy": Row("x:* -> y:*"),
    "checklist_vecadd": Row("a:* b:* -> y:*"),
    "checklist_histogram": Row("x:* -> y:B"),
    **dict.fromkeys(("checklist_branch", "checklist_window", "checklist_banks"), Row("x:. -> y:.")),  # of places
}
