"""A Llama-shaped model of Ridge's operators on several ranks: trained by three plans, served by one, each compared with
the same model on one rank.

    torchrun --nproc-per-node 2 examples/parallel/llama.py
    torchrun --nproc-per-node 2 examples/parallel/llama.py --size 1b --dtype bfloat16 --plans tensor serve

    tensor    heads and hidden units over the ranks, tokens too between them (tensor and sequence parallelism)
    data      each rank has some sequences and some of the parameters (FSDP2)
    context   each rank has some tokens of all sequences; attention goes around the ranks (ring_attention)
    serve     heads, hidden units and caches over the ranks: a prompt, then tokens one by one

NCCL where each rank has a GPU, else gloo on CPUs, whose operators are Ridge's CPU runtime. Exits with 1 where a plan
differs from one rank.
"""

import argparse
import copy
import dataclasses
import os
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)

import ridge.torch
from ridge.torch.distributed import positions, ring_attention, shard_sequence


@dataclasses.dataclass(frozen=True)
class Size:
    layers: int
    width: int
    heads: int
    kv_heads: int
    hidden: int
    vocab: int
    batch: int  # sequences
    tokens: int  # of each


SIZES = {
    "tiny": Size(layers=2, width=32, heads=4, kv_heads=2, hidden=48, vocab=64, batch=2, tokens=16),
    "1b": Size(layers=16, width=2048, heads=32, kv_heads=8, hidden=8192, vocab=128256, batch=4, tokens=1024),
}


@dataclasses.dataclass
class Step:
    """What all layers are told of a step."""

    positions: torch.Tensor  # [tokens], of this rank's tokens
    ring: dist.ProcessGroup | None = None  # over which the tokens are spread
    caches: list | None = None  # of each layer (keys, values) [batch, rows, kv heads, width of a head]
    seen: int = 0  # rows of the caches that are filled, with this step's


# ---- the model ------------------------------------------------------------------------------------------------------


class Linear(nn.Linear):
    def forward(self, x):
        return ridge.torch.linear(x, self.weight, self.bias)


class Embedding(nn.Embedding):
    def forward(self, tokens):
        return ridge.torch.embedding(self.weight, tokens)


class RMSNorm(nn.RMSNorm):
    def forward(self, x):
        return ridge.torch.rms_norm(x, self.weight, eps=self.eps)


class Attention(nn.Module):
    def __init__(self, size, layer):
        super().__init__()
        self.layer, self.head = layer, size.width // size.heads
        self.q = Linear(size.width, size.heads * self.head, bias=False)
        self.k, self.v = (Linear(size.width, size.kv_heads * self.head, bias=False) for _ in "kv")
        self.o = Linear(size.heads * self.head, size.width, bias=False)

    def forward(self, x, step):
        q, k, v = (product(x).unflatten(-1, (-1, self.head)) for product in (self.q, self.k, self.v))
        return self.o(self.attend(q, k, v, step).flatten(-2))

    def attend(self, q, k, v, step):
        """q, k, v and the result [batch, tokens, heads of this rank, width of a head]."""
        if step.caches:
            keys, values = step.caches[self.layer]
            q = ridge.torch.rope_cache_(q, k, v, keys, values, step.positions, layout="bshd")
            keys, values = keys[:, : step.seen], values[:, : step.seen]
            return ridge.torch.attention(q, keys, values, causal="lower_right", layout="bshd")
        q, k = (ridge.torch.rope(x, step.positions) for x in (q, k))
        if step.ring:
            return ring_attention(q, k, v, step.ring, causal=True, layout="bshd")
        return ridge.torch.attention(q, k, v, causal="upper_left", layout="bshd", lse=True)[0]


class MLP(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.gate, self.up = (Linear(size.width, size.hidden, bias=False) for _ in range(2))
        self.down = Linear(size.hidden, size.width, bias=False)

    def forward(self, x):
        return self.down(ridge.torch.mul(ridge.torch.silu(self.gate(x)), self.up(x)))


class Layer(nn.Module):
    def __init__(self, size, layer):
        super().__init__()
        self.attention_norm, self.mlp_norm = (RMSNorm(size.width, eps=1e-5) for _ in range(2))
        self.attention, self.mlp = Attention(size, layer), MLP(size)

    def forward(self, x, step):
        x = x + self.attention(self.attention_norm(x), step)
        return x + self.mlp(self.mlp_norm(x))


class Llama(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.embedding = Embedding(size.vocab, size.width)
        self.layers = nn.ModuleList(Layer(size, i) for i in range(size.layers))
        self.norm = RMSNorm(size.width, eps=1e-5)
        self.head = Linear(size.width, size.vocab, bias=False)

    def forward(self, tokens, step):
        """tokens [batch, tokens] to logits [batch, tokens, vocab]."""
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x, step)
        return self.head(self.norm(x))


# ---- plans ----------------------------------------------------------------------------------------------------------


def over_ranks(model, mesh, spread):
    """Tensor parallelism, in place. spread: where what lies between attention and MLP has its tokens, Shard(1) or
    Replicate()."""
    whole = Replicate()
    plan = {
        "embedding": RowwiseParallel(input_layouts=whole, output_layouts=spread),
        "head": ColwiseParallel(input_layouts=spread, output_layouts=whole),
    }
    for i in range(len(model.layers)):
        for name, inputs in (("attention", (spread, None)), ("mlp", (spread,))):
            wanted = tuple(whole if placement else None for placement in inputs)
            plan[f"layers.{i}.{name}"] = PrepareModuleInput(input_layouts=inputs, desired_input_layouts=wanted)
        plan |= {f"layers.{i}.{name}": ColwiseParallel() for name in ("attention.q", "attention.k", "attention.v")}
        plan |= {f"layers.{i}.{name}": ColwiseParallel() for name in ("mlp.gate", "mlp.up")}
        plan |= {f"layers.{i}.{name}": RowwiseParallel(output_layouts=spread) for name in ("attention.o", "mlp.down")}
    if spread == Shard(1):
        plan |= {name: SequenceParallel() for name, m in model.named_modules() if isinstance(m, RMSNorm)}
    return parallelize_module(model, mesh, plan)


def train(model, batches, step, group=None):
    """The loss of each batch, before the step that it makes. group: over which losses are averaged, and with a ring the
    gradients, which no plan of PyTorch's has averaged."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for tokens, targets in batches:
        loss = F.cross_entropy(model(tokens, step).flatten(0, 1).float(), targets.flatten())
        loss.backward()
        averaged = [loss.detach()] + ([p.grad for p in model.parameters()] if step.ring else [])
        for x in averaged if group else []:
            dist.all_reduce(x, group=group)
            x /= dist.get_world_size(group)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


def tensor_parallel(model, batches, mesh):
    step = Step(torch.arange(batches[0][0].shape[1], device=mesh.device_type))
    return train(over_ranks(model, mesh, Shard(1)), batches, step)


def data_parallel(model, batches, mesh):
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    own = [tuple(x.chunk(mesh.size())[mesh.get_local_rank()] for x in batch) for batch in batches]
    step = Step(torch.arange(batches[0][0].shape[1], device=mesh.device_type))
    return train(model, own, step, mesh.get_group())


def context_parallel(model, batches, mesh):
    group = mesh.get_group()
    own = [tuple(shard_sequence(x, group, dim=1, causal=True) for x in batch) for batch in batches]
    at = positions(batches[0][0].shape[1], group, causal=True, device=mesh.device_type)
    return train(model, own, Step(at, ring=group), group)


PLANS = {"tensor": tensor_parallel, "data": data_parallel, "context": context_parallel}


@torch.no_grad()
def serve(model, prompt, count, kv_heads):
    """(tokens [batch, count], the logits that each was chosen by). Greedy."""
    batch, given = prompt.shape
    head = model.layers[0].attention.head
    rows = given + count
    dtype = next(model.parameters()).dtype
    caches = [
        tuple(torch.zeros(batch, rows, kv_heads, head, dtype=dtype, device=prompt.device) for _ in "kv")
        for _ in model.layers
    ]
    tokens, at, found = prompt, torch.arange(given, device=prompt.device), []
    for _ in range(count):
        logits = model(tokens, Step(at, caches=caches, seen=int(at[-1]) + 1))[:, -1]
        tokens, at = logits.argmax(-1, keepdim=True), at[-1:] + 1
        found.append((tokens, logits))
    return tuple(torch.stack(x, 1) for x in zip(*found))


# ---- against one rank -----------------------------------------------------------------------------------------------


def differs(got, want):
    """||got - want|| / ||want||."""
    got, want = (torch.as_tensor(x, dtype=torch.float64) for x in (got, want))
    return ((got - want).norm() / want.norm()).item()


def run(given, device):
    """{plan: how far it is from one rank}."""
    size, mesh = SIZES[given.size], dist.init_device_mesh(device.type, (dist.get_world_size(),))
    if size.kv_heads % mesh.size() or size.tokens % (2 * mesh.size()) or size.batch % mesh.size():
        raise SystemExit(f"llama.py: {mesh.size()} ranks; it must be a number that divides heads, sequences and tokens")
    torch.manual_seed(1)
    model = Llama(size).to(device, getattr(torch, given.dtype))
    data = torch.randint(
        size.vocab, (given.steps, size.batch, size.tokens + 1), generator=torch.Generator().manual_seed(2)
    )
    batches = [(x[:, :-1].contiguous().to(device), x[:, 1:].contiguous().to(device)) for x in data]
    found = {}
    plans = [name for name in given.plans if name != "serve"]
    if plans:
        want = train(copy.deepcopy(model), batches, Step(torch.arange(size.tokens, device=device)))
    for name in plans:
        losses = PLANS[name](copy.deepcopy(model), batches, mesh)
        found[name] = differs(losses, want), f"losses {' '.join(f'{loss:.4f}' for loss in losses)}"
    if "serve" in given.plans:
        prompt, count = batches[0][0][:, : size.tokens // 2], size.tokens // 4
        want = serve(model, prompt, count, size.kv_heads)
        served = over_ranks(copy.deepcopy(model), mesh, Replicate())
        tokens, logits = serve(served, prompt, count, size.kv_heads // mesh.size())
        same = (tokens == want[0]).double().mean().item()
        found["serve"] = differs(logits[:, 0].cpu(), want[1][:, 0].cpu()), f"{same:.0%} of the tokens are the same"
    return found


def parser():
    made = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    made.add_argument("--size", choices=SIZES, default="tiny")
    made.add_argument("--plans", nargs="+", choices=(*PLANS, "serve"), default=[*PLANS, "serve"])
    made.add_argument("--steps", type=int, default=3, help="of training")
    made.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32")
    return made


def main():
    given = parser().parse_args()
    rank = int(os.environ["LOCAL_RANK"])
    on_gpus = torch.cuda.device_count() >= int(os.environ["LOCAL_WORLD_SIZE"])
    device = torch.device("cuda", rank) if on_gpus else torch.device("cpu")
    if on_gpus:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if on_gpus else "gloo")
    try:
        found = run(given, device)
    finally:
        dist.destroy_process_group()
    most = 1e-4 if given.dtype == "float32" else 3e-2
    if rank == 0:
        for name, (error, what) in found.items():
            print(f"{name:8} {'ok' if error <= most else 'DIFFERS'}  {error:.1e} from one rank  {what}", flush=True)
    return 0 if all(error <= most for error, _ in found.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
