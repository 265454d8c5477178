"""A case of a model: its contenders checked against float32, and timed in turns."""

import copy
import dataclasses
import functools
import math

import torch
from torch.utils._pytree import tree_leaves, tree_map_only

from ridge.torch.clock import Timing, in_turns
from ridge.bench.models import kernels
from ridge.bench.models.floor import Counting, least_ms
from ridge.bench.models.ops import Flex, Ridge, Torch
from ridge.bench.models.table import text_of

# Contenders that are compiled, and their modes. What lies between Ridge's operators is Inductor's in "ridge_compile".
COMPILED = {"compile": "default", "autotune": "max-autotune-no-cudagraphs", "ridge_compile": "default"}
_SAMPLE = 1 << 20  # elements of an output that are compared
_WARM, _ROUNDS, _SECONDS = 3, 30, 1.0  # seconds of each contender


@dataclasses.dataclass
class Measurement:
    model: str
    case: str
    times: dict = dataclasses.field(default_factory=dict)  # {contender: Timing}
    errors: dict = dataclasses.field(default_factory=dict)  # {contender: relative error against float32}
    refusals: dict = dataclasses.field(default_factory=dict)  # {contender: why it was not measured}
    kernels: dict = dataclasses.field(default_factory=dict)  # {contender: [kernels.Kernel]}
    floor_ms: float = None
    failure: str = ""  # why Ridge's was not

    def ms(self, contender):
        return self.times[contender].us * 1e-3 if contender in self.times else None

    def ridge_ms(self):
        """Of Ridge's operators in the faster of the two ways that users have: as they are, or under torch.compile."""
        return min((self.ms(name) for name in ("ridge", "ridge_compile") if name in self.times), default=None)

    def error(self, contender):
        """The worst of its outputs; None where there is none, or no number."""
        error = self.errors.get(contender, math.inf)
        return error if math.isfinite(error) else None


class Step:
    """One pass of a module on its inputs; of a case with `train`, the loss and the gradients of all parameters."""

    def __init__(self, module, inputs, train):
        self.module, self.inputs, self.train = module, inputs, train

    def in_float32(self):
        wide = tree_map_only(torch.Tensor, lambda t: t.float() if t.is_floating_point() else t.clone(), self.inputs)
        return Step(copy.deepcopy(self.module).float(), wide, self.train)

    def compiled(self, **how):
        torch._dynamo.reset()  # nothing is dynamic because another case came before
        return Step(torch.compile(self.module, dynamic=False, fullgraph=True, **how), self.inputs, self.train)

    def __call__(self, ops):
        with torch.set_grad_enabled(self.train):
            y = self.module(ops, *self.inputs)
            return [y, *torch.autograd.grad(y, list(self.module.parameters()))] if self.train else [y]


def _sample(outputs):
    """Of each output in float32 some elements, evenly spaced: copies, so that nothing else of it is kept."""
    flat = [y.detach().flatten() for y in outputs]
    return [y[:: math.ceil(y.numel() / _SAMPLE)].to(torch.float32, copy=True) for y in flat]


def relative_errors(got, want):
    """||got - want|| / ||want|| of each output; infinite where it is no number."""
    errors = [((g - w).norm() / w.norm().clamp(min=1e-30)).item() for g, w in zip(got, want, strict=True)]
    return [error if math.isfinite(error) else math.inf for error in errors]


def reference(step, itemsize):
    """What float32 gives, by PyTorch: samples of the outputs, with the bytes that the step itself has to move and its
    operations."""
    counting = Counting()
    outputs = step.in_float32()(counting)
    given = sum(t.nbytes for t in tree_leaves(step.inputs) if isinstance(t, torch.Tensor))
    moved = given + itemsize * (counting.weights + outputs[0].numel())
    operations = counting.operations
    if step.train:  # weights are read again, and gradients written; twice the operations more
        moved += itemsize * (counting.weights + sum(p.numel() for p in step.module.parameters()))
        operations *= 3
    return _sample(outputs), moved, operations


def judge(got, eager):
    """What is wrong with a contender's errors, beside eager mode's, which rounds as often; "" where nothing is."""
    for i, (error, usual) in enumerate(zip(got, eager, strict=True)):
        if math.isinf(error) or error > 2 * usual + 1e-3:
            return f"output {i} is off by {error:.2g} of it, eager mode's by {usual:.2g}"
    return ""


def check(model, case, device, dtype):
    """At the model's tiny size: the relative errors of (Ridge's outputs, eager mode's) against float32."""
    step = Step(*model.build(case, device, dtype, tiny=True), "train" in case)
    want = reference(step, dtype.itemsize)[0]
    return tuple(relative_errors(_sample(step(ops)), want) for ops in (Ridge(), Torch()))


def measure(model, case, device, clock, autotune=False, dtype=torch.bfloat16, tiny=False):
    """A contender that fails or differs is left out with the reason; if it is Ridge, the case has failed."""
    m = Measurement(model.name, text_of(case))
    try:
        _measure(m, model, case, device, clock, autotune, dtype, tiny)
    except (RuntimeError, ValueError) as error:  # before any contender: no memory, or inputs that are none
        m.failure = _sentence(error)
    return m


def _measure(m, model, case, device, clock, autotune, dtype, tiny):
    step = Step(*model.build(case, device, dtype, tiny), "train" in case)
    want, moved, operations = reference(step, dtype.itemsize)
    m.floor_ms = least_ms(device, moved, operations)

    errors, works, once = {}, {}, {}
    contenders = ["eager", "compile", *(["autotune"] if autotune else []), "ridge"]
    for name in [*contenders, *(["ridge_compile"] if model.glued else [])]:
        torch.cuda.empty_cache()  # what others left: a graph has memory of its own
        try:
            work = _work(step, name)
            errors[name] = relative_errors(_sample(work()), want)
            m.errors[name] = max(errors[name])
            if "eager" not in errors:
                raise ArithmeticError("eager mode gave nothing to compare with")
            if wrong := judge(errors[name], errors["eager"]):
                raise ArithmeticError(wrong)
            once[name], works[name] = clock.prepare(work), work
        except Exception as error:  # whatever it is: the others' times stand without it
            m.refusals[name] = _sentence(error)
    m.failure = m.refusals.pop("ridge", "")

    m.times.update(in_turns(once, _ROUNDS, _WARM, _SECONDS * len(once)))
    once.clear()  # the graphs' memory
    torch.cuda.empty_cache()
    if torch.device(device).type == "cuda":
        best = min((name for name in ("ridge", "ridge_compile") if name in m.times), key=m.ms, default=None)
        of = {"ridge": works.get(best), "compile": works.get("compile")}
        m.kernels = {name: kernels.of(work) for name, work in of.items() if work}


def _sentence(error):
    return f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0]}"[:160]


def _work(step, contender):
    if contender not in COMPILED:
        return functools.partial(step, Ridge() if contender == "ridge" else Torch())
    ops = Ridge() if contender == "ridge_compile" else Flex()
    step(ops)  # makes its block masks
    return functools.partial(step.compiled(mode=COMPILED[contender]), ops)


