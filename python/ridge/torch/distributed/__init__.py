"""Several GPUs, on PyTorch's own engine.

    import ridge.torch.distributed       # DTensor knows torch.ops.ridge.* from here on
    o = ridge.torch.distributed.ring_attention(q, k, v, group, causal=True)

What DTensor knows makes tensor parallelism (parallelize_module) and FSDP2 (fully_shard) work with modules that call
Ridge's operators, eager and compiled. docs/torch.md.
"""

import torch

import ridge.torch
from ridge.torch.distributed import sharding
from ridge.torch.distributed.ring import ring_attention  # noqa: F401
from ridge.torch.distributed.sequence import gather_sequence, positions, shard_sequence  # noqa: F401

for _op in ridge.torch.OPERATORS.values():
    sharding.register(_op)
if "rope_cache" in ridge.torch.OPERATORS:
    sharding.refuse(
        torch.ops.ridge.rope_cache_.default,
        "DTensor has no operators that write to several tensors; it must be called on local tensors (to_local())",
    )
