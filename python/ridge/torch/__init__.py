"""Ridge in PyTorch.

    import ridge.torch                       # registers every operator as torch.ops.ridge.*
    y = torch.ops.ridge.softmax(x)           # eager, under torch.compile, in a CUDA graph, with a gradient
    y = ridge.torch.permute(x, axes=(2, 0, 1))

torch.ops.ridge.* take options in the type of their schema; the functions of this module take any value that means the
same, and give a single result as it is where the schema has a list. Tensors may lie on the GPU or on the CPU, where
Ridge's CPU runtime runs them. docs/torch.md.
"""

import collections.abc
import inspect
import typing

import torch

from ridge import _options
from ridge.torch import library, register, schema

OPERATORS = {op.name: op for op in library.operators()}

for _op in OPERATORS.values():
    register.register(_op)


def _convert(kind, value):
    """A value in an option's type: (2, 0, 1) as "2,0,1"."""
    if value is None:
        return None
    if kind is list:
        if isinstance(value, str):
            value = [int(v) for v in value.split(",")]
        return list(value) if isinstance(value, (tuple, list)) else [int(value)]
    if kind is str:
        if isinstance(value, torch.dtype):
            return library.dtype_name(value)
        if isinstance(value, (tuple, list)):
            return ",".join(str(v) for v in value)
        if isinstance(value, bool):
            return str(int(value))
        return str(value)
    return kind(value)


def _annotation(name, option):
    if name == "out":
        return torch.dtype | str
    names = {"Literal": typing.Literal, "Sequence": collections.abc.Sequence}
    return eval(_options.annotation(vars(option)), names) if option else str


def _signature(op):
    """The parameters of an operator's function, with the registry's defaults. Of the schema they are None."""
    P = inspect.Parameter
    listed = {option.name: option for option in op.options}
    parameters = []
    for name in schema.arguments(op):
        optional = name in op.optional_inputs
        kind, default = (torch.Tensor | None, None) if optional else (torch.Tensor, P.empty)
        parameters.append(P(name, P.POSITIONAL_OR_KEYWORD, default=default, annotation=kind))
    for name in schema.option_types(op):
        option = listed.get(name)
        default = None if not option else P.empty if option.required else _options.default(vars(option))
        kind = _annotation(name, option)
        kind = kind | None if default is None else kind
        parameters.append(P(name, P.KEYWORD_ONLY, default=default, annotation=kind))
    several = tuple[(torch.Tensor,) * len(op.outputs)] if len(op.outputs) > 1 else torch.Tensor
    result = torch.Tensor | list[torch.Tensor] if schema.returns_list(op) else several
    return inspect.Signature(parameters, return_annotation=result)


def _show_options(function, op):
    """Of a function that takes **options: those of its own schema, with the defaults of an operator of the registry."""
    P = inspect.Parameter
    taken = [a.name for a in getattr(torch.ops.ridge, function.__name__).default._schema.arguments if a.kwarg_only]
    known = _signature(op).parameters
    inputs = [p for p in inspect.signature(function).parameters.values() if p.kind is not P.VAR_KEYWORD]
    function.__signature__ = inspect.Signature([*inputs, *(known[name] for name in taken)])


if "rope_cache" in OPERATORS:
    from ridge.torch.caches import rope_cache_

    _show_options(rope_cache_, OPERATORS["rope_cache"])


if "attention" in OPERATORS:
    from ridge.torch.sinks import attention_with_sinks  # noqa: F401


def _function(name):
    op = OPERATORS[name]
    overload = getattr(torch.ops.ridge, name).default
    types = schema.option_types(op)
    inputs = set(op.inputs)

    def function(*tensors, **options):
        given = {k: v if k in inputs else _convert(types.get(k, str), v) for k, v in options.items()}
        found = overload(*tensors, **given)
        return found[0] if isinstance(found, list) and len(found) == 1 else found

    function.__name__ = function.__qualname__ = name
    function.__signature__ = _signature(op)
    options = [f"    {option.name}={option.values}  {option.help}".rstrip() for option in op.options]
    lines = [op.summary + ".", *(["", "Options", *options] if options else [])]
    function.__doc__ = "\n".join([*lines, "", "torch.ops." + str(overload._schema).replace("::", ".")])
    return function


# What needs torch.compile's machinery, whose import takes seconds.
_OF_COMPILED_MODELS = ("backend", "accelerate", "report")


def __getattr__(name):
    if name in _OF_COMPILED_MODELS:
        from ridge.torch.fx import backend

        return getattr(backend, name)
    if name not in OPERATORS:
        raise AttributeError(f"ridge.torch has no operator '{name}'; it has {', '.join(OPERATORS)}")
    globals()[name] = _function(name)
    return globals()[name]


def __dir__():
    return sorted([*globals(), *_OF_COMPILED_MODELS, *OPERATORS])
