"""rope_cache into caches that are there: what a decoder calls at every step.

    q = torch.ops.ridge.rope_cache_(q, k, v, k_cache, v_cache, positions, block_table=table)

torch.ops.ridge.rope_cache, which the registry makes as it makes all operators, gives new caches. This one writes k and
v into the caches that it is handed, in place, and returns q turned. Rows that no token goes to stay as they are.
"""

import torch

import ridge
from ridge.torch import node

_LIBRARY = torch.library.Library("ridge", "FRAGMENT")
_SCHEMA = (
    "(Tensor q, Tensor k, Tensor v, Tensor(a!) k_cache, Tensor(b!) v_cache, Tensor? positions=None, Tensor? cos=None, "
    "Tensor? sin=None, Tensor? block_table=None, *, str? style=None, int? rotary_dim=None, float? base=None, "
    "str? layout=None, str? variant=None) -> Tensor"
)


def _sizes(k_cache, paged, layout):
    """The options that say how large the caches are. A cache without four axes is left to Ridge to refuse."""
    shape = k_cache.shape if k_cache.dim() == 4 else (0, 0, 0)
    if paged:
        return {"pages": shape[0], "page": shape[1]}
    return {"rows": shape[1 if layout == "bshd" else 2]}


def _kernel(
    q, k, v, k_cache, v_cache, positions=None, cos=None, sin=None, block_table=None, *, layout=None, **options
):
    q_out = torch.empty_like(q, memory_format=torch.contiguous_format)
    sizes = _sizes(k_cache, block_table is not None, layout)
    out = (q_out, k_cache, v_cache)
    ridge.rope_cache(q, k, v, positions, cos, sin, block_table, out=out, layout=layout, **sizes, **options)
    return q_out


def _fake(q, *tensors, **options):
    return q.new_empty(q.shape)


_LIBRARY.define("rope_cache_" + _SCHEMA, tags=(torch.Tag.pt2_compliant_tag,))
for _device in ("CPU", "CUDA"):
    _LIBRARY.impl("rope_cache_", _kernel, _device)
torch.library.register_fake("ridge::rope_cache_", _fake, lib=_LIBRARY)
_kernel_of_autograd = node.kernel_without_gradient(torch.ops.ridge.rope_cache_.default)
_LIBRARY.impl("rope_cache_", _kernel_of_autograd, "Autograd", with_keyset=True)


def rope_cache_(q, k, v, k_cache, v_cache, positions=None, cos=None, sin=None, block_table=None, **options):
    """q turned by its positions; k, turned too, and v are written into k_cache and v_cache in place.

    q            [b, s, hq, d], or [s, hq, d]
    k, v         [b, s, hkv, d] and [b, s, hkv, dv]
    k_cache      [b, hkv, rows, d], with layout="bshd" [b, rows, hkv, d], with block_table [pages, page, hkv, d]; any
                 strides; v_cache the same with dv
    positions    [b, s] or [s], int32 or int64; where it is left out, 0 to s - 1
    cos, sin     [positions, rotary_dim / 2]; where they are left out, angles are computed
    block_table  [b, n], int32 or int64: row r of sequence i is row r % page of page block_table[i, r // page]
    options      style="neox"|"gptj", rotary_dim, base, layout="bhsd"|"bshd", variant

    A token whose position is no row of its sequence's, or whose page is none of the cache's, is not written; its q is
    turned all the same. Where two tokens go to one row, it is not said which of them stays. There is no gradient.

    Raises ValueError for shapes that do not belong together and for caches that overlap other tensors, TypeError for
    types, each with Ridge's sentence.
    """
    return torch.ops.ridge.rope_cache_(q, k, v, k_cache, v_cache, positions, cos, sin, block_table, **options)
