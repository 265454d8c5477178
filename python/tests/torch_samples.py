"""Requests that the tests of ridge.torch make of each operator: shapes or tensors of the inputs, and options."""

import pytest
import torch

import ridge
import ridge.torch
from ridge.torch import autograd

OPERATORS = ridge.torch.OPERATORS

# operator: [(inputs by name, options)]. A shape stands for random numbers; an operator that is not here is asked with
# one matrix for each input that it needs.
SAMPLES = {
    "add": [({"a": (3, 5), "b": (3, 5)}, {}), ({"a": (4, 6), "b": (6,)}, {})],
    "mul": [({"a": (3, 5), "b": (3, 5)}, {}), ({"a": (4, 6), "b": (6,)}, {})],
    "sum": [
        ({"x": (3, 5)}, {}),
        ({"x": (3, 5)}, {"axis": -1}),
        ({"x": (3, 5, 2)}, {"axis": 1, "keepdims": True}),
        ({"x": (3, 5, 2)}, {"axis": [-1, 0]}),
    ],
    "mean": [
        ({"x": (3, 5)}, {}),
        ({"x": (3, 5)}, {"axis": -1}),
        ({"x": (3, 5, 2)}, {"axis": [0, 2], "keepdims": True}),
    ],
    "max": [({"x": (3, 5)}, {}), ({"x": (3, 5)}, {"axis": -1}), ({"x": (3, 5, 2)}, {"axis": [0, 2]})],
    "min": [({"x": (3, 5)}, {"keepdims": True}), ({"x": (3, 5)}, {"axis": -1})],
    "argmax": [({"x": (3, 5)}, {}), ({"x": (3, 5)}, {"axis": -1, "keepdims": True})],
    "gemv": [
        ({"a": (4, 6), "x": (6,)}, {}),
        ({"a": (6, 4), "x": (6,), "bias": (4,)}, {"layout": "t", "alpha": 0.5, "epilogue": "bias+gelu"}),
    ],
    "batch_norm": [
        ({"x": (2, 3, 4, 5), "mean": (3,), "var": torch.tensor([1.0, 2.0, 0.5])}, {}),
        (
            {"x": (2, 5, 3), "mean": (3,), "var": torch.tensor([1.0, 2.0, 0.5]), "gamma": (3,), "beta": (3,)},
            {"layout": "nhwc", "eps": 0.1},
        ),
        (
            {"x": (2, 3, 4), "mean": (3,), "var": torch.tensor([1.0, 2.0, 0.5]), "beta": (3,), "residual": (2, 3, 4)},
            {"activation": "silu"},
        ),
    ],
    "batch_norm_stats": [({"x": (2, 3, 4, 5)}, {})],
    "batch_norm_train": [
        ({"x": (2, 3, 4, 5)}, {}),
        ({"x": (2, 4, 5, 3), "gamma": (3,), "beta": (3,)}, {"layout": "nhwc", "eps": 0.1}),
        ({"x": (2, 3, 4, 5), "residual": (2, 3, 4, 5)}, {}),
        (
            {"x": (2, 4, 5, 3), "gamma": (3,), "beta": (3,), "residual": (2, 4, 5, 3)},
            {"layout": "nhwc", "activation": "gelu"},
        ),
        ({"x": (2, 3, 4, 5), "gamma": (3,), "beta": (3,)}, {"activation": "hardswish"}),
    ],
    "batch_norm_backward": [
        ({"dy": (2, 3, 4, 5), "x": (2, 3, 4, 5), "mean": (3,), "var": torch.tensor([1.0, 2.0, 0.5])}, {}),
        (
            {"dy": (2, 5, 3), "x": (2, 5, 3), "mean": (3,), "var": torch.tensor([1.0, 2.0, 0.5]), "gamma": (3,)},
            {"layout": "nhwc", "outputs": "dx"},
        ),
    ],
    "batch_norm_train_backward": [
        (
            {
                "dy": (2, 3, 4, 5),
                "x": (2, 3, 4, 5),
                "mean": (3,),
                "var": torch.tensor([1.0, 2.0, 0.5]),
                "gamma": (3,),
            },
            {"outputs": "dx,dbeta"},
        ),
        (
            {
                "dy": (2, 4, 5, 3),
                "x": (2, 4, 5, 3),
                "mean": (3,),
                "var": torch.tensor([1.0, 2.0, 0.5]),
                "beta": (3,),
                "residual": (2, 4, 5, 3),
            },
            {"layout": "nhwc", "activation": "silu", "outputs": "dx,dbeta,dresidual"},
        ),
    ],
    "dwconv": [({"k": (2, 3, 9), "w": (3, 9)}, {}), ({"k": (2, 3, 9), "w": (3, 4)}, {"eps": 0.1})],
    "conv2d": [
        ({"x": (2, 3, 7, 6), "w": (4, 3, 3, 3)}, {"stride": "2,1", "pad": "1"}),
        ({"x": (2, 4, 6, 5), "w": (6, 2, 3, 2), "bias": (6,)}, {"groups": "2", "epilogue": "bias+silu"}),
        (
            {"x": (1, 5, 6, 3), "w": (4, 3, 3, 3), "bias": (4,), "residual": (1, 5, 6, 4)},
            {"layout": "nhwc", "pad": "1", "epilogue": "bias+gelu+residual"},
        ),
        (
            {"x": (1, 3, 5, 5), "w": (4, 3, 1, 1), "residual": (1, 4, 5, 5)},
            {"epilogue": "residual+relu"},
        ),
        (
            {"x": (1, 2, 6, 7), "w": (3, 2, 2, 2)},
            {"math": "tf32", "dilation": "2,1", "pad": "0,1,2,1", "epilogue": "silu"},
        ),
    ],
    "conv2d_backward": [
        ({"dy": (2, 4, 5, 4), "x": (2, 3, 7, 6), "w": (4, 3, 3, 3)}, {}),
        ({"dy": (2, 4, 5, 4), "x": (2, 3, 7, 6), "w": (4, 3, 3, 3)}, {"outputs": "dw"}),
    ],
    "conv1d": [
        ({"x": (2, 3, 9), "w": (4, 3, 3)}, {"stride": "2", "pad": "1,2"}),
        (
            {"x": (1, 8, 4), "w": (6, 3, 2), "bias": (6,), "residual": (1, 6, 6)},
            {"layout": "nwc", "groups": "2", "dilation": "1", "epilogue": "bias+silu+residual"},
        ),
    ],
    "conv3d": [
        ({"x": (2, 3, 4, 5, 3), "w": (4, 3, 2, 3, 2)}, {"stride": "1,2,1", "pad": "1,0,1,0,1,0", "epilogue": "relu"}),
        (
            {"x": (1, 3, 4, 5, 4), "w": (4, 2, 2, 2, 2), "bias": (4,), "residual": (1, 2, 3, 4, 4)},
            {"layout": "ndhwc", "groups": "2", "epilogue": "bias+silu+residual"},
        ),
    ],
    "conv3d_backward": [
        ({"dy": (2, 4, 3, 3, 4), "x": (2, 3, 3, 4, 5), "w": (4, 3, 1, 2, 2)}, {}),
        ({"dy": (1, 1, 3, 5, 4), "x": (1, 3, 4, 4, 3), "w": (4, 3, 2, 2, 3)}, {"layout": "ndhwc", "pad": "0,0,1"}),
    ],
    "conv1d_backward": [({"dy": (2, 4, 7), "x": (2, 3, 9), "w": (4, 3, 3)}, {})],
    "conv_transpose2d": [
        ({"x": (2, 4, 5, 3), "w": (4, 3, 3, 2)}, {"stride": "2,1", "pad": "1,0,0,1", "output_pad": "1,0"}),
        (
            {"x": (1, 3, 4, 4), "w": (4, 2, 2, 3), "bias": (6,), "residual": (1, 6, 8, 6)},
            {"layout": "nhwc", "groups": "2", "stride": "2", "epilogue": "bias+gelu+residual"},
        ),
        ({"x": (1, 2, 3, 3), "w": (2, 3, 3, 3), "bias": (3,)}, {"dilation": "2", "pad": "1", "epilogue": "bias+silu"}),
    ],
    "conv_transpose1d": [
        ({"x": (2, 4, 5), "w": (4, 3, 4)}, {"stride": "2", "pad": "1"}),
        (
            {"x": (1, 5, 4), "w": (4, 3, 3), "bias": (3,), "residual": (1, 15, 3)},
            {"layout": "nwc", "stride": "3", "epilogue": "bias+residual+relu"},
        ),
    ],
    "dwconv_backward": [({"dy": (2, 3, 9), "k": (2, 3, 9), "w": (3, 4)}, {})],
    "nms": [
        ({"boxes": torch.tensor([[0.0, 0, 9, 9], [1, 1, 9, 9], [20, 20, 30, 30]]), "scores": (3,)}, {}),
        (
            {
                "boxes": torch.tensor([[0.0, 0, 9, 9], [1, 1, 9, 9]]),
                "scores": (2,),
                "classes": torch.tensor([1, 2]),
            },
            {"iou": 0.3},
        ),
    ],
    "embedding": [
        ({"table": (9, 8), "indices": torch.tensor([[0, 3, 8], [2, 2, -1]])}, {}),
        ({"table": (9, 8), "indices": torch.tensor([4, 9, 4], dtype=torch.int32)}, {"scale": 0.5}),
    ],
    "embedding_norm": [
        ({"table": (9, 8), "indices": torch.tensor([[0, 3, 8], [2, 2, -1]]), "gamma": (8,)}, {}),
        (
            {"table": (9, 7), "indices": torch.tensor([4, 9, 4], dtype=torch.int32), "gamma": (7,), "beta": (7,)},
            {"mode": "layer", "scale": 0.5, "eps": 0.1},
        ),
        ({"table": (9, 8), "indices": torch.tensor([1, 7]), "beta": (8,)}, {"scale": 2.0}),
    ],
    "rope": [
        ({"x": (2, 5, 3, 8)}, {}),
        ({"x": (5, 3, 8), "positions": torch.tensor([7, -2, 0, 4, 3])}, {"rotary_dim": 6}),
        (
            {
                "x": (5, 3, 8),
                "cos": torch.linspace(0, 3, 20).reshape(5, 4).cos(),
                "sin": torch.linspace(0, 3, 20).reshape(5, 4).sin(),
            },
            {"style": "gptj"},
        ),
    ],
    "rope_cache": [  # each row of a cache is written: of others it is not said what they hold
        ({"q": (2, 5, 3, 8), "k": (2, 5, 2, 8), "v": (2, 5, 2, 6)}, {}),
        (
            {"q": (4, 3, 8), "k": (4, 1, 8), "v": (4, 1, 8), "positions": torch.tensor([3, 0, 2, 1])},
            {"rows": 4, "layout": "bshd", "rotary_dim": 6},
        ),
        (
            {
                "q": (2, 16, 2, 8),
                "k": (2, 16, 1, 8),
                "v": (2, 16, 1, 8),
                "block_table": torch.tensor([[1], [0]], dtype=torch.int32),
            },
            {"pages": 2, "page": 16, "style": "gptj"},
        ),
    ],
    "attention": [
        ({"q": (2, 4, 5, 8), "k": (2, 2, 7, 8), "v": (2, 2, 7, 6)}, {"causal": "lower_right", "lse": True}),
        ({"q": (1, 2, 5, 8), "k": (1, 2, 7, 8), "v": (1, 2, 7, 8)}, {}),
        ({"q": (1, 2, 5, 8), "k": (1, 1, 7, 8), "v": (1, 1, 7, 8)}, {"causal": "1", "accumulate": "two_float"}),
        (
            {
                "q": (1, 2, 5, 8),
                "k": (1, 1, 7, 8),
                "v": (1, 1, 7, 6),
                "mask": torch.arange(35).reshape(5, 7) % 3 > 0,
            },
            {"scale": 0.5, "softcap": 2.0, "math": "bf16x6"},
        ),
        (
            {"q": (1, 5, 2, 8), "k": (1, 7, 2, 8), "v": (1, 7, 2, 8), "mask": torch.linspace(-2, 2, 7)},
            {"layout": "bshd", "window": "3,1", "lse": True},
        ),
        (
            {
                "q": (8, 2, 8),
                "k": (9, 1, 8),
                "v": (9, 1, 6),
                "cu_q": torch.tensor([0, 3, 8], dtype=torch.int32),
                "cu_k": torch.tensor([0, 4, 9], dtype=torch.int32),
            },
            {"causal": "lower_right", "max_q": 5, "max_k": 5},
        ),
    ],
    "attention_backward": [
        (
            {
                "do": (1, 2, 5, 6),
                "q": (1, 2, 5, 8),
                "k": (1, 1, 7, 8),
                "v": (1, 1, 7, 6),
                "o": (1, 2, 5, 6),
                "lse": (1, 2, 5),
            },
            {"causal": "lower_right"},
        )
    ],
    "attention_merge": [({"o_a": (1, 2, 3, 4), "lse_a": (1, 2, 3), "o_b": (1, 2, 3, 4), "lse_b": (1, 2, 3)}, {})],
    "window_sum": [({"x": (3, 20)}, {"w": 5})],
    "trace": [({"x": (4, 6)}, {"accumulate": "two_float"})],
    "dot": [({"x": (40,), "z": (40,)}, {})],
    "histogram": [
        ({"x": (50,)}, {"bins": 8, "range": "-2,2"}),
        ({"x": (50,)}, {"bins": 8, "range": "0,4", "out": "i32"}),
    ],
    "softmax": [({"x": (4, 9)}, {}), ({"x": (2, 3, 17)}, {"variant": "online"}), ({"x": (2, 3, 17)}, {"axis": 1})],
    "log_softmax": [({"x": (4, 9)}, {}), ({"x": (2, 3, 17)}, {"axis": -3})],
    "softmax_backward": [({"dy": (4, 9), "y": (4, 9)}, {}), ({"dy": (4, 9), "y": (4, 9)}, {"axis": 0})],
    "log_softmax_backward": [({"dy": (4, 9), "y": (4, 9)}, {})],
    "layer_norm": [
        ({"x": (5, 9), "gamma": (9,), "beta": (9,)}, {}),
        ({"x": (5, 9), "beta": (9,)}, {"eps": 0.1}),
        ({"x": (5, 9)}, {}),
        ({"x": (4, 3, 5), "gamma": (3, 5), "beta": (3, 5)}, {"axes": 2}),
    ],
    "rms_norm": [
        ({"x": (5, 9), "gamma": (9,)}, {}),
        ({"x": (2, 3, 9)}, {"eps": 0.1}),
        ({"x": (2, 3, 9), "gamma": (3, 9)}, {"axes": 2}),
    ],
    "add_layer_norm": [({"x": (5, 9), "residual": (5, 9), "gamma": (9,), "beta": (9,)}, {})],
    "add_rms_norm": [({"x": (5, 9), "residual": (5, 9), "gamma": (9,)}, {})],
    "layer_norm_backward": [
        ({"dy": (5, 9), "x": (5, 9), "gamma": (9,)}, {}),
        ({"dy": (5, 9), "x": (5, 9)}, {"outputs": "dx,dbeta"}),
    ],
    "rms_norm_backward": [({"dy": (5, 9), "x": (5, 9), "gamma": (9,)}, {"outputs": "dx,dgamma"})],
    "add_layer_norm_backward": [({"dy": (5, 9), "sum": (5, 9), "dsum": (5, 9)}, {"outputs": "dx"})],
    "add_rms_norm_backward": [({"dy": (5, 9), "sum": (5, 9), "gamma": (9,), "dsum": (5, 9)}, {})],
    "group_norm": [
        ({"x": (2, 6, 4, 5), "gamma": (6,), "beta": (6,)}, {"groups": 3}),
        ({"x": (2, 3, 5, 8), "gamma": (8,), "beta": (8,)}, {"groups": 4, "layout": "nhwc", "activation": "silu"}),
        ({"x": (2, 6, 7), "beta": (6,)}, {"groups": 2, "activation": "gelu", "eps": 0.1}),
        ({"x": (3, 8)}, {"groups": 2, "activation": "gelu_tanh"}),
        ({"x": (2, 4, 2, 3, 2), "gamma": (4,)}, {"groups": 1, "activation": "sigmoid"}),
    ],
    "group_norm_backward": [
        ({"dy": (2, 6, 4, 5), "x": (2, 6, 4, 5), "gamma": (6,)}, {"groups": 3}),
        ({"dy": (2, 6, 5), "x": (2, 6, 5)}, {"groups": 2, "outputs": "dx,dbeta"}),
    ],
    "transpose": [({"x": (4, 7)}, {}), ({"x": (2, 4, 7)}, {})],
    "permute": [({"x": (2, 3, 5)}, {}), ({"x": (2, 3, 5)}, {"axes": "2,0,1"}), ({"x": (2, 3, 5)}, {"axes": "-1,0,1"})],
    "upsample": [
        ({"x": (2, 3, 5, 4)}, {"scale": "2"}),
        ({"x": (1, 4, 3, 8)}, {"scale": "2", "mode": "bilinear", "layout": "nhwc"}),
        ({"x": (2, 3, 5, 4)}, {"size": "9,3", "mode": "nearest_exact"}),
        ({"x": (1, 2, 6, 5)}, {"scale": "1.5,2", "mode": "bilinear"}),
        ({"x": (2, 1, 4, 6)}, {"size": "7", "mode": "bilinear", "align_corners": True}),
    ],
    "upsample_backward": [
        ({"dy": (2, 3, 10, 8)}, {"h": 5, "w": 4}),
        ({"dy": (1, 9, 7, 4)}, {"h": 4, "w": 5, "mode": "bilinear", "layout": "nhwc"}),
    ],
    "max_pool2d": [
        ({"x": (2, 3, 9, 8)}, {"r": 3, "stride": "2", "pad": "1"}),
        ({"x": (2, 9, 8, 3)}, {"r": 2, "s": 3, "pad": "0,1,1,2", "dilation": "2,1", "layout": "nhwc"}),
        ({"x": (1, 2, 8, 9)}, {"r": 2, "stride": "2", "ceil_mode": True}),
    ],
    "avg_pool2d": [
        ({"x": (2, 3, 9, 8)}, {"r": 3, "stride": "2", "pad": "1"}),
        ({"x": (2, 9, 8, 3)}, {"r": 2, "s": 3, "pad": "0,1,1,2", "layout": "nhwc", "count_include_pad": False}),
        ({"x": (1, 2, 8, 10)}, {"r": 3, "stride": "2", "pad": "1", "ceil_mode": True}),
    ],
    "adaptive_avg_pool2d": [
        ({"x": (2, 3, 8, 6)}, {"size": "1"}),
        ({"x": (2, 7, 9, 3)}, {"size": "3,4", "layout": "nhwc"}),
    ],
    "max_pool2d_backward": [
        ({"dy": (2, 3, 5, 4), "x": (2, 3, 9, 8), "y": (2, 3, 5, 4)}, {"r": 3, "stride": "2", "pad": "1"})
    ],
    "avg_pool2d_backward": [({"dy": (2, 3, 5, 4)}, {"r": 3, "stride": "2", "pad": "1", "h": 9, "w": 8})],
    "adaptive_avg_pool2d_backward": [({"dy": (2, 3, 4, 5)}, {"size": "3,4", "layout": "nhwc", "h": 7, "w": 9})],
    "gemm": [
        ({"a": (4, 6), "b": (6, 5)}, {}),
        ({"a": (6, 4), "b": (5, 6)}, {"layout": "tt", "alpha": 0.5}),
        ({"a": (4, 6), "b": (5, 6), "bias": (5,)}, {"layout": "nt", "epilogue": "bias+gelu"}),
        ({"a": (6, 4), "b": (6, 5), "bias": (4,)}, {"layout": "tn", "epilogue": "bias_m+relu"}),
        (
            {"a": (4, 6), "b": (6, 5), "c": (4, 5), "bias": (5,), "residual": (4, 5)},
            {"epilogue": "bias+silu+residual", "beta": 0.3, "scale": 1.5},
        ),
        ({"a": (2, 4, 6), "b": (6, 5)}, {"epilogue": "gelu_tanh"}),
        ({"a": (4, 6), "b": (5, 6), "gate": (5, 6)}, {"layout": "nt", "epilogue": "silu+gate", "alpha": 0.5}),
        (
            {"a": (4, 6), "b": (6, 5), "bias": (5,), "gate": (6, 5), "gate_bias": (5,)},
            {"epilogue": "bias+gelu+gate+gate_bias", "alpha": 0.5},
        ),
        ({"a": (2, 6, 4), "b": (2, 6, 5)}, {"layout": "tn", "epilogue": "sigmoid"}),
        ({"a": (2, 3, 4, 6), "b": (2, 3, 5, 6)}, {"layout": "nt"}),
        ({"a": (2, 3, 4, 6), "b": (1, 6, 5)}, {"epilogue": "relu"}),
    ],
    "linear": [
        ({"x": (4, 6), "w": (5, 6)}, {}),
        ({"x": (2, 3, 6), "w": (5, 6), "bias": (5,)}, {"activation": "gelu"}),
        ({"x": (6,), "w": (5, 6), "bias": (5,), "residual": (5,)}, {"activation": "silu"}),
    ],
    "grouped_gemm": [
        ({"a": (9, 6), "b": (3, 6, 5), "offsets": torch.tensor([0, 4, 4, 9], dtype=torch.int32)}, {}),
    ],
    "checklist_branch": [({"x": torch.arange(20, dtype=torch.int32)}, {})],
    "checklist_histogram": [({"x": torch.arange(256, dtype=torch.uint8)}, {})],
}


def samples(op):
    matrices = {name: (6, 8) for name in op.inputs if name not in op.optional_inputs}
    if op.name in SAMPLES:
        return SAMPLES[op.name]
    try:
        ridge.infer(op.name, *(ridge.Spec(shape, op.dtypes[0]) for shape in matrices.values()))
    except (ValueError, TypeError, ridge.Unsupported):
        return []  # it takes no matrices: what it takes is for SAMPLES to say
    return [(matrices, {})]


def tensors(op, inputs, device="cpu", dtype=None, requires_grad=False):
    """A sample's tensors by name. Shapes are filled with random numbers of `dtype`, by default one that it takes; those
    are what requires a gradient."""
    random = torch.Generator().manual_seed(1)
    made = {}
    for name, given in inputs.items():
        if isinstance(given, tuple):
            kind = dtype or (torch.float32 if "f32" in op.dtypes else getattr(torch, {"i32": "int32"}[op.dtypes[0]]))
            given = torch.randn(given, generator=random, dtype=torch.float64).to(kind)
            given = given.to(device).requires_grad_(requires_grad and kind.is_floating_point)
        made[name] = given.to(device)
    return made


REQUESTS = [
    pytest.param(op, inputs, options, id=f"{op.name}-{i}")
    for op in OPERATORS.values()
    for i, (inputs, options) in enumerate(samples(op))
]
WITH_GRADIENT = [p for p in REQUESTS if p.values[0].name in autograd.FORMULAS]


def overload(op):
    return getattr(torch.ops.ridge, op.name).default
