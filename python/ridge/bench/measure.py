"""A case measured: Ridge and its peers on the same tensors, in turns."""

import dataclasses
import functools
import time

import torch

import ridge
from ridge.torch.clock import COPY_BYTES, CpuClock, GpuClock, Timing, in_turns
from ridge.bench.gradient import Gradient
from ridge.bench.peers import TABLE
from ridge.bench.tensors import Source
from ridge.torch.library import DTYPES

# How far two right answers may be apart, relative to the output (and to Row.scale where sums cancel).
_TOLERANCE = {torch.float64: 1e-9, torch.float32: 2e-5, torch.float16: 4e-3, torch.bfloat16: 2e-2}


@dataclasses.dataclass
class Measurement:
    case: str
    variant: str = ""
    time: Timing = None
    bytes: float = 0
    operations: float = 0
    predicted_us: float = 0
    least_us: float = 0
    plan_us: float = 0
    copy_gbs: float = 0  # measured in the same rounds; 0: not
    peers: dict = dataclasses.field(default_factory=dict)  # {name: Timing}
    refusals: dict = dataclasses.field(default_factory=dict)  # {name: why a peer was not measured}
    error: str = ""
    chosen: bool = True  # the variant is the plan's own choice

    @property
    def gbs(self):
        return self.bytes / self.time.us * 1e-3

    @property
    def copy_share(self):
        return self.gbs / self.copy_gbs if self.copy_gbs else None

    @property
    def tflops(self):
        return self.operations / self.time.us * 1e-6

    def times_faster(self, peer):
        return self.peers[peer].us / self.time.us


def make_clock(device, **how):
    return GpuClock(device, **how) if torch.device(device).type == "cuda" else CpuClock()


def measure(case, device, clock, wanted=None, repeats=None, all_variants=False):
    """One case on one device: its measurement, in a list. `wanted`: names of peers; None: all that the table has for the
    operator. `all_variants`: a measurement for each variant that fits, all in turns, the fastest first."""
    row = TABLE.get(case.op)
    if row is None:
        return [Measurement(case.text, error=f"no row for '{case.op}' in ridge/bench/peers")]
    try:
        with torch.no_grad():
            return _measure(case, row, device, clock, wanted, repeats or clock.repeats, all_variants)
    except (ValueError, TypeError, RuntimeError, ridge.Unsupported) as error:
        return [Measurement(case.text, error=_sentence(error))]


_FAR = 8  # times the least prediction: beyond it a variant is not worth its time


def _plans(op, inputs, options, all_variants):
    """The plan's own choice, and the others."""
    start = time.perf_counter()
    chosen = ridge.plan(op, *inputs, **options)
    plans = {chosen.variant: (chosen, (time.perf_counter() - start) * 1e6)}
    if all_variants and "variant" not in options:
        predicted = {c["variant"]: c["predicted_us"] for c in chosen.explain().json["candidates"] if c.get("predicted_us")}
        for name, us in predicted.items():
            if name not in plans and us <= _FAR * min(predicted.values()):
                start = time.perf_counter()
                plans[name] = ridge.plan(op, *inputs, **options, variant=name), (time.perf_counter() - start) * 1e6
    return list(plans.values())


def _measure(case, row, device, clock, wanted, repeats, all_variants):
    inputs = row.inputs(case, Source(case, device))
    op, options = _request(case)
    outputs = [
        torch.empty(spec.shape, dtype=DTYPES[spec.dtype], device=device) for spec in ridge.infer(op, *inputs, **options)
    ]
    results, contenders, refusals = [], {}, {}
    for plan, plan_us in _plans(op, inputs, options, all_variants):
        account = plan.explain().json
        results.append(
            Measurement(
                case.text,
                plan.variant,
                bytes=account["bytes"],
                operations=account["operations"],
                predicted_us=account["predicted_us"],
                least_us=account["least_us"],
                plan_us=plan_us,
                refusals=refusals,
                chosen=not results,
            )
        )
        workspace = torch.empty(plan.workspace + 255, dtype=torch.uint8, device=device)
        workspace = workspace[-workspace.data_ptr() % 256 :]
        ours = functools.partial(plan.run, *inputs, out=outputs, workspace=workspace)  # on the current stream
        contenders[len(contenders)] = clock.prepare(ours)  # by a number; peers have names
    for name, make in _peers(row, wanted):
        try:
            function = make(case)
            _check(row, case, inputs, outputs, function(*inputs))
            prepare = clock.queued if row.waits(case) else clock.prepare
            contenders[name] = prepare(functools.partial(function, *inputs))
        except Exception as error:  # whatever a peer raises is the peer's: the case stands without it
            refusals[name] = _sentence(error)
    if clock.copy:
        contenders["copy"] = clock.copy

    timings = in_turns(contenders, repeats, warm=2)
    copy_gbs = 2 * COPY_BYTES / timings.pop("copy").us * 1e-3 if "copy" in timings else 0
    for i, result in enumerate(results):
        result.time, result.copy_gbs, result.peers = timings.pop(i), copy_gbs, timings
    return sorted(results, key=lambda m: m.time.us)


def _request(case):
    """The operator's or its gradient's name in Python, and the options."""
    options = case.operator_options({option["name"] for option in ridge.ops()[case.op]["options"]})
    backward = options.pop("backward", "0") != "0"
    return case.op + ("_backward" if backward else ""), options


# ---- peers ----------------------------------------------------------------------------------------------------------


def peer_names(op):
    row = TABLE[op]
    return [row.library, "compile", *row.others]


def _peers(row, wanted):
    makers = {row.library: row.peer, "compile": lambda case: _compiled(row.peer(case)), **row.others}
    if wanted is None:
        return list(makers.items())
    # "torch" is eager mode, whatever library runs there.
    return [
        (name, make) for name, make in makers.items() if name in wanted or (name == row.library and "torch" in wanted)
    ]


def _compiled(function):
    torch._dynamo.reset()  # one shape, one graph: nothing is dynamic because another case came before
    compile = functools.partial(torch.compile, dynamic=False)
    return function.compiled(compile) if isinstance(function, Gradient) else compile(function)


def _check(row, case, inputs, ours, theirs):
    theirs = list(theirs) if isinstance(theirs, (tuple, list)) else [theirs]
    for got, want in zip(row.comparable(case, ours, inputs), row.comparable(case, theirs, inputs)):
        if got.shape != want.shape:
            raise ValueError(f"its result is of shape {tuple(want.shape)}, Ridge's of {tuple(got.shape)}")
        exact = not got.dtype.is_floating_point
        tolerance = 0 if exact else max(_TOLERANCE.get(got.dtype, 0.1), _TOLERANCE.get(inputs[0].dtype, 0.1))
        compute = torch.float64 if got.dtype in (torch.float64, torch.int64) else torch.float32
        got, want = got.to(compute), want.to(compute)
        away = (got - want).abs_() - tolerance * want.abs()
        worst = away.max().item() if away.numel() else 0.0
        if not worst <= tolerance * row.scale(case):
            raise ValueError(f"its result differs from Ridge's by {worst:.3g} more than {tolerance:g} of it")


def _sentence(error):
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:160]
