"""How a sequence is spread over the ranks of a group, for attention that goes around them (ring.py).

Without a causal mask rank r of n has the r-th of n equal pieces. With one, late tokens see more keys than early ones:
the sequence is cut into 2 n pieces, of which rank r has the pieces r and 2 n - 1 - r, an early and a late one, so that all
have the same work ("zigzag").

    n = 2, causal      tokens   0 1 | 2 3 | 4 5 | 6 7        rank 0: 0 1 6 7        rank 1: 2 3 4 5
"""

import torch
import torch.distributed as dist


def _pieces(rank, ranks, causal):
    """(which pieces a rank has, of how many)."""
    return ((rank, 2 * ranks - 1 - rank), 2 * ranks) if causal else ((rank,), ranks)


def positions(tokens, group=None, *, causal, device=None):
    """The positions [tokens / ranks], int64, of this rank's tokens in a sequence of so many: for rotary embeddings."""
    rank, ranks = dist.get_rank(group), dist.get_world_size(group)
    pieces, of = _pieces(rank, ranks, causal)
    _check(tokens, of)
    size = tokens // of
    return torch.cat([torch.arange(piece * size, (piece + 1) * size, device=device) for piece in pieces])


def shard_sequence(x, group=None, *, dim, causal):
    """This rank's tokens of a tensor that each rank has whole; `dim` is its axis of tokens."""
    return x.index_select(dim, positions(x.shape[dim], group, causal=causal, device=x.device))


def gather_sequence(x, group=None, *, dim, causal):
    """The whole of what shard_sequence has spread, on each rank. It has no gradient."""
    ranks = dist.get_world_size(group)
    parts = [torch.empty_like(x, memory_format=torch.contiguous_format) for _ in range(ranks)]
    dist.all_gather(parts, x.detach().contiguous(), group=group)
    if not causal:
        return torch.cat(parts, dim)
    early, late = zip(*(part.chunk(2, dim) for part in parts))
    return torch.cat((*early, *late[::-1]), dim)


def _check(tokens, pieces):
    if tokens % pieces:
        raise ValueError(f"ridge.torch.distributed: tokens is {tokens}; it must be a multiple of {pieces}")
