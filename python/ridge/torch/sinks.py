"""Attention whose softmax has a learned score more for each head, a sink, which no value goes with (GPT-OSS)."""

import torch

import ridge.torch


def attention_with_sinks(q, k, v, sinks, mask=None, *, layout=None, **options):
    """softmax([scores, sink]) without its last column, times v; with gradients of all four.

    q, k, v, mask   as ridge.torch.attention takes them, and its options but `lse`
    sinks           [heads] of any float type; None: attention without

    The operator gives the logarithm of the sum of weights, to which the sink is added: what it computed is scaled by
    sum / (sum + exp(sink)). A query that sees no key has 0.
    """
    if sinks is None:
        return ridge.torch.attention(q, k, v, mask, layout=layout, **options)
    o, lse = ridge.torch.attention(q, k, v, mask, layout=layout, lse=True, **options)
    share = torch.sigmoid(lse - sinks.float()[:, None])  # [batch, heads, queries]
    share = share.transpose(-1, -2) if layout == "bshd" else share
    return (o * share.unsqueeze(-1)).to(o.dtype)
