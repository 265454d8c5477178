"""Ridge's attention in the models of the transformers library, by its own switch:

    import ridge.torch.transformers
    model = AutoModelForCausalLM.from_pretrained(..., attn_implementation="ridge")    # or set_attn_implementation("ridge")

It takes masks as "sdpa" does, score caps (Gemma 2), sinks (GPT-OSS), groups of heads and head sizes to 512. Attention weights are
not returned. Tested with transformers 5.24.
"""

import torch
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask
from transformers.modeling_utils import AttentionInterface

import ridge.torch


def attention(
    module, query, key, value, attention_mask, dropout=0.0, scaling=None, is_causal=None, position_bias=None, **others
):
    """(O, None). query [batch, heads, queries, d], key and value [batch, fewer heads, keys, d], o [batch, queries,
    heads, d]. The mask is True where a key is seen, or is added to the scores, as a position bias is.

    s_aux [heads] are sinks: a score more in each sum of weights, without a value.

    Raises ValueError: dropout inside of attention."""
    if dropout:
        raise ValueError(f"ridge: attention has no dropout, and {dropout} is asked for; train with attention_dropout=0")
    sinks = others.get("s_aux")
    if is_causal is None:
        is_causal = getattr(module, "is_causal", True)
    causal = is_causal and attention_mask is None and query.shape[2] > 1
    mask = attention_mask
    if position_bias is not None:
        if mask is None:
            mask = position_bias
        elif mask.dtype == torch.bool:
            mask = torch.where(mask, position_bias, torch.finfo(position_bias.dtype).min)
        else:
            mask = mask + position_bias
    o = ridge.torch.attention_with_sinks(
        *(x.transpose(1, 2) for x in (query, key, value)),
        sinks,
        mask,
        causal=causal,
        scale=scaling,
        softcap=others.get("softcap") or 0,
        layout="bshd",
    )
    return o, None


AttentionInterface.register("ridge", attention)
AttentionMaskInterface.register("ridge", sdpa_mask)
