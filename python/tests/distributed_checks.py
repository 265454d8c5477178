"""python distributed_checks.py RANKS [CHECK ...]: those of test_torch_distributed.py that need so many ranks.

They run by gloo on CPUs. The ranks are forks of this process, which has imported all that takes long. Prints
{check: what is wrong} as JSON.
"""

import argparse
import contextlib
import copy
import datetime
import functools
import importlib.util
import io
import json
import math
import os
import pathlib
import socket
import sys
import traceback

import torch
import torch.distributed as dist
import torch.nn.functional as F
from sharding_samples import REQUESTS, assert_same, call, given, request, spread
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, SequenceParallel, parallelize_module
from torch.distributed.tensor.placement_types import _MaskPartial

import ridge.torch
from ridge.bench import parallel
from ridge.torch import autograd
from ridge.torch.distributed import gather_sequence, positions, ring_attention, shard_sequence, sharding

HERE = pathlib.Path(__file__).parent
CHECKS = {}


def check(*ranks):
    def register(function):
        CHECKS[function.__name__] = (ranks, function)
        return function

    return register


@contextlib.contextmanager
def of(what):
    """Says what an assertion was about."""
    try:
        yield
    except AssertionError as error:
        raise AssertionError(f"{what}: {error}") from None


# ---- sharding rules -------------------------------------------------------------------------------------------------


def dtensors(made, placements, mesh, requires_grad=False):
    found = {}
    for name, placement in placements.items():
        x = made[name].detach()
        if type(placement) is Partial:
            local = spread(x, placement, mesh.size())[mesh.get_local_rank()]
            x = DTensor.from_local(local, mesh, [placement])
        elif isinstance(placement, _MaskPartial):  # which DTensor makes of whole indices itself
            x = distribute_tensor(x, mesh, [Replicate()])
        else:
            x = distribute_tensor(x, mesh, [placement])
        found[name] = x.requires_grad_(requires_grad and x.is_floating_point())
    return found


def each_choice(mesh):
    """(request's name, operator, tensors, options, choice), but for those in which all are whole."""
    for name, (op, inputs, options) in REQUESTS.items():
        made = given(op, inputs)
        for choice in sharding.choices(op, request(made, options), mesh.size())[1:]:
            yield name, op, made, options, choice


@check(2)
def every_choice_by_dtensor(mesh):
    """A call on DTensors that lie as a choice says gives DTensors that lie so, and are right, without any transfer."""
    wanted = {}
    for name, op, made, options, choice in each_choice(mesh):
        found = call(op, dtensors(made, choice.inputs, mesh), options)
        if name not in wanted:
            wanted[name] = call(op, made, options)
        for y, (output, placement), want in zip(found, choice.outputs.items(), wanted[name], strict=True):
            if type(placement) is not _MaskPartial:
                assert y.placements == (placement,), f"{name}: {output} lies as {y.placements}, not {placement}"
            with of(f"{name}, {choice}: {output}"):
                assert_same(y.full_tensor(), want)


@check(2)
def gradients_by_dtensor(mesh):
    """backward() through the operators that have gradients, from inputs that lie as each choice says."""
    for name, op, made, options, choice in each_choice(mesh):
        partial = any(isinstance(p, Partial) for p in choice.inputs.values())
        if op.name not in autograd.FORMULAS or partial or op.name in ("max", "min"):
            continue
        plain = {
            n: x.clone().requires_grad_(x.is_floating_point() and n not in _WITHOUT_GRADIENT) for n, x in made.items()
        }
        placed = dtensors(made, choice.inputs, mesh)
        for n, x in plain.items():
            placed[n].requires_grad_(x.requires_grad)
        if not takes_gradients(op, plain, placed, options):
            continue
        for n, x in plain.items():
            if x.requires_grad:
                with of(f"{name}, {choice}: the gradient of {n}"):
                    assert_same(placed[n].grad.full_tensor(), x.grad)


def takes_gradients(op, plain, placed, options):
    """backward() of sums of squares on both. Whether there is one: not of each request, and DTensor flattens no axis that
    is cut unevenly."""
    for arguments in (plain, placed):
        outputs = [y for y in call(op, arguments, options) if y.requires_grad]
        try:
            sum((y * y).sum() for y in outputs).backward()
        except RuntimeError as error:  # NotImplementedError is one
            if "unevenly" not in str(error) and not (arguments is plain and "no gradient" in str(error)):
                raise
            return False
    return bool(outputs)


_WITHOUT_GRADIENT = ("mask", "cos", "sin")


@check(2)
def rope_cache_in_place_says_why_not(mesh):
    q, k, v = (distribute_tensor(torch.randn(2, 3, 2, 8), mesh, [Shard(2)]) for _ in "qkv")
    caches = [distribute_tensor(torch.zeros(2, 2, 4, 8), mesh, [Shard(1)]) for _ in "kv"]
    try:
        ridge.torch.rope_cache_(q, k, v, *caches)
    except NotImplementedError as error:
        assert "to_local()" in str(error), error
    else:
        raise AssertionError("it was not refused")


# ---- plans ----------------------------------------------------------------------------------------------------------

WIDTH, HIDDEN = 16, 32


class Linear(nn.Linear):
    def forward(self, x):
        return ridge.torch.linear(x, self.weight, self.bias)


class LayerNorm(nn.LayerNorm):
    def forward(self, x):
        return ridge.torch.layer_norm(x, self.weight, self.bias, eps=self.eps)


class Block(nn.Module):
    """x + the MLP of its norm, of Ridge's operators."""

    def __init__(self):
        super().__init__()
        self.norm = LayerNorm(WIDTH)
        self.up, self.down = Linear(WIDTH, HIDDEN), Linear(HIDDEN, WIDTH)

    def forward(self, x):
        return x + self.down(ridge.torch.gelu(self.up(self.norm(x))))


class PlainBlock(nn.Module):
    """The same of PyTorch's operators, for backend="ridge" to find."""

    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up, self.down = nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


def by_tensor(block, mesh):
    plan = {
        "norm": SequenceParallel(use_local_output=False),
        "up": ColwiseParallel(input_layouts=Shard(1), use_local_output=False),
        "down": RowwiseParallel(output_layouts=Shard(1), use_local_output=False),
    }
    return parallelize_module(block, mesh, plan)


def assert_trains_alike(block, one, x, parallel_x):
    """The loss and all gradients of a parallel block are those of one that is not."""
    (one(x) ** 2).sum().backward()
    loss = (block(parallel_x) ** 2).sum()
    loss.backward()
    for (name, parameter), want in zip(block.named_parameters(), one.parameters(), strict=True):
        assert_same(parameter.grad.full_tensor(), want.grad), name


@check(2)
def tensor_and_sequence_parallel(mesh):
    torch.manual_seed(3)
    one, x = Block(), torch.randn(3, 6, WIDTH)
    block = by_tensor(copy.deepcopy(one), mesh)
    assert_trains_alike(block, one, x, distribute_tensor(x, mesh, [Shard(1)]))


@check(2)
def tensor_parallel_compiled(mesh):
    """torch.compile traces the same rules; what it hands a backend are local tensors."""
    torch.manual_seed(3)
    one, x = Block(), torch.randn(3, 6, WIDTH)
    block = torch.compile(by_tensor(copy.deepcopy(one), mesh), backend="aot_eager", fullgraph=True)
    assert_trains_alike(block, one, x, distribute_tensor(x, mesh, [Shard(1)]))


@check(2)
def tensor_parallel_by_the_backend(mesh):
    """backend="ridge" finds a parallel model's products and norms as it finds those of one rank."""
    torch.manual_seed(3)
    one, x = PlainBlock(), torch.randn(3, 6, WIDTH)
    block = by_tensor(copy.deepcopy(one), mesh)
    backend = functools.partial(ridge.torch.backend, inductor=False, measure=False)
    compiled = torch.compile(block, backend=backend, fullgraph=True)
    with torch.no_grad():
        assert_same(compiled(distribute_tensor(x, mesh, [Shard(1)])).full_tensor(), one(x))
    found = {entry.what: entry.replaced for entry in ridge.torch.report(block).entries}
    assert found == {"layer_norm": True, "linear+bias": True}, ridge.torch.report(block)


@check(2)
def fully_sharded(mesh):
    torch.manual_seed(3)
    one = nn.Sequential(Block(), Block())
    model = copy.deepcopy(one)
    for block in model:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    x = torch.randn(4, 6, WIDTH)
    (one(x) ** 2).mean().backward()
    (model(x.chunk(2)[mesh.get_local_rank()]) ** 2).mean().backward()
    for parameter, want in zip(model.parameters(), one.parameters(), strict=True):
        assert_same(parameter.grad.full_tensor(), want.grad)


# ---- ring attention -------------------------------------------------------------------------------------------------


@check(2, 4)
def ring_attention_is_attention(mesh):
    group, ranks = mesh.get_group(), mesh.size()
    for causal in (False, True):
        for layout, tokens_at in (("bhsd", 2), ("bshd", 1)):
            torch.manual_seed(4)
            shapes = [(2, 4, 8 * ranks, 8), (2, 2, 8 * ranks, 8), (2, 2, 8 * ranks, 6), (2, 4, 8 * ranks, 6)]
            q, k, v, do = (torch.randn(s if layout == "bhsd" else (s[0], s[2], s[1], s[3])) for s in shapes)
            spread_out = functools.partial(shard_sequence, group=group, dim=tokens_at, causal=causal)
            whole = [x.clone().requires_grad_() for x in (q, k, v)]
            own = [spread_out(x).requires_grad_() for x in (q, k, v)]
            options = {"scale": 0.3, "layout": layout}
            want = ridge.torch.attention(*whole, causal="upper_left" if causal else None, lse=True, **options)[0]
            got = ring_attention(*own, group, causal=causal, **options)
            want.backward(do)
            got.backward(spread_out(do))
            assert_same(got.detach(), spread_out(want.detach()))
            for x, y in zip(own, whole):
                assert_same(x.grad, spread_out(y.grad))


@check(2)
def ring_attention_of_16_bits(mesh):
    """Two parts that are rounded to bfloat16, and their sum: as exact as that type is."""
    torch.manual_seed(5)
    q, k, v = (torch.randn(1, 2, 16, 8, dtype=torch.bfloat16) for _ in "qkv")
    own = [shard_sequence(x, dim=2, causal=True) for x in (q, k, v)]
    got = gather_sequence(ring_attention(*own, causal=True), dim=2, causal=True)
    want = F.scaled_dot_product_attention(*(x.double() for x in (q, k, v)), is_causal=True)
    assert (got - want).abs().max() <= 2**-7 * v.abs().max()


@check(4)
def sequences_come_together_again(mesh):
    x = torch.arange(32).reshape(2, 16)
    for causal in (False, True):
        own = shard_sequence(x, dim=1, causal=causal)
        assert torch.equal(own[0], positions(16, causal=causal))
        assert torch.equal(gather_sequence(own, dim=1, causal=causal), x)
    rank = mesh.get_local_rank()
    assert own[0].tolist() == [2 * rank, 2 * rank + 1, 14 - 2 * rank, 15 - 2 * rank]


@check(2)
def ring_attention_refuses(mesh):
    x = torch.randn(1, 1, 3, 8)
    for arguments, options, words in (
        ((x, x, x), {"causal": True}, "an even number"),
        ((x, x[:, :, :2], x[:, :, :2]), {}, "as many queries as keys"),
        ((x, x, x), {"layout": "sbhd"}, "bhsd or bshd"),
    ):
        try:
            ring_attention(*arguments, **options)
        except ValueError as error:
            assert words in str(error), error
        else:
            raise AssertionError(f"{options} was not refused")


# ---- programs -------------------------------------------------------------------------------------------------------


@check(2)
def example_of_a_llama(mesh):
    """examples/parallel/llama.py, in this process group. A test of an installed package has no examples beside it."""
    path = HERE.parents[1] / "examples" / "parallel" / "llama.py"
    spec = importlib.util.spec_from_file_location("llama", path)
    llama = importlib.util.module_from_spec(spec)
    sys.modules["llama"] = llama
    spec.loader.exec_module(llama)
    given = llama.parser().parse_args([])
    for plan, (error, what) in llama.run(given, torch.device("cpu")).items():
        assert error < 1e-4, f"{plan}: {error}, {what}"


@check(2)
def benchmark_is_a_program(mesh):
    """python -m ridge.bench.parallel, with small tensors: what it would measure is right."""
    given = argparse.Namespace(parts=[], tiny=True, json=None, commit=None)
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        assert parallel.run(given, torch.device("cpu"), math.inf) == 0, shown.getvalue()
    if mesh.get_rank() == 0:
        assert len([line for line in shown.getvalue().splitlines() if line.startswith(("tensor", "context"))]) == 6


# ---- ranks ----------------------------------------------------------------------------------------------------------

TIMEOUT = datetime.timedelta(seconds=60)


def run(rank, ranks, store):
    """The checks of so many ranks: {name: what is wrong}. Each has a process group of its own: when one rank fails, the
    others, who may be waiting for it, see the group end, and all go on with the next check."""
    found = {}
    for name, (wanted, function) in CHECKS.items():
        if ranks not in wanted or name not in (sys.argv[2:] or CHECKS):
            continue
        wrong = ""
        own = dist.PrefixStore(name, store)
        dist.init_process_group("gloo", rank=rank, world_size=ranks, store=own, timeout=TIMEOUT)
        try:
            function(dist.init_device_mesh("cpu", (ranks,)))
        except Exception:
            wrong = f"rank {rank}: {traceback.format_exc(limit=-3)}"
            print(name, wrong, file=sys.stderr, flush=True)  # should the others not survive it
        dist.destroy_process_group()
        store.set(f"{name} of {rank}", wrong)
        found[name] = "\n".join(filter(None, (store.get(f"{name} of {r}").decode() for r in range(ranks))))
    return found


def main():
    ranks = int(sys.argv[1])
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    children = []
    for rank in range(1, ranks):
        child = os.fork()
        if child == 0:
            with contextlib.redirect_stdout(io.StringIO()):
                run(rank, ranks, dist.TCPStore("127.0.0.1", port, ranks, False, TIMEOUT))
            os._exit(0)
        children.append(child)
    store = dist.TCPStore("127.0.0.1", port, ranks, True, TIMEOUT)
    print(json.dumps(run(0, ranks, store)), flush=True)
    return 0 if all(os.waitpid(child, 0)[1] == 0 for child in children) else 1


if __name__ == "__main__":
    sys.exit(main())
