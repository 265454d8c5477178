"""torchrun --nproc-per-node 2 -m ridge.bench.parallel [PART ...]: models and attention on several GPUs of one machine.

    tensor     Llama 3 8B, heads and hidden units over the ranks: PyTorch's operators under torch.compile beside
               torch.compile(backend="ridge"); prefill, and one token more with a cache
    context    attention of one long sequence, its tokens over the ranks (ring_attention), beside one GPU that has all

Weights are random, in bf16. A time is the slowest rank's median; those of one case take turns. All parts are apart: one
that fails, or that has no time left, says so and the others go on. Without GPUs --tiny runs all of it by gloo, and its
times say nothing of a GPU.
"""

import argparse
import contextlib
import datetime
import functools
import json
import math
import os
import pathlib
import sys
import time

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as funcol
import torch.nn.functional as F
from torch import nn

import ridge.torch
from ridge.bench.models.decoder import Config
from ridge.torch.clock import Timing
from ridge.torch.distributed import gather_sequence, ring_attention, shard_sequence

LLAMA = Config(128256, 4096, 4, heads=32, kv_heads=8, head=128, hidden=14336, rope_base=5e5)  # 4 of its 32 layers
TINY = Config(96, 64, 2, heads=4, kv_heads=2, head=16, hidden=96, positions=64)


# ---- the model of tensor parallelism --------------------------------------------------------------------------------


def _weight(rows, columns):
    return nn.Parameter(torch.randn(rows, columns) * columns**-0.5, requires_grad=False)


class Layer(nn.Module):
    """One rank's heads and hidden units. What attention and the MLP add to x is summed over the ranks."""

    def __init__(self, c, group):
        super().__init__()
        ranks = dist.get_world_size(group)
        self.c, self.group = c, group
        self.heads, self.kv_heads = c.heads // ranks, c.kv_heads // ranks
        self.attention_norm, self.mlp_norm = (nn.RMSNorm(c.width, eps=c.eps) for _ in range(2))
        self.q, self.o = _weight(self.heads * c.head, c.width), _weight(c.width, self.heads * c.head)
        self.k, self.v = (_weight(self.kv_heads * c.head, c.width) for _ in "kv")
        self.gate, self.up = (_weight(c.hidden // ranks, c.width) for _ in range(2))
        self.down = _weight(c.width, c.hidden // ranks)

    def forward(self, x, cos, sin, position=None, cache=None):
        """x [batch, tokens, width]; cos, sin [tokens, d]; cache (keys, values), each [batch, kv heads, rows, d]."""
        x = x + self.summed(F.linear(self.attend(self.attention_norm(x), cos, sin, position, cache), self.o))
        y = self.mlp_norm(x)
        return x + self.summed(F.linear(F.silu(F.linear(y, self.gate)) * F.linear(y, self.up), self.down))

    def summed(self, x):
        return funcol.all_reduce(x, "sum", self.group)

    def attend(self, y, cos, sin, position, cache):
        q, k, v = (F.linear(y, w).unflatten(-1, (-1, self.c.head)).transpose(1, 2) for w in (self.q, self.k, self.v))
        q, k = (x * cos + torch.cat((-x.chunk(2, -1)[1], x.chunk(2, -1)[0]), -1) * sin for x in (q, k))
        if cache is not None:
            keys, values = cache
            keys[:, :, position], values[:, :, position] = k, v
            k, v = keys, values
        causal = cache is None
        o = F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=self.heads != self.kv_heads)
        return o.transpose(1, 2).flatten(2)


class Decoder(nn.Module):
    def __init__(self, c, group):
        super().__init__()
        self.c = c
        self.table = _weight(c.vocab, c.width)
        self.layers = nn.ModuleList(Layer(c, group) for _ in range(c.layers))
        self.norm = nn.RMSNorm(c.width, eps=c.eps)
        self.head = _weight(c.vocab // dist.get_world_size(group), c.width)
        turns = c.rope_base ** (-torch.arange(0, c.head, 2, dtype=torch.float32) / c.head)
        angles = torch.arange(c.positions, dtype=torch.float32).unsqueeze(1) * turns.repeat(2)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, tokens, position=None, caches=None):
        """tokens [batch, tokens] to this rank's logits [batch, vocab / ranks] of the last."""
        x = F.embedding(tokens, self.table)
        at = slice(tokens.shape[1]) if position is None else position
        cos, sin = self.cos[at].to(x.dtype), self.sin[at].to(x.dtype)
        for i, layer in enumerate(self.layers):
            x = layer(x, cos, sin, position, None if caches is None else caches[i])
        return F.linear(self.norm(x[:, -1]), self.head)


def inputs_of(case, c, ranks, device, dtype):
    if "prefill" in case:
        return (torch.randint(c.vocab, (1, case["prefill"]), device=device),)
    batch, context = case["decode"], case["context"]
    shape = (batch, c.kv_heads // ranks, context, c.head)
    caches = [tuple(torch.randn(shape, device=device, dtype=dtype) for _ in "kv") for _ in range(c.layers)]
    return torch.randint(c.vocab, (batch, 1), device=device), torch.tensor([context - 1], device=device), caches


# ---- measuring ------------------------------------------------------------------------------------------------------


class Stopwatch:
    """Times of calls that all ranks make together. On GPUs a call is a CUDA graph where one holds it, else queued."""

    def __init__(self, device, rounds=20):
        self.device, self.rounds = device, rounds
        self.notes = {}  # {way: why it is in no graph}

    def captured(self, way, work):
        """What one call is: the replay of a graph of it, or itself."""
        for _ in range(3):
            work()
        if self.device.type != "cuda":
            return work
        torch.cuda.synchronize()
        refused, graph = "", torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph, capture_error_mode="thread_local"):
                work()
        except RuntimeError as error:
            refused = _sentence(error)
        if any(everywhere(refused)):  # one rank alone cannot replay
            self.notes[way] = refused or "another rank could not capture it"
            return work
        graph.replay()
        return graph.replay

    def times(self, calls):
        """{way: Timing} of calls in turns, each the slowest rank's."""
        taken = {way: [] for way in calls}
        for turn in range(-2, self.rounds):
            for way, call in calls.items():
                us = self._one(call)
                if turn >= 0:
                    taken[way].append(us)
        slowest = everywhere(taken)
        return {way: Timing([max(ranks) for ranks in zip(*(of[way] for of in slowest))]) for way in calls}

    def _one(self, call):
        dist.barrier()
        if self.device.type != "cuda":
            start = time.perf_counter()
            call()
            return (time.perf_counter() - start) * 1e6
        before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        before.record()
        call()
        after.record()
        after.synchronize()
        return before.elapsed_time(after) * 1e3


def _settle(device):
    """Waits until NCCL's own thread has no more to ask the device: that would end the captures of graphs, by which the
    backend times operators."""
    if device.type == "cuda":
        torch.cuda.synchronize()
        time.sleep(1)


def everywhere(x):
    """[x of each rank]."""
    found = [None] * dist.get_world_size()
    dist.all_gather_object(found, x)
    return found


def _sentence(error):
    return f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0]}"[:200]


def error_of(got, want):
    """||got - want|| / ||want||, the worst rank's."""
    got, want = got.double(), want.double()
    return max(everywhere(((got - want).norm() / want.norm().clamp(min=1e-30)).item()))


# ---- parts: each yields results, {case, ways: {way: Timing}, ratio, ...} --------------------------------------------


def tensor_part(tiny, device, stopwatch):
    c, group, ranks = TINY if tiny else LLAMA, dist.group.WORLD, dist.get_world_size()
    dtype = torch.float32 if tiny else torch.bfloat16
    torch.manual_seed(dist.get_rank() + 1)
    with torch.device(device):
        model = Decoder(c, group).to(dtype).eval()
    for whole in (model.table, *(p for name, p in model.named_parameters() if "norm" in name)):
        dist.broadcast(whole.data, 0)
    cases = (
        [{"prefill": 24}, {"decode": 2, "context": 16}]
        if tiny
        else [
            *({"prefill": tokens} for tokens in (512, 4096)),
            *({"decode": batch, "context": context} for batch, context in ((1, 1024), (8, 4096))),
        ]
    )
    for case in cases:
        yield (
            ",".join(f"{k}={v}" for k, v in case.items()),
            functools.partial(_tensor_case, model, case, c, ranks, device, dtype, stopwatch, tiny),
        )


def _tensor_case(model, case, c, ranks, device, dtype, stopwatch, tiny):
    torch.manual_seed(7)  # the same tokens on each rank
    inputs = inputs_of(case, c, ranks, device, dtype)
    ours = functools.partial(ridge.torch.backend, inductor=not tiny, measure=not tiny)
    with torch.no_grad():
        want = model(*inputs)
        ways = {"compile": {"backend": "aot_eager" if tiny else "inductor"}, "ridge": {"backend": ours}}
        calls, errors = {}, {}
        for way, how in ways.items():
            torch._dynamo.reset()
            compiled = torch.compile(model, dynamic=False, **how)
            _settle(device)
            errors[way] = error_of(compiled(*inputs), want)
            calls[way] = stopwatch.captured(way, functools.partial(compiled, *inputs))
        timings = stopwatch.times(calls)
    report = str(ridge.torch.report(model)).splitlines()
    return timings, {"errors": errors, "x": timings["compile"].us / timings["ridge"].us, "report": report}


def context_part(tiny, device, stopwatch):
    tokens = 64 if tiny else 1 << 16
    for causal in (True, False):
        for train in (False, True):
            name = f"tokens={tokens}{',causal' if causal else ''}{',train' if train else ''}"
            yield name, functools.partial(_context_case, tokens, causal, train, tiny, device, stopwatch)


def _context_case(tokens, causal, train, tiny, device, stopwatch):
    heads, d = (2, 16) if tiny else (32, 128)
    dtype = torch.float32 if tiny else torch.bfloat16
    torch.manual_seed(3)
    q, k, v, do = (torch.randn(1, heads, tokens, d, device=device, dtype=dtype) for _ in range(4))
    spread = functools.partial(shard_sequence, dim=2, causal=causal)
    whole = [x.requires_grad_(train) for x in (q, k, v)]
    own = [spread(x.detach()).requires_grad_(train) for x in whole]
    own_do = spread(do)

    def one():
        mask = "upper_left" if causal else None
        o = ridge.torch.attention(*whole, causal=mask, lse=True)[0]
        return [o, *torch.autograd.grad(o, whole, do)] if train else [o]

    def ring():
        o = ring_attention(*own, causal=causal)
        return [o, *torch.autograd.grad(o, own, own_do)] if train else [o]

    with torch.set_grad_enabled(train):
        want = [spread(x.detach()) for x in one()]
        errors = [error_of(got.detach(), x) for got, x in zip(ring(), want)]
        del want
        # Not in graphs: what travels between ranks is queued beside what is computed, and both take milliseconds.
        for call in (one, ring):
            call()
        timings = stopwatch.times({"one": one, "ring": ring})
    return timings, {"errors": {"ring": max(errors)}, "x": timings["one"].us / timings["ring"].us}


PARTS = {"tensor": tensor_part, "context": context_part}


# ---- the command ----------------------------------------------------------------------------------------------------


def measure(part, tiny, device, end):
    """The results of a part as they come: dictionaries for the JSON, printed by rank 0."""
    stopwatch = Stopwatch(device, rounds=3 if tiny else 20)
    for name, case in PARTS[part](tiny, device, stopwatch):
        result = {"part": part, "case": name}
        if any(everywhere(time.monotonic() > end)):
            result["left_out"] = "no time was left"
        else:
            failure = ""
            try:
                timings, more = case()
                result |= {f"{way}_ms": timing.us * 1e-3 for way, timing in timings.items()}
                result |= {f"{way}_noise": timing.noise for way, timing in timings.items()} | more
            except Exception as error:  # whatever it is: the other cases stand without it
                failure = _sentence(error)
            failures = [f"rank {rank}: {why}" for rank, why in enumerate(everywhere(failure)) if why]
            result |= {"failure": "; ".join(failures)} if failures else {}
        if stopwatch.notes:
            result["not_in_a_graph"] = dict(stopwatch.notes)
            stopwatch.notes.clear()
        if device.type == "cuda":
            torch.cuda.empty_cache()
        yield result


def show(result):
    times = "  ".join(f"{key[:-3]} {value:10.3f} ms" for key, value in result.items() if key.endswith("_ms"))
    errors = "  ".join(f"{way} off by {error:.1e}" for way, error in result.get("errors", {}).items())
    ratio = f"{result['x']:.2f}x" if "x" in result else "-"
    print(f"{result['part']:8} {result['case']:28} {times or '-':48} {ratio:>7}  {errors}", flush=True)
    for key in ("failure", "left_out", "not_in_a_graph"):
        if key in result:
            print(f"    {key.replace('_', ' ')}: {result[key]}", flush=True)
    for line in result.get("report", []):
        print(f"    {line}", flush=True)


def main(arguments=None):
    parser = argparse.ArgumentParser("python -m ridge.bench.parallel", description=__doc__.split("\n\n")[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)} (default: all)")
    parser.add_argument("--tiny", action="store_true", help="small tensors, on CPUs where there are no GPUs: a check")
    parser.add_argument("--seconds", type=float, default=math.inf, help="no case is begun after so many")
    parser.add_argument("--commit", help="a text for the results' field `commit`")
    parser.add_argument("--json", metavar="FILE", help="write the results")
    given = parser.parse_args(arguments)
    unknown = [part for part in given.parts if part not in PARTS]
    if unknown or "LOCAL_RANK" not in os.environ:
        what = f"'{unknown[0]}' is none of {', '.join(PARTS)}" if unknown else "it must be started by torchrun"
        print(f"ridge.bench.parallel: {what}", file=sys.stderr)
        return 2
    local = int(os.environ["LOCAL_RANK"])
    on_gpus = torch.cuda.device_count() >= int(os.environ["LOCAL_WORLD_SIZE"])
    if not on_gpus and not given.tiny:
        print("ridge.bench.parallel: there are fewer GPUs than ranks", file=sys.stderr)
        return 2
    device = torch.device("cuda", local) if on_gpus else torch.device("cpu")
    if on_gpus:
        torch.cuda.set_device(device)
    end = time.monotonic() + given.seconds
    with process_group("nccl" if on_gpus else "gloo", device):
        return run(given, device, end)


@contextlib.contextmanager
def process_group(backend, device):
    """That of torchrun; one that is there already is used and left."""
    if dist.is_initialized():
        yield
        return
    more = {"device_id": device} if device.type == "cuda" else {}
    dist.init_process_group(backend, timeout=datetime.timedelta(seconds=300), **more)
    try:
        yield
    finally:
        dist.destroy_process_group()


def run(given, device, end):
    results, first = [], dist.get_rank() == 0
    about = {
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU runtime",
        "ranks": dist.get_world_size(),
        "torch": torch.__version__,
        "commit": given.commit,
    }
    for part in given.parts or PARTS:
        for result in measure(part, given.tiny, device, end):
            results.append(about | result)
            if first:
                show(result)
            if first and given.json:
                pathlib.Path(given.json).write_text(json.dumps(results, indent=2) + "\n")
    return 1 if any("failure" in result for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
