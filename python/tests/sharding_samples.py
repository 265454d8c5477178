"""What the tests of ridge.torch.distributed ask of each operator, and tensors in the pieces that ranks have of them."""

import torch
from torch.distributed.tensor import Partial, Replicate, Shard
from torch_samples import OPERATORS, samples, tensors

from ridge.torch import schema
from ridge.torch.distributed.axes import Request

# Beside the requests of torch_samples.py: those in which more axes may be cut, evenly and unevenly.
_MORE = {
    "gemm": [
        (
            {"a": (6, 4), "b": (8, 6), "c": (4, 8), "bias": (8,), "residual": (4, 8)},
            {"layout": "tt", "epilogue": "bias+residual", "beta": 0.3, "alpha": 0.5},
        ),
        ({"a": (2, 4, 6), "b": (2, 6, 5), "bias": (4,)}, {"epilogue": "bias_m"}),
    ],
    "linear": [({"x": (2, 4, 6), "w": (5, 6), "bias": (5,), "residual": (2, 4, 5)}, {})],
    "gemv": [({"a": (4, 6), "x": (6,), "c": (4,), "bias": (4,)}, {"beta": 0.5, "epilogue": "bias"})],
    "grouped_gemm": [
        (
            {"a": (6, 9), "b": (3, 5, 6), "offsets": torch.tensor([0, 4, 4, 9], dtype=torch.int32), "bias": (3, 5)},
            {"layout": "tt", "epilogue": "bias"},
        )
    ],
    "mean": [({"x": (4, 6)}, {"axis": [0]})],
    "conv2d": [
        ({"x": (3, 4, 5, 6), "w": (5, 4, 2, 3), "bias": (5,)}, {"epilogue": "bias"}),
        ({"x": (2, 5, 6, 4), "w": (6, 2, 2, 4), "bias": (6,)}, {"layout": "nhwc", "epilogue": "bias"}),
    ],
    "conv2d_backward": [({"dy": (2, 4, 5, 6), "x": (2, 5, 6, 4), "w": (6, 2, 2, 4)}, {"layout": "nhwc"})],
    "conv3d": [({"x": (3, 4, 3, 4, 5), "w": (5, 4, 2, 2, 3), "bias": (5,)}, {"epilogue": "bias"})],
    "conv1d_backward": [({"dy": (2, 7, 4), "x": (2, 9, 3), "w": (4, 3, 3)}, {"layout": "nwc"})],
    "conv_transpose1d": [({"x": (2, 5, 4), "w": (4, 3, 2)}, {"layout": "nwc"})],
    "batch_norm_backward": [
        ({"dy": (3, 4, 5), "x": (3, 4, 5), "mean": (4,), "var": torch.rand(4) + 1}, {}),
        (
            {
                "dy": (2, 4, 5),
                "x": (2, 4, 5),
                "mean": (4,),
                "var": torch.rand(4) + 1,
                "beta": (4,),
                "residual": (2, 4, 5),
            },
            {"activation": "silu", "outputs": "dx,dbeta,dresidual"},
        ),
    ],
    "rope": [({"x": (2, 5, 3, 8), "positions": torch.arange(10).reshape(2, 5)}, {})],
    "rope_cache": [({"q": (2, 5, 4, 8), "k": (2, 5, 2, 8), "v": (2, 5, 2, 6)}, {"layout": "bshd"})],
    "attention": [
        (
            {"q": (2, 4, 5, 8), "k": (2, 2, 6, 8), "v": (2, 2, 6, 6), "mask": torch.rand(2, 1, 5, 6) > 0.3},
            {"lse": True},
        ),
        ({"q": (3, 5, 4, 8), "k": (3, 6, 1, 8), "v": (3, 6, 1, 8)}, {"layout": "bshd", "lse": True}),
        (
            {
                "q": (2, 4, 3, 8),
                "k": (3, 16, 2, 8),
                "v": (3, 16, 2, 8),
                "lengths": torch.tensor([20, 9], dtype=torch.int32),
                "block_table": torch.tensor([[2, 0], [1, 1]], dtype=torch.int32),
            },
            {"causal": "lower_right"},
        ),
    ],
    "attention_backward": [
        (
            dict(
                do=(2, 4, 5, 8), q=(2, 4, 5, 8), k=(2, heads, 6, 8), v=(2, heads, 6, 8), o=(2, 4, 5, 8), lse=(2, 4, 5)
            ),
            {},
        )
        for heads in (1, 2)
    ],
}

REQUESTS = {
    f"{op.name}-{i}": (op, inputs, options)
    for op in OPERATORS.values()
    for i, (inputs, options) in enumerate([*samples(op), *_MORE.get(op.name, [])])
}


def given(op, inputs):
    """The tensors of a request by name, in the order of the schema."""
    made = tensors(op, inputs)
    return {name: made[name] for name in schema.arguments(op) if name in made}


def request(made, options):
    return Request({name: x.shape for name, x in made.items()}, options)


def call(op, arguments, options):
    """{output: tensor}, in the order of the results; names are of those that the request gives."""
    found = getattr(torch.ops.ridge, op.name)(**arguments, **options)
    return list(found) if isinstance(found, (list, tuple)) else [found]


def spread(x, placement, ranks):
    """The pieces of a tensor that the ranks have."""
    if isinstance(placement, Shard):
        pieces = [piece.contiguous() for piece in x.chunk(ranks, placement.dim)]
        assert len(pieces) == ranks
        return pieces
    if isinstance(placement, Replicate):
        return [x] * ranks
    parts = [(x * (0.5 + rank)).to(x.dtype) for rank in range(ranks - 1)]
    return [*parts, x - sum(parts)]


def together(pieces, placement):
    """The tensor that the ranks have these pieces of."""
    if isinstance(placement, Shard):
        return torch.cat(pieces, placement.dim)
    if isinstance(placement, Replicate):
        for piece in pieces[1:]:
            assert_same(piece, pieces[0])
        return pieces[0]
    assert isinstance(placement, Partial)
    stacked = torch.stack(pieces)
    how = {"sum": stacked.sum, "avg": stacked.mean, "max": stacked.amax, "min": stacked.amin}
    return how[placement.reduce_op](0).to(pieces[0].dtype)


def assert_same(got, want):
    """Sums in another order: errors are relative to the largest element."""
    most = want[want.isfinite()].abs().max().item() if want.is_floating_point() and want.numel() else 0
    torch.testing.assert_close(got, want, rtol=1e-4, atol=2e-5 * most, equal_nan=True)
