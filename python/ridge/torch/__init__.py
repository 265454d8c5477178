"""Ridge in PyTorch.

    import ridge.torch                       # registers every operator as torch.ops.ridge.*
    y = torch.ops.ridge.softmax(x)           # eager, under torch.compile, in a CUDA graph, with a gradient
    y = ridge.torch.permute(x, axes=(2, 0, 1))

torch.ops.ridge.* take options in the type of their schema; the functions of this module take any value that means the
same, and give a single result as it is where the schema has a list. Tensors may lie on the GPU or on the CPU, where Ridge's CPU runtime runs them. docs/torch.md.
"""

import functools

import torch

from ridge.torch import library, register, schema

OPERATORS = {op.name: op for op in library.operators()}

for _op in OPERATORS.values():
    register.register(_op)

if "rope_cache" in OPERATORS:
    from ridge.torch.caches import rope_cache_  # noqa: F401


def _convert(kind, value):
    """A value in an option's type: (2, 0, 1) as "2,0,1"."""
    if value is None:
        return None
    if kind is str:
        if isinstance(value, torch.dtype):
            return library.dtype_name(value)
        if isinstance(value, (tuple, list)):
            return ",".join(str(v) for v in value)
        if isinstance(value, bool):
            return str(int(value))
        return str(value)
    return kind(value)


def _function(name):
    op = OPERATORS[name]
    overload = getattr(torch.ops.ridge, name).default
    types = schema.option_types(op)
    inputs = set(op.inputs)

    @functools.wraps(overload)
    def function(*tensors, **options):
        given = {k: v if k in inputs else _convert(types.get(k, str), v) for k, v in options.items()}
        found = overload(*tensors, **given)
        return found[0] if isinstance(found, list) and len(found) == 1 else found

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{op.summary}\n\ntorch.ops.ridge.{overload._schema}"
    return function


def __getattr__(name):
    if name not in OPERATORS:
        raise AttributeError(f"ridge.torch has no operator '{name}'; it has {', '.join(OPERATORS)}")
    globals()[name] = _function(name)
    return globals()[name]


def __dir__():
    return sorted([*globals(), *OPERATORS])
