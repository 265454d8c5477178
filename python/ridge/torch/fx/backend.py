"""torch.compile(model, backend="ridge"): Ridge's operators where they are faster, and Inductor for all else.

import ridge.torch
fast = torch.compile(model, backend="ridge")            # mode= and options= are Inductor's
ridge.torch.accelerate(model)                           # the same in place, without Inductor
print(ridge.torch.report(fast))                         # what was replaced, what was not, and why
"""

import dataclasses
import operator
import weakref

import torch

import ridge
from ridge.torch.fx import choose, fold, graph, patterns, spelled
from ridge.torch.fx.match import Unfit


@dataclasses.dataclass(frozen=True)
class Entry:
    """What was found at one place of a model. Times are in microseconds, None where nothing was measured."""

    what: str
    where: str  # the module's name
    replaced: bool
    why: str
    ridge_us: float | None = None
    torch_us: float | None = None
    ours: bool = True  # False: replaced by PyTorch's own operator, called otherwise


@dataclasses.dataclass(frozen=True)
class _Captured:
    parameters: weakref.WeakSet
    entries: tuple


_captured = []


def backend(module, example_inputs, mode=None, options=None, inductor=True, measure=True):
    """A backend of torch.compile.

    mode, options   Inductor's (torch._inductor.list_mode_options, list_options)
    inductor        False: what Ridge does not replace is run as it was captured
    measure         what fits is timed on a GPU, and stays PyTorch's where that is faster, as it always does on a CPU,
                    whose runtime checks and does not hurry. False: all that fits is replaced
    """
    parameters = weakref.WeakSet(x for x in example_inputs if isinstance(x, torch.nn.Parameter))
    stopwatch = choose.Stopwatch(inductor) if measure else None
    entries = replace(module.graph, _is_trained(example_inputs), stopwatch)
    if inductor:
        fold.together(module.graph)
    _captured[:] = [c for c in _captured if len(c.parameters)]
    _captured.append(_Captured(parameters, tuple(entries)))
    module.recompile()
    if not inductor:
        return module.forward
    from torch._inductor import list_mode_options
    from torch._inductor.compile_fx import compile_fx

    patches = {**(list_mode_options(mode) if mode else {}), **(options or {})}
    return compile_fx(module, example_inputs, config_patches=patches)


def _is_trained(inputs):
    return torch.is_grad_enabled() and any(isinstance(x, torch.Tensor) and x.requires_grad for x in inputs)


def replace(captured, training, stopwatch):
    """Replaces what patterns find in a graph, and says what was done. Without a stopwatch it is all that fits."""
    if why := graph.refuse_regions(captured):
        return [Entry("all", "", False, why)]
    if any(graph.is_dtensor(graph.value(node)) for node in captured.nodes):
        import ridge.torch.distributed  # noqa: F401, the rules for what is put in
    _drop_no_dropout(captured)
    spelled.rewrite(captured)
    apart = graph.nodes_of_another_autocast(captured)
    entries, gone = [], set(apart)
    for pattern in patterns.TRAINING if training else patterns.INFERENCE:
        for node in list(captured.nodes):
            if node in gone:
                continue
            found, match = _find(pattern, node, training, stopwatch, apart)
            if match:
                gone.update(_put(captured, match))
            entries += found
    return entries


def _find(pattern, node, training, stopwatch, apart):
    """(what is told of a pattern at a node, the match to be put there or None)."""
    judged, best = [], None
    try:
        for match in pattern(node, training):
            if best and match.what != best[0].what:
                break
            judged.append(_judge(match, stopwatch, apart))
            if judged[-1].replaced and (not best or (judged[-1].ridge_us or 0) < (best[0].ridge_us or 0)):
                best = judged[-1], match  # of the ways to compute the same, the fastest
    except Unfit as why:
        judged.append(Entry(graph.name(node), _where(node), False, str(why)))
    except Exception as error:  # what a pattern does not foresee must not end the compilation
        why = f"not understood: {type(error).__name__}: {error}".splitlines()[0]
        judged.append(Entry(str(graph.name(node)), _where(node), False, why))
    if best:
        return [best[0]], best[1]
    return judged[:1], None  # of several ways that were refused, the one with most in it is told


def _judge(match, stopwatch, apart):
    where = _where(match.nodes[-1 if match.sums else 0])
    if not apart.isdisjoint(match.nodes):
        return Entry(match.what, where, False, "it has a region of autocast")
    if graph.is_disturbed(match.nodes):
        return Entry(match.what, where, False, "a tensor may be written in between, or a mode changed")
    if not match.any_layout and not all(graph.is_contiguous(node) for node in (match.nodes[-1], *match.sums)):
        return Entry(match.what, where, False, "its result is not contiguous")
    if stopwatch is None:
        return Entry(match.what, where, True, "not measured")
    values, norm = (
        tuple(graph.value(x) if isinstance(x, torch.fx.Node) else x for x in given)
        for given in (match.inputs, match.norm)
    )
    device = next(v.device for v in values if isinstance(v, torch.Tensor))
    if device.type != "cuda":
        return Entry(match.what, where, False, "Ridge's CPU runtime checks and does not hurry")
    try:
        ours, theirs = stopwatch.times(match, values, norm)
    except (ValueError, TypeError, RuntimeError, ridge.Unsupported) as refusal:
        return Entry(match.what, where, False, str(refusal).splitlines()[0])
    why = "faster" if ours < theirs else "slower"
    return Entry(match.what, where, ours < theirs, why, ours, theirs, match.ours)


def _put(captured, match):
    """Ridge's call in place of a match's nodes; returns those that are no more."""
    last = match.nodes[-1]
    with captured.inserting_before(match.sums[0] if match.sums else last):
        inputs = match.inputs
        if match.norm:
            folded = captured.call_function(fold.batch_norm, (*inputs[1:3], *match.norm))
            filters_and_bias = (captured.call_function(operator.getitem, (folded, i)) for i in range(2))
            inputs = (inputs[0], *filters_and_bias, *inputs[3:])
        call = captured.call_function(match.ridge, inputs)
        made = [call]
        if match.sums:
            made += [captured.call_function(operator.getitem, (call, i)) for i in range(2)]
    for old, new in zip((last, *match.sums), made[1:] or made):
        new.meta.update(old.meta)
        old.replace_all_uses_with(new)
    gone = []
    for node in reversed(match.nodes):
        if not node.users:
            captured.erase_node(node)
            gone.append(node)
    return gone


def _drop_no_dropout(captured):
    """Of a model in evaluation mode, which keeps the calls that do nothing."""
    for node in list(captured.nodes):
        if graph.name(node) != "dropout":
            continue
        given = graph.arguments(node)
        if given.get("training", True) and given.get("p", 0.5):
            continue
        node.replace_all_uses_with(given["input"])
        captured.erase_node(node)


def _where(node):
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    text = stack[-1][0] if stack else ""
    for noise in ("L['self'].", "L['fn'].", "_modules.", "L['self']"):
        text = text.replace(noise, "")
    return text.replace("['", ".").replace("']", "").strip(".")


def accelerate(model, measure=True):
    """Ridge's operators in an eager model, in place: its graph is captured at the first call and run as it is, without
    Inductor. Returns the model."""
    model.compile(backend=lambda module, inputs: backend(module, inputs, inductor=False, measure=measure))
    return model


class Report:
    """What Ridge found in a model: `entries`, and as text a table of them, those alike in one line."""

    def __init__(self, graphs):
        self.graphs = len(graphs)  # captured of this model
        self.entries = tuple(entry for captured in graphs for entry in captured.entries)

    def __str__(self):
        if not self.graphs:
            return "nothing was captured yet: call the compiled model once"
        lines, seen = [], {}
        for entry in self.entries:
            key = entry.what, entry.replaced and entry.ours, entry.why, entry.ridge_us, entry.torch_us
            seen.setdefault(key, []).append(entry.where)
        for (what, by_ridge, why, ours, theirs), places in seen.items():
            times = f"{ours:8.1f} us for {theirs:8.1f}" if ours is not None else " " * 24
            where = places[0] + (f" and {len(places) - 1} more" if len(places) > 1 else "")
            lines.append(f"{'ridge' if by_ridge else 'torch':5}  {what:28} {times}  {why}: {where}")
        count = sum(entry.replaced and entry.ours for entry in self.entries)
        return "\n".join([*lines, f"{count} of {len(self.entries)} are Ridge's"])


def report(model):
    """What was replaced in a model that torch.compile(backend="ridge") or accelerate() has captured, and why not."""
    own = {id(p) for p in model.parameters()}
    return Report([c for c in _captured if any(id(p) in own for p in c.parameters)])
