"""An operator of the registry as a PyTorch schema.

    softmax   (Tensor x, *, str? variant=None) -> Tensor
    gemm      (Tensor a, Tensor b, Tensor? c=None, ..., *, str? layout=None, float? alpha=None, ...) -> Tensor

    layer_norm_backward   (Tensor dy, Tensor x, Tensor? gamma=None, *, ..., str? outputs=None) -> Tensor[]
    attention             (Tensor q, Tensor k, Tensor v, Tensor? mask=None, ..., *, ..., bool? lse=None) -> Tensor[]

Inputs are positional, since a gradient is defined for positional tensors only. Options are keyword-only, and None where
the request does not have them.
"""

import re

_INTEGER = re.compile(r"-?\d+(\.\.\S+)?|int(eger)?|(odd|even|whole)( number)?|rows|columns")
_REAL = re.compile(r"float|real|number")


def option_type(values):
    """What an option holds, from the registry's text of its values: bool, int, float, str, or a list of integers."""
    if values in ("0|1", "flag", ""):
        return bool
    if values == "n or 0,2":
        return list
    if _INTEGER.fullmatch(values):
        return int
    if _REAL.fullmatch(values):
        return float
    return str


def option_types(op):
    """{name: type} of every option; those that every operator takes come last."""
    types = {option.name: option_type(option.values) for option in op.options}
    if not set(op.optional_outputs) <= set(types):  # no option of its own name asks for it
        types["outputs"] = str  # which of them, "dx,dgamma"
    types.setdefault("variant", str)
    return types


def arguments(op):
    """The inputs' names in the schema's order: an argument with a default may not stand before one without."""
    required = [name for name in op.inputs if name not in op.optional_inputs]
    return required + [name for name in op.inputs if name in op.optional_inputs]


def returns_list(op):
    """How many outputs there are, the request decides."""
    return bool(op.optional_outputs)


_NAMES = {list: "int[1]"}  # which a single one may be given for


def schema_of(op):
    tensors = [f"Tensor? {name}=None" if name in op.optional_inputs else f"Tensor {name}" for name in arguments(op)]
    options = [f"{_NAMES.get(kind, kind.__name__)}? {name}=None" for name, kind in option_types(op).items()]
    outputs = ", ".join(["Tensor"] * len(op.outputs))
    outputs = "Tensor[]" if returns_list(op) else f"({outputs})" if len(op.outputs) > 1 else outputs
    return f"({', '.join(tensors)}, *, {', '.join(options)}) -> {outputs}"
