"""Attention over a sequence that is spread over the ranks of a group (context parallelism).

Queries stay where they are. Keys and values go around the ring: while a rank attends to those that it has, it sends
them on and receives the next ones. Attention says what its keys weigh together (its log-sum-exp), from which attention_merge
puts the results for all keys together, exactly. Backward, keys and values go around again, and behind them their
gradients, to which each rank adds its own; the log-sum-exp of all keys makes each rank's gradients exact.
"""

import torch
import torch.distributed as dist

import ridge.torch

_EVERY = slice(None)


def ring_attention(q, k, v, group=None, *, causal=False, scale=None, softcap=None, layout="bhsd"):
    """softmax(scale * q k^T) v over the whole sequence, of this rank's queries.

    q            [b, hq, s, d], or with layout="bshd" [b, s, hq, d]: this rank's tokens, as shard_sequence spreads them
    k, v         [b, hkv, s, d] and [b, hkv, s, dv], of the same tokens
    group        the ranks that the sequence is spread over; by default all
    causal       a token sees those up to itself; the tokens are then spread in zigzag (shard_sequence, positions)
    scale, softcap   as attention has them

    Returns o, [b, hq, s, dv] or as the layout has it. Gradients of q, k and v are there; those of k and v are of all
    queries. Each rank must have as many tokens, and all call it together. torch.compile leaves it as it is.
    """
    options = {name: value for name, value in (("scale", scale), ("softcap", softcap)) if value is not None}
    if layout not in ("bhsd", "bshd"):
        raise ValueError(f"ring_attention: layout is {layout!r}; it must be bhsd or bshd")
    q, k, v = (x if layout == "bhsd" else x.transpose(1, 2) for x in (q, k, v))
    if q.shape[2] != k.shape[2] or (causal and q.shape[2] % 2):
        must = "as many queries as keys" + (", an even number" if causal else "")
        raise ValueError(f"ring_attention: {q.shape[2]} queries and {k.shape[2]} keys; it must be {must}")
    o = _attend(q, k, v, group, causal, options)
    return o if layout == "bhsd" else o.transpose(1, 2)


@torch.compiler.disable
def _attend(q, k, v, group, causal, options):
    return _RingAttention.apply(q, k, v, group, causal, options)


class _RingAttention(torch.autograd.Function):
    """All tensors [b, h, s, d], of any strides. The first step of each ring has all queries and all keys of a rank, so
    that its results are those that later ones are added to."""

    @staticmethod
    def forward(ctx, q, k, v, group, causal, options):
        total = None
        for source, (key, value) in _around((k, v), group):
            queries, keys, diagonal = _share(source, group, causal, q.shape[2])
            o, lse = ridge.torch.attention(
                q[:, :, queries], key[:, :, keys], value[:, :, keys], causal=diagonal, lse=True, **options
            )
            o = o.to(_sum_type(o, group))
            total = _merged(total, (o, lse), queries) if total else (o, lse)
        o, lse = total[0].to(q.dtype), total[1]
        ctx.save_for_backward(q, k, v, o, lse)
        ctx.group, ctx.causal, ctx.options = group, causal, options
        return o

    @staticmethod
    def backward(ctx, do):
        q, k, v, o, lse = ctx.saved_tensors
        dq, travelling = None, None  # behind keys and values, the gradients of those that this rank has at the time
        for source, (key, value) in _around((k, v), ctx.group):
            queries, keys, diagonal = _share(source, ctx.group, ctx.causal, q.shape[2])
            of_q, *of_kv = ridge.torch.attention_backward(
                *(x[:, :, queries] for x in (do, q)),
                *(x[:, :, keys] for x in (key, value)),
                *(x[:, :, queries] for x in (o, lse)),
                causal=diagonal,
                **ctx.options,
            )
            if travelling is None:
                dq = of_q.float()
                gradients = [x.to(_sum_type(x, ctx.group)) for x in of_kv]
            else:
                dq[:, :, queries] += of_q
                gradients = travelling.wait()
                for total, part in zip(gradients, of_kv):
                    total[:, :, keys] += part
            travelling = _Exchange(gradients, ctx.group)
        dk, dv = travelling.wait()
        return dq.to(q.dtype), dk.to(k.dtype), dv.to(v.dtype), None, None, None


def _share(source, group, causal, tokens):
    """(queries, keys, diagonal): the slices of a rank's tokens that attend to each other, when its keys are those of
    rank `source`, and the causal mask that lies on them.

    Of pieces in zigzag, those of an earlier rank are before all queries in their early half, and behind them in their
    late one; of a later rank, both are before the late half of the queries, and behind the early one.
    """
    rank = dist.get_rank(group)
    if not causal or source == rank:
        return _EVERY, _EVERY, "upper_left" if causal else None
    if source < rank:
        return _EVERY, slice(tokens // 2), None
    return slice(tokens // 2, None), _EVERY, None


def _sum_type(x, group):
    """What parts are added up in: a sum of two is rounded once in its own type, one of more would be each time."""
    return x.dtype if dist.get_world_size(group) <= 2 else torch.float32


def _merged(total, part, queries):
    """(o, lse) of all queries, with what other keys gave some of them."""
    o, lse = total
    merged = ridge.torch.attention_merge(o[:, :, queries], lse[:, :, queries], *part)
    if queries is _EVERY:
        return merged
    o[:, :, queries], lse[:, :, queries] = merged
    return o, lse


def _around(tensors, group):
    """(rank that they are of, tensors): first this rank's, then all others' as they come around the ring. The next ones
    are on their way while the caller computes."""
    rank, ranks = dist.get_rank(group), dist.get_world_size(group)
    for step in range(ranks - 1):
        following = _Exchange(tensors, group)
        yield (rank - step) % ranks, tensors
        tensors = following.wait()
    yield (rank + 1) % ranks, tensors


class _Exchange:
    """Tensors on their way to the next rank, and others of the same shapes on theirs from the one before."""

    def __init__(self, tensors, group):
        rank, ranks = dist.get_rank(group), dist.get_world_size(group)
        following, previous = (
            dist.get_global_rank(group or dist.group.WORLD, (rank + step) % ranks) for step in (1, -1)
        )
        self._sent = [x.contiguous() for x in tensors]
        self._received = [torch.empty_like(x) for x in self._sent] if ranks > 1 else self._sent
        calls = [dist.P2POp(dist.isend, x, following, group) for x in self._sent]
        calls += [dist.P2POp(dist.irecv, x, previous, group) for x in self._received]
        self._requests = dist.batch_isend_irecv(calls) if ranks > 1 else []

    def wait(self):
        """What was received. On a GPU the current stream waits, and the host does not."""
        for request in self._requests:
            request.wait()
        return self._received
