"""What a language model does to tokens: embedding, rotation, attention."""

import functools
import math

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.bias import causal_lower_right

import ridge
from ridge.bench.case import Case
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


def _vectors(case):
    wanted = case.option("inputs", "gamma,beta").split(",")
    return [name for name in ("gamma", "beta") if name in wanted]


def _embedding_norm(case):
    look_up, vectors, shape = _embedding(case), _vectors(case), (case["cols"],)
    eps, layer = float(case.option("eps", 1e-5)), case.option("mode") == "layer"

    def peer(table, indices, *rest):
        x, given = look_up(table, indices), dict(zip(vectors, rest))
        gamma, beta = given.get("gamma"), given.get("beta")
        if layer:
            return x, F.layer_norm(x, shape, gamma, beta, eps)
        y = F.rms_norm(x, shape, gamma, eps)
        return x, y if beta is None else y + beta

    return peer


add(
    "embedding_norm",
    inputs=lambda case, make: _embedding_inputs(case, make) + [make(case["cols"]) for _ in _vectors(case)],
    peer=_embedding_norm,
    cases=tuple(
        f"{case}:inputs=table,indices,gamma"
        for case in typed(
            "f32 bf16",
            "rows=128256,cols=4096,n=1 rows=128256,cols=4096,n=64 rows=128256,cols=4096,n=8192"
            " rows=50257,cols=768,n=65536",
        )
    ),
)


def _rope_places(case):
    """How many places a position may be: those of the tables, or as many as a model's."""
    return case.get("tables") or max(case["s"], 4096)


def _rope_inputs(case, make):
    heads = [case[key] for key in "bshd" if key != "b" or case.get("b")]
    tensors = [make(*heads)]
    if case.get("positions"):
        shape = (case["s"],) if case["positions"] == 1 else (case.get("b") or 1, case["s"])
        places = torch.rand(shape, device=make.device, generator=make.random) * _rope_places(case)
        tensors.append(places.to(torch.int32 if case["positions"] == 1 else torch.int64))
    if case.get("tables"):
        angles = _angles(case, make.device)
        dtype = make.dtype if case.get("narrow") else torch.float32
        tensors += [angles.cos().to(dtype), angles.sin().to(dtype)]
    return tensors


def _angles(case, device):
    half = int(case.option("rotary_dim", case["d"])) // 2
    powers = float(case.option("base", 10000)) ** (-torch.arange(half, dtype=torch.float64, device=device) / half)
    return torch.arange(_rope_places(case), dtype=torch.float64, device=device).unsqueeze(1) * powers


@functools.lru_cache(1)
def _tables(text, device):  # made once, and not in the measured calls
    angles = _angles(Case.parse(text), device)
    return angles.cos().float(), angles.sin().float()


def _rope(case):
    """By tables of angles, as in PyTorch's models, also where Ridge computes them itself."""
    turned = int(case.option("rotary_dim", case["d"]))

    def peer(x, *rest):
        rest = list(rest)
        places = rest.pop(0) if case.get("positions") else slice(case["s"])
        cos, sin = rest or _tables(case.text, x.device)
        cos, sin = (table[places].float().unsqueeze(-2) for table in (cos, sin))
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


def _lengths(case, make, of):
    """Of each sequence: the first one's is the case's, the others' are from half of it on."""
    spread = torch.rand(case["b"], device=make.device, generator=make.random) * (case[of] // 2 + 1)
    spread[:1] = 0
    return case[of] - spread.to(torch.int64)


def _starts(lengths):
    return F.pad(lengths.cumsum(0), (1, 0)).to(torch.int32)


def _mask(case, make):
    """Of truth, every key but some; or what is added, of q's type or float32."""
    shape = (case.get("mb") or 1, case.get("mh") or 1, case.get("mq") or case["sq"], case["sk"])
    if case["mask"] == 1:
        seen = torch.rand(shape, device=make.device, generator=make.random) < 0.8
        seen[..., :1] = True
        return seen
    return make(*shape, dtype=make.dtype if case["mask"] == 2 else torch.float32)


def _attention_tensors(case, make):
    """q, k, v and what else a case brings, by name."""
    brings = case.option("inputs", "").split(",")
    rows_first = case.option("layout", "bhsd") == "bshd"
    b, sq, sk, d, dv = case["b"], case["sq"], case["sk"], case["d"], case.get("dv") or case["d"]
    whole = torch.int64 if case.get("wide") else torch.int32
    more = {}
    if "cu_q" in brings:
        more["cu_q"] = _starts(_lengths(case, make, "sq")).to(whole)
    if "cu_k" in brings:
        same = sq == sk and "cu_q" in brings
        more["cu_k"] = (more["cu_q"].clone() if same else _starts(_lengths(case, make, "sk"))).to(whole)
    if "lengths" in brings:
        more["lengths"] = _lengths(case, make, "sk").to(whole)
    if "block_table" in brings:
        page = case.get("paged") or 16
        pages = b * -(-sk // page)
        order = torch.randperm(pages, device=make.device, generator=make.random)
        more["block_table"] = order.view(b, -1).to(whole)

    def tensor(heads, rows, columns, starts):
        if starts in more:
            return make(int(more[starts][-1]), heads, columns)
        if starts == "cu_k" and "block_table" in more:
            return make(pages, page, heads, columns)
        return make(b, rows, heads, columns) if rows_first else make(b, heads, rows, columns)

    q = tensor(case["hq"], sq, d, "cu_q")
    k, v = (tensor(case["hkv"], sk, columns, "cu_k") for columns in (d, dv))
    if case.get("mask"):
        more = {"mask": _mask(case, make)}
    if not is_backward(case):
        return [q, k, v, *more.values()]
    of_forward = ("causal", "window", "align", "scale", "softcap", "layout", "max_q", "max_k")
    options = {key: value for key, value in case.options.items() if key in of_forward}
    o, lse = ridge.attention(q, k, v, lse=True, **more, **options)
    return [tensor(case["hq"], sq, dv, "cu_q"), q, k, v, o, lse, *more.values()]


def _attention(backend):
    """scaled_dot_product_attention, by one of its backends. It has no window, no softcap and no uneven sequences."""

    def peer(case):
        for option in ("window", "softcap", "inputs"):
            if case.option(option) is not None:
                raise ValueError(f"case '{case.text}': the peer has no {option}")
        lower_right = "lower_right" in (case.option("causal"), case.option("align"))
        causal = case.option("causal", "0") != "0"
        if causal and lower_right and case["sq"] in (1, case["sk"]):
            causal, lower_right = case["sq"] != 1, False  # one query sees all keys
        rows_first = case.option("layout", "bhsd") == "bshd"
        scale = case.option("scale")

        def run(q, k, v, mask=None):
            if rows_first:
                q, k, v = (x.transpose(1, 2) for x in (q, k, v))
            if causal and lower_right:
                mask = causal_lower_right(q.shape[-2], k.shape[-2])
            elif mask is not None and mask.is_floating_point():
                mask = mask.to(q.dtype)
            with sdpa_kernel(backend):
                o = F.scaled_dot_product_attention(
                    q,
                    k,
                    v,
                    attn_mask=mask,
                    is_causal=causal and not lower_right,
                    scale=None if scale is None else float(scale),
                    enable_gqa=case["hq"] != case["hkv"],
                )
            return o.transpose(1, 2) if rows_first else o

        return Gradient(run, lambda do, q, k, v, o, lse, *mask: ([do], [q, k, v], mask)) if is_backward(case) else run

    return peer


def _varlen(case):
    """FlashAttention of sequences that follow each other, also of a batch that lies so. It has windows, and sees from the
    lower right."""
    from torch.nn.attention.varlen import varlen_attn

    brings, in_a_row = case.option("inputs"), case.option("inputs", "").endswith("cu_q,cu_k")
    if case.option("softcap") or case.get("mask") or is_backward(case) or (brings and not in_a_row):
        raise ValueError(f"case '{case.text}': the peer has no such keys, scores or gradients")
    if not in_a_row and case.option("layout") != "bshd":
        raise ValueError(f"case '{case.text}': the peer would have to copy")
    causal = case.option("causal", "0") != "0"
    left, right = map(int, case.option("window", "-1,-1").split(","))
    if (causal or left >= 0) and case["sq"] != case["sk"]:
        if "lower_right" not in (case.option("causal"), case.option("align")):
            raise ValueError(f"case '{case.text}': the peer aligns to the lower right")
    scale = case.option("scale")

    def run(q, k, v, *starts):
        o_shape = *q.shape[:-1], v.shape[-1]
        cu_q, cu_k = starts or (_even(case["b"], case[rows], q.device) for rows in ("sq", "sk"))
        q, k, v = (x if in_a_row else x.flatten(0, 1) for x in (q, k, v))
        window = left, 0 if causal else right
        o = varlen_attn(
            q, k, v, cu_q, cu_k, case["sq"], case["sk"], scale=scale and float(scale), window_size=window
        )
        return o.view(o_shape)

    return run


@functools.cache
def _even(count, rows, device):  # made once, and not in the measured calls
    return torch.arange(count + 1, dtype=torch.int32, device=device) * rows


add(
    "attention",
    inputs=_attention_tensors,
    peer=_attention([SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION]),
    others={
        "cudnn": _attention([SDPBackend.CUDNN_ATTENTION]),
        "flash": _attention([SDPBackend.FLASH_ATTENTION]),
        "efficient": _attention([SDPBackend.EFFICIENT_ATTENTION]),
        "varlen": _varlen,
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
