"""What a language model does to tokens: embedding, rotation, attention."""

import math

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

import ridge
from ridge.bench.gradient import Gradient
from ridge.bench.peers.table import add, is_backward, typed


def _embedding_inputs(case, make):
    shape = (case["b"], case["n"]) if case.get("b") else (case["n"],)
    chosen = torch.rand(shape, dtype=torch.float64, device=make.device, generator=make.random) * case["rows"]
    indices = chosen.to(torch.int64 if case.get("wide") else torch.int32)
    return [make(case["rows"], case["cols"]), indices]


def _embedding(case):
    scale = float(case.option("scale", 1))
    return lambda table, indices: F.embedding(indices, table) * scale if scale != 1 else F.embedding(indices, table)


add(
    "embedding",
    inputs=_embedding_inputs,
    peer=_embedding,
    cases=typed("f32 bf16", "rows=50257,cols=768,n=65536 rows=128256,cols=4096,n=32768"),
)


def _rope_inputs(case, make):
    """Angles come as tables, as they do in PyTorch."""
    if not case.get("tables") or case.get("positions"):
        raise ValueError(f"case '{case.text}': the peer takes tables=N of angles, and positions from 0 on")
    heads = [case[key] for key in "bshd" if key != "b" or case.get("b")]
    angles = make(case["tables"], int(case.option("rotary_dim", case["d"])) // 2, dtype=torch.float32)
    return [make(*heads), angles.cos(), angles.sin()]


def _rope(case):
    turned = int(case.option("rotary_dim", case["d"]))

    def peer(x, cos, sin):
        cos, sin = (table[: case["s"]].unsqueeze(1) for table in (cos, sin))
        wide = x[..., :turned].float()
        if case.option("style") == "gptj":
            a, b = wide[..., 0::2], wide[..., 1::2]
            y = torch.stack((a * cos - b * sin, b * cos + a * sin), -1).flatten(-2)
        else:
            a, b = wide.chunk(2, -1)
            y = torch.cat((a * cos - b * sin, b * cos + a * sin), -1)
        return torch.cat((y.to(x.dtype), x[..., turned:]), -1)

    return peer


add(
    "rope",
    inputs=_rope_inputs,
    peer=_rope,
    axis="s",
    cases=tuple(
        f"{dtype}:b=8,s=4096,h=32,d={d},tables=4096{style}"
        for dtype in ("f32", "bf16")
        for d in (128, 64)
        for style in ("", ":style=gptj")
    ),
)


def _attention_tensors(case, make):
    if case.get("mask"):
        raise ValueError(f"case '{case.text}': masks of the case book are not measured here")
    if case.option("inputs") is not None:
        raise ValueError(f"case '{case.text}': sequences of uneven lengths are not measured here")
    rows_first = case.option("layout", "bhsd") == "bshd"

    def tensor(heads, rows, columns):
        return make(case["b"], rows, heads, columns) if rows_first else make(case["b"], heads, rows, columns)

    columns = case.get("dv") or case["d"]
    q, k, v = (
        tensor(case["hq"], case["sq"], case["d"]),
        tensor(case["hkv"], case["sk"], case["d"]),
        tensor(case["hkv"], case["sk"], columns),
    )
    if not is_backward(case):
        return [q, k, v]
    of_forward = ("causal", "window", "align", "scale", "softcap", "layout")
    options = {key: value for key, value in case.options.items() if key in of_forward}
    o, lse = ridge.attention(q, k, v, lse=True, **options)
    return [tensor(case["hq"], case["sq"], columns), q, k, v, o, lse]


def _attention(backend):
    """scaled_dot_product_attention, by one of its backends. It has upper-left causality alone, and no window."""

    def peer(case):
        for option in ("window", "softcap", "align", "lse"):
            if case.option(option) is not None:
                raise ValueError(f"case '{case.text}': the peer has no {option}")
        causal = case.option("causal") is not None
        # From the lower right, one query sees all keys.
        if case.option("causal") == "lower_right" and case["sq"] != case["sk"]:
            if case["sq"] != 1:
                raise ValueError(f"case '{case.text}': the peer aligns to the upper left")
            causal = False
        rows_first = case.option("layout", "bhsd") == "bshd"
        scale = case.option("scale")

        def run(q, k, v):
            if rows_first:
                q, k, v = (x.transpose(1, 2) for x in (q, k, v))
            with sdpa_kernel(backend):
                o = F.scaled_dot_product_attention(
                    q,
                    k,
                    v,
                    is_causal=causal,
                    scale=None if scale is None else float(scale),
                    enable_gqa=case["hq"] != case["hkv"],
                )
            return o.transpose(1, 2) if rows_first else o

        return Gradient(run, lambda do, q, k, v, *kept: ([do], [q, k, v])) if is_backward(case) else run

    return peer


add(
    "attention",
    inputs=_attention_tensors,
    peer=_attention([SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION]),
    others={
        "cudnn": _attention([SDPBackend.CUDNN_ATTENTION]),
        "flash": _attention([SDPBackend.FLASH_ATTENTION]),
        "efficient": _attention([SDPBackend.EFFICIENT_ATTENTION]),
    },
    axis="sq",
    # of gradients, sums over the queries that see a key, of all heads that share it
    scale=lambda case: math.sqrt(case["hq"] // case["hkv"]) if is_backward(case) else 1.0,
    cases=tuple(
        f"bf16:b={16384 // s},hq={2048 // d},hkv={2048 // d},sq={s},sk={s},d={d}{causal}{backward}"
        for backward, widths in (("", (64, 128, 256)), (":backward", (64, 128)))
        for d in widths
        for s in (1024, 4096, 16384)
        for causal in ("", ":causal")
    )
    + tuple(
        f"bf16:b={b},hq=32,hkv=8,sq=1,sk={sk},d=128" for b, sk in ((1, 8192), (16, 8192), (64, 4096), (1, 65536))
    )
    + ("f32:b=4,hq=16,hkv=16,sq=2048,sk=2048,d=64", "f32:b=4,hq=16,hkv=16,sq=2048,sk=2048,d=64:causal"),
)
