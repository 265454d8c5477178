"""Sharding rules of DTensor for every operator of the registry, from what their axes mean (axes.py).

A rule is a list of choices for one axis of a mesh: where the inputs are to lie, and where the outputs then lie. DTensor
takes the one that moves the least, for each axis of the mesh. An operator without a row in axes.py has one choice, all
inputs whole on each rank, which is right for any.
"""

import dataclasses
import functools
import math

import torch
from torch.distributed.tensor import DTensor, Partial, Placement, Replicate, Shard
from torch.distributed.tensor._op_schema import OpStrategy, RuntimeSchemaInfo
from torch.distributed.tensor._ops.utils import expand_to_full_mesh_op_strategy
from torch.distributed.tensor.placement_types import _MaskPartial

from ridge.torch import schema
from ridge.torch.distributed.axes import ROWS, Request


@dataclasses.dataclass(frozen=True)
class Choice:
    """Where tensors lie on one axis of a mesh, by their names."""

    inputs: dict[str, Placement]
    outputs: dict[str, Placement]


def choices(op, request, ranks):
    """Every Choice of an operator of the registry for a Request, on any axis of a mesh of so many ranks. The first one
    has all whole."""
    inputs, outputs = list(request.shapes), _outputs(op, request)
    whole = Choice(dict.fromkeys(inputs, Replicate()), dict.fromkeys(outputs, Replicate()))
    row = ROWS.get(op.name)
    if row is None:
        return [whole]
    axes = _read(row, request)
    sizes = _sizes(axes, request)
    cut = (_cut_along(letter, row, request, axes, sizes, outputs, ranks) for letter in sizes)
    added_up = (_in_parts(group, inputs, outputs) for group in row.linear if set(group) <= set(inputs))
    found = [whole, *filter(None, cut), *added_up]
    if row.looked_up:
        found.append(_rows_of_a_table(row, request, outputs))
    return found


def _outputs(op, request):
    """The names of the results that a request gives."""
    if not op.optional_outputs:
        return op.outputs
    if "outputs" in schema.option_types(op):
        asked = request.options.get("outputs")
        return asked.split(",") if asked else op.outputs
    return [name for name in op.outputs if name not in op.optional_outputs or request.options.get(name)]


def _read(row, request):
    """{tensor: a letter for each axis} of the text of a row. In outputs, whose shapes are not known here, a star and a
    dot stand for as many axes as in the input that has the most."""
    text = row.axes if isinstance(row.axes, str) else row.axes(request)
    texts = dict(part.split(":") for part in text.replace("->", "").split())
    most, found = {"*": 0, ".": 0}, {}
    for name, letters in texts.items():
        if name in request.shapes:
            axes = len(request.shapes[name])
            for several in set(letters) & set(most):
                most[several] = max(most[several], axes - len(letters) + 1)
            found[name] = _spell(letters, axes)
    of_outputs = {name: letters for name, letters in texts.items() if name not in request.shapes}
    for name, letters in of_outputs.items():
        more = sum(most[several] - 1 for several in set(letters) & set(most))
        found[name] = _spell(letters, len(letters) + more)
    return found


def _spell(letters, axes):
    """A letter for each of so many axes; those of a star have numbers, counted from the right."""
    count = axes - len(letters) + 1
    spelled = []
    for letter in letters:
        if letter == "*":
            spelled += [f"*{place}" for place in range(count, 0, -1)]
        else:
            spelled += ["."] * count if letter == "." else [letter]
    return spelled[len(spelled) - axes :]


def _may_be_cut(letter):
    return letter[0] == "*" or letter.islower()


def _sizes(axes, request):
    """{letter: its sizes} of the axes of inputs that may be cut, but for sizes of 1."""
    found = {}
    for name, shape in request.shapes.items():
        for letter, size in zip(axes[name], shape):
            if _may_be_cut(letter) and size != 1:
                found.setdefault(letter, set()).add(size)
    return found


def _cut_along(letter, row, request, axes, sizes, outputs, ranks):
    """The choice in which all that have an axis are cut along it; None where there is none, or where a rank would have
    nothing of it."""
    if any((ranks - 1) * math.ceil(size / ranks) >= size for size in sizes[letter]):
        return None
    even = all(size % ranks == 0 for size in sizes[letter])
    if len(sizes[letter]) > 1 and not even:
        return None
    at = {}
    for name, letters in axes.items():
        shape = request.shapes.get(name)
        if letter in letters and (shape is None or shape[letters.index(letter)] != 1):
            at[name] = letters.index(letter)
    in_parts = any(name not in at for name in outputs)
    if in_parts and (not row.has_parts(request) or (row.reduce == "avg" and not even)):
        return None

    def place(name, otherwise):
        return Shard(at[name]) if name in at else otherwise

    return Choice(
        {n: place(n, Partial() if in_parts and n in row.added else Replicate()) for n in request.shapes},
        {name: place(name, Partial(row.reduce)) for name in outputs},
    )


def _in_parts(group, inputs, outputs):
    """The choice in which a result is linear in some inputs."""
    placed = {name: Partial() if name in group else Replicate() for name in inputs}
    return Choice(placed, dict.fromkeys(outputs, Partial()))


def _rows_of_a_table(row, request, outputs):
    """The choice in which a rank has some rows of a table. DTensor masks the indices of others, and their results."""
    table, indices = row.looked_up
    masked = _MaskPartial(offset_shape=torch.Size(request.shapes[table]), offset_dim=0)
    return Choice({table: Shard(0), indices: masked}, dict.fromkeys(outputs, masked))


# ---- DTensor --------------------------------------------------------------------------------------------------------


def register(op):
    """Gives DTensor the rule of an operator of the registry."""
    overload = getattr(torch.ops.ridge, op.name).default
    names = schema.arguments(op)
    _register(overload, functools.partial(_strategy, op, names), list(schema.option_types(op)))


def refuse(overload, why):
    """Has DTensor say why it does not take an operator."""

    def strategy(_):
        raise NotImplementedError(f"{overload.name()} takes no DTensor: {why}")

    _register(overload, strategy, None)


def _register(overload, strategy, options):
    """What register_sharding does, whose cache of decisions would not tell texts among the options apart, nor which
    optional tensors are given. Here all options and all inputs are told apart."""
    info = RuntimeSchemaInfo(static_argnum=0, static_kwargkey=options)
    DTensor._op_dispatcher.sharding_propagator.register_op_strategy(overload, strategy, info)


def _strategy(op, names, op_schema):
    mesh = op_schema.get_mesh_from_args()
    shapes = {name: x.shape for name, x in zip(names, op_schema.args_schema) if isinstance(x, OpStrategy)}
    request = Request(shapes, op_schema.kwargs_schema)
    found = choices(op, request, mesh.size())
    placements = [[*choice.outputs.values(), *choice.inputs.values()] for choice in found]
    outputs = len(found[0].outputs)
    strategies = expand_to_full_mesh_op_strategy(mesh, op_schema, placements, input_index=outputs)
    if schema.returns_list(op) and outputs == 1:
        for strategy in strategies.strategies:
            strategy.output_specs = (strategy.output_specs,)
    return strategies
