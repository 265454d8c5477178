"""torch.func.vmap: the batch is an axis of the operator's own where it has one, and else its calls one by one."""

import torch

from ridge.torch.autocast import CONVOLUTIONS


def rule(op, names):
    """The function for torch.library.register_vmap of an operator with these inputs, in the order of its schema."""
    overload = getattr(torch.ops.ridge, op.name).default

    def batched(info, in_dims, *tensors, **options):
        names_given = names[: len(tensors)]
        given = {
            name: tensor if dim is None else tensor.movedim(dim, 0).contiguous()
            for name, tensor, dim in zip(names_given, tensors, in_dims)
        }
        batched_names = {name for name, dim in zip(names_given, in_dims) if dim is not None}
        rewrite = _RULES.get(op.name)
        call = rewrite(given, batched_names, info.batch_size, options) if rewrite else None
        if call is None:
            return _one_by_one(overload, given, batched_names, info.batch_size, options)
        arguments, options, unfold = call
        outputs = overload(**arguments, **options)
        if isinstance(outputs, torch.Tensor):
            return unfold(outputs), 0
        return type(outputs)(map(unfold, outputs)), type(outputs)([0] * len(outputs))

    return batched


def _one_by_one(overload, given, batched, size, options):
    calls = [
        overload(**{name: t[i] if name in batched else t for name, t in given.items()}, **options) for i in range(size)
    ]
    if not calls:
        raise ValueError(f"{overload}: vmap over an axis of 0; it must be of 1 and more")
    if isinstance(calls[0], torch.Tensor):
        return torch.stack(calls), 0
    kind = type(calls[0])
    return kind(torch.stack(found) for found in zip(*calls)), kind([0] * len(calls[0]))


def _same(tensor):
    return tensor


def _with_batch(given, names, batched, size):
    """The inputs, of these names all with the batch in front."""
    return {
        name: t.expand(size, *t.shape) if name in names and name not in batched and t is not None else t
        for name, t in given.items()
    }


# ---- rules: the inputs, options and the way back of one call for the whole batch; None: there is none ----------------


def _along_axis(*names):
    """Along one axis of the inputs' own, or the last `axes` of them: others may stand in front. What has no such axes is
    refused one by one."""
    leading = _leading(*names)

    def rewrite(given, batched, size, options):
        own = min(given[name].dim() - (name in batched) for name in names if given.get(name) is not None)
        axis = options.get("axis")
        if own < (options.get("axes") or 1) or (axis is not None and not -own <= axis < own):
            return None
        if axis is not None and axis >= 0:
            options = options | {"axis": axis + 1}
        return leading(given, batched, size, options)

    return rewrite


def _leading(*names):
    """An operator of each element: any axes may stand in front of these inputs' own."""

    def rewrite(given, batched, size, options):
        if not batched <= set(names):
            return None
        return _with_batch(given, names, batched, size), options, _same

    return rewrite


def _binary(given, batched, size, options):
    """b is broadcast to a: the axes that it lacks are put between the batch and its own."""
    given = _with_batch(given, {"a"}, batched, size)
    if "b" in batched:
        a, b = given["a"], given["b"]
        given["b"] = b.reshape(size, *[1] * (a.dim() - b.dim()), *b.shape[1:])
    return given, options, _same


def _reduction(one):
    """Over the same axes, behind the batch's; over all of them as rows. one: the option holds an axis, else a list."""

    def rewrite(given, batched, size, options):
        x, axes = given["x"], options.get("axis")
        if axes is None:
            scalars = (size, *[1] * (x.dim() - 1)) if options.get("keepdims") else (size,)
            options = options | {"axis": 1 if one else [1], "keepdims": None}
            return {"x": x.reshape(size, -1)}, options, lambda y: y.reshape(scalars)
        axes, own = [axes] if one else axes, x.dim() - 1
        if not all(-own <= axis < own for axis in axes):
            return None  # refused one by one
        behind = [axis if axis < 0 else axis + 1 for axis in axes]
        return {"x": x}, options | {"axis": behind[0] if one else behind}, _same

    return rewrite


def _matrices(given, batched, size, options):
    """Batches of matrices have one axis more; with what is added to D they are multiplied one by one."""
    if any(given.get(name) is not None for name in set(given) - {"a", "b"}):
        return None
    own = {name: given[name].dim() - (name in batched) for name in ("a", "b")}
    if min(own.values()) < 2:
        return None
    axes = max(own.values())
    found = dict(given)
    for name in batched:
        found[name] = given[name].reshape(size, *[1] * (axes - own[name]), *given[name].shape[1:])
    return found, options, _same


def _images(given, batched, size, options):
    """More images of one batch."""
    if not batched <= {"x", "residual"}:
        return None
    given = _with_batch(given, {"x", "residual"}, batched, size)
    images = given["x"].shape[1]
    folded = {name: t.flatten(0, 1) if name in ("x", "residual") and t is not None else t for name, t in given.items()}
    return folded, options, lambda y: y.unflatten(0, (size, images))


def _sequences(given, batched, size, options):
    """More sequences of one batch, where all have one length."""
    if any(given.get(name) is not None for name in ("mask", "cu_q", "cu_k", "lengths", "block_table")):
        return None
    given = _with_batch(given, {"q", "k", "v"}, batched, size)
    if any(given[name].dim() != 5 for name in "qkv"):
        return None
    sequences = given["q"].shape[1]
    folded = {name: None if t is None else t.flatten(0, 1) for name, t in given.items()}
    return folded, options, lambda o: o.unflatten(0, (size, sequences))


_RULES = {
    **dict.fromkeys(("copy", "relu", "sigmoid", "tanh", "exp", "gelu", "gelu_tanh", "silu"), _leading("a")),
    **dict.fromkeys(("softmax", "log_softmax", "layer_norm", "rms_norm"), _along_axis("x")),
    **dict.fromkeys(("softmax_backward", "log_softmax_backward"), _along_axis("dy", "y")),
    **dict.fromkeys(("add_layer_norm", "add_rms_norm", "linear"), _along_axis("x", "residual")),
    "embedding": _leading("indices"),
    "add": _binary,
    "mul": _binary,
    **dict.fromkeys(("sum", "mean", "max", "min"), _reduction(one=False)),
    **dict.fromkeys(("argmax", "argmin"), _reduction(one=True)),
    "gemm": _matrices,
    **dict.fromkeys((*CONVOLUTIONS, "group_norm", "upsample"), _images),
    "attention": _sequences,
}
